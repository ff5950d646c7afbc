package verifier

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// The complete diagram of "Supporting Command Lists": each function on a handle
// in each state, with the rule that it breaks, if any.
func TestListTransitions(t *testing.T) {
	states := []struct {
		name  string
		reach func(d *deferredRig, l umddi.HCommandList)
	}{
		{"valid", func(*deferredRig, umddi.HCommandList) {}},
		{"retired", func(d *deferredRig, l umddi.HCommandList) { d.rig.funcs.RecycleDestroyCommandList(d.other, d.dev, l) }},
		{"cached", func(d *deferredRig, l umddi.HCommandList) {
			d.rig.funcs.RecycleDestroyCommandList(d.other, d.dev, l)
			d.funcs.RecycleCommandList(d.dth, d.h, l)
		}},
		{"again", func(d *deferredRig, l umddi.HCommandList) {
			d.rig.funcs.RecycleDestroyCommandList(d.other, d.dev, l)
			d.funcs.RecycleCommandList(d.dth, d.h, l)
			d.again(l)
			d.renew()
		}},
		{"destroyed", func(d *deferredRig, l umddi.HCommandList) { d.rig.funcs.DestroyCommandList(d.other, d.dev, l) }},
	}
	acts := []struct {
		name string
		act  func(d *deferredRig, l umddi.HCommandList)
		want [5]string
	}{
		{"CommandListExecute", func(d *deferredRig, l umddi.HCommandList) { d.rig.funcs.CommandListExecute(d.th, d.dev, l) },
			[5]string{"", "list-state", "list-state", "", "handle-destroyed"}},
		{"RecycleDestroyCommandList", func(d *deferredRig, l umddi.HCommandList) { d.rig.funcs.RecycleDestroyCommandList(d.other, d.dev, l) },
			[5]string{"", "list-state", "list-state", "", "handle-destroyed"}},
		{"RecycleCommandList", func(d *deferredRig, l umddi.HCommandList) { d.funcs.RecycleCommandList(d.dth, d.h, l) },
			[5]string{"list-state", "", "list-state", "list-state", "handle-destroyed"}},
		{"RecycleCreateCommandList", func(d *deferredRig, l umddi.HCommandList) { d.again(l) },
			[5]string{"list-state", "list-state", "", "list-state", "handle-destroyed"}},
		{"DestroyCommandList", func(d *deferredRig, l umddi.HCommandList) { d.rig.funcs.DestroyCommandList(d.other, d.dev, l) },
			[5]string{"", "", "", "", "handle-destroyed"}},
		{"an open", func(d *deferredRig, l umddi.HCommandList) { d.openList(l) },
			[5]string{"", "local-open", "local-open", "", "local-open"}},
	}
	for _, a := range acts {
		for i, s := range states {
			t.Run(a.name+" of one that is "+s.name, func(t *testing.T) {
				r := collecting(t)
				d := r.deferred("d")
				l := d.finish()
				s.reach(d, l)
				require.Empty(t, r.broken())
				a.act(d, l)
				var want []string
				if a.want[i] != "" {
					want = []string{a.want[i]}
				}
				assert.Equal(t, want, r.broken())
			})
		}
	}
}

// A failed RecycleCreateCommandList leaves the handle in the cache and the
// context recording.
func TestFailedRecycling(t *testing.T) {
	r := collecting(t)
	d := r.deferred("d")
	l := d.finish()
	r.funcs.RecycleDestroyCommandList(r.other, r.dev, l)
	d.funcs.RecycleCommandList(r.dth, d.h, l)
	r.driver["RecycleCreateCommandList"] = func(_, results []any) { results[0] = ddi.EOutOfMemory }
	d.again(l)
	delete(r.driver, "RecycleCreateCommandList")
	d.funcs.AbandonCommandList(r.dth, d.h)
	d.renew()
	d.again(l)
	r.funcs.DestroyCommandList(r.other, r.dev, l)
	assert.Empty(t, r.broken())
}

// The functions of a deferred context in each of its states.
func TestContextTransitions(t *testing.T) {
	states := []func(d *deferredRig){
		func(d *deferredRig) { d.funcs.IaSetTopology(d.dth, d.h, 1) },
		func(d *deferredRig) { d.list() },
		func(d *deferredRig) { d.funcs.AbandonCommandList(d.dth, d.h) },
		func(d *deferredRig) { d.list(); d.funcs.DestroyDevice(d.dth, d.h) },
	}
	for _, a := range []struct {
		name string
		act  func(d *deferredRig)
		want [4]string // recording, finished, abandoned, destroyed
	}{
		{"record", func(d *deferredRig) { d.funcs.SetViewports(d.dth, d.h, make([]umddi.Viewport, 1)) }, [4]string{"", "context-state", "context-state", "handle-destroyed"}},
		{"unbind", func(d *deferredRig) { d.funcs.SetViewports(d.dth, d.h, nil) }, [4]string{"", "context-state", "", "handle-destroyed"}},
		{"CreateCommandList", func(d *deferredRig) { d.list() }, [4]string{"", "context-state", "context-state", "handle-destroyed"}},
		{"AbandonCommandList", func(d *deferredRig) { d.funcs.AbandonCommandList(d.dth, d.h) }, [4]string{"", "context-state", "context-state", "handle-destroyed"}},
		{"RecycleCreateDeferredContext", func(d *deferredRig) { d.renew() }, [4]string{"context-state", "", "", "handle-destroyed"}},
		{"DestroyDevice", func(d *deferredRig) { d.funcs.DestroyDevice(d.dth, d.h) }, [4]string{"context-state", "", "", "handle-destroyed"}},
		{"an immediate function", func(d *deferredRig) { d.rig.funcs.Flush(d.dth, d.h) }, [4]string{"handle-foreign", "handle-foreign", "handle-foreign", "handle-destroyed"}},
	} {
		for i, reach := range states {
			r := collecting(t)
			d := r.deferred("d")
			reach(d)
			require.Empty(t, r.broken())
			a.act(d)
			var first string
			if b := r.broken(); len(b) > 0 {
				first = b[0]
			}
			assert.Equal(t, a.want[i], first, "%s in state %d", a.name, i)
		}
	}
}
