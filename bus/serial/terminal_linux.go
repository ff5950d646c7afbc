package serial

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

const ioctlGetTermios = unix.TCGETS

// dropInput drops unread input.
func dropInput(fd int) error { return unix.IoctlSetInt(fd, unix.TCFLSH, unix.TCIFLUSH) }

// drain waits until all written bytes have been sent: tcdrain(3). Bugst has
// this as Drain, tarm does not have it.
func drain(fd int) error { return unix.IoctlSetInt(fd, unix.TCSBRK, 1) }

// input returns a file that reads a terminal.
func input(fd int, path string) *os.File { return os.NewFile(uintptr(fd), path) }

// SetReadDeadline sets the deadline of Read, also of one in progress, instead of a tenth
// of a second from its beginning. Read then fails with os.ErrDeadlineExceeded.
func (p *Port) SetReadDeadline(t time.Time) error {
	p.timed.Store(true)
	return p.in.SetReadDeadline(t)
}

// receive reads the port, or times out.
func (p *Port) receive(b []byte) (int, error) {
	if p.in == nil {
		return p.dev.Read(b)
	}
	if p.timed.Load() {
		return p.in.Read(b)
	}
	if err := p.in.SetReadDeadline(time.Now().Add(readTime)); err != nil {
		return 0, err
	}
	n, err := p.in.Read(b)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = nil
	}
	return n, err
}

// endOfFile returns an error if the terminal was hung up. Tarm reads with VMIN 0,
// where a time-out and a hang-up are both an end of file.
func (o *own) endOfFile() error {
	return uninterrupted(func() error {
		_, err := poll(o.fd, 0, 0)
		return err
	})
}

// writable waits until a terminal accepts bytes, and reports whether it does.
// It fails if the terminal was hung up.
func writable(fd int, wait time.Duration) (bool, error) { return poll(fd, unix.POLLOUT, wait) }

// poll waits until a terminal is ready for events, and reports whether it is. It
// fails if the terminal was hung up.
func poll(fd int, events int16, wait time.Duration) (bool, error) {
	fds := []unix.PollFd{{Fd: int32(fd), Events: events}}
	n, err := unix.Poll(fds, int(wait/time.Millisecond))
	switch {
	case errors.Is(err, unix.EINTR), err == nil && n == 0:
		return false, nil
	case err != nil:
		return false, err
	case fds[0].Revents&(unix.POLLHUP|unix.POLLERR|unix.POLLNVAL) != 0:
		return false, ErrUnplugged
	}
	return fds[0].Revents&events != 0, nil
}

// isPty reports whether a terminal is the slave of a pseudo-terminal (Linux,
// Documentation/admin-guide/devices.txt: majors 136 to 143).
func isPty(fd int) bool {
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil {
		return false
	}
	major := unix.Major(st.Rdev)
	return major >= 136 && major <= 143
}
