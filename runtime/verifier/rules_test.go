package verifier

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
	"github.com/hilgpu/hilgpu/runtime/verifier/rule"
)

const native = umddi.CapsFreeThreaded | umddi.CapsCommandListsBuild2

// A ruleCase has a program that breaks a rule and a similar one that does not.
type ruleCase struct {
	rule   string
	caps   uint32 // 0: native command lists
	breaks func(r *rig)
	keeps  func(r *rig)
}

// serialCaps requests a driver without capabilities.
const serialCaps = 1 << 31

func (c ruleCase) rig(t *testing.T) *rig {
	caps := c.caps
	if caps == 0 {
		caps = native
	}
	r := newRig(t, Options{Collect: true}, caps&^serialCaps)
	r.sizes()
	return r
}

// Every rule has a program that breaks it first and a program at its boundary
// that breaks no rule.
func TestRules(t *testing.T) {
	cases := map[string]ruleCase{}
	for _, list := range [][]ruleCase{listCases(), threadCases(), sizeCases(), errorCases(), handleCases(), refreshCases(), memoryCases(), mapCases(), holdingCases(), workCases(), contentCases()} {
		for _, c := range list {
			_, twice := cases[c.rule]
			require.False(t, twice, c.rule)
			cases[c.rule] = c
		}
	}
	assert.Len(t, cases, len(rule.UserMode()))
	for _, want := range rule.UserMode() {
		t.Run(want.Name, func(t *testing.T) {
			c, ok := cases[want.Name]
			require.True(t, ok, "the rule has no test")
			r := c.rig(t)
			c.breaks(r)
			if want.Warning {
				require.Len(t, r.m.Findings(), 1)
				assert.Equal(t, want.Name, r.m.Findings()[0].Rule)
				assert.Empty(t, r.m.Violations())
			} else {
				require.NotEmpty(t, r.m.Violations())
				assert.Equal(t, want.Name, r.m.Violations()[0].Rule.Name, "%v", r.m.Violations()[0])
			}
			r = c.rig(t)
			c.keeps(r)
			for _, v := range r.m.Violations() {
				t.Errorf("at the boundary: %v", v)
			}
			assert.Empty(t, r.m.Findings())
		})
	}
}

// TestRuleTable checks the data that tools print.
func TestRuleTable(t *testing.T) {
	names := map[string]bool{}
	for _, r := range rule.All() {
		assert.Regexp(t, regexp.MustCompile(`^[a-z]+(-[a-z]+)*$`), r.Name)
		assert.False(t, names[r.Name], r.Name)
		names[r.Name] = true
		assert.Regexp(t, regexp.MustCompile(`^[A-Z].*\.$`), r.Title, r.Name)
		assert.Regexp(t, regexp.MustCompile(`^(pfn|DxgkDdi|DxgkCb|DriverEntry)\w*: .*[^.]$`), r.Example, r.Name)
		assert.Contains(t, []rule.Fault{rule.Driver, rule.Runtime, rule.Either, rule.DriverOrDevice}, r.Fault)
		assert.NotEmpty(t, r.Source, r.Name)
		assert.NotEmpty(t, r.Catches, r.Name)
		got, err := rule.Named(r.Name)
		require.NoError(t, err)
		assert.Equal(t, r, got)
	}
	_, err := rule.Named("no-such")
	assert.ErrorIs(t, err, rule.ErrName)
}

