package verifier

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmt"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// flush makes pfnFlush run code of the driver.
func (r *rig) flush(f func(t *ddi.Thread, kt *umddi.DeviceCallbacks, h umddi.HRTDevice)) {
	r.calls("Flush", func(t *ddi.Thread) { f(t, r.inner.KTCallbacks, r.inner.RTDevice) })
	r.funcs.Flush(r.th, r.dev)
}

// answers makes a callback of the runtime return a result.
func (r *rig) answers(callback string, hr ddi.HRESULT) {
	r.system[callback] = func(_, results []any) { results[0] = hr }
}

// loses makes a callback return that the device is removed.
func (r *rig) loses() {
	r.answers("LockCb", ddi.DDIDeviceRemoved)
	r.flush(func(t *ddi.Thread, kt *umddi.DeviceCallbacks, h umddi.HRTDevice) { kt.LockCb(t, h, &umddi.Lock{}) })
}

// staging creates a resource that can be mapped.
func (r *rig) staging() umddi.HResource {
	return r.make().resource(umddi.CreateResource{Usage: umddi.UsageStaging})
}

// mapsAndLocks maps a resource n times. The driver locks an allocation in each map
// and unlocks it in each unmap if unlocks is set.
func mapsAndLocks(n int, unlocks bool) func(r *rig) {
	return func(r *rig) {
		res := r.staging()
		r.driver["StagingResourceMap"] = func(args, _ []any) {
			r.inner.KTCallbacks.LockCb(args[0].(*ddi.Thread), r.inner.RTDevice, &umddi.Lock{Allocation: 3})
		}
		r.driver["StagingResourceUnmap"] = func(args, _ []any) {
			if unlocks {
				r.inner.KTCallbacks.UnlockCb(args[0].(*ddi.Thread), r.inner.RTDevice, &umddi.Unlock{Allocations: []ddi.KMHandle{3}})
			}
		}
		for range n {
			r.funcs.StagingResourceMap(r.th, r.dev, res, 0, umddi.MapRead, 0)
			r.funcs.StagingResourceUnmap(r.th, r.dev, res, 0)
		}
	}
}

// readOnly maps a resource. The driver locks it only for reading.
func readOnly(typ umddi.Map) func(r *rig) {
	return func(r *rig) {
		memory := make([]byte, 64)
		r.system["LockCb"] = func(args, _ []any) { args[2].(*umddi.Lock).Data = memory }
		r.driver["StagingResourceMap"] = func(args, results []any) {
			r.inner.KTCallbacks.LockCb(args[0].(*ddi.Thread), r.inner.RTDevice, &umddi.Lock{Allocation: 3, ReadOnly: true})
			results[0] = umddi.Mapped{Data: memory[16:32:32]}
		}
		r.funcs.StagingResourceMap(r.th, r.dev, r.staging(), 0, typ, 0)
	}
}

// mapping maps a buffer of 16 bytes; the driver returns n bytes with a pitch.
func mapping(n int, pitch uint32) func(r *rig) {
	return func(r *rig) {
		res := r.make().resource(umddi.CreateResource{
			Usage: umddi.UsageStaging, ResourceDimension: umddi.Buffer, MipInfoList: []umddi.MipInfo{{TexelWidth: 8, TexelHeight: 2}},
		})
		r.driver["StagingResourceMap"] = func(_, results []any) { results[0] = umddi.Mapped{Data: make([]byte, n), RowPitch: pitch} }
		r.funcs.StagingResourceMap(r.th, r.dev, res, 0, umddi.MapRead, 0)
	}
}

// submitting creates a kernel context with two command buffers, which take turns,
// and submits three times. A stale driver always records to the first one.
func submitting(stale bool) func(r *rig) {
	return func(r *rig) {
		var sets [2][]byte
		sets[0], sets[1] = make([]byte, 8), make([]byte, 8)
		n := 0
		r.system["CreateContextCb"] = func(args, _ []any) {
			arg := args[2].(*umddi.CreateContext)
			arg.Context, arg.CommandBuffer = 7, sets[0]
		}
		r.system["RenderCb"] = func(args, _ []any) {
			n++
			args[2].(*umddi.Render).NewCommandBuffer = sets[n%2]
		}
		r.flush(func(t *ddi.Thread, kt *umddi.DeviceCallbacks, h umddi.HRTDevice) {
			created := umddi.CreateContext{}
			kt.CreateContextCb(t, h, &created)
			record := created.CommandBuffer
			for range 3 {
				record[3] = 1
				arg := umddi.Render{Context: 7}
				kt.RenderCb(t, h, &arg)
				if !stale {
					record = arg.NewCommandBuffer
				}
			}
		})
	}
}

