package serial

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// List returns the serial ports of the machine, by path: the call-out devices,
// which do not wait for a carrier. Without cgo macOS reports only their names;
// many end in the serial number of the adapter.
func List() ([]PortInfo, error) { return list("/dev") }

func list(dev string) ([]PortInfo, error) {
	entries, err := os.ReadDir(dev)
	if err != nil {
		return nil, fmt.Errorf("serial: list the ports: %w", err)
	}
	var ports []PortInfo
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "cu.") {
			ports = append(ports, PortInfo{Path: filepath.Join(dev, e.Name()), Interface: -1})
		}
	}
	return ports, nil
}
