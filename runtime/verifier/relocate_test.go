package verifier

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// When the runtime moves a table, the driver's own table moves too. Of the old
// one the entries are nil, except those that other threads may be calling.
func TestTheDriversTableMoves(t *testing.T) {
	r := collecting(t)
	d := r.deferred("d")
	for name, tt := range map[string]struct {
		outer *umddi.DeviceFuncs
		inner *umddi.DeviceFuncs
		call  func(outer *umddi.DeviceFuncs)
	}{
		"device": {r.funcs, r.inner.DeviceFuncs, func(outer *umddi.DeviceFuncs) {
			outer.RelocateDeviceFuncs(r.th, r.dev, outer)
			outer.IaSetTopology(r.th, r.dev, 3)
		}},
		"deferred context": {&d.funcs, d.inner.ContextFuncs, func(outer *umddi.DeviceFuncs) {
			outer.RelocateDeviceFuncs(r.dth, d.h, outer)
			outer.IaSetTopology(r.dth, d.h, 3)
		}},
	} {
		moved, copied := new(umddi.DeviceFuncs), new(umddi.DeviceFuncs)
		*copied = *tt.outer
		swapped, during := 0, 0
		r.driver["RelocateDeviceFuncs"] = func(args, _ []any) {
			moved = args[2].(*umddi.DeviceFuncs)
			if tt.inner.IaSetTopology != nil {
				during++
			}
			// A driver may replace entries of its thread in the new table.
			moved.IaSetTopology = func(*ddi.Thread, umddi.HDevice, umddi.Topology) { swapped++ }
		}
		tt.call(copied)
		assert.NotSame(t, tt.inner, moved, name)
		assert.NotNil(t, moved.ResourceCopy, name)
		assert.Nil(t, tt.inner.ResourceCopy, name)
		assert.NotNil(t, tt.inner.CreateResource, name)
		assert.NotNil(t, tt.inner.DestroyDevice, name)
		assert.Zero(t, during, "the old table in RelocateDeviceFuncs: %s", name)
		assert.Equal(t, 1, swapped, name)
		tt.outer.CreateResource(r.th, r.dev, nil, umddi.HResource{}, umddi.HRTResource{}) // the copy of another thread
	}
	assert.Equal(t, []string{"handle-unknown", "handle-unknown"}, r.broken())
}

// A driver that sets entries of a table that has moved is told at the next
// relocation, at a recycling or at the destruction.
func TestUseOfTheOldTable(t *testing.T) {
	for _, tt := range []struct {
		name string
		old  bool
		do   func(r *rig, d *deferredRig, set func(old, now *umddi.DeviceFuncs))
		want []string
	}{
		{"the old table, then another move", true, func(r *rig, _ *deferredRig, set func(old, now *umddi.DeviceFuncs)) {
			old := r.inner.DeviceFuncs
			r.funcs.RelocateDeviceFuncs(r.th, r.dev, r.funcs)
			set(old, old)
			r.funcs.RelocateDeviceFuncs(r.th, r.dev, r.funcs)
		}, []string{"table-relocate"}},
		{"the new table", false, func(r *rig, _ *deferredRig, set func(old, now *umddi.DeviceFuncs)) {
			var now *umddi.DeviceFuncs
			r.driver["RelocateDeviceFuncs"] = func(args, _ []any) { now = args[2].(*umddi.DeviceFuncs) }
			r.funcs.RelocateDeviceFuncs(r.th, r.dev, r.funcs)
			set(now, now)
			r.funcs.RelocateDeviceFuncs(r.th, r.dev, r.funcs)
		}, nil},
		{"the old table, then the destruction", true, func(r *rig, _ *deferredRig, set func(old, now *umddi.DeviceFuncs)) {
			old := r.inner.DeviceFuncs
			r.funcs.RelocateDeviceFuncs(r.th, r.dev, r.funcs)
			set(old, old)
			r.funcs.DestroyDevice(r.th, r.dev)
		}, []string{"table-relocate"}},
		{"the old table of a deferred context", true, func(r *rig, d *deferredRig, set func(old, now *umddi.DeviceFuncs)) {
			old := d.inner.ContextFuncs
			d.funcs.RelocateDeviceFuncs(r.dth, d.h, &d.funcs)
			set(old, old)
			d.finish()
		}, []string{"table-relocate"}},
	} {
		r := collecting(t)
		d := r.deferred("d")
		tt.do(r, d, func(_, now *umddi.DeviceFuncs) { now.Flush = func(*ddi.Thread, umddi.HDevice) {} })
		assert.Equal(t, tt.want, r.broken(), tt.name)
	}
}
