//go:build linux || darwin

package serial

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// own is a second descriptor of the device. The library's carries the bytes. This
// one holds the lock, and tells a time-out from an unplugged adapter and a line
// that takes no bytes from one that does, which the libraries cannot.
type own struct{ fd int }

// release gives the lock back.
func (o own) release() error { return unix.Close(o.fd) }

// open opens a port that is locked before.
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
	p := &Port{path: path, driver: opt.Driver, own: own{fd}, dev: dev}
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
	if err := dropInput(p.fd); err != nil {
		return p.gone(err)
	}
	return nil
}

// writePiece writes b, or nothing if the line takes nothing yet.
func (p *Port) writePiece(b []byte) (int, error) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if p.closed.Load() {
		return 0, p.ended()
	}
	ready, err := writable(p.fd, readTime/10)
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

// setBaud drains the line and sets the rate.
func (p *Port) setBaud(rate int) error {
	if err := drain(p.fd); err != nil {
		return p.gone(err)
	}
	dev, err := setRate(p.dev, p.path, p.fd, rate)
	if err != nil {
		return err
	}
	p.dev = dev
	return nil
}
