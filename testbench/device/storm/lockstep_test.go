package storm_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/gpu"
	"github.com/hilgpu/hilgpu/rtl/lockstep"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
	"github.com/hilgpu/hilgpu/testbench/device/storm"
)

// inLockstep runs a storm on a GPU in lockstep with the Verilog of the source at root.
func inLockstep(t *testing.T, root string, c gpu.Config) (*storm.Report, error) {
	dev, err := lockstep.NewDevice(root, c, lockstep.Options{})
	require.NoError(t, err)
	r, err := storm.Lockstep(t.Context(), dev, storm.Options{Board: "lockstep", Seed: 1, Cycles: 2_000_000})
	if closed := dev.Close(); err == nil {
		err = closed
	}
	return r, err
}

// broken returns the root of a copy of the source in which one text of a file is another.
func broken(t *testing.T, file, was, is string) string {
	root := t.TempDir()
	for _, name := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(filepath.Join("../../..", name))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(root, name), text, 0o644))
	}
	require.NoError(t, os.CopyFS(filepath.Join(root, "rtl"), os.DirFS("../../../rtl")))
	file = filepath.Join(root, file)
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, 1, strings.Count(string(text), was), was)
	require.NoError(t, os.WriteFile(file, []byte(strings.Replace(string(text), was, is, 1)), 0o644))
	return root
}

// A storm finds Verilog that is wrong only in a case that random packets seldom reach.
func TestLockstepFinds(t *testing.T) {
	tooltest.Long(t)
	tooltest.Need(t, lockstep.Verilator.Tools()...)
	c := gpu.Small()
	c.Caps |= caps.Protection
	for name, change := range map[string][2]string{
		"writes to windows that are not writable":  {"(writable || !w.writes)", "(writable || w.row != 0 || !w.writes)"},
		"a window outside memory cannot be closed": {"case size == 0:", "case size == 2:"},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := inLockstep(t, broken(t, "rtl/cp/guard.go", change[0], change[1]), c)
			var diff *lockstep.Divergence
			require.ErrorAs(t, err, &diff)
			assert.Positive(t, r.Rounds)
		})
	}
}
