package lockstep

import (
	"errors"
	"fmt"

	"github.com/hilgpu/hilgpu/rtl/gpu"
)

// ErrConfig is wrapped by the error of an unknown configuration.
var ErrConfig = errors.New("lockstep: unknown configuration")

// Config returns the configuration of a name, as the board emu has them:
// default, or small, one node with 8 KiB of VRAM, host addresses of 40 bits,
// lengths of 16 and 4 tags. It fails with ErrConfig.
func Config(name string) (gpu.Config, error) {
	c := gpu.Default()
	switch name {
	case "default":
		return c, nil
	case "small":
		c.Nodes, c.VRAMBytes, c.HostBits, c.LengthBits, c.Tags = 1, 8<<10, 40, 16, 4
		return c, nil
	}
	return c, fmt.Errorf("%w: %q, want default or small", ErrConfig, name)
}
