package serial

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// List returns the serial ports of the machine, by path. Ports that the kernel
// names but the machine lacks are omitted.
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

// describe reads the sysfs entry of a terminal; ok is false if it is not a
// serial port. A hardware terminal has a link to its device. A terminal of the
// serial core has a type, which is 0 if no UART was found (Linux,
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

// readUSB finds the USB interface and the USB device among a device and its
// ancestors (Linux, Documentation/ABI/stable/sysfs-bus-usb).
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

// line returns the contents of a one-line file, or "" if it does not exist.
func line(dir, name string) string {
	b, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}
