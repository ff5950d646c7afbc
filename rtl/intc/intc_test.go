package intc

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/intcreg"
	"github.com/hilgpu/hilgpu/rtl/abi/msixreg"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/abi/reg"
	"github.com/hilgpu/hilgpu/rtl/regbus"
	"github.com/hilgpu/hilgpu/rtl/reset"
)

// A bench is the controller and its words in the register RAM.
type bench struct {
	Module
	table [8]uint32
	word  uint32 // the requested word
}

// start returns a controller after reset, with a random table.
func start(coalescing bool) bench { return bench{Module: New(coalescing, false, 48)} }

// Tick ticks both. It panics if the controller sleeps in a clock that changes
// something.
func (b *bench) Tick(ev Events, enable, functionMask, reqReady, beatReady, refused bool, regs regbus.Req, rst reset.Signals) {
	next := uint32(0xbad)
	if ask := b.TableRead(); ask.Valid && regs.Op == regbus.None {
		next = b.table[ask.Word]
	}
	if regs.Op == regbus.Write && regs.Off&^0x1f == msixreg.Base {
		b.table[regs.Off>>2&7] = regs.Data
	}
	was, sleeps := b.Module, b.Sleeps(ev, refused, regs, rst)
	b.Module.Tick(ev, enable, functionMask, reqReady, beatReady, refused, b.word, regs, rst)
	if sleeps && b.Module != was {
		panic("a clock of sleep changes the controller")
	}
	b.word = next
}

func read(m *bench, off uint16) uint32 {
	m.Tick(Events{}, false, false, false, false, false, regbus.Req{Op: regbus.Read, Off: off}, reset.Signals{})
	return m.Rsp().Data
}

func write(m *bench, off uint16, v uint32) {
	m.Tick(Events{}, false, false, false, false, false, regbus.Req{Op: regbus.Write, Off: off, Data: v}, reset.Signals{})
}

// ready returns a controller with all events unmasked and two vectors. It has
// sent a message of vector 0.
func ready() bench {
	m := start(true)
	write(&m, intcreg.Base+intcreg.Mask, intcreg.All)
	for v := range uint16(2) {
		at := msixreg.Base + v*msixreg.Stride
		write(&m, at+msixreg.AddrLo, 0xfee00000+0x14*uint32(v))
		write(&m, at+msixreg.AddrHi, uint32(v))
		write(&m, at+msixreg.Data, 0x40+uint32(v))
		write(&m, at+msixreg.Control, 0)
	}
	m.Tick(Events{Done0: true}, true, false, false, false, false, regbus.Req{}, reset.Signals{})
	for range 5 {
		m.Tick(Events{}, true, false, true, true, false, regbus.Req{}, reset.Signals{})
	}
	write(&m, intcreg.Base+intcreg.Status, intcreg.All)
	m.Tick(Events{}, true, false, false, false, false, regbus.Req{}, reset.Signals{})
	m.sent = 0
	return m
}

// message is a message that was taken.
type message struct {
	start  int // clock in which it was first offered
	header port.Request
	beat   port.Beat
}

// receiver takes messages. The header and the beat each wait the given number of
// clocks.
type receiver struct {
	header, beat     int
	waitH, waitB     int
	headerIn, beatIn bool
	cur              message
	got              []message
}

// offer checks the outputs in a clock and returns what is taken.
func (r *receiver) offer(t *testing.T, clock int, m *bench) (reqReady, beatReady bool) {
	req, beat := m.Message()
	again, _ := m.Message()
	require.Equal(t, req, again)
	if req.Kind != port.None && r.waitH == 0 {
		r.cur.start = clock
	}
	if req.Kind != port.None {
		r.waitH++
		reqReady = r.waitH > r.header
	}
	if beat.Valid {
		r.waitB++
		beatReady = r.waitB > r.beat
	}
	if reqReady {
		r.cur.header, r.headerIn = req, true
	}
	if beatReady {
		r.cur.beat, r.beatIn = beat, true
	}
	if r.headerIn && r.beatIn {
		r.got = append(r.got, r.cur)
		*r = receiver{header: r.header, beat: r.beat, got: r.got}
	}
	return reqReady, beatReady
}

