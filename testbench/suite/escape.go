package suite

import (
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/hostdriver/privdata"
	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/runtime/d3d11"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/testbench"
)

// escapes reads a register and the state of the nodes through the miniport, as a tool does.
func escapes(t *T) {
	sys := t.Open(testbench.Options{})
	d := d3dOf(t, sys)
	ask := func(op privdata.Op, argument uint32) [5]uint32 {
		data := privdata.Escape{Op: op, Argument: argument}.Append(nil)
		require.NoError(t, sys.Escape(data), "operation %d of %#x", op, argument)
		e, err := privdata.DecodeEscape(data)
		require.NoError(t, err, "the answer decodes")
		return e.Result
	}
	assert.Equal(t, uint32(idreg.MagicValue), ask(privdata.ReadRegister, idreg.Base+idreg.Magic)[0], "ID.MAGIC")
	from, to := d.buffer(d3d11.UsageDefault, d3d11.BindVertexBuffer, count(1, 64)), d.buffer(d3d11.UsageDefault, d3d11.BindVertexBuffer, make([]byte, 64))
	var before, after privdata.Node
	for range 2 {
		before = after
		d.ctx.CopyResource(to, from)
		d.ctx.Flush()
		require.NoError(t, sys.WaitForIdle(), "the GPU completes the work")
		after = privdata.NodeOf(ask(privdata.ReadNode, 0))
	}
	assert.True(t, before.Submitted != after.Submitted, "the copy has a fence")
	assert.Equal(t, privdata.Node{Submitted: after.Submitted, Reported: after.Submitted}, after, "the node is idle")
	bad := privdata.Escape{Op: privdata.ReadNode, Argument: uint32(sys.Nodes())}.Append(nil)
	assert.ErrorIs(t, sys.Escape(bad), ddi.StatusInvalidParameter, "a node that does not exist")
}
