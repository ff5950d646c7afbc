package snap_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/boards"
	"github.com/hilgpu/hilgpu/boards/regs"
	"github.com/hilgpu/hilgpu/boards/snap"
	"github.com/hilgpu/hilgpu/bus"
)

const text = `{"format":"hilgpu-registers-1","board":"x","identity":{"map_hash":"0"},
"config":[{"offset":"0x0","value":"0x48471234"}],
"registers":[{"name":"id.magic","offset":"0x0","value":"0x47504c48"},{"name":"id.version","offset":"0x4","value":"0x10000"}]}`

func TestLink(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.json")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	link, clock, err := snap.Open(file)
	require.NoError(t, err)
	v, err := link.ReadConfig(0)
	require.NoError(t, err)
	assert.EqualValues(t, 0x48471234, v)
	p := make([]byte, 8)
	require.NoError(t, link.Read(0, 0, p))
	assert.Equal(t, []byte{0x48, 0x4c, 0x50, 0x47, 0, 0, 1, 0}, p)

	_, missing := link.ReadConfig(4)
	for name, err := range map[string]error{
		"missing configuration":    missing,
		"a missing register":       link.Read(0, 8, p[:4]),
		"a partly missing range":   link.Read(0, 4, p),
		"another BAR":              link.Read(2, 0, p[:4]),
		"a write":                  link.Write(0, 0, p[:4]),
		"a write of configuration": link.WriteConfig(4, 0),
	} {
		assert.ErrorIs(t, err, bus.ErrUnsupported, name)
		assert.ErrorContains(t, err, file, name)
	}
	assert.ErrorIs(t, link.Read(0, 1, p[:4]), bus.ErrArgument)
	assert.ErrorIs(t, link.Read(9, 0, p[:4]), bus.ErrArgument)
	_, err = link.ReadConfig(2)
	assert.ErrorIs(t, err, bus.ErrArgument)

	event, err := clock.Wait(7)
	require.NoError(t, err)
	assert.False(t, event)
	assert.EqualValues(t, 7, clock.Now())
	assert.EqualValues(t, 1e9, clock.Hz())
	require.NoError(t, link.Close())
	require.NoError(t, link.Close())
	for _, err := range []error{link.Read(0, 0, p), link.Write(0, 0, p), link.WriteConfig(4, 0)} {
		assert.ErrorIs(t, err, bus.ErrClosed)
	}
	_, err = clock.Wait(9)
	assert.ErrorIs(t, err, bus.ErrClosed)
	_, _, err = snap.Open(file + "x")
	assert.ErrorIs(t, err, regs.ErrSnapshot)
}

// The snapshot of a played-back snapshot is equal to the original.
func TestSnapshotOfASnapshot(t *testing.T) {
	take := func(link bus.Link) *regs.Snapshot {
		f, err := regs.Open(link, regs.Options{})
		require.NoError(t, err)
		s, err := f.Take("emu")
		require.NoError(t, err)
		require.NoError(t, f.Close())
		return s
	}
	link, _, err := boards.Open("emu?config=small", regs.NoMemory{})
	require.NoError(t, err)
	first := take(link)
	require.NoError(t, link.Close())
	assert.Len(t, first.Registers, 53, "one node")
	assert.Equal(t, first, take(snap.New(first, "first")))
}
