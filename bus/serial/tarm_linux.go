package serial

import (
	"fmt"
	"io"

	"github.com/tarm/serial"
	"golang.org/x/sys/unix"
)

// openTarm opens a port with tarm.
func openTarm(path string, baud int) (io.ReadWriteCloser, error) {
	port, err := serial.OpenPort(&serial.Config{Name: path, Baud: baud, ReadTimeout: readTime})
	if err != nil {
		return nil, openError(path, baud, err)
	}
	return port, nil
}

// reopenTarm changes the rate of a tarm device. Tarm sets the rate only when it
// opens a port, and the settings belong to the terminal, not to the descriptor.
func reopenTarm(dev io.Closer, path string, fd, rate int) (io.ReadWriteCloser, error) {
	if err := unix.IoctlSetInt(fd, unix.TIOCNXCL, 0); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrUnplugged, path, err)
	}
	next, err := openTarm(path, rate)
	if !isPty(fd) {
		unix.IoctlSetInt(fd, unix.TIOCEXCL, 0)
	}
	if err != nil {
		return nil, err
	}
	dev.Close()
	return next, nil
}
