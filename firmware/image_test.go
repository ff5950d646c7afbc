package firmware

import (
	"encoding/binary"
	"hash/crc32"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/fwabi"
)

// program is the program of small.
var program = []byte("123456789\x00\x00\x00")

// small returns an image of program with a header that edit changes before its CRC is computed.
func small(edit func(b []byte)) []byte {
	b := Append(nil, Header{Version: 1, Layout: fwabi.LayoutHash(), Build: [16]byte{1, 2, 3, 15: 16}, Memory: 0x1234}, program)
	if edit != nil {
		edit(b)
		binary.LittleEndian.PutUint32(b[0x2c:], crc32.ChecksumIEEE(b[:0x2c]))
	}
	return b
}

// put returns an edit of a dword.
func put(off int, v uint32) func(b []byte) {
	return func(b []byte) { binary.LittleEndian.PutUint32(b[off:], v) }
}

func TestAppend(t *testing.T) {
	b := Append([]byte{0xee}, Header{Version: 0x01020304, Layout: 0xa1a2a3a4, Build: [16]byte{1, 2, 3, 15: 16}, Entry: 0x11, Memory: 0x22}, []byte("123456789"))
	assert.Equal(t, "\xeeHLFW\x04\x03\x02\x01\xa4\xa3\xa2\xa1\x01\x02\x03\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x10"+
		"\x09\x00\x00\x00\x11\x00\x00\x00\x22\x00\x00\x00\x26\x39\xf4\xcb", string(b[:0x2d]), "the check value of CRC-32 is cbf43926")
	assert.Equal(t, crc32.ChecksumIEEE(b[1:0x2d]), binary.LittleEndian.Uint32(b[0x2d:]))
	assert.Equal(t, "123456789", string(b[0x31:]))
}

func TestParse(t *testing.T) {
	m, err := Parse(small(nil))
	require.NoError(t, err)
	assert.Equal(t, Image{Header{Version: 1, Layout: fwabi.LayoutHash(), Build: [16]byte{1, 2, 3, 15: 16}, Size: 12, Memory: 0x1234, CRC: crc32.ChecksumIEEE(program)}, program}, m)
	_, err = Parse(small(put(0x24, 12)))
	assert.NoError(t, err, "memory for the program and nothing else")
}

func TestRefusedImages(t *testing.T) {
	all := small(nil)
	flip := func(at int) []byte {
		b := small(nil)
		b[at] ^= 0x40
		return b
	}
	for _, tt := range []struct {
		name string
		data []byte
		kind error
		text string
	}{
		{"nothing", nil, ErrTruncated, `0 bytes, want at least 48`},
		{"three bytes", all[:3], ErrTruncated, `3 bytes, want at least 48`},
		{"a header without its last byte", all[:47], ErrTruncated, `47 bytes, want at least 48`},
		{"a header without a program", all[:48], ErrTruncated, `program of 0 bytes, want 12`},
		{"a program without its last byte", all[:59], ErrTruncated, `program of 11 bytes, want 12`},
		{"an ELF file", []byte("\x7fELF\x01\x01\x01\x00"), ErrMagic, `magic 0x464c457f, want 0x57464c48`},
		{"an older version", small(put(4, 0)), ErrVersion, `version 0, want 1`},
		{"a newer version", small(put(4, 2)), ErrVersion, `version 2, want 1`},
		{"a bit of the header", flip(0x10), ErrCRC, `CRC of the header 0x[0-9a-f]{8}, want 0x[0-9a-f]{8}`},
		{"a bit of the CRC of the header", flip(0x2f), ErrCRC, `CRC of the header 0x[0-9a-f]{8}, want 0x[0-9a-f]{8}`},
		{"a bit of the program", flip(0x30 + 11), ErrCRC, `CRC of the program 0x[0-9a-f]{8}, want 0x[0-9a-f]{8}`},
		{"another GPU", small(put(8, fwabi.LayoutHash()+1)), ErrLayout, `layout 0x[0-9a-f]{8}, want 0x[0-9a-f]{8}`},
		{"a word after the program", small(put(0x1c, 8)), ErrFormat, `program of 12 bytes, want 8`},
		{"another entry", small(put(0x20, 4)), ErrFormat, `entry 0x4, want 0`},
		{"memory smaller than the program", small(put(0x24, 11)), ErrFormat, `memory of 11 bytes, want at least 12 for the program`},
		{"an empty program", Append(nil, Header{Version: 1, Layout: fwabi.LayoutHash()}, nil), ErrFormat, `program of 0 bytes, want a multiple of 4`},
		{"a part of a word", Append(nil, Header{Version: 1, Layout: fwabi.LayoutHash(), Memory: 9}, program[:9]), ErrFormat, `program of 9 bytes, want a multiple of 4`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Parse(tt.data)
			require.ErrorIs(t, err, tt.kind)
			assert.Regexp(t, "^"+regexp.QuoteMeta(tt.kind.Error())+": "+tt.text+"$", err.Error())
		})
	}
}

// No image is damaged in a byte without an error.
func TestEveryByte(t *testing.T) {
	all := Default()
	for at := range all {
		b := Default()
		b[at] ^= 1
		_, err := Parse(b)
		require.Error(t, err, "byte %d", at)
	}
	for n := range all {
		_, err := Parse(all[:n])
		require.ErrorIs(t, err, ErrTruncated, "%d bytes", n)
	}
}

func TestDefault(t *testing.T) {
	m, err := Parse(Default())
	require.NoError(t, err, "make firmware writes an image for these registers")
	assert.LessOrEqual(t, m.Memory, uint32(32<<10), "the memory of the configuration full")
	assert.Regexp(t, "^[0-9a-f]{64}$", ELF())
}

func FuzzParse(f *testing.F) {
	f.Add(small(nil))
	f.Add(Default())
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := Parse(data)
		if err == nil && (len(m.Program) != int(m.Size) || m.Memory < m.Size || m.Entry != 0) {
			t.Errorf("accepted %+v", m.Header)
		}
	})
}
