package verifier

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/dxgi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// bytesOf creates a buffer with data.
func (m maker) bytes(data string, usage umddi.Usage, bind uint32) umddi.HResource {
	return m.resource(umddi.CreateResource{
		ResourceDimension: umddi.Buffer, Usage: usage, BindFlags: bind, MipInfoList: []umddi.MipInfo{{TexelWidth: uint32(len(data)), TexelHeight: 1}},
		MipLevels: 1, ArraySize: 1, InitialDataUP: []umddi.SubresourceUP{{SysMem: []byte(data)}},
	})
}

func (m maker) stagingBytes(data string) umddi.HResource {
	return m.bytes(data, umddi.UsageStaging, 0)
}

// reads maps a staging buffer for reading. The driver returns data.
func (r *rig) reads(res umddi.HResource, data string) {
	r.driver["StagingResourceMap"] = func(_, results []any) { results[0] = umddi.Mapped{Data: []byte(data)} }
	r.funcs.StagingResourceMap(r.th, r.dev, res, 0, umddi.MapRead, 0)
}

// mapsIn makes map functions of the driver return memory.
func (r *rig) mapsIn(memory []byte) {
	for _, f := range []string{"StagingResourceMap", "DynamicIABufferMapDiscard", "DynamicIABufferMapNoOverwrite"} {
		r.driver[f] = func(_, results []any) { results[0] = umddi.Mapped{Data: memory} }
	}
}

func contentCases() []ruleCase {
	returns := func(data string) func(r *rig) {
		return func(r *rig) { r.reads(r.make().stagingBytes("abcd"), data) }
	}
	return []ruleCase{{rule: "content", breaks: returns("abxd"), keeps: returns("abcd")}}
}

