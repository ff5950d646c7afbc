package arbiter

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/ident"
	"github.com/hilgpu/hilgpu/rtl/regbus"
	"github.com/hilgpu/hilgpu/rtl/reset"
)

// tick is a clock without an access of the arbiter's registers and without events.
func (m *Module) tick(ask regbus.Req, turn Turn) {
	m.Tick(ask, turn, regbus.Req{}, Events{}, Events{}, High{}, reset.Signals{})
}

// A clock is one clock of a scenario.
type clock struct {
	ask      uint16 // offset of a read that is asked for; 0: none
	answered bool   // the host gets an answer
	captures bool   // a refused access is captured
	retry    bool   // the answer of the blocks
}

// play runs a scenario and returns for each clock a letter: a for an access of the
// second master, d for its answer, r for an answer to retry, and a dot for nothing.
func play(m *Module, clocks []clock) string {
	var s []byte
	for _, c := range clocks {
		second := Grant(m.Waits(), c.answered, c.captures)
		rsp := regbus.Rsp{Hit: m.Awaits(), Retry: c.retry && m.Awaits()}
		letter := byte('.')
		switch {
		case second:
			letter = 'a'
		case AnswerOf(m.Awaits(), m.Refused(), rsp).Done:
			letter = 'd'
		case m.Awaits():
			letter = 'r'
		}
		s = append(s, letter)
		var ask regbus.Req
		if c.ask != 0 {
			ask = regbus.Req{Op: regbus.Read, Off: c.ask}
		}
		m.tick(ask, Turn{Second: second, Retry: rsp.Retry})
	}
	return string(s)
}

func TestTurns(t *testing.T) {
	ask, none, answered, captures := clock{ask: 4}, clock{}, clock{answered: true}, clock{captures: true}
	retry := clock{retry: true}
	for _, tt := range []struct {
		name   string
		clocks []clock
		want   string
	}{
		{"nothing", []clock{none, none}, ".."},
		{"an access", []clock{ask, none, none, none, none}, ".ad.."},
		{"the host is answered", []clock{ask, answered, none, none}, "..ad"},
		{"a capture of two clocks", []clock{ask, captures, captures, none, none}, "...ad"},
		{"the answer is not held back", []clock{ask, none, {answered: true, captures: true}}, ".ad"},
		{"one asked for with the answer rests a clock", []clock{ask, none, ask, none, none, none}, ".ad.ad"},
		{"one asked for after the rest", []clock{ask, none, none, ask, none, none}, ".ad.ad"},
		{"a retry rests too", []clock{ask, none, retry, none, none, retry, none, none, none, none}, ".ar.ar.ad."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := New(2)
			assert.Equal(t, tt.want, play(&m, tt.clocks))
		})
	}
}

// The access stays the same until it is answered.
func TestReq(t *testing.T) {
	m := New(2)
	want := regbus.Req{Op: regbus.Write, Off: 0x1234, Data: 0x89abcdef}
	m.tick(want, Turn{})
	assert.Equal(t, want, m.Req())
	m.tick(regbus.Req{}, Turn{Second: true})
	assert.Equal(t, want, m.Req())
	assert.Panics(t, func() { n := m; n.tick(want, Turn{Retry: true}) }, "an access before the answer")
	m.tick(regbus.Req{}, Turn{})
	assert.Equal(t, regbus.None, m.Req().Op)
}

func TestAnswer(t *testing.T) {
	rsp := regbus.Rsp{Hit: true, Data: 7}
	assert.Equal(t, Answer{Done: true, Hit: true, Data: 7}, AnswerOf(true, false, rsp))
	assert.Equal(t, Answer{Done: true}, AnswerOf(true, false, regbus.Rsp{}))
	assert.Equal(t, Answer{Done: true, Refused: true}, AnswerOf(true, true, regbus.Rsp{}))
	assert.Zero(t, AnswerOf(false, true, rsp))
	assert.Zero(t, AnswerOf(true, false, regbus.Rsp{Hit: true, Retry: true}))
}

