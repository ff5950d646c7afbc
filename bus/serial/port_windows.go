package serial

import (
	"errors"
	"fmt"
	"os"
	"time"

	bugst "go.bug.st/serial"
	"golang.org/x/sys/windows"
)

// own holds the rate for reopening a port that loses its handle.
type own struct{ baud int }

// release does nothing: the handle is the lock.
func (own) release() error { return nil }

// receive reads the port, or times out.
func (p *Port) receive(b []byte) (int, error) { return p.dev.Read(b) }

// endOfFile returns an error: an existing port has no end of file.
func (own) endOfFile() error { return ErrUnplugged }

// open opens a port. Windows opens a port for one handle only (CreateFile,
// "Communications Resources": exclusive access), so no other lock is needed.
func open(path string, opt Options) (*Port, error) {
	for until := time.Now().Add(busyFor); ; time.Sleep(tryEvery) {
		dev, err := openDevice(path, opt.Baud)
		if err == nil {
			return &Port{path: path, driver: opt.Driver, own: own{opt.Baud}, dev: dev}, nil
		}
		if !errors.Is(err, ErrBusy) || !time.Now().Before(until) {
			return nil, err
		}
	}
}

// openDevice opens a port with bugst and drops stale input.
func openDevice(path string, baud int) (bugst.Port, error) {
	if err := checkRate(baud); err != nil {
		return nil, err
	}
	port, err := bugst.Open(path, mode(baud))
	if err != nil {
		return nil, openError(path, baud, err)
	}
	err = port.SetReadTimeout(readTime)
	if err == nil {
		err = port.ResetInputBuffer()
	}
	if err != nil {
		port.Close()
		return nil, fmt.Errorf("serial: %s: %w", path, err)
	}
	return port, nil
}

// openError interprets an error of bugst. A port that refuses its settings but
// opens with default settings does not support the rate.
func openError(path string, baud int, err error) error {
	var perr *bugst.PortError
	if !errors.As(err, &perr) {
		if errors.Is(err, windows.ERROR_PATH_NOT_FOUND) || errors.Is(err, windows.ERROR_INVALID_NAME) {
			return missing(path)
		}
		return fmt.Errorf("serial: %s: %w", path, err)
	}
	switch perr.Code() {
	case bugst.PortBusy:
		return fmt.Errorf("%w: %s is held by another process: end it, or use another port", ErrBusy, path)
	case bugst.PortNotFound:
		return missing(path)
	case bugst.InvalidSerialPort:
		port, err := bugst.Open(path, mode(9600))
		if err != nil {
			return fmt.Errorf("%w: %s: give the name of a serial port", ErrNotPort, path)
		}
		port.Close()
	}
	return fmt.Errorf("%w: %s at %d baud: %w", ErrRate, path, baud, err)
}

// A written is the result of a write.
type written struct {
	n   int
	err error
}

// writePiece writes b. Windows waits until the line accepts it. The deadline
// and Close end the wait and drop the unsent bytes.
func (p *Port) writePiece(b []byte) (int, error) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if p.closed.Load() {
		return 0, p.ended()
	}
	done := make(chan written, 1)
	go func() {
		n, err := p.dev.Write(b)
		done <- written{n, err}
	}()
	tick := time.NewTicker(readTime / 10)
	defer tick.Stop()
	late := false
	for {
		select {
		case w := <-done:
			switch {
			case late && w.n < len(b):
				return w.n, fmt.Errorf("serial: %s accepts no bytes: %w", p.path, os.ErrDeadlineExceeded)
			case w.err != nil:
				return w.n, p.gone(w.err)
			}
			return w.n, nil
		case <-tick.C:
			at := p.deadline.Load()
			late = late || at != 0 && time.Now().UnixNano() >= at
			if late || p.closed.Load() {
				// An error means that the port is gone, which the write reports
				// too.
				_ = p.dev.(bugst.Port).ResetOutputBuffer()
			}
		}
	}
}

// setBaud drains the line and sets the rate. Bugst closes a port that refuses
// the rate; setBaud then reopens it at the previous rate.
func (p *Port) setBaud(rate int) error {
	if err := checkRate(rate); err != nil {
		return err
	}
	port := p.dev.(bugst.Port)
	if err := port.Drain(); err != nil {
		return p.gone(err)
	}
	if err := port.SetMode(mode(rate)); err != nil {
		port.Close()
		again, oerr := openDevice(p.path, p.baud)
		if oerr != nil {
			return p.gone(oerr)
		}
		p.dev = again
		return fmt.Errorf("%w: %s at %d baud: %w", ErrRate, p.path, rate, err)
	}
	p.baud = rate
	return nil
}
