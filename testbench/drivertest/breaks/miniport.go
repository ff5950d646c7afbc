package breaks

import (
	"runtime"
	"slices"
	"sync"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
	"github.com/hilgpu/hilgpu/testbench"
)

// miniportBreaks are the breaks of a miniport.
func miniportBreaks() []Break {
	return slices.Concat(levelBreaks(), kernelHandleBreaks(), fenceBreaks(), statusBreaks(), outputBreaks(), memoryBreaks(), infoBreaks(), nodeBreaks(), resetBreaks(), deviceBreaks())
}

// levelBreaks are callbacks at a wrong level or in a wrong place.
func levelBreaks() []Break {
	var out []Break
	add := func(name, doc, rule, function string, drivers change) {
		out = append(out, Break{Name: name, Doc: doc, Rule: rule, Function: function, Work: Draw, Drivers: drivers})
	}
	in := func(caller string, f func(d *interrupted, t *ddi.Thread)) change {
		return withCallbacks(func(d *interrupted) {
			before(d.DriverInitializationData, caller, func(t *ddi.Thread) { f(d, t) })
		})
	}
	for _, name := range []string{"GetDeviceInformation", "MapMemory", "UnmapMemory", "ReadDeviceSpace", "WriteDeviceSpace"} {
		add(callbackName(name)+" at DISPATCH_LEVEL", "The miniport makes the callback in DxgkDdiSubmitCommand.", "callback-irql", callbackName(name),
			in("SubmitCommand", func(d *interrupted, t *ddi.Thread) { callbackOf(d.cb, name)(t, d.cb.DeviceHandle) }))
	}
	for _, name := range []string{"SynchronizeExecution", "AllocateContiguousMemory", "FreeContiguousMemory"} {
		add(callbackName(name)+" at DIRQL", "The miniport makes the callback at DIRQL.", "callback-irql", callbackName(name),
			in("Render", func(d *interrupted, t *ddi.Thread) {
				old := t.Raise(ddi.DIRQL)
				callbackOf(d.cb, name)(t, d.cb.DeviceHandle)
				t.Lower(old)
			}))
	}
	for _, name := range []string{
		"GetDeviceInformation", "MapMemory", "UnmapMemory", "ReadDeviceSpace", "WriteDeviceSpace", "SynchronizeExecution",
		"AllocateContiguousMemory", "FreeContiguousMemory",
	} {
		add(callbackName(name)+" in an interrupt", "The miniport makes the callback in DxgkDdiInterruptRoutine.", "interrupt-callback", callbackName(name),
			in("InterruptRoutine", func(d *interrupted, t *ddi.Thread) { callbackOf(d.cb, name)(t, d.cb.DeviceHandle) }))
	}
	for _, name := range entriesOf[kmddi.DxgkrnlInterface]() {
		add(callbackName(name)+" after stop", "The miniport keeps the table and makes the callback in DxgkDdiRemoveDevice.", "callback-stopped", callbackName(name),
			in("RemoveDevice", func(d *interrupted, t *ddi.Thread) { callbackOf(d.cb, name)(t, d.cb.DeviceHandle) }))
		out[len(out)-1].Work = Start
	}
	notify := func(d *interrupted, t *ddi.Thread) { callbackOf(d.cb, "NotifyInterrupt")(t, d.cb.DeviceHandle) }
	done := func(d *interrupted, t *ddi.Thread) { d.cb.NotifyDpc(t, d.cb.DeviceHandle) }
	at := func(l ddi.IRQL, f func(d *interrupted, t *ddi.Thread)) func(d *interrupted, t *ddi.Thread) {
		return func(d *interrupted, t *ddi.Thread) {
			old := t.Raise(l)
			f(d, t)
			t.Lower(old)
		}
	}
	add("NotifyInterrupt at PASSIVE_LEVEL", "The miniport calls DxgkCbNotifyInterrupt in DxgkDdiRender.", "callback-level", "DxgkCbNotifyInterrupt", in("Render", notify))
	add("NotifyInterrupt at DISPATCH_LEVEL", "The miniport calls DxgkCbNotifyInterrupt in DxgkDdiDpcRoutine.", "callback-level", "DxgkCbNotifyInterrupt", in("DpcRoutine", notify))
	add("NotifyInterrupt after Raise", "The miniport raises the level itself to call DxgkCbNotifyInterrupt.", "notify-place", "DxgkCbNotifyInterrupt", in("SubmitCommand", at(ddi.DIRQL, notify)))
	add("NotifyDpc at PASSIVE_LEVEL", "The miniport calls DxgkCbNotifyDpc in DxgkDdiPatch.", "callback-level", "DxgkCbNotifyDpc", in("Patch", done))
	add("NotifyDpc at DIRQL", "The miniport calls DxgkCbNotifyDpc in DxgkDdiInterruptRoutine.", "callback-level", "DxgkCbNotifyDpc", in("InterruptRoutine", done))
	add("NotifyDpc in a submission", "The miniport calls DxgkCbNotifyDpc in DxgkDdiSubmitCommand.", "notify-place", "DxgkCbNotifyDpc", in("SubmitCommand", done))
	add("NotifyDpc after Raise", "The miniport raises the level itself to call DxgkCbNotifyDpc.", "notify-place", "DxgkCbNotifyDpc", in("Render", at(ddi.DispatchLevel, done)))
	add("Raise to a lower level", "The miniport raises the level from DIRQL to DISPATCH_LEVEL.", "irql-change", "DxgkDdiInterruptRoutine",
		in("InterruptRoutine", func(_ *interrupted, t *ddi.Thread) { t.Raise(ddi.DispatchLevel) }))
	add("Lower to a higher level", "The miniport lowers the level from PASSIVE_LEVEL to DISPATCH_LEVEL.", "irql-change", "DxgkDdiCreateContext",
		in("CreateContext", func(_ *interrupted, t *ddi.Thread) { t.Lower(ddi.DispatchLevel) }))
	add("function of SynchronizeExecution lowers the level", "The function of DxgkCbSynchronizeExecution lowers the level.", "synchronize-level", "DxgkCbSynchronizeExecution",
		in("Render", func(d *interrupted, t *ddi.Thread) {
			d.cb.SynchronizeExecution(t, d.cb.DeviceHandle, 0, func(t *ddi.Thread) bool {
				t.Lower(ddi.PassiveLevel)
				return true
			})
		}))
	add("end of the goroutine in a submission", "The miniport calls runtime.Goexit in DxgkDdiSubmitCommand.", "goroutine-exit", "DxgkDdiSubmitCommand",
		in("SubmitCommand", func(*interrupted, *ddi.Thread) { runtime.Goexit() }))
	add("end of the goroutine at the start", "The miniport calls runtime.Goexit in DxgkDdiStartDevice.", "goroutine-exit", "DxgkDdiStartDevice",
		in("StartDevice", func(*interrupted, *ddi.Thread) { runtime.Goexit() }))
	add("end of the goroutine at the end", "The miniport calls runtime.Goexit in DxgkDdiRemoveDevice.", "goroutine-exit", "DxgkDdiRemoveDevice",
		in("RemoveDevice", func(*interrupted, *ddi.Thread) { runtime.Goexit() }))
	add("thread of the miniport", "The miniport makes a callback in DxgkDdiSubmitCommand with a thread that it made, at PASSIVE_LEVEL.", "callback-outside", "DxgkCbReadDeviceSpace",
		in("SubmitCommand", func(d *interrupted, _ *ddi.Thread) { d.cb.ReadDeviceSpace(new(ddi.Thread), d.cb.DeviceHandle, 0) }))
	add("panic that the user-mode driver recovers", "The miniport panics in DxgkDdiRender, and the user-mode driver recovers.", "driver-panic", "DxgkDdiRender",
		func(base testbench.Drivers) testbench.Drivers {
			return in("Render", func(*interrupted, *ddi.Thread) { panic("boom") })(recovers(base))
		})
	add("bugcheck that the user-mode driver recovers", "DxgkDdiRender changes its level wrongly, and the user-mode driver recovers.", "irql-change", "DxgkDdiRender",
		func(base testbench.Drivers) testbench.Drivers {
			return in("Render", func(_ *interrupted, t *ddi.Thread) { t.Lower(ddi.DIRQL) })(recovers(base))
		})
	out = append(out, Break{
		Name: "deadlock in a DPC", Doc: "The DPC waits for a mutex that its thread holds.", Hangs: true,
		Rule: "call-hang", Function: "DxgkDdiDpcRoutine", Work: Draw,
		Drivers: in("DpcRoutine", func(*interrupted, *ddi.Thread) {
			var mu sync.Mutex
			mu.Lock()
			mu.Lock()
		}),
	})
	return append(out, budgetBreaks()...)
}