func TestSleep(t *testing.T) {
	m := New(2)
	assert.Equal(t, uint64(math.MaxUint64), m.IdleFor())
	m.tick(regbus.Req{Op: regbus.Read}, Turn{})
	for i, second := range []bool{true, false, false} {
		assert.Zero(t, m.IdleFor(), "clock %d", i)
		m.tick(regbus.Req{}, Turn{Second: second})
	}
	assert.Equal(t, uint64(math.MaxUint64), m.IdleFor())
	was := m
	m.Skip(9)
	m.tick(regbus.Req{}, Turn{})
	assert.Equal(t, was, m)
	m.tick(regbus.Req{Op: regbus.Read}, Turn{})
	m.Reset()
	assert.Equal(t, New(2), m)
}

// accessed performs an access of a master and returns the answer of the arbiter.
func accessed(m *Module, r regbus.Req, second bool) regbus.Rsp {
	if second {
		m.tick(r, Turn{})
		r = m.Req()
	}
	m.Tick(regbus.Req{}, Turn{Second: second}, r, Events{}, Events{}, High{}, reset.Signals{})
	rsp := m.Registers()
	m.tick(regbus.Req{}, Turn{})
	return rsp
}

// events returns EVENTS of a master.
func events(m *Module, second bool) uint32 {
	return accessed(m, regbus.Req{Op: regbus.Read, Off: 0x400}, second).Data
}

// clears clears bits of EVENTS of a master.
func clears(m *Module, second bool, bits uint32) {
	accessed(m, regbus.Req{Op: regbus.Write, Off: 0x400, Data: bits}, second)
}

func TestEachEvent(t *testing.T) {
	for _, tt := range []struct {
		ev   Events
		want uint32
	}{
		{Events{Fence: true}, 0x1}, {Events{Preempt: true}, 0x2}, {Events{Fault: true}, 0x4}, {Events{Watchdog: true}, 0x8},
		{Events{true, true, true, true}, 0xf},
	} {
		m := New(2)
		m.Tick(regbus.Req{}, Turn{}, regbus.Req{}, tt.ev, Events{}, High{}, reset.Signals{})
		assert.Equal(t, tt.want, events(&m, false))
		assert.Equal(t, tt.want, events(&m, true))
		m.Tick(regbus.Req{}, Turn{}, regbus.Req{}, Events{}, tt.ev, High{}, reset.Signals{})
		assert.Equal(t, tt.want*0x101, events(&m, false))
	}
}

// A clear is of the bits written as 1, and of the master that writes them.
func TestClear(t *testing.T) {
	m := New(2)
	all := Events{true, true, true, true}
	m.Tick(regbus.Req{}, Turn{}, regbus.Req{}, all, all, High{}, reset.Signals{})
	clears(&m, true, 0x802)
	assert.Equal(t, uint32(0x70d), events(&m, true))
	assert.Equal(t, uint32(0xf0f), events(&m, false))
	clears(&m, false, 0xffffffff)
	assert.Zero(t, events(&m, false))
	assert.Equal(t, uint32(0x70d), events(&m, true))
	m.tick(regbus.Req{Op: regbus.Write, Off: 0x400, Data: 0xf0f}, Turn{})
	m.Tick(regbus.Req{}, Turn{Second: true}, m.Req(), Events{Fault: true}, Events{}, High{}, reset.Signals{})
	m.tick(regbus.Req{}, Turn{})
	assert.Equal(t, uint32(4), events(&m, true), "an event in the clock of its clear")
	assert.Equal(t, uint32(4), events(&m, false))
	assert.Equal(t, regbus.Rsp{Hit: true}, accessed(&m, regbus.Req{Op: regbus.Write, Off: 0x400}, true))
	for off := range uint16(0x4000) {
		if off != 0x100 && off != 0x101 {
			assert.Zero(t, accessed(&m, regbus.Req{Op: regbus.Read, Off: off * 4}, false))
		}
	}
}

