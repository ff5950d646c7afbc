package fwtest

import (
	"fmt"

	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/abi/mcureg"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/arbiter"
	"github.com/hilgpu/hilgpu/rtl/mcu"
	"github.com/hilgpu/hilgpu/rtl/regbus"
	"github.com/hilgpu/hilgpu/rtl/reset"
)

const (
	// busClocks and readClocks are how long the surroundings of the RTL take to answer.
	busClocks  = 3
	readClocks = 1

	// hostBits is the width of its host addresses.
	hostBits = 40

	// vramBytes is the size of its VRAM.
	vramBytes = 1 << 20
)

// An RTL is a microcontroller in RTL. The faults Memory, Interrupt, Unlocked and Unbounded of its
// surroundings do nothing.
type RTL struct {
	surroundings
	m      mcu.Module
	clock  uint64
	high   uint32
	answer arbiter.Answer // to the register bus, after wait clocks
	cpl    port.Completion
	wait   int // clocks until answer or cpl; 0: none
	header port.Request
}

// NewRTL returns a microcontroller with a memory of the given size in bytes.
func NewRTL(bytes int, f Faults) *RTL {
	r := &RTL{surroundings: newSurroundings(f), m: mcu.New(mcu.Params{Bytes: bytes, HostBits: hostBits, VRAMBytes: vramBytes})}
	r.registers[mcureg.Base+mcureg.Info] = info(bytes)
	return r
}

// tick is one clock. It does an access of the host.
func (r *RTL) tick(regs regbus.Req) {
	var bus arbiter.Answer
	mem := mcu.Mem{Free: true, ReadReady: !r.faults.Silent, WriteReady: !r.faults.Silent, BeatReady: !r.faults.Silent}
	if r.wait != 0 {
		if r.wait--; r.wait == 0 {
			bus, mem.Cpl = r.answer, r.cpl
		}
	}
	r.ask(r.m.Ask())
	if !r.faults.Silent {
		r.requests()
	}
	r.m.Tick(regs, bus, mem, r.time(r.clock), 0, reset.Signals{})
	r.clock++
}

// ask takes an access to the register bus.
func (r *RTL) ask(q regbus.Req) {
	if q.Op == regbus.None {
		return
	}
	r.answer, r.cpl, r.wait = arbiter.Answer{Done: true}, port.Completion{}, busClocks
	if q.Op == regbus.Write {
		r.answer.Hit = r.write(uint32(q.Off), q.Data)
		return
	}
	r.answer.Data, r.answer.Hit = r.read(uint32(q.Off))
}

// requests takes the header of a read, or of a write with its beat.
func (r *RTL) requests() {
	if q := r.m.Read(); q.Kind == port.MemRead {
		v, ok := r.fetch(q.Addr)
		r.answer, r.wait = arbiter.Answer{}, readClocks
		r.cpl = port.Completion{Status: port.CplSuccess, Last: true, Data: uint64(v)<<32 | uint64(v)}
		if !ok {
			r.cpl.Status = port.CplUnsupported
		}
	}
	q, beat := r.m.Write()
	if q.Kind == port.MemWrite {
		r.header = q
	}
	if beat.Valid {
		r.store(r.header.Addr, beat.Enable|beat.Enable>>4, uint32(beat.Data))
	}
}

// access does an access of the host, and repeats it while the answer is to retry.
func (r *RTL) access(q regbus.Req) (uint32, error) {
	for range hostClocks {
		r.tick(regbus.Req{})
	}
	for {
		r.tick(q)
		a := r.m.Rsp()
		r.tick(regbus.Req{})
		if !a.Hit {
			return 0, fmt.Errorf("%w: %#x", ErrUnmapped, q.Off)
		}
		if !a.Retry {
			return a.Data, nil
		}
	}
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
