package frame

import (
	"bytes"
	"encoding/hex"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func unhex(s string) []byte {
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		panic(err)
	}
	return b
}

func count(from, to int) []byte {
	var b []byte
	for i := from; i <= to; i++ {
		b = append(b, byte(i))
	}
	return b
}

func join(parts ...any) []byte {
	var b []byte
	for _, p := range parts {
		switch p := p.(type) {
		case string:
			b = append(b, unhex(p)...)
		case []byte:
			b = append(b, p...)
		}
	}
	return b
}

// The commonly used examples of Cheshire and Baker's algorithm, encoded by
// hand; the last ones are at the edge of a group.
func TestStuffing(t *testing.T) {
	for _, tt := range []struct {
		name  string
		plain []byte
		want  []byte
	}{
		{"a zero", unhex("00"), unhex("01 01")},
		{"two zeros", unhex("00 00"), unhex("01 01 01")},
		{"zeros around", unhex("00 11 00"), unhex("01 02 11 01")},
		{"a zero inside", unhex("11 22 00 33"), unhex("03 11 22 02 33")},
		{"no zero", unhex("11 22 33 44"), unhex("05 11 22 33 44")},
		{"zeros at the end", unhex("11 00 00 00"), unhex("02 11 01 01 01")},
		{"253 bytes", count(1, 253), join("fe", count(1, 253))},
		{"253 bytes after a zero", count(0, 253), join("01 fe", count(1, 253))},
		{"255 bytes", count(1, 255), join("fe", count(1, 253), "03 fe ff")},
		{"253 bytes and a zero", join(count(3, 255), "00"), join("fe", count(3, 255), "01 01")},
		{"252 bytes, a zero and one", join(count(4, 255), "00 01"), join("fd", count(4, 255), "02 01")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, tt.want, appendStuffed(nil, tt.plain))
			got, ok := appendPlain(nil, tt.want, len(tt.plain))
			assert.True(t, ok)
			assert.Equal(t, tt.plain, got)
			_, ok = appendPlain(nil, tt.want, len(tt.plain)-1)
			assert.False(t, ok, "one byte too long")
		})
	}
}

func TestEncoder(t *testing.T) {
	var e Encoder
	got := e.Append(nil, unhex("11 00"))
	got = e.Append(got, unhex("22"))
	e.Break()
	got = e.Append(got, unhex("33"))
	assert.Equal(t, unhex("00 02 11 01 00  02 22 00  00 02 33 00"), got)
	for _, n := range []int{1, 252, 253, 254, 506, 507} {
		var e Encoder
		assert.Len(t, e.Append(nil, bytes.Repeat([]byte{1}, n)), Size(n), "%d bytes", n)
	}
}

// A record collects the output of a decoder: frames, and the bytes between
// them.
type record struct {
	events  []string
	frames  [][]byte
	text    []byte
	damaged int
}

func (r *record) Frame(f []byte) {
	r.frames = append(r.frames, bytes.Clone(f))
	r.events = append(r.events, "frame "+hex.EncodeToString(f))
}

func (r *record) Text(p []byte) {
	r.text = append(r.text, p...)
	if n := len(r.events); n > 0 && strings.HasPrefix(r.events[n-1], "text ") {
		r.events[n-1] += string(p)
		return
	}
	r.events = append(r.events, "text "+string(p))
}

func (r *record) Damaged(n int) {
	r.damaged += n
	r.events = append(r.events, "damaged")
}

func TestDecoder(t *testing.T) {
	long := bytes.Repeat([]byte{'x'}, 255)
	for _, tt := range []struct {
		name   string
		stream []byte
		want   []string
		stats  Stats
	}{
		{"a frame", unhex("00 03 1122 02 33 00"), []string{"frame 11220033"}, Stats{Frames: 1}},
		{"a shared delimiter", unhex("00 05 11223344 00 05 55667788 00"), []string{"frame 11223344", "frame 55667788"}, Stats{Frames: 2}},
		{"idle delimiters", unhex("000000 05 11223344 000000"), []string{"frame 11223344"}, Stats{Frames: 1}},
		{"without its first delimiter", unhex("05 11223344 00"), []string{"frame 11223344"}, Stats{Frames: 1}},
		{"not ended", unhex("00 05 11223344"), nil, Stats{}},
		{"too short", unhex("00 04 112233 00"), []string{"damaged"}, Stats{Garbage: 4}},
		{"longest", join("00 11", count(1, 16), "00"), []string{"frame 0102030405060708090a0b0c0d0e0f10"}, Stats{Frames: 1}},
		{"too long", join("00 12", count(1, 17), "00"), []string{"damaged"}, Stats{Garbage: 18}},
		{"longer than any piece", join("00 12", long, long, "00 05 11223344 00"), []string{"damaged", "frame 11223344"}, Stats{Frames: 1, Garbage: 511, Oversize: 1}},
		{"a code beyond the end", unhex("00 07 11223344 00"), []string{"damaged"}, Stats{Garbage: 5}},
		{"code 255", join("00 02 11 ff", long[1:], "00"), []string{"damaged"}, Stats{Garbage: 257}},
		{"a damaged frame before a good one", unhex("00 05 1122 00 05 11223344 00"), []string{"damaged", "frame 11223344"}, Stats{Frames: 1, Garbage: 3}},
		{"a frame of text bytes", []byte("\babcdefg\x00"), []string{"frame 61626364656667"}, Stats{Frames: 1}},

		{"text", join("00 ff 09", []byte("login: \r\n"), "00"), []string{"text login: \r\n"}, Stats{Text: 9}},
		{"any bytes are text", join("00 ff 03 80 ff 01 00"), []string{"text \x80\xff\x01"}, Stats{Text: 3}},
		{"text between frames", join("00 05 11223344 00 ff 02", []byte("ok"), "00 05 55667788 00"),
			[]string{"frame 11223344", "text ok", "frame 55667788"}, Stats{Frames: 2, Text: 2}},
		{"text in several pieces", join("ff 02", []byte("ab"), "00 ff 01", []byte("c"), "00"), []string{"text abc"}, Stats{Text: 3}},
		{"the longest text", join("ff ff", long, "00"), []string{"text " + string(long)}, Stats{Text: 255}},
		{"text that is not ended is not shown", join("ff 02", []byte("ab")), nil, Stats{}},
		{"text without bytes", unhex("00 ff 00"), []string{"damaged"}, Stats{Garbage: 1}},
		{"text that lost a byte", join("00 ff 03", []byte("ok"), "00"), []string{"damaged"}, Stats{Garbage: 4}},
		{"text that lost its delimiter", join("00 ff 02", []byte("ok"), "05 11223344 00"), []string{"damaged"}, Stats{Garbage: 9}},
		{"a frame that lost its first byte", unhex("00 ff 223344 00"), []string{"damaged"}, Stats{Garbage: 4}},
		{"text without a mark", join("00", []byte("U-Boot 2024.01\r\n"), "00 05 11223344 00"), []string{"damaged", "frame 11223344"}, Stats{Frames: 1, Garbage: 16}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var r record
			d := NewDecoder(4, 16)
			d.Feed(tt.stream, &r)
			assert.Equal(t, tt.want, r.events)
			assert.Equal(t, tt.stats, d.Stats())
		})
	}
}

