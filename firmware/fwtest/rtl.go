package fwtest

import (
	"fmt"

	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/abi/mcureg"
	"github.com/hilgpu/hilgpu/rtl/mcu"
	"github.com/hilgpu/hilgpu/rtl/mcu/mcutest"
	"github.com/hilgpu/hilgpu/rtl/regbus"
	"github.com/hilgpu/hilgpu/rtl/reset"
)

const (
	// busClocks is how long the register bus of the RTL takes to answer.
	busClocks = 3

	// hostBits is the width of its host addresses.
	hostBits = 40

	// vramBytes is the size of its VRAM.
	vramBytes = 1 << 20
)

// An RTL is a microcontroller in RTL. The faults Memory, Interrupt, Unlocked and Unbounded of its
// surroundings do nothing.
type RTL struct {
	surroundings
	machine mcutest.Machine
	clock   uint64
	high    uint32
}

// NewRTL returns a microcontroller with a memory of the given size in bytes.
func NewRTL(bytes int, f Faults) *RTL {
	r := &RTL{surroundings: newSurroundings(f)}
	r.machine = mcutest.Machine{Module: mcu.New(mcu.Params{Bytes: bytes, HostBits: hostBits, VRAMBytes: vramBytes}), World: &r.surroundings, BusClocks: busClocks}
	r.registers[mcureg.Base+mcureg.Info] = info(bytes)
	return r
}

// tick is one clock. It does an access of the host.
func (r *RTL) tick(regs regbus.Req) {
	r.machine.Silent, r.machine.Busy = r.faults.Silent, r.faults.Silent
	r.machine.Clock(regs, r.time(r.clock), reset.Signals{})
	r.clock++
}

// Bus implements mcutest.World.
func (s *surroundings) Bus(q regbus.Req) (uint32, bool) {
	if q.Op == regbus.Write {
		return 0, s.write(uint32(q.Off), q.Data)
	}
	return s.read(uint32(q.Off))
}

// Load implements mcutest.World.
func (s *surroundings) Load(addr uint64) (uint32, bool) { return s.fetch(addr) }

// Store implements mcutest.World.
func (s *surroundings) Store(addr uint64, lanes uint8, v uint32) bool {
	s.store(addr, lanes, v)
	return true
}

// access does an access of the host.
func (r *RTL) access(q regbus.Req) (uint32, error) {
	for range hostClocks {
		r.tick(regbus.Req{})
	}
	rsp := r.machine.Access(q, r.tick)
	if !rsp.Hit || rsp.Retry {
		return 0, fmt.Errorf("%w: %#x", ErrUnmapped, q.Off)
	}
	return rsp.Data, nil
}

// Read reads a register of BAR0 for the host.
func (r *RTL) Read(off uint32) (uint32, error) {
	if off>>8 == mcureg.Base>>8 {
		return r.access(regbus.Req{Op: regbus.Read, Off: uint16(off)})
	}
	for range hostClocks {
		r.tick(regbus.Req{})
	}
	switch off {
	case idreg.Base + idreg.TimeLo:
		r.high = uint32(r.clock >> 32)
		return uint32(r.clock), nil
	case idreg.Base + idreg.TimeHi:
		return r.high, nil
	}
	if v, ok := r.registers[off]; ok {
		return v, nil
	}
	return 0, fmt.Errorf("%w: %#x", ErrUnmapped, off)
}

// Write writes a register of BAR0 for the host.
func (r *RTL) Write(off, v uint32) error {
	_, err := r.access(regbus.Req{Op: regbus.Write, Off: uint16(off), Data: v})
	return err
}
