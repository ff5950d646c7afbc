package serial

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

const ioctlGetTermios = unix.TIOCGETA

// dropInput drops unread input.
func dropInput(fd int) error { return unix.IoctlSetPointerInt(fd, unix.TIOCFLUSH, unix.TCIFLUSH) }

// drain waits until all written bytes have been sent: tcdrain(3).
func drain(fd int) error { return unix.IoctlSetInt(fd, unix.TIOCDRAIN, 0) }

// input returns nil: the poller of the runtime does not support terminals on macOS.
func input(int, string) *os.File { return nil }

// receive reads the port, or times out.
func (p *Port) receive(b []byte) (int, error) { return p.dev.Read(b) }

// endOfFile returns an error: an existing terminal has no end of file.
func (o *own) endOfFile() error { return ErrUnplugged }

// writable waits until a terminal accepts bytes, and reports whether it does.
// It uses select(2), because poll(2) does not support devices on macOS.
func writable(fd int, wait time.Duration) (bool, error) {
	if fd >= unix.FD_SETSIZE {
		return false, fmt.Errorf("descriptor %d, want one below %d", fd, unix.FD_SETSIZE)
	}
	var set unix.FdSet
	set.Set(fd)
	limit := unix.NsecToTimeval(wait.Nanoseconds())
	n, err := unix.Select(fd+1, nil, &set, nil, &limit)
	if errors.Is(err, unix.EINTR) {
		return false, nil
	}
	return n > 0, err
}

// ptyMajor is the device number of the slaves of pseudo-terminals (XNU,
// bsd/kern/tty_ptmx.c).
const ptyMajor = 16

// isPty reports whether a terminal is the slave of a pseudo-terminal.
func isPty(fd int) bool {
	var st unix.Stat_t
	return unix.Fstat(fd, &st) == nil && unix.Major(uint64(st.Rdev)) == ptyMajor
}
