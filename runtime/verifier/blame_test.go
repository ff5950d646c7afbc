package verifier

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmt"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// gone makes a function report a removed device.
func (r *rig) gone(function string) { r.reports(function, "device", ddi.DDIDeviceRemoved) }

// touches makes the named Create functions write the private memory of their objects.
func (r *rig) touches(functions ...string) {
	for _, name := range functions {
		r.driver[name] = func(args, _ []any) {
			switch h := args[3].(type) {
			case umddi.HResource:
				h.Private[0] = 1
			case umddi.HQuery:
				h.Private[0] = 1
			}
		}
	}
}

// queried asks for the result of a query, which ends before if ends is set, and
// fails. The creation writes private memory if touched is set.
func queried(touched, ends bool) func(r *rig) {
	return func(r *rig) {
		if touched {
			r.touches("CreateQuery")
		}
		q := r.make().query()
		if ends {
			r.funcs.QueryEnd(r.th, r.dev, q)
		}
		r.gone("QueryGetData")
		r.funcs.QueryGetData(r.th, r.dev, q, make([]byte, 4), 0)
	}
}

// refusing makes the miniport refuse a submission with a status. The kernel has made
// context 7, or none.
func refusing(s ddi.Status, context ddi.KMHandle, before func(r *rig, t *ddi.Thread)) func(r *rig) {
	return func(r *rig) {
		miniport := WrapKernelMode(func() kmddi.DriverInitializationData {
			return kmddi.DriverInitializationData{Render: func(t *ddi.Thread, _ kmddi.HContext, _ kmddi.Render) (kmddi.RenderOut, ddi.Status) {
				before(r, t)
				return kmddi.RenderOut{}, s
			}}
		}, r.m, r.m)()
		thunks := WrapThunks(kmt.Thunks{Render: func(t *ddi.Thread, _ ddi.KMHandle, _ *umddi.Render) ddi.Status {
			_, s := miniport.Render(t, kmddi.HContext{}, kmddi.Render{})
			return s
		}}, r.m)
		r.system["RenderCb"] = func(args, results []any) {
			thunks.Render(args[0].(*ddi.Thread), 1, args[2].(*umddi.Render))
			results[0] = ddi.EInvalidArg
		}
		r.flush(func(t *ddi.Thread, kt *umddi.DeviceCallbacks, h umddi.HRTDevice) {
			if context != 0 {
				kt.CreateContextCb(t, h, &umddi.CreateContext{Context: context})
			}
			kt.RenderCb(t, h, &umddi.Render{Context: context})
		})
	}
}

// locking makes a map function lock allocation 3 once, or n times, and its unmap
// function not unlock it.
func locking(n int) func(r *rig) {
	return func(r *rig) {
		res := r.staging()
		r.driver["StagingResourceMap"] = func(args, _ []any) {
			for range n {
				r.inner.KTCallbacks.LockCb(args[0].(*ddi.Thread), r.inner.RTDevice, &umddi.Lock{Allocation: 3})
			}
		}
		for range 2 {
			r.funcs.StagingResourceMap(r.th, r.dev, res, 0, umddi.MapRead, 0)
			r.funcs.StagingResourceUnmap(r.th, r.dev, res, 0)
		}
	}
}

// twice creates contexts 7 and 8, submits to one, and destroys that one.
func twice(r *rig) {
	r.flush(func(t *ddi.Thread, kt *umddi.DeviceCallbacks, h umddi.HRTDevice) {
		kt.CreateContextCb(t, h, &umddi.CreateContext{Context: 7})
		kt.CreateContextCb(t, h, &umddi.CreateContext{Context: 8})
		kt.RenderCb(t, h, &umddi.Render{Context: 8})
		kt.DestroyContextCb(t, h, 8)
	})
	r.funcs.DestroyDevice(r.th, r.dev)
}

