package serve

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"runtime"
	"strings"
	"syscall"
)

// A Listener accepts hosts for a board.
type Listener interface {
	// Serve serves b to hosts until ctx is done, whose cause it returns, or
	// until the listener or the device fails. It closes the listener.
	Serve(ctx context.Context, b *Board) error

	// Selector returns the selector by which a host opens the board, such as
	// tcp:127.0.0.1:4000.
	Selector() string

	// Open reports whether a host on another machine can reach the listener.
	Open() bool

	// Close ends Serve. Close is idempotent.
	Close() error
}

// ErrListen is wrapped by the error of an address that the system refuses.
var ErrListen = errors.New("cannot listen")

// Listen opens tcp:ADDRESS, udp:ADDRESS or, on Linux, eth:IFACE, nettlp:ADDR or pty:PATH. An address
// without a host, as in tcp::4000, is that of the loopback interface. Listen fails with
// ErrOptions for an address that is invalid or unsupported on this system, with
// ErrListen, or as ether.Open does.
func Listen(where string) (Listener, error) {
	err := check(where, runtime.GOOS, runtime.GOARCH)
	if err != nil {
		return nil, err
	}
	var l Listener
	scheme, at, _ := strings.Cut(where, ":")
	switch scheme {
	case "pty":
		l, err = ListenPty(at)
	case "udp":
		l, err = ListenUDP(at)
	case "nettlp":
		l, err = ListenNetTLP(at)
	case "eth":
		e, err := ListenEther(at)
		if err != nil {
			return nil, fmt.Errorf("serve: listen at %s: %w", where, err)
		}
		return e, nil
	default:
		l, err = ListenTCP(at)
	}
	if err != nil {
		return nil, advise(where, err)
	}
	return l, nil
}

// advise wraps err in ErrListen, with a remedy if one is known.
func advise(where string, err error) error {
	for _, e := range []struct {
		err    error
		advice string
	}{
		{syscall.EADDRINUSE, "the port is in use: choose another port, or 0 for any free one"},
		{syscall.EADDRNOTAVAIL, "this machine does not have the address"},
		{fs.ErrPermission, "not allowed: choose a port above 1023, or a path in one of your folders"},
		{fs.ErrNotExist, "the folder does not exist: create it first"},
	} {
		if errors.Is(err, e.err) {
			return fmt.Errorf("%w at %s: %s", ErrListen, where, e.advice)
		}
	}
	return fmt.Errorf("%w at %s: %w", ErrListen, where, err)
}

// isHostPort reports whether an address has a port, which may be 0.
func isHostPort(addr string) bool {
	_, port, err := net.SplitHostPort(addr)
	if err == nil {
		_, err = net.LookupPort("tcp", port)
	}
	return err == nil
}

// orLoopback adds the loopback interface to an address without a host.
func orLoopback(addr string) string {
	if host, port, err := net.SplitHostPort(addr); err == nil && host == "" {
		return net.JoinHostPort("127.0.0.1", port)
	}
	return addr
}

// A place is what follows a scheme of Listen.
type place struct {
	scheme, name string
	only         string // the system that has it; "": all
	valid        func(text string) bool
	want         string
}

func places() []place {
	return []place{
		{"tcp", "ADDRESS", "", isHostPort, "tcp:HOST:PORT"},
		{"udp", "ADDRESS", "", isHostPort, "udp:HOST:PORT"},
		{"eth", "IFACE", "linux", isInterface, "eth:IFACE, without the address"},
		{"nettlp", "ADDR", "linux", isNetTLP, wantNetTLP},
		{"pty", "PATH", "linux", func(string) bool { return true }, ""},
	}
}

// check fails with ErrOptions if a system does not support the address.
func check(where, goos, goarch string) error {
	scheme, rest, _ := strings.Cut(where, ":")
	var want []string
	var at place
	for _, p := range places() {
		if p.only == "" || p.only == goos {
			want = append(want, p.scheme+":"+p.name)
		}
		if p.scheme == scheme {
			at = p
		}
	}
	all := strings.Join(want[:len(want)-1], ", ") + " or " + want[len(want)-1]
	switch {
	case rest == "" || at.scheme == "":
		return fmt.Errorf("%w: listen at %q, want %s", ErrOptions, where, all)
	case at.only != "" && at.only != goos:
		return fmt.Errorf("%w: %s:%s is not available on %s/%s, want %s", ErrOptions, at.scheme, at.name, goos, goarch, all)
	case !at.valid(rest):
		return fmt.Errorf("%w: listen at %q, want %s", ErrOptions, where, at.want)
	}
	return nil
}

var (
	_ Listener = (*TCP)(nil)
	_ Listener = (*UDP)(nil)
	_ Listener = (*Ether)(nil)
	_ Listener = (*NetTLP)(nil)
	_ Listener = (*Pty)(nil)
)
