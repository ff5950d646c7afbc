// Package verifier traces and checks both driver interfaces, as Driver Verifier
// does on Windows. It wraps the function tables between the system and a
// driver, so that a Hook sees every call and every callback. Neither side
// notices. Tables of deferred contexts are wrapped like those of their device;
// the first argument of a call tells the contexts apart.
//
// The Trace hook writes calls as JSON lines, and Merge puts the lines in an
// order that is the same in each run. The Checker hook checks the user-mode
// interface against the rules of package rule. Without a hook nothing is
// wrapped and there is no cost.
//
// [NewTrace] makes a [Trace], [ReadTrace] reads one, and [New] makes a [Checker].
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
// each call of the driver and each callback.
func WrapUserMode(open umddi.OpenAdapterFunc, h Hook) umddi.OpenAdapterFunc {
	f := &Func{Name: "OpenAdapter10_2", Params: []string{"arg"}, Results: []string{"hr"}}
	return func(t *ddi.Thread, arg *umddi.OpenAdapter) ddi.HRESULT {
		inner := *arg
		driver := new(umddi.AdapterFuncs)
		inner.Funcs = driver
		inner.Callbacks = wrapAdapterCallbacks(arg.Callbacks, h)
		t.Push(f.Name)
		h.Enter(t, f, &inner)
		hr := open(t, &inner)
		h.Leave(t, f, hr)
		t.Pop()
		if hr.Failed() {
			return hr
		}
		create := driver.CreateDevice
		driver.CreateDevice = func(t *ddi.Thread, a umddi.HAdapter, arg *umddi.CreateDevice) ddi.HRESULT {
			return createDevice(t, a, arg, create, h)
		}
		*arg.Funcs = *wrapAdapterFuncs(driver, h)
		return hr
	}
}

// createDevice gives the driver and the runtime separate tables, so that either
// side may change an entry of its own at any time.
func createDevice(t *ddi.Thread, a umddi.HAdapter, arg *umddi.CreateDevice,
	create func(*ddi.Thread, umddi.HAdapter, *umddi.CreateDevice) ddi.HRESULT, h Hook) ddi.HRESULT {
	inner := *arg
	device, dxgi := new(umddi.DeviceFuncs), new(umddi.DXGIBaseFuncs)
	inner.DeviceFuncs, inner.DXGIFuncs = device, dxgi
	inner.KTCallbacks = wrapDeviceCallbacks(arg.KTCallbacks, h)
	inner.UMCallbacks = wrapCoreLayerCallbacks(arg.UMCallbacks, h)
	inner.DXGICallbacks = wrapDXGIBaseCallbacks(arg.DXGICallbacks, h)
	hr := create(t, a, &inner)
	if hr.Failed() {
		return hr
	}
	*arg.DeviceFuncs = *wrapDeviceFuncs(device, h)
	*arg.DXGIFuncs = *wrapDXGIBaseFuncs(dxgi, h)
	wrapRelocate(arg.DeviceFuncs, device, h)
	wrapDeferred(arg.DeviceFuncs, device, h)
	return hr
}

// wrapRelocate makes outer pass the driver its own table instead of the
// runtime's.
func wrapRelocate(outer, driver *umddi.DeviceFuncs, h Hook) {
	if driver.RelocateDeviceFuncs == nil {
		return
	}
	f := &Func{Name: "pfnRelocateDeviceFuncs", Params: []string{"h", "funcs"}}
	outer.RelocateDeviceFuncs = func(t *ddi.Thread, d umddi.HDevice, _ *umddi.DeviceFuncs) {
		t.Push(f.Name)
		h.Enter(t, f, d, driver)
		driver.RelocateDeviceFuncs(t, d, driver)
		h.Leave(t, f)
		t.Pop()
	}
}

// WrapKernelMode returns a driver entry that behaves like entry and calls h for
// each call of the miniport and each callback.
func WrapKernelMode(entry kmddi.DriverEntry, h Hook) kmddi.DriverEntry {
	return func() kmddi.DriverInitializationData {
		driver := entry()
		if start := driver.StartDevice; start != nil {
			driver.StartDevice = func(t *ddi.Thread, a kmddi.HAdapter, info kmddi.StartInfo, cb *kmddi.DxgkrnlInterface) (kmddi.StartDeviceOut, ddi.Status) {
				return start(t, a, info, wrapDxgkrnlInterface(cb, h))
			}
		}
		return *wrapDriverInitializationData(&driver, h)
	}
}
