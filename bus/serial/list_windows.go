package serial

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.bug.st/serial/enumerator"
)

// List returns the serial ports of the machine, by path. Windows reports
// neither the interface of a port nor who has it open.
func List() ([]PortInfo, error) {
	details, err := enumerator.GetDetailedPortsList()
	if err != nil {
		return nil, fmt.Errorf("serial: list the ports: %w", err)
	}
	ports := make([]PortInfo, 0, len(details))
	for _, d := range details {
		ports = append(ports, PortInfo{
			Path: d.Name, Serial: d.SerialNumber, Vendor: strings.ToLower(d.VID), Product: strings.ToLower(d.PID),
			Manufacturer: d.Manufacturer, Name: d.Product, Interface: -1,
		})
	}
	slices.SortFunc(ports, func(a, b PortInfo) int { return cmp.Compare(a.Path, b.Path) })
	return ports, nil
}

var comPort = regexp.MustCompile(`^(?i:COM)[0-9]+$`)

// isPath reports whether a name is a path rather than a name to look up. An
// emulated port may have a path without being listed.
func isPath(name string) bool {
	return strings.HasPrefix(name, `\\.\`) || comPort.MatchString(name)
}

// sameName reports whether two device names are the same.
func sameName(a, b string) bool { return strings.EqualFold(a, b) }
