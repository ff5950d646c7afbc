package verilog

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/eth"
	"github.com/hilgpu/hilgpu/rtl/eth/ip"
	"github.com/hilgpu/hilgpu/rtl/gpu"
	"github.com/hilgpu/hilgpu/rtl/verilog/testdata/sample"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

// features is a small configuration with all optional features.
func features() gpu.Config {
	c := gpu.Small()
	c.Caps = caps.All()
	return c
}

// made has the designs that gpuOf has returned.
var made = struct {
	sync.Mutex
	of map[gpu.Config]*Design
}{of: map[gpu.Config]*Design{}}

// gpuOf returns the design of a configuration, which tests share and do not change.
func gpuOf(t *testing.T, c gpu.Config) *Design {
	t.Helper()
	made.Lock()
	defer made.Unlock()
	if made.of[c] == nil {
		made.of[c] = translated(t, c)
	}
	return made.of[c]
}

func translated(t *testing.T, c gpu.Config) *Design {
	t.Helper()
	g, err := gpu.New(c)
	require.NoError(t, err)
	d, err := Translate("../..", g)
	require.NoError(t, err)
	return d
}

func TestTranslateIsDeterministic(t *testing.T) {
	tooltest.Long(t)
	assert.Equal(t, translated(t, gpu.Default()), translated(t, gpu.Default()))
}

func TestManifest(t *testing.T) {
	tooltest.Long(t)
	m := gpuOf(t, gpu.Default()).Manifest
	assert.Equal(t, "gpu", m.Top)
	var ports []string
	for _, p := range m.Ports {
		ports = append(ports, p.Go)
	}
	assert.Equal(t, []string{
		"", "", "req.Kind", "req.Tag", "req.Len", "req.Addr", "beat.Valid", "beat.Last", "beat.Enable", "beat.Data",
		"cplReady", "cpl.Tag", "cpl.Status", "cpl.Last", "cpl.Data", "reqReady", "dataReady",
		"Target.cpl.Tag", "Target.cpl.Status", "Target.cpl.Last", "Target.cpl.Data", "Target.reqReady", "Target.dataReady",
		"Initiator.req.Kind", "Initiator.req.Tag", "Initiator.req.Len", "Initiator.req.Addr",
		"Initiator.beat.Valid", "Initiator.beat.Last", "Initiator.beat.Enable", "Initiator.beat.Data",
	}, ports)
	byGo := map[string]Register{}
	for _, r := range m.Registers {
		byGo[r.Go] = r
	}
	assert.Equal(t, 3, byGo["cp1.decode.state"].Width)
	assert.Equal(t, "cp1", byGo["cp1.decode.state"].Instance)
	assert.Equal(t, "intc.masked_1", byGo["intc.masked[1]"].Verilog)
	assert.Equal(t, 1, byGo["intc.masked[1]"].Elem)
	assert.Equal(t, "cp0.ring_stream_have", byGo["cp0.ring.stream.have"].Verilog)
	assert.Equal(t, "dma.queue.count", byGo["dma.queue.count"].Verilog)
	assert.True(t, strings.HasPrefix(byGo["dma.order.q"].Pos, "rtl/hdl/ram.go:"), byGo["dma.order.q"].Pos)
	assert.NotContains(t, byGo, "cp0.walk.space.vramLimit", "a parameter is no register")
	for _, mem := range m.Memories {
		if mem.Go == "vram.ram.words" {
			assert.Equal(t, Memory{"vram.ram", "vram.ram.mem", "vram.ram.words", 64, 2 << 20, false}, mem)
		}
	}
}

// Every block of the GPU, a field with a Tick, must be ticked: an instance that
// is not ticked is left out.
func TestEveryBlockIsBuilt(t *testing.T) {
	tooltest.Long(t)
	built := map[string]bool{}
	c := gpu.Default()
	c.Caps = caps.All()
	for _, r := range gpuOf(t, c).Manifest.Registers {
		instance, _, _ := strings.Cut(r.Go, ".")
		built[instance] = true
	}
	top, n := reflect.TypeFor[gpu.GPU](), 0
	for i := range top.NumField() {
		f := top.Field(i)
		if _, ok := reflect.PointerTo(f.Type).MethodByName("Tick"); ok {
			assert.True(t, built[f.Name], f.Name)
			n++
		}
	}
	assert.Equal(t, 21, n)
}

func TestOneNodeHasNoSecond(t *testing.T) {
	tooltest.Long(t)
	for _, r := range gpuOf(t, gpu.Small()).Manifest.Registers {
		assert.False(t, strings.HasPrefix(r.Go, "cp1") || strings.HasPrefix(r.Go, "fence1"), r.Go)
	}
}

