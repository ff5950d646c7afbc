package breaks

import (
	"runtime"
	"slices"
	"sync"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/dxgi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
	"github.com/hilgpu/hilgpu/testbench"
)

// userBreaks are the breaks of a user-mode driver without command lists.
func userBreaks() []Break {
	return slices.Concat(errorBreaks(), resultBreaks(), placeBreaks(), callbackBreaks(), commandBreaks(), lifeBreaks())
}

// drawn completes breaks that the workload Draw shows.
func drawn(all ...Break) []Break {
	for i := range all {
		if all[i].Work == "" {
			all[i].Work = Draw
		}
	}
	return all
}

// reports makes a function of a device report a result.
func reports(function string, hr ddi.HRESULT) change {
	return device(func(d *umddi.CreateDevice) {
		after(d.DeviceFuncs, function, func(t *ddi.Thread) { d.UMCallbacks.SetErrorCb(t, d.RTCoreLayer, hr) })
	})
}

// errorBreaks are mistakes with pfnSetErrorCb.
func errorBreaks() []Break {
	status := func(function string, hr ddi.HRESULT) Break {
		return Break{
			Name: hr.Error() + " in pfn" + function, Pitfall: 13, Doc: "The driver reports " + hr.Error() + " in pfn" + function + ".",
			Rule: "error-status", Function: "pfn" + function, Drivers: reports(function, hr),
		}
	}
	return drawn(
		status("Flush", ddi.EInvalidArg), status("Flush", ddi.EOutOfMemory), status("CreateResource", ddi.EInvalidArg),
		status("DestroyResource", ddi.EOutOfMemory), status("StagingResourceUnmap", ddi.EOutOfMemory),
		status("DynamicResourceMapDiscard", ddi.DDIStillDrawing), status("QueryGetData", ddi.EOutOfMemory),
		status("QueryEnd", ddi.EOutOfMemory), status("SetViewports", ddi.EOutOfMemory),
		status("CheckFormatSupport", ddi.DDIDeviceRemoved), status("CalcPrivateResourceSize", ddi.DDIDeviceRemoved),
		status("ResourceCopy", ddi.DXGIDeviceRemoved), status("ResourceCopyRegion", ddi.DDINotAvailable),
		Break{
			Name: "success is reported", Pitfall: 13, Doc: "The driver reports S_OK in pfnFlush.",
			Rule: "error-success", Function: "pfnFlush", Drivers: reports("Flush", ddi.OK),
		},
		Break{
			Name: "S_FALSE is reported", Pitfall: 13, Doc: "The driver reports S_FALSE in pfnResourceCopy.",
			Rule: "error-success", Function: "pfnResourceCopy", Drivers: reports("ResourceCopy", ddi.False),
		},
		Break{
			Name: "error to no core layer", Pitfall: 14, Doc: "The driver reports an error to a core layer that does not exist.",
			Rule: "error-layer", Function: "pfnResourceCopy", Drivers: device(func(d *umddi.CreateDevice) {
				after(d.DeviceFuncs, "ResourceCopy", func(t *ddi.Thread) { d.UMCallbacks.SetErrorCb(t, umddi.HRTCoreLayer{}, ddi.EOutOfMemory) })
			}),
		},
		Break{
			Name: "removal without a cause", Doc: "The driver reports a removed device in pfnDynamicIABufferUnmap, though no callback has failed.",
			Rule: "removed-report", Function: "pfnDynamicIABufferUnmap", Drivers: reports("DynamicIABufferUnmap", ddi.DDIDeviceRemoved),
		},
		Break{
			Name: "error outside", Doc: "The driver keeps a thread and reports an error on it when no function runs.",
			Rule: "error-outside", Function: "pfnSetErrorCb", Drivers: device(func(d *umddi.CreateDevice) {
				outside(d, func(t *ddi.Thread) { d.UMCallbacks.SetErrorCb(t, d.RTCoreLayer, ddi.EOutOfMemory) })
			}),
		},
	)
}

// inFlush makes the driver do something at the end of pfnFlush.
func inFlush(do func(d *umddi.CreateDevice, t *ddi.Thread)) change {
	return device(func(d *umddi.CreateDevice) {
		after(d.DeviceFuncs, "Flush", func(t *ddi.Thread) { do(d, t) })
	})
}

