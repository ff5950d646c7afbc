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
	Name string // of its program
}

// String returns "pid 1234 (name)".
func (h Holder) String() string { return fmt.Sprintf("pid %d (%s)", h.PID, h.Name) }

// A PortInfo describes a serial port. What the adapter does not say is empty.
type PortInfo struct {
	Path         string   // of the device
	Serial       string   // USB serial number
	Vendor       string   // USB vendor id, four hexadecimal digits
	Product      string   // USB product id, the same
	Manufacturer string   // as the adapter spells it
	Name         string   // of the product, the same
	Interface    int      // USB interface number; -1 if the port is not on USB, or not known
	Alias        string   // path of the link that keeps its name, in /dev/serial/by-id
	Holders      []Holder // who has it open, where HoldersKnown
}

// String returns what Find takes for the port: "SERIAL/ifNN" if it has a USB
// serial number, without "/ifNN" if the system does not tell the interface, and its
// path if it has none.
func (p PortInfo) String() string {
	switch {
	case p.Serial == "":
		return p.Path
	case p.Interface < 0:
		return p.Serial
	}
	return fmt.Sprintf("%s/if%02d", p.Serial, p.Interface)
}

// HoldersKnown reports whether a system, as GOOS has it, tells who has a port open.
func HoldersKnown(goos string) bool { return goos == "linux" }

// Find returns the path of the port that name names: a path, which is returned
// as it is; the last part of one, such as ttyUSB0; a USB serial number, with
// "/ifNN" after it if the adapter has several ports; or a file that is there. On
// Windows COM3 is a path. It fails with ErrMissing or ErrAmbiguous and the names of
// what there is.
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
			return name, nil // a path that is relative
		}
		return "", fmt.Errorf("%w: %s: there is %s", ErrMissing, name, names(ports))
	}
	return "", fmt.Errorf("%w: %s: take one of %s", ErrAmbiguous, name, names(hits))
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

// missing says that there is no port.
func missing(path string) error {
	return fmt.Errorf("%w: %s: plug the board in, or list the ports that there are", ErrMissing, path)
}
