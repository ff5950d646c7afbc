package sim

import (
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/arbiter"
	"github.com/hilgpu/hilgpu/rtl/gpu"
	"github.com/hilgpu/hilgpu/rtl/regbus"
	"github.com/hilgpu/hilgpu/rtl/verilog"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

// Every field of the ports is stored where the manifest says, and read back from
// there.
func TestPortFields(t *testing.T) {
	var p Inputs
	for name, f := range inputFields(true) {
		assert.Zero(t, f.get(&p), name)
		f.set(&p, 1)
		assert.Equal(t, uint64(1), f.get(&p), name)
	}
	assert.Equal(t, Inputs{
		Req: ones[port.Request](), Beat: ones[port.Beat](), CplReady: true, Cpl: ones[port.Completion](), ReqReady: true, DataReady: true,
		Ask: ones[regbus.Req](),
	}, p)
	var o Outputs
	for _, f := range outputFields(true) {
		f.set(&o, 1)
	}
	assert.Equal(t, Outputs{
		Cpl: ones[port.Completion](), ReqReady: true, DataReady: true, Req: ones[port.Request](), Beat: ones[port.Beat](),
		Answer: ones[arbiter.Answer](),
	}, o)
}

func TestPortsOfAManifestThatDoesNotFit(t *testing.T) {
	tooltest.Long(t)
	g, err := gpu.New(gpu.Small())
	require.NoError(t, err)
	d, err := verilog.Translate("../../..", g)
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
			_, err := NewPorts(&m)
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
