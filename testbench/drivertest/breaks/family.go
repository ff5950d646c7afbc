package breaks

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// families are the breaks that each entry of a table can have.
func families() []Break {
	return slices.Concat(userPanics(), userErrors(), miniportPanics(), miniportLevels(), miniportStatuses(), goroutines())
}

// absent are the functions that the small user-mode driver lacks, and those of no
// workload.
var absent = []string{"ResourceIsStagingBusy", "QueryBegin", "SetPredication", "RelocateDeviceFuncs"}

// offerCallbacks are the callbacks that the small user-mode driver does not make.
var offerCallbacks = []string{"SetPriorityCb", "OfferAllocationsCb", "ReclaimAllocationsCb"}

// listFunctions are the functions for command lists in the table of a device.
var listFunctions = []string{
	"CalcPrivateCommandListSize", "CreateCommandList", "RecycleCreateCommandList", "DestroyCommandList", "RecycleDestroyCommandList",
	"CommandListExecute", "CalcPrivateDeferredContextSize", "CreateDeferredContext", "RecycleCreateDeferredContext",
	"CheckDeferredContextHandleSizes", "CalcDeferredContextHandleSize",
}

// contextFunctions are the functions that only the table of a deferred context has.
var contextFunctions = []string{"RecycleCommandList", "AbandonCommandList"}

// userFunctions calls f for each function of a device, with the workload that calls
// it.
func userFunctions(f func(name, work string, own bool)) {
	for _, name := range entriesOf[umddi.DeviceFuncs]() {
		switch {
		case slices.Contains(absent, name), slices.Contains(contextFunctions, name):
		case slices.Contains(listFunctions, name):
			f(name, Lists, true)
		default:
			f(name, Draw, false)
		}
	}
}

// inTable makes a change of one function of a device.
func inTable(name string, b func(d *umddi.CreateDevice) body) change {
	return device(func(d *umddi.CreateDevice) { replace(d.DeviceFuncs, name, b(d)) })
}

// userPanics are the panics in the functions of the user-mode driver.
func userPanics() []Break {
	var out []Break
	panics := func(*umddi.CreateDevice) body {
		return func(func([]reflect.Value) []reflect.Value, []reflect.Value) []reflect.Value { panic("deliberate") }
	}
	userFunctions(func(name, work string, own bool) {
		out = append(out, Break{
			Name: "panic in pfn" + name, Doc: "The user-mode driver panics in pfn" + name + ".",
			Rule: "driver-panic", Function: "pfn" + name, Own: own, Work: work, Drivers: inTable(name, panics),
		})
	})
	for _, name := range contextFunctions {
		out = append(out, Break{
			Name: "panic in pfn" + name, Doc: "The user-mode driver panics in pfn" + name + ".",
			Rule: "driver-panic", Function: "pfn" + name, Own: true, Work: Lists,
			Drivers: deferred(func(_ *umddi.CreateDevice, c *umddi.CreateDeferredContext) {
				before(c.ContextFuncs, name, func(*ddi.Thread) { panic("deliberate") })
			}),
		})
	}
	for _, name := range entriesOf[umddi.AdapterFuncs]() {
		out = append(out, Break{
			Name: "panic in pfn" + name, Doc: "The user-mode driver panics in pfn" + name + ".",
			Rule: "driver-panic", Function: "pfn" + name, Work: Draw,
			Drivers: adapter(func(f *umddi.AdapterFuncs) { before(f, name, func(*ddi.Thread) { panic("deliberate") }) }),
		})
	}
	return append(out, Break{
		Name: "panic in pfnPresent", Doc: "The user-mode driver panics in pfnPresent.",
		Rule: "driver-panic", Function: "pfnPresent", Work: Draw,
		Drivers: device(func(d *umddi.CreateDevice) {
			before(d.DXGIFuncs, "Present", func(*ddi.Thread) { panic("deliberate") })
		}),
	})
}

// userErrors are errors that no function may report.
func userErrors() []Break {
	var out []Break
	userFunctions(func(name, work string, own bool) {
		rule, says := "error-status", "E_FAIL"
		out = append(out, Break{
			Name: says + " in pfn" + name, Pitfall: 13, Doc: "The user-mode driver reports " + says + " in pfn" + name + ".",
			Rule: rule, Function: "pfn" + name, Own: own, Work: work,
			Drivers: device(func(d *umddi.CreateDevice) {
				after(d.DeviceFuncs, name, func(t *ddi.Thread) { d.UMCallbacks.SetErrorCb(t, d.RTCoreLayer, ddi.EFail) })
			}),
		})
	})
	return out
}

// miniportWork is the workload that calls a function of the miniport.
func miniportWork(name string) (work string, own bool) {
	switch name {
	case "CollectDbgInfo", "ResetFromTimeout", "RestartFromTimeout":
		return Recover, true
	case "PreemptCommand", "CancelCommand", "QueryEngineStatus", "QueryDependentEngineGroup", "ResetEngine":
		return Reset, true
	case "QueryCurrentFence":
		return Recover, true
	case "Escape", "RenderKm":
		return Draw, true
	case "AddDevice", "StartDevice", "StopDevice", "RemoveDevice":
		return Start, false
	}
	return Draw, false
}

