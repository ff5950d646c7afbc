package fence

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/regbus"
)

const host = uint64(1) << 63

// trace has the clocks of the effects of a request, counted from the clock after
// it was taken.
type trace struct {
	header, beat  int // taken
	update        int // FENCE changed
	event, result int
	outcome       Result
	value         uint64
}

// run sends a request and delays header and beat by the given clocks. refuse is
// the clock, after both were taken, in which the write is refused, or -1.
func run(t *testing.T, m *Module, req Req, header, beat, refuse int) trace {
	require.True(t, m.Ready())
	m.Tick(req, 0, false, false, false, regbus.Req{}, false)
	tr := trace{header: -1, beat: -1, update: -1, event: -1, result: -1}
	was := m.Timeline()
	kept := req
	kept.Op = None
	for clock := 1; clock < 100; clock++ {
		assert.False(t, m.Ready())
		wreq, wbeat := m.Write()
		again, _ := m.Write()
		assert.Equal(t, wreq, again)
		reqReady, beatReady := clock > header && wreq.Kind != port.None, clock > beat && wbeat.Valid
		if reqReady {
			tr.header = clock
			assert.Equal(t, port.Request{Kind: port.MemWrite, Len: 2}, wreq)
		}
		if beatReady {
			tr.beat = clock
			tr.value = wbeat.Data
			assert.Equal(t, port.Beat{Valid: true, Last: true, Enable: 0xff, Data: wbeat.Data}, wbeat)
		}
		both := max(tr.header, tr.beat)
		refused := refuse >= 0 && tr.header >= 0 && tr.beat >= 0 && clock == both+refuse
		m.Tick(kept, 0x123456789abc, reqReady, beatReady, refused, regbus.Req{}, false)
		if m.Timeline() != was && tr.update < 0 {
			tr.update = clock
		}
		if m.Event() {
			tr.event = clock
		}
		if m.Result() != ResultNone {
			tr.result, tr.outcome = clock, m.Result()
			assert.True(t, m.Ready())
			m.Tick(Req{}, 0, false, false, false, regbus.Req{}, false)
			assert.Equal(t, ResultNone, m.Result(), "a pulse")
			assert.False(t, m.Event(), "a pulse")
			return tr
		}
	}
	t.Fatal("no result")
	return tr
}

// docs/properties.md: F2, F3.
func TestOrder(t *testing.T) {
	for header := range 12 {
		for beat := range 12 {
			m := New(0, true, true)
			tr := run(t, &m, Req{Op: Fence, IRQ: true, ID: 9, Addr: host | 0x40}, header, beat, -1)
			require.Equal(t, ResultDone, tr.outcome)
			require.Equal(t, uint64(9), tr.value)
			require.Greater(t, tr.update, max(tr.header, tr.beat), "FENCE after the write is taken")
			require.Greater(t, tr.event, tr.update, "the event after FENCE")
			require.Equal(t, tr.event, tr.result)
			require.LessOrEqual(t, tr.result-max(tr.header, tr.beat), 2)
		}
	}
}

