package boards

import (
	"encoding/binary"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/boards/dirty"
	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/bus/inproc"
	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pcicfg"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/abi/regmap"
	"github.com/hilgpu/hilgpu/rtl/gpu"
	"github.com/hilgpu/hilgpu/rtl/verilog/sim"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

// doorbellResult is a host's view of some doorbells.
type doorbellResult struct {
	fence    uint64
	messages int
	mem      [64 << 10]byte
	clock    uint64
	failed   string // accesses that failed
	counters []Counter
}

// ring3 rings the doorbell three times and records the result.
func ring3(t *testing.T, selector string) doorbellResult {
	h := new(pc)
	link, clock, err := Open(selector, h)
	require.NoError(t, err)
	enumerate(t, link)
	require.NoError(t, submit(t, waiter{link, clock}, h, 3))
	r := doorbellResult{fence: binary.LittleEndian.Uint64(h.mem[fenceAt-memBase:])}
	for _, err := range []error{
		link.Read(0, idreg.Magic, make([]byte, 4)), link.Read(0, 0xf000, make([]byte, 4)),
		link.Read(2, 0x100, make([]byte, 300)), link.Write(2, 0x44, make([]byte, 500)),
	} {
		if err != nil {
			r.failed += err.Error() + "\n"
		}
	}
	r.messages, r.mem, r.clock = h.messages, h.mem, clock.Now()
	all := link.(Counters).Counters()
	for _, c := range all {
		if c.Name != "packets_node0" && c.Name != "packets_node1" && c.Name != "bytes_moved" {
			r.counters = append(r.counters, c)
		}
	}
	require.NoError(t, link.Close())
	return r
}

// The Verilog does the same as the Go at the same clocks, including with an
// injected fault and on another wire.
func TestVerilatedIsTheEmulator(t *testing.T) {
	tooltest.Long(t)
	tooltest.Need(t, sim.Verilator.Tools()...)
	for _, options := range []string{
		"", "&latency=3&bandwidth=1", "&latency=200&bandwidth=64", "&timeout=5000&fault=dead&after=1",
		"&fault=lost-interrupt&after=1&count=1", "&fault=lost-doorbell&count=2",
	} {
		want := ring3(t, "emu?config=small"+options)
		assert.Equal(t, want, ring3(t, "verilated?config=small"+options), options)
	}
}

// optimize=0 chooses another model of the same GPU.
func TestVerilatedWithoutOptimization(t *testing.T) {
	tooltest.Long(t)
	tooltest.Need(t, sim.Verilator.Tools()...)
	want := ring3(t, "emu?config=small")
	assert.Equal(t, want, ring3(t, "verilated?config=small&optimize=0"))
	assert.Equal(t, want, ring3(t, "verilated?config=small&optimize=1"))
	_, _, err := Open("verilated?optimize=2", new(pc))
	assert.ErrorContains(t, err, "0 or 1")
}

// A simulation that stops takes the link down, and every call returns the
// cause.
func TestVerilatedThatStops(t *testing.T) {
	tooltest.Long(t)
	tooltest.Need(t, sim.Verilator.Tools()...)
	link, clock, err := Open("verilated?config=small", new(pc))
	require.NoError(t, err)
	enumerate(t, link)
	v := link.(*verilated)
	require.NoError(t, v.simulation.Kill())
	event, err := clock.Wait(clock.Now() + 1000)
	assert.False(t, event)
	for _, err := range []error{
		err, link.Read(0, idreg.Magic, make([]byte, 4)), link.Write(0, idreg.Scratch0, make([]byte, 4)), link.WriteConfig(4, 0),
	} {
		assert.ErrorIs(t, err, bus.ErrLinkDown)
		assert.ErrorIs(t, err, sim.ErrSimulation)
	}
	_, err = link.ReadConfig(0)
	assert.ErrorIs(t, err, sim.ErrSimulation)
	for range 2 {
		assert.ErrorIs(t, link.Close(), sim.ErrSimulation)
	}
}

// The error names the missing tool with its Debian package, or the missing
// source.
func TestVerilatedThatCannotBeBuilt(t *testing.T) {
	t.Run("tools", func(t *testing.T) {
		t.Setenv("PATH", t.TempDir())
		_, _, err := Open("verilated", new(pc))
		assert.ErrorIs(t, err, sim.ErrTool)
		assert.ErrorContains(t, err, "verilator (Debian package verilator)")
	})
	t.Run("source", func(t *testing.T) {
		t.Setenv("PATH", t.TempDir())
		_, _, err := Open("verilated?source="+filepath.ToSlash(t.TempDir()), new(pc))
		assert.ErrorIs(t, err, sim.ErrSource)
		assert.ErrorContains(t, err, "source=DIR")
	})
	t.Run("configuration", func(t *testing.T) {
		t.Setenv("PATH", t.TempDir())
		_, _, err := Open("verilated?tags=3", new(pc))
		assert.ErrorIs(t, err, ErrSelector)
		assert.ErrorContains(t, err, "tags 3, want 2 to 16, a power of two")
	})
}

// An earlier host leaves the Verilog in the same state as the Go.
func TestVerilatedLeftAsTheEmulator(t *testing.T) {
	tooltest.Long(t)
	tooltest.Need(t, sim.Verilator.Tools()...)
	root, err := sim.ModuleRoot(".")
	require.NoError(t, err)
	for seed := range uint64(3) {
		g, err := gpu.New(gpu.Small())
		require.NoError(t, err)
		model, err := sim.NewVerilated(root, gpu.Small(), sim.BuildOptions{})
		require.NoError(t, err)
		o := dirty.Options{Seed: seed, Idle: shortIdle}
		require.NoError(t, dirty.Leave(struct{ port.Device }{g}, o)) // without filling VRAM
		require.NoError(t, dirty.Leave(model, o))
		assert.Equal(t, registersOf(t, g), registersOf(t, model), "seed %d", seed)
		require.NoError(t, model.Close())
	}
}

// registersOf returns the registers as another host reads them.
func registersOf(t *testing.T, dev port.Device) map[string]uint32 {
	link, err := inproc.New(dev, new(pc), inproc.Options{})
	require.NoError(t, err)
	all := map[string]uint32{}
	for off := 0; off < pcicfg.PCIeEnd; off += 4 {
		all[strconv.Itoa(off)], err = link.ReadConfig(off)
		require.NoError(t, err)
	}
	require.NoError(t, link.WriteConfig(pcicfg.Command, pcicfg.CommandMemory))
	have := caps.Of(read32(t, link, idreg.Caps), read32(t, link, idreg.Caps2))
	for _, e := range regmap.New().Entries() {
		if e.In(have) {
			all[e.Name()] = read32(t, link, uint64(e.Off()))
		}
	}
	return all
}
