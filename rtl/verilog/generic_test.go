package verilog

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/gpu"
	"github.com/hilgpu/hilgpu/rtl/verilog/testdata/several"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

// texts returns the files of a design by name.
func texts(d *Design) map[string]string {
	out := map[string]string{}
	for _, f := range d.Files {
		out[f.Name] = string(f.Text)
	}
	return out
}

// Instances that differ in a number share a module with a parameter. Those whose difference
// decides a condition, or must be a constant, have a module each.
func TestParameters(t *testing.T) {
	d, err := translate("../..", several.New())
	require.NoError(t, err)
	files := texts(d)
	assert.Len(t, files, 6)
	assert.Contains(t, files["sample_offset.v"], "module sample_offset #(\n  parameter [15:0] by = 16'h")
	assert.Contains(t, files["sample_offset.v"], "n_Sum = {8'd0, a} + by;")
	assert.Contains(t, files["sample_offset.v"], "// Parameters:\n//   by  [15:0]  rtl/verilog/testdata/sample/param.go:6\n")
	assert.Contains(t, files["several.v"], "  sample_offset #(.by(16'd3)) Low (\n")
	assert.Contains(t, files["several.v"], "  sample_offset #(.by(16'h1200)) High (\n")
	assert.NotContains(t, files["sample_repeat_0.v"], "n_Sum + {8'd0, a}")
	assert.Contains(t, files["sample_repeat_1.v"], "n_Sum + {8'd0, a}")
	assert.Contains(t, files["several.v"], "  sample_repeat_0 Once (\n")
	assert.Contains(t, files["sample_part_0.v"], "Out = Sum >> 1;")
	assert.Contains(t, files["sample_part_1.v"], "Out = Sum;")
}

// Both nodes have one module, with the address of their registers as the parameter. A GPU
// with one node has no parameter.
func TestNodesShareTheirModules(t *testing.T) {
	tooltest.Long(t)
	files := texts(gpuOf(t, gpu.Default()))
	for name, param := range map[string]string{"cp": "regs_base", "fence": "base"} {
		assert.Contains(t, files[name+".v"], "module "+name+" #(\n  parameter [15:0] "+param+" = 16'h")
		assert.Contains(t, files["gpu.v"], "  "+name+" #(."+param+"(16'h1000)) "+name+"0 (\n")
		assert.Contains(t, files["gpu.v"], "  "+name+" #(."+param+"(16'h1100)) "+name+"1 (\n")
	}
	for name, text := range texts(gpuOf(t, gpu.Small())) {
		assert.True(t, strings.HasPrefix(name, "hdl_") || !strings.Contains(text, "parameter "), name)
	}
}