// vector returns the vector of a message, according to the table that ready
// writes.
func (m message) vector(t *testing.T) int {
	want := []message{
		{header: port.Request{Kind: port.MemWrite, Len: 1, Addr: host | 0xfee00000},
			beat: port.Beat{Valid: true, Last: true, Enable: 0x0f, Data: 0x40<<32 | 0x40}},
		{header: port.Request{Kind: port.MemWrite, Len: 1, Addr: host | 0x1_fee00014},
			beat: port.Beat{Valid: true, Last: true, Enable: 0xf0, Data: 0x41<<32 | 0x41}},
	}
	for v, w := range want {
		if m.header == w.header && m.beat == w.beat {
			return v
		}
	}
	t.Fatalf("no vector sends %+v", m)
	return -1
}

// TestNothingIsLost tries two events, an acknowledge of both and the delays of
// header and beat in every phase. After every event a message of its vector must
// start, and STATUS must keep the events at or after the acknowledge.
func TestNothingIsLost(t *testing.T) {
	const span = 9
	for _, second := range []uint16{intcreg.Done0, intcreg.Done1, intcreg.Fault1} {
		for phase := range span * span * span * 16 {
			e0, e1, ack := phase%span, phase/span%span, phase/span/span%span
			rest := phase / (span * span * span)
			m := ready()
			r := receiver{header: rest % 4, beat: rest / 4}
			for clock := range 40 {
				var ev Events
				ev.Done0 = clock == e0 || second == intcreg.Done0 && clock == e1
				ev.Done1 = second == intcreg.Done1 && clock == e1
				ev.Fault1 = second == intcreg.Fault1 && clock == e1
				var regs regbus.Req
				if clock == ack {
					regs = regbus.Req{Op: regbus.Write, Off: intcreg.Base + intcreg.Status, Data: intcreg.All}
				}
				reqReady, beatReady := r.offer(t, clock, &m)
				m.Tick(ev, true, false, reqReady, beatReady, false, regs, reset.Signals{})
			}
			check := func(event uint16, at int) {
				vector := intcreg.VectorDone
				if event&intcreg.FaultAll != 0 {
					vector = intcreg.VectorFault
				}
				found := false
				for _, g := range r.got {
					found = found || g.start > at && g.vector(t) == vector
				}
				require.True(t, found, "event %#x at %d, ack %d, phase %d", event, at, ack, phase)
			}
			check(intcreg.Done0, e0)
			check(second, e1)
			require.LessOrEqual(t, len(r.got), 2)
			var want uint32
			if e0 >= ack {
				want |= intcreg.Done0
			}
			if e1 >= ack {
				want |= uint32(second)
			}
			require.Equal(t, want, read(&m, intcreg.Base+intcreg.Status))
			require.Zero(t, read(&m, msixreg.PendingBase))
		}
	}
}

// step is one clock of a scenario: an event or a register write, and levels.
type step struct {
	ev           Events
	off          uint16
	data         uint32
	disable      bool
	functionMask bool
}