// A whole-device reset clears the events and keeps an access.
func TestWholeReset(t *testing.T) {
	m := New(2)
	m.tick(regbus.Req{Op: regbus.Read, Off: 8}, Turn{})
	m.Tick(regbus.Req{}, Turn{}, regbus.Req{}, Events{Fence: true}, Events{Fence: true}, High{}, reset.Signals{Pending: true, Whole: true})
	assert.Equal(t, regbus.Read, m.Req().Op)
	m.tick(regbus.Req{}, Turn{Second: true})
	m.tick(regbus.Req{}, Turn{})
	assert.Zero(t, events(&m, true))
	assert.Zero(t, events(&m, false))
}

// A read of a low half latches the high half in the clock of its answer, for the
// second master. It does not latch it for the host.
func TestLatches(t *testing.T) {
	now := func(v uint32) High { return High{Time: v, Line0: v + 0x100, Line1: v + 0x200} }
	for _, tt := range []struct {
		name   string
		lo, hi uint16
		shown  uint16 // offset of the read of the low half as the blocks see it
		want   uint32
	}{
		{"time", 0x18, 0x1c, 0x18, 2},
		{"timeline of node 0", 0x1048, 0x104c, 0x101c, 0x102},
		{"timeline of node 1", 0x1148, 0x114c, 0x111c, 0x202},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := New(2)
			m.tick(regbus.Req{Op: regbus.Read, Off: tt.lo}, Turn{})
			assert.Equal(t, regbus.Req{Op: regbus.Read, Off: tt.shown}, m.Req())
			m.Tick(regbus.Req{}, Turn{Second: true}, m.Req(), Events{}, Events{}, now(1), reset.Signals{})
			assert.Zero(t, m.Registers(), "a block answers")
			m.Tick(regbus.Req{}, Turn{}, regbus.Req{}, Events{}, Events{}, now(2), reset.Signals{})
			m.Tick(regbus.Req{}, Turn{}, regbus.Req{Op: regbus.Read, Off: tt.lo}, Events{}, Events{}, now(3), reset.Signals{})
			m.Tick(regbus.Req{}, Turn{}, regbus.Req{}, Events{}, Events{}, now(4), reset.Signals{})
			read := regbus.Req{Op: regbus.Read, Off: tt.hi}
			assert.Equal(t, regbus.Rsp{Hit: true, Data: tt.want}, accessed(&m, read, true))
			assert.Zero(t, accessed(&m, read, false), "the host's is in a block")
			m.tick(read, Turn{})
			assert.Equal(t, regbus.None, m.Req().Op, "the blocks do not see the read")
			m.Reset()
			m.tick(regbus.Req{Op: regbus.Write, Off: tt.hi, Data: 5}, Turn{})
			assert.Equal(t, regbus.Req{Op: regbus.Write, Off: tt.hi, Data: 5}, m.Req(), "they see writes")
		})
	}
	one := New(1)
	one.tick(regbus.Req{Op: regbus.Read, Off: 0x114c}, Turn{})
	assert.Equal(t, regbus.Read, one.Req().Op, "unmapped with one node")
	assert.Zero(t, accessed(&one, regbus.Req{Op: regbus.Read, Off: 0x114c}, false))
}

// A whole-device reset clears the latched timelines, and a function-level reset the
// latched time too.
func TestLatchesAfterReset(t *testing.T) {
	m := New(2)
	for _, off := range []uint16{0x18, 0x1048, 0x1148} {
		m.tick(regbus.Req{Op: regbus.Read, Off: off}, Turn{})
		m.tick(regbus.Req{}, Turn{Second: true})
		m.Tick(regbus.Req{}, Turn{}, regbus.Req{}, Events{}, Events{}, High{5, 6, 7}, reset.Signals{})
	}
	get := func(off uint16) uint32 { return accessed(&m, regbus.Req{Op: regbus.Read, Off: off}, true).Data }
	assert.Equal(t, [3]uint32{5, 6, 7}, [3]uint32{get(0x1c), get(0x104c), get(0x114c)})
	m.Tick(regbus.Req{}, Turn{}, regbus.Req{}, Events{}, Events{}, High{}, reset.Signals{Whole: true})
	assert.Equal(t, [3]uint32{5, 0, 0}, [3]uint32{get(0x1c), get(0x104c), get(0x114c)})
	m.Tick(regbus.Req{}, Turn{}, regbus.Req{}, Events{}, Events{}, High{}, reset.Signals{Whole: true, Function: true})
	assert.Zero(t, get(0x1c))
}

