package sim

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestModuleRoot(t *testing.T) {
	root, err := ModuleRoot(".")
	require.NoError(t, err)
	assert.FileExists(t, filepath.Join(root, "rtl", "gpu", "gpu.go"))
	again, err := ModuleRoot(filepath.Join(root, "rtl", "gpu"))
	require.NoError(t, err)
	assert.Equal(t, root, again)
	_, err = ModuleRoot(t.TempDir())
	assert.ErrorIs(t, err, ErrSource)
}
