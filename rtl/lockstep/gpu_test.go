package lockstep

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/gpu"
	"github.com/hilgpu/hilgpu/rtl/verilog"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

// newGPU returns a GPU without Verilog.
func newGPU(t *testing.T, c gpu.Config) *gpu.GPU {
	t.Helper()
	g, err := gpu.New(c)
	require.NoError(t, err)
	return g
}

// newDevice returns a GPU in lockstep.
func newDevice(t *testing.T, c gpu.Config, s Sim) *Device {
	t.Helper()
	need(t, s)
	c.VRAMBytes = min(c.VRAMBytes, 64<<10) // Icarus dumps large memories slowly
	dev, err := NewDevice("../..", c, Options{Sim: s, Cache: testCache()})
	require.NoError(t, err)
	return dev
}

// Runs the entire GPU with a random host, in a simulator that builds fast. make
// lockstep does longer runs.
func TestGPU(t *testing.T) {
	tooltest.Long(t)
	lean := gpu.Small()
	lean.VRAMPorts, lean.Caps = 1, 0
	two := gpu.Default()
	two.Caps |= caps.Master
	for name, c := range map[string]gpu.Config{
		"default": gpu.Default(), "small": gpu.Small(), "small, one port, no aperture": lean, "two masters": two,
	} {
		t.Run(name, func(t *testing.T) {
			dev := newDevice(t, c, Icarus)
			assert.NoError(t, Random(dev, 1, 1500, nil))
			dev.Skip(10)
			assert.NoError(t, dev.Close())
			assert.Equal(t, uint64(1511), dev.Clocks())
			assert.Greater(t, dev.Registers(), 200)
		})
	}
}

// A word of VRAM that differs is found at the end, with its index.
func TestGPUMemoryIsCompared(t *testing.T) {
	tooltest.Long(t)
	dev := newDevice(t, gpu.Small(), Icarus)
	dev.circuit.g.PokeVRAM(0x123, []byte{0xa5})
	dev.Skip(20)
	require.NoError(t, dev.Err())
	var d *Divergence
	require.ErrorAs(t, dev.Close(), &d)
	require.Len(t, d.Differences, 1)
	assert.Equal(t, "vram.ram.words[36]", d.Differences[0].GoPath)
	assert.Equal(t, uint64(0xa5<<24), d.Differences[0].Want)
	assert.Zero(t, d.Differences[0].Got)
}

// A RAM write with a wrong address is found in its clock, not when the word is read or
// at the end.
func TestGPUWritePortIsCompared(t *testing.T) {
	tooltest.Long(t)
	need(t, Icarus)
	g, err := gpu.New(gpu.Small())
	require.NoError(t, err)
	d, err := verilog.Translate("../..", g)
	require.NoError(t, err)
	for i := range d.Files {
		if f := &d.Files[i]; f.Name == "mem.v" {
			text := strings.Replace(string(f.Text), ".waddr(ram_waddr)", ".waddr(ram_waddr ^ 10'd1)", 1)
			require.NotEqual(t, string(f.Text), text)
			f.Text = []byte(text)
		}
	}
	dev, err := deviceOf(Top{g: g}, d, Options{Sim: Icarus, Cache: testCache(), Batch: 16})
	require.NoError(t, err)
	err = Random(dev, 1, 1500, nil)
	if closed := dev.Close(); err == nil {
		err = closed
	}
	var diff *Divergence
	require.ErrorAs(t, err, &diff)
	require.Less(t, diff.Clock, uint64(1500))
	require.Len(t, diff.Differences, 1)
	assert.Equal(t, "vram.ram.last.where", diff.Differences[0].GoPath)
	assert.Equal(t, diff.Differences[0].Want^1<<8, diff.Differences[0].Got)
}

// A design with clock enables is equal in every clock.
func TestClockEnables(t *testing.T) {
	tooltest.Long(t)
	need(t, Icarus)
	for name, c := range map[string]gpu.Config{"default": gpu.Default(), "small": gpu.Small()} {
		t.Run(name, func(t *testing.T) {
			c.VRAMBytes = min(c.VRAMBytes, 64<<10)
			g := newGPU(t, c)
			d, err := verilog.TranslateEnabled("../..", g)
			require.NoError(t, err)
			dev, err := deviceOf(Top{g: g}, d, Options{Sim: Icarus, Cache: testCache()})
			require.NoError(t, err)
			assert.NoError(t, Random(dev, 1, 1500, nil))
			dev.Skip(10)
			assert.NoError(t, dev.Close())
			assert.Greater(t, dev.Registers(), 200)
		})
	}
}

// A block that is asleep although it has something to do is found.
func TestWrongClockEnable(t *testing.T) {
	tooltest.Long(t)
	need(t, Icarus)
	g := newGPU(t, gpu.Small())
	d, err := verilog.TranslateEnabled("../..", g)
	require.NoError(t, err)
	for i := range d.Files {
		if f := &d.Files[i]; f.Name == "mem.v" {
			text := strings.Replace(string(f.Text), "if (!asleep)", "if (!asleep && !beat_Valid)", 1)
			require.NotEqual(t, string(f.Text), text)
			f.Text = []byte(text)
		}
	}
	dev, err := deviceOf(Top{g: g}, d, Options{Sim: Icarus, Cache: testCache(), Batch: 16})
	require.NoError(t, err)
	var wrong *Divergence
	assert.ErrorAs(t, Random(dev, 1, 1500, nil), &wrong)
	assert.ErrorAs(t, dev.Close(), &wrong)
}