func TestRefuses(t *testing.T) {
	const host, second = false, true
	for _, tt := range []struct {
		name   string
		owner  uint8
		op     regbus.Op
		off    uint16
		master bool
		want   bool
	}{
		{"the host writes its node 0", 0b10, regbus.Write, 0x1018, host, false},
		{"the host writes the other's node 0", 0b01, regbus.Write, 0x1018, host, true},
		{"the host reads the other's node 0", 0b01, regbus.Read, 0x1018, host, false},
		{"the host writes the other's node 1", 0b10, regbus.Write, 0x1100, host, true},
		{"the second master writes its node 1", 0b10, regbus.Write, 0x11fc, second, false},
		{"the second master writes the host's node 1", 0b01, regbus.Write, 0x11fc, second, true},
		{"the second master writes the host's node 0", 0b10, regbus.Write, 0x1000, second, true},
		{"the second master reads the host's node 0", 0b10, regbus.Read, 0x1000, second, false},
		{"before the nodes", 0b11, regbus.Write, 0x0ffc, host, false},
		{"after the nodes", 0b11, regbus.Write, 0x1200, host, false},
		{"the second master writes a scratch register", 0, regbus.Write, 0x20, second, false},
		{"the host writes OWNER", 0b11, regbus.Write, 0x404, host, false},
		{"the second master writes OWNER", 0b11, regbus.Write, 0x404, second, true},
		{"the second master reads OWNER", 0, regbus.Read, 0x404, second, false},
		{"the second master writes EVENTS", 0, regbus.Write, 0x400, second, false},
		{"nothing", 0b11, regbus.None, 0x1000, host, false},
	} {
		assert.Equal(t, tt.want, Refuses(tt.owner, regbus.Req{Op: tt.op, Off: tt.off}, tt.master), tt.name)
	}
}

func TestOwner(t *testing.T) {
	for nodes, want := range map[int]uint32{1: 1, 2: 3} {
		m := New(nodes)
		owner := func() uint32 { return accessed(&m, regbus.Req{Op: regbus.Read, Off: 0x404}, true).Data }
		set := regbus.Req{Op: regbus.Write, Off: 0x404, Data: 0xffffffff}
		assert.Zero(t, owner())
		assert.Equal(t, regbus.Rsp{Hit: true}, accessed(&m, set, false))
		assert.Equal(t, want, owner(), "%d nodes", nodes)
		assert.Equal(t, uint8(want), m.Owner())
		m.Tick(regbus.Req{}, Turn{}, regbus.Req{}, Events{}, Events{}, High{}, reset.Signals{Whole: true})
		assert.Zero(t, owner())
		accessed(&m, set, false)
		m.Reset()
		assert.Zero(t, owner())
	}
}

// A refused write has no effect. In the clock of its answer it is an error.
func TestRefusedWrite(t *testing.T) {
	m := New(2)
	m.tick(regbus.Req{Op: regbus.Write, Off: 0x404, Data: 3}, Turn{})
	assert.Zero(t, m.Err().Cause)
	m.tick(regbus.Req{}, Turn{Second: true, Refused: true})
	assert.True(t, m.Refused())
	assert.Equal(t, ident.Error{Cause: idreg.ErrOwner, Write: true, Addr: 0x404, Second: true}, m.Err())
	assert.Zero(t, m.Registers())
	for range 2 {
		assert.True(t, m.Ends())
		m.tick(regbus.Req{}, Turn{})
		assert.Zero(t, m.Err().Cause)
		assert.False(t, m.Refused())
	}
	assert.False(t, m.Ends())
	assert.Zero(t, m.Owner())

	m.tick(regbus.Req{}, Turn{Refused: true})
	assert.True(t, m.Refused())
	assert.Zero(t, m.Err().Cause, "the PCIe function reports the host's")
}
