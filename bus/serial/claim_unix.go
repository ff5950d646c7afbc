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

// Why a port is busy, before the holders are looked up.
var (
	errLocked = errors.New("serial: locked")    // by a process using this package
	errHeld   = errors.New("serial: held")      // by a program that does not lock the port
	errMarked = errors.New("serial: exclusive") // TIOCEXCL
)

// claim opens a port to lock it; the descriptor holds the lock until it is
// closed. claim neither writes to the port nor changes it. Of several processes
// that claim a port at once, one gets it: the lock decides, and a process
// without the lock closes the port before it retries.
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

// tryClaim is one attempt of claim. It waits only for a holder without a lock.
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
		// A UART that the kernel lists but the machine lacks, or a terminal
		// without its master.
		return fmt.Errorf("%w: %s: the device has no hardware", ErrMissing, path)
	}
	return fmt.Errorf("serial: %s: %w", path, err)
}

// groupMay is the group's read and write permission.
const groupMay = 0o060

// forbidden says how to get permission to open the port: through its group,
// usually dialout, or as the owner if only root's group has permission.
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
	return fmt.Errorf("%w: %s: only %s may open it (mode %#o): run this as %s, or make the port accessible to one of your groups, for instance by a udev rule",
		ErrForbidden, path, owner, st.Mode&0o777, owner)
}
