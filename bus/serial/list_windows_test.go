package serial

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestIsPath(t *testing.T) {
	for name, want := range map[string]bool{
		"COM3": true, "com12": true, `\\.\CNCA0`: true, "COM": false, "COM3x": false, "FT9XXXXX": false,
	} {
		assert.Equal(t, want, isPath(name), name)
	}
}
