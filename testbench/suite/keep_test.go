package suite

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/hdl/vcd/vcdtest"
	"github.com/hilgpu/hilgpu/testbench"
)

// folderTB is a TB with a folder for artifacts.
type folderTB struct {
	recording
	dir string
}

func (k *folderTB) ArtifactDir() string { return k.dir }

// A failed test leaves the last clocks of the GPU, a passed one leaves nothing.
func TestFailureLeavesAWave(t *testing.T) {
	for _, fails := range []bool{true, false} {
		k := &folderTB{dir: t.TempDir()}
		c := Case{Name: "empty", run: func(t *T) {
			sys := t.Open(testbench.Options{})
			require.NoError(t, sys.WaitForIdle())
			if fails {
				t.Errorf("deliberate failure")
			}
		}}
		Instance{Case: c, Selector: "emu?vram=64KiB"}.Run(k, testbench.HostDrivers())
		k.clean()
		text, err := os.ReadFile(filepath.Join(k.dir, "wave.vcd"))
		_, lerr := os.Stat(filepath.Join(k.dir, "events.log"))
		assert.Equal(t, fails, lerr == nil, "the last events")
		if !fails {
			assert.ErrorIs(t, err, os.ErrNotExist)
			assert.Empty(t, k.messages)
			continue
		}
		require.NoError(t, err)
		assert.Equal(t, []string{"deliberate failure"}, k.messages)
		d, err := vcdtest.Parse(strings.NewReader(string(text)))
		require.NoError(t, err)
		assert.Greater(t, len(d.Times), 100)
		assert.Contains(t, d.Vars, "gpu.cp1.decode_state")
	}
}
