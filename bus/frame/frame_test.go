package frame

import (
	"bytes"
	"encoding/hex"
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
		{"254 bytes", count(1, 254), join("ff", count(1, 254))},
		{"254 bytes after a zero", count(0, 254), join("01 ff", count(1, 254))},
		{"255 bytes", count(1, 255), join("ff", count(1, 254), "02 ff")},
		{"254 bytes and a zero", join(count(2, 255), "00"), join("ff", count(2, 255), "01 01")},
		{"253 bytes, a zero and one", join(count(3, 255), "00 01"), join("fe", count(3, 255), "02 01")},
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
	for _, n := range []int{1, 253, 254, 255, 508, 509} {
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
	long := strings.Repeat("u-boot ", 20)
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
		{"too long", join("00 12", count(1, 17), "00"), []string{"damaged"}, Stats{Garbage: 18, Oversize: 1}},
		{"a code beyond the end", unhex("00 07 11223344 00"), []string{"damaged"}, Stats{Garbage: 5}},
		{"text", join("00", []byte("login: \r\n"), "00"), []string{"text login: \r\n"}, Stats{Text: 9}},
		{"text between frames", join("00 05 11223344 00", []byte("\x1b[31mhot\a\b\x1b[0m"), "00 05 55667788 00"),
			[]string{"frame 11223344", "text \x1b[31mhot\a\b\x1b[0m", "frame 55667788"}, Stats{Frames: 2, Text: 14}},
		{"text that is not ended is not shown", []byte("login: "), nil, Stats{}},
		{"long text", []byte(long), []string{"text " + long}, Stats{Text: 140, Oversize: 1}},
		{"long text before a frame", join([]byte(long), "00 05 11223344 00"), []string{"text " + long, "frame 11223344"}, Stats{Frames: 1, Text: 140, Oversize: 1}},
		{"long text with a non-text byte", join([]byte(long), "f0", []byte(long), "00"),
			[]string{"text " + long, "damaged"}, Stats{Text: 140, Garbage: 141, Oversize: 1}},
		{"text with a non-text byte", join([]byte("log"), "f0", []byte("in"), "00"), []string{"damaged"}, Stats{Garbage: 6}},
		{"lines that may be a frame are both", []byte("\nabcdefg\r\n\x00"), []string{"text \nabcdefg\r\n", "frame 616263646566670d0a"}, Stats{Frames: 1, Text: 10}},
		{"a line that may be a frame is both", []byte("\nabcdefgh\n\x00"), []string{"text \nabcdefgh\n", "frame 61626364656667680a"}, Stats{Frames: 1, Text: 10}},
		{"a lone LF does not turn a frame into text", []byte("\a\nHYrP$\x00"), []string{"frame 0a4859725024"}, Stats{Frames: 1}},
		{"a frame of text bytes only", []byte("\babcdefg\x00"), []string{"frame 61626364656667"}, Stats{Frames: 1}},
		{"text right before a frame", join("00", []byte("login: "), "05 81223344 00"), []string{"text login: ", "frame 81223344"}, Stats{Frames: 1, Text: 7}},
		{"text before a frame with two possible starts", join("00", []byte("ok\n"), "08 81828384858687 00"),
			[]string{"text ok\n", "frame 81828384858687"}, Stats{Frames: 1, Text: 3}},
		{"text before two candidates", join("00", []byte("ab\n"), "02 81 07 828384858687 00"),
			[]string{"text ab", "frame 028107828384858687", "frame 8100828384858687"}, Stats{Frames: 2, Text: 2}},
		{"one byte of text", join("00", []byte("l"), "05 81223344 00"), []string{"damaged"}, Stats{Garbage: 6}},
		{"a damaged frame before a good one", unhex("00 05 1122 00 05 11223344 00"), []string{"damaged", "frame 11223344"}, Stats{Frames: 1, Garbage: 3}},
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

func TestFlush(t *testing.T) {
	var r record
	d := NewDecoder(4, 16)
	d.Feed([]byte("login: "), &r)
	require.True(t, d.Waiting())
	d.Flush(&r)
	d.Flush(&r)
	assert.False(t, d.Waiting())
	d.Feed([]byte("root\r\n\x00"), &r)
	assert.Equal(t, []string{"text login: root\r\n"}, r.events)

	// Bytes that look like text so far may be the beginning of a frame.
	d.Feed([]byte("\nabc"), &r)
	d.Flush(&r)
	d.Feed(unhex("818283848586 00"), &r)
	assert.Equal(t, [][]byte{unhex("616263818283848586")}, r.frames)
	assert.False(t, d.Waiting())
	assert.Equal(t, Stats{Frames: 1, Text: 17}, d.Stats())

	d.Feed(unhex("81"), &r)
	assert.False(t, d.Waiting(), "not text")
}

// At the end of a stream, lines are text; a possible partial frame is not.
func TestFinish(t *testing.T) {
	for _, tt := range []struct{ stream, want string }{
		{"\r\nDRAM: failed\r\n=> ", "\r\nDRAM: failed\r\n=> "},
		{"\abR", ""},
		{"", ""},
		{"\nab\x81", ""},
	} {
		var r record
		d := NewDecoder(4, 64)
		d.Feed([]byte(tt.stream), &r)
		d.Finish(&r)
		assert.Equal(t, tt.want, string(r.text), "%q", tt.stream)
	}
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

// For any input, memory is bounded, every byte is counted, and the division of
// the stream into calls makes no difference.
func FuzzDecoder(f *testing.F) {
	f.Add(unhex("00 05 11223344 00"), uint8(1))
	f.Add([]byte("U-Boot 2024.01\r\n\x00\x05\x80\x81\x82\x83\x00"), uint8(3))
	f.Add(bytes.Repeat([]byte("text, "), 60), uint8(7))
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
		require.Equal(t, stuffed(288), cap(e.chunk))
		require.Equal(t, 288, cap(e.plain))
		s := d.Stats()
		require.Equal(t, uint64(len(whole.frames)), s.Frames)
		require.LessOrEqual(t, s.Text+s.Garbage, uint64(len(stream)))
		for _, p := range whole.frames {
			require.True(t, len(p) >= 4 && len(p) <= 288)
		}
	})
}
