// Package verifier traces and checks both driver interfaces, as Driver Verifier
// does on Windows. It wraps the function tables between the system and a
// driver, so that a Hook sees every call and every callback. Neither side
// notices. Tables of deferred contexts are wrapped like those of their device;
// the first argument of a call tells the contexts apart.
//
// The Trace hook writes calls as JSON lines, and Merge puts the lines in an
// order that is the same in each run. The Checker hook checks the user-mode
// interface against the rules of package rule. A Monitor gathers the violations
// of all checkers of a system and stops the system: it turns a broken rule, a
// bugcheck or a panic of a driver into a Violation, and makes every call of the
// runtime return.
//
// [NewMonitor] makes a [Monitor], [New] makes a [Checker], [NewTrace] makes a
// [Trace], and [ReadTrace] reads one.
package verifier

import (
	"slices"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// A Func describes one function of a table.
type Func struct {
	Name     string   // as in the WDK: pfnResourceCopy, DxgkDdiRender, DxgkCbQueueDpc
	Callback bool     // a callback, which the driver calls
	Params   []string // names of the parameters, without the thread
	Results  []string // names of the results
}

// A Hook is called at each DDI call. Enter runs before the function and Leave
// after it, on its thread and at its IRQL. Leave is not called if the function
// unwinds. args are the arguments of the function, without the thread. A Hook
// must not change the memory they point to and must be safe for concurrent use.
type Hook interface {
	Enter(t *ddi.Thread, f *Func, args ...any)
	Leave(t *ddi.Thread, f *Func, results ...any)
}

// Hooks returns a Hook that calls each of hooks: in order on entry, in reverse
// order on return.
func Hooks(hooks ...Hook) Hook { return several(hooks) }

type several []Hook

func (s several) Enter(t *ddi.Thread, f *Func, args ...any) {
	for _, h := range s {
		h.Enter(t, f, args...)
	}
}

func (s several) Leave(t *ddi.Thread, f *Func, results ...any) {
	for _, h := range slices.Backward(s) {
		h.Leave(t, f, results...)
	}
}

// WrapUserMode returns a driver entry that behaves like open and calls h for
// each call of the driver and each callback. m may be nil; then a panic is not
// caught. h may be nil.
func WrapUserMode(open umddi.OpenAdapterFunc, m *Monitor, h Hook) umddi.OpenAdapterFunc {
	f := &Func{Name: "OpenAdapter10_2", Params: []string{"arg"}, Results: []string{"hr"}}
	return func(t *ddi.Thread, arg *umddi.OpenAdapter) ddi.HRESULT {
		hr := ddi.DDIDeviceRemoved
		inner := *arg
		driver := new(umddi.AdapterFuncs)
		inner.Funcs = driver
		inner.Callbacks = wrapAdapterCallbacks(arg.Callbacks, m, h)
		wrapCall(m, h, t, f, []any{&inner}, func() []any {
			hr = open(t, &inner)
			return []any{hr}
		})
		if hr.Failed() {
			return hr
		}
		create := driver.CreateDevice
		driver.CreateDevice = func(t *ddi.Thread, a umddi.HAdapter, arg *umddi.CreateDevice) ddi.HRESULT {
			return wrapCreateDevice(t, a, arg, create, m, h)
		}
		*arg.Funcs = *wrapAdapterFuncs(driver, m, h)
		return hr
	}
}

// wrapCreateDevice gives the driver and the runtime separate tables, so that either
// side may change an entry of its own at any time.
func wrapCreateDevice(t *ddi.Thread, a umddi.HAdapter, arg *umddi.CreateDevice,
	create func(*ddi.Thread, umddi.HAdapter, *umddi.CreateDevice) ddi.HRESULT, m *Monitor, h Hook) ddi.HRESULT {
	inner := *arg
	device, dxgi := new(umddi.DeviceFuncs), new(umddi.DXGIBaseFuncs)
	inner.DeviceFuncs, inner.DXGIFuncs = device, dxgi
	inner.KTCallbacks = wrapDeviceCallbacks(arg.KTCallbacks, m, h)
	inner.UMCallbacks = wrapCoreLayerCallbacks(arg.UMCallbacks, m, h)
	inner.DXGICallbacks = wrapDXGIBaseCallbacks(arg.DXGICallbacks, m, h)
	hr := create(t, a, &inner)
	if hr.Failed() {
		return hr
	}
	*arg.DeviceFuncs = *wrapDeviceFuncs(device, m, h)
	*arg.DXGIFuncs = *wrapDXGIBaseFuncs(dxgi, m, h)
	wrapDeferred(arg.DeviceFuncs, device, m, h)
	return hr
}

// wrapCall makes the call fn of a driver, as the generated wrappers do. fn
// returns the results.
func wrapCall(m *Monitor, h Hook, t *ddi.Thread, f *Func, args []any, fn func() []any) {
	if m.Stopped() {
		return
	}
	if t.Push(f.Name) && m != nil {
		defer m.rescue(t)
	}
	if h != nil {
		callEnter(h, m, t, f, args...)
	}
	results := fn()
	if h != nil {
		callLeave(h, m, t, f, results...)
	}
	t.Pop()
}

// WrapKernelMode returns a driver entry that behaves like entry and calls h for
// each call of the miniport and each callback. m and h may be nil. A panic of the
// miniport unwinds to the user-mode function that called the kernel, or to
// Monitor.Guard.
func WrapKernelMode(entry kmddi.DriverEntry, m *Monitor, h Hook) kmddi.DriverEntry {
	return func() kmddi.DriverInitializationData {
		driver := entry()
		if start := driver.StartDevice; start != nil {
			driver.StartDevice = func(t *ddi.Thread, a kmddi.HAdapter, info kmddi.StartInfo, cb *kmddi.DxgkrnlInterface) (kmddi.StartDeviceOut, ddi.Status) {
				inner := wrapDxgkrnlInterface(cb, m, h)
				inner.SynchronizeExecution = synchronizing(inner.SynchronizeExecution)
				return start(t, a, info, inner)
			}
		}
		return *wrapDriverInitializationData(&driver, m, h)
	}
}

// synchronizeName is the callback that runs a function of the driver.
const synchronizeName = "DxgkCbSynchronizeExecution"

// synchronizeExecution is the type of DxgkCbSynchronizeExecution.
type synchronizeExecution = func(t *ddi.Thread, h kmddi.HDxgkrnl, message uint32, fn func(*ddi.Thread) bool) (bool, ddi.Status)

// synchronizing returns a callback that behaves like call and shows on the stack that
// the function that it runs is the driver's.
func synchronizing(call synchronizeExecution) synchronizeExecution {
	if call == nil {
		return nil
	}
	return func(t *ddi.Thread, h kmddi.HDxgkrnl, message uint32, fn func(*ddi.Thread) bool) (bool, ddi.Status) {
		if fn == nil {
			return call(t, h, message, nil)
		}
		return call(t, h, message, wrapSynchronized(fn))
	}
}

// wrapSynchronized wraps a function of the driver, as its name tells.
func wrapSynchronized(fn func(*ddi.Thread) bool) func(*ddi.Thread) bool {
	return func(t *ddi.Thread) bool { return fn(t) }
}
