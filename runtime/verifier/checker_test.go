package verifier

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
	"github.com/hilgpu/hilgpu/runtime/verifier/rule"
)

func collecting(t *testing.T) *rig {
	r := newRig(t, Options{Collect: true}, native)
	r.sizes()
	return r
}

// broken returns the names of the broken rules, in order.
func (r *rig) broken() []string {
	var names []string
	for _, v := range r.m.Violations() {
		names = append(names, v.Rule.Name)
	}
	return names
}

// The errors that each function may report, from "Handling Errors" and the
// comments of umddi.DeviceFuncs: R is D3DDDIERR_DEVICEREMOVED, M is
// E_OUTOFMEMORY, B is DXGI_DDI_ERR_WASSTILLDRAWING. The first word is for
// immediate contexts, the second for deferred ones; x means that they lack the
// function.
func TestErrorCategories(t *testing.T) {
	const table = `
CalcPrivateResourceSize - x
CreateResource RM RM
DestroyResource R R
StagingResourceMap RM x
StagingResourceUnmap R x
DynamicResourceMapDiscard RM RM
DynamicResourceUnmap R RM
DynamicIABufferMapDiscard RM RM
DynamicIABufferMapNoOverwrite RM RM
DynamicIABufferUnmap R RM
DynamicConstantBufferMapDiscard RM RM
DynamicConstantBufferUnmap R RM
ResourceIsStagingBusy R x
ResourceUpdateSubresourceUP RM RM
ResourceCopy RM RM
ResourceCopyRegion RM RM
ClearRenderTargetView RM RM
CalcPrivateRenderTargetViewSize - x
CreateRenderTargetView RM RM
DestroyRenderTargetView R R
CalcPrivateQuerySize - x
CreateQuery RM RM
DestroyQuery R R
QueryBegin R RM
QueryEnd R RM
QueryGetData RB x
SetPredication R RM
IaSetTopology R RM
IaSetVertexBuffers R RM
IaSetIndexBuffer R RM
VsSetConstantBuffers R RM
HsSetConstantBuffers R RM
DsSetConstantBuffers R RM
GsSetConstantBuffers R RM
PsSetConstantBuffers R RM
CsSetConstantBuffers R RM
SetRenderTargets R RM
SetViewports R RM
SetScissorRects R RM
CalcPrivateCommandListSize - x
CreateCommandList RM RM
RecycleCreateCommandList R x
DestroyCommandList R R
RecycleDestroyCommandList R x
RecycleCommandList - R
CommandListExecute RM RM
AbandonCommandList - R
CalcPrivateDeferredContextSize - x
CreateDeferredContext RM x
RecycleCreateDeferredContext R x
CheckDeferredContextHandleSizes - x
CalcDeferredContextHandleSize - x
Flush R x
CheckFormatSupport - x
CheckMultisampleQualityLevels - x
RelocateDeviceFuncs R R
DestroyDevice R R`
	seen := 0
	for _, line := range strings.Split(strings.TrimSpace(table), "\n") {
		f := strings.Fields(line)
		s := specs["pfn"+f[0]]
		require.NotNil(t, s, f[0])
		seen++
		letters := func(r results) string {
			out := ""
			for i, l := range []string{"R", "M", "B"} {
				if r&(1<<i) != 0 {
					out += l
				}
			}
			if out == "" {
				out = "-"
			}
			return out
		}
		assert.Equal(t, f[1], letters(s.immediate), f[0])
		deferred := letters(s.deferred)
		if s.excluded {
			deferred = "x"
		}
		assert.Equal(t, f[2], deferred, f[0])
	}
	n := 0
	entries(new(umddi.DeviceFuncs), func(string, reflect.Value) { n++ })
	assert.Equal(t, n, seen, "every entry of the table")
	assert.Len(t, specs, n+4, "and the functions of DXGI")
}

// Only a map with DO_NOT_WAIT may report DXGI_DDI_ERR_WASSTILLDRAWING.
func TestBusyMap(t *testing.T) {
	for _, tt := range []struct {
		flags umddi.MapFlags
		want  []string
	}{{umddi.MapDoNotWait, nil}, {0, []string{"error-status"}}} {
		r := collecting(t)
		res := r.make().resource(umddi.CreateResource{Usage: umddi.UsageStaging})
		r.reports("StagingResourceMap", "device", ddi.DDIStillDrawing)
		r.funcs.StagingResourceMap(r.th, r.dev, res, 0, umddi.MapRead, tt.flags)
		assert.Equal(t, tt.want, r.broken())
	}
}

