package verifier

import (
	"sync"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// A deferred is a deferred context as it is wrapped: the tables of both sides,
// which it keeps as long as the context lives, however often it is recycled.
type deferred struct {
	arg     umddi.CreateDeferredContext // what the driver gets
	runtime *umddi.CoreLayerCallbacks   // the runtime's callbacks
	driver  umddi.DeviceFuncs           // the table that the driver fills
	wrapped *umddi.DeviceFuncs          // functions that lead to it
}

// deferreds are the deferred contexts of a device. Contexts may be made and
// destroyed on several threads at the same time.
type deferreds struct {
	hook Hook

	mu sync.Mutex
	of map[*ddi.Root]*deferred
}

// wrapDeferred makes the functions of outer that make deferred contexts wrap
// the table that the driver fills for each.
func wrapDeferred(outer, driver *umddi.DeviceFuncs, h Hook) {
	ds := &deferreds{hook: h, of: map[*ddi.Root]*deferred{}}
	if driver.CreateDeferredContext != nil {
		f := &Func{Name: "pfnCreateDeferredContext", Params: []string{"h", "arg"}}
		outer.CreateDeferredContext = func(t *ddi.Thread, dev umddi.HDevice, arg *umddi.CreateDeferredContext) {
			t.Push(f.Name)
			h.Enter(t, f, dev, arg)
			d := ds.begin(arg, true)
			driver.CreateDeferredContext(t, dev, &d.arg)
			ds.end(d, arg)
			h.Leave(t, f)
			t.Pop()
		}
	}
	if driver.RecycleCreateDeferredContext != nil {
		f := &Func{Name: "pfnRecycleCreateDeferredContext", Params: []string{"h", "arg"}, Results: []string{"hr"}}
		outer.RecycleCreateDeferredContext = func(t *ddi.Thread, dev umddi.HDevice, arg *umddi.CreateDeferredContext) ddi.HRESULT {
			t.Push(f.Name)
			h.Enter(t, f, dev, arg)
			d := ds.begin(arg, false)
			hr := driver.RecycleCreateDeferredContext(t, dev, &d.arg)
			ds.end(d, arg)
			h.Leave(t, f, hr)
			t.Pop()
			return hr
		}
	}
}

// begin returns the context of arg with what the driver gets. The table of a
// fresh context is empty; that of a recycled one is as the driver left it.
func (ds *deferreds) begin(arg *umddi.CreateDeferredContext, fresh bool) *deferred {
	ds.mu.Lock()
	d := ds.of[arg.Context.Root]
	if d == nil || fresh {
		d = &deferred{}
		ds.of[arg.Context.Root] = d
	}
	ds.mu.Unlock()
	callbacks := d.arg.UMCallbacks
	if d.runtime != arg.UMCallbacks {
		callbacks = wrapCoreLayerCallbacks(arg.UMCallbacks, ds.hook)
		d.runtime = arg.UMCallbacks
	}
	d.arg = *arg
	d.arg.UMCallbacks = callbacks
	d.arg.ContextFuncs = &d.driver
	return d
}

// end gives the runtime functions that lead to those which the driver has put
// in its table.
func (ds *deferreds) end(d *deferred, arg *umddi.CreateDeferredContext) {
	if d.wrapped == nil || !sameDeviceFuncs(&d.driver, d.wrapped) {
		d.wrapped = wrapDeviceFuncs(&d.driver, ds.hook)
		wrapRelocate(d.wrapped, &d.driver, ds.hook)
		if destroy := d.wrapped.DestroyDevice; destroy != nil {
			d.wrapped.DestroyDevice = func(t *ddi.Thread, c umddi.HDevice) {
				destroy(t, c)
				ds.forget(c)
			}
		}
	}
	*arg.ContextFuncs = *d.wrapped
}

// forget drops what belongs to a context that is destroyed.
func (ds *deferreds) forget(c umddi.HDevice) {
	ds.mu.Lock()
	defer ds.mu.Unlock()
	delete(ds.of, c.Root)
}
