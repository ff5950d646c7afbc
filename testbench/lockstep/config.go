package lockstep

import (
	"errors"
	"fmt"

	"github.com/hilgpu/hilgpu/rtl/gpu"
)

// ErrConfig is wrapped by the error of an unknown configuration.
var ErrConfig = errors.New("lockstep: unknown configuration")

// Config returns the configuration of a name, as the board emu has them:
// gpu.Default, also by the name full, or gpu.Small. It fails with ErrConfig.
func Config(name string) (gpu.Config, error) {
	switch name {
	case "default", "full":
		return gpu.Default(), nil
	case "small":
		return gpu.Small(), nil
	}
	return gpu.Config{}, fmt.Errorf("%w: %q, want full, default or small", ErrConfig, name)
}
