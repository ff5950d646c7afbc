// Package overlay writes changed sources for the go command, which reads them instead of
// the files of the checkout: the option -overlay of go build and go test.
package overlay

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// Write writes an overlay to the folder dir, which must exist, and returns the name of
// its file. The key of sources is the name of a file, and the value its content. A name
// that is not absolute is one in the current folder.
//
// Source: the command go, "Compile packages and dependencies", -overlay.
func Write(dir string, sources map[string][]byte) (string, error) {
	replace := map[string]string{}
	for name, src := range sources {
		full, err := filepath.Abs(name)
		if err != nil {
			return "", fmt.Errorf("overlay: %w", err)
		}
		// The go command takes the package and the constraints from the name in the
		// checkout, so this name needs no more than to be another one.
		replace[full] = filepath.Join(dir, fmt.Sprintf("%d_%s", len(replace), filepath.Base(name)))
		if err := os.WriteFile(replace[full], src, 0o644); err != nil {
			return "", fmt.Errorf("overlay: %w", err)
		}
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", fmt.Errorf("overlay: %w", err)
	}
	file := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(file, text, 0o644); err != nil {
		return "", fmt.Errorf("overlay: %w", err)
	}
	return file, nil
}
