package serial

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// A Pty is the board's side of a pseudo-terminal. Hosts open the other side as
// a serial port, one after another; in between the line is silent.
type Pty struct {
	file  *os.File
	slave string
	link  string
	once  sync.Once
	done  chan struct{}
	timed atomic.Bool // the user sets the deadlines of Read
}

// ListenPty creates a pseudo-terminal in raw mode. If path is not empty, it
// becomes a symbolic link to the host's side until Close. ListenPty fails if
// path exists, but replaces a dangling link.
func ListenPty(path string) (*Pty, error) {
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("serial: pseudo-terminal: %w", err)
	}
	p := &Pty{file: os.NewFile(uintptr(fd), "/dev/ptmx"), done: make(chan struct{})}
	if err := p.prepare(fd); err != nil {
		p.file.Close()
		return nil, err
	}
	if path == "" {
		return p, nil
	}
	if err := linkTo(path, p.slave); err != nil {
		p.file.Close()
		return nil, err
	}
	p.link = path
	return p, nil
}

// prepare unlocks the slave and puts it in raw mode.
func (p *Pty) prepare(fd int) error {
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		return fmt.Errorf("serial: unlock the pseudo-terminal: %w", err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		return fmt.Errorf("serial: number of the pseudo-terminal: %w", err)
	}
	p.slave = fmt.Sprintf("/dev/pts/%d", n)
	// The master shares its settings with the slave (Linux, tty_ioctl(4)).
	t, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	if err != nil {
		return fmt.Errorf("serial: settings of the pseudo-terminal: %w", err)
	}
	t.Iflag, t.Oflag, t.Lflag = 0, 0, 0
	t.Cflag = t.Cflag&^(unix.CSIZE|unix.PARENB) | unix.CS8 | unix.CREAD | unix.CLOCAL
	t.Cc[unix.VMIN], t.Cc[unix.VTIME] = 1, 0
	if err := unix.IoctlSetTermios(fd, unix.TCSETS, t); err != nil {
		return fmt.Errorf("serial: raw mode of the pseudo-terminal: %w", err)
	}
	// The terminal reports that the slave is not open only after it has been
	// opened and closed once.
	slave, err := unix.Open(p.slave, unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("serial: open %s: %w", p.slave, err)
	}
	return unix.Close(slave)
}

// linkTo makes path a symbolic link to target.
func linkTo(path, target string) error {
	old, err := os.Readlink(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return os.Symlink(target, path)
	case err != nil:
		return fmt.Errorf("serial: %s exists and is not a link: choose another path", path)
	}
	if _, err := os.Stat(path); err == nil && old != target {
		return fmt.Errorf("serial: %s is in use, a link to %s: choose another path", path, old)
	}
	next := filepath.Join(filepath.Dir(path), fmt.Sprintf(".%s.%d", filepath.Base(path), os.Getpid()))
	if err := os.Symlink(target, next); err != nil {
		return fmt.Errorf("serial: %w", err)
	}
	if err := os.Rename(next, path); err != nil {
		os.Remove(next)
		return fmt.Errorf("serial: %w", err)
	}
	return nil
}

// Path returns the path of the host's side, or of the link if there is one.
func (p *Pty) Path() string {
	if p.link != "" {
		return p.link
	}
	return p.slave
}

// idle is how often a pseudo-terminal without a host checks for one.
const idle = 20 * time.Millisecond

// Read returns received bytes, or 0 and no error after a tenth of a second
// without any, or fails with os.ErrDeadlineExceeded at the deadline if there is one.
// It fails with os.ErrClosed after Close.
func (p *Pty) Read(b []byte) (int, error) {
	timed := p.timed.Load()
	if !timed {
		if err := p.file.SetReadDeadline(time.Now().Add(readTime)); err != nil {
			return 0, p.closed(err)
		}
	}
	n, err := p.file.Read(b)
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		if !timed {
			err = nil
		}
		return n, err
	case !errors.Is(err, unix.EIO):
		return n, p.closed(err)
	}
	t := time.NewTimer(idle)
	defer t.Stop()
	select {
	case <-t.C:
		return n, nil
	case <-p.done:
		return n, os.ErrClosed
	}
}

// closed returns os.ErrClosed after Close instead of err, which may differ
// while the file is being closed.
func (p *Pty) closed(err error) error {
	select {
	case <-p.done:
		if err != nil {
			err = os.ErrClosed
		}
	default:
	}
	return err
}

// SetReadDeadline sets the deadline of Read, also of one in progress. The zero time
// means no deadline: Read waits a tenth of a second.
func (p *Pty) SetReadDeadline(t time.Time) error {
	p.timed.Store(!t.IsZero())
	if t.IsZero() {
		return nil
	}
	return p.file.SetReadDeadline(t)
}

// ReadTimeout returns how long a Read waits.
func (p *Pty) ReadTimeout() time.Duration { return readTime }

// Write writes b. The bytes are lost while the slave is not open, as on a line
// without a listener.
func (p *Pty) Write(b []byte) (int, error) {
	raw, err := p.file.SyscallConn()
	if err != nil {
		return 0, err
	}
	n := 0
	var failed error
	err = raw.Write(func(fd uintptr) bool {
		var done bool
		done, failed = writeTerminal(int(fd), b, &n)
		return done
	})
	if closed := p.closed(err); errors.Is(closed, os.ErrClosed) {
		return n, os.ErrClosed
	}
	return n, errors.Join(err, failed)
}

// writeTerminal writes the rest of b after the first n bytes, as far as
// possible, and reports whether it is done. A terminal without a host polls as
// writable but accepts nothing; waiting for it would spin.
func writeTerminal(fd int, b []byte, n *int) (done bool, err error) {
	for *n < len(b) {
		fds := []unix.PollFd{{Fd: int32(fd)}}
		if _, err := unix.Poll(fds, 0); err == nil && fds[0].Revents&unix.POLLHUP != 0 {
			*n = len(b)
			return true, nil
		}
		m, err := unix.Write(fd, b[*n:])
		switch {
		case errors.Is(err, unix.EAGAIN):
			return false, nil
		case errors.Is(err, unix.EIO):
			*n = len(b)
			return true, nil
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return true, err
		default:
			*n += m
		}
	}
	return true, nil
}

// SetWriteDeadline bounds Write, like that of os.File.
func (p *Pty) SetWriteDeadline(t time.Time) error { return p.file.SetWriteDeadline(t) }

// Rate returns the rate in bits per second that the host has set for its side. Bytes pass at
// any rate.
func (p *Pty) Rate() (int, error) {
	raw, err := p.file.SyscallConn()
	if err != nil {
		return 0, p.closed(err)
	}
	var t *unix.Termios
	var failed error
	err = raw.Control(func(fd uintptr) { t, failed = unix.IoctlGetTermios(int(fd), unix.TCGETS2) })
	if err := errors.Join(err, failed); err != nil {
		return 0, p.closed(err)
	}
	return int(t.Ospeed), nil
}

// SetBaud does nothing: bytes pass at any rate.
func (p *Pty) SetBaud(int) error { return nil }

// Close closes the pseudo-terminal, which a host sees as unplugged, and removes
// the link if it is still ours. Close is idempotent.
func (p *Pty) Close() error {
	var err error
	p.once.Do(func() {
		close(p.done)
		if target, e := os.Readlink(p.link); p.link != "" && e == nil && target == p.slave {
			err = os.Remove(p.link)
		}
		err = errors.Join(err, p.file.Close())
	})
	return err
}
