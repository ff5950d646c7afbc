package breaks

import (
	"reflect"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
	"github.com/hilgpu/hilgpu/testbench"
)

// A change makes changed drivers.
type change = func(base testbench.Drivers) testbench.Drivers

// miniport changes the table of the miniport.
func miniport(edit func(d *kmddi.DriverInitializationData)) change {
	return func(base testbench.Drivers) testbench.Drivers {
		entry := base.KernelMode
		base.KernelMode = func() kmddi.DriverInitializationData {
			d := entry()
			edit(&d)
			return d
		}
		return base
	}
}

// An interrupted miniport is one with the callbacks that it got.
type interrupted struct {
	*kmddi.DriverInitializationData
	cb *kmddi.DxgkrnlInterface // as the kernel gave them; nil before StartDevice
}

// withCallbacks changes the table of a miniport that uses the kernel's callbacks.
func withCallbacks(edit func(d *interrupted)) change {
	return miniport(func(d *kmddi.DriverInitializationData) {
		i := &interrupted{DriverInitializationData: d}
		start := d.StartDevice
		d.StartDevice = func(t *ddi.Thread, h kmddi.HAdapter, info kmddi.StartInfo, cb *kmddi.DxgkrnlInterface) (kmddi.StartDeviceOut, ddi.Status) {
			i.cb = cb
			return start(t, h, info, cb)
		}
		edit(i)
	})
}

// kernelCallbacks changes the callbacks that the miniport makes.
func kernelCallbacks(edit func(cb *kmddi.DxgkrnlInterface)) change {
	return miniport(func(d *kmddi.DriverInitializationData) { kernelTable(d, edit) })
}

// kernelTable changes the callbacks that a miniport gets.
func kernelTable(d *kmddi.DriverInitializationData, edit func(cb *kmddi.DxgkrnlInterface)) {
	start := d.StartDevice
	d.StartDevice = func(t *ddi.Thread, h kmddi.HAdapter, info kmddi.StartInfo, cb *kmddi.DxgkrnlInterface) (kmddi.StartDeviceOut, ddi.Status) {
		mine := *cb
		edit(&mine)
		return start(t, h, info, &mine)
	}
}

// adapter changes the functions of the user-mode driver's adapter.
func adapter(edit func(f *umddi.AdapterFuncs)) change {
	return func(base testbench.Drivers) testbench.Drivers {
		open := base.UserMode
		base.UserMode = func(t *ddi.Thread, arg *umddi.OpenAdapter) ddi.HRESULT {
			hr := open(t, arg)
			edit(arg.Funcs)
			return hr
		}
		return base
	}
}

// device changes a device of the user-mode driver after it was created: its
// functions, with the callbacks that the runtime gave.
func device(edit func(d *umddi.CreateDevice)) change {
	return adapter(func(f *umddi.AdapterFuncs) {
		create := f.CreateDevice
		f.CreateDevice = func(t *ddi.Thread, h umddi.HAdapter, arg *umddi.CreateDevice) ddi.HRESULT {
			hr := create(t, h, arg)
			edit(arg)
			return hr
		}
	})
}

// functions changes the functions of a device.
func functions(edit func(f *umddi.DeviceFuncs)) change {
	return device(func(d *umddi.CreateDevice) { edit(d.DeviceFuncs) })
}

// callbacks changes the callbacks that the user-mode driver makes.
func callbacks(edit func(kt *umddi.DeviceCallbacks)) change {
	return userCallbacks(func(d *umddi.CreateDevice) { edit(d.KTCallbacks) })
}

// userCallbacks changes the tables of callbacks that the user-mode driver gets.
func userCallbacks(edit func(d *umddi.CreateDevice)) change {
	return adapter(func(f *umddi.AdapterFuncs) {
		create := f.CreateDevice
		f.CreateDevice = func(t *ddi.Thread, h umddi.HAdapter, arg *umddi.CreateDevice) ddi.HRESULT {
			inner := *arg
			kt, um, dxgi := *arg.KTCallbacks, *arg.UMCallbacks, *arg.DXGICallbacks
			inner.KTCallbacks, inner.UMCallbacks, inner.DXGICallbacks = &kt, &um, &dxgi
			edit(&inner)
			return create(t, h, &inner)
		}
	})
}

