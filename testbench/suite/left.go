package suite

import (
	"maps"
	"sync"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/d3d11"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
	"github.com/hilgpu/hilgpu/runtime/verifier"
	"github.com/hilgpu/hilgpu/testbench"
)

// An inventory is a Hook that counts the objects that a user-mode driver was asked to
// create, and those of the kernel that it created.
type inventory struct {
	mu              sync.Mutex
	objects, kernel map[string]int // now, by kind
	asked, left     map[string]int // when pfnDestroyDevice was called, and when it returned
}

func newInventory() *inventory {
	return &inventory{objects: map[string]int{}, kernel: map[string]int{}}
}

// Enter implements verifier.Hook.
func (v *inventory) Enter(_ *ddi.Thread, f *verifier.Func, args ...any) {
	v.mu.Lock()
	defer v.mu.Unlock()
	switch f.Name {
	case "pfnCreateResource", "pfnCreateRenderTargetView", "pfnCreateQuery":
		v.objects[f.Name[len("pfnCreate"):]]++
	case "pfnDestroyResource", "pfnDestroyRenderTargetView", "pfnDestroyQuery":
		v.objects[f.Name[len("pfnDestroy"):]]--
	case "pfnAllocateCb":
		v.kernel["allocations"] += len(args[1].(*umddi.Allocate).AllocationInfo)
	case "pfnDeallocateCb":
		v.kernel["allocations"] -= len(args[1].(*umddi.Deallocate).Allocations)
	case "pfnCreateContextCb":
		v.kernel["contexts"]++
	case "pfnDestroyContextCb":
		v.kernel["contexts"]--
	case "pfnDestroyDevice":
		v.asked = maps.Clone(v.objects)
	}
}

// Leave implements verifier.Hook.
func (v *inventory) Leave(_ *ddi.Thread, f *verifier.Func, _ ...any) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if f.Name == "pfnDestroyDevice" {
		v.left = maps.Clone(v.kernel)
	}
}

// objectsLeft closes a device of an application that released nothing: it has a
// mapped resource, work that was not submitted, a recording and a list.
func objectsLeft(t *T) {
	have := newInventory()
	sys := t.Open(testbench.Options{Hook: have})
	dev, ctx, err := sys.CreateDevice()
	require.NoError(t, err, "CreateDevice succeeds")
	d := &d3d{t, sys, dev, ctx}
	tex := d.texture(rgba8, 8, 8, 2, 2, d3d11.UsageDefault, d3d11.BindRenderTarget)
	view := d.target(tex, 1, 0, 2)
	from, mapped := d.buffer(d3d11.UsageStaging, 0, count(1, 64)), d.buffer(d3d11.UsageStaging, 0, count(2, 64))
	to := d.buffer(d3d11.UsageDefault, d3d11.BindVertexBuffer, make([]byte, 64))
	q, err := d.dev.CreateQuery(&d3d11.QueryDesc{Query: d3d11.QueryEvent})
	require.NoError(t, err, "CreateQuery succeeds for an event")
	_, err = d.dev.CreateSwapChain(d3d11.SwapChainDesc{Width: 8, Height: 8, Format: rgba8, BufferCount: 1})
	require.NoError(t, err, "CreateSwapChain succeeds")
	for _, c := range []*d3d11.Context{d.deferred(), d.deferred(), d.ctx} {
		c.ClearRenderTargetView(view, red)
		c.CopyResource(to, from)
		c.End(q)
		if c != d.ctx {
			d.finish(c, false)
			c.CopyResource(to, from) // a recording that is not finished
		}
	}
	var m d3d11.MappedSubresource
	require.NoError(t, d.ctx.Map(mapped, 0, d3d11.MapRead, 0, &m), "Map(READ) of a staging buffer succeeds")
	d.dev.Close()
	have.mu.Lock()
	defer have.mu.Unlock()
	assert.Equal(t, map[string]int{"Resource": 0, "RenderTargetView": 0, "Query": 0}, have.asked,
		"the runtime destroys all objects before pfnDestroyDevice, also those that the application has left")
	assert.Equal(t, map[string]int{"allocations": 0, "contexts": 0}, have.left,
		"when pfnDestroyDevice returns, the driver has freed each allocation of pfnAllocateCb and each context of pfnCreateContextCb")
}
