// Package serial opens the byte streams that frames travel on when the board is
// at the end of a serial line: ports, through go.bug.st/serial or
// github.com/tarm/serial, and pseudo-terminals, at which an emulated board
// listens. It finds ports by the serial number of their USB adapter, says who
// holds a port that is busy, and settles on a rate with the other end.
package serial

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// The kinds of error; each is wrapped with the port and what to do.
var (
	ErrBusy      = errors.New("serial: busy")
	ErrMissing   = errors.New("serial: no such port")
	ErrForbidden = errors.New("serial: not allowed")
	ErrNotPort   = errors.New("serial: not a serial port")
	ErrAmbiguous = errors.New("serial: ambiguous")
	ErrUnplugged = errors.New("serial: unplugged")
	ErrOption    = errors.New("serial: bad option")
	ErrRate      = errors.New("serial: no such rate")
)

// The drivers of Options.
const (
	BugSt = "bugst"
	Tarm  = "tarm"
)

// DefaultBaud is the rate of a port that is opened without one.
const DefaultBaud = 115200

// Options says how a port is opened.
type Options struct {
	Baud   int    // bits a second; 0 is DefaultBaud
	Driver string // BugSt or Tarm; empty is BugSt
}

// readTime is how long a Read waits. VTIME, with which tarm waits, is in tenths
// of a second (termios(3)).
const readTime = 100 * time.Millisecond

// piece is the number of bytes of one write. A terminal that polls as writable
// has fewer than 256 bytes queued (Linux, WAKEUP_CHARS in n_tty.c), and its driver
// room for a piece, so that the write does not wait for the line.
const piece = 1024

// A Port is an open serial port: 8 bits, no parity, 1 stop bit, no flow control,
// nothing translated. Read, Write and Close may be called at the same time.
//
// A Port has the device open twice. The library's descriptor carries the bytes.
// The other one holds the lock, and tells a time-out from an unplugged adapter and
// a line that takes no bytes from one that does, which the libraries cannot.
type Port struct {
	path   string
	driver string
	fd     int // of the other descriptor

	closed   atomic.Bool
	deadline atomic.Int64 // of Write, Unix nanoseconds; 0 is none

	mu  sync.RWMutex // held for reading while dev and fd are in use
	dev io.ReadWriteCloser
}

// Open opens the port at path. It fails with ErrBusy, naming the holders,
// ErrMissing, ErrForbidden, ErrNotPort, ErrRate or ErrOption. No two
// processes have a port open through this package at a time, and a port that any
// other process has open is busy. Open waits up to half a second for a port that
// is: of two that open a port at once one has it, and the other is told which.
// What arrived before is dropped.
func Open(path string, opt Options) (*Port, error) {
	if opt.Baud == 0 {
		opt.Baud = DefaultBaud
	}
	if opt.Driver == "" {
		opt.Driver = BugSt
	}
	if opt.Driver != BugSt && opt.Driver != Tarm {
		return nil, fmt.Errorf("%w: driver %q, want %s or %s", ErrOption, opt.Driver, BugSt, Tarm)
	}
	fd, err := claim(path)
	if err != nil {
		return nil, err
	}
	dev, err := openDevice(path, opt.Driver, opt.Baud)
	if err != nil {
		unix.Close(fd)
		return nil, err
	}
	p := &Port{path: path, driver: opt.Driver, fd: fd, dev: dev}
	if err := p.prepare(); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// prepare keeps other programs from opening the port, and drops stale input. A
// pseudo-terminal is not marked: the mark would outlive a process that is
// killed, as the terminal does.
func (p *Port) prepare() error {
	mark := uint(unix.TIOCEXCL)
	if isPty(p.fd) {
		mark = unix.TIOCNXCL
	}
	if err := unix.IoctlSetInt(p.fd, mark, 0); err != nil {
		return p.gone(err)
	}
	if err := unix.IoctlSetInt(p.fd, unix.TCFLSH, unix.TCIFLUSH); err != nil {
		return p.gone(err)
	}
	return nil
}

// Path returns the path of the device.
func (p *Port) Path() string { return p.path }

// Read returns what has arrived, or nothing and no error after a tenth of a
// second without any. It fails with ErrUnplugged, or os.ErrClosed after Close.
func (p *Port) Read(b []byte) (int, error) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if p.closed.Load() {
		return 0, p.ended()
	}
	n, err := p.dev.Read(b)
	if n > 0 || len(b) == 0 {
		return n, nil
	}
	if errors.Is(err, io.EOF) {
		// tarm reads with VMIN 0, where a time-out and a hang-up are both an
		// end of file.
		err = p.hungUp()
	}
	if err != nil {
		return 0, p.gone(err)
	}
	return 0, nil
}