func TestRequests(t *testing.T) {
	for _, tt := range []struct {
		name      string
		completed uint32
		req       Req
		refuse    int
		outcome   Result
		want      uint32
		event     bool
	}{
		{"fence", 5, Req{Op: Fence, IRQ: true, ID: 6, Addr: 8}, -1, ResultDone, 6, true},
		{"without IRQ", 5, Req{Op: Fence, ID: 6, Addr: 8}, -1, ResultDone, 6, false},
		{"the same id", 5, Req{Op: Fence, IRQ: true, ID: 5, Addr: 8}, -1, ResultDone, 5, true},
		{"backwards", 5, Req{Op: Fence, IRQ: true, ID: 4, Addr: 8}, -1, ResultBackwards, 5, false},
		{"2^31-1 ahead", 5, Req{Op: Fence, ID: 5 + 1<<31 - 1, Addr: 8}, -1, ResultDone, 5 + 1<<31 - 1, false},
		{"2^31 ahead", 5, Req{Op: Fence, ID: 5 + 1<<31, Addr: 8}, -1, ResultBackwards, 5, false},
		{"wraps", math.MaxUint32, Req{Op: Fence, ID: 0, Addr: 8}, -1, ResultDone, 0, false},
		{"backwards across 0", 0, Req{Op: Fence, ID: math.MaxUint32, Addr: 8}, -1, ResultBackwards, 0, false},
		{"refused when taken", 5, Req{Op: Fence, IRQ: true, ID: 6, Addr: 8}, 0, ResultWriteError, 5, false},
		{"refused a clock later", 5, Req{Op: Fence, IRQ: true, ID: 6, Addr: 8}, 1, ResultWriteError, 5, false},
		{"time stamp", 5, Req{Op: Timestamp, IRQ: true, ID: 6, Addr: 8}, -1, ResultDone, 5, false},
		{"signal", 5, Req{Op: Signal, IRQ: true, ID: 0x9abcdef0, High: 0x12345678, Addr: 8}, -1, ResultDone, 5, true},
		{"signal without IRQ", 5, Req{Op: Signal, ID: 6, Addr: 8}, -1, ResultDone, 5, false},
		{"signal refused", 5, Req{Op: Signal, IRQ: true, ID: 6, Addr: 8}, 1, ResultWriteError, 5, false},
		{"time stamp refused", 5, Req{Op: Timestamp, Addr: 8}, 1, ResultWriteError, 5, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := New(1, true, true)
			off := uint16(cpreg.Base + cpreg.Stride + cpreg.Fence)
			m.Tick(Req{}, 0, false, false, false, regbus.Req{Op: regbus.Write, Off: off, Data: tt.completed}, false)
			tr := run(t, &m, tt.req, 0, 0, tt.refuse)
			assert.Equal(t, tt.outcome, tr.outcome)
			assert.Equal(t, tt.event, tr.event >= 0)
			if tt.outcome == ResultBackwards {
				assert.Equal(t, -1, tr.header, "nothing is written")
			} else if tt.req.Op == Timestamp {
				assert.Equal(t, uint64(0x123456789abc), tr.value)
			} else if tt.req.Op == Signal {
				assert.Equal(t, uint64(tt.req.High)<<32|uint64(tt.req.ID), tr.value)
			}
			m.Tick(Req{}, 0, false, false, false, regbus.Req{Op: regbus.Read, Off: off}, false)
			assert.Equal(t, regbus.Rsp{Hit: true, Data: tt.want}, m.Rsp())
			next := run(t, &m, Req{Op: Fence, ID: tt.want + 1, Addr: 8}, 0, 0, -1)
			assert.Equal(t, ResultDone, next.outcome, "an error does not last")
		})
	}
}

func TestRegister(t *testing.T) {
	m := New(0, true, true)
	for off := uint16(0); off < 0x2000; off += 4 {
		m.Tick(Req{}, 0, false, false, false, regbus.Req{Op: regbus.Read, Off: off}, false)
		assert.Equal(t, off == 0x101c || off == 0x1048 || off == 0x104c, m.Rsp().Hit, "offset %#x", off)
	}
	assert.Equal(t, regbus.Rsp{}, m.Rsp())
}

func TestSleep(t *testing.T) {
	m := New(0, true, true)
	assert.Equal(t, uint64(math.MaxUint64), m.IdleFor())
	was := m
	m.Skip(1000)
	m.Tick(Req{}, 1000, true, true, false, regbus.Req{}, false)
	assert.Equal(t, was, m, "sleeping")
	m.Tick(Req{Op: Fence, ID: 1, Addr: 8}, 0, false, false, false, regbus.Req{}, false)
	for !m.Ready() {
		assert.Zero(t, m.IdleFor())
		m.Tick(Req{ID: 1, Addr: 8}, 0, true, true, false, regbus.Req{}, false)
	}
	assert.Zero(t, m.IdleFor(), "the result goes away")
	m.Reset()
	assert.Equal(t, New(0, true, true), m)
}

// access reads or writes a register of node 0.
func access(m *Module, op regbus.Op, off uint16, v uint32) uint32 {
	m.Tick(Req{}, 0, false, false, false, regbus.Req{Op: op, Off: cpreg.Base + off, Data: v}, false)
	return m.Rsp().Data
}

