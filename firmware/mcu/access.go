package mcu

import (
	"errors"
	"fmt"

	"github.com/hilgpu/hilgpu/rtl/abi/mcureg"
)

// Registers that the debugger borrows.
const (
	regAddr = 8
	regData = 9
)

// errFault: an instruction of the debugger failed with an exception.
var errFault = errors.New("mcu: an instruction of the debugger failed")

// begin prepares work on a halted processor: it learns the cause of the halt, which the first
// instruction of the debugger replaces, and gives back borrowed registers.
func (d *Debugger) begin() error {
	c, err := d.State()
	switch {
	case err != nil:
		return err
	case c == None && d.owes:
		return fmt.Errorf("%w: an access of the debugger has no answer yet", ErrRunning)
	case c == None:
		return fmt.Errorf("%w: want a halt", ErrRunning)
	case !d.owes:
		return nil
	}
	pc, err := d.read(mcureg.PC)
	if err != nil {
		return err
	}
	if pc != d.pc {
		d.owes = false // the program was started again in the meantime
		return nil
	}
	return d.repay()
}

// exec executes an instruction. It fails with errFault and with ErrWait.
func (d *Debugger) exec(ins uint32) error {
	if err := d.write(mcureg.Exec, ins); err != nil {
		return err
	}
	for range d.limit {
		halted, cause, err := d.status()
		switch {
		case err != nil:
			return err
		case halted && cause == mcureg.CauseFault:
			return errFault
		case halted && cause == mcureg.CauseExec:
			return nil
		}
	}
	return fmt.Errorf("%w: no end of the instruction %#08x of the debugger in %d reads", ErrWait, ins, d.limit)
}

// get returns the value of a register, or the program's value of a borrowed one.
func (d *Debugger) get(i uint32) (uint32, error) {
	if d.owes && (i == regAddr || i == regData) {
		return d.saved[i-regAddr], nil
	}
	return d.got(i)
}

// got returns the value of a register.
func (d *Debugger) got(i uint32) (uint32, error) {
	if err := d.exec(send(i)); err != nil {
		return 0, err
	}
	return d.read(mcureg.Data)
}

// put sets a register.
func (d *Debugger) put(i, v uint32) error {
	if err := d.write(mcureg.Data, v); err != nil {
		return err
	}
	return d.exec(receive(i))
}

// borrow calls do, which may change x8 and x9.
func (d *Debugger) borrow(do func() error) error {
	if d.owes {
		return do()
	}
	var err error
	if d.pc, err = d.read(mcureg.PC); err != nil {
		return err
	}
	for i := range d.saved {
		if d.saved[i], err = d.got(regAddr + uint32(i)); err != nil {
			return err
		}
	}
	d.owes = true
	if err = do(); errors.Is(err, ErrWait) {
		return err
	}
	return errors.Join(err, d.repay())
}

// repay gives back x8 and x9.
func (d *Debugger) repay() error {
	for i, v := range d.saved {
		if err := d.put(regAddr+uint32(i), v); err != nil {
			return err
		}
	}
	d.owes = false
	return nil
}

// Register returns x0 to x31.
func (d *Debugger) Register(i int) (uint32, error) {
	if err := d.begin(); err != nil || i == 0 {
		return 0, err
	}
	return d.get(uint32(i) & 31)
}

// SetRegister sets x1 to x31. x0 stays 0.
func (d *Debugger) SetRegister(i int, v uint32) error {
	if err := d.begin(); err != nil || i == 0 {
		return err
	}
	return d.put(uint32(i)&31, v)
}

// PC returns the address of the next instruction.
func (d *Debugger) PC() (uint32, error) {
	if err := d.begin(); err != nil {
		return 0, err
	}
	return d.read(mcureg.PC)
}

// SetPC sets the address of the next instruction, a multiple of 4.
func (d *Debugger) SetPC(v uint32) error {
	if v%4 != 0 {
		return fmt.Errorf("%w: pc = %#x, want a multiple of 4", ErrAddress, v)
	}
	if err := d.begin(); err != nil {
		return err
	}
	return d.borrow(func() error {
		if err := d.put(regAddr, v); err != nil {
			return err
		}
		return d.exec(jump(regAddr))
	})
}

// CSR returns a control and status register, by its number.
func (d *Debugger) CSR(n uint16) (v uint32, err error) {
	if err := d.begin(); err != nil {
		return 0, err
	}
	err = d.borrow(func() error {
		if err := d.exec(readCSR(regData, uint32(n))); err != nil {
			return failed(err, "a read of the CSR %#x", n)
		}
		v, err = d.got(regData)
		return err
	})
	return v, err
}

// SetCSR writes a control and status register. The processor ignores bits that it does not
// have.
func (d *Debugger) SetCSR(n uint16, v uint32) error {
	if err := d.begin(); err != nil {
		return err
	}
	return d.borrow(func() error {
		if err := d.put(regData, v); err != nil {
			return err
		}
		return failed(d.exec(writeCSR(uint32(n), regData)), "a write of the CSR %#x", n)
	})
}

// failed returns ErrAccess with an object instead of errFault.
func failed(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	what := fmt.Sprintf(format, args...)
	if errors.Is(err, errFault) {
		return fmt.Errorf("%w: %s", ErrAccess, what)
	}
	return fmt.Errorf("%w: %s", err, what)
}
