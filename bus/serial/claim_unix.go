//go:build linux || darwin

package serial

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// Why a port is busy, until somebody asks for the holders.
var (
	errLocked = errors.New("serial: locked")    // through this package
	errHeld   = errors.New("serial: held")      // by a program that does not lock
	errMarked = errors.New("serial: exclusive") // TIOCEXCL
)

// claim opens a port for its lock, which the descriptor holds until it is
// closed. Nothing is written to the port or changed. Of several that claim a port
// at once one has it in the end: the lock decides, and one that has not got the
// lock closes the port before it tries again.
func claim(path string) (fd int, err error) {
	for until := time.Now().Add(busyFor); ; time.Sleep(tryEvery) {
		fd, err = tryClaim(path, until)
		switch {
		case errors.Is(err, errHeld):
		case !errors.Is(err, errLocked) && !errors.Is(err, errMarked):
			return fd, err
		case time.Now().Before(until):
			continue
		}
		return -1, busyPort(path)
	}
}

// tryClaim is claim that does not wait, but for a holder that does not lock.
func tryClaim(path string, until time.Time) (fd int, err error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return -1, missing(path)
	case errors.Is(err, os.ErrPermission):
		return -1, forbidden(path)
	case err != nil:
		return -1, fmt.Errorf("serial: %w", err)
	case info.Mode()&os.ModeCharDevice == 0:
		return -1, fmt.Errorf("%w: %s: give the path of a serial device", ErrNotPort, path)
	}
	fd, err = unix.Open(path, unix.O_RDWR|unix.O_NOCTTY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, claimError(path, err)
	}
	if err := claimOpen(fd, path, until); err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

func claimOpen(fd int, path string, until time.Time) error {
	if _, err := unix.IoctlGetTermios(fd, ioctlGetTermios); err != nil {
		if errors.Is(err, unix.ENOTTY) {
			return fmt.Errorf("%w: %s: give the path of a serial device", ErrNotPort, path)
		}
		return claimError(path, err)
	}
	if err := unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB); err != nil {
		if errors.Is(err, unix.EWOULDBLOCK) {
			return errLocked
		}
		return fmt.Errorf("serial: %s: lock: %w", path, err)
	}
	if heldUntil(path, until) {
		return errHeld
	}
	return nil
}

func claimError(path string, err error) error {
	switch {
	case errors.Is(err, unix.EBUSY):
		return errMarked
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		return forbidden(path)
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENXIO), errors.Is(err, unix.ENODEV):
		return missing(path)
	case errors.Is(err, unix.EIO):
		// A UART that the kernel lists and the machine lacks, or a terminal
		// without its other side.
		return fmt.Errorf("%w: %s: there is no hardware behind it", ErrMissing, path)
	}
	return fmt.Errorf("serial: %s: %w", path, err)
}

// groupMay is read and write, of the group.
const groupMay = 0o060

// forbidden says what gives the right to open the port: the group that has it, as
// a rule dialout, or the owner if no group but root's has.
func forbidden(path string) error {
	var st unix.Stat_t
	if unix.Stat(path, &st) != nil {
		return fmt.Errorf("%w: %s: add your user to group dialout and log in again", ErrForbidden, path)
	}
	if st.Mode&groupMay == groupMay && st.Gid != 0 {
		group := strconv.Itoa(int(st.Gid))
		if g, err := user.LookupGroupId(group); err == nil {
			group = g.Name
		}
		return fmt.Errorf("%w: %s: add your user to group %s and log in again", ErrForbidden, path, group)
	}
	owner := strconv.Itoa(int(st.Uid))
	if u, err := user.LookupId(owner); err == nil {
		owner = u.Username
	}
	return fmt.Errorf("%w: %s: only %s may open it (mode %#o): run this as %s, or give the port to a group of yours, as with a udev rule",
		ErrForbidden, path, owner, st.Mode&0o777, owner)
}
