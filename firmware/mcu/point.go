package mcu

import (
	"fmt"

	"github.com/hilgpu/hilgpu/rtl/abi/mcureg"
)

// breakpoint returns the number of the breakpoint whose register has a value, and false if
// there is none.
func (d *Debugger) breakpoint(value uint32) (uint32, bool, error) {
	for i := range uint32(mcureg.Breakpoints) {
		v, err := d.read(mcureg.Break + 4*i)
		if v&mcureg.PointEnable == 0 {
			v = 0
		}
		if err != nil || v == value {
			return i, err == nil, err
		}
	}
	return 0, false, nil
}

// SetBreakpoint halts the program before the instruction at an address. It fails with ErrPoint
// if no breakpoint is free, or if the address is outside of the memory: no breakpoint halts there.
func (d *Debugger) SetBreakpoint(addr uint32) error {
	if addr%4 != 0 {
		return fmt.Errorf("%w: breakpoint at %#x, want a multiple of 4", ErrPoint, addr)
	}
	switch size, err := Memory(d.regs); {
	case err != nil:
		return err
	case addr >= size:
		return fmt.Errorf("%w: breakpoint at %#x, outside of the memory of %#x bytes", ErrPoint, addr, size)
	}
	if _, found, err := d.breakpoint(addr | mcureg.PointEnable); found || err != nil {
		return err
	}
	i, found, err := d.breakpoint(0)
	switch {
	case err != nil:
		return err
	case !found:
		return fmt.Errorf("%w: breakpoint at %#x, want at most %d breakpoints", ErrPoint, addr, mcureg.Breakpoints)
	}
	return d.write(mcureg.Break+4*i, addr|mcureg.PointEnable)
}

// ClearBreakpoint removes the breakpoint at an address. It is no error if there is none.
func (d *Debugger) ClearBreakpoint(addr uint32) error {
	i, found, err := d.breakpoint(addr | mcureg.PointEnable)
	if !found || err != nil {
		return err
	}
	return d.write(mcureg.Break+4*i, 0)
}

// watched returns the address of the word of the watchpoint, and false if it is not set.
func (d *Debugger) watched() (addr uint32, ok bool, err error) {
	v, err := d.read(mcureg.Watch)
	return v & mcureg.PointAddr, v&mcureg.PointEnable != 0, err
}

// SetWatchpoint halts the program after a store to the word that has the bytes of a range. It
// fails with ErrPoint if they are in two words, or if the watchpoint has another word.
func (d *Debugger) SetWatchpoint(addr, size uint32) error {
	if size == 0 || uint64(addr&3)+uint64(size) > 4 {
		return fmt.Errorf("%w: watchpoint of %d bytes at %#x, want 1 to 4 bytes in one word", ErrPoint, size, addr)
	}
	at, set, err := d.watched()
	switch {
	case err != nil:
		return err
	case set && at != addr&mcureg.PointAddr:
		return fmt.Errorf("%w: watchpoint at %#x, want at most %d, and one is at %#x", ErrPoint, addr, mcureg.Watchpoints, at)
	}
	return d.write(mcureg.Watch, addr&mcureg.PointAddr|mcureg.PointEnable)
}

// ClearWatchpoint removes the watchpoint. It is no error if it is not set.
func (d *Debugger) ClearWatchpoint() error { return d.write(mcureg.Watch, 0) }

// point returns which of the points halted the program. Only if pc is at a breakpoint and the
// watchpoint is set, the instruction before pc decides.
func (d *Debugger) point() (Cause, error) {
	watch, set, err := d.watched()
	if err != nil || !set {
		return Breakpoint, err
	}
	pc, err := d.read(mcureg.PC)
	if err != nil {
		return None, err
	}
	_, found, err := d.breakpoint(pc | mcureg.PointEnable)
	if err != nil || !found {
		return Watchpoint, err
	}
	hit, err := d.hits(pc-4, watch)
	if hit {
		return Watchpoint, err
	}
	return Breakpoint, err
}

// foresee finds out whether the next instruction stores to the word of the watchpoint. A step
// that does ends with the cause of the step.
func (d *Debugger) foresee() error {
	d.store = false
	watch, set, err := d.watched()
	if err != nil || !set {
		return err
	}
	pc, err := d.read(mcureg.PC)
	if err != nil {
		return err
	}
	d.store, err = d.hits(pc, watch)
	return err
}

// hits reports whether the instruction at an address is a store to a word, with the registers
// as they are. The address of an instruction that cannot be read has none.
func (d *Debugger) hits(pc, word uint32) (hit bool, err error) {
	err = d.borrow(func() error {
		if err := d.put(regAddr, pc); err != nil {
			return err
		}
		switch err := d.exec(load(4, regData, regAddr, 0)); err {
		case nil:
		case errFault:
			return nil
		default:
			return err
		}
		ins, err := d.got(regData)
		base, offset, ok := stores(ins)
		if err != nil || !ok {
			return err
		}
		value, err := d.get(base)
		hit = (value+offset)&mcureg.PointAddr == word
		return err
	})
	return hit, err
}
