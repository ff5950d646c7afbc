package serial

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const procRoot = "/proc"

// A Holder is a process that has a port open.
type Holder struct {
	PID  int
	Name string // of its program
}

// String returns "pid 1234 (name)".
func (h Holder) String() string { return fmt.Sprintf("pid %d (%s)", h.PID, h.Name) }

// A port that is busy may be so only for a moment: another opener looks at it,
// or is about to close it.
const (
	busyFor   = 500 * time.Millisecond // how long claim waits for the port
	tryEvery  = 5 * time.Millisecond
	lookEvery = 20 * time.Millisecond // who has it open, which takes longer
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
		return -1, busy(procRoot, path)
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
	if _, err := unix.IoctlGetTermios(fd, unix.TCGETS); err != nil {
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

// heldUntil reports whether one and the same other process has a port open until a
// time. Those that only try for the lock have it open for a moment.
func heldUntil(path string, until time.Time) bool {
	all := others(holders(procRoot, path))
	for len(all) > 0 && time.Now().Before(until) {
		time.Sleep(lookEvery)
		still := holders(procRoot, path)
		all = slices.DeleteFunc(all, func(h Holder) bool { return !slices.Contains(still, h) })
	}
	return len(all) > 0
}

// others returns the holders but this process.
func others(all []Holder) []Holder {
	return slices.DeleteFunc(slices.Clone(all), func(h Holder) bool { return h.PID == os.Getpid() })
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

func missing(path string) error {
	return fmt.Errorf("%w: %s: plug the board in, or list the ports that there are", ErrMissing, path)
}

// busy names who has the lock, or else all others that have the port open, as far
// as their descriptors may be read.
func busy(proc, path string) error {
	by := others(holders(proc, path))
	if owner := lockOwner(proc, path); owner != 0 && (owner != os.Getpid() || len(by) == 0) {
		by = []Holder{{owner, program(proc, owner)}}
	}
	who := "a process of another user"
	if len(by) > 0 {
		var names []string
		for _, h := range by {
			names = append(names, h.String())
		}
		who = strings.Join(names, ", ")
	}
	return fmt.Errorf("%w: %s is held by %s: end it, or take another port", ErrBusy, path, who)
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

// lockOwner returns the process that has the flock of a device, or 0 if that is
// not known (proc(5), /proc/locks).
func lockOwner(proc, path string) int {
	var st unix.Stat_t
	if unix.Stat(path, &st) != nil {
		return 0
	}
	file := fmt.Sprintf("%02x:%02x:%d", unix.Major(st.Dev), unix.Minor(st.Dev), st.Ino)
	locks, err := os.ReadFile(filepath.Join(proc, "locks"))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(locks)) {
		// 1: FLOCK ADVISORY WRITE 1234 00:18:5 0 EOF; one that waits has "->"
		// for a second field.
		f := strings.Fields(line)
		if len(f) < 6 || f[1] != "FLOCK" || f[5] != file {
			continue
		}
		pid, err := strconv.Atoi(f[4])
		if err == nil && pid > 0 {
			return pid
		}
	}
	return 0
}

// holders returns the processes that have a device open, as far as their
// descriptors may be read, by process id.
func holders(proc, path string) []Holder {
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil
	}
	var all []Holder
	for _, name := range entries(proc) {
		pid, err := strconv.Atoi(name)
		if err == nil && holds(filepath.Join(proc, name, "fd"), path) {
			all = append(all, Holder{pid, program(proc, pid)})
		}
	}
	slices.SortFunc(all, func(a, b Holder) int { return cmp.Compare(a.PID, b.PID) })
	return all
}

// holds reports whether one of a process's descriptors is of a file.
func holds(fds, path string) bool {
	return slices.ContainsFunc(entries(fds), func(fd string) bool {
		target, err := os.Readlink(fds + "/" + fd)
		return err == nil && target == path
	})
}

// entries returns the names in a directory, or none of one that is gone or closed
// to us.
func entries(dir string) []string {
	d, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	if err != nil {
		return nil
	}
	return names
}

// program returns the name of a process's program.
func program(proc string, pid int) string {
	name, err := os.ReadFile(filepath.Join(proc, strconv.Itoa(pid), "comm"))
	if err != nil {
		return "?"
	}
	return strings.TrimSpace(string(name))
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
