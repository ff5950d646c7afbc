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

// claim opens a port for its lock, which the descriptor holds until it is
// closed. Nothing is written to the port or changed.
func claim(path string) (fd int, err error) {
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
	if err := claimOpen(fd, path); err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

func claimOpen(fd int, path string) error {
	if _, err := unix.IoctlGetTermios(fd, unix.TCGETS); err != nil {
		if errors.Is(err, unix.ENOTTY) {
			return fmt.Errorf("%w: %s: give the path of a serial device", ErrNotPort, path)
		}
		return claimError(path, err)
	}
	if err := unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB); err != nil {
		if errors.Is(err, unix.EWOULDBLOCK) {
			return busy(path, holders(procRoot, path))
		}
		return fmt.Errorf("serial: %s: lock: %w", path, err)
	}
	others := slices.DeleteFunc(holders(procRoot, path), func(h Holder) bool { return h.PID == os.Getpid() })
	if len(others) > 0 {
		return busy(path, others)
	}
	return nil
}

func claimError(path string, err error) error {
	switch {
	case errors.Is(err, unix.EBUSY):
		return busy(path, holders(procRoot, path))
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

// busy names the holders. Those of other users are not readable.
func busy(path string, by []Holder) error {
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

// forbidden names the group that may open the port, as a rule dialout.
func forbidden(path string) error {
	group := "dialout"
	var st unix.Stat_t
	if unix.Stat(path, &st) == nil && st.Gid != 0 {
		group = strconv.Itoa(int(st.Gid))
		if g, err := user.LookupGroupId(group); err == nil {
			group = g.Name
		}
	}
	return fmt.Errorf("%w: %s: add your user to group %s and log in again", ErrForbidden, path, group)
}

// holders returns the processes that have a device open, as far as their
// descriptors may be read, by process id.
func holders(proc, path string) []Holder {
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil
	}
	links, err := filepath.Glob(filepath.Join(proc, "[0-9]*", "fd", "*"))
	if err != nil {
		return nil
	}
	found := map[int]bool{}
	var all []Holder
	for _, link := range links {
		if target, err := os.Readlink(link); err != nil || target != path {
			continue
		}
		dir := filepath.Dir(filepath.Dir(link))
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err != nil || found[pid] {
			continue
		}
		found[pid] = true
		name, err := os.ReadFile(filepath.Join(dir, "comm"))
		if err != nil {
			name = []byte("?")
		}
		all = append(all, Holder{pid, strings.TrimSpace(string(name))})
	}
	slices.SortFunc(all, func(a, b Holder) int { return cmp.Compare(a.PID, b.PID) })
	return all
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
