package verifier

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// openDevice checks the entry of CreateDevice.
func (k *Checker) openDevice(fr *frame) {
	arg := fr.args[1].(*umddi.CreateDevice)
	fr.ctx = k.newContext(arg.Device.Root, arg.RTCoreLayer.Runtime, nil)
	fr.ctx.runtime = arg.RTDevice
	adapter := fr.args[0].(umddi.HAdapter)
	caps := k.caps[adapter.Root]
	fr.ctx.free = caps&umddi.CapsFreeThreaded != 0
	fr.ctx.lists = caps&umddi.CapsCommandListsBuild2 != 0
	k.hold(fr, fr.ctx)
}

// endDevice checks the return of CreateDevice.
func (k *Checker) endDevice(fr *frame, rets []any) {
	if !succeeded(rets) {
		k.checkKernelLeaks(fr)
		k.endDestroy(fr.ctx)
		return
	}
	if s := fr.ctx.kernel; s != nil {
		s.noteRendered()
	}
	arg := fr.args[1].(*umddi.CreateDevice)
	k.checkTable(fr, arg.DeviceFuncs, false)
	if arg.DXGIFuncs.Present == nil {
		k.fail(fr, "table-missing", "pfnPresent is nil")
	}
}

// endCaps checks the return of GetCaps.
func (k *Checker) endCaps(fr *frame, rets []any) {
	if typ, _ := fr.args[1].(umddi.CapsType); typ != umddi.CapsThreading || !succeeded(rets) {
		return
	}
	caps := rets[0].(uint32)
	if caps&umddi.CapsCommandListsBuild2 != 0 && caps&umddi.CapsFreeThreaded == 0 {
		k.fail(fr, "caps-threading", "reports CapsCommandListsBuild2 without CapsFreeThreaded")
	}
	k.caps[fr.args[0].(umddi.HAdapter).Root] = caps
}

// entries calls f with each entry of a table and its WDK name.
func entries(table *umddi.DeviceFuncs, f func(name string, entry reflect.Value)) {
	v := reflect.ValueOf(table).Elem()
	for i := range v.NumField() {
		f("pfn"+v.Type().Field(i).Name, v.Field(i))
	}
}

// predicates are the entries that a driver without predicates leaves nil.
var predicates = map[string]bool{"pfnQueryBegin": true, "pfnSetPredication": true}

// checkTable checks that a table has no excluded entry and lacks no required
// one.
func (k *Checker) checkTable(fr *frame, table *umddi.DeviceFuncs, deferred bool) {
	lists := fr.ctx.device.lists
	entries(table, func(name string, entry reflect.Value) {
		s := specs[name]
		if s == nil {
			return
		}
		switch {
		case deferred && s.excluded && !entry.IsNil():
			k.fail(fr, "table-excluded", "%s is not nil", name)
		case !deferred && entry.IsNil():
			fr.lacking(name)
			if s.lists && lists || !s.lists && !s.optional && !s.deferredOnly && !predicates[name] {
				k.fail(fr, "table-missing", "%s is nil", name)
			}
		case deferred && name == "pfnSetPredication" && fr.ctx.device.lacks[name]:
			// missing in both tables
		case deferred && !s.excluded && !s.optional && entry.IsNil():
			k.fail(fr, "table-missing", "%s is nil", name)
		}
	})
}

// lacking records an entry missing in the device's table.
func (fr *frame) lacking(name string) {
	dev := fr.ctx.device
	if dev.lacks == nil {
		dev.lacks = map[string]bool{}
	}
	dev.lacks[name] = true
}

// endSizes checks the return of CheckDeferredContextHandleSizes.
func (k *Checker) endSizes(fr *frame, rets []any) {
	n, dev := rets[0].(int), fr.ctx.device
	k.checkRange(fr, n)
	if dev.sizeCount >= 0 && n != dev.sizeCount {
		k.fail(fr, "size-check", "%d sizes, want %d as before", n, dev.sizeCount)
	}
	dev.sizeCount, dev.sizeCall = n, fr.call
	sizes := fr.args[1].([]umddi.HandleSize)
	if sizes == nil {
		return
	}
	sizes = sizes[:max(0, min(n, len(sizes)))]
	if i := slices.Index(sizes, unwrittenSize); i >= 0 {
		k.fail(fr, "size-check", "returns %d and wrote only %s", n, plural(i, "size"))
		sizes = sizes[:i]
	}
	for _, s := range sizes {
		k.checkRange(fr, s.Size)
	}
	if dev.sizes != nil && !slices.Equal(sizes, dev.sizes) {
		k.fail(fr, "size-check", "%v, want %v as before", sizes, dev.sizes)
	}
	dev.sizes = slices.Clone(sizes)
}

// unwrittenSize fills the table that CheckDeferredContextHandleSizes gets, to find
// the sizes that the driver does not write.
var unwrittenSize = umddi.HandleSize{Type: poison, Size: -1}

// beginSizes checks the entry of CheckDeferredContextHandleSizes.
func beginSizes(fr *frame) {
	sizes := fr.args[1].([]umddi.HandleSize)
	for i := range sizes {
		sizes[i] = unwrittenSize
	}
}

