package serve_test

import (
	"fmt"
	"io"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/hilgpu/hilgpu/boards/serve"
	"github.com/hilgpu/hilgpu/bus/serial"
)

// wiresPty is a pseudo-terminal.
func wiresPty() []wired {
	return []wired{{
		"pty", 1.4, 0, func() (serve.Listener, error) { return serve.ListenPty("") },
		func(l serve.Listener) (io.ReadWriteCloser, error) {
			return serial.Open(l.Selector()[len("serial:"):], serial.Options{})
		}, pairPty, barePty,
	}}
}

func pairPty(b *testing.B) (near, far io.ReadWriteCloser) {
	far, err := serial.ListenPty("")
	require.NoError(b, err)
	near, err = serial.Open(far.(*serial.Pty).Path(), serial.Options{})
	require.NoError(b, err)
	return near, far
}

// barePty is a pseudo-terminal without the code of package serial.
func barePty(b *testing.B) (near, far io.ReadWriteCloser) {
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	require.NoError(b, err)
	require.NoError(b, unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	require.NoError(b, err)
	raw := unix.Termios{Cflag: unix.CS8 | unix.CREAD | unix.CLOCAL | unix.B115200}
	raw.Cc[unix.VMIN] = 1
	require.NoError(b, unix.IoctlSetTermios(fd, unix.TCSETS, &raw))
	near, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR, 0)
	require.NoError(b, err)
	return near, os.NewFile(uintptr(fd), "/dev/ptmx")
}
