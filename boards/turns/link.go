package turns

import (
	"encoding/binary"

	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/rtl/abi/mcureg"
)

// shared is the link and the clock that the command has.
type shared struct {
	turns *Turns
	board *board
}

// Unwrap returns the link of the board, for bus.As.
func (s *shared) Unwrap() bus.Link { return s.board.link }

// ReadConfig implements bus.Link.
func (s *shared) ReadConfig(off int) (uint32, error) {
	s.turns.enter(s.board, false)
	return s.board.link.ReadConfig(off)
}

// WriteConfig implements bus.Link.
func (s *shared) WriteConfig(off int, v uint32) error {
	s.turns.enter(s.board, false)
	return s.board.link.WriteConfig(off, v)
}

// Read implements bus.Link.
func (s *shared) Read(bar int, off uint64, p []byte) error {
	s.turns.enter(s.board, true)
	return s.board.link.Read(bar, off, p)
}

// Write implements bus.Link.
func (s *shared) Write(bar int, off uint64, p []byte) error {
	write := func() error { return s.board.link.Write(bar, off, p) }
	ctl, sets := value(mcureg.Base+mcureg.Ctl, bar, off, p)
	debug, debugs := value(mcureg.DebugBase+mcureg.DebugCtl, bar, off, p)
	switch {
	case sets && ctl&mcureg.CtlRun != 0:
		return s.turns.start(s.board, write)
	case debugs:
		return s.turns.debugs(s.board, debug, write)
	}
	s.turns.enter(s.board, true)
	err := write()
	if sets {
		s.turns.release(s.board) // a processor in reset
	}
	return err
}

// value returns the value that a write gives to a register of BAR0, if it writes it.
func value(at uint64, bar int, off uint64, p []byte) (v uint32, writes bool) {
	if bar != 0 || off > at || off+uint64(len(p)) < at+4 {
		return 0, false
	}
	return binary.LittleEndian.Uint32(p[at-off:]), true
}

// Close implements bus.Link. It ends the session of the client first.
func (s *shared) Close() error { return s.turns.leave(s.board) }

// Now implements bus.Clock.
func (s *shared) Now() uint64 { return s.board.clock.Now() }

// Hz implements bus.Clock.
func (s *shared) Hz() uint64 { return s.board.clock.Hz() }

// Wait implements bus.Clock. It returns early while a program may halt.
func (s *shared) Wait(deadline uint64) (event bool, err error) {
	s.turns.enter(s.board, true)
	if _, who := s.turns.current(); who == watched && s.board.virtual {
		deadline = min(deadline, s.board.clock.Now()+slice)
	}
	return s.board.clock.Wait(deadline)
}