// recovers makes the user-mode driver recover from panics of pfnRenderCb and
// pfnPresentCb.
func recovers(base testbench.Drivers) testbench.Drivers {
	return userCallbacks(func(d *umddi.CreateDevice) {
		render, present := d.KTCallbacks.RenderCb, d.DXGICallbacks.PresentCb
		d.KTCallbacks.RenderCb = func(t *ddi.Thread, h umddi.HRTDevice, arg *umddi.Render) (hr ddi.HRESULT) {
			defer func() { recover() }()
			return render(t, h, arg)
		}
		d.DXGICallbacks.PresentCb = func(t *ddi.Thread, h umddi.HRTDevice, arg *umddi.PresentCB) (hr ddi.HRESULT) {
			defer func() { recover() }()
			return present(t, h, arg)
		}
	})(base)
}

// outside makes f run on a goroutine after pfnFlush has returned, with a thread that
// is in no function.
func outside(d *umddi.CreateDevice, f func(t *ddi.Thread)) {
	before(d.DeviceFuncs, "Flush", func(*ddi.Thread) {
		var wg sync.WaitGroup
		wg.Go(func() { f(new(ddi.Thread)) })
		wg.Wait()
	})
}

// resultBreaks are wrong results of functions.
func resultBreaks() []Break {
	size := func(n int) func(d *umddi.DeviceFuncs) {
		return func(f *umddi.DeviceFuncs) {
			f.CalcPrivateResourceSize = func(*ddi.Thread, umddi.HDevice, *umddi.CreateResource) int { return n }
		}
	}
	mapped := func(edit func(m *umddi.Mapped)) change {
		return functions(func(f *umddi.DeviceFuncs) {
			m := f.DynamicIABufferMapDiscard
			f.DynamicIABufferMapDiscard = func(t *ddi.Thread, h umddi.HDevice, res umddi.HResource, sub uint32, typ umddi.Map, flags umddi.MapFlags) umddi.Mapped {
				out := m(t, h, res, sub, typ, flags)
				edit(&out)
				return out
			}
		})
	}
	present := func(hr ddi.HRESULT) change {
		return device(func(d *umddi.CreateDevice) {
			p := d.DXGIFuncs.Present
			d.DXGIFuncs.Present = func(t *ddi.Thread, arg umddi.Present) ddi.HRESULT {
				p(t, arg)
				return hr
			}
		})
	}
	missing := func(name string, clear func(f *umddi.DeviceFuncs)) Break {
		return Break{
			Name: "no " + name, Doc: "The driver leaves " + name + " nil.", Rule: "table-missing", Function: "pfnCreateDevice",
			Drivers: functions(clear),
		}
	}
	return drawn(
		Break{
			Name: "negative private size", Doc: "pfnCalcPrivateResourceSize returns -1.",
			Rule: "size-range", Function: "pfnCalcPrivateResourceSize", Drivers: functions(size(-1)),
		},
		Break{
			Name: "huge private size", Doc: "pfnCalcPrivateResourceSize returns 2^40.",
			Rule: "size-range", Function: "pfnCalcPrivateResourceSize", Drivers: functions(size(1 << 40)),
		},
		Break{
			Name: "huge size of a query", Doc: "pfnCalcPrivateQuerySize returns 2 MiB.",
			Rule: "size-range", Function: "pfnCalcPrivateQuerySize", Drivers: functions(func(f *umddi.DeviceFuncs) {
				f.CalcPrivateQuerySize = func(*ddi.Thread, umddi.HDevice, umddi.CreateQuery) int { return 2 << 20 }
			}),
		},
		Break{
			Name: "device refused", Doc: "pfnCreateDevice fails although the kernel refuses nothing.", Rule: "open-failed", Function: "pfnCreateDevice",
			Drivers: adapter(func(f *umddi.AdapterFuncs) {
				f.CreateDevice = func(*ddi.Thread, umddi.HAdapter, *umddi.CreateDevice) ddi.HRESULT { return ddi.EFail }
			}),
		},
		Break{
			Name: "map returns too little", Doc: "A map returns one byte less than the buffer has.",
			Rule: "map-result", Function: "pfnDynamicIABufferMapDiscard", Drivers: mapped(func(m *umddi.Mapped) { m.Data = m.Data[:len(m.Data)-1] }),
		},
		Break{
			Name: "map returns nothing", Doc: "A map returns no memory and reports no error.",
			Rule: "map-result", Function: "pfnDynamicIABufferMapDiscard", Drivers: mapped(func(m *umddi.Mapped) { *m = umddi.Mapped{} }),
		},
		Break{
			Name: "present fails otherwise", Doc: "pfnPresent returns E_FAIL.",
			Rule: "present-result", Function: "pfnPresent", Drivers: present(ddi.EFail),
		},
		Break{
			Name: "present does nothing", Doc: "pfnPresent returns S_OK and does nothing.",
			Rule: "present-callback", Function: "pfnPresent", Drivers: device(func(d *umddi.CreateDevice) {
				d.DXGIFuncs.Present = func(*ddi.Thread, umddi.Present) ddi.HRESULT { return ddi.OK }
			}),
		},
		Break{
			Name: "flush does nothing", Doc: "pfnFlush does nothing.",
			Rule: "submit-work", Function: "pfnFlush", Drivers: functions(func(f *umddi.DeviceFuncs) {
				f.Flush = func(*ddi.Thread, umddi.HDevice) {}
			}),
		},
		Break{
			Name: "copy does nothing", Doc: "pfnResourceCopy does nothing.",
			Rule: "content", Function: "pfnStagingResourceMap", Drivers: functions(func(f *umddi.DeviceFuncs) {
				f.ResourceCopy = func(*ddi.Thread, umddi.HDevice, umddi.HResource, umddi.HResource) {}
			}),
		},
		Break{
			Name: "no result of a query", Doc: "pfnQueryGetData returns without an error and without a result.",
			Rule: "query-result", Function: "pfnQueryGetData", Drivers: functions(func(f *umddi.DeviceFuncs) {
				f.QueryGetData = func(*ddi.Thread, umddi.HDevice, umddi.HQuery, []byte, umddi.GetDataFlags) {}
			}),
		},
		Break{
			Name: "no format", Doc: "pfnCheckFormatSupport returns 0 for each format.",
			Rule: "format-support", Function: "pfnCheckFormatSupport", Drivers: functions(func(f *umddi.DeviceFuncs) {
				f.CheckFormatSupport = func(*ddi.Thread, umddi.HDevice, dxgi.Format) uint32 { return 0 }
			}),
		},
		Break{
			Name: "present of an invalid argument", Doc: "pfnPresent returns E_INVALIDARG.",
			Rule: "present-result", Function: "pfnPresent", Drivers: present(ddi.EInvalidArg),
		},
		Break{
			Name: "build 2 without free threading", Pitfall: 30, Doc: "pfnGetCaps claims command lists without free threading.",
			Rule: "caps-threading", Function: "pfnGetCaps", Drivers: adapter(func(f *umddi.AdapterFuncs) {
				f.GetCaps = func(*ddi.Thread, umddi.HAdapter, umddi.CapsType) (uint32, ddi.HRESULT) {
					return umddi.CapsCommandLists | umddi.CapsCommandListsBuild2, ddi.OK
				}
			}),
		},
		Break{
			Name: "command lists without functions", Pitfall: 30, Mistake: capsTable, Doc: "pfnGetCaps claims command lists, and the table lacks them.",
			Rule: "table-missing", Function: "pfnCreateDevice", Drivers: adapter(func(f *umddi.AdapterFuncs) {
				f.GetCaps = func(*ddi.Thread, umddi.HAdapter, umddi.CapsType) (uint32, ddi.HRESULT) {
					return umddi.CapsFreeThreaded | umddi.CapsCommandLists | umddi.CapsCommandListsBuild2, ddi.OK
				}
			}),
		},
		missing("pfnFlush", func(f *umddi.DeviceFuncs) { f.Flush = nil }),
		missing("pfnResourceCopy", func(f *umddi.DeviceFuncs) { f.ResourceCopy = nil }),
		missing("pfnDestroyResource", func(f *umddi.DeviceFuncs) { f.DestroyResource = nil }),
		missing("pfnSetScissorRects", func(f *umddi.DeviceFuncs) { f.SetScissorRects = nil }),
		Break{
			Name: "uninitialized private memory", Pitfall: 19, Doc: "The driver reads an index from private memory that it has not written.",
			Rule: "driver-panic", Function: "pfnDestroyResource", Drivers: functions(func(f *umddi.DeviceFuncs) {
				size(1)(f)
				slots := make([]int, 1)
				destroy := f.DestroyResource
				f.DestroyResource = func(t *ddi.Thread, h umddi.HDevice, res umddi.HResource) {
					slots[res.Private[0]]++
					destroy(t, h, res)
				}
			}),
		},
	)
}

