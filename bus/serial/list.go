package serial

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A PortInfo describes a serial port. What the adapter does not say is empty.
type PortInfo struct {
	Path         string   // of the device
	Serial       string   // USB serial number
	Vendor       string   // USB vendor id, four hexadecimal digits
	Product      string   // USB product id, the same
	Manufacturer string   // as the adapter spells it
	Name         string   // of the product, the same
	Interface    int      // USB interface number; -1 if the port is not on USB
	Alias        string   // path of the link that keeps its name, in /dev/serial/by-id
	Holders      []Holder // who has it open
}

// String returns what Find takes for the port: "SERIAL/ifNN" if it has a USB
// serial number, its path if not.
func (p PortInfo) String() string {
	if p.Serial == "" {
		return p.Path
	}
	return fmt.Sprintf("%s/if%02d", p.Serial, p.Interface)
}

// List returns the serial ports of the machine, by path. Ports that the
// kernel has names for and the machine has not are left out.
func List() ([]PortInfo, error) { return list(roots{"/sys", "/dev", procRoot}) }

// roots are the directories that list reads.
type roots struct{ sys, dev, proc string }

func list(r roots) ([]PortInfo, error) {
	entries, err := os.ReadDir(filepath.Join(r.sys, "class/tty"))
	if err != nil {
		return nil, fmt.Errorf("serial: list the ports: %w", err)
	}
	aliases := r.aliases()
	var ports []PortInfo
	for _, e := range entries {
		p, ok := r.describe(e.Name())
		if !ok {
			continue
		}
		p.Alias = aliases[p.Path]
		p.Holders = holders(r.proc, p.Path)
		ports = append(ports, p)
	}
	slices.SortFunc(ports, func(a, b PortInfo) int { return cmp.Compare(a.Path, b.Path) })
	return ports, nil
}

// describe reads what sysfs says of a terminal; ok is false if it is no serial
// port. A terminal of hardware has a link to its device. One of the serial core
// has a type, which is 0 if no UART was found (Linux,
// Documentation/ABI/testing/sysfs-tty).
func (r roots) describe(name string) (p PortInfo, ok bool) {
	dir := filepath.Join(r.sys, "class/tty", name)
	device, err := filepath.EvalSymlinks(filepath.Join(dir, "device"))
	if err != nil || line(dir, "type") == "0" {
		return p, false
	}
	p = PortInfo{Path: filepath.Join(r.dev, name), Interface: -1}
	if _, err := os.Stat(p.Path); err != nil {
		return p, false
	}
	p.readUSB(r.sys, device)
	return p, true
}

// readUSB looks in a device and those above it for the USB interface and the
// USB device that it belongs to (Linux, Documentation/ABI/stable/sysfs-bus-usb).
func (p *PortInfo) readUSB(sys, device string) {
	top, err := filepath.EvalSymlinks(sys)
	if err != nil {
		return
	}
	number := -1
	for dir := device; strings.HasPrefix(dir, top+"/"); dir = filepath.Dir(dir) {
		if n, err := strconv.ParseInt(line(dir, "bInterfaceNumber"), 16, 32); err == nil && number < 0 {
			number = int(n)
		}
		if vendor := line(dir, "idVendor"); vendor != "" {
			p.Vendor, p.Product = vendor, line(dir, "idProduct")
			p.Serial, p.Interface = line(dir, "serial"), number
			p.Manufacturer, p.Name = line(dir, "manufacturer"), line(dir, "product")
			return
		}
	}
}

// aliases returns the stable names of ports by path.
func (r roots) aliases() map[string]string {
	all := map[string]string{}
	links, err := filepath.Glob(filepath.Join(r.dev, "serial/by-id/*"))
	if err != nil {
		return all
	}
	for _, link := range links {
		if target, err := os.Readlink(link); err == nil {
			all[filepath.Join(r.dev, filepath.Base(target))] = link
		}
	}
	return all
}

// line returns what a file of one line holds; nothing if there is none.
func line(dir, name string) string {
	b, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// Find returns the path of the port that name names: a path, which is returned
// as it is; the last part of one, such as ttyUSB0; a USB serial number, with
// "/ifNN" behind it if the adapter has several ports; or a file that is there.
// It fails with
// ErrMissing or ErrAmbiguous and the names of what there is.
func Find(name string) (string, error) { return find(roots{"/sys", "/dev", procRoot}, name) }

var withInterface = regexp.MustCompile(`^(.+)/if([0-9]+)$`)

func find(r roots, name string) (string, error) {
	if strings.HasPrefix(name, "/") || strings.HasPrefix(name, "./") || strings.HasPrefix(name, "../") {
		return name, nil
	}
	ports, err := list(r)
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
		if p.Serial != "" && p.Serial == number && (wanted < 0 || wanted == p.Interface) || filepath.Base(p.Path) == name {
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