// calcLocal checks the entry of CalcDeferredContextHandleSize.
func (k *Checker) calcLocal(fr *frame) {
	fr.created = k.use(fr, fr.args[2].(*ddi.Object), fr.args[1].(umddi.HandleType))
}

// endCalcLocal checks the return of CalcDeferredContextHandleSize.
func (k *Checker) endCalcLocal(fr *frame, rets []any) {
	o, n := fr.created, rets[0].(int)
	if o == nil {
		return
	}
	var want []int
	for _, s := range fr.ctx.device.sizes {
		if s.Type == o.kind {
			want = append(want, s.Size)
		}
	}
	switch {
	case !slices.Contains(want, n):
		var culprit *Culprit
		if want == nil {
			culprit = &Culprit{Function: "pfnCheckDeferredContextHandleSizes", Call: fr.ctx.device.sizeCall, Why: fmt.Sprintf("gave no size of a %s", kindNames[o.kind])}
		}
		k.failBy(fr, culprit, "size-member", "%d for a %s, want one of %v from pfnCheckDeferredContextHandleSizes", n, kindNames[o.kind], want)
	case o.size >= 0 && o.size != n:
		k.fail(fr, "size-varies", "%d for %v, want %d as before", n, o, o.size)
	}
	o.size, o.sizeCall = n, fr.call
}

// fixed reports whether an entry may be called on any thread at any time and
// therefore must not be replaced.
func fixed(name string) bool {
	if s := specs[name]; s != nil && s.place != onContext {
		return true
	}
	return isCreate(name) || strings.HasPrefix(name, "pfnDestroy") || strings.HasPrefix(name, "pfnCalc") || strings.HasPrefix(name, "pfnCheck")
}

// wrapMovable makes outer, which wraps the table of the driver, move that table
// when the runtime moves outer. The entries of the old one become nil, except
// those that never change: other threads may be calling them. moved is called
// with the driver's new table.
func wrapMovable(outer, driver *umddi.DeviceFuncs, m *Monitor, h Hook, moved func(table *umddi.DeviceFuncs)) {
	if driver.RelocateDeviceFuncs == nil {
		return
	}
	f := &Func{Name: "pfnRelocateDeviceFuncs", Params: []string{"h", "funcs"}}
	outer.RelocateDeviceFuncs = func(t *ddi.Thread, d umddi.HDevice, outer *umddi.DeviceFuncs) {
		table := new(umddi.DeviceFuncs)
		*table = *driver
		entries(driver, func(name string, entry reflect.Value) {
			if !fixed(name) {
				entry.SetZero()
			}
		})
		wrapCall(m, h, t, f, []any{d, table}, func() []any {
			table.RelocateDeviceFuncs(t, d, table)
			return nil
		})
		wrapped := map[string]reflect.Value{}
		entries(wrapDeviceFuncs(table, m, h), func(name string, entry reflect.Value) { wrapped[name] = entry })
		entries(outer, func(name string, entry reflect.Value) {
			if !fixed(name) {
				entry.Set(wrapped[name])
			}
		})
		wrapMovable(outer, table, m, h, moved)
		moved(table)
		notify(h, d, driver)
	}
}

// notify notifies the Checkers among the hooks that the driver's table of d has moved
// from old.
func notify(h Hook, d umddi.HDevice, old *umddi.DeviceFuncs) {
	switch h := h.(type) {
	case several:
		for _, one := range h {
			notify(one, d, old)
		}
	case *Checker:
		h.mu.Lock()
		defer h.mu.Unlock()
		if c := h.contexts[d.Root]; c != nil {
			c.oldTable = old
		}
	}
}

// beforeRelocate checks the entry of RelocateDeviceFuncs, which gets the
// driver's own table.
func (k *Checker) beforeRelocate(fr *frame) {
	table, ok := fr.args[1].(*umddi.DeviceFuncs)
	if !ok || table == nil {
		return
	}
	before := *table
	fr.args = append(slices.Clone(fr.args), &before)
	k.checkOldTable(fr, fr.ctx)
}

// afterRelocate checks the return of RelocateDeviceFuncs.
func (k *Checker) afterRelocate(fr *frame) {
	if len(fr.args) < 3 {
		return
	}
	now := map[string]uintptr{}
	entries(fr.args[1].(*umddi.DeviceFuncs), func(name string, e reflect.Value) { now[name] = e.Pointer() })
	entries(fr.args[2].(*umddi.DeviceFuncs), func(name string, e reflect.Value) {
		if fixed(name) && e.Pointer() != now[name] {
			k.fail(fr, "table-relocate", "%s has changed", name)
		}
	})
}

// checkOldTable checks that the driver has not set an entry in the table of c
// that has moved.
func (k *Checker) checkOldTable(fr *frame, c *context) {
	if c.oldTable == nil {
		return
	}
	entries(c.oldTable, func(name string, e reflect.Value) {
		if !fixed(name) && !e.IsNil() {
			k.fail(fr, "table-relocate", "%s was set in the table that has moved", name)
		}
	})
	c.oldTable = nil
}