// budgetBreaks are functions that poll the device for too long.
func budgetBreaks() []Break {
	var out []Break
	for _, name := range []string{"InterruptRoutine", "DpcRoutine", "SubmitCommand"} {
		out = append(out, Break{
			Name: "DxgkDdi" + name + " polls", Doc: "The miniport polls the device for ever in DxgkDdi" + name + ".",
			Rule: "call-budget", Function: "DxgkDdi" + name, Work: Draw,
			Drivers: miniport(func(d *kmddi.DriverInitializationData) {
				var cb *kmddi.DxgkrnlInterface
				var bar kmddi.HMapping
				kernelTable(d, func(mine *kmddi.DxgkrnlInterface) {
					f := mine.MapMemory
					mine.MapMemory = func(t *ddi.Thread, h kmddi.HDxgkrnl, n int, off, length uint64) (kmddi.HMapping, ddi.Status) {
						m, s := f(t, h, n, off, length)
						cb, bar = mine, m
						return m, s
					}
				})
				before(d, name, func(t *ddi.Thread) {
					for v, s := uint32(0), ddi.StatusSuccess; v != 1 && !s.Failed(); {
						v, s = cb.ReadRegister(t, cb.DeviceHandle, bar, 0)
					}
				})
			}),
		})
	}
	return out
}