func threadCases() []ruleCase {
	return []ruleCase{
		{rule: "context-overlap", breaks: func(r *rig) {
			r.calls("Flush", func(*ddi.Thread) { r.funcs.IaSetTopology(r.other, r.dev, 1) })
			r.funcs.Flush(r.th, r.dev)
		}, keeps: func(r *rig) { // free-threaded functions and other contexts
			d := r.deferred("d")
			r.calls("Flush", func(*ddi.Thread) {
				maker{r, r.other}.buffer()
				d.funcs.IaSetTopology(r.dth, d.h, 1)
			})
			r.funcs.Flush(r.th, r.dev)
			r.funcs.Flush(r.other, r.dev)
		}},
		{rule: "free-threaded", caps: serialCaps, breaks: func(r *rig) {
			r.calls("Flush", func(*ddi.Thread) { maker{r, r.other}.buffer() })
			r.funcs.Flush(r.th, r.dev)
		}, keeps: func(r *rig) {
			r.calls("Flush", func(*ddi.Thread) { r.funcs.CalcPrivateResourceSize(r.other, r.dev, nil) })
			r.funcs.Flush(r.th, r.dev)
			maker{r, r.other}.buffer()
		}},
		{rule: "reentered", breaks: func(r *rig) {
			r.calls("ResourceCopy", func(t *ddi.Thread) { r.inner.KTCallbacks.LockCb(t, r.inner.RTDevice, &umddi.Lock{}) })
			r.shows("LockCb", func(t *ddi.Thread) { r.funcs.Flush(t, r.dev) })
			res := r.make().buffer()
			r.funcs.ResourceCopy(r.th, r.dev, res, res)
		}, keeps: func(r *rig) {
			r.calls("ResourceCopy", func(t *ddi.Thread) { r.inner.UMCallbacks.StateIaPrimitiveTopologyCb(t, r.inner.RTCoreLayer) })
			r.shows("StateIaPrimitiveTopologyCb", func(t *ddi.Thread) { r.funcs.IaSetTopology(t, r.dev, 0) })
			res := r.make().buffer()
			r.funcs.ResourceCopy(r.th, r.dev, res, res)
		}},
		{rule: "callback-outside", breaks: func(r *rig) {
			r.inner.KTCallbacks.LockCb(r.th, r.inner.RTDevice, &umddi.Lock{})
		}, keeps: func(r *rig) {
			r.calls("CreateResource", func(t *ddi.Thread) { r.inner.KTCallbacks.LockCb(t, r.inner.RTDevice, &umddi.Lock{}) })
			r.make().buffer()
		}},
		{rule: "submit-place", breaks: func(r *rig) {
			r.calls("CreateResource", func(t *ddi.Thread) { r.inner.KTCallbacks.RenderCb(t, r.inner.RTDevice, &umddi.Render{}) })
			r.make().buffer()
		}, keeps: func(r *rig) {
			res := r.make().buffer()
			r.calls("Present", func(t *ddi.Thread) {
				r.inner.KTCallbacks.RenderCb(t, r.inner.RTDevice, &umddi.Render{})
				r.inner.DXGICallbacks.PresentCb(t, r.inner.RTDevice, &umddi.PresentCB{})
			})
			r.arg.DXGIFuncs.Present(r.th, umddi.Present{Device: r.dev, SurfaceToPresent: res, DstResource: res})
		}},
	}
}

func sizeCases() []ruleCase {
	return []ruleCase{
		{rule: "size-private", breaks: func(r *rig) {
			r.funcs.CalcPrivateResourceSize(r.th, r.dev, nil)
			r.funcs.CreateResource(r.th, r.dev, &umddi.CreateResource{}, umddi.HResource{Object: memoryOf(rigPrivate - 1)}, umddi.HRTResource{})
		}, keeps: func(r *rig) { r.deferred("d").open(r.make().buffer()) }},
		{rule: "size-varies", breaks: func(r *rig) {
			r.k.contexts[r.dev.Root].sizes = append(r.k.contexts[r.dev.Root].sizes, umddi.HandleSize{Type: umddi.HandleResource, Size: 64})
			res := r.make().buffer()
			r.driver["CalcDeferredContextHandleSize"] = func(_, results []any) { results[0] = 64 }
			r.funcs.CalcDeferredContextHandleSize(r.th, r.dev, umddi.HandleResource, res.Object)
		}, keeps: func(r *rig) {
			res := r.make().buffer()
			r.funcs.CalcDeferredContextHandleSize(r.other, r.dev, umddi.HandleResource, res.Object)
		}},
		{rule: "size-check", breaks: func(r *rig) {
			r.driver["CheckDeferredContextHandleSizes"] = func(_, results []any) { results[0] = 3 }
			r.funcs.CheckDeferredContextHandleSizes(r.th, r.dev, nil)
		}, keeps: func(r *rig) { r.sizes() }},
		{rule: "size-member", breaks: func(r *rig) {
			r.driver["CalcDeferredContextHandleSize"] = func(_, results []any) { results[0] = rigLocal + 1 }
			r.make().buffer()
		}, keeps: func(r *rig) { r.make().buffer() }},
	}
}