// deferred changes the deferred contexts of the user-mode driver when they were
// created or recycled.
func deferred(edit func(d *umddi.CreateDevice, c *umddi.CreateDeferredContext)) change {
	return device(func(d *umddi.CreateDevice) {
		create, recycle := d.DeviceFuncs.CreateDeferredContext, d.DeviceFuncs.RecycleCreateDeferredContext
		d.DeviceFuncs.CreateDeferredContext = func(t *ddi.Thread, h umddi.HDevice, arg *umddi.CreateDeferredContext) {
			create(t, h, arg)
			edit(d, arg)
		}
		d.DeviceFuncs.RecycleCreateDeferredContext = func(t *ddi.Thread, h umddi.HDevice, arg *umddi.CreateDeferredContext) ddi.HRESULT {
			hr := recycle(t, h, arg)
			edit(d, arg)
			return hr
		}
	})
}

// A body replaces a function: call is the function, in are its arguments, the
// thread first.
type body func(call func(in []reflect.Value) []reflect.Value, in []reflect.Value) []reflect.Value

// replace puts a body into an entry of a table, which may be nil.
func replace[T any](table *T, field string, b body) {
	f := reflect.ValueOf(table).Elem().FieldByName(field)
	old := reflect.ValueOf(f.Interface())
	f.Set(reflect.MakeFunc(f.Type(), func(in []reflect.Value) []reflect.Value { return b(old.Call, in) }))
}

// before makes an entry do something first.
func before[T any](table *T, field string, do func(t *ddi.Thread)) {
	replace(table, field, func(call func([]reflect.Value) []reflect.Value, in []reflect.Value) []reflect.Value {
		do(threadOf(in))
		return call(in)
	})
}

// after makes an entry do something before it returns.
func after[T any](table *T, field string, do func(t *ddi.Thread)) {
	replace(table, field, func(call func([]reflect.Value) []reflect.Value, in []reflect.Value) []reflect.Value {
		out := call(in)
		do(threadOf(in))
		return out
	})
}

func threadOf(in []reflect.Value) *ddi.Thread { return in[0].Interface().(*ddi.Thread) }

// entriesOf returns the names of the functions of a table type, in order.
func entriesOf[T any]() []string {
	var names []string
	for t, i := reflect.TypeFor[T](), 0; i < t.NumField(); i++ {
		if t.Field(i).Type.Kind() == reflect.Func {
			names = append(names, t.Field(i).Name)
		}
	}
	return names
}

// openAdapter changes the callbacks that the user-mode driver gets in
// OpenAdapter10_2.
func openAdapter(edit func(cb *umddi.AdapterCallbacks)) change {
	return func(base testbench.Drivers) testbench.Drivers {
		open := base.UserMode
		base.UserMode = func(t *ddi.Thread, arg *umddi.OpenAdapter) ddi.HRESULT {
			inner, cb := *arg, *arg.Callbacks
			edit(&cb)
			inner.Callbacks = &cb
			return open(t, &inner)
		}
		return base
	}
}

// local is a miniport whose allocations in VRAM may lie nowhere else.
func local() change {
	return miniport(func(d *kmddi.DriverInitializationData) {
		f := d.CreateAllocation
		d.CreateAllocation = func(t *ddi.Thread, h kmddi.HAdapter, a kmddi.HAllocation, arg kmddi.CreateAllocation) (kmddi.AllocationInfo, ddi.Status) {
			out, s := f(t, h, a, arg)
			if out.PreferredSegment != 0 {
				out.SupportedSegmentSet = 1 << (out.PreferredSegment - 1)
			}
			return out, s
		}
	})
}
