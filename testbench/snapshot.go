package testbench

import (
	"fmt"

	"github.com/hilgpu/hilgpu/boards/regs"
)

// Snapshot reads the registers of the GPU that may be read without an effect, as `hilgpu reg snap` does,
// beside the drivers. The snapshot names the selector. It fails with an error of package regs or of the link, and after Close.
func (s *System) Snapshot(selector string) (*regs.Snapshot, error) {
	f, err := regs.Open(s.link, regs.Options{})
	if err != nil {
		return nil, fmt.Errorf("testbench: registers: %w", err)
	}
	taken, err := f.Take(selector)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return nil, fmt.Errorf("testbench: registers: %w", err)
	}
	return taken, nil
}