// miniportPanics are the panics in the functions of the miniport.
func miniportPanics() []Break {
	var out []Break
	for _, name := range entriesOf[kmddi.DriverInitializationData]() {
		work, own := miniportWork(name)
		out = append(out, Break{
			Name: "panic in DxgkDdi" + name, Doc: "The miniport panics in DxgkDdi" + name + ".",
			Rule: "driver-panic", Function: "DxgkDdi" + name, Own: own, Work: work,
			Drivers: miniport(func(d *kmddi.DriverInitializationData) { before(d, name, func(*ddi.Thread) { panic("deliberate") }) }),
		})
	}
	return out
}

// miniportLevels are the functions of the miniport that return at another level.
func miniportLevels() []Break {
	var out []Break
	for _, name := range entriesOf[kmddi.DriverInitializationData]() {
		work, own := miniportWork(name)
		change := func(t *ddi.Thread) { t.Raise(ddi.DIRQL) }
		doc := "The miniport raises the level in DxgkDdi" + name + " and does not lower it."
		if name == "InterruptRoutine" {
			change = func(t *ddi.Thread) { t.Lower(ddi.DispatchLevel) }
			doc = "The miniport lowers the level in DxgkDdi" + name + "."
		}
		out = append(out, Break{
			Name: "level after DxgkDdi" + name, Doc: doc,
			Rule: "level-return", Function: "DxgkDdi" + name, Own: own, Work: work,
			Drivers: miniport(func(d *kmddi.DriverInitializationData) { after(d, name, change) }),
		})
	}
	return out
}

// statusRules are the rules for statuses that the kernel checks.
var statusRules = map[string]string{
	"BuildPagingBuffer": "paging-result", "Patch": "patch-result",
	"SubmitCommand": "submit-result", "PreemptCommand": "submit-result", "CancelCommand": "cancel-result",
}

// miniportStatuses are the functions of the miniport that return STATUS_PENDING.
func miniportStatuses() []Break {
	var out []Break
	typ := reflect.TypeFor[kmddi.DriverInitializationData]()
	for _, name := range entriesOf[kmddi.DriverInitializationData]() {
		f, _ := typ.FieldByName(name)
		last := f.Type.NumOut() - 1
		if last < 0 || f.Type.Out(last) != reflect.TypeFor[ddi.Status]() {
			continue
		}
		work, own := miniportWork(name)
		rule := "return-status"
		if r := statusRules[name]; r != "" {
			rule = r
		}
		out = append(out, Break{
			Name: "STATUS_PENDING from DxgkDdi" + name, Doc: "The miniport returns STATUS_PENDING from DxgkDdi" + name + ".",
			Rule: rule, Function: "DxgkDdi" + name, Own: own, Work: work,
			Drivers: miniport(func(d *kmddi.DriverInitializationData) {
				replace(d, name, func(call func([]reflect.Value) []reflect.Value, in []reflect.Value) []reflect.Value {
					res := call(in)
					res[last] = reflect.ValueOf(ddi.Status(0x103))
					return res
				})
			}),
		})
	}
	return out
}

// elsewhere makes each call of an entry on another goroutine.
func elsewhere[T any](table *T, name string) {
	replace(table, name, func(call func([]reflect.Value) []reflect.Value, in []reflect.Value) (out []reflect.Value) {
		var wg sync.WaitGroup
		wg.Go(func() { out = call(in) })
		wg.Wait()
		return out
	})
}

// goroutines are the callbacks on a goroutine that the driver started.
func goroutines() []Break {
	var out []Break
	add := func(function, work string, own bool, drivers change) {
		out = append(out, Break{
			Name: function + " on a goroutine", Doc: "The driver makes the callback " + function + " on a goroutine that it started.",
			Rule: "callback-goroutine", Function: function, Own: own, Work: work, Drivers: drivers,
		})
	}
	for _, name := range entriesOf[kmddi.DxgkrnlInterface]() {
		add(callbackName(name), Draw, false, withCallbacks(func(d *interrupted) {
			before(d.DriverInitializationData, callers[name], func(t *ddi.Thread) {
				var wg sync.WaitGroup
				wg.Go(func() { callbackOf(d.cb, name)(t, d.cb.DeviceHandle) })
				wg.Wait()
			})
		}))
	}
	for _, name := range entriesOf[umddi.DeviceCallbacks]() {
		work, own := Draw, false
		if slices.Contains(offerCallbacks, name) {
			work, own = Offers, true
		}
		add("pfn"+name, work, own, callbacks(func(kt *umddi.DeviceCallbacks) { elsewhere(kt, name) }))
	}
	add("pfnPresentCb", Draw, false, userCallbacks(func(d *umddi.CreateDevice) { elsewhere(d.DXGICallbacks, "PresentCb") }))
	for _, name := range entriesOf[umddi.CoreLayerCallbacks]() {
		add("pfn"+name, Draw, false, device(func(d *umddi.CreateDevice) {
			before(d.DeviceFuncs, "ResourceCopy", func(t *ddi.Thread) {
				var wg sync.WaitGroup
				wg.Go(func() { coreCallback(d, name)(t) })
				wg.Wait()
			})
		}))
	}
	return out
}