func TestHolds(t *testing.T) {
	done0 := Events{Done0: true}
	mask := func(v uint32) step { return step{off: intcreg.Base + intcreg.Mask, data: v} }
	ack := step{off: intcreg.Base + intcreg.Status, data: intcreg.All}
	control := func(v uint16, d uint32) step {
		return step{off: msixreg.Base + v*msixreg.Stride + msixreg.Control, data: d}
	}
	function := func(s step) step { s.functionMask = true; return s }
	off := func(s step) step { s.disable = true; return s }
	for _, tt := range []struct {
		name    string
		steps   []step
		vectors []int
		status  uint32
		pending uint32 // after the last step
	}{
		{"done", []step{{ev: done0}}, []int{0}, 0x001, 0},
		{"fault", []step{{ev: Events{Fault0: true}}}, []int{1}, 0x100, 2},
		{"all at once", []step{{ev: Events{Done0: true, Done1: true, Fault0: true, Fault1: true}}}, []int{0, 1}, 0x303, 2},
		{"raised", []step{{off: intcreg.Base + intcreg.Raise, data: 0xffffffff}}, []int{0, 1}, 0x303, 2},
		{"while MASK is 0", []step{mask(0), {ev: done0}}, nil, 0x001, 0},
		{"while MASK is 0, then set", []step{mask(0), {ev: done0}, mask(1)}, []int{0}, 0x001, 0},
		{"while MASK is 0, acknowledged, then set", []step{mask(0), {ev: done0}, ack, mask(1)}, nil, 0, 0},
		{"while MASK is 0, with the acknowledge, then set",
			[]step{mask(0), {ev: done0, off: ack.off, data: ack.data}, mask(1)}, []int{0}, 0x001, 0},
		{"sent before MASK was 0", []step{{ev: done0}, {}, {}, mask(0), mask(1)}, []int{0}, 0x001, 0},
		{"again while MASK is 0", []step{{ev: done0}, {}, {}, mask(0), {ev: done0}, mask(1)}, []int{0, 0}, 0x001, 0},
		{"only the masked bit", []step{mask(2), {ev: Events{Done0: true, Done1: true}}}, []int{0}, 0x003, 0},
		{"vector masked", []step{control(0, 1), {ev: done0}}, nil, 0x001, 1},
		{"other vector masked", []step{control(1, 1), {ev: done0}}, []int{0}, 0x001, 0},
		{"vector unmasked", []step{control(0, 1), {ev: done0}, control(0, 0)}, []int{0}, 0x001, 0},
		{"vector masked, acknowledged, unmasked", []step{control(0, 1), {ev: done0}, ack, control(0, 0)}, nil, 0, 0},
		{"function masked", []step{function(step{ev: done0}), function(step{}), function(step{})}, []int{0}, 0x001, 1},
		{"disabled", []step{off(step{ev: done0}), off(step{}), off(step{})}, []int{0}, 0x001, 1},
		{"two while function masked are one", []step{function(step{ev: done0}), function(step{ev: done0})}, []int{0}, 0x001, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := ready()
			var r receiver
			clock := 0
			tick := func(s step) {
				var regs regbus.Req
				if s.off != 0 {
					regs = regbus.Req{Op: regbus.Write, Off: s.off, Data: s.data}
				}
				reqReady, beatReady := r.offer(t, clock, &m)
				m.Tick(s.ev, !s.disable, s.functionMask, reqReady, beatReady, false, regs, reset.Signals{})
				clock++
			}
			for _, s := range tt.steps {
				tick(s)
			}
			last := tt.steps[len(tt.steps)-1]
			stay := m
			stay.Tick(Events{}, !last.disable, last.functionMask, false, false, false, regbus.Req{Op: regbus.Read, Off: msixreg.PendingBase}, reset.Signals{})
			assert.Equal(t, tt.pending, stay.Rsp().Data)
			for range 20 {
				tick(step{})
			}
			var vectors []int
			for _, g := range r.got {
				vectors = append(vectors, g.vector(t))
			}
			assert.Equal(t, tt.vectors, vectors)
			assert.Equal(t, tt.status, read(&m, intcreg.Base+intcreg.Status))
		})
	}
}

// TestRefusedMessage ends bus mastering while a message waits. Its events must
// then be pending, and be sent as soon as possible, unless they were
// acknowledged.
func TestRefusedMessage(t *testing.T) {
	for _, tt := range []struct {
		name    string
		ack     uint32
		again   bool // while the message waits
		pending uint32
		sent    bool
	}{
		{"refused", 0, false, 1, true},
		{"refused, and an event after it", 0, true, 1, true},
		{"acknowledged while it waits", intcreg.Done0, false, 0, false},
		{"the other node acknowledged", intcreg.Done1, false, 1, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := ready()
			m.Tick(Events{Done0: true}, true, false, false, false, false, regbus.Req{}, reset.Signals{})
			m.Tick(Events{Done0: tt.again}, false, false, true, false, false,
				regbus.Req{Op: regbus.Write, Off: intcreg.Base + intcreg.Status, Data: tt.ack}, reset.Signals{})
			m.Tick(Events{}, false, false, false, true, true, regbus.Req{}, reset.Signals{})
			assert.Equal(t, tt.pending, read(&m, msixreg.PendingBase))
			m.Tick(Events{}, true, false, false, false, false, regbus.Req{}, reset.Signals{})
			req, beat := m.Message()
			assert.Equal(t, tt.sent, req.Kind != port.None)
			assert.Equal(t, tt.sent, beat.Valid)
			m.Tick(Events{}, true, false, true, true, false, regbus.Req{}, reset.Signals{})
			assert.Zero(t, read(&m, msixreg.PendingBase), "once")
		})
	}
}

