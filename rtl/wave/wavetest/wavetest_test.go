package wavetest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/gpu"
	"github.com/hilgpu/hilgpu/rtl/hdl/vcd/vcdtest"
	"github.com/hilgpu/hilgpu/rtl/wave/wavetest"
)

// test is a test that has ended.
type test struct {
	failed  bool
	dir     string
	cleanup func()
	said    string
}

func (t *test) Errorf(format string, args ...any) { t.said += fmt.Sprintf(format, args...) }
func (t *test) Cleanup(f func())                  { t.cleanup = f }
func (t *test) Failed() bool                      { return t.failed }
func (t *test) ArtifactDir() string               { return t.dir }

// run runs a GPU of each configuration in turn, for the given number of clocks.
func run(t *testing.T, f *wavetest.Flight, clocks int, configs ...gpu.Config) {
	for _, c := range configs {
		g, err := gpu.New(c)
		require.NoError(t, err)
		dev := f.Attach(g)
		for range clocks {
			dev.Tick(port.Request{Kind: port.CfgRead, Len: 1}, port.Beat{}, true, port.Completion{}, true, true)
		}
	}
}

// A test that fails saves the clocks of its last GPU. A test that passes, or has
// no GPU, saves nothing.
func TestFlight(t *testing.T) {
	for _, tt := range []struct {
		name    string
		failed  bool
		configs []gpu.Config
		leaves  bool
	}{
		{"failed", true, []gpu.Config{gpu.Default(), gpu.Small()}, true},
		{"passed", false, []gpu.Config{gpu.Small()}, false},
		{"without a GPU", true, nil, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			fake := &test{failed: tt.failed, dir: t.TempDir()}
			run(t, wavetest.New(fake), 300, tt.configs...)
			fake.cleanup()
			assert.Empty(t, fake.said)
			file, err := os.Open(filepath.Join(fake.dir, "wave.vcd"))
			if !tt.leaves {
				assert.ErrorIs(t, err, os.ErrNotExist)
				return
			}
			require.NoError(t, err)
			defer file.Close()
			d, err := vcdtest.Parse(file)
			require.NoError(t, err)
			d, err = d.Clocks("gpu.clk", 100_000_000)
			require.NoError(t, err)
			assert.Equal(t, uint64(300), d.Times[len(d.Times)-1])
			assert.NotContains(t, d.Vars, "gpu.cp1.op", "the last one has one node")
		})
	}
}

// A write error is logged.
func TestNoFolder(t *testing.T) {
	fake := &test{failed: true, dir: filepath.Join(t.TempDir(), "none")}
	run(t, wavetest.New(fake), 1, gpu.Small())
	fake.cleanup()
	assert.Contains(t, fake.said, "no wave: open ")
}