func errorCases() []ruleCase {
	return []ruleCase{
		{rule: "error-status", breaks: func(r *rig) {
			r.reports("Flush", "device", ddi.EOutOfMemory)
			r.funcs.Flush(r.th, r.dev)
		}, keeps: func(r *rig) {
			r.loses()
			r.reports("Flush", "device", ddi.DDIDeviceRemoved, ddi.DDIDeviceRemoved)
			r.funcs.Flush(r.th, r.dev)
		}},
		{rule: "error-success", breaks: func(r *rig) {
			r.reports("Flush", "device", ddi.OK)
			r.funcs.Flush(r.th, r.dev)
		}, keeps: func(r *rig) {
			r.reports("CreateResource", "device", ddi.EOutOfMemory)
			r.funcs.CalcPrivateResourceSize(r.th, r.dev, nil)
			r.funcs.CreateResource(r.th, r.dev, &umddi.CreateResource{}, umddi.HResource{Object: memoryOf(rigPrivate)}, umddi.HRTResource{})
		}},
		{rule: "error-outside", breaks: func(r *rig) {
			r.inner.UMCallbacks.SetErrorCb(r.th, r.inner.RTCoreLayer, ddi.DDIDeviceRemoved)
		}, keeps: func(r *rig) {
			r.loses()
			r.reports("Flush", "device", ddi.DDIDeviceRemoved)
			r.funcs.Flush(r.other, r.dev)
		}},
		{rule: "error-layer", breaks: func(r *rig) {
			d := r.deferred("d")
			r.reports("IaSetTopology", "device", ddi.EOutOfMemory)
			d.funcs.IaSetTopology(r.dth, d.h, 1)
		}, keeps: func(r *rig) { // also for an open, which reports to the device's core layer
			d := r.deferred("d")
			res := r.make().buffer()
			r.reports("IaSetTopology", "d", ddi.EOutOfMemory)
			d.funcs.IaSetTopology(r.dth, d.h, 1)
			r.reports("CreateResource", "device", ddi.EOutOfMemory)
			d.open(res)
		}},
		{rule: "error-create-layer", breaks: func(r *rig) {
			d := r.deferred("d")
			res := r.make().buffer()
			r.reports("CreateResource", "d", ddi.EOutOfMemory)
			d.open(res)
		}, keeps: func(r *rig) {
			d := r.deferred("d")
			res := r.make().buffer()
			r.reports("CreateResource", "device", ddi.EOutOfMemory)
			d.open(res)
		}},
		{rule: "open-failed", breaks: func(r *rig) { r.opens(ddi.EFail, ddi.OK) }, keeps: func(r *rig) {
			r.opens(ddi.OK, ddi.OK)
			r.opens(ddi.EOutOfMemory, ddi.OK)
			r.opens(ddi.EFail, ddi.DDIDeviceRemoved) // the kernel refused the query
		}},
		{rule: "recycle-result", breaks: func(r *rig) {
			d := r.deferred("d")
			d.list()
			r.driver["RecycleCreateDeferredContext"] = func(_, results []any) { results[0] = ddi.EFail }
			d.renew()
		}, keeps: func(r *rig) {
			d := r.deferred("d")
			d.list()
			r.driver["RecycleCreateDeferredContext"] = func(_, results []any) { results[0] = ddi.EOutOfMemory }
			d.renew()
			d.funcs.DestroyDevice(r.dth, d.h)
		}},
	}
}

