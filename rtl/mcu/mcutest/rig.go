// Package mcutest has a microcontroller for tests: the block of the GPU, with what it reaches at its
// ports. A Rig also has registers that are reached one access at a time, for its debugger.
package mcutest

import (
	"fmt"

	"github.com/hilgpu/hilgpu/rtl/abi/mcureg"
	"github.com/hilgpu/hilgpu/rtl/mcu"
	"github.com/hilgpu/hilgpu/rtl/regbus"
	"github.com/hilgpu/hilgpu/rtl/reset"
)

// A Write is what the program writes to memory: the bytes of the dword at Addr that Lanes has.
type Write struct {
	Addr  uint64
	Lanes uint8
}

// A Rig is a microcontroller whose window 0 is open to a memory. It implements the interface
// Registers of firmware/mcu. An access to the register bus of the GPU fails.
//
//	Each      clocks of an access to a register
//	Memory    dwords, by address; a read of another one fails
//	Silent    reads of the memory have no answer
//	Broken    what accesses to the registers return, if it is not nil
//	Accesses  how many accesses to registers there were
//	Reads     addresses of the reads of the memory
//	Writes    writes to the memory
type Rig struct {
	Each     int
	Memory   map[uint64]uint32
	Silent   bool
	Broken   error
	Accesses uint64
	Reads    []uint64
	Writes   []Write

	machine Machine
	now     uint64
}

// Bytes is the size of the local memory of a rig, and WindowBytes that of its window.
const (
	Bytes       = 16 << 10
	WindowBytes = 64 << 10
)

// retries is how often an access is tried while the microcontroller is busy.
const retries = 100

// New returns a rig in reset.
func New() *Rig {
	r := &Rig{Each: 8, Memory: map[uint64]uint32{}}
	r.machine = Machine{Module: mcu.New(mcu.Params{Bytes: Bytes, HostBits: 40, VRAMBytes: WindowBytes}), World: world{r}, BusClocks: 1}
	if err := r.Write(mcureg.Base+mcureg.Window+mcureg.WindowSize, WindowBytes|mcureg.SizeWrite); err != nil {
		panic(err)
	}
	return r
}

// Clock is one clock.
func (r *Rig) Clock() { r.tick(regbus.Req{}) }

// tick is one clock with an access of the host.
func (r *Rig) tick(regs regbus.Req) {
	r.machine.Silent = r.Silent
	r.machine.Clock(regs, r.now, reset.Signals{})
	r.now++
}

// A world is what a rig reaches.
type world struct{ r *Rig }

// Bus implements World.
func (world) Bus(regbus.Req) (uint32, bool) { return 0, false }

// Load implements World.
func (w world) Load(addr uint64) (uint32, bool) {
	w.r.Reads = append(w.r.Reads, addr)
	v, ok := w.r.Memory[addr]
	return v, ok
}

// Store implements World.
func (w world) Store(addr uint64, lanes uint8, v uint32) bool {
	w.r.Writes = append(w.r.Writes, Write{addr, lanes})
	w.r.Memory[addr] = Merge(w.r.Memory[addr], lanes, v)
	return true
}

// Read reads a register.
func (r *Rig) Read(off uint32) (uint32, error) {
	return r.access(regbus.Req{Op: regbus.Read, Off: uint16(off)})
}

// Write writes a register.
func (r *Rig) Write(off, v uint32) error {
	_, err := r.access(regbus.Req{Op: regbus.Write, Off: uint16(off), Data: v})
	return err
}

// access is an access of the host.
func (r *Rig) access(req regbus.Req) (uint32, error) {
	r.Accesses++
	for range r.Each {
		r.Clock()
	}
	if r.Broken != nil {
		return 0, r.Broken
	}
	if rsp := r.machine.Access(req, r.tick); rsp.Hit && !rsp.Retry {
		return rsp.Data, nil
	}
	return 0, fmt.Errorf("mcutest: no answer of the register at %#x", req.Off)
}
