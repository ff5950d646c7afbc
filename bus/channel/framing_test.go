package channel

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// taken gathers the output of a framing.
type taken struct {
	frames  []string
	damaged []int
}

func (t *taken) Frame(f []byte) { t.frames = append(t.frames, string(f)) }
func (t *taken) Text([]byte)    {}
func (t *taken) Damaged(n int)  { t.damaged = append(t.damaged, n) }

// TestDatagrams: each datagram has as many whole frames as fit. The bytes are from the
// table of the type.
func TestDatagrams(t *testing.T) {
	d := &datagrams{least: 6, most: 20}
	var pending []byte
	for _, f := range []string{"abcdef", "ghijklmn", "opqrstuvwxyz"} {
		pending = d.Append(pending, []byte(f))
	}
	assert.Equal(t, "\x00\x06abcdef\x00\x08ghijklmn\x00\x0copqrstuvwxyz", string(pending))
	assert.Equal(t, 32, d.Take(pending, 100))
	assert.Equal(t, 32, d.Take(pending, 32))
	assert.Equal(t, 18, d.Take(pending, 31))
	assert.Equal(t, 8, d.Take(pending, 8))
	assert.Equal(t, 8, d.Take(pending, 3), "at least one")

	var got taken
	d.Feed(pending, &got)
	assert.Equal(t, taken{frames: []string{"abcdef", "ghijklmn", "opqrstuvwxyz"}}, got)
	for _, tt := range []struct {
		datagram string
		frames   []string
		damaged  []int
	}{
		{"", nil, nil},
		{"\x00", nil, []int{1}},
		{"\x00\x05abcde", nil, []int{7}},
		{"\x00\x15" + "abcdefghijklmnopqrstu", nil, []int{23}},
		{"\x00\x06abcdef\x00\x08ghij", []string{"abcdef"}, []int{6}},
		{"\x00\x06abcdef\x00", []string{"abcdef"}, []int{1}},
	} {
		got = taken{}
		d.Feed([]byte(tt.datagram), &got)
		assert.Equal(t, taken{tt.frames, tt.damaged}, got, "%q", tt.datagram)
	}
	s := d.Stats()
	assert.Equal(t, []uint64{5, 38}, []uint64{s.Frames, s.Garbage})
}

// TestDatagramSize: a datagram must hold the largest frame.
func TestDatagramSize(t *testing.T) {
	x, _ := newLine()
	_, err := Open(x, Config{Datagram: 289})
	require.EqualError(t, err, "channel: datagrams of 289 bytes, want at least 290")
}
