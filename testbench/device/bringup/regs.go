package bringup

import (
	"errors"
	"fmt"

	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/abi/mcureg"
	"github.com/hilgpu/hilgpu/rtl/abi/pcicfg"
	"github.com/hilgpu/hilgpu/rtl/abi/reg"
	"github.com/hilgpu/hilgpu/rtl/abi/regmap"
	"github.com/hilgpu/hilgpu/testbench/device/bare"
)

// unmapped is an offset in BAR 0 outside every block.
const unmapped = 0xf000

// regsData tests the data lines with walking ones and zeros in the scratch
// registers.
func regsData(s *session) outcome {
	var f finding
	for _, off := range []uint32{idreg.Scratch0, idreg.Scratch1, idreg.Scratch2, idreg.Scratch3} {
		was := s.Reg(idreg.Base + off)
		l := newLines(32)
		l.walk(func(v uint64) uint64 {
			s.SetReg(idreg.Base+off, uint32(v))
			return uint64(s.Reg(idreg.Base + off))
		})
		s.SetReg(idreg.Base+off, was)
		if s.Err != nil {
			break
		}
		var one finding
		l.report(&one)
		for _, d := range one.details {
			f.add(one.likely[0], "ID.SCRATCH%d: %s", (off-idreg.Scratch0)/4, d)
		}
	}
	return f.outcome("32 data lines on 4 scratch registers")
}

// entries returns the registers of this configuration.
func (s *session) entries() []regmap.Entry {
	have := s.Capabilities()
	var all []regmap.Entry
	for _, e := range regmap.New().Entries() {
		if e.In(have) {
			all = append(all, e)
		}
	}
	return all
}

// regsReset compares registers with their reset values, except those that change by
// themselves. A register that software may have written, or a trigger may have
// filled, is reported and does not fail.
func regsReset(s *session) outcome {
	var f finding
	var written []string
	n := 0
	for _, e := range s.entries() {
		if e.Reg.Volatile || e.Reg.Config || e.Reg.Access == reg.WO {
			continue
		}
		n++
		got := s.Reg(e.Off())
		switch {
		case s.Err != nil || got == e.Reg.Reset:
		case e.Reg.Access == reg.RW || filled(e.Block):
			written = append(written, fmt.Sprintf("%s, reset value %#x: written since", e.Format(got), e.Reg.Reset))
		default:
			f.add("", "%s @0x%04x, want %#x: %s", e.Format(got), e.Off(), e.Reg.Reset, named(uint64(e.Reg.Reset), uint64(got)))
		}
	}
	o := f.outcome(fmt.Sprintf("%d registers, %d of them written since", n, len(written)))
	o.details = append(o.details, written...)
	return o
}

// filled reports whether a trigger that software may use at any time, such as
// SNAPSHOT of the counters, fills the read-only registers of a block.
func filled(b reg.Block) bool {
	for _, r := range b.Regs {
		for _, f := range r.Fields {
			if r.Poke == reg.Safe && f.Write == reg.Trigger {
				return true
			}
		}
	}
	return false
}

// regsAccess writes each bit of the registers that software may write, and the
// inverse of the read-only ones, and restores the values.
func regsAccess(s *session) outcome {
	var f finding
	walked, kept, left := 0, 0, 0
	if s.opt.Poke == reg.Destructive {
		s.stop()
	}
	if s.Capabilities().Has(caps.MCU) {
		s.SetReg(mcureg.Base+mcureg.Ctl, 0) // it locks registers, and MCU.LIMIT ends its program
	}
	for _, e := range s.entries() {
		switch {
		case e.Reg.Volatile || e.Reg.Access == reg.W1C || e.Reg.Access == reg.WO:
		case e.Reg.Access == reg.RO:
			kept++
			s.checkReadOnly(&f, e)
		case hasSideEffect(e.Reg) || e.Reg.Poke > s.opt.Poke:
			left++
		default:
			walked++
			s.walkBits(&f, e)
		}
	}
	return f.outcome(fmt.Sprintf("%d walked, %d read-only kept, %d not written", walked, kept, left))
}

// stop stops the nodes, so that their registers can be written.
func (s *session) stop() {
	s.useNode()
	s.resetNode()
}

// hasSideEffect reports whether a write of the register does more than set it.
func hasSideEffect(r reg.Reg) bool {
	for _, f := range r.Fields {
		if f.Write != reg.Plain {
			return true
		}
	}
	return r.Write != reg.Plain
}

// checkReadOnly checks that a read-only register ignores a write of its inverse.
func (s *session) checkReadOnly(f *finding, e regmap.Entry) {
	was := s.Reg(e.Off())
	s.SetReg(e.Off(), ^was)
	if got := s.Reg(e.Off()); s.Err == nil && got != was {
		f.add("a read-only register is writable", "%s @0x%04x was %#x before the inverse was written", e.Format(got), e.Off(), was)
	}
}

// walkBits writes each bit of a register separately, and restores its value.
func (s *session) walkBits(f *finding, e regmap.Entry) {
	was, mask := s.Reg(e.Off()), e.Reg.MaskIn(s.Capabilities())
	for bit := uint32(1); bit != 0; bit <<= 1 {
		s.SetReg(e.Off(), bit)
		if got, want := s.Reg(e.Off()), bit&mask; s.Err == nil && got != want {
			f.add("bits of the register are stuck, missing or shared", "%s @0x%04x after %#x was written, want %#x: %s",
				e.Format(got), e.Off(), bit, want, named(uint64(want), uint64(got)))
		}
	}
	s.SetReg(e.Off(), was)
}

// regsUnmapped reads and writes unmapped offsets.
func regsUnmapped(s *session) outcome {
	var f finding
	id := func(off uint32) uint32 { return s.Reg(idreg.Base + off) }
	want := func(name string, got, want uint32) {
		if s.Err == nil && got != want {
			f.add("the register path answers accesses that it must refuse", "ID.%s is %#x, want %#x", name, got, want)
		}
	}
	refused := func(off uint64, kind error, kindName string) {
		s.SetReg(idreg.Base+idreg.ErrInfo, 0)
		s.SetReg(idreg.Base+idreg.ErrCount, 0)
		if err := s.attempt(0, off); s.Err == nil && !errors.Is(err, kind) {
			f.add("the register path answers accesses that it must refuse", "a read at BAR 0 offset %#x returns %s, want %s", off, answer(err), kindName)
		}
	}
	refused(unmapped, bus.ErrAbort, "completer abort")
	want("ERR_COUNT after an unmapped read", id(idreg.ErrCount), 1)
	want("ERR_INFO after that", id(idreg.ErrInfo), idreg.ErrUnmapped)
	want("ERR_ADDR_LO after that", id(idreg.ErrAddrLo), bare.Base0+unmapped)
	want("ERR_ADDR_HI after that", id(idreg.ErrAddrHi), 0)
	s.SetReg(unmapped, 1)
	want("ERR_COUNT after an unmapped write", id(idreg.ErrCount), 2)
	want("ERR_INFO, which keeps the first error", id(idreg.ErrInfo), idreg.ErrUnmapped)
	refused(pcicfg.BAR0Size, bus.ErrUnsupported, "unsupported request")
	want("ERR_INFO after a read beyond BAR 0", id(idreg.ErrInfo), idreg.ErrDecode|idreg.ErrInfoBAR)
	s.SetReg(idreg.Base+idreg.ErrInfo, 0)
	s.SetReg(idreg.Base+idreg.ErrCount, 0)
	return f.outcome("refused, counted and captured")
}
