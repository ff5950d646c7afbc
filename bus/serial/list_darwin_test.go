package serial

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestListCallOut(t *testing.T) {
	dev := t.TempDir()
	for _, name := range []string{"cu.usbserial-FT9XXXXX", "tty.usbserial-FT9XXXXX", "ttys001", "null"} {
		require.NoError(t, os.WriteFile(filepath.Join(dev, name), nil, 0o600))
	}
	got, err := list(dev)
	require.NoError(t, err)
	assert.Equal(t, []PortInfo{{Path: filepath.Join(dev, "cu.usbserial-FT9XXXXX"), Interface: -1}}, got)
	path, err := find("cu.usbserial-FT9XXXXX", func() ([]PortInfo, error) { return list(dev) })
	require.NoError(t, err)
	assert.Equal(t, got[0].Path, path)
	_, err = find("FT9XXXXX", func() ([]PortInfo, error) { return list(dev) })
	assert.ErrorIs(t, err, ErrMissing)
	assert.ErrorContains(t, err, got[0].Path)
}