// coreCallback returns a callback to the core layer, with arguments.
func coreCallback(d *umddi.CreateDevice, name string) func(t *ddi.Thread) {
	f := reflect.ValueOf(d.UMCallbacks).Elem().FieldByName(name)
	return func(t *ddi.Thread) {
		in := []reflect.Value{reflect.ValueOf(t), reflect.ValueOf(d.RTCoreLayer)}
		switch {
		case name == "SetErrorCb":
			in = append(in, reflect.ValueOf(ddi.EOutOfMemory))
		case f.Type().NumIn() == 3:
			in = append(in, reflect.ValueOf(umddi.Range{Count: 1}))
		}
		f.Call(in)
	}
}

// callbackName returns the WDK name of a callback of the kernel.
func callbackName(field string) string {
	switch field {
	case "ReadRegister":
		return "READ_REGISTER_ULONG"
	case "WriteRegister":
		return "WRITE_REGISTER_ULONG"
	case "AllocateContiguousMemory", "FreeContiguousMemory":
		return "Mm" + field
	}
	return "DxgkCb" + strings.TrimSpace(field)
}

// callers are functions of the miniport in which a callback is legal. All are those
// after StartDevice.
var callers = map[string]string{
	"GetDeviceInformation": "QueryAdapterInfo", "MapMemory": "QueryAdapterInfo", "UnmapMemory": "QueryAdapterInfo",
	"ReadDeviceSpace": "QueryAdapterInfo", "WriteDeviceSpace": "QueryAdapterInfo", "NotifyInterrupt": "InterruptRoutine",
	"QueueDpc": "InterruptRoutine", "NotifyDpc": "DpcRoutine", "SynchronizeExecution": "QueryAdapterInfo",
	"ReadRegister": "QueryAdapterInfo", "WriteRegister": "QueryAdapterInfo", "AllocateContiguousMemory": "QueryAdapterInfo",
	"FreeContiguousMemory": "QueryAdapterInfo", "LogEtwEvent": "QueryAdapterInfo",
}

// callbackOf returns a callback of the kernel with arguments that are valid as far
// as the handle h is.
func callbackOf(cb *kmddi.DxgkrnlInterface, name string) func(t *ddi.Thread, h kmddi.HDxgkrnl) {
	switch name {
	case "GetDeviceInformation":
		return func(t *ddi.Thread, h kmddi.HDxgkrnl) { cb.GetDeviceInformation(t, h) }
	case "MapMemory":
		return func(t *ddi.Thread, h kmddi.HDxgkrnl) { cb.MapMemory(t, h, 0, 0, 4096) }
	case "UnmapMemory":
		return func(t *ddi.Thread, h kmddi.HDxgkrnl) { cb.UnmapMemory(t, h, kmddi.HMapping{}) }
	case "ReadDeviceSpace":
		return func(t *ddi.Thread, h kmddi.HDxgkrnl) { cb.ReadDeviceSpace(t, h, 0) }
	case "WriteDeviceSpace":
		return func(t *ddi.Thread, h kmddi.HDxgkrnl) { cb.WriteDeviceSpace(t, h, 0, 0) }
	case "NotifyInterrupt":
		return func(t *ddi.Thread, h kmddi.HDxgkrnl) {
			cb.NotifyInterrupt(t, h, kmddi.NotifyInterrupt{InterruptType: kmddi.InterruptDMACompleted})
		}
	case "QueueDpc":
		return func(t *ddi.Thread, h kmddi.HDxgkrnl) { cb.QueueDpc(t, h) }
	case "NotifyDpc":
		return func(t *ddi.Thread, h kmddi.HDxgkrnl) { cb.NotifyDpc(t, h) }
	case "SynchronizeExecution":
		return func(t *ddi.Thread, h kmddi.HDxgkrnl) {
			cb.SynchronizeExecution(t, h, 0, func(*ddi.Thread) bool { return true })
		}
	case "ReadRegister":
		return func(t *ddi.Thread, h kmddi.HDxgkrnl) { cb.ReadRegister(t, h, kmddi.HMapping{}, 0) }
	case "WriteRegister":
		return func(t *ddi.Thread, h kmddi.HDxgkrnl) { cb.WriteRegister(t, h, kmddi.HMapping{}, 0, 0) }
	case "AllocateContiguousMemory":
		return func(t *ddi.Thread, h kmddi.HDxgkrnl) { cb.AllocateContiguousMemory(t, h, 4096) }
	case "FreeContiguousMemory":
		return func(t *ddi.Thread, h kmddi.HDxgkrnl) {
			cb.FreeContiguousMemory(t, h, kmddi.ContiguousMemory{PhysicalAddress: 1})
		}
	case "LogEtwEvent":
		return func(t *ddi.Thread, h kmddi.HDxgkrnl) { cb.LogEtwEvent(t, h, "an event") }
	}
	panic(fmt.Sprintf("breaks: no callback %s", name))
}
