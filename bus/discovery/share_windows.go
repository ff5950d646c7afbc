package discovery

import (
	"errors"
	"syscall"

	"golang.org/x/sys/windows"
)

// share lets several boards of a machine listen for questions: each gets every
// broadcast.
func share(_, _ string, c syscall.RawConn) (err error) {
	control := c.Control(func(fd uintptr) {
		err = windows.SetsockoptInt(windows.Handle(fd), windows.SOL_SOCKET, windows.SO_REUSEADDR, 1)
	})
	if control != nil {
		return control
	}
	return err
}

// tooLong reports whether a read failed because the datagram was too long.
func tooLong(err error) bool { return errors.Is(err, windows.WSAEMSGSIZE) }