// docs/properties.md: F9.
func TestTimeline(t *testing.T) {
	for _, tt := range []struct {
		name      string
		high, low uint32
		id        uint32
		refuse    int
		want      uint64 // with a timeline
		written   uint64
	}{
		{"in the low half", 3, 7, 9, -1, 3<<32 | 9, 3<<32 | 9},
		{"the low half wraps", 3, 0xffffffff, 0, -1, 4 << 32, 4 << 32},
		{"the low half wraps far", 3, 0x80000001, 0, -1, 4 << 32, 4 << 32},
		{"the same id again", 3, 7, 7, -1, 3<<32 | 7, 3<<32 | 7},
		{"the high half also wraps", 0xffffffff, 0xffffffff, 5, -1, 5, 5},
		{"refused", 3, 0xffffffff, 0, 1, 3<<32 | 0xffffffff, 4 << 32},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, timeline := range []bool{true, false} {
				m := New(0, timeline, false)
				access(&m, regbus.Write, cpreg.Fence, tt.low)
				access(&m, regbus.Write, cpreg.LineHi, tt.high)
				tr := run(t, &m, Req{Op: Fence, ID: tt.id, Addr: 8}, 0, 0, tt.refuse)
				want, written := tt.want, tt.written
				if !timeline {
					want, written = want&0xffffffff, written&0xffffffff
				}
				assert.Equal(t, written, tr.value)
				assert.Equal(t, want, m.Timeline())
				assert.Equal(t, uint32(want), access(&m, regbus.Read, cpreg.LineLo, 0))
				assert.Equal(t, uint32(want>>32), access(&m, regbus.Read, cpreg.LineHi, 0))
				access(&m, regbus.Write, cpreg.LineHi, 77)
				access(&m, regbus.Read, cpreg.Fence, 0)
				assert.Equal(t, uint32(want>>32), access(&m, regbus.Read, cpreg.LineHi, 0), "only TIMELINE_LO latches")
			}
		})
	}
}

// TestTimelineDoesNotTear reads the halves around a fence that wraps, at every
// clock of it.
//
// docs/properties.md: F15.
func TestTimelineDoesNotTear(t *testing.T) {
	seen := map[uint64]int{}
	for first := range 12 {
		for second := first; second < 14; second++ {
			m := New(0, true, true)
			access(&m, regbus.Write, cpreg.Fence, 0xffffffff)
			access(&m, regbus.Write, cpreg.LineHi, 1)
			m.Tick(Req{Op: Fence, ID: 0, Addr: 8}, 0, false, false, false, regbus.Req{}, false)
			var low, high uint32
			for clock := range 16 {
				var req regbus.Req
				switch clock {
				case first:
					req = regbus.Req{Op: regbus.Read, Off: cpreg.Base + cpreg.LineLo}
				case second + 1:
					req = regbus.Req{Op: regbus.Read, Off: cpreg.Base + cpreg.LineHi}
				}
				m.Tick(Req{}, 0, true, true, false, req, false)
				switch clock {
				case first:
					low = m.Rsp().Data
				case second + 1:
					high = m.Rsp().Data
				}
			}
			seen[uint64(high)<<32|uint64(low)]++
		}
	}
	assert.Len(t, seen, 2)
	assert.Positive(t, seen[1<<32|0xffffffff], "before")
	assert.Positive(t, seen[2<<32], "wrapped")
}

// A clock in which the unit sleeps changes nothing, whatever its inputs are.
func TestSleeps(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	m := New(0, true, true)
	slept, id := 0, uint32(0)
	const clocks = 20000
	for range clocks {
		var req Req
		var regs regbus.Req
		if m.Ready() && rng.IntN(8) == 0 {
			id++
			req = Req{Op: []Op{Fence, Timestamp}[rng.IntN(2)], ID: id}
		}
		if rng.IntN(8) == 0 {
			regs = regbus.Req{Op: regbus.Read, Off: cpreg.Base + 4*uint16(rng.IntN(32))}
		}
		wreq, wbeat := m.Write()
		rst := m.Ready() && req.Op == None && rng.IntN(50) == 0
		was, sleeps := m, m.Sleeps(req, regs, rst)
		m.Tick(req, rng.Uint64(), wreq.Kind != port.None && rng.IntN(3) == 0, wbeat.Valid && rng.IntN(3) == 0, false, regs, rst)
		if sleeps {
			require.Equal(t, was, m)
			slept++
		}
	}
	assert.Greater(t, slept, clocks/20)
	assert.Less(t, slept, clocks*19/20)
}
