//go:build unix

package discovery

import (
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// share lets several boards of a machine listen for questions: each gets every
// broadcast. The BSDs and macOS want SO_REUSEPORT for that; on Linux it would choose one
// of them for a question to this machine alone.
func share(_, _ string, c syscall.RawConn) (err error) {
	control := c.Control(func(fd uintptr) {
		err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEADDR, 1)
		if err == nil && runtime.GOOS != "linux" {
			err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEPORT, 1)
		}
	})
	if control != nil {
		return control
	}
	return err
}

// tooLong reports whether a read failed because the datagram was too long.
func tooLong(error) bool { return false }