// placeBreaks are callbacks in the wrong place.
func placeBreaks() []Break {
	refresh := func(f func(d *umddi.CreateDevice, t *ddi.Thread)) change {
		return device(func(d *umddi.CreateDevice) {
			before(d.DeviceFuncs, "ResourceCopy", func(t *ddi.Thread) { f(d, t) })
		})
	}
	ranges := func(name string, r umddi.Range) Break {
		return Break{
			Name: "range of " + name, Pitfall: 20, Doc: "The driver refreshes slots that do not exist, as with base and count in the wrong order.",
			Rule: "refresh-range", Function: name, Drivers: refresh(func(d *umddi.CreateDevice, t *ddi.Thread) {
				switch name {
				case "pfnStateIaVertexBufCb":
					d.UMCallbacks.StateIaVertexBufCb(t, d.RTCoreLayer, r)
				case "pfnStatePsConstBufCb":
					d.UMCallbacks.StatePsConstBufCb(t, d.RTCoreLayer, r)
				case "pfnStateHsConstBufCb":
					d.UMCallbacks.StateHsConstBufCb(t, d.RTCoreLayer, r)
				}
			}),
		}
	}
	return drawn(
		Break{
			Name: "lock outside", Doc: "The driver calls pfnLockCb on a thread that is in none of its functions.",
			Rule: "callback-outside", Function: "pfnLockCb", Drivers: device(func(d *umddi.CreateDevice) {
				outside(d, func(t *ddi.Thread) { d.KTCallbacks.LockCb(t, d.RTDevice, &umddi.Lock{}) })
			}),
		},
		Break{
			Name: "callback without a thread", Doc: "The driver calls pfnRenderCb with a nil thread on a goroutine.",
			Rule: "callback-outside", Function: "pfnRenderCb", Drivers: device(func(d *umddi.CreateDevice) {
				outside(d, func(*ddi.Thread) { d.KTCallbacks.RenderCb(nil, d.RTDevice, &umddi.Render{}) })
			}),
		},
		Break{
			Name: "present in flush", Doc: "The driver calls pfnPresentCb in pfnFlush.",
			Rule: "submit-place", Function: "pfnPresentCb", Drivers: device(func(d *umddi.CreateDevice) {
				before(d.DeviceFuncs, "Flush", func(t *ddi.Thread) { d.DXGICallbacks.PresentCb(t, d.RTDevice, &umddi.PresentCB{}) })
			}),
		},
		Break{
			Name: "submission in a create function", Own: true, Doc: "A free-threaded driver calls pfnRenderCb in pfnCreateResource.",
			Rule: "submit-place", Function: "pfnRenderCb", Drivers: device(func(d *umddi.CreateDevice) {
				before(d.DeviceFuncs, "CreateResource", func(t *ddi.Thread) { d.KTCallbacks.RenderCb(t, d.RTDevice, &umddi.Render{}) })
			}),
		},
		ranges("pfnStateIaVertexBufCb", umddi.Range{Base: 32, Count: 0}), ranges("pfnStatePsConstBufCb", umddi.Range{Base: 14, Count: 1}),
		ranges("pfnStateHsConstBufCb", umddi.Range{Base: 0, Count: 15}),
		Break{
			Name: "negative count", Pitfall: 20, Doc: "The driver refreshes -2 slots.",
			Rule: "refresh-range", Function: "pfnStateVsConstBufCb", Drivers: refresh(func(d *umddi.CreateDevice, t *ddi.Thread) {
				d.UMCallbacks.StateVsConstBufCb(t, d.RTCoreLayer, umddi.Range{Count: -2})
			}),
		},
		Break{
			Name: "refresh after a submission", Pitfall: 16, Doc: "The driver refreshes state after pfnRenderCb without pfnPerformAmortizedProcessingCb.",
			Rule: "refresh-amortized", Function: "pfnStateOmRenderTargetsCb", Drivers: device(func(d *umddi.CreateDevice) {
				after(d.DeviceFuncs, "Flush", func(t *ddi.Thread) { d.UMCallbacks.StateOmRenderTargetsCb(t, d.RTCoreLayer) })
			}),
		},
		Break{
			Name: "refresh in a Calc function", Pitfall: 16, Doc: "The driver refreshes state in pfnCalcPrivateResourceSize.",
			Rule: "refresh-place", Function: "pfnStateRsViewportsCb", Drivers: device(func(d *umddi.CreateDevice) {
				before(d.DeviceFuncs, "CalcPrivateResourceSize", func(t *ddi.Thread) { d.UMCallbacks.StateRsViewportsCb(t, d.RTCoreLayer) })
			}),
		},
		Break{
			Name: "refresh in a create function", Own: true, Pitfall: 16, Doc: "A free-threaded driver refreshes state in pfnCreateResource.",
			Rule: "refresh-place", Function: "pfnStateIaIndexBufCb", Drivers: device(func(d *umddi.CreateDevice) {
				before(d.DeviceFuncs, "CreateResource", func(t *ddi.Thread) { d.UMCallbacks.StateIaIndexBufCb(t, d.RTCoreLayer) })
			}),
		},
		Break{
			Name: "amortized processing for no context", Doc: "The driver calls pfnPerformAmortizedProcessingCb with a core layer that does not exist.",
			Rule: "refresh-place", Function: "pfnPerformAmortizedProcessingCb", Drivers: refresh(func(d *umddi.CreateDevice, t *ddi.Thread) {
				d.UMCallbacks.PerformAmortizedProcessingCb(t, umddi.HRTCoreLayer{})
			}),
		},
		Break{
			Name: "deadlock", Hangs: true, Doc: "The driver locks a mutex twice in pfnFlush.",
			Rule: "call-hang", Function: "pfnFlush", Drivers: functions(func(f *umddi.DeviceFuncs) {
				f.Flush = func(*ddi.Thread, umddi.HDevice) {
					var mu sync.Mutex
					mu.Lock()
					mu.Lock()
				}
			}),
		},
		Break{
			Name: "end of the goroutine", Doc: "The user-mode driver calls runtime.Goexit in pfnFlush, as FailNow of a test does.",
			Rule: "goroutine-exit", Function: "pfnFlush", Drivers: inFlush(func(*umddi.CreateDevice, *ddi.Thread) { runtime.Goexit() }),
		},
		Break{
			Name: "thread of the user-mode driver", Doc: "The user-mode driver makes a callback in pfnFlush with a thread that it made.",
			Rule: "callback-outside", Function: "pfnLockCb", Drivers: inFlush(func(d *umddi.CreateDevice, _ *ddi.Thread) {
				d.KTCallbacks.LockCb(&ddi.Thread{Process: 1, ID: 99}, d.RTDevice, &umddi.Lock{})
			}),
		},
		Break{
			Name: "Raise without Lower in the user-mode driver", Doc: "The user-mode driver returns from pfnFlush at DIRQL.",
			Rule: "level-return", Function: "pfnFlush", Drivers: inFlush(func(_ *umddi.CreateDevice, t *ddi.Thread) { t.Raise(ddi.DIRQL) }),
		},
		Break{
			Name: "callback at DIRQL in the user-mode driver", Doc: "The user-mode driver makes a callback at DIRQL.",
			Rule: "callback-irql", Function: "pfnLockCb", Drivers: inFlush(func(d *umddi.CreateDevice, t *ddi.Thread) {
				old := t.Raise(ddi.DIRQL)
				d.KTCallbacks.LockCb(t, d.RTDevice, &umddi.Lock{})
				t.Lower(old)
			}),
		},
		Break{
			Name: "Pop of a thread", Doc: "The user-mode driver calls Thread.Pop in pfnFlush.",
			Rule: "thread-stack", Function: "pfnFlush", Drivers: inFlush(func(_ *umddi.CreateDevice, t *ddi.Thread) { t.Pop() }),
		},
		Break{
			Name: "raised level", Doc: "The user-mode driver lowers the level above the present one.",
			Rule: "irql-change", Function: "pfnIaSetIndexBuffer", Drivers: functions(func(f *umddi.DeviceFuncs) {
				f.IaSetIndexBuffer = func(t *ddi.Thread, _ umddi.HDevice, _ umddi.HResource, _ dxgi.Format, _ uint32) { t.Lower(ddi.DIRQL) }
			}),
		},
	)
}
