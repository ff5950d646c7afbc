// Package turns lets a command and a debugger of the firmware use one board by turns. While the
// program of the microcontroller is halted, the command waits at its next access to the board.
// So time stands still on a board whose time moves only with accesses.
package turns

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/hilgpu/hilgpu/boards/regs"
	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/firmware/mcu"
	"github.com/hilgpu/hilgpu/rtl/abi/mcureg"
)

// ErrBoards: a second board is open at the same time.
var ErrBoards = errors.New("turns: two boards at the same time")

// errClosed ends the session of a client whose board is closed.
var errClosed = errors.New("turns: the command has closed the board")

// errOwn is the answer to a halt while the command has halted the program itself.
const errOwn = postponed("turns: the command itself has halted the program: gdb halts it when the command continues it")

// A postponed error is that of a halt that is made later. A session waits for it as for a program.
type postponed string

func (p postponed) Error() string { return string(p) }

// Is makes it a mcu.ErrReset.
func (postponed) Is(target error) bool { return target == mcu.ErrReset }

const (
	// reads is how often the debugger reads a register in one wait.
	reads = 10_000

	// interval is the time between two looks at a program that runs.
	interval = 5 * time.Millisecond

	// slice is the longest wait of the command, in clocks, while a program may halt.
	slice = 1000
)

// A state tells who may use the board.
type state uint8

const (
	free    state = iota // the command: there is no client
	watched              // the command: a client waits for a halt
	held                 // the client: the program is halted
)

// Turns is a command and at most one client of gdb, which use the boards of the command. It
// implements gdbserver.Target.
type Turns struct {
	starting sync.Mutex // held while a program is started, and while a client looks for one

	mu      sync.Mutex // guards the fields below
	changed sync.Cond
	state   state
	board   *board // nil: none is open
	closing bool   // the board is being closed
	wait    bool   // the first board waits for a client
	due     bool   // the client has asked for a halt which was not possible yet
}

// A board is the board that is open.
type board struct {
	link    bus.Link
	clock   bus.Clock
	regs    mcu.Registers
	debug   *mcu.Debugger
	virtual bool
	own     bool // the command itself halts or steps the program; guarded by Turns.mu
}

// New returns turns without a client or a board. With wait, the first board is opened when
// there is a client.
func New(wait bool) *Turns {
	t := &Turns{wait: wait}
	t.changed.L = &t.mu
	return t
}

// Share returns the link and the clock for a command, which a client may interrupt. virtual
// tells that time moves only with accesses. Share fails with mcu.ErrMissing if the board has
// no microcontroller, and with ErrBoards.
func (t *Turns) Share(link bus.Link, clock bus.Clock, virtual bool) (bus.Link, bus.Clock, error) {
	b := &board{link: link, clock: clock, regs: mcu.Over(link), virtual: virtual}
	if err := b.find(); err != nil {
		return nil, nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.board != nil {
		return nil, nil, fmt.Errorf("%w: a debugger can have only one", ErrBoards)
	}
	t.board = b
	for t.wait && t.state == free {
		t.changed.Wait()
	}
	t.wait = false
	s := &shared{turns: t, board: b}
	return s, s, nil
}

// find finds the microcontroller. It restores configuration space.
func (b *board) find() error {
	f, err := regs.Open(b.link, regs.Options{AnyMap: true})
	if err != nil {
		return err
	}
	if err = mcu.Check(b.regs); err == nil {
		b.debug, err = mcu.New(b.regs, reads)
	}
	return errors.Join(err, f.Close())
}

// set changes who may use the board.
func (t *Turns) set(s state) {
	t.mu.Lock()
	t.state = s
	t.mu.Unlock()
	t.changed.Broadcast()
}

// enter waits until the command may use its board. check looks for a halt first.
func (t *Turns) enter(b *board, check bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.await(b, check)
}

// await is enter with mu locked. After a wait it looks once more on each board, since GDB steps with a
// breakpoint at the next instruction.
func (t *Turns) await(b *board, check bool) {
	for waited := false; ; waited = true {
		if t.state == watched && !b.own && (check && t.due && t.catch(b) || (check && b.virtual || waited) && b.halted()) {
			t.state = held
			t.changed.Broadcast()
		}
		if t.state != held {
			return
		}
		for t.state == held {
			t.changed.Wait()
		}
	}
}

// catch makes the halt that is due, and reports whether the program is halted. It stays due while the
// processor is not reached. A processor in reset halts when the command starts a program.
func (t *Turns) catch(b *board) bool {
	runs, err := b.runs()
	if err != nil {
		return false
	}
	t.due = false
	if !runs || b.regs.Write(mcureg.DebugBase+mcureg.DebugCtl, mcureg.CtlHalt|mcureg.CtlCatch) != nil {
		return false
	}
	for range reads {
		if b.halted() {
			return true
		}
	}
	return false
}

// debugs makes a write of the command to MCUDBG.CTL. A halt or a step that it asks for is the command's,
// which no client sees, until it continues the program.
func (t *Turns) debugs(b *board, ctl uint32, write func() error) error {
	t.mu.Lock()
	t.await(b, true)
	b.own = b.own || ctl&(mcureg.CtlHalt|mcureg.CtlStep) != 0
	t.mu.Unlock()
	err := write()
	if ctl&mcureg.CtlResume != 0 && ctl&mcureg.CtlStep == 0 {
		t.release(b)
	}
	return err
}

// release ends a halt of the command. A client that has connected meanwhile gets its own.
func (t *Turns) release(b *board) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if b.own {
		b.own = false
		t.await(b, true)
	}
}

// halted reports whether the program is halted. A board that does not answer has its error in
// the access that follows.
func (b *board) halted() bool {
	v, err := b.regs.Read(mcureg.DebugBase + mcureg.DebugStatus)
	return err == nil && v&mcureg.DebugHalted != 0
}

// runs reports whether the processor is not in reset. It fails with bus.ErrUnsupported before the command
// has set up BAR0.
func (b *board) runs() (bool, error) {
	v, err := b.regs.Read(mcureg.Base + mcureg.Ctl)
	return err == nil && v&mcureg.CtlRun != 0, err
}

// start makes a write of the command that sets CTL.RUN. A program that it starts halts before its
// first instruction if there is a client. A client that connects meanwhile finds either no program, or
// one that runs.
func (t *Turns) start(b *board, write func() error) error {
	for {
		t.enter(b, true)
		t.starting.Lock()
		if _, who := t.current(); who != held {
			break
		}
		t.starting.Unlock()
	}
	defer t.starting.Unlock()
	if err := t.prepare(b); err != nil {
		return err
	}
	return write()
}

// prepare makes a program that starts next halt before its first instruction, if there is a client.
func (t *Turns) prepare(b *board) error {
	if _, who := t.current(); who != watched {
		return nil
	}
	if runs, err := b.runs(); err != nil || runs {
		return err
	}
	return b.regs.Write(mcureg.DebugBase+mcureg.DebugCtl, mcureg.CtlHalt|mcureg.CtlCatch)
}

// leave ends the session of a client, and closes the link when it has ended. A link that is
// closed again leaves the client of the next board alone.
func (t *Turns) leave(b *board) error {
	t.mu.Lock()
	open := t.board == b
	t.mu.Unlock()
	if !open {
		return b.link.Close()
	}
	t.enter(b, false)
	t.mu.Lock()
	t.closing = true
	t.changed.Broadcast()
	for t.state != free {
		t.changed.Wait()
	}
	if t.board == b {
		t.board = nil
	}
	t.closing = false
	t.mu.Unlock()
	return b.link.Close()
}