// Each work on a staging buffer of 4 bytes, which a map then returns as zeros: what the
// finding says of it, or "" if the contents are unknown.
func TestContent(t *testing.T) {
	const made = "pfnStagingResourceMap: resource 2, subresource 0: byte 0 of row 0 is 0x00, want "
	for _, tt := range []struct {
		name, says string
		do         func(r *rig, to umddi.HResource)
	}{
		{"initial data", made + "0x61, as pfnCreateResource (call 7) made it", func(*rig, umddi.HResource) {}},
		{"a copy", made + "0x65, as pfnResourceCopy (call 12) made it from the value of pfnCreateResource (call 10)", func(r *rig, to umddi.HResource) {
			r.funcs.ResourceCopy(r.th, r.dev, to, r.make().stagingBytes("efgh"))
		}},
		{"a region", made + "0x66, as pfnResourceCopyRegion (call 12) made it from the value of pfnCreateResource (call 10)", func(r *rig, to umddi.HResource) {
			r.funcs.ResourceCopyRegion(r.th, r.dev, to, 0, 0, 0, 0, r.make().stagingBytes("efgh"), 0, &umddi.Box{Left: 1, Right: 2, Bottom: 1, Back: 1})
		}},
		{"an update", made + "0x69, as pfnResourceUpdateSubresourceUP (call 9) made it", func(r *rig, to umddi.HResource) {
			r.funcs.ResourceUpdateSubresourceUP(r.th, r.dev, to, 0, nil, []byte("ijkl"), 4, 4)
		}},
		{"a map for writing", made + "0x6d, as pfnStagingResourceUnmap (call 10) made it", func(r *rig, to umddi.HResource) {
			memory := []byte("abcd")
			r.mapsIn(memory)
			r.funcs.StagingResourceMap(r.th, r.dev, to, 0, umddi.MapWrite, 0)
			copy(memory, "mnop")
			r.funcs.StagingResourceUnmap(r.th, r.dev, to, 0)
		}},
		{"a discard", made + "0x71, as pfnResourceCopy (call 14) made it from the value of pfnDynamicIABufferUnmap (call 13)", func(r *rig, to umddi.HResource) {
			from := r.make().bytes("....", umddi.UsageDynamic, umddi.BindVertexBuffer)
			r.mapsIn([]byte("qrst"))
			r.funcs.DynamicIABufferMapDiscard(r.th, r.dev, from, 0, umddi.MapWriteDiscard, 0)
			r.funcs.DynamicIABufferUnmap(r.th, r.dev, from, 0)
			r.funcs.ResourceCopy(r.th, r.dev, to, from)
		}},
		{"a change without a discard", made + "0x75, as pfnResourceCopy (call 14) made it from the value of pfnDynamicIABufferUnmap (call 13)", func(r *rig, to umddi.HResource) {
			from := r.make().bytes("....", umddi.UsageDynamic, umddi.BindVertexBuffer)
			memory := []byte("....")
			r.mapsIn(memory)
			r.funcs.DynamicIABufferMapNoOverwrite(r.th, r.dev, from, 0, umddi.MapWriteNoOverwrite, 0)
			copy(memory, "u")
			r.funcs.DynamicIABufferUnmap(r.th, r.dev, from, 0)
			r.funcs.ResourceCopy(r.th, r.dev, to, from)
		}},
		{"a list", made + "0x65, as pfnResourceCopy (call 16, executed by pfnCommandListExecute in call 20) made it from the value of pfnCreateResource (call 10)", func(r *rig, to umddi.HResource) {
			from := r.make().stagingBytes("efgh")
			d := r.deferred("d")
			d.funcs.ResourceCopy(r.dth, d.h, d.open(to), d.open(from))
			r.funcs.CommandListExecute(r.th, r.dev, d.list())
		}},
		{"a discard in a list", made + "0x71, as pfnResourceCopy (call 18, executed by pfnCommandListExecute in call 22) made it from the value of " +
			"pfnDynamicIABufferUnmap (call 17, executed by pfnCommandListExecute in call 22)", func(r *rig, to umddi.HResource) {
			from := r.make().bytes("....", umddi.UsageDynamic, umddi.BindVertexBuffer)
			d := r.deferred("d")
			local, target := d.open(from), d.open(to)
			r.mapsIn([]byte("qrst"))
			d.funcs.DynamicIABufferMapDiscard(r.dth, d.h, local, 0, umddi.MapWriteDiscard, 0)
			d.funcs.DynamicIABufferUnmap(r.dth, d.h, local, 0)
			d.funcs.ResourceCopy(r.dth, d.h, target, local)
			r.funcs.CommandListExecute(r.th, r.dev, d.list())
		}},
		{"a map without waiting", made + "0x61, as pfnCreateResource (call 7) made it; the pfnLockCb of allocation 0x3 did not wait: IgnoreSync is set", func(r *rig, to umddi.HResource) {
			r.driver["StagingResourceMap"] = func(args, results []any) {
				r.inner.KTCallbacks.LockCb(args[0].(*ddi.Thread), r.inner.RTDevice, &umddi.Lock{Allocation: 3, IgnoreSync: true})
				results[0] = umddi.Mapped{Data: make([]byte, 4)}
			}
			r.funcs.StagingResourceMap(r.th, r.dev, to, 0, umddi.MapRead, 0)
			r.funcs.StagingResourceUnmap(r.th, r.dev, to, 0)
		}},
		{"a list that is only recorded", made + "0x61, as pfnCreateResource (call 7) made it", func(r *rig, to umddi.HResource) {
			from := r.make().stagingBytes("efgh")
			d := r.deferred("d")
			d.funcs.ResourceCopy(r.dth, d.h, d.open(to), d.open(from))
			d.list()
		}},
		{"work that failed", "", func(r *rig, to umddi.HResource) {
			r.reports("ResourceCopy", "device", ddi.EOutOfMemory)
			r.funcs.ResourceCopy(r.th, r.dev, to, r.make().stagingBytes("efgh"))
		}},
		{"work with a predicate", "", func(r *rig, to umddi.HResource) {
			r.funcs.SetPredication(r.th, r.dev, r.make().query(), true)
			r.funcs.ResourceCopy(r.th, r.dev, to, r.make().stagingBytes("efgh"))
		}},
		{"a list that failed", "", func(r *rig, to umddi.HResource) {
			d := r.deferred("d")
			local := d.open(to)
			d.funcs.ResourceUpdateSubresourceUP(r.dth, d.h, local, 0, nil, []byte("ijkl"), 4, 4)
			r.reports("CommandListExecute", "device", ddi.EOutOfMemory)
			r.funcs.CommandListExecute(r.th, r.dev, d.list())
		}},
		{"a drawing of the kernel", "", func(r *rig, _ umddi.HResource) {
			r.k.KernelDraws(true)
			r.k.KernelDraws(false)
		}},
		{"work beside a drawing of the kernel", "", func(r *rig, to umddi.HResource) {
			r.k.KernelDraws(true)
			r.funcs.ResourceUpdateSubresourceUP(r.th, r.dev, to, 0, nil, []byte("ijkl"), 4, 4)
		}},
		{"work after a drawing of the kernel", made + "0x69, as pfnResourceUpdateSubresourceUP (call 9) made it", func(r *rig, to umddi.HResource) {
			r.k.KernelDraws(true)
			r.k.KernelDraws(false)
			r.funcs.ResourceUpdateSubresourceUP(r.th, r.dev, to, 0, nil, []byte("ijkl"), 4, 4)
		}},
		{"a callback that failed", "", func(r *rig, _ umddi.HResource) { r.loses() }},
		{"a present", "", func(r *rig, to umddi.HResource) {
			r.calls("Present", func(t *ddi.Thread) { r.inner.DXGICallbacks.PresentCb(t, r.inner.RTDevice, &umddi.PresentCB{}) })
			r.arg.DXGIFuncs.Present(r.th, umddi.Present{Device: r.dev, SurfaceToPresent: r.make().stagingBytes("efgh"), DstResource: to})
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, Options{}, native)
			r.sizes()
			to := r.make().stagingBytes("abcd")
			tt.do(r, to)
			r.reads(to, "\x00\x00\x00\x00")
			assert.Empty(t, r.m.Violations())
			if tt.says == "" {
				assert.Empty(t, r.m.Findings())
			} else if assert.Len(t, r.m.Findings(), 1) {
				assert.Equal(t, tt.says, r.m.Findings()[0].First)
			}
		})
	}
}

