package verifier

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/dxgi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// named creates a resource with a handle of the runtime.
func (r *rig) named(rt string) umddi.HResource {
	arg := umddi.CreateResource{}
	h := umddi.HResource{Object: memoryOf(r.funcs.CalcPrivateResourceSize(r.th, r.dev, &arg))}
	r.funcs.CreateResource(r.th, r.dev, &arg, h, umddi.HRTResource{Runtime: rt})
	return h
}

// allocates makes pfnCreateResource attach allocation 3 to the resource of rt.
func (r *rig) allocates(rt string) {
	r.calls("CreateResource", func(t *ddi.Thread) {
		r.inner.KTCallbacks.AllocateCb(t, r.inner.RTDevice, &umddi.Allocate{
			Resource: umddi.HRTResource{Runtime: rt}, AllocationInfo: []umddi.AllocationInfo{{Allocation: 3}},
		})
	})
}

// destroys destroys a resource with an allocation, which the driver frees in the
// named function.
func destroys(freesIn string) func(r *rig) {
	return func(r *rig) {
		r.allocates("a")
		res := r.named("a")
		r.calls(freesIn, func(t *ddi.Thread) {
			r.inner.KTCallbacks.DeallocateCb(t, r.inner.RTDevice, &umddi.Deallocate{Allocations: []ddi.KMHandle{3}})
		})
		r.funcs.DestroyResource(r.th, r.dev, res)
		r.funcs.Flush(r.th, r.dev)
	}
}

// records makes the driver record a copy to the command buffer of its context, and
// submit it in the named function.
func (r *rig) records(submitsIn string) {
	buffer := make([]byte, 8)
	r.system["CreateContextCb"] = func(args, _ []any) {
		arg := args[2].(*umddi.CreateContext)
		arg.Context, arg.CommandBuffer = 7, buffer
	}
	r.system["RenderCb"] = func(args, _ []any) { args[2].(*umddi.Render).NewCommandBuffer = make([]byte, 8) }
	r.calls("IaSetTopology", func(t *ddi.Thread) {
		r.inner.KTCallbacks.CreateContextCb(t, r.inner.RTDevice, &umddi.CreateContext{})
		buffer[0] = 1 // a preamble is no work
	})
	r.funcs.IaSetTopology(r.th, r.dev, 1)
	res := r.make().buffer()
	r.calls("ResourceCopy", func(*ddi.Thread) { buffer[7] = 1 })
	r.calls(submitsIn, func(t *ddi.Thread) {
		r.inner.KTCallbacks.RenderCb(t, r.inner.RTDevice, &umddi.Render{Context: 7})
	})
	r.funcs.ResourceCopy(r.th, r.dev, res, res)
	r.funcs.Flush(r.th, r.dev)
}

// presenting makes a Present call PresentCb n times.
func presenting(n int) func(r *rig) {
	return func(r *rig) {
		res := r.make().buffer()
		r.calls("Present", func(t *ddi.Thread) {
			for range n {
				r.inner.DXGICallbacks.PresentCb(t, r.inner.RTDevice, &umddi.PresentCB{})
			}
		})
		r.arg.DXGIFuncs.Present(r.th, umddi.Present{Device: r.dev, SurfaceToPresent: res, DstResource: res})
	}
}

// answering makes pfnQueryGetData write data.
func answering(data ...byte) func(r *rig) {
	return func(r *rig) {
		q := r.make().query()
		r.driver["QueryGetData"] = func(args, _ []any) { copy(args[3].([]byte), data) }
		r.funcs.QueryGetData(r.th, r.dev, q, make([]byte, 4), 0)
	}
}

// supporting makes pfnCheckFormatSupport return bits for R8G8B8A8_UNORM.
func supporting(bits uint32) func(r *rig) {
	return func(r *rig) {
		r.driver["CheckFormatSupport"] = func(_, results []any) { results[0] = bits }
		r.funcs.CheckFormatSupport(r.th, r.dev, dxgi.R8G8B8A8UNorm)
	}
}

