package serial

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// A Holder is a process that has a port open.
type Holder struct {
	PID  int
	Name string // program name
}

// String returns "pid 1234 (name)".
func (h Holder) String() string { return fmt.Sprintf("pid %d (%s)", h.PID, h.Name) }

// A PortInfo describes a serial port. Unknown fields are empty.
type PortInfo struct {
	Path         string   // device path
	Serial       string   // USB serial number
	Vendor       string   // USB vendor id, four hexadecimal digits
	Product      string   // USB product id, four hexadecimal digits
	Manufacturer string   // from the USB descriptor
	Name         string   // product name from the USB descriptor
	Interface    int      // USB interface number; -1 if unknown or not on USB
	Alias        string   // path of its stable link in /dev/serial/by-id
	Holders      []Holder // who has it open, where HoldersKnown
}

// String returns a name of the port that Find accepts: "SERIAL/ifNN" if it has
// a USB serial number, without "/ifNN" if the system does not report the
// interface, or else its path.
func (p PortInfo) String() string {
	switch {
	case p.Serial == "":
		return p.Path
	case p.Interface < 0:
		return p.Serial
	}
	return fmt.Sprintf("%s/if%02d", p.Serial, p.Interface)
}

// HoldersKnown reports whether a system, named as in GOOS, reports who has a
// port open.
func HoldersKnown(goos string) bool { return goos == "linux" }

// Find returns the path of the named port. A name is a path, which is returned
// unchanged; the last element of a path, such as ttyUSB0; a USB serial number,
// followed by "/ifNN" if the adapter has several ports; or an existing file. On
// Windows COM3 is a path. Find fails with ErrMissing or ErrAmbiguous and lists
// the available ports.
func Find(name string) (string, error) { return find(name, List) }

var withInterface = regexp.MustCompile(`^(.+)/if([0-9]+)$`)

func find(name string, list func() ([]PortInfo, error)) (string, error) {
	if isPath(name) {
		return name, nil
	}
	ports, err := list()
	if err != nil {
		return "", err
	}
	number, wanted := name, -1
	if m := withInterface.FindStringSubmatch(name); m != nil {
		number = m[1]
		if wanted, err = strconv.Atoi(m[2]); err != nil {
			return "", fmt.Errorf("%w: interface %s", ErrOption, m[2])
		}
	}
	var hits []PortInfo
	for _, p := range ports {
		if p.Serial != "" && p.Serial == number && (wanted < 0 || wanted == p.Interface) || sameName(filepath.Base(p.Path), name) {
			hits = append(hits, p)
		}
	}
	switch len(hits) {
	case 1:
		return hits[0].Path, nil
	case 0:
		if _, err := os.Stat(name); err == nil {
			return name, nil // a relative path
		}
		return "", fmt.Errorf("%w: %s: found %s", ErrMissing, name, names(ports))
	}
	return "", fmt.Errorf("%w: %s: use one of %s", ErrAmbiguous, name, names(hits))
}

func names(ports []PortInfo) string {
	if len(ports) == 0 {
		return "none"
	}
	var all []string
	for _, p := range ports {
		s := p.Path
		if p.Serial != "" {
			s = fmt.Sprintf("%s (%s)", p, p.Path)
		}
		all = append(all, s)
	}
	return strings.Join(all, ", ")
}

// missing returns the error for a port that does not exist.
func missing(path string) error {
	return fmt.Errorf("%w: %s: plug the board in, or list the available ports", ErrMissing, path)
}
