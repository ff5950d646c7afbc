package serial

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const procRoot = "/proc"

const lookEvery = 20 * time.Millisecond // how often to check the holders

// heldUntil reports whether another process has a port open continuously until
// a time. Processes that only try to get the lock have it open for a moment.
func heldUntil(path string, until time.Time) bool {
	all := others(holders(procRoot, path))
	for len(all) > 0 && time.Now().Before(until) {
		time.Sleep(lookEvery)
		still := holders(procRoot, path)
		all = slices.DeleteFunc(all, func(h Holder) bool { return !slices.Contains(still, h) })
	}
	return len(all) > 0
}

// others returns the holders other than this process.
func others(all []Holder) []Holder {
	return slices.DeleteFunc(slices.Clone(all), func(h Holder) bool { return h.PID == os.Getpid() })
}

// busyPort returns the error for a busy port on this machine.
func busyPort(path string) error { return busy(procRoot, path) }

// busy names the owner of the lock, or else all other holders of the port whose
// descriptors can be read.
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
	return fmt.Errorf("%w: %s is held by %s: end it, or use another port", ErrBusy, path, who)
}

// lockOwner returns the process that holds the flock of a device, or 0 if it is
// unknown (proc(5), /proc/locks).
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
		// 1: FLOCK ADVISORY WRITE 1234 00:18:5 0 EOF; a waiting process has
		// "->" as the second field.
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

// holders returns the processes that have a device open and whose descriptors
// can be read, by process id.
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

// holds reports whether one of a process's descriptors refers to a file.
func holds(fds, path string) bool {
	return slices.ContainsFunc(entries(fds), func(fd string) bool {
		target, err := os.Readlink(fds + "/" + fd)
		return err == nil && target == path
	})
}

// entries returns the names in a directory, or none if the directory is gone or
// unreadable.
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
