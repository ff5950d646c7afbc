package breaks

import (
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

// memoryBreaks are mistakes with memory that the kernel lends, and with what the
// miniport holds.
func memoryBreaks() []Break {
	kept := func(name, doc, function string, edit func(d *kmddi.DriverInitializationData)) Break {
		return Break{Name: name, Doc: doc, Rule: "buffer-kept", Function: function, Drivers: miniport(edit)}
	}
	replaced := func(name, doc, function string, edit func(d *kmddi.DriverInitializationData)) Break {
		return Break{Name: name, Doc: doc, Rule: "driver-replaced", Function: function, Drivers: miniport(edit)}
	}
	leak := func(name string, pitfall int, doc, rule string, drivers change) Break {
		return Break{Name: name, Pitfall: pitfall, Doc: doc, Rule: rule, Function: "DxgkDdiRemoveDevice", Work: Start, Drivers: drivers}
	}
	fails := func(undo func(cb *kmddi.DxgkrnlInterface)) change {
		return miniport(func(d *kmddi.DriverInitializationData) {
			kernelTable(d, undo)
			start := d.StartDevice
			d.StartDevice = func(t *ddi.Thread, h kmddi.HAdapter, info kmddi.StartInfo, cb *kmddi.DxgkrnlInterface) (kmddi.StartDeviceOut, ddi.Status) {
				out, _ := start(t, h, info, cb)
				return out, ddi.StatusNoMemory
			}
		})
	}
	return drawn(
		kept("DMA buffer written later", "The miniport keeps the DMA buffer of DxgkDdiRender and writes it in DxgkDdiPatch of another one.", "DxgkDdiRender", func(d *kmddi.DriverInitializationData) {
			render, query := d.Render, d.CreateAllocation
			var old []byte
			d.Render = func(t *ddi.Thread, h kmddi.HContext, arg kmddi.Render) (kmddi.RenderOut, ddi.Status) {
				old = arg.DmaBuffer
				return render(t, h, arg)
			}
			d.CreateAllocation = func(t *ddi.Thread, h kmddi.HAdapter, a kmddi.HAllocation, arg kmddi.CreateAllocation) (kmddi.AllocationInfo, ddi.Status) {
				if old != nil {
					old[64] ^= 1
				}
				return query(t, h, a, arg)
			}
		}),
		kept("patch list written later", "The miniport changes the patch list of DxgkDdiRender in DxgkDdiPatch.", "DxgkDdiPatch", func(d *kmddi.DriverInitializationData) {
			patch := d.Patch
			d.Patch = func(t *ddi.Thread, h kmddi.HAdapter, arg kmddi.Patch) ddi.Status {
				s := patch(t, h, arg)
				arg.PatchLocationList[0].DriverID++
				return s
			}
		}),
		kept("allocation list written", "The miniport writes the allocation list in DxgkDdiRender.", "DxgkDdiRender", func(d *kmddi.DriverInitializationData) {
			render := d.Render
			d.Render = func(t *ddi.Thread, h kmddi.HContext, arg kmddi.Render) (kmddi.RenderOut, ddi.Status) {
				out, s := render(t, h, arg)
				arg.AllocationList[0].PhysicalAddress++
				return out, s
			}
		}),
		replaced("context's object replaced", "The miniport replaces its object of a context in DxgkDdiRender.", "DxgkDdiRender", func(d *kmddi.DriverInitializationData) {
			f := d.Render
			d.Render = func(t *ddi.Thread, h kmddi.HContext, arg kmddi.Render) (kmddi.RenderOut, ddi.Status) {
				h.Driver = "another"
				return f(t, h, arg)
			}
		}),
		replaced("device's object replaced", "The miniport replaces its object of a device in DxgkDdiCreateContext.", "DxgkDdiCreateContext", func(d *kmddi.DriverInitializationData) {
			f := d.CreateContext
			d.CreateContext = func(t *ddi.Thread, dev kmddi.HDevice, ctx kmddi.HContext, arg kmddi.CreateContext) (kmddi.ContextInfo, ddi.Status) {
				dev.Driver = "another"
				return f(t, dev, ctx, arg)
			}
		}),
		replaced("allocation's object replaced", "The miniport replaces its object of an allocation in DxgkDdiOpenAllocation.", "DxgkDdiOpenAllocation", func(d *kmddi.DriverInitializationData) {
			f := d.OpenAllocation
			d.OpenAllocation = func(t *ddi.Thread, dev kmddi.HDevice, open kmddi.HDeviceAllocation, arg kmddi.OpenAllocation) ddi.Status {
				arg.Allocation.Driver = "another"
				return f(t, dev, open, arg)
			}
		}),
		replaced("opened allocation's object replaced", "The miniport replaces its object of an opened allocation in DxgkDdiPresent.", "DxgkDdiPresent", func(d *kmddi.DriverInitializationData) {
			f := d.Present
			d.Present = func(t *ddi.Thread, h kmddi.HContext, arg kmddi.Present) (kmddi.RenderOut, ddi.Status) {
				out, s := f(t, h, arg)
				arg.AllocationList[kmddi.PresentSourceIndex].DeviceSpecificAllocation.Driver = uint64(1)
				return out, s
			}
		}),
		replaced("adapter's object replaced", "The miniport replaces its object of the adapter in DxgkDdiQueryAdapterInfo.", "DxgkDdiQueryAdapterInfo", func(d *kmddi.DriverInitializationData) {
			f := d.QueryAdapterInfo
			d.QueryAdapterInfo = func(t *ddi.Thread, h kmddi.HAdapter, arg kmddi.QueryAdapterInfo) (kmddi.QueryAdapterInfoOut, ddi.Status) {
				h.Driver = "another"
				return f(t, h, arg)
			}
		}),
		leak("memory never freed", 0, "The miniport does not call MmFreeContiguousMemory.", "memory-leak", kernelCallbacks(func(cb *kmddi.DxgkrnlInterface) {
			cb.FreeContiguousMemory = func(*ddi.Thread, kmddi.HDxgkrnl, kmddi.ContiguousMemory) {}
		})),
		leak("registers never unmapped", 0, "The miniport does not call DxgkCbUnmapMemory.", "mapping-leak", kernelCallbacks(func(cb *kmddi.DxgkrnlInterface) {
			cb.UnmapMemory = func(*ddi.Thread, kmddi.HDxgkrnl, kmddi.HMapping) ddi.Status { return ddi.StatusSuccess }
		})),
		leak("stop does nothing", 0, "DxgkDdiStopDevice does nothing.", "memory-leak", miniport(func(d *kmddi.DriverInitializationData) {
			d.StopDevice = func(*ddi.Thread, kmddi.HAdapter) ddi.Status { return ddi.StatusSuccess }
		})),
		leak("start without rollback", 31, "DxgkDdiStartDevice fails at its end and frees nothing.", "memory-leak", fails(func(*kmddi.DxgkrnlInterface) {})),
		leak("start fails at its first step", 31, "DxgkDdiStartDevice fails after it has mapped the registers, and leaves them mapped.", "mapping-leak", fails(func(cb *kmddi.DxgkrnlInterface) {
			cb.ReadRegister = func(*ddi.Thread, kmddi.HDxgkrnl, kmddi.HMapping, uint32) (uint32, ddi.Status) {
				return 0, ddi.StatusIODeviceError
			}
			cb.UnmapMemory = func(*ddi.Thread, kmddi.HDxgkrnl, kmddi.HMapping) ddi.Status { return ddi.StatusSuccess }
		})),
		leak("mapped twice", 31, "DxgkDdiStartDevice maps the registers twice, and DxgkDdiStopDevice unmaps them once.", "mapping-leak", kernelCallbacks(func(cb *kmddi.DxgkrnlInterface) {
			f := cb.MapMemory
			cb.MapMemory = func(t *ddi.Thread, h kmddi.HDxgkrnl, bar int, off, length uint64) (kmddi.HMapping, ddi.Status) {
				f(t, h, bar, off, length)
				return f(t, h, bar, off, length)
			}
		})),
	)
}
