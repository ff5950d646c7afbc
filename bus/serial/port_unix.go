//go:build linux || darwin

package serial

import (
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// own is a second descriptor of the device. It holds the lock and detects two
// conditions that the libraries cannot: an unplugged adapter rather than a time-out,
// and a line that accepts no bytes. The library's descriptor carries the bytes, but
// on Linux fd does, because no Read of a library can be interrupted.
type own struct {
	fd    int
	in    *os.File    // reads fd; nil: the library carries the bytes
	timed atomic.Bool // on Linux: the user sets the deadlines of in
}

// release releases the lock.
func (o *own) release() error {
	if o.in != nil {
		return o.in.Close()
	}
	return unix.Close(o.fd)
}

// open opens a port and locks it first.
func open(path string, opt Options) (*Port, error) {
	fd, err := claim(path)
	if err != nil {
		return nil, err
	}
	dev, err := openDevice(path, opt.Driver, opt.Baud)
	if err != nil {
		unix.Close(fd)
		return nil, err
	}
	p := &Port{path: path, driver: opt.Driver, own: own{fd: fd, in: input(fd, path)}, dev: dev}
	if err := p.prepare(); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// prepare keeps other programs from opening the port, and drops stale input. It
// does not mark a pseudo-terminal exclusive: the mark would outlive a killed
// process, as the terminal does.
func (p *Port) prepare() error {
	mark := uint(unix.TIOCEXCL)
	if isPty(p.fd) {
		mark = unix.TIOCNXCL
	}
	if err := unix.IoctlSetInt(p.fd, mark, 0); err != nil {
		return p.gone(err)
	}
	if err := dropInput(p.fd); err != nil {
		return p.gone(err)
	}
	return nil
}

// writePiece writes b, or nothing if the line does not accept bytes yet.
func (p *Port) writePiece(b []byte) (int, error) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if p.closed.Load() {
		return 0, p.ended()
	}
	if n, err := p.sendNow(b); n > 0 || err != nil {
		return n, err
	}
	ready, err := writable(p.fd, readTime/10)
	if err != nil {
		return 0, p.gone(err)
	}
	if !ready {
		if at := p.deadline.Load(); at != 0 && time.Now().UnixNano() >= at {
			return 0, fmt.Errorf("serial: %s accepts no bytes: %w", p.path, os.ErrDeadlineExceeded)
		}
		return 0, nil
	}
	n, err := p.dev.Write(b)
	if err != nil {
		return n, p.gone(err)
	}
	return n, nil
}

// sendNow writes as much of b as the line accepts at once.
func (p *Port) sendNow(b []byte) (int, error) {
	if p.in == nil {
		return 0, nil
	}
	n, err := unix.Write(p.fd, b)
	switch {
	case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.EINTR):
		return 0, nil
	case err != nil:
		return 0, p.gone(err)
	}
	return n, nil
}

// uninterrupted calls f again as long as a signal of the process interrupts it.
func uninterrupted(f func() error) error {
	for {
		if err := f(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// setBaud drains the line and sets the rate.
func (p *Port) setBaud(rate int) error {
	if err := uninterrupted(func() error { return drain(p.fd) }); err != nil {
		return p.gone(err)
	}
	dev, err := setRate(p.dev, p.path, p.fd, rate)
	if err != nil {
		return err
	}
	p.dev = dev
	return nil
}
