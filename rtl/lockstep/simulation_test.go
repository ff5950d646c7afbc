package lockstep

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/verilog"
)

func TestSimulationStops(t *testing.T) {
	eachSim(t, func(t *testing.T, s Sim) {
		l, err := New(twinDesign(t), newTwin(), Options{Sim: s, Cache: testCache(), Batch: 4})
		require.NoError(t, err)
		require.NoError(t, l.worker.process.Kill())
		for range 100 {
			if err = l.Clock(false, []uint64{0, 9}); err != nil {
				break
			}
		}
		assert.ErrorIs(t, err, ErrSimulation, s)
		assert.ErrorIs(t, l.Close(), ErrSimulation, s)
		assert.NoError(t, l.Close(), "closed already")
	})
}

func TestManifestMismatch(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(m *verilog.Manifest)
		says   string
	}{
		{"no ports", func(m *verilog.Manifest) { m.Ports = nil }, "clk"},
		{"no reset", func(m *verilog.Manifest) { m.Ports[1].Name = "reset" }, "port 1 is reset"},
		{"wide port", func(m *verilog.Manifest) { m.Ports[3].Width = 65 }, "data has 65 bits"},
		{"no width", func(m *verilog.Manifest) { m.Registers[0].Width = 0 }, "acc has 0 bits"},
		{"no such field", func(m *verilog.Manifest) { m.Registers[3].Go = "child.gone" }, "no field gone"},
		{"field of a scalar", func(m *verilog.Manifest) { m.Registers[0].Go = "acc.x" }, "no field x"},
		{"a struct", func(m *verilog.Manifest) { m.Registers[3].Go = "child" }, "child is a"},
		{"index out of range", func(m *verilog.Manifest) { m.Registers[1].Go = "flag[2]" }, "bad index"},
		{"negative index", func(m *verilog.Manifest) { m.Registers[1].Go = "flag[-1]" }, "bad index"},
		{"open index", func(m *verilog.Manifest) { m.Registers[1].Go = "flag[1" }, "bad index"},
		{"index of a scalar", func(m *verilog.Manifest) { m.Registers[0].Go = "acc[0]" }, "bad index"},
		{"words", func(m *verilog.Manifest) { m.Memories[0].Words = 15 }, "want 15 words"},
		{"not a memory", func(m *verilog.Manifest) { m.Memories[0].Go = "acc" }, "want 16 words"},
		{"width of a word", func(m *verilog.Manifest) { m.Memories[1].Width = 71 }, "has 70 bits, want 71"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := twinDesign(t)
			tt.change(&d.Manifest)
			_, err := New(d, newTwin(), Options{Cache: t.TempDir()})
			assert.ErrorIs(t, err, ErrManifest)
			assert.ErrorContains(t, err, tt.says)
		})
	}
}
