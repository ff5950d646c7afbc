package sim

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// ErrSource is wrapped by the error for a directory outside the source tree of
// the module.
var ErrSource = errors.New("sim: no source")

// ModuleRoot returns the root of the source tree that contains dir. The
// translator reads that source. It fails with ErrSource.
func ModuleRoot(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrSource, err)
	}
	for at := abs; ; at = filepath.Dir(at) {
		text, err := os.ReadFile(filepath.Join(at, "go.mod"))
		if err == nil && strings.HasPrefix(string(text), "module github.com/hilgpu/hilgpu\n") {
			return at, nil
		}
		if at == filepath.Dir(at) {
			return "", fmt.Errorf("%w: %s is not in the source tree of github.com/hilgpu/hilgpu", ErrSource, dir)
		}
	}
}
