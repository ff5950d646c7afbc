// Package corefile reads the state of a microcontroller that is halted, and writes it as an ELF
// core file, which GDB opens with the ELF file of the firmware.
package corefile

import (
	"cmp"
	"encoding/binary"

	"github.com/hilgpu/hilgpu/firmware/mcu"
	"github.com/hilgpu/hilgpu/rtl/abi/mcureg"
	"github.com/hilgpu/hilgpu/rtl/abi/reg"
)

// A State is what a debugger knows of a processor.
//
//	Cause      why it was halted; mcu.None: it was running
//	PC         address of the next instruction
//	Registers  x0 to x31
//	CSRs       values of mcu.CSRs
//	Ranges     what it reads at its addresses, in ascending order: its memory, its own registers,
//	           and the registers of block MCU in BAR0
type State struct {
	Cause     mcu.Cause
	PC        uint32
	Registers [32]uint32
	CSRs      []uint32
	Ranges    []Range
}

// A Range is bytes from an address of the processor on.
type Range struct {
	Addr uint32
	Data []byte
}

// Take reads the state of a microcontroller. It halts a processor that runs, and continues it
// afterwards. A processor that is halted stays halted. limit is that of mcu.New. Take fails as
// the methods of mcu.Debugger do: with mcu.ErrReset if the processor is in reset, and with
// mcu.ErrWait if it waits for an access that has no answer. Of several errors it returns the first.
func Take(r mcu.Registers, limit int) (State, error) {
	var s State
	d, err := mcu.New(r, limit)
	if err != nil {
		return s, err
	}
	ctl, err := r.Read(mcureg.DebugBase + mcureg.DebugCtl)
	if err == nil {
		s.Cause, err = d.State()
	}
	if err != nil {
		return s, err
	}
	if s.Cause != mcu.None {
		return s, s.read(r, d)
	}
	if err = d.Halt(); err == nil {
		err = s.read(r, d)
	}
	return s, cmp.Or(err, r.Write(mcureg.DebugBase+mcureg.DebugCtl, ctl&mcureg.CtlCatch|mcureg.CtlResume))
}

// read reads the state of a processor that is halted.
func (s *State) read(r mcu.Registers, d *mcu.Debugger) (err error) {
	if s.PC, err = d.PC(); err != nil {
		return err
	}
	for i := range s.Registers {
		if s.Registers[i], err = d.Register(i); err != nil {
			return err
		}
	}
	for _, c := range mcu.CSRs() {
		v, err := d.CSR(c.Number)
		if err != nil {
			return err
		}
		s.CSRs = append(s.CSRs, v)
	}
	size, err := mcu.Memory(r)
	if err != nil {
		return err
	}
	for _, p := range append([]Range{{mcureg.Memory, make([]byte, size)}}, own()...) {
		if _, err := d.ReadMemory(p.Addr, p.Data); err != nil {
			return err
		}
		s.Ranges = append(s.Ranges, p)
	}
	return s.block(r)
}

// own returns the ranges of the registers that only the program has.
func own() []Range {
	var all []Range
	for _, at := range [...][2]uint32{
		{mcureg.TimeLo, mcureg.Events + 4}, {mcureg.FreeLo, mcureg.FreeHi + 4}, {mcureg.Mail, mcureg.Mail + 4*mcureg.Mails},
	} {
		all = append(all, Range{mcureg.Local + at[0], make([]byte, at[1]-at[0])})
	}
	return all
}

// block reads the registers of block MCU. Neighbours are one range.
func (s *State) block(r mcu.Registers) error {
	next := uint32(0)
	for _, e := range mcureg.Block.Regs {
		if e.Access == reg.WO {
			continue
		}
		v, err := r.Read(mcureg.Base + e.Off)
		if err != nil {
			return err
		}
		if at := mcureg.Bus + mcureg.Base + e.Off; at != next {
			s.Ranges = append(s.Ranges, Range{Addr: at})
			next = at
		}
		last := &s.Ranges[len(s.Ranges)-1]
		last.Data = binary.LittleEndian.AppendUint32(last.Data, v)
		next += 4
	}
	return nil
}
