package verifier

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// events decodes a trace.
func events(t *testing.T, b *bytes.Buffer) []Event {
	t.Helper()
	var out []Event
	for _, line := range strings.Split(strings.TrimSpace(b.String()), "\n") {
		var ev Event
		require.NoError(t, json.Unmarshal([]byte(line), &ev))
		out = append(out, ev)
	}
	return out
}

// openFake is a user-mode driver whose Flush submits through RenderCb.
func openFake(t *ddi.Thread, arg *umddi.OpenAdapter) ddi.HRESULT {
	arg.Funcs.CreateDevice = func(t *ddi.Thread, _ umddi.HAdapter, arg *umddi.CreateDevice) ddi.HRESULT {
		cb, rt := arg.KTCallbacks, arg.RTDevice
		arg.DeviceFuncs.Flush = func(t *ddi.Thread, _ umddi.HDevice) {
			cb.RenderCb(t, rt, &umddi.Render{Context: 7})
		}
		return ddi.OK
	}
	return ddi.OK
}

func openDevice(t *testing.T, th *ddi.Thread, h Hook, kt *umddi.DeviceCallbacks) *umddi.DeviceFuncs {
	t.Helper()
	var adapter umddi.AdapterFuncs
	open := WrapUserMode(openFake, h)
	require.Equal(t, ddi.OK, open(th, &umddi.OpenAdapter{Callbacks: &umddi.AdapterCallbacks{}, Funcs: &adapter}))
	funcs := new(umddi.DeviceFuncs)
	require.Equal(t, ddi.OK, adapter.CreateDevice(th, umddi.HAdapter{}, &umddi.CreateDevice{
		KTCallbacks: kt, UMCallbacks: &umddi.CoreLayerCallbacks{}, DXGICallbacks: &umddi.DXGIBaseCallbacks{},
		DeviceFuncs: funcs, DXGIFuncs: &umddi.DXGIBaseFuncs{},
	}))
	return funcs
}

func TestUserModeTrace(t *testing.T) {
	var b bytes.Buffer
	cycle := uint64(0)
	tr := NewTrace(&b, func() uint64 { cycle += 10; return cycle })
	th := &ddi.Thread{Process: 3, ID: 4}
	kt := &umddi.DeviceCallbacks{RenderCb: func(*ddi.Thread, umddi.HRTDevice, *umddi.Render) ddi.HRESULT { return ddi.DDIDeviceRemoved }}
	funcs := openDevice(t, th, tr, kt)
	assert.Nil(t, funcs.ResourceCopy, "a slot that the driver left nil stays nil")
	funcs.Flush(th, umddi.HDevice{})
	require.NoError(t, tr.Close())

	assert.Equal(t, []Event{
		{Seq: 1, Name: "OpenAdapter10_2", Direction: "call", Process: 3, Thread: 4, IRQL: "PASSIVE_LEVEL", Cycle: 10, Result: "S_OK"},
		{Seq: 2, Name: "pfnCreateDevice", Direction: "call", Process: 3, Thread: 4, IRQL: "PASSIVE_LEVEL", Cycle: 20, Result: "S_OK"},
		{Seq: 3, Name: "pfnFlush", Direction: "call", Process: 3, Thread: 4, IRQL: "PASSIVE_LEVEL", Cycle: 30},
		{Seq: 4, Name: "pfnRenderCb", Direction: "callback", Depth: 1, Process: 3, Thread: 4, IRQL: "PASSIVE_LEVEL", Cycle: 40, Context: 7, Result: "D3DDDIERR_DEVICEREMOVED"},
	}, events(t, &b))
	assert.Empty(t, th.Stack())
}

func TestTablesMayChange(t *testing.T) {
	tr := NewTrace(&bytes.Buffer{}, func() uint64 { return 0 })
	th := new(ddi.Thread)
	kt := &umddi.DeviceCallbacks{RenderCb: func(*ddi.Thread, umddi.HRTDevice, *umddi.Render) ddi.HRESULT { return ddi.OK }}
	funcs := openDevice(t, th, tr, kt)
	called := false
	kt.RenderCb = func(*ddi.Thread, umddi.HRTDevice, *umddi.Render) ddi.HRESULT { called = true; return ddi.OK }
	funcs.Flush(th, umddi.HDevice{})
	assert.True(t, called, "a callback that the runtime exchanged is the one that is called")
}