// A clear is converted to the format of the view, with a tolerance of 1.
func TestContentOfClears(t *testing.T) {
	for got, says := range map[string]string{
		"\xff\x00\x80\xff": "", "\xff\x00\x7f\xff": "", "\xff\x02\x80\xff": "byte 1 of row 0 is 0x02, want 0x00, as pfnResourceCopy (call 11) made it " +
			"from the value of pfnClearRenderTargetView (call 8)",
	} {
		r := newRig(t, Options{}, native)
		arg := umddi.CreateResource{
			ResourceDimension: umddi.Texture2D, Format: dxgi.R8G8B8A8UNorm, MipInfoList: []umddi.MipInfo{{TexelWidth: 1, TexelHeight: 1}}, MipLevels: 1, ArraySize: 1,
		}
		target := r.make().resource(arg)
		view := umddi.CreateRenderTargetView{Resource: target, Format: dxgi.R8G8B8A8UNorm, ArraySize: 1}
		v := umddi.HRenderTargetView{Object: memoryOf(r.funcs.CalcPrivateRenderTargetViewSize(r.th, r.dev, &view))}
		r.funcs.CreateRenderTargetView(r.th, r.dev, &view, v, umddi.HRTRenderTargetView{})
		r.funcs.ClearRenderTargetView(r.th, r.dev, v, [4]float32{1, 0, 0.5, 1})
		arg.Usage = umddi.UsageStaging
		to := r.make().resource(arg)
		r.funcs.ResourceCopy(r.th, r.dev, to, target)
		r.driver["StagingResourceMap"] = func(_, results []any) { results[0] = umddi.Mapped{Data: []byte(got), RowPitch: 4} }
		r.funcs.StagingResourceMap(r.th, r.dev, to, 0, umddi.MapRead, 0)
		if says == "" {
			assert.Empty(t, r.m.Findings(), "%q", got)
		} else if assert.Len(t, r.m.Findings(), 1) {
			assert.Contains(t, r.m.Findings()[0].First, says)
		}
	}
}
