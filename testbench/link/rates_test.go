package link

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/link"
	"github.com/hilgpu/hilgpu/rtl/link/linkport"
	"github.com/hilgpu/hilgpu/rtl/link/seq"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

// The kinds of messages about the rate, in the order of the design note of bus/serial.
const (
	msgAsk = iota
	msgYes
	msgNo
	msgEcho
	msgEchoed
	msgKeep
	msgKept
)

// A rated is the sequencer without a session.
type rated struct{ *counted }

func newRated(t *testing.T) rated {
	module := link.New(assembled(seq.Options{MapHash: busy.MapHash, Replay: 8, Slow: 7}), seqTick)
	m := &module
	c := &counted{bench: newBench(t, busy), m: m, line: newByteEnd(m, &alone{link: m}, 2)}
	c.link, c.pace = c.line, 4
	c.each = func() { c.add(m.Status()) }
	return rated{c}
}

// message returns a message without its check.
func message(kind byte, rate int, pattern ...byte) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{'B', 'R', kind}, uint32(rate)), pattern...)
}

// says sends a message, and requires an answer or, if it is nil, none.
func (r rated) says(m, answer []byte) {
	r.t.Helper()
	var want [][]byte
	if answer != nil {
		want = [][]byte{checked(answer, 0)}
	}
	r.sent()
	r.send(m, 0, 400)
	require.Equal(r.t, want, r.sent(), "%x", m)
}

func (r rated) isAt(n int) {
	r.t.Helper()
	require.Equal(r.t, n, int(r.m.Rate()))
}

// ticks passes ticks.
func (r rated) ticks(n int) { r.run(n * seqTick / r.pace) }

// longest is the longest pattern.
var longest = bytes.Repeat([]byte{0x55, 0, 0xff, 'B', 'R', 1, 0x80, 0x7f}, 8)

// TestSequencerRates: the exchange of the design note, at each rate. A session stays at the
// rate, and its end is followed by the first one.
func TestSequencerRates(t *testing.T) {
	tooltest.Long(t)
	rates := seq.Rates()
	for n, rate := range rates {
		r := newRated(t)
		r.isAt(0)
		r.says(message(msgAsk, rate), message(msgYes, rate))
		r.isAt(n)
		r.says(message(msgEcho, rate, longest...), message(msgEchoed, rate, longest...))
		r.says(message(msgEcho, rate, 7), message(msgEchoed, rate, 7))
		r.says(message(msgEcho, rates[(n+1)%len(rates)], 7), nil)
		r.says(message(msgKeep, rate), message(msgKept, rate))
		if n != 0 {
			r.says(message(msgAsk, rate), nil)
			r.isAt(n)
		}
		r.begin(3)
		r.count = counts{}
		r.send(message(msgEcho, rate, 7), 0, 400)
		require.Equal(t, counts{refused: 1, naks: 1}, r.count, "in a session it is a damaged frame")
		for range 20 {
			r.control(3, 0)
			r.ticks(100)
		}
		r.isAt(n)
		require.True(t, r.m.Status().Up)
		r.control(7, 1)
		r.ticks(10)
		r.isAt(n)
		r.ticks(12)
		r.isAt(0)
		require.False(t, r.m.Status().Up)
	}
}

// TestSequencerNoRate: a rate that the board does not have is refused. The lowest byte is not
// compared, which is less than a quarter of a percent.
func TestSequencerNoRate(t *testing.T) {
	r := newRated(t)
	for _, rate := range []int{0, 9600, 57_600, 115_200 - 1, 115_200 + 256, 1_843_200, 3_000_000, 2_000_000 + 1<<24, 921_600 ^ 1<<16, 1_500_000 ^ 1<<8, 4_000_000} {
		r.says(message(msgAsk, rate), message(msgNo, rate))
		r.says(message(msgEcho, rate, 1), nil)
		r.isAt(0)
	}
	r.says(message(msgAsk, 115_455), message(msgYes, 115_455))
	r.isAt(0)
	require.Zero(t, r.count.refused)
}

