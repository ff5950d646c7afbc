package mcutest

import (
	"fmt"

	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/arbiter"
	"github.com/hilgpu/hilgpu/rtl/mcu"
	"github.com/hilgpu/hilgpu/rtl/regbus"
	"github.com/hilgpu/hilgpu/rtl/reset"
)

// A World is what a program reaches outside of its microcontroller.
type World interface {
	// Bus does an access to a register of BAR0, and reports whether there is one.
	Bus(q regbus.Req) (v uint32, hit bool)

	// Load reads a dword of memory by GPU address, when the header is taken, and reports whether it could.
	Load(addr uint64) (v uint32, ok bool)

	// Store writes bytes of a dword of memory, those of bits 3..0 of lanes, and reports whether it could.
	Store(addr uint64, lanes uint8, v uint32) bool
}

// A Machine is a microcontroller in RTL with a World at its ports. It panics if the microcontroller breaks the rules of
// a port. The header of a read of memory is taken at once, and its answer is there in the next clock.
//
//	BusClocks  clocks until the register bus answers, at least 1
//	Silent     reads of memory have no answer
//	Busy       no write of memory may begin
//	Events     levels of the events of the nodes
//	Hangs      clocks in which Hang was true
type Machine struct {
	mcu.Module
	World     World
	BusClocks int
	Silent    bool
	Busy      bool
	Events    uint16
	Hangs     int

	answer  arbiter.Answer // after left clocks
	left    int            // 0: there is none
	cpl     port.Completion
	pending bool // cpl is to be returned
}

// Clock is one clock with an access of the host, at a time.
func (m *Machine) Clock(regs regbus.Req, now uint64, rst reset.Signals) {
	var bus arbiter.Answer
	if m.left != 0 {
		if m.left--; m.left == 0 {
			bus = m.answer
		}
	}
	mem := m.memory()
	if q := m.Ask(); q.Op != regbus.None {
		must(m.left == 0, "an access to %#x before the answer", q.Off)
		v, hit := m.World.Bus(q)
		m.answer, m.left = arbiter.Answer{Done: true, Hit: hit, Data: v}, m.BusClocks
	}
	if m.Hang() {
		m.Hangs++
	}
	m.Tick(regs, bus, mem, now, m.Events, rst)
}

// memory serves the ports of memory: a header is taken at once.
func (m *Machine) memory() mcu.Mem {
	mem := mcu.Mem{Free: !m.Busy}
	if m.pending && !m.Silent {
		mem.Cpl, m.pending = m.cpl, false
	}
	if q := m.Read(); q.Kind == port.MemRead {
		must(q.Len == 1, "a read of %d dwords", q.Len)
		m.cpl, m.pending, mem.ReadReady = m.load(q.Addr), true, true
	}
	q, beat := m.Write()
	switch {
	case q.Kind == port.MemWrite:
		mem.WriteReady = true
	case beat.Valid:
		shift := q.Addr & 4
		must(beat.Last && beat.Enable&^(15<<shift) == 0, "a beat of more than the dword at %#x", q.Addr)
		mem.BeatReady, mem.Refused = true, !m.World.Store(q.Addr, beat.Enable>>shift&15, uint32(beat.Data>>(8*shift)))
	}
	return mem
}

// load reads a dword for a completion, whose other half is not that of memory.
func (m *Machine) load(addr uint64) port.Completion {
	v, ok := m.World.Load(addr)
	cpl := port.Completion{Status: port.CplSuccess, Last: true, Data: uint64(v) | uint64(^v)<<32}
	if addr&4 != 0 {
		cpl.Data = uint64(v)<<32 | uint64(^v)
	}
	if !ok {
		cpl.Status = port.CplUnsupported
	}
	return cpl
}

func must(ok bool, format string, args ...any) {
	if !ok {
		panic("mcutest: " + fmt.Sprintf(format, args...))
	}
}

// Merge returns a dword after a write of the bytes that lanes has.
func Merge(old uint32, lanes uint8, v uint32) uint32 {
	for i := range 4 {
		if lanes>>i&1 != 0 {
			mask := uint32(0xff) << (8 * i)
			old = old&^mask | v&mask
		}
	}
	return old
}

// Access makes an access of the host, and repeats it while the answer is to retry, at most retries times. tick is
// a clock of the microcontroller with an access.
func (m *Machine) Access(q regbus.Req, tick func(regbus.Req)) (rsp regbus.Rsp) {
	for range retries {
		tick(q)
		rsp = m.Rsp()
		tick(regbus.Req{})
		if !rsp.Retry {
			break
		}
	}
	return rsp
}
