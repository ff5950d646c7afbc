package lockstep

import (
	"errors"
	"fmt"

	"github.com/hilgpu/hilgpu/boards"
	"github.com/hilgpu/hilgpu/rtl/gpu"
)

// ErrConfig is wrapped by the error of an unknown configuration.
var ErrConfig = errors.New("lockstep: unknown configuration")

// Config returns a configuration as the board emu has it: full, default or
// small, and behind a question mark what differs from it, as in
// small?vramports=1. It fails with ErrConfig.
func Config(name string) (gpu.Config, error) {
	c, err := boards.Config(name)
	if err != nil {
		return gpu.Config{}, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	return c, nil
}
