package testbench_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/d3d11"
	"github.com/hilgpu/hilgpu/runtime/ddi/dxgi"
	"github.com/hilgpu/hilgpu/testbench"
	"github.com/hilgpu/hilgpu/testbench/events/eventstest"
)

// A copier is a device with textures, each of which it copies to the next one.
type copier struct {
	dev     *d3d11.Device
	ctx     *d3d11.Context
	all     []*d3d11.Texture2D
	content []byte // of the first one
}

// side is the width and the height of the textures.
const side = 256

func newCopier(t *testing.T, sys *testbench.System, seed uint64) *copier {
	t.Helper()
	dev, ctx, err := sys.CreateDevice()
	require.NoError(t, err)
	c := &copier{dev: dev, ctx: ctx, content: make([]byte, side*side)}
	r := rand.New(rand.NewPCG(seed, 2))
	for i := range c.content {
		c.content[i] = byte(r.Uint32())
	}
	desc := d3d11.Texture2DDesc{
		Width: side, Height: side, MipLevels: 1, ArraySize: 1, Format: dxgi.R8UNorm,
		SampleDesc: dxgi.SampleDesc{Count: 1}, BindFlags: d3d11.BindShaderResource,
	}
	from, err := dev.CreateTexture2D(desc, []d3d11.SubresourceData{{SysMem: c.content, SysMemPitch: side}})
	require.NoError(t, err)
	c.all = append(c.all, from)
	for range 2 {
		to, err := dev.CreateTexture2D(desc, nil)
		require.NoError(t, err)
		c.all = append(c.all, to)
	}
	desc.Usage, desc.BindFlags, desc.CPUAccessFlags = d3d11.UsageStaging, 0, d3d11.CPUAccessRead
	to, err := dev.CreateTexture2D(desc, nil)
	require.NoError(t, err)
	c.all = append(c.all, to)
	return c
}

// check reads the last texture.
func (c *copier) check(t *testing.T) {
	t.Helper()
	var m d3d11.MappedSubresource
	last := c.all[len(c.all)-1]
	require.NoError(t, c.ctx.Map(last, 0, d3d11.MapRead, 0, &m))
	got := make([]byte, 0, side*side)
	for y := range side {
		got = append(got, m.Data[y*int(m.RowPitch):][:side]...)
	}
	assert.Equal(t, c.content, got)
	c.ctx.Unmap(last, 0)
}

// Three devices share a node: each has a queue of its own, and each queue is stopped in its work and continues.
func TestDevicesInQueues(t *testing.T) {
	all := map[int][2]int{}
	sys, err := testbench.Open("emu?config=full", counted(t, all), testbench.Options{Queues: forced, Record: eventstest.Record(t)})
	require.NoError(t, err)
	var devices []*copier
	for i := range uint64(3) {
		devices = append(devices, newCopier(t, sys, i))
	}
	for i := range 3 {
		for _, c := range devices {
			c.ctx.CopyResource(c.all[i+1], c.all[i])
			c.ctx.Flush()
		}
	}
	for _, c := range devices {
		c.check(t)
	}
	for _, c := range devices {
		c.dev.Close()
	}
	require.NoError(t, sys.Close())
	for i := range 3 {
		n := all[2+i]
		assert.GreaterOrEqual(t, n[0], 3, "entries of queue %d", 2+i)
		assert.Positive(t, n[1], "queue %d is continued after a stop", 2+i)
	}
	t.Log(all)
}