// ReadTimeout returns how long a Read waits.
func (p *Port) ReadTimeout() time.Duration { return readTime }

// hungUp returns an error if the terminal was hung up.
func (p *Port) hungUp() error {
	_, err := p.poll(0, 0)
	return err
}

// poll waits until the terminal is ready for events, and reports whether it is.
// It fails if the terminal was hung up.
func (p *Port) poll(events int16, wait time.Duration) (bool, error) {
	fds := []unix.PollFd{{Fd: int32(p.fd), Events: events}}
	n, err := unix.Poll(fds, int(wait/time.Millisecond))
	switch {
	case errors.Is(err, unix.EINTR), err == nil && n == 0:
		return false, nil
	case err != nil:
		return false, err
	case fds[0].Revents&(unix.POLLHUP|unix.POLLERR|unix.POLLNVAL) != 0:
		return false, ErrUnplugged
	}
	return fds[0].Revents&events != 0, nil
}

// Write writes all of b. It waits for the line to take it, until the write
// deadline if there is one. It fails with os.ErrDeadlineExceeded, ErrUnplugged,
// or os.ErrClosed after Close.
func (p *Port) Write(b []byte) (int, error) {
	for n := 0; n < len(b); {
		m, err := p.writePiece(b[n:min(n+piece, len(b))])
		if n += m; err != nil {
			return n, err
		}
	}
	return len(b), nil
}

// writePiece writes b, or nothing if the line takes nothing yet.
func (p *Port) writePiece(b []byte) (int, error) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if p.closed.Load() {
		return 0, p.ended()
	}
	ready, err := p.poll(unix.POLLOUT, readTime/10)
	if err != nil {
		return 0, p.gone(err)
	}
	if !ready {
		if at := p.deadline.Load(); at != 0 && time.Now().UnixNano() >= at {
			return 0, fmt.Errorf("serial: %s takes no bytes: %w", p.path, os.ErrDeadlineExceeded)
		}
		return 0, nil
	}
	n, err := p.dev.Write(b)
	if err != nil {
		return n, p.gone(err)
	}
	return n, nil
}

// SetWriteDeadline bounds Write, the one under way as well; the zero time is no
// bound.
func (p *Port) SetWriteDeadline(t time.Time) error {
	at := int64(0)
	if !t.IsZero() {
		at = t.UnixNano()
	}
	p.deadline.Store(at)
	return nil
}

// SetBaud sets the rate, in bits a second, once everything written has left. It
// fails with ErrRate if the driver has no such rate.
func (p *Port) SetBaud(rate int) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed.Load() {
		return p.ended()
	}
	// tcdrain(3); bugst has it as Drain, tarm has not.
	if err := unix.IoctlSetInt(p.fd, unix.TCSBRK, 1); err != nil {
		return p.gone(err)
	}
	dev, err := setRate(p.dev, p.path, p.fd, rate)
	if err != nil {
		return err
	}
	p.dev = dev
	return nil
}

// Close gives the port back. A Read or Write under way ends within a tenth of a
// second. Close is idempotent.
func (p *Port) Close() error {
	if p.closed.Swap(true) {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	err := p.dev.Close()
	return errors.Join(err, unix.Close(p.fd))
}

func (p *Port) ended() error { return fmt.Errorf("serial: %s: %w", p.path, os.ErrClosed) }

// gone says that the port is no more.
func (p *Port) gone(err error) error {
	if p.closed.Load() {
		return p.ended()
	}
	if errors.Is(err, ErrUnplugged) {
		return fmt.Errorf("%w: %s: plug it in again", ErrUnplugged, p.path)
	}
	return fmt.Errorf("%w: %s: plug it in again: %w", ErrUnplugged, p.path, err)
}