func refreshCases() []ruleCase {
	topology := func(r *rig, in string, shown umddi.Topology) {
		r.calls(in, func(t *ddi.Thread) { r.inner.UMCallbacks.StateIaPrimitiveTopologyCb(t, r.inner.RTCoreLayer) })
		r.shows("StateIaPrimitiveTopologyCb", func(t *ddi.Thread) { r.funcs.IaSetTopology(t, r.dev, shown) })
	}
	return []ruleCase{
		{rule: "refresh-stale", breaks: func(r *rig) { // the old binding in a Set function
			topology(r, "IaSetTopology", 0)
			r.funcs.IaSetTopology(r.th, r.dev, 4)
		}, keeps: func(r *rig) { // the new state, in Execute first the old one
			topology(r, "IaSetTopology", 4)
			r.funcs.IaSetTopology(r.th, r.dev, 4)
			l := r.deferred("d").list()
			topology(r, "CommandListExecute", 4)
			r.funcs.CommandListExecute(r.th, r.dev, l)
			topology(r, "Flush", 0)
			r.funcs.Flush(r.th, r.dev)
		}},
		{rule: "refresh-function", breaks: func(r *rig) {
			topology(r, "Flush", 0)
			r.shows("StateIaPrimitiveTopologyCb", func(t *ddi.Thread) { r.funcs.SetViewports(t, r.dev, nil) })
			r.funcs.Flush(r.th, r.dev)
		}, keeps: func(r *rig) { // an empty slot need not be shown
			topology(r, "Flush", 0)
			r.shows("StateIaPrimitiveTopologyCb", func(*ddi.Thread) {})
			r.funcs.Flush(r.th, r.dev)
		}},
		{rule: "refresh-place", breaks: func(r *rig) {
			topology(r, "CreateResource", 0)
			r.make().buffer()
		}, keeps: func(r *rig) { // state of a deferred context while its list is created
			d := r.deferred("d")
			d.funcs.IaSetTopology(r.dth, d.h, 3)
			r.calls("CreateCommandList", func(t *ddi.Thread) { d.inner.UMCallbacks.StateIaPrimitiveTopologyCb(t, d.inner.RTCoreLayer) })
			r.shows("StateIaPrimitiveTopologyCb", func(t *ddi.Thread) { d.funcs.IaSetTopology(t, d.h, 3) })
			d.list()
		}},
		{rule: "refresh-range", breaks: func(r *rig) {
			r.calls("Flush", func(t *ddi.Thread) {
				r.inner.UMCallbacks.StateHsConstBufCb(t, r.inner.RTCoreLayer, umddi.Range{Base: 14, Count: 1})
			})
			r.funcs.Flush(r.th, r.dev)
		}, keeps: func(r *rig) {
			r.calls("Flush", func(t *ddi.Thread) {
				r.inner.UMCallbacks.StateHsConstBufCb(t, r.inner.RTCoreLayer, umddi.Range{Base: 13, Count: 1})
				r.inner.UMCallbacks.StateIaVertexBufCb(t, r.inner.RTCoreLayer, umddi.Range{Base: 0, Count: -1})
			})
			r.shows("StateHsConstBufCb", func(t *ddi.Thread) { r.funcs.HsSetConstantBuffers(t, r.dev, 13, make([]umddi.HResource, 1)) })
			r.funcs.Flush(r.th, r.dev)
		}},
		{rule: "refresh-amortized", breaks: func(r *rig) {
			topology(r, "Flush", 0)
			r.calls("IaSetTopology", func(t *ddi.Thread) { r.inner.KTCallbacks.RenderCb(t, r.inner.RTDevice, &umddi.Render{}) })
			r.funcs.IaSetTopology(r.th, r.dev, 0)
			r.funcs.Flush(r.th, r.dev)
		}, keeps: func(r *rig) {
			topology(r, "Flush", 0)
			r.calls("IaSetTopology", func(t *ddi.Thread) {
				r.inner.KTCallbacks.RenderCb(t, r.inner.RTDevice, &umddi.Render{})
				r.inner.UMCallbacks.PerformAmortizedProcessingCb(t, r.inner.RTCoreLayer)
			})
			r.funcs.IaSetTopology(r.th, r.dev, 0)
			r.funcs.Flush(r.th, r.dev)
		}},
	}
}