func TestKernelModeTrace(t *testing.T) {
	var b bytes.Buffer
	tr := NewTrace(&b, func() uint64 { return 5 })
	th := new(ddi.Thread)
	entry := WrapKernelMode(func() kmddi.DriverInitializationData {
		var cb *kmddi.DxgkrnlInterface
		return kmddi.DriverInitializationData{
			Version: kmddi.InterfaceVersion,
			StartDevice: func(_ *ddi.Thread, _ kmddi.HAdapter, _ kmddi.StartInfo, c *kmddi.DxgkrnlInterface) (kmddi.StartDeviceOut, ddi.Status) {
				cb = c
				return kmddi.StartDeviceOut{}, ddi.StatusSuccess
			},
			InterruptRoutine: func(t *ddi.Thread, _ kmddi.HAdapter, _ uint32) bool {
				cb.NotifyInterrupt(t, cb.DeviceHandle, kmddi.NotifyInterrupt{FenceID: 9, NodeOrdinal: 1})
				return cb.QueueDpc(t, cb.DeviceHandle)
			},
			SubmitCommand: func(*ddi.Thread, kmddi.HAdapter, kmddi.SubmitCommand) ddi.Status { return ddi.StatusSuccess },
		}
	}, tr)
	d := entry()
	assert.EqualValues(t, kmddi.InterfaceVersion, d.Version)
	assert.Nil(t, d.Render)
	d.StartDevice(th, kmddi.HAdapter{}, kmddi.StartInfo{}, &kmddi.DxgkrnlInterface{
		NotifyInterrupt: func(*ddi.Thread, kmddi.HDxgkrnl, kmddi.NotifyInterrupt) {},
		QueueDpc:        func(*ddi.Thread, kmddi.HDxgkrnl) bool { return true },
	})
	ctx := kmddi.HContext{Root: new(ddi.Root)}
	d.SubmitCommand(th, kmddi.HAdapter{}, kmddi.SubmitCommand{Context: ctx, SubmissionFenceID: 8, NodeOrdinal: 1})
	old := th.Raise(ddi.DIRQL)
	d.InterruptRoutine(th, kmddi.HAdapter{}, 0)
	th.Lower(old)
	require.NoError(t, tr.Close())

	var got []string
	evs := events(t, &b)
	for _, ev := range evs {
		got = append(got, ev.Direction+" "+ev.Name+" "+ev.IRQL)
	}
	assert.Equal(t, []string{
		"call DxgkDdiStartDevice PASSIVE_LEVEL",
		"call DxgkDdiSubmitCommand PASSIVE_LEVEL",
		"call DxgkDdiInterruptRoutine DIRQL",
		"callback DxgkCbNotifyInterrupt DIRQL",
		"callback DxgkCbQueueDpc DIRQL",
	}, got)
	one := 1
	assert.Equal(t, Event{Seq: 2, Name: "DxgkDdiSubmitCommand", Direction: "call", IRQL: "PASSIVE_LEVEL", Cycle: 5, Context: 1, Fence: 8, Node: &one, Result: "STATUS_SUCCESS"}, evs[1])
	assert.EqualValues(t, 9, evs[3].Fence)
	assert.Equal(t, "true", evs[4].Result)
}

func TestUnwoundCallIsUnfinished(t *testing.T) {
	var b bytes.Buffer
	tr := NewTrace(&b, func() uint64 { return 0 })
	th := new(ddi.Thread)
	outer, inner := &Func{Name: "DxgkDdiRender"}, &Func{Name: "DxgkCbQueueDpc", Callback: true}
	th.Push(outer.Name)
	tr.Enter(th, outer)
	th.Push(inner.Name)
	tr.Enter(th, inner)
	tr.Leave(th, outer, ddi.StatusSuccess) // inner unwound
	assert.NotContains(t, b.String(), inner.Name, "not before it is known not to return")
	require.NoError(t, tr.Close())
	evs := events(t, &b)
	require.Len(t, evs, 2)
	assert.False(t, evs[0].Unfinished)
	assert.True(t, evs[1].Unfinished)
}

type failingWriter struct{}

var errDisk = errors.New("disk full")

func (failingWriter) Write([]byte) (int, error) { return 0, errDisk }

func TestWriteErrorIsReported(t *testing.T) {
	tr := NewTrace(failingWriter{}, func() uint64 { return 0 })
	f, th := &Func{Name: "pfnFlush"}, new(ddi.Thread)
	th.Push(f.Name)
	tr.Enter(th, f)
	tr.Leave(th, f)
	assert.ErrorIs(t, tr.Close(), errDisk)
}

// Each function field of a table is wrapped: none is passed through.
func TestEveryFieldIsWrapped(t *testing.T) {
	check := func(wrapped, plain reflect.Value) {
		for i := range plain.NumField() {
			if plain.Field(i).Kind() == reflect.Func {
				assert.NotEqual(t, plain.Field(i).Pointer(), wrapped.Field(i).Pointer(), "%s.%s", plain.Type(), plain.Type().Field(i).Name)
			}
		}
	}
	tr := NewTrace(&bytes.Buffer{}, func() uint64 { return 0 })
	um, km, cb := new(umddi.DeviceFuncs), new(kmddi.DriverInitializationData), new(kmddi.DxgkrnlInterface)
	dc := new(umddi.DeviceCallbacks)
	for _, p := range []any{um, km, cb, dc} {
		v := reflect.ValueOf(p).Elem()
		for i := range v.NumField() {
			if f := v.Field(i); f.Kind() == reflect.Func {
				f.Set(reflect.MakeFunc(f.Type(), func([]reflect.Value) []reflect.Value { panic("not called") }))
			}
		}
	}
	check(reflect.ValueOf(*wrapDeviceFuncs(um, tr)), reflect.ValueOf(*um))
	check(reflect.ValueOf(*wrapDriverInitializationData(km, tr)), reflect.ValueOf(*km))
	check(reflect.ValueOf(*wrapDxgkrnlInterface(cb, tr)), reflect.ValueOf(*cb))
	check(reflect.ValueOf(*wrapDeviceCallbacks(dc, tr)), reflect.ValueOf(*dc))
}