// A Checker stops at the first violation and reports the function, the stack
// and the calls before it. After that it accepts everything.
func TestStops(t *testing.T) {
	r := newRig(t, Options{}, native)
	r.reports("Flush", "device", ddi.OK)
	assert.NotPanics(t, func() { r.funcs.Flush(r.th, r.dev) })
	got := r.m.Err()
	require.NotNil(t, got)
	assert.Empty(t, r.th.Stack(), "the calls on the thread have unwound")
	assert.EqualError(t, got, "verifier: error-success (driver): pfnFlush: reports S_OK; the call to blame: pfnSetErrorCb (call #5), argument hr, which is S_OK")
	assert.Equal(t, []string{"pfnFlush", "pfnSetErrorCb"}, got.Stack)
	assert.Equal(t, []string{
		"#1 thread 1:1 OpenAdapter10_2", "#2 thread 1:1 pfnGetCaps", "#3 thread 1:1 pfnCreateDevice",
		"#4 thread 1:1 pfnFlush on context 1", "#5 thread 1:1   pfnSetErrorCb on context 1",
	}, got.Calls)
	assert.Equal(t, `verifier: error-success (driver): pfnFlush: reports S_OK; the call to blame: pfnSetErrorCb (call #5), argument hr, which is S_OK
  rule    Success is not reported.
  source  Handling Errors
  where   thread 1:1 at PASSIVE_LEVEL, cycle 0, error
  handles context 1
  stack   pfnFlush > pfnSetErrorCb
  calls   #1 thread 1:1 OpenAdapter10_2
          #2 thread 1:1 pfnGetCaps
          #3 thread 1:1 pfnCreateDevice
          #4 thread 1:1 pfnFlush on context 1
          #5 thread 1:1   pfnSetErrorCb on context 1
`, got.Report())
	assert.NotPanics(t, func() { r.funcs.DestroyResource(r.th, r.dev, umddi.HResource{}) })
	assert.Len(t, r.m.Violations(), 1)
}

// A violation shows only the last calls.
func TestLastCalls(t *testing.T) {
	r := collecting(t)
	for range 100 {
		r.funcs.Flush(r.th, r.dev)
	}
	r.funcs.DestroyResource(r.th, r.dev, umddi.HResource{})
	calls := r.m.Violations()[0].Calls
	assert.Len(t, calls, maxCalls)
	assert.Equal(t, "#106 thread 1:1 pfnDestroyResource on context 1", calls[maxCalls-1])
	assert.Equal(t, "#105 thread 1:1 pfnFlush on context 1", calls[maxCalls-2])
}

func TestWaiver(t *testing.T) {
	_, err := NewMonitor(Options{Waive: []string{"no-such"}})
	assert.ErrorIs(t, err, rule.ErrName)
	r := newRig(t, Options{Waive: []string{"error-success"}}, native)
	r.reports("Flush", "device", ddi.OK, ddi.OK)
	r.funcs.Flush(r.th, r.dev)
	assert.Empty(t, r.broken())
	found := r.m.Findings()
	require.Len(t, found, 1)
	require.NotNil(t, found[0].Violation)
	assert.Equal(t, []string{"pfnFlush", "pfnSetErrorCb"}, found[0].Violation.Stack)
	found[0].Violation = nil
	assert.Equal(t, []Finding{{Rule: "error-success", Waived: true, Count: 2, First: "pfnFlush: reports S_OK; the call to blame: pfnSetErrorCb (call #5), argument hr, which is S_OK"}}, found)
	r.funcs.DestroyResource(r.th, r.dev, umddi.HResource{})
	assert.NotNil(t, r.m.Err(), "another rule stops")
}

// A call that the Monitor stops has no return line in the Trace.
func TestHooks(t *testing.T) {
	var b bytes.Buffer
	tr := NewTrace(&b, func() uint64 { return 0 })
	m, err := NewMonitor(Options{})
	require.NoError(t, err)
	th := new(ddi.Thread)
	called := false
	funcs := wrapDeviceFuncs(&umddi.DeviceFuncs{Flush: func(*ddi.Thread, umddi.HDevice) { called = true }}, m, Hooks(m, tr, New(m)))
	funcs.Flush(th, umddi.HDevice{})
	require.NoError(t, tr.Err())
	got := events(t, &b)
	require.Len(t, got, 1, "a stopped call has no return line")
	assert.Equal(t, "enter", got[0].At)
	assert.False(t, called)

	var order []string
	Hooks(noted{"a", &order}, noted{"b", &order}).Leave(th, new(Func))
	assert.Equal(t, []string{"b", "a"}, order)
}

type noted struct {
	name  string
	order *[]string
}

func (n noted) Enter(*ddi.Thread, *Func, ...any) { *n.order = append(*n.order, n.name) }
func (n noted) Leave(*ddi.Thread, *Func, ...any) { *n.order = append(*n.order, n.name) }

// A driver that recovers the panic of a callback does not hide it, and is unwound
// when its function returns.
func TestRecoveredPanicOfTheSystem(t *testing.T) {
	r := collecting(t)
	r.calls("IaSetTopology", func(th *ddi.Thread) {
		defer func() { recover() }()
		r.inner.UMCallbacks.StateIaPrimitiveTopologyCb(th, r.inner.RTCoreLayer)
	})
	r.shows("StateIaPrimitiveTopologyCb", func(*ddi.Thread) { panic("bugcheck") })
	r.funcs.IaSetTopology(r.th, r.dev, 0)
	assert.Equal(t, []string{"system-panic"}, r.broken())
	assert.True(t, r.m.Stopped())
	assert.Empty(t, r.th.Stack())
}
