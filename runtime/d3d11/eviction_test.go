package d3d11

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

func TestEvictionPriority(t *testing.T) {
	b := newBench(t)
	var got []uint32
	answer := ddi.OK
	b.dev.dxgiFuncs.SetResourcePriority = func(th *ddi.Thread, arg umddi.SetResourcePriority) ddi.HRESULT {
		b.drv.res(arg.Resource)
		got = append(got, arg.Priority)
		return answer
	}
	tex, buf := b.texture(8, 8, 1, 1, 28), b.constant()
	assert.EqualValues(t, ResourcePriorityNormal, tex.GetEvictionPriority())
	require.NoError(t, tex.SetEvictionPriority(ResourcePriorityHigh))
	require.NoError(t, buf.SetEvictionPriority(ResourcePriorityNormal+1))
	assert.EqualValues(t, ResourcePriorityHigh, tex.GetEvictionPriority())
	assert.EqualValues(t, 0x78000001, buf.GetEvictionPriority())
	assert.Equal(t, []uint32{0xa0000000, 0x78000001}, got)

	assert.EqualError(t, tex.SetEvictionPriority(0), "SetEvictionPriority: E_INVALIDARG: EvictionPriority is 0, want another value")
	b.dev.dxgiFuncs.SetResourcePriority = nil
	require.NoError(t, tex.SetEvictionPriority(ResourcePriorityLow), "a driver without priorities")
	assert.EqualValues(t, ResourcePriorityLow, tex.GetEvictionPriority())
	assert.Len(t, got, 2)
	buf.Release()
	assert.ErrorIs(t, buf.SetEvictionPriority(1), ddi.DXGIInvalidCall)
}

func TestEvictionPriorityOfALostDevice(t *testing.T) {
	b := newBench(t)
	b.dev.dxgiFuncs.SetResourcePriority = func(*ddi.Thread, umddi.SetResourcePriority) ddi.HRESULT { return ddi.DDIDeviceRemoved }
	buf := b.constant()
	assert.ErrorIs(t, buf.SetEvictionPriority(1), ddi.DXGIDeviceRemoved)
	assert.EqualValues(t, ResourcePriorityNormal, buf.GetEvictionPriority(), "it did not change")
	assert.ErrorIs(t, buf.SetEvictionPriority(1), ddi.DXGIDeviceRemoved)
}
