package breaks

import (
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// refused is a break that the kernel refuses in a callback.
func refused(function, name, doc string, pitfall int, edit func(kt *umddi.DeviceCallbacks)) Break {
	return Break{Name: name, Pitfall: pitfall, Doc: doc, Rule: "callback-refused", Function: function, Drivers: callbacks(edit)}
}

// callbackBreaks are wrong arguments of callbacks other than pfnRenderCb.
func callbackBreaks() []Break {
	deviceless := func(function, name string, edit func(kt *umddi.DeviceCallbacks)) Break {
		return Break{
			Name: name, Pitfall: 29, Doc: "The driver passes the handle of no device to " + function + ".",
			Rule: "callback-device", Function: function, Drivers: callbacks(edit),
		}
	}
	return drawn(
		deviceless("pfnAllocateCb", "allocate for no device", func(kt *umddi.DeviceCallbacks) {
			f := kt.AllocateCb
			kt.AllocateCb = func(t *ddi.Thread, _ umddi.HRTDevice, arg *umddi.Allocate) ddi.HRESULT {
				return f(t, umddi.HRTDevice{}, arg)
			}
		}),
		refused("pfnAllocateCb", "allocate nothing", "The driver passes no allocation to pfnAllocateCb.", 0, func(kt *umddi.DeviceCallbacks) {
			f := kt.AllocateCb
			kt.AllocateCb = func(t *ddi.Thread, h umddi.HRTDevice, arg *umddi.Allocate) ddi.HRESULT {
				return f(t, h, &umddi.Allocate{Resource: arg.Resource})
			}
		}),
		refused("pfnAllocateCb", "allocation without private data", "The driver passes no private data, and the miniport refuses it.", 0, func(kt *umddi.DeviceCallbacks) {
			f := kt.AllocateCb
			kt.AllocateCb = func(t *ddi.Thread, h umddi.HRTDevice, arg *umddi.Allocate) ddi.HRESULT {
				arg.AllocationInfo[0].PrivateDriverData = nil
				return f(t, h, arg)
			}
		}),
		refused("pfnAllocateCb", "allocate without a structure", "The driver passes nil to pfnAllocateCb.", 0, func(kt *umddi.DeviceCallbacks) {
			f := kt.AllocateCb
			kt.AllocateCb = func(t *ddi.Thread, h umddi.HRTDevice, _ *umddi.Allocate) ddi.HRESULT { return f(t, h, nil) }
		}),
		refused("pfnCreateContextCb", "context on no node", "The driver creates a context on node 7, which does not exist.", 29, func(kt *umddi.DeviceCallbacks) {
			f := kt.CreateContextCb
			kt.CreateContextCb = func(t *ddi.Thread, h umddi.HRTDevice, arg *umddi.CreateContext) ddi.HRESULT {
				arg.NodeOrdinal = 7
				return f(t, h, arg)
			}
		}),
		deviceless("pfnCreateContextCb", "context of no device", func(kt *umddi.DeviceCallbacks) {
			f := kt.CreateContextCb
			kt.CreateContextCb = func(t *ddi.Thread, _ umddi.HRTDevice, arg *umddi.CreateContext) ddi.HRESULT {
				return f(t, umddi.HRTDevice{}, arg)
			}
		}),
		refused("pfnDestroyContextCb", "context destroyed twice", "The driver destroys its kernel context twice.", 0, func(kt *umddi.DeviceCallbacks) {
			f := kt.DestroyContextCb
			kt.DestroyContextCb = func(t *ddi.Thread, h umddi.HRTDevice, c ddi.KMHandle) ddi.HRESULT {
				f(t, h, c)
				return f(t, h, c)
			}
		}),
		refused("pfnDestroyContextCb", "no context destroyed", "The driver destroys the context 0.", 29, func(kt *umddi.DeviceCallbacks) {
			f := kt.DestroyContextCb
			kt.DestroyContextCb = func(t *ddi.Thread, h umddi.HRTDevice, _ ddi.KMHandle) ddi.HRESULT { return f(t, h, 0) }
		}),
		refused("pfnDeallocateCb", "allocation freed twice", "The driver frees an allocation twice.", 0, func(kt *umddi.DeviceCallbacks) {
			f := kt.DeallocateCb
			kt.DeallocateCb = func(t *ddi.Thread, h umddi.HRTDevice, arg *umddi.Deallocate) ddi.HRESULT {
				f(t, h, arg)
				return f(t, h, arg)
			}
		}),
		refused("pfnDeallocateCb", "allocation listed twice", "The driver lists an allocation twice in one pfnDeallocateCb.", 0, func(kt *umddi.DeviceCallbacks) {
			f := kt.DeallocateCb
			kt.DeallocateCb = func(t *ddi.Thread, h umddi.HRTDevice, arg *umddi.Deallocate) ddi.HRESULT {
				return f(t, h, &umddi.Deallocate{Allocations: append(arg.Allocations, arg.Allocations...)})
			}
		}),
		refused("pfnDeallocateCb", "handle freed that is a context", "The driver frees an allocation by the next handle, that of another object.", 29, func(kt *umddi.DeviceCallbacks) {
			f, context := kt.DeallocateCb, created(kt)
			kt.DeallocateCb = func(t *ddi.Thread, h umddi.HRTDevice, _ *umddi.Deallocate) ddi.HRESULT {
				return f(t, h, &umddi.Deallocate{Allocations: []ddi.KMHandle{*context}})
			}
		}),
		refused("pfnLockCb", "lock of a context", "The driver passes the handle of its context to pfnLockCb.", 29, func(kt *umddi.DeviceCallbacks) {
			f, context := kt.LockCb, created(kt)
			kt.LockCb = func(t *ddi.Thread, h umddi.HRTDevice, arg *umddi.Lock) ddi.HRESULT {
				arg.Allocation = *context
				return f(t, h, arg)
			}
		}),
		refused("pfnLockCb", "lock without use", "The driver locks an allocation neither for reading nor for writing.", 0, func(kt *umddi.DeviceCallbacks) {
			f := kt.LockCb
			kt.LockCb = func(t *ddi.Thread, h umddi.HRTDevice, arg *umddi.Lock) ddi.HRESULT {
				arg.ReadOnly, arg.WriteOnly = true, true
				return f(t, h, arg)
			}
		}),
		refused("pfnLockCb", "lock of a freed allocation", "The driver locks an allocation that it has freed.", 0, func(kt *umddi.DeviceCallbacks) {
			free := kt.DeallocateCb
			kt.DeallocateCb = func(t *ddi.Thread, h umddi.HRTDevice, arg *umddi.Deallocate) ddi.HRESULT {
				hr := free(t, h, arg)
				kt.LockCb(t, h, &umddi.Lock{Allocation: arg.Allocations[0]})
				return hr
			}
		}),
		refused("pfnUnlockCb", "unlocked twice", "The driver unlocks an allocation twice.", 0, func(kt *umddi.DeviceCallbacks) {
			f := kt.UnlockCb
			kt.UnlockCb = func(t *ddi.Thread, h umddi.HRTDevice, arg *umddi.Unlock) ddi.HRESULT {
				f(t, h, arg)
				return f(t, h, arg)
			}
		}),
		refused("pfnUnlockCb", "unlock of no allocation", "The driver unlocks the allocation 0.", 29, func(kt *umddi.DeviceCallbacks) {
			f := kt.UnlockCb
			kt.UnlockCb = func(t *ddi.Thread, h umddi.HRTDevice, _ *umddi.Unlock) ddi.HRESULT {
				return f(t, h, &umddi.Unlock{Allocations: []ddi.KMHandle{0}})
			}
		}),
		refused("pfnUnlockCb", "unlock without a structure", "The driver passes nil to pfnUnlockCb.", 0, func(kt *umddi.DeviceCallbacks) {
			f := kt.UnlockCb
			kt.UnlockCb = func(t *ddi.Thread, h umddi.HRTDevice, _ *umddi.Unlock) ddi.HRESULT { return f(t, h, nil) }
		}),
		presented("present without a source", "The driver presents the allocation 0.", func(arg *umddi.PresentCB) { arg.SrcAllocation = 0 }),
		presented("present to nothing", "The driver presents to the allocation 0.", func(arg *umddi.PresentCB) { arg.DstAllocation = 0 }),
		presented("present without a context", "The driver presents with the context 0.", func(arg *umddi.PresentCB) { arg.Context = 0 }),
		presented("present with an allocation as context", "The driver passes its allocation as the context of a present.", func(arg *umddi.PresentCB) { arg.Context = arg.SrcAllocation }),
		Break{
			Name: "adapter information into nothing", Doc: "The driver queries the private data of the miniport into a buffer that is too small.",
			Rule: "callback-refused", Function: "pfnQueryAdapterInfoCb", Drivers: openAdapter(func(cb *umddi.AdapterCallbacks) {
				f := cb.QueryAdapterInfoCb
				cb.QueryAdapterInfoCb = func(t *ddi.Thread, h umddi.HRTAdapter, p []byte) ddi.HRESULT { return f(t, h, p[:1]) }
			}),
		},
		Break{
			Name: "adapter information on a goroutine", Doc: "The driver makes the callback pfnQueryAdapterInfoCb on a goroutine that it started.",
			Rule: "callback-goroutine", Function: "pfnQueryAdapterInfoCb",
			Drivers: openAdapter(func(cb *umddi.AdapterCallbacks) { elsewhere(cb, "QueryAdapterInfoCb") }),
		},
	)
}

// created returns the handle of the last kernel context.
func created(kt *umddi.DeviceCallbacks) *ddi.KMHandle {
	context, f := new(ddi.KMHandle), kt.CreateContextCb
	kt.CreateContextCb = func(t *ddi.Thread, h umddi.HRTDevice, arg *umddi.CreateContext) ddi.HRESULT {
		hr := f(t, h, arg)
		*context = arg.Context
		return hr
	}
	return context
}

// presented is a wrong argument of pfnPresentCb.
func presented(name, doc string, edit func(arg *umddi.PresentCB)) Break {
	return Break{Name: name, Pitfall: 29, Doc: doc, Rule: "callback-refused", Function: "pfnPresentCb", Drivers: userCallbacks(func(d *umddi.CreateDevice) {
		f := d.DXGICallbacks.PresentCb
		d.DXGICallbacks.PresentCb = func(t *ddi.Thread, h umddi.HRTDevice, arg *umddi.PresentCB) ddi.HRESULT {
			edit(arg)
			return f(t, h, arg)
		}
	})}
}

// rendered is a wrong submission: edit changes the arguments of pfnRenderCb and
// the buffers that the driver recorded to.
func rendered(name string, pitfall int, doc string, edit func(arg *umddi.Render, k *umddi.CreateContext)) Break {
	return refused("pfnRenderCb", name, doc, pitfall, func(kt *umddi.DeviceCallbacks) {
		k := recorded(kt)
		f := kt.RenderCb
		kt.RenderCb = func(t *ddi.Thread, h umddi.HRTDevice, arg *umddi.Render) ddi.HRESULT {
			edit(arg, k)
			return f(t, h, arg)
		}
	})
}

// recorded returns the buffers to which a driver with one context records.
func recorded(kt *umddi.DeviceCallbacks) *umddi.CreateContext {
	k := new(umddi.CreateContext)
	create, render := kt.CreateContextCb, kt.RenderCb
	kt.CreateContextCb = func(t *ddi.Thread, h umddi.HRTDevice, arg *umddi.CreateContext) ddi.HRESULT {
		hr := create(t, h, arg)
		*k = *arg
		return hr
	}
	kt.RenderCb = func(t *ddi.Thread, h umddi.HRTDevice, arg *umddi.Render) ddi.HRESULT {
		hr := render(t, h, arg)
		k.CommandBuffer, k.AllocationList, k.PatchLocationList = arg.NewCommandBuffer, arg.NewAllocationList, arg.NewPatchLocationList
		return hr
	}
	return k
}

// stale is a driver that ignores a buffer that pfnRenderCb returned.
func stale(what string, edit func(arg *umddi.Render, k *umddi.CreateContext)) Break {
	return Break{
		Name: what + " ignored", Pitfall: 11, Doc: "The driver ignores " + what + " of pfnRenderCb and records to the old one.",
		Rule: "buffer-stale", Function: "pfnRenderCb", Drivers: callbacks(func(kt *umddi.DeviceCallbacks) {
			k, first := recorded(kt), (*umddi.CreateContext)(nil)
			f := kt.RenderCb
			kt.RenderCb = func(t *ddi.Thread, h umddi.HRTDevice, arg *umddi.Render) ddi.HRESULT {
				if first == nil {
					c := *k
					first = &c
				}
				hr := f(t, h, arg)
				edit(arg, first)
				return hr
			}
		}),
	}
}

// commandBreaks are wrong submissions.
func commandBreaks() []Break {
	return drawn([]Break{
		rendered("submission to no context", 29, "The driver submits to the context 0.", func(arg *umddi.Render, _ *umddi.CreateContext) { arg.Context = 0 }),
		rendered("submission to an allocation", 29, "The driver submits to the handle of an allocation.", func(arg *umddi.Render, k *umddi.CreateContext) {
			arg.Context = k.AllocationList[0].Allocation
		}),
		rendered("command too long", 0, "The driver submits more bytes than the command buffer has.", func(arg *umddi.Render, k *umddi.CreateContext) {
			arg.CommandLength = uint32(len(k.CommandBuffer)) + 4
		}),
		rendered("command offset too large", 0, "The driver submits an offset near 2^32.", func(arg *umddi.Render, _ *umddi.CreateContext) { arg.CommandOffset = 1<<32 - 4 }),
		rendered("too many allocations", 0, "The driver submits more allocations than the list has.", func(arg *umddi.Render, k *umddi.CreateContext) {
			arg.NumAllocations = uint32(len(k.AllocationList)) + 1
		}),
		rendered("too many patch locations", 0, "The driver submits more patch locations than the list has.", func(arg *umddi.Render, k *umddi.CreateContext) {
			arg.NumPatchLocations = uint32(len(k.PatchLocationList)) + 1
		}),
		rendered("empty patch list", 8, "The driver submits no patch location.", func(arg *umddi.Render, _ *umddi.CreateContext) { arg.NumPatchLocations = 0 }),
		rendered("patch location too few", 8, "The driver does not submit the last patch location.", func(arg *umddi.Render, _ *umddi.CreateContext) { arg.NumPatchLocations-- }),
		rendered("allocation never listed", 8, "The driver submits one allocation less than its commands use.", func(arg *umddi.Render, _ *umddi.CreateContext) { arg.NumAllocations-- }),
		rendered("null allocation", 8, "The driver leaves the handle of an allocation 0.", func(_ *umddi.Render, k *umddi.CreateContext) { k.AllocationList[0].Allocation = 0 }),
		rendered("context in the allocation list", 29, "The driver lists its context as an allocation.", func(_ *umddi.Render, k *umddi.CreateContext) {
			k.AllocationList[0].Allocation = k.Context
		}),
		rendered("WriteOperation missing", 0, "The driver does not mark an allocation that the GPU writes.", func(arg *umddi.Render, k *umddi.CreateContext) {
			for i := range k.AllocationList[:arg.NumAllocations] {
				k.AllocationList[i].WriteOperation = false
			}
		}),
		rendered("AllocationIndex out of range", 10, "A patch location has an allocation past the list.", func(arg *umddi.Render, k *umddi.CreateContext) {
			k.PatchLocationList[0].AllocationIndex = arg.NumAllocations
		}),
		rendered("PatchOffset past the command", 10, "A patch location is past the end of the command.", func(arg *umddi.Render, k *umddi.CreateContext) {
			k.PatchLocationList[0].PatchOffset = arg.CommandLength + 4
		}),
		rendered("PatchOffset of another field", 7, "A patch location is that of another field.", func(_ *umddi.Render, k *umddi.CreateContext) { k.PatchLocationList[0].PatchOffset += 4 }),
		rendered("SplitOffset after PatchOffset", 7, "A split offset is after its patch.", func(_ *umddi.Render, k *umddi.CreateContext) {
			k.PatchLocationList[0].SplitOffset = k.PatchLocationList[0].PatchOffset + 4
		}),
		rendered("AllocationOffset past the allocation", 10, "A patch location is past the end of its allocation.", func(_ *umddi.Render, k *umddi.CreateContext) {
			k.PatchLocationList[0].AllocationOffset = 1 << 24
		}),
		rendered("unknown packet", 10, "The command has a packet that the GPU does not know.", func(_ *umddi.Render, k *umddi.CreateContext) { k.CommandBuffer[0], k.CommandBuffer[3] = 0xfe, 0xfe }),
		rendered("command cut off", 10, "The length of the command is 4 bytes less than that of its packets.", func(arg *umddi.Render, _ *umddi.CreateContext) { arg.CommandLength -= 4 }),
		rendered("command of 3 bytes", 10, "The length of the command is 3 bytes.", func(arg *umddi.Render, _ *umddi.CreateContext) { arg.CommandLength = 3 }),
		rendered("wrong order of patch locations", 7, "Two patch locations of a packet are in the wrong order.", func(arg *umddi.Render, k *umddi.CreateContext) {
			if p := k.PatchLocationList; arg.NumPatchLocations > 1 {
				p[0], p[1] = p[1], p[0]
			}
		}),
		refused("pfnRenderCb", "submitted twice", "The driver submits a command twice.", 11, func(kt *umddi.DeviceCallbacks) {
			f := kt.RenderCb
			kt.RenderCb = func(t *ddi.Thread, h umddi.HRTDevice, arg *umddi.Render) ddi.HRESULT {
				f(t, h, arg)
				return f(t, h, arg)
			}
		}),
		stale("pNewCommandBuffer", func(arg *umddi.Render, first *umddi.CreateContext) { arg.NewCommandBuffer = first.CommandBuffer }),
		stale("pNewAllocationList", func(arg *umddi.Render, first *umddi.CreateContext) { arg.NewAllocationList = first.AllocationList }),
		stale("pNewPatchLocationList", func(arg *umddi.Render, first *umddi.CreateContext) {
			arg.NewPatchLocationList = first.PatchLocationList
		}),
	}...)
}

// lifeBreaks are kernel objects that the driver frees too late or never.
func lifeBreaks() []Break {
	ok := func(*ddi.Thread, umddi.HRTDevice) ddi.HRESULT { return ddi.OK }
	return drawn(
		Break{
			Name: "allocations never freed", Doc: "The driver does not call pfnDeallocateCb.",
			Rule: "resource-allocations", Function: "pfnFlush", Drivers: callbacks(func(kt *umddi.DeviceCallbacks) {
				kt.DeallocateCb = func(t *ddi.Thread, h umddi.HRTDevice, _ *umddi.Deallocate) ddi.HRESULT { return ok(t, h) }
			}),
		},
		Break{
			Name: "context never destroyed", Doc: "The driver does not call pfnDestroyContextCb.",
			Rule: "kernel-leak", Function: "pfnDestroyDevice", Drivers: callbacks(func(kt *umddi.DeviceCallbacks) {
				kt.DestroyContextCb = func(t *ddi.Thread, h umddi.HRTDevice, _ ddi.KMHandle) ddi.HRESULT { return ok(t, h) }
			}),
		},
		Break{
			Name: "queries never freed", Doc: "pfnDestroyQuery does nothing.",
			Rule: "kernel-leak", Function: "pfnDestroyDevice", Drivers: functions(func(f *umddi.DeviceFuncs) {
				f.DestroyQuery = func(*ddi.Thread, umddi.HDevice, umddi.HQuery) {}
			}),
		},
		Break{
			Name: "resources never freed", Pitfall: 21, Doc: "pfnDestroyResource does nothing.",
			Rule: "resource-allocations", Function: "pfnFlush", Drivers: functions(func(f *umddi.DeviceFuncs) {
				f.DestroyResource = func(*ddi.Thread, umddi.HDevice, umddi.HResource) {}
			}),
		},
		Break{
			Name: "device never destroyed", Doc: "pfnDestroyDevice does nothing.",
			Rule: "kernel-leak", Function: "pfnDestroyDevice", Drivers: functions(func(f *umddi.DeviceFuncs) {
				f.DestroyDevice = func(*ddi.Thread, umddi.HDevice) {}
			}),
		},
		Break{
			Name: "failed device leaves a context", Pitfall: 31, Doc: "pfnCreateDevice fails after it has created a context, and leaves it.",
			Rule: "kernel-leak", Function: "pfnCreateDevice", Drivers: adapter(func(f *umddi.AdapterFuncs) {
				create := f.CreateDevice
				f.CreateDevice = func(t *ddi.Thread, h umddi.HAdapter, arg *umddi.CreateDevice) ddi.HRESULT {
					create(t, h, arg)
					return ddi.EOutOfMemory
				}
			}),
		},
		Break{
			Name: "never unlocked", Doc: "The driver does not call pfnUnlockCb, and submits commands that use the locked allocation.",
			Rule: "lock-unmapped", Function: "pfnDynamicIABufferMapNoOverwrite", Drivers: callbacks(func(kt *umddi.DeviceCallbacks) {
				kt.UnlockCb = func(t *ddi.Thread, h umddi.HRTDevice, _ *umddi.Unlock) ddi.HRESULT { return ok(t, h) }
			}),
		},
		Break{
			Name: "written memory locked for reading", Doc: "The driver locks each allocation with ReadOnly, also to write.",
			Rule: "lock-readonly", Function: "pfnDynamicIABufferMapDiscard", Drivers: callbacks(func(kt *umddi.DeviceCallbacks) {
				f := kt.LockCb
				kt.LockCb = func(t *ddi.Thread, h umddi.HRTDevice, arg *umddi.Lock) ddi.HRESULT {
					arg.ReadOnly = true
					return f(t, h, arg)
				}
			}),
		},
		Break{
			Name: "unmap does nothing", Doc: "pfnStagingResourceUnmap does nothing.",
			Rule: "lock-held", Function: "pfnDeallocateCb", Drivers: functions(func(f *umddi.DeviceFuncs) {
				f.StagingResourceUnmap = func(*ddi.Thread, umddi.HDevice, umddi.HResource, uint32) {}
			}),
		},
		Break{
			Name: "locked twice", Doc: "The driver locks twice, unlocks once, and submits commands that use the allocation.",
			Rule: "lock-unmapped", Function: "pfnDynamicIABufferMapDiscard", Drivers: callbacks(func(kt *umddi.DeviceCallbacks) {
				f := kt.LockCb
				kt.LockCb = func(t *ddi.Thread, h umddi.HRTDevice, arg *umddi.Lock) ddi.HRESULT {
					f(t, h, arg)
					return f(t, h, arg)
				}
			}),
		},
		Break{
			Name: "context never created", Doc: "The driver does not call pfnCreateContextCb and records to no buffer.",
			Rule: "driver-panic", Function: "pfnResourceCopy", Drivers: callbacks(func(kt *umddi.DeviceCallbacks) {
				kt.CreateContextCb = func(t *ddi.Thread, h umddi.HRTDevice, _ *umddi.CreateContext) ddi.HRESULT { return ok(t, h) }
			}),
		},
	)
}
