package drivermutant

import (
	"reflect"
	"sync"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
	"github.com/hilgpu/hilgpu/testbench"
)

// A planter puts a mistake into the tables of drivers. It is safe for concurrent
// use, as functions of several contexts run at the same time.
type planter struct {
	m *Mutant

	mu      sync.Mutex
	change  mutation
	pending []func() // callbacks that are late
}

// drivers returns drivers that behave like d, with the mistake.
func (p *planter) drivers(d testbench.Drivers) testbench.Drivers {
	return testbench.Drivers{
		KernelMode: func() kmddi.DriverInitializationData {
			table := d.KernelMode()
			start := table.StartDevice
			table.StartDevice = func(t *ddi.Thread, h kmddi.HAdapter, info kmddi.StartInfo, cb *kmddi.DxgkrnlInterface) (kmddi.StartDeviceOut, ddi.Status) {
				p.forget()
				mine := *cb
				plant(p, &mine)
				return start(t, h, info, &mine)
			}
			plant(p, &table)
			return table
		},
		UserMode: func(t *ddi.Thread, arg *umddi.OpenAdapter) ddi.HRESULT {
			hr := d.UserMode(t, arg)
			create := arg.Funcs.CreateDevice
			arg.Funcs.CreateDevice = func(t *ddi.Thread, h umddi.HAdapter, arg *umddi.CreateDevice) ddi.HRESULT {
				return p.createDevice(t, h, arg, create)
			}
			return hr
		},
	}
}

// createDevice puts the mistake into the tables of a device.
func (p *planter) createDevice(t *ddi.Thread, h umddi.HAdapter, arg *umddi.CreateDevice,
	create func(*ddi.Thread, umddi.HAdapter, *umddi.CreateDevice) ddi.HRESULT) ddi.HRESULT {
	inner := *arg
	kt, um, dxgi := *arg.KTCallbacks, *arg.UMCallbacks, *arg.DXGICallbacks
	plant(p, &kt)
	plant(p, &um)
	plant(p, &dxgi)
	inner.KTCallbacks, inner.UMCallbacks, inner.DXGICallbacks = &kt, &um, &dxgi
	hr := create(t, h, &inner)
	plant(p, arg.DeviceFuncs)
	plant(p, arg.DXGIFuncs)
	p.deferred(arg.DeviceFuncs)
	return hr
}

// deferred puts the mistake into the tables of deferred contexts.
func (p *planter) deferred(table *umddi.DeviceFuncs) {
	if create := table.CreateDeferredContext; create != nil {
		table.CreateDeferredContext = func(t *ddi.Thread, h umddi.HDevice, arg *umddi.CreateDeferredContext) {
			p.context(arg, func(inner *umddi.CreateDeferredContext) { create(t, h, inner) })
		}
	}
	if recycle := table.RecycleCreateDeferredContext; recycle != nil {
		table.RecycleCreateDeferredContext = func(t *ddi.Thread, h umddi.HDevice, arg *umddi.CreateDeferredContext) (hr ddi.HRESULT) {
			p.context(arg, func(inner *umddi.CreateDeferredContext) { hr = recycle(t, h, inner) })
			return hr
		}
	}
}

// context puts the mistake into the tables of a deferred context that fill makes
// anew.
func (p *planter) context(arg *umddi.CreateDeferredContext, fill func(inner *umddi.CreateDeferredContext)) {
	inner, um := *arg, *arg.UMCallbacks
	plant(p, &um)
	inner.UMCallbacks = &um
	fill(&inner)
	plant(p, arg.ContextFuncs)
}

// plant replaces the function that has the mistake in a table.
func plant[T any](p *planter, table *T) {
	if reflect.TypeFor[T]() != p.m.edge.table {
		return
	}
	v := reflect.ValueOf(table).Elem()
	if p.m.op == late {
		p.hurry(v)
	}
	f := v.FieldByName(p.m.field)
	if f.IsNil() {
		return
	}
	fn := reflect.ValueOf(f.Interface())
	f.Set(reflect.MakeFunc(f.Type(), func(in []reflect.Value) []reflect.Value { return p.call(fn, in) }))
}

// hurry makes each function of a table end the delay of a late call.
func (p *planter) hurry(table reflect.Value) {
	for i := range table.NumField() {
		f := table.Field(i)
		if f.Kind() != reflect.Func || f.IsNil() || table.Type().Field(i).Name == p.m.field {
			continue
		}
		fn := reflect.ValueOf(f.Interface())
		f.Set(reflect.MakeFunc(f.Type(), func(in []reflect.Value) []reflect.Value {
			out := fn.Call(in)
			p.mu.Lock()
			pending := p.pending
			p.pending = nil
			p.mu.Unlock()
			for _, call := range pending {
				call()
			}
			return out
		}))
	}
}

// call calls fn with the mistake.
func (p *planter) call(fn reflect.Value, in []reflect.Value) []reflect.Value {
	switch p.m.op {
	case dropped:
		p.applied()
		return nothing(fn.Type())
	case twice:
		p.applied()
		fn.Call(in)
		return fn.Call(in)
	case late:
		p.applied()
		p.mu.Lock()
		p.pending = append(p.pending, func() { fn.Call(in) })
		p.mu.Unlock()
		return nothing(fn.Type())
	}
	if p.m.at.result {
		out := fn.Call(in)
		out[p.m.at.index] = p.changed(out[p.m.at.index])
		return out
	}
	return p.withArgument(fn, in)
}

// filled are the slices in arguments that the driver fills. What it wrote is
// changed, after the call.
var filled = map[string]bool{"DmaBuffer": true, "DmaBufferPrivateData": true, "PatchLocationListOut": true, "Buffer": true}

// withArgument calls fn with a changed argument. What fn fills in goes back to the
// caller.
func (p *planter) withArgument(fn reflect.Value, in []reflect.Value) []reflect.Value {
	i := p.m.at.index
	arg := in[i]
	if arg.Kind() != reflect.Pointer || arg.IsNil() {
		if !p.m.edge.callback && len(p.m.at.path) > 1 && filled[p.m.at.path[0]] {
			out := fn.Call(in)
			p.changed(arg) // the elements of the slice
			return out
		}
		in[i] = p.changed(arg)
		return fn.Call(in)
	}
	mine := reflect.New(arg.Type().Elem())
	mine.Elem().Set(arg.Elem())
	p.mu.Lock()
	p.change.change(mine, p.m.at.path)
	p.mu.Unlock()
	in[i] = mine
	out := fn.Call(in)
	arg.Elem().Set(mine.Elem())
	return out
}

// changed returns v with the mistake.
func (p *planter) changed(v reflect.Value) reflect.Value {
	p.mu.Lock()
	defer p.mu.Unlock()
	mine := reflect.New(v.Type()).Elem()
	mine.Set(v)
	p.change.change(mine, p.m.at.path)
	return mine
}

// forget makes the next system know no value of the one before it.
func (p *planter) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.change.seen, p.pending = nil, nil
}

func (p *planter) applied() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.change.applied++
}

// nothing returns results of success.
func nothing(f reflect.Type) []reflect.Value {
	var out []reflect.Value
	for i := range f.NumOut() {
		out = append(out, reflect.Zero(f.Out(i)))
	}
	return out
}