func workCases() []ruleCase {
	return []ruleCase{
		{rule: "resource-allocations", breaks: destroys(""), keeps: destroys("Flush")},
		{rule: "submit-work", breaks: func(r *rig) { r.records("") }, keeps: func(r *rig) { r.records("Flush") }},
		{rule: "present-callback", breaks: presenting(0), keeps: presenting(1)},
		{rule: "query-result", breaks: answering(), keeps: answering(1, 0, 0, 0)},
		{rule: "format-support", breaks: supporting(umddi.FormatTexture2D | umddi.FormatCopy), keeps: supporting(formatBits)},
	}
}

// workAnswers are further ways to break the rules of workCases.
func workAnswers() []answerCase {
	return []answerCase{
		{"allocations remain", "resource-allocations (driver): pfnFlush: leaves allocation 0x3 of resource 2, which was destroyed by pfnDestroyResource: the pfnAllocateCb in pfnCreateResource lacks a pfnDeallocateCb; the call to blame: pfnDeallocateCb, which is missing since pfnDestroyResource", destroys("")},
		{"an allocation of another resource", "resource-allocations (driver): pfnAllocateCb: hResource is not the hRTResource of resource 3, which pfnCreateResource creates", func(r *rig) {
			r.named("a")
			r.allocates("a")
			r.named("b")
		}},
		{"an allocation of no resource", "resource-allocations (driver): pfnAllocateCb: in pfnFlush, hResource is not the hRTResource of a resource of context 1", func(r *rig) {
			r.funcs.DestroyResource(r.th, r.dev, r.named("a"))
			r.flush(func(t *ddi.Thread, kt *umddi.DeviceCallbacks, h umddi.HRTDevice) {
				kt.AllocateCb(t, h, &umddi.Allocate{Resource: umddi.HRTResource{Runtime: "a"}})
			})
		}},
		{"two presents", "present-callback (driver): pfnPresent: returns S_OK after 2 calls of pfnPresentCb, want 1; the call to blame: pfnPresentCb (call #8), which was made before", presenting(2)},
		{"work is not submitted", "submit-work (driver): pfnFlush: returns, and the command buffer of context 0x7 has commands that no pfnRenderCb submitted; " +
			"the last work is that of pfnResourceCopy; the call to blame: pfnRenderCb, which is missing in pfnFlush", func(r *rig) { r.records("") }},
		{"present before the work", "submit-work (driver): pfnPresentCb: is called in pfnPresent, and the command buffer of context 0x7 has commands that no pfnRenderCb submitted; " +
			"the last work is that of pfnResourceCopy; the call to blame: pfnRenderCb, which is missing in pfnPresent", func(r *rig) {
			r.reports("Flush", "device", ddi.DDIDeviceRemoved)
			r.records("")
			presenting(1)(r)
		}},
		{"an event that is false", "query-result (driver): pfnQueryGetData: the event of query 2 is FALSE, want TRUE, or DXGI_DDI_ERR_WASSTILLDRAWING in pfnSetErrorCb", answering(0, 0, 0, 0)},
		{"a BOOL that is none", "query-result (driver): pfnQueryGetData: the BOOL of query 2 is 0x101, want TRUE or FALSE", answering(1, 1, 0, 0)},
		{"a bit that does not exist", "format-support (driver): pfnCheckFormatSupport: returns 0x70f for R8G8B8A8_UNORM (28), want only bits of 0x30f", supporting(0x70f)},
	}
}

// Without a result, the memory for it is not changed.
func TestNoQueryResult(t *testing.T) {
	r := newRig(t, Options{}, native)
	q, data := r.make().query(), []byte{1, 2, 3, 4}
	r.reports("QueryGetData", "device", ddi.DDIStillDrawing)
	r.funcs.QueryGetData(r.th, r.dev, q, data, 0)
	assert.Equal(t, []byte{1, 2, 3, 4}, data)
	assert.Empty(t, r.m.Violations())
}