// A violation names the call that made the mistake if it is another one, and no call
// if that is not known.
func TestCulprits(t *testing.T) {
	for _, tt := range []struct {
		name, rule string
		breaks     func(r *rig)
		want       string
	}{
		{"a creation that wrote nothing", "removed-report", queried(false, true),
			"pfnCreateQuery (call #5, 3 calls ago), which left the 12 bytes of private memory of query 2 as they were"},
		{"the last call that got the object", "removed-report", queried(true, true), "pfnQueryEnd (call #6, 2 calls ago), which was the last to make query 2 ready"},
		{"a size that no object had", "removed-report", func(r *rig) { r.gone("CreateResource"); r.make().buffer() },
			"pfnCalcPrivateResourceSize (call #4, 2 calls ago), result, which is 12 for resource 2"},
		{"a size with which one was created", "removed-report", func(r *rig) {
			r.touches("CreateResource")
			r.make().buffer()
			r.gone("CreateResource")
			r.make().buffer()
		}, ""},
		{"nothing is known", "removed-report", func(r *rig) { r.gone("Flush"); r.funcs.Flush(r.th, r.dev) }, ""},
		{"a lock that does not wait", "removed-report", func(r *rig) {
			res := r.staging()
			r.answers("LockCb", ddi.DDIStillDrawing)
			r.calls("StagingResourceMap", func(t *ddi.Thread) {
				r.inner.KTCallbacks.LockCb(t, r.inner.RTDevice, &umddi.Lock{DoNotWait: true})
				r.inner.UMCallbacks.SetErrorCb(t, umddi.HRTCoreLayer{Runtime: "device"}, ddi.DDIDeviceRemoved)
			})
			r.funcs.StagingResourceMap(r.th, r.dev, res, 0, umddi.MapRead, 0)
		}, "pfnLockCb (call #7, 1 call ago), argument DoNotWait, which is TRUE"},
		{"a refusal of the miniport", "callback-refused", refusing(ddi.StatusInvalidParameter, 7, func(*rig, *ddi.Thread) {}),
			"DxgkDdiRender (call #7), which refused with STATUS_INVALID_PARAMETER what the kernel and the checker accept"},
		{"a refusal that a checker explains", "callback-refused", refusing(ddi.StatusInvalidHandle, 7, func(r *rig, th *ddi.Thread) {
			r.m.BlameRefusal(th, &Culprit{Function: "DxgkDdiOpenAllocation", Why: "did nothing"})
		}), "DxgkDdiOpenAllocation, which did nothing"},
		{"no context", "callback-refused", refusing(ddi.StatusInvalidHandle, 0, func(*rig, *ddi.Thread) {}),
			"pfnCreateContextCb, which has made no context of the device"},
		{"a lock again", "lock-unmapped", locking(2), "pfnLockCb (call #8), which locked allocation 0x3 again in pfnStagingResourceMap"},
		{"an unmap without an unlock", "lock-unmapped", locking(1), "pfnStagingResourceUnmap (call #8, 2 calls ago), which made no pfnUnlockCb"},
		{"a context that was never used", "kernel-leak", twice, "pfnCreateContextCb (call #5, 4 calls ago), which made a context that got no submission"},
		{"a list of sizes that is empty", "size-member", func(r *rig) {
			r.driver["CheckDeferredContextHandleSizes"] = func(_, results []any) { results[0] = 0 }
			r.sizes()
			r.make().query()
		}, "pfnCheckDeferredContextHandleSizes (call #5, 3 calls ago), which gave no size of a query"},
		{"a result that is not written", "query-result", answering(), "pfnSetErrorCb, which is missing in pfnQueryGetData"},
		{"memory to write that is locked for reading", "lock-readonly", readOnly(umddi.MapWrite), "pfnLockCb (call #7), argument ReadOnly, which is TRUE for allocation 0x3"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, Options{Collect: true}, native)
			tt.breaks(r)
			var first *Violation
			if all := r.m.Violations(); len(all) > 0 {
				first = all[0]
			} else if found := r.m.Findings(); len(found) > 0 {
				first = found[0].Violation
			}
			require.NotNil(t, first)
			require.Equal(t, tt.rule, first.Rule.Name, first.Error())
			got := ""
			if first.Culprit != nil {
				got = first.Culprit.String()
				assert.Contains(t, first.Report(), "; the call to blame: "+got)
			}
			assert.Equal(t, tt.want, got)
		})
	}
}

// A checker may know the culprit of a violation that another one reports. A culprit
// in the report stays.
func TestOnBlame(t *testing.T) {
	m, err := NewMonitor(Options{Collect: true})
	require.NoError(t, err)
	m.OnBlame(func(_ *ddi.Thread, broken, function string) *Culprit {
		return &Culprit{Function: "pfnFlush", Why: "is to blame for " + broken + " of " + function}
	}, "content", "gpu-fault")
	f := &Func{Name: "pfnMap"}
	m.Report(Report{Rule: "content", Func: f})
	m.Report(Report{Rule: "gpu-fault", Func: f, Culprit: &Culprit{Function: "pfnPresent"}})
	m.Report(Report{Rule: "query-result", Func: f})
	found := map[string]*Culprit{}
	for _, v := range m.Findings() {
		found[v.Rule] = v.Violation.Culprit
	}
	for _, v := range m.Violations() {
		found[v.Rule.Name] = v.Culprit
	}
	assert.Equal(t, map[string]*Culprit{
		"content": {Function: "pfnFlush", Why: "is to blame for content of pfnMap"}, "gpu-fault": {Function: "pfnPresent"}, "query-result": nil,
	}, found)
}