// kernelHandleBreaks are wrong handles and arguments of the kernel's callbacks.
func kernelHandleBreaks() []Break {
	var out []Break
	rules := map[string]string{
		"NotifyInterrupt": "callback-handle", "QueueDpc": "callback-handle", "NotifyDpc": "callback-handle", "FreeContiguousMemory": "callback-handle",
		"LogEtwEvent": "callback-handle",
	}
	for _, name := range entriesOf[kmddi.DxgkrnlInterface]() {
		rule := "callback-argument"
		if r := rules[name]; r != "" {
			rule = r
		}
		out = append(out, Break{
			Name: callbackName(name) + " for no adapter", Pitfall: 29, Doc: "The miniport passes a handle of no adapter to " + callbackName(name) + ".",
			Rule: rule, Function: callbackName(name), Work: Draw,
			Drivers: withCallbacks(func(d *interrupted) {
				before(d.DriverInitializationData, callers[name], func(t *ddi.Thread) { callbackOf(d.cb, name)(t, kmddi.HDxgkrnl{}) })
			}),
		})
	}
	wrong := func(name, doc, rule, function string, edit func(cb *kmddi.DxgkrnlInterface)) {
		out = append(out, Break{Name: name, Doc: doc, Rule: rule, Function: function, Work: Draw, Drivers: kernelCallbacks(edit)})
	}
	wrong("register between two", "The miniport reads a register at an offset that is no multiple of 4.", "callback-argument", "READ_REGISTER_ULONG", func(cb *kmddi.DxgkrnlInterface) {
		f := cb.ReadRegister
		cb.ReadRegister = func(t *ddi.Thread, h kmddi.HDxgkrnl, m kmddi.HMapping, off uint32) (uint32, ddi.Status) {
			return f(t, h, m, off+2)
		}
	})
	wrong("register outside the mapping", "The miniport writes a register after the end of its mapping.", "callback-argument", "WRITE_REGISTER_ULONG", func(cb *kmddi.DxgkrnlInterface) {
		f := cb.WriteRegister
		cb.WriteRegister = func(t *ddi.Thread, h kmddi.HDxgkrnl, m kmddi.HMapping, _, v uint32) ddi.Status {
			return f(t, h, m, 1<<30, v)
		}
	})
	wrong("unmapped twice", "The miniport unmaps its registers twice.", "callback-argument", "DxgkCbUnmapMemory", func(cb *kmddi.DxgkrnlInterface) {
		f := cb.UnmapMemory
		cb.UnmapMemory = func(t *ddi.Thread, h kmddi.HDxgkrnl, m kmddi.HMapping) ddi.Status {
			f(t, h, m)
			return f(t, h, m)
		}
	})
	wrong("memory freed twice", "The miniport frees its memory twice.", "callback-handle", "MmFreeContiguousMemory", func(cb *kmddi.DxgkrnlInterface) {
		f := cb.FreeContiguousMemory
		cb.FreeContiguousMemory = func(t *ddi.Thread, h kmddi.HDxgkrnl, m kmddi.ContiguousMemory) {
			f(t, h, m)
			f(t, h, m)
		}
	})
	wrong("a part of the memory freed", "The miniport frees memory from an address in its middle.", "callback-handle", "MmFreeContiguousMemory", func(cb *kmddi.DxgkrnlInterface) {
		f := cb.FreeContiguousMemory
		cb.FreeContiguousMemory = func(t *ddi.Thread, h kmddi.HDxgkrnl, m kmddi.ContiguousMemory) {
			m.PhysicalAddress += 4096
			f(t, h, m)
		}
	})
	wrong("registers used after unmapping", "The miniport unmaps its registers first when it stops.", "callback-argument", "WRITE_REGISTER_ULONG", func(cb *kmddi.DxgkrnlInterface) {
		write := cb.WriteRegister
		free := cb.UnmapMemory
		cb.UnmapMemory = func(t *ddi.Thread, h kmddi.HDxgkrnl, m kmddi.HMapping) ddi.Status {
			s := free(t, h, m)
			write(t, h, m, 0, 0)
			return s
		}
	})
	wrong("memory freed in another size", "The miniport frees one byte less than it allocated.", "callback-argument", "MmFreeContiguousMemory", func(cb *kmddi.DxgkrnlInterface) {
		f := cb.FreeContiguousMemory
		cb.FreeContiguousMemory = func(t *ddi.Thread, h kmddi.HDxgkrnl, m kmddi.ContiguousMemory) {
			m.Bytes = m.Bytes[1:]
			f(t, h, m)
		}
	})
	wrong("half a register mapped", "The miniport maps 2 bytes less than all registers.", "callback-argument", "DxgkCbMapMemory", func(cb *kmddi.DxgkrnlInterface) {
		f := cb.MapMemory
		cb.MapMemory = func(t *ddi.Thread, h kmddi.HDxgkrnl, bar int, off, length uint64) (kmddi.HMapping, ddi.Status) {
			return f(t, h, bar, off, length-2)
		}
	})
	wrong("memory of 0 bytes", "The miniport allocates 0 bytes of memory.", "callback-argument", "MmAllocateContiguousMemory", func(cb *kmddi.DxgkrnlInterface) {
		f := cb.AllocateContiguousMemory
		cb.AllocateContiguousMemory = func(t *ddi.Thread, h kmddi.HDxgkrnl, _ int) (kmddi.ContiguousMemory, ddi.Status) { return f(t, h, 0) }
	})
	in := func(name, doc, rule, function string, f func(cb *kmddi.DxgkrnlInterface, t *ddi.Thread)) {
		out = append(out, Break{
			Name: name, Doc: doc, Rule: rule, Function: function, Work: Draw,
			Drivers: withCallbacks(func(d *interrupted) {
				before(d.DriverInitializationData, "Render", func(t *ddi.Thread) { f(d.cb, t) })
			}),
		})
	}
	in("configuration between two dwords", "The miniport reads configuration space at 5.", "callback-argument", "DxgkCbReadDeviceSpace", func(cb *kmddi.DxgkrnlInterface, t *ddi.Thread) {
		cb.ReadDeviceSpace(t, cb.DeviceHandle, 5)
	})
	in("memory decode off", "The miniport writes Command without the bits that it has.", "config-write", "DxgkCbWriteDeviceSpace", func(cb *kmddi.DxgkrnlInterface, t *ddi.Thread) {
		cb.WriteDeviceSpace(t, cb.DeviceHandle, 4, 4)
	})
	in("message that the device lacks", "The miniport synchronizes with message 99.", "callback-argument", "DxgkCbSynchronizeExecution", func(cb *kmddi.DxgkrnlInterface, t *ddi.Thread) {
		cb.SynchronizeExecution(t, cb.DeviceHandle, 99, func(*ddi.Thread) bool { return true })
	})
	in("no function to synchronize", "The miniport passes no function to DxgkCbSynchronizeExecution.", "callback-argument", "DxgkCbSynchronizeExecution", func(cb *kmddi.DxgkrnlInterface, t *ddi.Thread) {
		cb.SynchronizeExecution(t, cb.DeviceHandle, 0, nil)
	})
	return out
}
