package verifier

import (
	"bytes"
	"errors"
	"reflect"
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
	all, err := ReadTrace(bytes.NewReader(b.Bytes()))
	require.NoError(t, err)
	return all
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
	open := WrapUserMode(openFake, nil, h)
	require.Equal(t, ddi.OK, open(th, &umddi.OpenAdapter{Callbacks: &umddi.AdapterCallbacks{}, Funcs: &adapter}))
	funcs := new(umddi.DeviceFuncs)
	require.Equal(t, ddi.OK, adapter.CreateDevice(th, umddi.HAdapter{}, &umddi.CreateDevice{
		KTCallbacks: kt, UMCallbacks: &umddi.CoreLayerCallbacks{}, DXGICallbacks: &umddi.DXGIBaseCallbacks{},
		DeviceFuncs: funcs, DXGIFuncs: &umddi.DXGIBaseFuncs{},
	}))
	return funcs
}

func TestTablesMayChange(t *testing.T) {
	tr := NewTrace(&bytes.Buffer{}, func() uint64 { return 0 })
	th := new(ddi.Thread)
	kt := &umddi.DeviceCallbacks{RenderCb: func(*ddi.Thread, umddi.HRTDevice, *umddi.Render) ddi.HRESULT { return ddi.OK }}
	funcs := openDevice(t, th, tr, kt)
	called := false
	kt.RenderCb = func(*ddi.Thread, umddi.HRTDevice, *umddi.Render) ddi.HRESULT { called = true; return ddi.OK }
	funcs.Flush(th, umddi.HDevice{})
	assert.True(t, called, "a callback that the runtime replaced is called")
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
	assert.ErrorIs(t, tr.Err(), errDisk)
}

// Each function field of a table is wrapped.
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
	check(reflect.ValueOf(*wrapDeviceFuncs(um, nil, tr)), reflect.ValueOf(*um))
	check(reflect.ValueOf(*wrapDriverInitializationData(km, nil, tr)), reflect.ValueOf(*km))
	check(reflect.ValueOf(*wrapDxgkrnlInterface(cb, nil, tr)), reflect.ValueOf(*cb))
	check(reflect.ValueOf(*wrapDeviceCallbacks(dc, nil, tr)), reflect.ValueOf(*dc))
}
