package testbench

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/d3d11"
	"github.com/hilgpu/hilgpu/runtime/ddi/dxgi"
	"github.com/hilgpu/hilgpu/testbench/eventlog"
	"github.com/hilgpu/hilgpu/testbench/events"
)

// A call that the runtime drops or lets fail says why: an invalid argument, something that the GPU cannot do, a
// device that was removed. So does one that never reaches the driver.
func TestWhyOfDroppedCalls(t *testing.T) {
	ring := eventlog.NewRing(64<<20, eventlog.Header{})
	s, err := Open("emu?fault=lost-doorbell&after=1", HostDrivers(), Options{TdrDelay: 100_000, Record: func(eventlog.Header) (events.Sink, error) { return ring, nil }})
	require.NoError(t, err)
	defer s.Close()
	dev, ctx, err := s.CreateDevice()
	require.NoError(t, err)
	b, err := dev.CreateBuffer(d3d11.BufferDesc{ByteWidth: 64, BindFlags: d3d11.BindVertexBuffer}, &d3d11.SubresourceData{SysMem: make([]byte, 64)})
	require.NoError(t, err)
	other := deferred(t, dev)
	other.CopyResource(b, b)
	_, err = dev.CreateTexture2D(d3d11.Texture2DDesc{Width: 4, Height: 4, MipLevels: 1, ArraySize: 1, Format: dxgi.Format(9999), BindFlags: d3d11.BindShaderResource}, nil)
	require.Error(t, err)
	require.Error(t, ctx.Map(b, 7, d3d11.MapRead, 0, new(d3d11.MappedSubresource)))
	for range 3 {
		ctx.UpdateSubresource(b, 0, nil, make([]byte, 64), 0, 0)
		ctx.Flush()
	}
	require.NoError(t, s.WaitForIdle()) // the work is aborted
	ctx.UpdateSubresource(b, 0, nil, make([]byte, 64), 0, 0)
	ctx.Flush() // here the driver finds that the GPU is lost
	ctx.ClearState()

	r := runOf(t, ring)
	for _, tt := range []struct{ api, verdict, cause string }{
		{"CopyResource", "it was dropped", "SrcResource is DstResource"},
		{"CreateTexture2D", "it failed", "E_INVALIDARG: Format"},
		{"Map", "it failed", "E_INVALIDARG: Subresource is 7, want less than 1"},
		{"ClearState", "it was dropped", "the device is removed: GetDeviceRemovedReason: DXGI_ERROR_DEVICE_HUNG"},
	} {
		calls := callsOf(t, ring, tt.api)
		require.Len(t, calls, 1, "%s", tt.api)
		a, err := r.Call(calls[0])
		require.NoError(t, err)
		assert.Equal(t, tt.verdict, a.Verdict, "%s", a.Text())
		assert.Contains(t, a.Cause, tt.cause)
		assert.Regexp(t, "the runtime (drops|refuses) it\n.* it returns", a.Text())
	}
}
