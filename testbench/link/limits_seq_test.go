package link

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/bus/datalink"
	"github.com/hilgpu/hilgpu/rtl/link/linkport"
)

// longHello returns a hello with n bytes of fixed fields, and its options.
func longHello(n int, options ...byte) []byte {
	h := append(hello(9), make([]byte, max(n-40, 0))...)
	h[2] = byte(n)
	return append(h, options...)
}

// TestSequencerHellos: fixed fields of a hello are 40 to 64 bytes (docs/design.md "Link layers"). A hello
// with others is refused and counted, and has no answer.
func TestSequencerHellos(t *testing.T) {
	for _, tt := range []struct {
		name   string
		body   []byte
		offers bool
	}{
		{"40 bytes", longHello(40), true},
		{"41 bytes", longHello(41), true},
		{"64 bytes", longHello(64), true},
		{"64 bytes and options", longHello(64, 1, 0, 200, 3, 1, 2, 3), true},
		{"65 bytes", longHello(65), false},
		{"65 bytes and options", longHello(65, 1, 0, 200), false},
		{"66 bytes", longHello(66), false},
		{"100 bytes", longHello(100), false},
		{"39 bytes", longHello(39), false},
		{"a byte less than it tells", longHello(64)[:65], false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := newCounted(t)
			c.count = counts{}
			c.send(tt.body, helloWord, 5000)
			f := c.sent()
			if !tt.offers {
				assert.Empty(t, f)
				assert.Equal(t, counts{refused: 1}, c.count)
				return
			}
			assert.Zero(t, c.count)
			require.Len(t, f, 1)
			assert.Equal(t, []byte{6 << 4, datalink.Version, 40}, f[0][:3])
			assert.Equal(t, tt.body[22:26], f[0][22:26])
		})
	}
}

// TestSequencerNumbers: half of the numbers of data frames, of 12 bits, are old ones, which are
// acknowledged again. The others are beyond a gap, and a Nak asks for what is missing.
func TestSequencerNumbers(t *testing.T) {
	for _, before := range []uint16{0, 3} {
		for _, tt := range []struct {
			ahead uint16
			old   bool
		}{
			{1, false}, {2, false}, {0x0ff, false}, {0x100, false}, {0x3ff, false}, {0x400, false}, {0x7fe, false}, {0x7ff, false},
			{0x800, true}, {0x801, true}, {0xbff, true}, {0xc00, true}, {0xf00, true}, {0xffe, true}, {0xfff, true},
		} {
			c := newCounted(t)
			for range before {
				c.data(0, write...)
			}
			c.count, c.frames, c.reqs = counts{}, nil, nil
			c.data(int(tt.ahead), write...)
			want, head := counts{refused: 1, naks: 1}, number(1, before)
			if tt.old {
				want, head = counts{refused: 1}, number(0, before)
			}
			assert.Equal(t, want, c.count, "%#x after %d", tt.ahead, before)
			assert.Equal(t, [][]byte{checked(head, c.epoch)}, c.frames, "%#x after %d", tt.ahead, before)
			assert.Empty(t, c.reqs)
		}
	}
}

// TestSequencerFallBackWaits: a frame that is on the line when the time of a rate has passed leaves at
// that rate.
func TestSequencerFallBackWaits(t *testing.T) {
	r := newRated(t)
	r.says(message(msgAsk, 230_400), message(msgYes, 230_400))
	r.ticks(390)
	r.isAt(1)
	r.held = true
	r.send(hello(5), helloWord, 5000/r.pace)
	r.ticks(100)
	require.Empty(t, r.frames)
	r.isAt(1)
	r.held = false
	for len(r.line.sent) == 0 {
		require.Less(t, r.clock, 1_000_000)
		r.isAt(1)
		r.tick(linkport.Piece{})
	}
	r.ticks(10)
	r.isAt(0)
	require.Len(t, r.frames, 1)
	require.Equal(t, byte(6<<4), r.frames[0][0])
}

// TestSequencerSilenceAgain: a session ends 512 ticks after its last frame, wherever the last
// silence ended.
func TestSequencerSilenceAgain(t *testing.T) {
	for _, before := range []int{1, 100, 255, 256, 300, 490} {
		c := newCounted(t)
		pass := func(ticks int) { c.run(ticks * seqTick / c.pace) }
		pass(before)
		c.control(4, 0)
		pass(500)
		require.True(t, c.m.Status().Up, "after %d ticks", before)
		pass(10)
		require.False(t, c.m.Status().Up, "after %d ticks", before)
		require.True(t, bytes.Contains(c.frames[len(c.frames)-1], []byte{7 << 4, 3}))
	}
}
