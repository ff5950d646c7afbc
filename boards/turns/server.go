package turns

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/hilgpu/hilgpu/boards/gdbserver"
)

// Kinds of errors of Serve.
var (
	// ErrAddress: an address that is not of the form [HOST:]PORT[,wait].
	ErrAddress = errors.New("turns: bad address")
	// ErrListen: the system refuses the address.
	ErrListen = errors.New("turns: cannot listen")
)

// A Server serves clients of gdb.
//
//	Turns  whose boards the clients debug
//	Addr   the address, with the port that was chosen for port 0
//	Open   hosts other than this one reach it
type Server struct {
	*Turns
	Addr string
	Open bool

	end  context.CancelFunc
	done chan error
}

// Serve serves clients at [HOST:]PORT[,wait] until Close. Without a host it is the loopback
// interface. report is called with the error that ends a session. Serve fails with ErrAddress
// and ErrListen.
func Serve(at string, report func(error)) (*Server, error) {
	addr, wait, err := parse(at)
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("%w at %s: %w", ErrListen, addr, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	to := l.Addr().(*net.TCPAddr)
	s := &Server{Turns: New(wait), Addr: to.String(), Open: !to.IP.IsLoopback(), end: cancel, done: make(chan error, 1)}
	server := gdbserver.Server{Target: s.Turns, Await: true, Pause: s.Pause, Left: s.Left, Report: func(err error) {
		if !errors.Is(err, errClosed) {
			report(err)
		}
	}}
	go func() { s.done <- server.Serve(ctx, l) }()
	return s, nil
}

// Close ends the server and the session of its client.
func (s *Server) Close() error {
	s.end()
	return <-s.done
}

// parse returns the address to listen at, and whether the first board waits.
func parse(at string) (addr string, wait bool, err error) {
	addr, option, some := strings.Cut(at, ",")
	bad := fmt.Errorf("%w: %q, want [HOST:]PORT or [HOST:]PORT,wait", ErrAddress, at)
	if some && option != "wait" {
		return "", false, bad
	}
	if !strings.Contains(addr, ":") {
		addr = ":" + addr
	}
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return "", false, bad
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return "", false, bad
	}
	if host == "" {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port), some, nil
}
