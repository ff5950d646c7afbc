package cmdbuf_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/dxgi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
	"github.com/hilgpu/hilgpu/runtime/verifier"
	"github.com/hilgpu/hilgpu/testbench/cmdbuf"
)

// A driver calls a hook as the wrappers of package verifier do.
type driver struct {
	*cmdbuf.Hook
	t   *ddi.Thread
	log []string
}

func newDriver() *driver {
	d := &driver{t: new(ddi.Thread)}
	d.Hook = cmdbuf.New(cmdbuf.Listener{
		Wrote: func(_ *ddi.Thread, c ddi.KMHandle, from, to int) {
			d.log = append(d.log, fmt.Sprintf("%s: context %d, %d to %d", d.t.Stack()[0], c, from, to))
		},
		Renders: func(_ *ddi.Thread, commands []byte) func(bool) {
			d.log = append(d.log, fmt.Sprintf("render of %d", len(commands)))
			return func(ok bool) { d.log = append(d.log, fmt.Sprint("rendered ", ok)) }
		},
	})
	return d
}

// call calls a function that does something.
func (d *driver) call(name string, callback bool, result any, do func(), args ...any) {
	f := &verifier.Func{Name: name, Callback: callback}
	d.t.Push(name)
	d.Enter(d.t, f, args...)
	do()
	d.Leave(d.t, f, result)
	d.t.Pop()
}

// fresh returns a command buffer as the kernel hands it out with checks.
func fresh() []byte {
	b := make([]byte, 256)
	for i := range b {
		b[i] = 0xa5
	}
	return b
}

func TestHook(t *testing.T) {
	d := newDriver()
	device, other := umddi.HDevice{Root: new(ddi.Root)}, umddi.HDevice{Root: new(ddi.Root)}
	nothing := func() {}
	ctx := &umddi.CreateContext{}
	d.call("pfnCreateDevice", false, ddi.OK, func() {
		d.call("pfnCreateContextCb", true, ddi.OK, func() {
			// A DPC in between has a callback with one argument.
			d.call("DxgkCbNotifyDpc", true, nil, nothing, 0)
			ctx.Context, ctx.CommandBuffer = 7, fresh()
		}, 0, ctx)
	}, umddi.HAdapter{}, &umddi.CreateDevice{Device: device})
	at := 0
	write := func(p pkt.Packet) func() {
		return func() {
			b, err := p.Append(nil)
			require.NoError(t, err)
			at += copy(ctx.CommandBuffer[at:], b)
		}
	}
	d.call("pfnResourceCopy", false, nil, write(pkt.Copy{Bytes: 4}), device)
	d.call("pfnResourceCopy", false, nil, nothing, other)
	d.call("pfnCreateResource", false, nil, write(pkt.Fill{Bytes: 4, Value: 0}), device)
	d.call("pfnRecycleDestroyCommandList", false, nil, nothing, device)
	d.call("pfnClearRenderTargetView", false, nil, nothing, device)
	d.call("pfnFlush", false, nil, func() {
		write(pkt.NOP{Skip: 2})()
		arg := &umddi.Render{Context: 7, CommandOffset: 24, CommandLength: 24}
		d.call("pfnRenderCb", true, ddi.OK, func() {
			d.call("DxgkCbNotifyDpc", true, nil, nothing, 0)
			arg.NewCommandBuffer = fresh()
		}, 0, arg)
		ctx.CommandBuffer, at = arg.NewCommandBuffer, 0
		write(pkt.Copy{Bytes: 4})()
		d.call("pfnRenderCb", true, ddi.EFail, nothing, 0, &umddi.Render{Context: 7, CommandLength: 24})
	}, device)
	assert.Equal(t, []string{
		"pfnResourceCopy: context 7, 0 to 24",
		"pfnClearRenderTargetView: context 7, 24 to 48", // any thread may call pfnCreateResource, and release a list
		"pfnFlush: context 7, 48 to 60",
		"render of 24", "rendered true",
		"pfnFlush: context 7, 0 to 24",
		"render of 24", "rendered false",
	}, d.log)
}

