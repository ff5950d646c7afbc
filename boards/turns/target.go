package turns

import (
	"errors"
	"time"

	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/firmware/mcu"
)

// current returns the open board, or nil, and who may use it.
func (t *Turns) current() (*board, state) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closing {
		return nil, t.state
	}
	return t.board, t.state
}

// Halt halts the program, and takes the board from the command. It fails with mcu.ErrReset if
// there is no program yet, if the command has not set up the board, or while the command itself has
// halted the program. Then the halt follows: a program that starts later halts before its first
// instruction, and one that runs when the board is set up halts before the next access to a BAR.
func (t *Turns) Halt() error {
	t.starting.Lock()
	defer t.starting.Unlock()
	b, err := t.take()
	if err != nil {
		return err
	}
	runs, err := b.runs()
	switch {
	case errors.Is(err, bus.ErrUnsupported):
		return t.postpone(mcu.ErrReset)
	case err != nil:
	case !runs:
		err = mcu.ErrReset
	default:
		err = b.debug.Halt()
	}
	if err != nil {
		t.set(watched)
		return err
	}
	t.changed.Broadcast()
	return nil
}

// take takes the board from the command, if there is one and the command has not halted the program.
func (t *Turns) take() (*board, error) {
	t.mu.Lock()
	b := t.board
	if b != nil && !t.closing && !b.own {
		t.state, t.due = held, false
		t.mu.Unlock()
		return b, nil
	}
	own := b != nil && !t.closing
	t.mu.Unlock()
	if own {
		return nil, t.postpone(errOwn)
	}
	return nil, t.postpone(mcu.ErrReset)
}

// postpone lets the command continue until the halt is possible. It returns err.
func (t *Turns) postpone(err error) error {
	t.mu.Lock()
	t.state, t.due = watched, true
	t.mu.Unlock()
	t.changed.Broadcast()
	return err
}

// State returns why the program is halted. The command itself looks at a program that runs if
// time moves only with its accesses.
func (t *Turns) State() (mcu.Cause, error) {
	b, s := t.current()
	switch {
	case b == nil && s == watched && t.ending():
		return mcu.None, errClosed
	case b == nil, s == watched && b.virtual:
		return mcu.None, nil
	case s == watched:
		return t.watch(b)
	}
	return b.debug.State()
}

// watch looks whether a program that the command uses has halted, and takes the board if so. The client must wait while its
// halt is due, and while the command has halted the program itself, which it cannot do during the look.
func (t *Turns) watch(b *board) (mcu.Cause, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.state != watched || t.due || b.own {
		return mcu.None, nil
	}
	c, err := b.debug.State()
	if errors.Is(err, bus.ErrUnsupported) {
		return mcu.None, nil // the command is setting up the board
	}
	if err == nil && c != mcu.None {
		t.state = held
		t.changed.Broadcast()
	}
	return c, err
}

// ending reports whether the board is being closed.
func (t *Turns) ending() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.closing
}

// Pause waits for a moment while the command uses the board.
func (t *Turns) Pause() {
	passed := false
	timer := time.AfterFunc(interval, func() {
		t.mu.Lock()
		passed = true
		t.mu.Unlock()
		t.changed.Broadcast()
	})
	defer timer.Stop()
	t.mu.Lock()
	defer t.mu.Unlock()
	for t.state == watched && !t.closing && !passed {
		t.changed.Wait()
	}
}

// Resume continues the program, and gives the board to the command.
func (t *Turns) Resume() error {
	if err := t.board.debug.Resume(); err != nil {
		return err
	}
	t.set(watched)
	return nil
}

// Step executes one instruction. The command does not get the board.
func (t *Turns) Step() error { return t.board.debug.Step() }

// Reset restarts the program, and halts it before its first instruction.
func (t *Turns) Reset() error { return t.board.debug.Reset() }

// Detach continues the program without breakpoints, and gives the board to the command.
func (t *Turns) Detach() error {
	t.starting.Lock()
	defer t.starting.Unlock()
	defer t.set(free)
	t.mu.Lock()
	t.due = false
	b := t.board
	t.mu.Unlock()
	if b == nil {
		return nil
	}
	err := b.debug.Detach()
	if errors.Is(err, bus.ErrUnsupported) {
		return nil // the command has not set up the board, or no longer
	}
	return err
}

// Left gives the board to the command after a session, however it has ended.
func (t *Turns) Left() { t.set(free) }

// The methods below are those of the debugger, for a program that is halted.

// Register implements gdbserver.Registers.
func (t *Turns) Register(i int) (uint32, error) { return t.board.debug.Register(i) }

// SetRegister implements gdbserver.Registers.
func (t *Turns) SetRegister(i int, v uint32) error { return t.board.debug.SetRegister(i, v) }

// PC implements gdbserver.Registers.
func (t *Turns) PC() (uint32, error) { return t.board.debug.PC() }

// SetPC implements gdbserver.Registers.
func (t *Turns) SetPC(v uint32) error { return t.board.debug.SetPC(v) }

// CSR implements gdbserver.Registers.
func (t *Turns) CSR(n uint16) (uint32, error) { return t.board.debug.CSR(n) }

// SetCSR implements gdbserver.Registers.
func (t *Turns) SetCSR(n uint16, v uint32) error { return t.board.debug.SetCSR(n, v) }

// ReadMemory implements gdbserver.Memory.
func (t *Turns) ReadMemory(addr uint32, p []byte) (int, error) {
	return t.board.debug.ReadMemory(addr, p)
}

// WriteMemory implements gdbserver.Memory.
func (t *Turns) WriteMemory(addr uint32, p []byte) (int, error) {
	return t.board.debug.WriteMemory(addr, p)
}

// SetBreakpoint implements gdbserver.Points.
func (t *Turns) SetBreakpoint(addr uint32) error { return t.board.debug.SetBreakpoint(addr) }

// ClearBreakpoint implements gdbserver.Points.
func (t *Turns) ClearBreakpoint(addr uint32) error { return t.board.debug.ClearBreakpoint(addr) }

// SetWatchpoint implements gdbserver.Points.
func (t *Turns) SetWatchpoint(addr, size uint32) error {
	return t.board.debug.SetWatchpoint(addr, size)
}

// ClearWatchpoint implements gdbserver.Points.
func (t *Turns) ClearWatchpoint() error { return t.board.debug.ClearWatchpoint() }