func holdingCases() []ruleCase {
	size := func(n int) func(r *rig) {
		return func(r *rig) {
			r.driver["CalcPrivateQuerySize"] = func(_, results []any) { results[0] = n }
			r.funcs.CalcPrivateQuerySize(r.th, r.dev, umddi.CreateQuery{})
		}
	}
	presents := func(hr ddi.HRESULT) func(r *rig) {
		return func(r *rig) {
			res := r.make().buffer()
			r.driver["Present"] = func(_, results []any) { results[0] = hr }
			r.arg.DXGIFuncs.Present(r.th, umddi.Present{Device: r.dev, SurfaceToPresent: res, DstResource: res})
		}
	}
	refuses := func(hr ddi.HRESULT) func(r *rig) {
		return func(r *rig) {
			r.answers("LockCb", hr)
			r.flush(func(t *ddi.Thread, kt *umddi.DeviceCallbacks, h umddi.HRTDevice) {
				kt.LockCb(t, h, &umddi.Lock{Allocation: 3})
			})
		}
	}
	locks := func(unlock bool) func(r *rig) {
		return func(r *rig) {
			r.flush(func(t *ddi.Thread, kt *umddi.DeviceCallbacks, h umddi.HRTDevice) {
				kt.LockCb(t, h, &umddi.Lock{Allocation: 3})
				if unlock {
					kt.UnlockCb(t, h, &umddi.Unlock{Allocations: []ddi.KMHandle{3}})
				}
				kt.DeallocateCb(t, h, &umddi.Deallocate{Allocations: []ddi.KMHandle{3}})
			})
		}
	}
	leaves := func(free bool) func(r *rig) {
		return func(r *rig) {
			r.flush(func(t *ddi.Thread, kt *umddi.DeviceCallbacks, h umddi.HRTDevice) {
				kt.AllocateCb(t, h, &umddi.Allocate{AllocationInfo: []umddi.AllocationInfo{{Allocation: 3}}})
				kt.CreateContextCb(t, h, &umddi.CreateContext{Context: 4})
				if free {
					kt.DeallocateCb(t, h, &umddi.Deallocate{Allocations: []ddi.KMHandle{3}})
				}
			})
			r.calls("DestroyDevice", func(t *ddi.Thread) {
				if free {
					r.inner.KTCallbacks.DestroyContextCb(t, r.inner.RTDevice, 4)
				}
			})
			r.funcs.DestroyDevice(r.th, r.dev)
		}
	}
	passes := func(to any) func(r *rig) {
		return func(r *rig) {
			r.flush(func(t *ddi.Thread, kt *umddi.DeviceCallbacks, _ umddi.HRTDevice) {
				kt.LockCb(t, umddi.HRTDevice{Runtime: to}, &umddi.Lock{Allocation: 3})
			})
		}
	}
	removed := func(before func(r *rig)) func(r *rig) {
		return func(r *rig) {
			before(r)
			r.reports("ResourceCopy", "device", ddi.DDIDeviceRemoved)
			res := r.make().buffer()
			r.funcs.ResourceCopy(r.th, r.dev, res, res)
		}
	}
	return []ruleCase{
		{rule: "lock-unmapped", breaks: mapsAndLocks(2, false), keeps: mapsAndLocks(3, true)},
		{rule: "lock-readonly", breaks: readOnly(umddi.MapWrite), keeps: readOnly(umddi.MapRead)},
		{rule: "callback-device", breaks: passes("another"), keeps: passes(nil)},
		{rule: "removed-report", breaks: removed(func(*rig) {}), keeps: removed((*rig).loses)},
		{rule: "size-range", breaks: size(maxPrivate + 1), keeps: size(maxPrivate)},
		{rule: "map-result", breaks: mapping(23, 16), keeps: mapping(24, 16)},
		{rule: "present-result", breaks: presents(ddi.EFail), keeps: presents(ddi.DDIStillDrawing)},
		{rule: "callback-refused", breaks: refuses(ddi.DDINotAvailable), keeps: refuses(ddi.DDIStillDrawing)},
		{rule: "buffer-stale", breaks: submitting(true), keeps: submitting(false)},
		{rule: "lock-held", breaks: locks(false), keeps: locks(true)},
		{rule: "kernel-leak", breaks: leaves(false), keeps: leaves(true)},
	}
}

// An answerCase breaks a rule, with the text of the violation.
type answerCase struct {
	name, says string
	breaks     func(r *rig)
}

