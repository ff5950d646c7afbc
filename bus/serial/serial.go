// Package serial opens the byte streams that carry frames to a board on a
// serial line: ports, through go.bug.st/serial or github.com/tarm/serial, and
// pseudo-terminals, on which an emulated board listens. It finds ports by the
// serial number of their USB adapter, names the holders of a busy port, and
// agrees on a rate with the other end.
//
//	                     linux         darwin   windows
//	drivers              bugst, tarm   bugst    bugst
//	USB serial numbers   yes           no       yes
//	holders of a port    yes           no       no
//	pseudo-terminals     yes           no       no
package serial

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Error kinds. Each is wrapped with the port and a remedy.
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

// Systems returns the systems, named as in GOOS, that a driver supports. Tarm
// needs cgo on macOS. It cannot drain a line, and sets a rate only by opening
// the port a second time, which Windows does not allow.
func Systems(driver string) []string {
	if driver == Tarm {
		return []string{"linux"}
	}
	return []string{"linux", "darwin", "windows"}
}

// checkDriver fails with ErrOption if a system does not have the driver.
func checkDriver(driver, goos, goarch string) error {
	switch {
	case driver != BugSt && driver != Tarm:
		return fmt.Errorf("%w: driver %q, want %s or %s", ErrOption, driver, BugSt, Tarm)
	case !slices.Contains(Systems(driver), goos):
		return fmt.Errorf("%w: driver %s is not available on %s/%s, want %s", ErrOption, driver, goos, goarch, BugSt)
	}
	return nil
}

// DefaultBaud is the default rate of a port.
const DefaultBaud = 115200

// Options configure a port.
type Options struct {
	Baud   int    // bits per second; 0 is DefaultBaud
	Driver string // BugSt, or Tarm where Systems lists the system; "" is BugSt
}

// readTime is how long a Read waits. VTIME, which tarm uses, is in tenths of a
// second (termios(3)).
const readTime = 100 * time.Millisecond

// A port may be busy only for a moment: another process opens it briefly, or is
// about to close it.
const (
	busyFor  = 500 * time.Millisecond // how long Open waits for a busy port
	tryEvery = 5 * time.Millisecond
)

// piece is the size of one write in bytes. A terminal that polls as writable
// has fewer than 256 bytes queued (Linux, WAKEUP_CHARS in n_tty.c), and its
// driver has room for a piece, so the write does not wait for the line.
const piece = 1024

// A Port is an open serial port: 8 bits, no parity, 1 stop bit, no flow
// control, no translation. Read, Write and Close may be called concurrently.
type Port struct {
	path   string
	driver string
	own    // system-specific state

	closed   atomic.Bool
	deadline atomic.Int64 // write deadline in Unix nanoseconds; 0 is none

	mu  sync.RWMutex // held for reading while dev and own are in use
	dev io.ReadWriteCloser
}

// Open opens the port at path. It fails with ErrBusy, ErrMissing, ErrForbidden,
// ErrNotPort, ErrRate or ErrOption. No two processes have a port open through
// this package at the same time. Open waits up to half a second for a busy
// port, so that one of two concurrent calls succeeds. Bytes received earlier
// are dropped.
//
// On Linux a port that any other process has open is busy, and ErrBusy names
// the holders. On macOS Open does not detect programs that do not lock ports.
// Windows itself opens a port only once.
func Open(path string, opt Options) (*Port, error) {
	if opt.Baud == 0 {
		opt.Baud = DefaultBaud
	}
	if opt.Driver == "" {
		opt.Driver = BugSt
	}
	if err := checkDriver(opt.Driver, runtime.GOOS, runtime.GOARCH); err != nil {
		return nil, err
	}
	return open(path, opt)
}

// Path returns the path of the device.
func (p *Port) Path() string { return p.path }

// Read returns received bytes, or 0 and no error after a tenth of a second
// without any. It fails with ErrUnplugged, or with os.ErrClosed after Close.
func (p *Port) Read(b []byte) (int, error) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if p.closed.Load() {
		return 0, p.ended()
	}
	n, err := p.receive(b)
	if n > 0 || len(b) == 0 {
		return n, nil
	}
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return 0, err
	case err == nil, errors.Is(err, syscall.EINTR): // a signal of the process
		return 0, nil
	case errors.Is(err, io.EOF):
		err = p.endOfFile()
		if err == nil {
			return 0, nil
		}
	}
	return 0, p.gone(err)
}

// ReadTimeout returns how long a Read waits.
func (p *Port) ReadTimeout() time.Duration { return readTime }

// Write writes all of b. It waits until the line accepts it, or until the write
// deadline if there is one. It fails with os.ErrDeadlineExceeded, with
// ErrUnplugged, or with os.ErrClosed after Close.
func (p *Port) Write(b []byte) (int, error) {
	for n := 0; n < len(b); {
		m, err := p.writePiece(b[n:min(n+piece, len(b))])
		if n += m; err != nil {
			return n, err
		}
	}
	return len(b), nil
}

// SetWriteDeadline bounds Write, including a Write in progress. The zero time
// means no deadline.
func (p *Port) SetWriteDeadline(t time.Time) error {
	at := int64(0)
	if !t.IsZero() {
		at = t.UnixNano()
	}
	p.deadline.Store(at)
	return nil
}

// SetBaud sets the rate, in bits per second, after all written bytes have been
// sent. It fails with ErrRate if the driver does not support the rate.
func (p *Port) SetBaud(rate int) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed.Load() {
		return p.ended()
	}
	return p.setBaud(rate)
}

// Close closes the port and releases its lock. A Read or Write in progress ends
// within a tenth of a second. Close is idempotent.
func (p *Port) Close() error {
	if p.closed.Swap(true) {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return errors.Join(p.dev.Close(), p.release())
}

func (p *Port) ended() error { return fmt.Errorf("serial: %s: %w", p.path, os.ErrClosed) }

// gone returns the error for an unplugged port.
func (p *Port) gone(err error) error {
	if p.closed.Load() {
		return p.ended()
	}
	if errors.Is(err, ErrUnplugged) {
		return fmt.Errorf("%w: %s: plug it in again", ErrUnplugged, p.path)
	}
	return fmt.Errorf("%w: %s: plug it in again: %w", ErrUnplugged, p.path, err)
}
