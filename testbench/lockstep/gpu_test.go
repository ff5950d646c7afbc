package lockstep

import (
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/verilog"
)

// newDevice is a GPU in lockstep for a test.
func newDevice(t *testing.T, config string, s Sim) *Device {
	t.Helper()
	if !need(t, s) {
		t.Skip("no simulator")
	}
	c, err := Config(config)
	require.NoError(t, err)
	c.VRAMBytes = min(c.VRAMBytes, 64<<10) // Icarus is slow to hand over much more
	dev, err := NewDevice("../..", c, Options{Sim: s, Cache: testCache()})
	require.NoError(t, err)
	return dev
}

// The whole GPU with a random host, in a simulator that builds fast; longer runs
// are make lockstep.
func TestGPU(t *testing.T) {
	for _, config := range []string{"default", "small"} {
		t.Run(config, func(t *testing.T) {
			dev := newDevice(t, config, Icarus)
			assert.NoError(t, Random(dev, 1, 1500))
			dev.Skip(10)
			assert.NoError(t, dev.Close())
			assert.Equal(t, uint64(1511), dev.Clocks())
			assert.Greater(t, dev.Registers(), 200)
		})
	}
}

// What only the Go side has in VRAM is found at the end, with its place.
func TestGPUMemoryIsCompared(t *testing.T) {
	dev := newDevice(t, "small", Icarus)
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

// Every field of the ports goes where the manifest says, and back.
func TestPortFields(t *testing.T) {
	var p inputs
	for name, f := range inputFields() {
		assert.Zero(t, f.get(&p), name)
		f.set(&p, 1)
		assert.Equal(t, uint64(1), f.get(&p), name)
	}
	assert.Equal(t, inputs{
		req: ones[port.Request](), beat: ones[port.Beat](), cplReady: true, cpl: ones[port.Completion](), reqReady: true, dataReady: true,
	}, p)
	var o outputs
	for _, f := range outputFields() {
		f.set(&o, 1)
	}
	assert.Equal(t, outputs{
		cpl: ones[port.Completion](), reqReady: true, dataReady: true, req: ones[port.Request](), beat: ones[port.Beat](),
	}, o)
}

func TestGPUManifestThatDoesNotFit(t *testing.T) {
	g := newGPU(t, "small")
	d, err := verilog.Translate("../..", g)
	require.NoError(t, err)
	for _, tt := range []struct {
		name   string
		change func(m *verilog.Manifest)
	}{
		{"unknown port", func(m *verilog.Manifest) { m.Ports[2].Go = "req.Colour" }},
		{"a port twice", func(m *verilog.Manifest) { m.Ports[3].Go = m.Ports[2].Go }},
		{"an input as an output", func(m *verilog.Manifest) { m.Ports[2].Input = false }},
		{"a port is missing", func(m *verilog.Manifest) { m.Ports = m.Ports[:len(m.Ports)-1] }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := d.Manifest
			m.Ports = slices.Clone(m.Ports)
			tt.change(&m)
			_, err := newGPUCircuit(g, &m)
			assert.ErrorIs(t, err, ErrManifest)
		})
	}
}

// ones returns a value with every scalar 1.
func ones[T any]() T {
	var v T
	for i, s := 0, reflect.ValueOf(&v).Elem(); i < s.NumField(); i++ {
		if f := s.Field(i); f.Kind() == reflect.Bool {
			f.SetBool(true)
		} else {
			f.SetUint(1)
		}
	}
	return v
}
