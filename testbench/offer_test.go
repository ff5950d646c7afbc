package testbench

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/d3d11"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/testbench/events/eventstest"
)

// An app is an application with a device.
type app struct {
	t   testing.TB
	dev *d3d11.Device
	ctx *d3d11.Context
}

func newApp(t *testing.T, s *System) app {
	dev, ctx, err := s.CreateDevice()
	require.NoError(t, err)
	return app{t, dev, ctx}
}

// local makes a buffer that the driver puts in VRAM, with n bytes of the value v.
func (a app) local(n uint32, v byte) *d3d11.Buffer {
	desc := d3d11.BufferDesc{ByteWidth: n, BindFlags: d3d11.BindVertexBuffer}
	b, err := a.dev.CreateBuffer(desc, &d3d11.SubresourceData{SysMem: bytes.Repeat([]byte{v}, int(n))})
	require.NoError(a.t, err)
	return b
}

// touch makes the GPU use a buffer.
func (a app) touch(b *d3d11.Buffer) {
	a.ctx.UpdateSubresource(b, 0, &d3d11.Box{Right: 4, Bottom: 1, Back: 1}, []byte{1, 2, 3, 4}, 0, 0)
	a.ctx.Flush()
}

// read returns the content of a buffer of n bytes.
func (a app) read(b *d3d11.Buffer, n uint32) []byte {
	staging, err := a.dev.CreateBuffer(d3d11.BufferDesc{ByteWidth: n, Usage: d3d11.UsageStaging, CPUAccessFlags: d3d11.CPUAccessRead}, nil)
	require.NoError(a.t, err)
	defer staging.Release()
	a.ctx.CopyResource(staging, b)
	var m d3d11.MappedSubresource
	require.NoError(a.t, a.ctx.Map(staging, 0, d3d11.MapRead, 0, &m))
	defer a.ctx.Unmap(staging, 0)
	return bytes.Clone(m.Data)
}

// An application offers a buffer in VRAM, and another one takes the memory: the content is lost,
// and none of the other's bytes is seen. Without pressure the content remains.
func TestOfferedResources(t *testing.T) {
	for board, n := range map[string]uint32{"emu?vram=8KiB": 2 << 10, "emu?vram=64KiB&gart=1": 14 << 10, "emu?config=small&vram=64KiB": 16 << 10} {
		sys, err := Open(board, HostDrivers(), Options{Sanitize: true, Record: eventstest.Record(t)})
		require.NoError(t, err)
		a, b := newApp(t, sys), newApp(t, sys)
		first := a.local(n, 0xaa)
		a.touch(first)
		require.NoError(t, a.dev.OfferResources([]d3d11.Resource{first}, d3d11.OfferPriorityNormal))
		lost := make([]bool, 1)
		require.NoError(t, a.dev.ReclaimResources([]d3d11.Resource{first}, lost))
		assert.Equal(t, []bool{false}, lost, board)
		want := append([]byte{1, 2, 3, 4}, bytes.Repeat([]byte{0xaa}, int(n-4))...)
		assert.Equal(t, want, a.read(first, n), board)

		require.NoError(t, a.dev.OfferResources([]d3d11.Resource{first}, d3d11.OfferPriorityNormal))
		before := sys.kernel.Stats().Discards
		for range 6 {
			b.touch(b.local(n, 0xbb))
		}
		require.NoError(t, sys.WaitForIdle())
		assert.Greater(t, sys.kernel.Stats().Discards, before, board)
		require.NoError(t, a.dev.ReclaimResources([]d3d11.Resource{first}, lost))
		assert.Equal(t, []bool{true}, lost, board)
		assert.Equal(t, make([]byte, n), a.read(first, n), board)
		a.touch(first)
		assert.Equal(t, []byte{1, 2, 3, 4, 0}, a.read(first, n)[:5], board)
		a.dev.Close()
		b.dev.Close()
		require.NoError(t, sys.Close())
	}
}

// A list that was recorded before its resource was offered loses the device, and only that.
func TestListOfAnOfferedResource(t *testing.T) {
	sys, err := Open("emu?config=small", HostDrivers(), Options{NoVerify: true})
	require.NoError(t, err)
	a, b := newApp(t, sys), newApp(t, sys)
	x, y := a.local(64, 1), a.local(64, 2)
	a.touch(x)
	a.touch(y)
	d, err := a.dev.CreateDeferredContext(0)
	require.NoError(t, err)
	d.CopyResource(x, y)
	l, err := d.FinishCommandList(false)
	require.NoError(t, err)
	require.NoError(t, a.dev.OfferResources([]d3d11.Resource{y}, d3d11.OfferPriorityHigh))
	a.ctx.ExecuteCommandList(l, false)
	a.ctx.Flush()
	assert.ErrorIs(t, a.dev.GetDeviceRemovedReason(), ddi.DXGIDeviceRemoved)
	z := b.local(64, 3)
	assert.Equal(t, bytes.Repeat([]byte{3}, 64), b.read(z, 64))
	a.dev.Close()
	b.dev.Close()
	require.NoError(t, sys.Close())
}
