// Package verifier stands between the system and a driver, on both driver
// interfaces, as Windows' Driver Verifier does: it wraps the function tables so
// that a Hook sees every call and every callback. Neither side knows of it. The
// tables of deferred contexts are wrapped as that of their device is; calls
// tell the contexts apart by the handle, which is their first argument.
//
// The Trace hook writes what it sees as JSON lines, and Merge puts them in an order
// that is the same in each run. The Checker hook holds what it
// sees of the user-mode interface against the rules of package rule. Without a
// hook nothing is wrapped, and nothing is paid.
package verifier

import (
	"slices"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// A Func is one function of one table.
type Func struct {
	Name     string   // as in the WDK: pfnResourceCopy, DxgkDdiRender, DxgkCbQueueDpc
	Callback bool     // the driver calls it
	Params   []string // names of the parameters, without the thread
	Results  []string // names of the results
}

// A Hook sees calls. Enter runs before the function, Leave after it, both on
// its thread and at its level; Leave is not called if the function unwinds. The
// arguments are those of the function, without the thread. A Hook must not
// change what they point to, and must be safe for several goroutines.
type Hook interface {
	Enter(t *ddi.Thread, f *Func, args ...any)
	Leave(t *ddi.Thread, f *Func, results ...any)
}

// Hooks returns a Hook that lets each of hooks see a call: in order at its start,
// in the opposite order at its end.
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

// WrapUserMode returns a driver entry that behaves as open and lets h see each
// call of the driver and each callback of it.
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

// createDevice gives the driver tables of its own to fill, and the runtime
// tables that lead to them: so both sides may change an entry at any time.
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

// wrapRelocate makes outer tell the driver of its own table, not of the
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

// WrapKernelMode returns a driver entry that behaves as entry and lets h see
// each call of the miniport and each callback of it.
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