// TestSequencerSilence: silence at a new rate, or no session after the host has kept it, ends it
// 400 or 1,000 ticks after the last message, or up to 4 earlier, since the board counts units of 4 ticks.
func TestSequencerSilence(t *testing.T) {
	tooltest.Long(t)
	for _, last := range []struct {
		what  []byte
		kind  byte // of the answer
		ticks int
	}{{nil, 0, 400}, {message(msgEcho, 230_400, 1, 2), msgEchoed, 400}, {message(msgKeep, 230_400), msgKept, 1000}} {
		for _, phase := range []int{0, 2} {
			r := newRated(t)
			r.ticks(phase)
			r.answers(message(msgAsk, 230_400), msgYes)
			if last.what != nil {
				r.ticks(300)
				r.answers(last.what, last.kind)
			}
			begin := r.line.both.Clocks()
			for r.isAt(1); r.m.Rate() != 0; r.run(1) {
				require.Less(t, r.clock, 1_000_000)
			}
			ticks := float64(r.line.both.Clocks()-begin) / seqTick
			assert.InDelta(t, last.ticks-2, ticks, 2+1, "%x after %d ticks", last.what, phase)
		}
	}
}

// answers sends a message and runs until the rate is that of 230,400 bit/s and its answer has left, which has
// another kind.
func (r rated) answers(m []byte, kind byte) {
	r.sent()
	r.send(m, 0, 0)
	for len(r.frames) == 0 || r.m.Rate() == 0 {
		require.Less(r.t, r.clock, 1_000_000)
		r.run(1)
	}
	want := bytes.Clone(m)
	want[2] = kind
	require.Equal(r.t, [][]byte{checked(want, 0)}, r.frames)
}

// TestSequencerMessages: a message that is damaged, too short or too long, of another kind, or
// none, gets no answer and is counted.
func TestSequencerMessages(t *testing.T) {
	r := newRated(t)
	good := message(msgAsk, 1_000_000)
	for _, f := range [][]byte{
		good[:6], message(msgEcho, 115_200, make([]byte, 65)...), append([]byte{'A'}, good...),
		append([]byte{'B', 'S'}, good[2:]...), append([]byte{'C', 'R'}, good[2:]...),
	} {
		n := r.count.refused
		r.says(f, nil)
		assert.Equal(t, n+1, r.count.refused, "%x", f)
	}
	for _, kind := range []byte{msgYes, msgNo, msgEchoed, msgKept, 8, 255} {
		r.says(message(kind, 115_200), nil)
	}
	for bit := range 32 {
		r.sent()
		r.send(good, 1<<bit, 300)
		require.Empty(t, r.sent(), "a wrong check")
		r.isAt(0)
	}
	r.says(message(msgEcho, 115_200, longest...), message(msgEchoed, 115_200, longest...))
	r.says(good, message(msgYes, 1_000_000))
}

// TestSequencerYes: the Yes is on the line, with its delimiter, before the rate changes.
func TestSequencerYes(t *testing.T) {
	r := newRated(t)
	r.send(message(msgAsk, 2_000_000), 0, 0)
	for r.m.Rate() == 0 {
		require.Less(t, r.clock, 10_000)
		r.tick(linkport.Piece{})
	}
	require.Equal(t, [][]byte{checked(message(msgYes, 2_000_000), 0)}, r.frames)
}

// TestSequencerSlow: at the first rate, a frame is repeated and a Nak is sent 8 times later than
// at a fast one.
func TestSequencerSlow(t *testing.T) {
	for _, tt := range []struct{ rate, least int }{{115_200, 8}, {230_400, 4}, {460_800, 2}, {921_600, 1}, {2_000_000, 1}} {
		r := newRated(t)
		r.says(message(msgAsk, tt.rate), message(msgYes, tt.rate))
		r.begin(3)
		r.reads()
		ticks := 1
		for ; r.count.repeated == 0; ticks++ {
			require.Less(t, ticks, 100)
			r.ticks(1)
		}
		assert.InDelta(t, 8*tt.least, ticks, float64(tt.least)+3, "%d bit/s", tt.rate)
	}
}
