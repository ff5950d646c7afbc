package verifier

import (
	"sync"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// A deferred holds the tables of a wrapped deferred context. It lives until the
// context is destroyed and survives recycling.
type deferred struct {
	arg     umddi.CreateDeferredContext // passed to the driver
	runtime *umddi.CoreLayerCallbacks   // the runtime's callbacks
	driver  *umddi.DeviceFuncs          // the table that the driver fills
	wrapped *umddi.DeviceFuncs          // passed to the runtime; calls the driver's table. nil: the table has moved
}

// deferreds are the deferred contexts of a device. Several threads may create
// and destroy contexts at the same time.
type deferreds struct {
	m    *Monitor
	hook Hook

	mu sync.Mutex
	of map[*ddi.Root]*deferred
}

// wrapDeferred changes the functions in outer that create deferred contexts so
// that they wrap the table of each context, and makes the table of the device
// movable.
func wrapDeferred(outer, driver *umddi.DeviceFuncs, m *Monitor, h Hook) {
	wrapMovable(outer, driver, m, h, func(*umddi.DeviceFuncs) {})
	ds := &deferreds{m: m, hook: h, of: map[*ddi.Root]*deferred{}}
	if driver.CreateDeferredContext != nil {
		f := &Func{Name: "pfnCreateDeferredContext", Params: []string{"h", "arg"}}
		outer.CreateDeferredContext = func(t *ddi.Thread, dev umddi.HDevice, arg *umddi.CreateDeferredContext) {
			wrapCall(m, h, t, f, []any{dev, arg}, func() []any {
				d := ds.begin(arg, true)
				driver.CreateDeferredContext(t, dev, &d.arg)
				ds.end(d, arg)
				return nil
			})
		}
	}
	if driver.RecycleCreateDeferredContext != nil {
		f := &Func{Name: "pfnRecycleCreateDeferredContext", Params: []string{"h", "arg"}, Results: []string{"hr"}}
		outer.RecycleCreateDeferredContext = func(t *ddi.Thread, dev umddi.HDevice, arg *umddi.CreateDeferredContext) ddi.HRESULT {
			hr := ddi.DDIDeviceRemoved
			wrapCall(m, h, t, f, []any{dev, arg}, func() []any {
				d := ds.begin(arg, false)
				hr = driver.RecycleCreateDeferredContext(t, dev, &d.arg)
				ds.end(d, arg)
				return []any{hr}
			})
			return hr
		}
	}
}

// begin returns the context of arg with the arguments for the driver. The table
// of a new context is empty; a recycled context keeps the table that the driver
// filled.
func (ds *deferreds) begin(arg *umddi.CreateDeferredContext, fresh bool) *deferred {
	ds.mu.Lock()
	d := ds.of[arg.Context.Root]
	if d == nil || fresh {
		d = &deferred{driver: new(umddi.DeviceFuncs)}
		ds.of[arg.Context.Root] = d
	}
	ds.mu.Unlock()
	callbacks := d.arg.UMCallbacks
	if d.runtime != arg.UMCallbacks {
		callbacks = wrapCoreLayerCallbacks(arg.UMCallbacks, ds.m, ds.hook)
		d.runtime = arg.UMCallbacks
	}
	d.arg = *arg
	d.arg.UMCallbacks = callbacks
	d.arg.ContextFuncs = d.driver
	return d
}

// end fills the runtime's table with functions that call the driver's table.
func (ds *deferreds) end(d *deferred, arg *umddi.CreateDeferredContext) {
	if d.wrapped == nil || !sameDeviceFuncs(d.driver, d.wrapped) {
		d.wrapped = wrapDeviceFuncs(d.driver, ds.m, ds.hook)
		wrapMovable(d.wrapped, d.driver, ds.m, ds.hook, func(table *umddi.DeviceFuncs) { d.driver, d.wrapped = table, nil })
		if destroy := d.wrapped.DestroyDevice; destroy != nil {
			d.wrapped.DestroyDevice = func(t *ddi.Thread, c umddi.HDevice) {
				destroy(t, c)
				ds.forget(c)
			}
		}
	}
	*arg.ContextFuncs = *d.wrapped
}

// forget drops the tables of a destroyed context.
func (ds *deferreds) forget(c umddi.HDevice) {
	ds.mu.Lock()
	defer ds.mu.Unlock()
	delete(ds.of, c.Root)
}