// kept reports whether a register is in the register RAM.
func kept(name string) bool {
	return strings.HasPrefix(name, "ADDR_") || strings.HasPrefix(name, "DATA")
}

func TestRegisters(t *testing.T) {
	m := start(true)
	mapped := map[uint16]reg.Reg{}
	for _, b := range []reg.Block{intcreg.Block, msixreg.Table, msixreg.Pending} {
		for _, r := range b.Regs {
			mapped[uint16(b.Base+r.Off)] = r
			assert.Equal(t, r.Reset, read(&m, uint16(b.Base+r.Off)), r.Name)
		}
	}
	for off := range uint16(0x4000) {
		r, want := mapped[off*4]
		want = want && !kept(r.Name)
		read(&m, off*4)
		require.Equal(t, want, m.Rsp().Hit, "offset %#x", off*4)
	}
	for _, tt := range []struct {
		off        uint16
		data, want uint32
	}{
		{0x0104, 0xffffffff, 0x303},
		{0x0108, 0, 0},
		{0x010c, 0xffffffff, 0xff},
		{0x0110, 0xffffffff, 0xffffff},
		{0x800c, 0xfffffffe, 0},
		{0x801c, 0xffffffff, 1},
		{0x9000, 0xffffffff, 0},
		{0x9004, 0xffffffff, 0},
	} {
		write(&m, tt.off, tt.data)
		assert.Equal(t, regbus.Rsp{Hit: true}, m.Rsp())
		assert.Equal(t, tt.want, read(&m, tt.off), "%#x", tt.off)
	}
	m.Reset()
	assert.Equal(t, New(true, false, 48), m.Module)
}

func TestSleep(t *testing.T) {
	m := ready()
	m.Tick(Events{}, true, false, false, false, false, regbus.Req{}, reset.Signals{})
	assert.Equal(t, uint64(math.MaxUint64), m.IdleFor())
	was := m
	m.Skip(50)
	m.Tick(Events{}, true, false, true, true, false, regbus.Req{}, reset.Signals{})
	assert.Equal(t, was, m)
	m.Tick(Events{Done0: true}, true, false, false, false, false, regbus.Req{}, reset.Signals{})
	assert.Zero(t, m.IdleFor())
	m.Tick(Events{}, true, false, true, true, false, regbus.Req{}, reset.Signals{})
	assert.Equal(t, uint64(math.MaxUint64), m.IdleFor())
}

// A message that is refused late, and a whole-device reset, wake a sleeping
// controller.
func TestWakes(t *testing.T) {
	m := ready()
	m.sent, m.status = intcreg.Done0, intcreg.Done0
	for name, wake := range map[string]func(*bench){
		"a refused message": func(m *bench) {
			m.Tick(Events{}, true, false, false, false, true, regbus.Req{}, reset.Signals{})
		},
		"a whole-device reset": func(m *bench) {
			m.Tick(Events{}, true, false, false, false, false, regbus.Req{}, reset.Signals{Pending: true, Whole: true})
		},
	} {
		woken := m
		assert.True(t, woken.Sleeps(Events{}, false, regbus.Req{}, reset.Signals{}), name)
		wake(&woken)
		assert.NotEqual(t, m, woken, name)
	}
}

// A whole-device reset clears the events and the driver's settings, but not the
// table.
func TestWholeReset(t *testing.T) {
	all := reset.Signals{Pending: true, Whole: true}
	m := coalescing(3, 50)
	m.Tick(Events{Done0: true, Done1: true, Fault0: true, Fault1: true}, true, false, false, false, false, regbus.Req{}, reset.Signals{})
	m.Tick(Events{Fault1: true}, true, false, false, false, false, regbus.Req{}, all)
	want := ready()
	write(&want, intcreg.Base+intcreg.Mask, 0)
	want.Tick(Events{}, false, false, false, false, false, regbus.Req{}, reset.Signals{})
	want.have = 0
	want.addrLo, want.addrHi, want.data, want.vector, want.word = m.addrLo, m.addrHi, m.data, m.vector, m.word
	assert.Equal(t, want, m)
	all.Function = true
	m.Tick(Events{Fault1: true}, true, false, false, false, false, regbus.Req{}, all)
	assert.Equal(t, New(true, false, 48), m.Module)
}