// An allocation has the name of its resource in a trace, whenever it is made.
func TestResources(t *testing.T) {
	var got []string
	d := &driver{t: new(ddi.Thread)}
	d.Hook = cmdbuf.New(cmdbuf.Listener{Allocated: func(h ddi.KMHandle, r cmdbuf.Resource) {
		got = append(got, fmt.Sprintf("%#x: %v (%v)", h, r, r.Texture))
	}})
	device := umddi.HDevice{Root: new(ddi.Root)}
	allocates := func(rt any, result ddi.HRESULT, hs ...ddi.KMHandle) func() {
		return func() {
			arg := &umddi.Allocate{Resource: umddi.HRTResource{Runtime: rt}}
			for _, h := range hs {
				arg.AllocationInfo = append(arg.AllocationInfo, umddi.AllocationInfo{Allocation: h})
			}
			d.call("pfnAllocateCb", true, result, func() {}, 0, arg)
		}
	}
	creates := func(arg *umddi.CreateResource, rt any, do func()) umddi.HResource {
		res := umddi.HResource{Object: new(ddi.Object)}
		d.call("pfnCreateResource", false, nil, do, device, arg, res, umddi.HRTResource{Runtime: rt})
		return res
	}
	buffer := &umddi.CreateResource{MipInfoList: []umddi.MipInfo{{TexelWidth: 100}}, ResourceDimension: umddi.Buffer, MipLevels: 1, ArraySize: 1}
	texture := &umddi.CreateResource{
		MipInfoList: []umddi.MipInfo{{TexelWidth: 16, TexelHeight: 8}, {TexelWidth: 8, TexelHeight: 4}}, ResourceDimension: umddi.Texture2D,
		Format: dxgi.R8G8B8A8UNorm, MipLevels: 2, ArraySize: 3,
	}
	one := creates(buffer, 1, allocates(1, ddi.OK, 0x10))
	creates(texture, "two", allocates("two", ddi.OK, 0x11, 0x12))
	creates(nil, "local", func() {}) // opens one in a deferred context
	d.call("pfnFlush", false, nil, allocates(1, ddi.OK, 0x13), device)
	d.call("pfnFlush", false, nil, allocates("two", ddi.EOutOfMemory, 0), device)
	d.call("pfnFlush", false, nil, allocates(nil, ddi.OK, 0x14), device)
	creates(buffer, []int{}, allocates([]int{}, ddi.OK, 0x15)) // no key of a map
	d.call("pfnDestroyResource", false, nil, func() {}, device, one)
	d.call("pfnFlush", false, nil, allocates(1, ddi.OK, 0x16), device)
	d.call("pfnDestroyDevice", false, nil, func() {}, device)
	creates(buffer, "two", allocates("two", ddi.OK, 0x17))
	assert.Equal(t, []string{
		"0x10: resource 1, a buffer of 100 bytes (false)",
		"0x11: resource 2, a texture of 16x8 R8G8B8A8_UNORM with 6 subresources (true)",
		"0x12: resource 2, a texture of 16x8 R8G8B8A8_UNORM with 6 subresources (true)",
		"0x13: resource 1, a buffer of 100 bytes (false)",
		"0x14: ,  (false)",
		"0x15: ,  (false)",
		"0x16: ,  (false)",
		"0x17: resource 4, a buffer of 100 bytes (false)",
	}, got)
}

// A map for reading that returns memory is told with its resource.
func TestMapped(t *testing.T) {
	var got []string
	d := &driver{t: new(ddi.Thread)}
	d.Hook = cmdbuf.New(cmdbuf.Listener{
		Allocated: func(ddi.KMHandle, cmdbuf.Resource) {},
		Mapped:    func(_ *ddi.Thread, r cmdbuf.Resource) { got = append(got, r.Name) },
	})
	device, res := umddi.HDevice{Root: new(ddi.Root)}, umddi.HResource{Object: new(ddi.Object)}
	buffer := &umddi.CreateResource{MipInfoList: []umddi.MipInfo{{TexelWidth: 100}}, ResourceDimension: umddi.Buffer, MipLevels: 1, ArraySize: 1}
	d.call("pfnCreateResource", false, nil, func() {}, device, buffer, res, umddi.HRTResource{Runtime: 1})
	maps := func(name string, typ umddi.Map, result umddi.Mapped) {
		f := &verifier.Func{Name: name}
		d.t.Push(name)
		d.Enter(d.t, f, device, res, uint32(0), typ, umddi.MapFlags(0))
		d.Leave(d.t, f, result)
		d.t.Pop()
	}
	memory := umddi.Mapped{Data: make([]byte, 100)}
	maps("pfnStagingResourceMap", umddi.MapWrite, memory)
	maps("pfnStagingResourceMap", umddi.MapReadWrite, memory)
	maps("pfnStagingResourceMap", umddi.MapRead, umddi.Mapped{})
	maps("pfnDynamicResourceMapDiscard", umddi.MapRead, memory)
	require.Empty(t, got)
	maps("pfnStagingResourceMap", umddi.MapRead, memory)
	assert.Equal(t, []string{"resource 1"}, got)
}
