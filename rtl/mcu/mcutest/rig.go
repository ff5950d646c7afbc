// Package mcutest has a microcontroller for the tests of its debugger: the block of the GPU,
// with registers that are reached one access at a time.
package mcutest

import (
	"fmt"

	"github.com/hilgpu/hilgpu/rtl/abi/mcureg"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/arbiter"
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

	module  mcu.Module
	now     uint64
	read    uint64
	pending bool // read is to be answered
	asked   bool // the register bus is to be answered
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
	r := &Rig{
		Each: 8, Memory: map[uint64]uint32{},
		module: mcu.New(mcu.Params{Bytes: Bytes, HostBits: 40, VRAMBytes: WindowBytes}),
	}
	if err := r.Write(mcureg.Base+mcureg.Window+mcureg.WindowSize, WindowBytes|mcureg.SizeWrite); err != nil {
		panic(err)
	}
	return r
}

// Clock is one clock.
func (r *Rig) Clock() { r.tick(regbus.Req{}) }

// tick is one clock with an access of the host.
func (r *Rig) tick(regs regbus.Req) {
	bus := arbiter.Answer{Done: r.asked}
	mem := r.memory()
	r.asked = r.module.Ask().Op != regbus.None
	r.module.Tick(regs, bus, mem, r.now, 0, reset.Signals{})
	r.now++
}

// memory takes a header at once, and answers a read in the next clock.
func (r *Rig) memory() mcu.Mem {
	mem := mcu.Mem{Free: true}
	if r.pending && !r.Silent {
		v, ok := r.Memory[r.read]
		mem.Cpl = port.Completion{Status: port.CplSuccess, Last: true, Data: uint64(v) | uint64(v)<<32}
		if !ok {
			mem.Cpl.Status = port.CplUnsupported
		}
		r.pending = false
	}
	if q := r.module.Read(); q.Kind == port.MemRead {
		r.read, r.pending, mem.ReadReady = q.Addr, true, true
		r.Reads = append(r.Reads, q.Addr)
	}
	q, beat := r.module.Write()
	switch {
	case q.Kind == port.MemWrite:
		mem.WriteReady = true
	case beat.Valid:
		mem.BeatReady = true
		r.store(q.Addr, beat)
	}
	return mem
}

// store writes a beat to the memory.
func (r *Rig) store(addr uint64, beat port.Beat) {
	shift := addr & 4
	lanes, data := beat.Enable>>shift&15, uint32(beat.Data>>(8*shift))
	r.Writes = append(r.Writes, Write{addr, lanes})
	for i := range 4 {
		if lanes>>i&1 != 0 {
			mask := uint32(0xff) << (8 * i)
			r.Memory[addr] = r.Memory[addr]&^mask | data&mask
		}
	}
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
	for range retries {
		r.tick(req)
		rsp := r.module.Rsp()
		r.Clock()
		if rsp.Hit && !rsp.Retry {
			return rsp.Data, nil
		}
	}
	return 0, fmt.Errorf("mcutest: no answer of the register at %#x", req.Off)
}
