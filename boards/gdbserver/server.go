// Package gdbserver is a server of the GDB remote serial protocol for the microcontroller of a
// board.
//
// Source: Debugging with GDB, appendix E, "GDB Remote Serial Protocol".
package gdbserver

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"sync"

	"github.com/hilgpu/hilgpu/firmware/mcu"
)

// A Runner starts and stops a processor, as mcu.Debugger does.
type Runner interface {
	Halt() error
	Resume() error
	Step() error
	Reset() error
	Detach() error
	State() (mcu.Cause, error)
}

// Registers are the registers of a halted processor.
type Registers interface {
	Register(i int) (uint32, error)
	SetRegister(i int, v uint32) error
	PC() (uint32, error)
	SetPC(v uint32) error
	CSR(n uint16) (uint32, error)
	SetCSR(n uint16, v uint32) error
}

// Memory is what a halted processor can load and store. A part may be read or written before an
// error.
type Memory interface {
	ReadMemory(addr uint32, p []byte) (n int, err error)
	WriteMemory(addr uint32, p []byte) (n int, err error)
}

// Points are breakpoints and the watchpoint.
type Points interface {
	SetBreakpoint(addr uint32) error
	ClearBreakpoint(addr uint32) error
	SetWatchpoint(addr, size uint32) error
	ClearWatchpoint() error
}

// A Target is a processor that can be debugged.
type Target interface {
	Runner
	Registers
	Memory
	Points
}

// A Server gives a target to one client at a time.
//
//	Target  the processor. While it is halted, the server uses it only if the client asks
//	Pause   is called before each State of a running target, and decides how often that is;
//	        it may be nil
//	Await   a client that connects while the processor is in reset waits for a program, which
//	        the target halts; otherwise it learns that there is none
//	Report  is called with the error that ends a session, if there is one; it may be nil
//	Left    is called after each session, before the next one; it may be nil
//
// A client that connects halts the processor. When it detaches or is lost, its breakpoints are
// removed and the program continues. The packet k leaves the processor halted.
type Server struct {
	Target Target
	Pause  func()
	Await  bool
	Report func(error)
	Left   func()
}

// Serve serves clients that connect to l, until the context ends or l fails. A client is
// refused while there is another one. Serve closes l, and ends when the last session has.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	defer context.AfterFunc(ctx, func() { _ = l.Close() })()
	busy := make(chan struct{}, 1)
	var sessions sync.WaitGroup
	defer sessions.Wait()
	for {
		conn, err := l.Accept()
		if err != nil {
			_ = l.Close()
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		select {
		case busy <- struct{}{}:
			sessions.Go(func() { s.session(ctx, conn, sync.OnceFunc(func() { s.left(); <-busy })) })
		default:
			_ = conn.Close()
		}
	}
}

// left is called after a session, before the next one may begin.
func (s *Server) left() {
	if s.Left != nil {
		s.Left()
	}
}

// session serves a client. It calls free when the next one may be served.
func (s *Server) session(ctx context.Context, conn net.Conn, free func()) {
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	messages, done := make(chan message), make(chan struct{})
	var receiver sync.WaitGroup
	receiver.Go(func() { receive(conn, messages, done) })
	c := &session{
		target: s.Target, pause: s.Pause, await: s.Await, free: free, to: conn, messages: messages,
		breaks: map[uint32]breakKind{},
	}
	err := c.serve()
	close(done)
	_ = conn.Close()
	receiver.Wait()
	free()
	if err != nil && ctx.Err() == nil && s.Report != nil {
		s.Report(err)
	}
}

// receive gives the messages of a client to a session until one of them ends.
func receive(r io.Reader, to chan<- message, done <-chan struct{}) {
	defer close(to)
	in := bufio.NewReader(r)
	for {
		m, err := next(in)
		if err != nil {
			return
		}
		select {
		case to <- m:
		case <-done:
			return
		}
	}
}

// Errors of requests.
var (
	errRequest = errors.New("gdbserver: a request that is not understood")
	errThread  = errors.New("gdbserver: no such thread, want 1")
	errBusy    = errors.New("gdbserver: the processor runs")
	errWatch   = errors.New("gdbserver: watchpoint, want only one")
	errLost    = errors.New("gdbserver: the client was lost")
	errEarly   = errors.New("gdbserver: too many packets before the program has started")
	errNumber  = errors.New("gdbserver: no such register")
)
