package mcu

import (
	"errors"
	"fmt"

	"github.com/hilgpu/hilgpu/rtl/abi/mcureg"
)

// A Cause is why the processor is halted.
type Cause uint8

// Causes of a halt.
const (
	None       Cause = iota // it is not halted
	Requested               // by MCUDBG.CTL.HALT
	Hung                    // the time of MCU.LIMIT has passed
	Stepped                 // one instruction is complete
	Breakpoint              // before the instruction at a breakpoint
	Watchpoint              // after a store to the word of the watchpoint
	Break                   // an EBREAK
)

// String returns the cause in words.
func (c Cause) String() string {
	return [...]string{"running", "requested", "hung", "stepped", "breakpoint", "watchpoint", "EBREAK"}[c]
}

// A Debugger controls the processor of a microcontroller through its debug unit.
//
// The processor must be halted for all methods but Halt, State, Reset, Detach, and those of
// breakpoints and the watchpoint. They fail with ErrRunning if it is not. A method that waits
// reads STATUS at most as often as New was told, and fails with ErrWait then. It uses x8 and
// x9, and gives them back before it returns, or, if the processor waits for an access, in a
// later call.
type Debugger struct {
	regs  Registers
	limit int
	cause Cause  // of the halt before instructions of the debugger replaced it in STATUS
	store bool   // the instruction of the last step stores to the word of the watchpoint
	owes  bool   // x8 and x9 must be written back
	pc    uint32 // of the processor that owns them
	saved [2]uint32
}

// New returns a debugger. limit is how often it reads STATUS in one wait.
func New(r Registers, limit int) (*Debugger, error) {
	if _, err := Memory(r); err != nil {
		return nil, err
	}
	info, err := r.Read(mcureg.Base + mcureg.Info)
	if err != nil {
		return nil, err
	}
	const want = mcureg.Breakpoints<<12 | mcureg.Watchpoints<<16
	if got := info & (mcureg.InfoBreakpoints | mcureg.InfoWatchpoints); got != want {
		return nil, fmt.Errorf("%w: MCU.INFO = %#x, want %d breakpoints and %d watchpoint", ErrMissing, info, mcureg.Breakpoints, mcureg.Watchpoints)
	}
	return &Debugger{regs: r, limit: limit}, nil
}

func (d *Debugger) read(off uint32) (uint32, error) { return d.regs.Read(mcureg.DebugBase + off) }

func (d *Debugger) write(off, value uint32) error { return d.regs.Write(mcureg.DebugBase+off, value) }

// status returns whether the processor is halted, and MCUDBG.STATUS.CAUSE.
func (d *Debugger) status() (halted bool, cause uint32, err error) {
	v, err := d.read(mcureg.DebugStatus)
	return err == nil && v&mcureg.DebugHalted != 0, v & mcureg.DebugCause >> 4, err
}

// State returns why the processor is halted, or None.
func (d *Debugger) State() (Cause, error) {
	halted, cause, err := d.status()
	switch {
	case err != nil:
		return None, err
	case !halted:
		d.cause = None
		return None, nil
	case cause == mcureg.CauseStep && d.store:
		d.cause = Watchpoint
	case cause == mcureg.CauseStep:
		d.cause = Stepped
	case cause == mcureg.CauseBreak:
		d.cause = Break
	case cause == mcureg.CausePoint && d.cause != Breakpoint && d.cause != Watchpoint:
		d.cause, err = d.point()
	case cause == mcureg.CausePoint:
	case cause == mcureg.CauseHalt || d.cause == None:
		d.cause, err = d.requested()
	}
	return d.cause, err
}

// requested returns whether the watchdog of the program or CTL.HALT halted the processor.
func (d *Debugger) requested() (Cause, error) {
	v, err := d.regs.Read(mcureg.Base + mcureg.Status)
	if err == nil && v&mcureg.StatusHung != 0 {
		return Hung, nil
	}
	return Requested, err
}

// Halt halts the processor and waits for it. An EBREAK halts it too from then on.
func (d *Debugger) Halt() error {
	if err := d.write(mcureg.DebugCtl, mcureg.CtlHalt|mcureg.CtlCatch); err != nil {
		return err
	}
	return d.wait()
}

// wait waits for a halt.
func (d *Debugger) wait() error {
	for range d.limit {
		if c, err := d.State(); err != nil || c != None {
			return err
		}
	}
	ctl, err := d.regs.Read(mcureg.Base + mcureg.Ctl)
	switch {
	case err != nil:
		return err
	case ctl&mcureg.CtlRun == 0:
		return fmt.Errorf("%w: want MCU.CTL.RUN = 1", ErrReset)
	}
	return fmt.Errorf("%w: MCUDBG.STATUS.HALTED = 0 in %d reads: an access of the program may have no answer", ErrWait, d.limit)
}

// Resume continues the program, and does not wait.
func (d *Debugger) Resume() error {
	if err := d.begin(); err != nil {
		return err
	}
	d.cause = None
	return d.write(mcureg.DebugCtl, mcureg.CtlResume|mcureg.CtlCatch)
}

// Step continues the program for one instruction, without interrupts before it. It does not
// wait until that is complete.
func (d *Debugger) Step() error {
	err := d.begin()
	if err == nil {
		err = d.foresee()
	}
	if err != nil {
		return err
	}
	d.cause = None
	return d.write(mcureg.DebugCtl, mcureg.CtlResume|mcureg.CtlStep|mcureg.CtlCatch)
}

// Reset restarts the processor and halts it before the instruction at address 0. Memory,
// registers, breakpoints and the watchpoint stay.
func (d *Debugger) Reset() error {
	err := Stop(d.regs)
	if err == nil {
		d.cause = None
		err = d.write(mcureg.DebugCtl, mcureg.CtlHalt|mcureg.CtlCatch)
	}
	if err == nil {
		err = Run(d.regs)
	}
	if err != nil {
		return err
	}
	return d.wait()
}

// Detach clears all breakpoints and the watchpoint, and continues a program that is halted. An
// EBREAK is an exception from then on.
func (d *Debugger) Detach() error {
	for i := range uint32(mcureg.Breakpoints) {
		if err := d.write(mcureg.Break+4*i, 0); err != nil {
			return err
		}
	}
	if err := d.ClearWatchpoint(); err != nil {
		return err
	}
	if err := d.begin(); err != nil && (d.owes || !errors.Is(err, ErrRunning)) {
		return err
	}
	d.cause = None
	return d.write(mcureg.DebugCtl, mcureg.CtlResume)
}
