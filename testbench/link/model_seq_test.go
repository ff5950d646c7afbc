package link

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/bus/datalink"
	"github.com/hilgpu/hilgpu/rtl/link"
	"github.com/hilgpu/hilgpu/rtl/link/seq"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

// seqShape is that of the sequencer.
var seqShape = shape{window: seq.Window, replay: 20, settled: 25, pace: 12, view: ordered}

func newSeqBoard(t *testing.T) *board {
	words := assembled(seq.Options{MapHash: 0x12345678, Replay: uint8(seqShape.replay)})
	m := link.New(words, uint32(tickClocks*seqShape.pace))
	return &board{link: newByteEnd(&m, &alone{link: &m}, 2), up: func() bool { return m.Status().Up }, pace: seqShape.pace}
}

// ordered is what is compared of the frames of an end that acknowledges at once: data frames
// without their acknowledgement and without the tag of a write, which has no meaning, other
// frames but acknowledgements as they are, and then the last number that was acknowledged. One
// end may send it with data and the other one alone.
func ordered(acked *uint16, frames [][]byte) (all []string) {
	for _, f := range frames {
		head, body := binary.BigEndian.Uint16(f), f[2:len(f)-4]
		if n, ok := acknowledged(f); ok {
			*acked = n
		}
		switch {
		case head&0x8000 != 0:
			if head&0x4000 != 0 {
				body = body[2:]
			}
			all = append(all, fmt.Sprintf("data %#x: %x%x", head&0x3fff, body[:6], body[7:]))
		case head>>12 == 6:
			*acked = 0 // a session begins
			fallthrough
		case head>>12 != 0:
			all = append(all, fmt.Sprintf("%x", f))
		default:
		}
	}
	return append(all, fmt.Sprintf("acknowledged to %d", *acked))
}

// acknowledged returns the number that a frame acknowledges, if it does.
func acknowledged(f []byte) (n uint16, ok bool) {
	head := binary.BigEndian.Uint16(f)
	switch head >> 12 {
	case 0, 1, 4:
		return head & 0xfff, true
	case 12, 13, 14, 15:
		return binary.BigEndian.Uint16(f[2:]) & 0xfff, true
	default:
		return 0, false
	}
}

// acks returns how many frames acknowledge something.
func acks(frames [][]byte) (n int) {
	for _, f := range frames {
		if _, ok := acknowledged(f); ok {
			n++
		}
	}
	return n
}

// seqStep is one event at both ends, of those that an end without frames out of order knows.
func (s *script) seqStep() {
	what, long := "", 0
	switch s.r.IntN(12) {
	case 0, 1, 2:
		what = "data"
		s.data(s.next, false, 0)
		s.next++
	case 3:
		what = "data with an acknowledgement"
		s.data(s.next, true, 0)
		s.next++
	case 4:
		what = "duplicate"
		s.data(s.next-1-uint16(s.r.IntN(40)), false, 0)
		s.run(300)
		require.Equal(s.t, 1, acks(s.frames), "the software acknowledges it again")
		require.Equal(s.t, 1, acks(s.hard.frames), "so does the hardware")
	case 5:
		what = "gap"
		s.settle()
		s.data(s.next+1, false, 0)
		s.run(300)
		s.data(s.next+1, s.r.IntN(2) == 0, 0)
		s.run(300)
		s.data(s.next, false, 0)
		s.next++
	case 6:
		what = "damage"
		s.settle()
		s.data(s.next, false, 1<<s.r.IntN(32))
	case 7:
		what = "acknowledgement"
		s.first += uint16(s.r.IntN(s.flying() + 1))
		s.frame(number(0, s.first), 0)
	case 8:
		what = "impossible acknowledgement"
		s.frame(number(0, s.first+uint16(s.flying())+1+uint16(s.r.IntN(2)*s.r.IntN(50))), 0)
	case 9:
		what = "Nak"
		s.settle()
		for range 1 + s.r.IntN(s.window) {
			s.post()
		}
		s.run(3 * tickClocks)
		s.first += uint16(s.r.IntN(s.flying() + 1))
		s.frame(number(1, s.first), 0)
	case 10:
		what = "Ping"
		s.frame(number(3, s.first), 0)
	default:
		what, long = "silence", s.settled
		s.settle()
		for range 1 + s.r.IntN(s.window) {
			s.post()
		}
	}
	s.run(300)
	if s.flying() < s.window && s.r.IntN(2) == 0 && long == 0 {
		s.post()
	}
	s.run(600 + long*tickClocks)
	s.compare(what)
}

// TestModelSequencer: the sequencer delivers, acknowledges and repeats what bus/datalink does
// that keeps nothing out of order, for every frame of a host.
func TestModelSequencer(t *testing.T) {
	tooltest.Long(t)
	counts := map[string]int{}
	for seed := range uint64(2) {
		after := time.Duration(seqShape.replay) * tickTime
		soft, err := datalink.New(datalink.Config{
			Role: datalink.Board, MapHash: 0x12345678, MaxPacket: 144, ShortSequence: true, InOrder: true, Window: seqShape.window,
			AckDelay: 500 * time.Microsecond, AckEvery: 1, ReplayMin: after, ReplayMax: after, ReplayLimit: 1000,
			KeepAlive: time.Hour, DeadAfter: 2 * time.Hour,
		})
		require.NoError(t, err)
		s := &script{shape: seqShape, t: t, r: rand.New(rand.NewPCG(seed, 12)), hard: newSeqBoard(t), soft: soft, counts: counts}
		for session := range 3 {
			s.open(uint32(100*seed)+uint32(session)+1, 0)
			for range *stepsFlag / 10 {
				s.seqStep()
			}
			s.frame(number(7, 1), 0)
			s.run(600)
			s.compare("Down")
			require.Equal(t, datalink.Down, soft.State())
			require.False(t, s.hard.up())
		}
	}
	t.Log(counts)
	for _, what := range []string{"data", "data with an acknowledgement", "duplicate", "gap", "damage", "acknowledgement", "impossible acknowledgement", "Nak", "Ping", "silence"} {
		require.Positive(t, counts[what], what)
	}
}