// A feature that a configuration leaves out has no registers.
func TestWithoutFeatures(t *testing.T) {
	tooltest.Long(t)
	have := func(c gpu.Config) (names []string) {
		for _, r := range gpuOf(t, c).Manifest.Registers {
			for _, part := range []string{
				"cp0.regs.protect", "cp0.walk.guard.",
				"cp0.regs.asked", "cp0.regs.preempt", "cp0.regs.progress", "cp0.issue.sent", "cp0.issue.stops",
				"cp0.sync.waiting", "cp0.sync.word", "cp0.sync.wrong", "fence0.high", "fence0.latched",
				"intc.wait", "perf.", "cp0.regs.retired", "cp0.regs.took", "watchdog.",
			} {
				if strings.HasPrefix(r.Go, part) {
					names = append(names, r.Go)
				}
			}
		}
		return names
	}
	assert.Empty(t, have(gpu.Small()))
	assert.Len(t, have(features()), 1+5+(4+2)+(4+1)+4+(23+2)+8)
}

// designs returns the designs that the tools must accept: the configurations and
// the samples.
func designs(t *testing.T) map[string]*Design {
	t.Helper()
	out := map[string]*Design{"default": gpuOf(t, gpu.Default()), "small": gpuOf(t, gpu.Small()), "features": gpuOf(t, features())}
	for name, top := range map[string]any{
		"arith": &sample.Arith{}, "flow": sample.NewFlow(1), "record": &sample.Record{}, "store": sample.NewStore(), "narrow": sample.NewNarrow(),
		"eth": eth.New(ip.Params{MAC: [6]byte{2, 0, 0, 0, 0, 2}, IP: [4]byte{10, 0, 0, 2}, Port: 0x7c21, EtherType: 0x88b5}),
	} {
		var outputs []string
		if name == "eth" {
			outputs = eth.Outputs
		}
		d, err := translate("../..", top, outputs...)
		require.NoError(t, err)
		out[name] = d
	}
	return out
}

// TestLint checks that Verilator gives no warning except for unused bits.
// Inlining a call for one of its results leaves the others unused.
func TestLint(t *testing.T) {
	tooltest.Long(t)
	t.Parallel()
	tooltest.Need(t, "verilator")
	for name, d := range designs(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, names := writeFiles(t, d)
			args := append([]string{"--lint-only", "-Wall", "-Wno-UNUSED", "--top-module", d.Manifest.Top}, names...)
			assert.Empty(t, runTool(t, dir, "verilator", args...))
		})
	}
}

// TestYosys checks that the netlist has no latch, no combinational loop, and no
// net that is undriven or driven twice.
func TestYosys(t *testing.T) {
	tooltest.Long(t)
	t.Parallel()
	tooltest.Need(t, "yosys")
	for name, d := range designs(t) {
		if name == "default" {
			continue // differs from features in sizes only, and takes long
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, names := writeFiles(t, d)
			script := "read_verilog " + strings.Join(names, " ") + "\nhierarchy -check -top " + d.Manifest.Top +
				"\nproc\nselect -assert-none t:$dlatch t:$adlatch t:$dlatchsr\nopt_clean\ncheck -assert\n"
			require.NoError(t, os.WriteFile(filepath.Join(dir, "check.ys"), []byte(script), 0o644))
			log := runTool(t, dir, "yosys", "-q", "-s", "check.ys")
			assert.NotContains(t, log, "Warning")
			assert.NotContains(t, log, "Latch inferred")
		})
	}
}

// BenchmarkTranslate translates the complete GPU. The limit is two seconds.
func BenchmarkTranslate(b *testing.B) {
	g, err := gpu.New(gpu.Default())
	require.NoError(b, err)
	for b.Loop() {
		_, err := Translate("../..", g)
		require.NoError(b, err)
	}
}

// A GPU without a second master of the register bus has nothing of the arbiter: no file, no
// register, no memory, no instance.
func TestWithoutMaster(t *testing.T) {
	tooltest.Long(t)
	with := gpu.Default()
	with.Caps |= caps.Master
	for name, c := range map[string]gpu.Config{"default": gpu.Default(), "small": gpu.Small(), "master": with} {
		d := gpuOf(t, c)
		var names []string
		for _, r := range d.Manifest.Registers {
			names = append(names, r.Go)
		}
		for _, m := range d.Manifest.Memories {
			names = append(names, m.Go)
		}
		for _, file := range d.Files {
			names = append(names, file.Name)
			for line := range strings.Lines(string(file.Text)) {
				if f := strings.Fields(line); len(f) > 1 && strings.HasPrefix(f[0], "arbiter") {
					names = append(names, strings.Join(f, " "))
				}
			}
		}
		found := slices.DeleteFunc(names, func(n string) bool { return !strings.Contains(n, "arbiter") })
		assert.Equal(t, name == "master", len(found) != 0, "%s: %v", name, found)
	}
}
