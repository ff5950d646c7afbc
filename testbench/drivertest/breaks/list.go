package breaks

import (
	"slices"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// listBreaks are the breaks of a user-mode driver with command lists.
func listBreaks() []Break {
	all := slices.Concat(sizeBreaks(), recycleBreaks(), contextBreaks(), privateBreaks(), relocateBreaks())
	for i := range all {
		all[i].Own, all[i].Work = true, Lists
	}
	return all
}

// sizeBreaks are wrong sizes of handles that are local to a deferred context.
func sizeBreaks() []Break {
	calc := func(edit func(n int) int) change {
		return functions(func(f *umddi.DeviceFuncs) {
			c := f.CalcDeferredContextHandleSize
			f.CalcDeferredContextHandleSize = func(t *ddi.Thread, h umddi.HDevice, typ umddi.HandleType, o *ddi.Object) int {
				return edit(c(t, h, typ, o))
			}
		})
	}
	check := func(edit func(sizes []umddi.HandleSize, n int) int) change {
		return functions(func(f *umddi.DeviceFuncs) {
			c := f.CheckDeferredContextHandleSizes
			f.CheckDeferredContextHandleSizes = func(t *ddi.Thread, h umddi.HDevice, sizes []umddi.HandleSize) int { return edit(sizes, c(t, h, sizes)) }
		})
	}
	const checks, calculates = "pfnCheckDeferredContextHandleSizes", "pfnCalcDeferredContextHandleSize"
	return []Break{
		{Name: "local size not in the table", Doc: "The size of a local handle is not in the table of sizes.", Rule: "size-member", Function: calculates, Drivers: calc(func(n int) int { return n + 4 })},
		{Name: "negative local size", Doc: "The size of a local handle is negative.", Rule: "size-member", Function: calculates, Drivers: calc(func(int) int { return -1 })},
		{Name: "more sizes the second time", Doc: "The number of sizes differs between two calls.", Rule: "size-check", Function: checks, Drivers: check(func(sizes []umddi.HandleSize, n int) int {
			if sizes == nil {
				return n + 1
			}
			return n
		})},
		{Name: "negative number of sizes", Doc: "The number of sizes is negative.", Rule: "size-range", Function: checks, Drivers: check(func([]umddi.HandleSize, int) int { return -1 })},
		{Name: "huge size in the table", Doc: "A size in the table is 2^30.", Rule: "size-range", Function: checks, Drivers: check(func(sizes []umddi.HandleSize, n int) int {
			if len(sizes) > 0 {
				sizes[0].Size = 1 << 30
			}
			return n
		})},
		{Name: "negative size of a list", Doc: "pfnCalcPrivateCommandListSize returns -8.", Rule: "size-range", Function: "pfnCalcPrivateCommandListSize", Drivers: functions(func(f *umddi.DeviceFuncs) {
			f.CalcPrivateCommandListSize = func(*ddi.Thread, umddi.HDevice, *umddi.CreateCommandList) int { return -8 }
		})},
		{Name: "huge size of a context", Doc: "pfnCalcPrivateDeferredContextSize returns 1 GiB.", Rule: "size-range", Function: "pfnCalcPrivateDeferredContextSize", Drivers: functions(func(f *umddi.DeviceFuncs) {
			f.CalcPrivateDeferredContextSize = func(*ddi.Thread, umddi.HDevice, uint32) int { return 1 << 30 }
		})},
	}
}

// recycleBreaks are wrong results of the functions that recycle.
func recycleBreaks() []Break {
	list := func(hr ddi.HRESULT) change {
		return functions(func(f *umddi.DeviceFuncs) {
			f.RecycleCreateCommandList = func(*ddi.Thread, umddi.HDevice, *umddi.CreateCommandList, umddi.HCommandList, umddi.HRTCommandList) ddi.HRESULT {
				return hr
			}
		})
	}
	context := func(hr ddi.HRESULT) change {
		return functions(func(f *umddi.DeviceFuncs) {
			f.RecycleCreateDeferredContext = func(*ddi.Thread, umddi.HDevice, *umddi.CreateDeferredContext) ddi.HRESULT { return hr }
		})
	}
	const lists, contexts = "pfnRecycleCreateCommandList", "pfnRecycleCreateDeferredContext"
	return []Break{
		{Name: "recycled list fails otherwise", Pitfall: 15, Doc: "pfnRecycleCreateCommandList returns E_FAIL.", Rule: "recycle-result", Function: lists, Drivers: list(ddi.EFail)},
		{Name: "recycled list is removed", Pitfall: 15, Doc: "pfnRecycleCreateCommandList returns D3DDDIERR_DEVICEREMOVED.", Rule: "recycle-result", Function: lists, Drivers: list(ddi.DDIDeviceRemoved)},
		{Name: "recycled context fails otherwise", Pitfall: 15, Doc: "pfnRecycleCreateDeferredContext returns E_INVALIDARG.", Rule: "recycle-result", Function: contexts, Drivers: context(ddi.EInvalidArg)},
		{Name: "recycled list reports memory", Pitfall: 15, Doc: "pfnRecycleCreateCommandList reports E_OUTOFMEMORY in place of returning it.", Rule: "recycle-result", Function: lists, Drivers: reports("RecycleCreateCommandList", ddi.EOutOfMemory)},
		{Name: "recycled context reports memory", Pitfall: 15, Doc: "pfnRecycleCreateDeferredContext reports E_OUTOFMEMORY in place of returning it.", Rule: "recycle-result", Function: contexts, Drivers: reports("RecycleCreateDeferredContext", ddi.EOutOfMemory)},
		{Name: "retired list reports memory", Pitfall: 13, Doc: "pfnRecycleDestroyCommandList reports E_OUTOFMEMORY.", Rule: "error-status", Function: "pfnRecycleDestroyCommandList", Drivers: reports("RecycleDestroyCommandList", ddi.EOutOfMemory)},
	}
}

// inContext makes a function of a deferred context do something first.
func inContext(function string, f func(d *umddi.CreateDevice, c *umddi.CreateDeferredContext, t *ddi.Thread)) change {
	return deferred(func(d *umddi.CreateDevice, c *umddi.CreateDeferredContext) {
		arg := *c
		after(c.ContextFuncs, function, func(t *ddi.Thread) { f(d, &arg, t) })
	})
}

// contextBreaks are mistakes of deferred contexts.
func contextBreaks() []Break {
	status := func(function string, hr ddi.HRESULT) Break {
		return Break{
			Name: hr.Error() + " in pfn" + function + " of a deferred context", Pitfall: 13, Doc: "A deferred context reports " + hr.Error() + " in pfn" + function + ".",
			Rule: "error-status", Function: "pfn" + function, Drivers: inContext(function, func(_ *umddi.CreateDevice, c *umddi.CreateDeferredContext, t *ddi.Thread) {
				c.UMCallbacks.SetErrorCb(t, c.RTCoreLayer, hr)
			}),
		}
	}
	table := func(name, doc, rule string, edit func(d *umddi.CreateDevice, f *umddi.DeviceFuncs)) Break {
		return Break{Name: name, Doc: doc, Rule: rule, Function: "pfnCreateDeferredContext", Drivers: deferred(func(d *umddi.CreateDevice, c *umddi.CreateDeferredContext) {
			edit(d, c.ContextFuncs)
		})}
	}
	return []Break{
		status("ResourceCopy", ddi.EFail), status("SetViewports", ddi.EInvalidArg), status("DestroyResource", ddi.EOutOfMemory), status("AbandonCommandList", ddi.EOutOfMemory),
		{
			Name: "error of a deferred context to the device", Pitfall: 14, Doc: "A deferred context reports an error to the device's core layer.",
			Rule: "error-layer", Function: "pfnResourceCopy", Drivers: inContext("ResourceCopy", func(d *umddi.CreateDevice, _ *umddi.CreateDeferredContext, t *ddi.Thread) {
				d.UMCallbacks.SetErrorCb(t, d.RTCoreLayer, ddi.EOutOfMemory)
			}),
		},
		{
			Name: "error of an open to the context", Pitfall: 14, Doc: "An open reports an error to the deferred context's core layer.",
			Rule: "error-create-layer", Function: "pfnCreateResource", Drivers: inContext("CreateResource", func(_ *umddi.CreateDevice, c *umddi.CreateDeferredContext, t *ddi.Thread) {
				c.UMCallbacks.SetErrorCb(t, c.RTCoreLayer, ddi.EOutOfMemory)
			}),
		},
		{
			Name: "submission by a deferred context", Doc: "A deferred context calls pfnRenderCb.",
			Rule: "submit-place", Function: "pfnRenderCb", Drivers: inContext("ResourceCopy", func(d *umddi.CreateDevice, _ *umddi.CreateDeferredContext, t *ddi.Thread) {
				d.KTCallbacks.RenderCb(t, d.RTDevice, &umddi.Render{})
			}),
		},
		{
			Name: "refresh of another context", Pitfall: 16, Doc: "A deferred context refreshes the state of the immediate context.",
			Rule: "refresh-place", Function: "pfnStateIaPrimitiveTopologyCb", Drivers: inContext("ResourceCopy", func(d *umddi.CreateDevice, _ *umddi.CreateDeferredContext, t *ddi.Thread) {
				d.UMCallbacks.StateIaPrimitiveTopologyCb(t, d.RTCoreLayer)
			}),
		},
		{
			Name: "range of a deferred context", Pitfall: 20, Doc: "A deferred context refreshes 15 of 14 slots.",
			Rule: "refresh-range", Function: "pfnStateCsConstBufCb", Drivers: inContext("ResourceCopy", func(_ *umddi.CreateDevice, c *umddi.CreateDeferredContext, t *ddi.Thread) {
				c.UMCallbacks.StateCsConstBufCb(t, c.RTCoreLayer, umddi.Range{Count: 15})
			}),
		},
		{
			Name: "error of a deferred context on a goroutine", Doc: "A deferred context reports an error on a goroutine that it started.",
			Rule: "callback-goroutine", Function: "pfnSetErrorCb", Drivers: inContext("ResourceCopy", func(_ *umddi.CreateDevice, c *umddi.CreateDeferredContext, t *ddi.Thread) {
				done := make(chan bool)
				go func() {
					defer close(done)
					c.UMCallbacks.SetErrorCb(t, c.RTCoreLayer, ddi.EOutOfMemory)
				}()
				<-done
			}),
		},
		{
			Name: "panic in a deferred context", Doc: "A deferred context panics in pfnResourceUpdateSubresourceUP.",
			Rule: "driver-panic", Function: "pfnResourceUpdateSubresourceUP", Drivers: inContext("ResourceUpdateSubresourceUP", func(*umddi.CreateDevice, *umddi.CreateDeferredContext, *ddi.Thread) {
				panic("deliberate")
			}),
		},
		table("deferred context with pfnFlush", "The table of a deferred context has pfnFlush.", "table-excluded", func(d *umddi.CreateDevice, f *umddi.DeviceFuncs) { f.Flush = d.DeviceFuncs.Flush }),
		table("deferred context with a staging map", "The table of a deferred context has pfnStagingResourceMap.", "table-excluded", func(d *umddi.CreateDevice, f *umddi.DeviceFuncs) {
			f.StagingResourceMap = d.DeviceFuncs.StagingResourceMap
		}),
		table("deferred context without pfnAbandonCommandList", "The table of a deferred context lacks pfnAbandonCommandList.", "table-missing", func(_ *umddi.CreateDevice, f *umddi.DeviceFuncs) { f.AbandonCommandList = nil }),
		table("deferred context without pfnResourceCopy", "The table of a deferred context lacks pfnResourceCopy.", "table-missing", func(_ *umddi.CreateDevice, f *umddi.DeviceFuncs) { f.ResourceCopy = nil }),
		{
			Name: "no pfnRecycleCreateCommandList", Doc: "A driver with command lists leaves pfnRecycleCreateCommandList nil.", Rule: "table-missing", Function: "pfnCreateDevice",
			Drivers: functions(func(f *umddi.DeviceFuncs) { f.RecycleCreateCommandList = nil }),
		},
		{
			Name: "device with lists never destroyed", Pitfall: 34, Doc: "pfnDestroyDevice frees nothing of a device that has executed lists.", Rule: "kernel-leak", Function: "pfnDestroyDevice",
			Drivers: functions(func(f *umddi.DeviceFuncs) { f.DestroyDevice = func(*ddi.Thread, umddi.HDevice) {} }),
		},
	}
}

// privateBreaks are mistakes with the private memory of objects.
func privateBreaks() []Break {
	writes := func(function string) change {
		return functions(func(f *umddi.DeviceFuncs) {
			var old umddi.HResource
			create := f.CreateResource
			f.CreateResource = func(t *ddi.Thread, h umddi.HDevice, arg *umddi.CreateResource, res umddi.HResource, rt umddi.HRTResource) {
				create(t, h, arg, res, rt)
				if old.Object == nil {
					old = res
				}
			}
			before(f, function, func(*ddi.Thread) {
				if old.Object != nil {
					old.Private[0] ^= 1
				}
			})
		})
	}
	return []Break{
		{Name: "private memory written elsewhere", Doc: "The driver writes the private memory of a resource in a function that does not get it.", Rule: "private-outside", Function: "pfnCreateResource", Drivers: writes("CreateQuery")},
		{Name: "private memory replaced", Doc: "The driver replaces the slice of a resource's private memory.", Rule: "private-moved", Function: "pfnCreateRenderTargetView", Drivers: functions(func(f *umddi.DeviceFuncs) {
			create := f.CreateRenderTargetView
			f.CreateRenderTargetView = func(t *ddi.Thread, h umddi.HDevice, arg *umddi.CreateRenderTargetView, v umddi.HRenderTargetView, rt umddi.HRTRenderTargetView) {
				create(t, h, arg, v, rt)
				arg.Resource.Private = append([]byte(nil), arg.Resource.Private...)
			}
		})},
		{Name: "private memory of a list cut", Pitfall: 15, Doc: "The driver cuts the private memory of a list when it is retired.", Rule: "private-moved", Function: "pfnRecycleDestroyCommandList", Drivers: functions(func(f *umddi.DeviceFuncs) {
			retire := f.RecycleDestroyCommandList
			f.RecycleDestroyCommandList = func(t *ddi.Thread, h umddi.HDevice, l umddi.HCommandList) {
				retire(t, h, l)
				l.Private = l.Private[:len(l.Private)-1]
			}
		})},
		{Name: "private memory of a context replaced", Pitfall: 15, Doc: "The driver replaces the private memory of a deferred context.", Rule: "private-moved", Function: "pfnRecycleCreateDeferredContext", Drivers: functions(func(f *umddi.DeviceFuncs) {
			create := f.CreateDeferredContext
			f.CreateDeferredContext = func(t *ddi.Thread, h umddi.HDevice, arg *umddi.CreateDeferredContext) {
				create(t, h, arg)
				arg.Context.Private = append(arg.Context.Private, 1)
			}
		})},
	}
}

// relocateBreaks are mistakes when the runtime moves a table.
func relocateBreaks() []Break {
	relocates := func(edit func(old, now *umddi.DeviceFuncs)) change {
		return functions(func(f *umddi.DeviceFuncs) {
			relocate := f.RelocateDeviceFuncs
			f.RelocateDeviceFuncs = func(t *ddi.Thread, h umddi.HDevice, now *umddi.DeviceFuncs) {
				if relocate != nil {
					relocate(t, h, now)
				}
				edit(f, now)
			}
		})
	}
	return []Break{
		{Name: "relocation changes a free-threaded entry", Pitfall: 12, Seed: 1, Doc: "pfnRelocateDeviceFuncs replaces pfnCalcPrivateQuerySize while another thread may call it.", Rule: "table-relocate", Function: "pfnRelocateDeviceFuncs",
			Drivers: relocates(func(_, now *umddi.DeviceFuncs) {
				f := now.CalcPrivateQuerySize
				now.CalcPrivateQuerySize = func(t *ddi.Thread, h umddi.HDevice, arg umddi.CreateQuery) int { return f(t, h, arg) }
			})},
		{Name: "table written after it has moved", Pitfall: 12, Seed: 1, Doc: "The driver keeps the pointer to its table and sets an entry after it has moved.", Rule: "table-relocate", Function: "pfnRelocateDeviceFuncs",
			Drivers: relocates(func(old, now *umddi.DeviceFuncs) { old.Flush = now.Flush })},
		{Name: "table called after it has moved", Pitfall: 12, Seed: 1, Doc: "The driver keeps the pointer to its table and calls an entry after it has moved.", Rule: "driver-panic", Function: "pfnFlush",
			Drivers: functions(func(f *umddi.DeviceFuncs) {
				old, moved := f, false
				relocate := f.RelocateDeviceFuncs
				f.RelocateDeviceFuncs = func(t *ddi.Thread, h umddi.HDevice, now *umddi.DeviceFuncs) {
					if relocate != nil {
						relocate(t, h, now)
					}
					moved = true
				}
				flush := f.Flush
				f.Flush = func(t *ddi.Thread, h umddi.HDevice) {
					if moved {
						old.IaSetTopology(t, h, 0)
					}
					flush(t, h)
				}
			})},
	}
}
