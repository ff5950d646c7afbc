//go:build linux || darwin

package serial

import (
	"errors"
	"fmt"
	"io"

	bugst "go.bug.st/serial"
	"golang.org/x/sys/unix"
)

// openDevice opens a port with one of the libraries.
func openDevice(path, driver string, baud int) (io.ReadWriteCloser, error) {
	if err := checkRate(baud); err != nil {
		return nil, err
	}
	if driver == Tarm {
		return openTarm(path, baud)
	}
	port, err := bugst.Open(path, mode(baud))
	if err != nil {
		return nil, openError(path, baud, err)
	}
	if err := port.SetReadTimeout(readTime); err != nil {
		port.Close()
		return nil, fmt.Errorf("serial: %s: %w", path, err)
	}
	return port, nil
}

// openError interprets a library's error. The port is known to exist, to be
// locked and to be a terminal, so only the rate can be wrong.
func openError(path string, baud int, err error) error {
	var perr *bugst.PortError
	switch {
	case errors.As(err, &perr) && perr.Code() == bugst.PortBusy, errors.Is(err, unix.EBUSY):
		return busyPort(path)
	case errors.Is(err, unix.EACCES), errors.As(err, &perr) && perr.Code() == bugst.PermissionDenied:
		return forbidden(path)
	}
	return fmt.Errorf("%w: %s at %d baud: %w", ErrRate, path, baud, err)
}

// setRate changes the rate of a device and returns the device to use
// afterwards.
func setRate(dev io.ReadWriteCloser, path string, fd, rate int) (io.ReadWriteCloser, error) {
	if err := checkRate(rate); err != nil {
		return nil, err
	}
	if port, ok := dev.(bugst.Port); ok {
		if err := port.SetMode(mode(rate)); err != nil {
			return nil, fmt.Errorf("%w: %s at %d baud: %w", ErrRate, path, rate, err)
		}
		return dev, nil
	}
	return reopenTarm(dev, path, fd, rate)
}
