// Package inspect shows the board that a command has open, while the command uses it: its
// registers by name, its nodes and the last lines of the log, as JSON and as a page.
//
//	/                        the page
//	/api/identity            observer.Identity
//	/api/registers           Registers
//	/api/register/NAME       Registers, of a name or a pattern
//	/api/ring                Nodes
//	/api/log?tail=N          Log
//	/api/bar0?off=&len=      observer.Words
//	/api/config?off=         observer.Words
//	/events?hz=              server-sent events: what has changed
//
// It only reads, and no register whose read has an effect. A GPU emulated in this process is
// read by a copy of it, so that its run stays the same, clock by clock. On any other board a read
// is an access. Registers next to each other are read at once, all clients share what was
// read, and the reads take at most a fifth of the rate of the link.
package inspect

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/hilgpu/hilgpu/boards/observer"
	"github.com/hilgpu/hilgpu/bus"
)

// ErrListen: the system refuses the address.
var ErrListen = errors.New("inspect: cannot listen")

// errNoBoard: the command has no board open.
var errNoBoard = errors.New("inspect: no board is open")

//go:embed page.html
var page []byte

// A Tail has the last lines of a log.
type Tail interface {
	// Tail returns at most the last n lines, the oldest first.
	Tail(n int) []string
}

// Options configure a server.
type Options struct {
	Program string // that has the boards
	Log     Tail   // nil: there is no log
}

// A Server shows the boards of a command.
//
//	Addr  the address, with the port that was chosen for port 0
//	Open  hosts other than this one reach it
type Server struct {
	Addr string
	Open bool

	opt  Options
	host string // as given by the user
	time clock
	http *http.Server
	end  context.CancelFunc

	mu     sync.Mutex // guards boards
	boards []*board   // that are open, the newest last
}

// Serve serves at [HOST:]PORT until Close. Without a host it is the loopback interface. It
// fails with observer.ErrAddress and ErrListen.
func Serve(at string, opt Options) (*Server, error) {
	addr, err := observer.Address(at)
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("%w at %s: %w", ErrListen, addr, err)
	}
	to := l.Addr().(*net.TCPAddr)
	host, _, _ := net.SplitHostPort(addr)
	s := newServer(opt, wall())
	s.Addr, s.Open, s.host = to.String(), !to.IP.IsLoopback(), host
	ctx, end := context.WithCancel(context.Background())
	s.end = end
	s.http = &http.Server{
		Handler: s.handler(), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10,
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	go s.http.Serve(l) // Close ends it
	return s, nil
}

// newServer returns a server that does not listen.
func newServer(opt Options, t clock) *Server { return &Server{opt: opt, time: t, end: func() {}} }

// wall is the time of the wall clock.
func wall() clock {
	began := time.Now()
	return clock{
		now: func() time.Duration { return time.Since(began) },
		sleep: func(ctx context.Context, d time.Duration) error {
			select {
			case <-time.After(d):
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		},
	}
}

// Share is boards.Options.Share: the server shows the board until its link is closed. Of several
// boards it shows the one that was opened last.
func (s *Server) Share(link bus.Link, clock bus.Clock, _ bool) (bus.Link, bus.Clock, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.boards = append(s.boards, newBoard(link, s.time))
	return link, clock, nil
}

// board returns the board to show. It fails with errNoBoard.
func (s *Server) board() (*board, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.boards) == 0 {
		return nil, errNoBoard
	}
	return s.boards[len(s.boards)-1], nil
}

// forget removes a board whose link is closed.
func (s *Server) forget(b *board) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.boards = slices.DeleteFunc(s.boards, func(o *board) bool { return o == b })
}

// Close ends the server and its connections.
func (s *Server) Close() error {
	s.end()
	return s.http.Close()
}