// Rules that an answer of the driver breaks in more ways than one.
func TestAnswers(t *testing.T) {
	for _, tt := range append(workAnswers(), []answerCase{
		{"a negative size", "size-range (driver): pfnCalcPrivateQuerySize: returns -1, want 0 to 1048576", func(r *rig) {
			r.driver["CalcPrivateQuerySize"] = func(_, results []any) { results[0] = -1 }
			r.funcs.CalcPrivateQuerySize(r.th, r.dev, umddi.CreateQuery{})
		}},
		{"a pitch below a row", "map-result (driver): pfnStagingResourceMap: RowPitch is 7, want at least 8, a row of resource 2, or an error in pfnSetErrorCb", mapping(64, 7)},
		{"a context remains", "kernel-leak (driver): pfnDestroyDevice: returns and leaves 1 context of pfnCreateContextCb without pfnDestroyContextCb; the call to blame: pfnDestroyContextCb, which is missing in pfnDestroyDevice", func(r *rig) {
			r.flush(func(t *ddi.Thread, kt *umddi.DeviceCallbacks, h umddi.HRTDevice) {
				kt.CreateContextCb(t, h, &umddi.CreateContext{Context: 4})
			})
			r.funcs.DestroyDevice(r.th, r.dev)
		}},
		{"an allocation remains", "kernel-leak (driver): pfnDestroyDevice: returns and leaves 2 allocations of pfnAllocateCb without pfnDeallocateCb (0x3 from pfnFlush); the call to blame: pfnDeallocateCb, which is missing in pfnDestroyDevice", func(r *rig) {
			r.flush(func(t *ddi.Thread, kt *umddi.DeviceCallbacks, h umddi.HRTDevice) {
				kt.AllocateCb(t, h, &umddi.Allocate{AllocationInfo: []umddi.AllocationInfo{{Allocation: 4}, {Allocation: 3}}})
			})
			r.funcs.DestroyDevice(r.th, r.dev)
		}},
		{"a lock remains", "lock-held (driver): pfnDeallocateCb: allocation 0x3 is locked 2 times: the pfnLockCb in pfnFlush lacks a pfnUnlockCb; the call to blame: pfnUnlockCb, which is missing in pfnFlush", func(r *rig) {
			r.flush(func(t *ddi.Thread, kt *umddi.DeviceCallbacks, h umddi.HRTDevice) {
				kt.LockCb(t, h, &umddi.Lock{Allocation: 3})
				kt.LockCb(t, h, &umddi.Lock{Allocation: 3})
				kt.DeallocateCb(t, h, &umddi.Deallocate{Allocations: []ddi.KMHandle{3}})
			})
		}},
		{"an unknown allocation", "callback-refused (driver): pfnLockCb: returns E_INVALIDARG, called in pfnFlush with Allocation 0x0; 0x0 is no allocation that pfnAllocateCb returned and pfnDeallocateCb has not freed", refused(func(t *ddi.Thread, kt *umddi.DeviceCallbacks, h umddi.HRTDevice) {
			kt.LockCb(t, h, &umddi.Lock{})
		})},
		{"an unknown allocation in a list", "callback-refused (driver): pfnRenderCb: returns E_INVALIDARG, called in pfnFlush with Context 0x7, CommandOffset 0, CommandLength 0 of 0, " +
			"NumAllocations 1 of 1, NumPatchLocations 0 of 0; 0x8 is no allocation that pfnAllocateCb returned and pfnDeallocateCb has not freed", refused(func(t *ddi.Thread, kt *umddi.DeviceCallbacks, h umddi.HRTDevice) {
			kt.CreateContextCb(t, h, &umddi.CreateContext{Context: 7, AllocationList: []umddi.AllocationList{{Allocation: 8}}})
			kt.RenderCb(t, h, &umddi.Render{Context: 7, NumAllocations: 1})
		})},
		{"an unlock without a lock", "callback-refused (driver): pfnUnlockCb: returns E_INVALIDARG, called in pfnFlush with Allocations [0x3]; 0x3 was never locked by pfnLockCb; the call to blame: pfnLockCb, which has not locked allocation 0x3", refused(func(t *ddi.Thread, kt *umddi.DeviceCallbacks, h umddi.HRTDevice) {
			kt.AllocateCb(t, h, &umddi.Allocate{AllocationInfo: []umddi.AllocationInfo{{Allocation: 3}}})
			kt.UnlockCb(t, h, &umddi.Unlock{Allocations: []ddi.KMHandle{3}})
		})},
		{"the second map locks again", "lock-unmapped (driver): pfnStagingResourceMap: allocation 0x3 has 2 pfnLockCb of map functions and 1 subresource is mapped, " +
			"want the pfnUnlockCb of the earlier ones in pfnStagingResourceUnmap; the call to blame: pfnStagingResourceUnmap (call #8, 2 calls ago), which made no pfnUnlockCb", mapsAndLocks(2, false)},
		{"a size that is not written", "size-check (driver): pfnCheckDeferredContextHandleSizes: returns 5 and wrote only 4 sizes", func(r *rig) {
			r.driver["CheckDeferredContextHandleSizes"] = func(_, results []any) { results[0] = 5 }
			r.funcs.CheckDeferredContextHandleSizes(r.th, r.dev, make([]umddi.HandleSize, 5))
		}},
		{"an index beyond private memory", "driver-panic (driver): pfnCreateQuery: runtime error: index out of range [12] with length 12; " +
			"query 2 has 12 bytes of private memory as pfnCalcPrivateQuerySize returned; the call to blame: pfnCalcPrivateQuerySize (call #4, 1 call ago), result, which is 12 for query 2", func(r *rig) {
			r.driver["CreateQuery"] = func(args, _ []any) { args[3].(umddi.HQuery).Private[rigPrivate]++ }
			r.make().query()
		}},
		{"a failed recycling", "recycle-result (driver): pfnRecycleCreateCommandList: returns E_FAIL, want S_OK or E_OUTOFMEMORY; context 2 is from pfnRecycleCreateDeferredContext; " +
			"command list 3 has 12 bytes of private memory as pfnCalcPrivateCommandListSize returned and is from pfnCreateCommandList, pfnRecycleDestroyCommandList, pfnRecycleCommandList; the call to blame: pfnCreateCommandList (call #7, 4 calls ago), which left the 12 bytes of private memory of command list 3 as they were", func(r *rig) {
			d := r.deferred("d")
			l := d.finish()
			r.funcs.RecycleDestroyCommandList(r.th, r.dev, l)
			d.funcs.RecycleCommandList(r.dth, d.h, l)
			r.driver["RecycleCreateCommandList"] = func(_, results []any) { results[0] = ddi.EFail }
			d.again(l)
		}},
		{"no structure", "callback-refused (driver): pfnUnlockCb: arg is nil", func(r *rig) {
			r.flush(func(t *ddi.Thread, kt *umddi.DeviceCallbacks, h umddi.HRTDevice) { kt.UnlockCb(t, h, nil) })
		}},
		{"a context that does not exist", "callback-refused (driver): pfnRenderCb: returns E_INVALIDARG since the kernel returned STATUS_INVALID_HANDLE, called in pfnFlush with " +
			"Context 0x9, which no pfnCreateContextCb of the device returned, CommandOffset 0, CommandLength 4 of 0, NumAllocations 0 of 0, NumPatchLocations 0 of 0", func(r *rig) {
			thunks := WrapThunks(kmt.Thunks{Render: func(*ddi.Thread, ddi.KMHandle, *umddi.Render) ddi.Status { return ddi.StatusInvalidHandle }}, r.m)
			r.system["RenderCb"] = func(args, results []any) {
				thunks.Render(args[0].(*ddi.Thread), 1, args[2].(*umddi.Render))
				results[0] = ddi.EInvalidArg
			}
			r.flush(func(t *ddi.Thread, kt *umddi.DeviceCallbacks, h umddi.HRTDevice) {
				kt.RenderCb(t, h, &umddi.Render{Context: 9, CommandLength: 4})
			})
		}},
	}...) {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, Options{Collect: true}, native)
			tt.breaks(r)
			require.Len(t, r.m.Violations(), 1)
			assert.Equal(t, "verifier: "+tt.says, strings.TrimSpace(r.m.Violations()[0].Error()))
		})
	}
}

// refused makes callbacks of which the last is refused.
func refused(f func(t *ddi.Thread, kt *umddi.DeviceCallbacks, h umddi.HRTDevice)) func(r *rig) {
	return func(r *rig) {
		for _, cb := range []string{"LockCb", "UnlockCb", "RenderCb"} {
			r.answers(cb, ddi.EInvalidArg)
		}
		r.flush(f)
	}
}

// After the device was removed, nothing needs to be freed.
func TestLeaksOfARemovedDevice(t *testing.T) {
	r := newRig(t, Options{}, native)
	r.answers("LockCb", ddi.DDIDeviceRemoved)
	r.flush(func(t *ddi.Thread, kt *umddi.DeviceCallbacks, h umddi.HRTDevice) {
		kt.CreateContextCb(t, h, &umddi.CreateContext{Context: 4})
		kt.LockCb(t, h, &umddi.Lock{})
	})
	r.funcs.DestroyDevice(r.th, r.dev)
	assert.Empty(t, r.m.Violations())
}
