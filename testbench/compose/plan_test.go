package compose

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// load writes img as a PNG file and loads it.
func load(t *testing.T, img image.Image) *image.NRGBA {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, png.Encode(&b, img))
	path := filepath.Join(t.TempDir(), "a.png")
	require.NoError(t, os.WriteFile(path, b.Bytes(), 0o600))
	s, err := Load(path)
	require.NoError(t, err)
	require.Equal(t, img.Bounds(), s.Image.Rect)
	return s.Image
}

// Colours of transparent pixels survive in every storage format of the file.
func TestLoadKeepsNonPremultipliedColours(t *testing.T) {
	r := image.Rect(0, 0, 256, 5)
	alphas := []uint8{0, 1, 2, 127, 255}
	want := image.NewNRGBA(r)
	deep := image.NewNRGBA64(r)
	for i, a := range alphas {
		for x := range 256 {
			c := color.NRGBA{uint8(x), uint8(255 - x), uint8(x ^ 0x55), a}
			want.SetNRGBA(x, i, c)
			deep.SetNRGBA64(x, i, color.NRGBA64{uint16(c.R)<<8 | 0xa7, uint16(c.G) << 8, uint16(c.B)<<8 | 0xff, uint16(a)<<8 | 0x01})
		}
	}
	assert.Equal(t, want.Pix, load(t, want).Pix, "8 bits")
	assert.Equal(t, want.Pix, load(t, deep).Pix, "16 bits")
	for i := range alphas {
		row := image.Rect(0, 0, 256, 1)
		p := image.NewPaletted(row, nil)
		for x := range 256 {
			p.Palette = append(p.Palette, want.NRGBAAt(x, i))
			p.Pix[x] = uint8(x)
		}
		assert.Equal(t, want.Pix[i*want.Stride:][:want.Stride], load(t, p).Pix, "palette, alpha %d", alphas[i])
	}
}

func TestLoadOpaqueKinds(t *testing.T) {
	r := image.Rect(0, 0, 3, 2)
	g, g16 := image.NewGray(r), image.NewGray16(r)
	g.SetGray(2, 1, color.Gray{0x9c})
	g16.SetGray16(2, 1, color.Gray16{0x9c33})
	for _, img := range []image.Image{g, g16} {
		got := load(t, img)
		assert.Equal(t, color.NRGBA{0x9c, 0x9c, 0x9c, 255}, got.NRGBAAt(2, 1))
		assert.Equal(t, color.NRGBA{0, 0, 0, 255}, got.NRGBAAt(0, 0))
	}
	cmyk := image.NewCMYK(r)
	cmyk.SetCMYK(1, 1, color.CMYK{C: 255})
	assert.Equal(t, color.NRGBA{0, 255, 255, 255}, convert(cmyk).NRGBAAt(1, 1))
}

// A header with a size that no GPU can hold is refused before decoding, even if no
// pixels follow it.
func TestLoadBoundsTheSize(t *testing.T) {
	for _, tt := range []struct {
		w, h uint32
		says string
	}{
		{16384, 4097, "at most 67108864"},
		{16385, 1, "1 to 16384 in width and height"},
		{16384, 4096, "unexpected EOF"}, // the largest size: decoding begins
	} {
		head := append([]byte("IHDR"), 0, 0, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0, 0)
		binary.BigEndian.PutUint32(head[4:], tt.w)
		binary.BigEndian.PutUint32(head[8:], tt.h)
		b := append([]byte("\x89PNG\r\n\x1a\n\x00\x00\x00\x0d"), head...)
		b = binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(head))
		path := filepath.Join(t.TempDir(), "a.png")
		require.NoError(t, os.WriteFile(path, b, 0o600))
		_, err := Load(path)
		require.ErrorIs(t, err, ErrInput)
		assert.ErrorContains(t, err, tt.says)
	}
}