// A frame with a bit flipped, a byte lost, or its end cut off is no text. Its second byte
// would have to be its length by chance.
func TestDamageIsNoText(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	var r record
	for range 60 {
		sent := make([]byte, 6+rng.IntN(283))
		for i := range sent {
			sent[i] = byte(rng.Uint32())
		}
		good := new(Encoder).Append(nil, sent)
		for i := 1; i < len(good)-1; i++ {
			d := NewDecoder(6, 288)
			d.Feed(append(bytes.Clone(good[:i]), good[i+1:]...), &r)
			d.Feed(append(bytes.Clone(good[:i]), 0), &r)
			for bit := range 8 {
				bad := bytes.Clone(good)
				bad[i] ^= 1 << bit
				d.Feed(bad, &r)
			}
		}
	}
	assert.Empty(t, r.text)
}

func TestNewDecoderPanics(t *testing.T) {
	assert.Panics(t, func() { NewDecoder(0, 4) })
	assert.Panics(t, func() { NewDecoder(5, 4) })
	assert.NotPanics(t, func() { NewDecoder(4, 4) })
}

// Frames arrive as sent, whatever bytes they contain.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var e Encoder
		var stream []byte
		sent := rapid.SliceOfN(rapid.SliceOfN(boundaryByte, 1, 600), 1, 5).Draw(t, "frames")
		for _, f := range sent {
			n := len(stream)
			stream = e.Append(stream, f)
			require.LessOrEqual(t, len(stream)-n, Size(len(f)))
		}
		var r record
		NewDecoder(1, 600).Feed(stream, &r)
		require.Equal(t, sent, r.frames)
		require.Zero(t, r.damaged)
	})
}

var boundaryByte = rapid.Custom(func(t *rapid.T) byte {
	return rapid.SampledFrom([]byte{0, 0, 1, 2, 0xff, 0xfe, 'a', '\n', 0x80}).Draw(t, "byte")
})

// L6: after any garbage the very next complete frame is delivered.
func TestResync(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		garbage := rapid.SliceOfN(rapid.OneOf(rapid.Byte(), boundaryByte), 0, 900).Draw(t, "garbage")
		sent := rapid.SliceOfN(rapid.Byte(), 6, 288).Draw(t, "frame")
		var e Encoder
		var r record
		d := NewDecoder(6, 288)
		d.Feed(garbage, &r)
		d.Feed(e.Append(nil, sent), &r)
		require.NotEmpty(t, r.frames)
		require.Equal(t, sent, r.frames[len(r.frames)-1])
	})
}

// For any input, memory is bounded, no byte is counted twice, and the division of
// the stream into calls makes no difference.
func FuzzDecoder(f *testing.F) {
	f.Add(unhex("00 05 11223344 00"), uint8(1))
	f.Add([]byte("\xff\x10U-Boot 2024.01\r\n\x00\x05\x80\x81\x82\x83\x00"), uint8(3))
	f.Add(bytes.Repeat([]byte("text, "), 60), uint8(7))
	f.Add(bytes.Repeat([]byte("\xff\x02ok\x00"), 60), uint8(7))
	f.Add(bytes.Repeat([]byte{0xff}, 700), uint8(200))
	f.Fuzz(func(t *testing.T, stream []byte, cut uint8) {
		var whole, pieces record
		d := NewDecoder(4, 288)
		d.Feed(stream, &whole)
		e := NewDecoder(4, 288)
		for rest, n := stream, 0; len(rest) > 0; rest = rest[n:] {
			n = min(len(rest), 1+int(cut)%13)
			cut = cut*5 + 1
			e.Feed(rest[:n], &pieces)
		}
		require.Equal(t, whole, pieces)
		require.Equal(t, d.Stats(), e.Stats())
		require.Equal(t, stuffed(288), cap(e.piece))
		require.Equal(t, 288, cap(e.plain))
		s := d.Stats()
		require.Equal(t, uint64(len(whole.frames)), s.Frames)
		require.LessOrEqual(t, s.Text+s.Garbage, uint64(len(stream)))
		for _, p := range whole.frames {
			require.True(t, len(p) >= 4 && len(p) <= 288)
		}
	})
}
