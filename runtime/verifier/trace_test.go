package verifier

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/dxgi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

func TestUserModeTrace(t *testing.T) {
	var b bytes.Buffer
	cycle := uint64(0)
	tr := NewTrace(&b, func() uint64 { cycle += 10; return cycle })
	th := &ddi.Thread{Process: 3, ID: 4}
	kt := &umddi.DeviceCallbacks{RenderCb: func(_ *ddi.Thread, _ umddi.HRTDevice, arg *umddi.Render) ddi.HRESULT {
		arg.QueuedBufferCount = 1
		return ddi.DDIDeviceRemoved
	}}
	funcs := openDevice(t, th, tr, kt)
	assert.Nil(t, funcs.ResourceCopy, "a slot that the driver left nil stays nil")
	funcs.Flush(th, umddi.HDevice{Root: new(ddi.Root)})
	require.NoError(t, tr.Err())
	assert.Equal(t, `{"trace":"hilgpu-ddi","version":1}
{"at":"enter","seq":1,"name":"OpenAdapter10_2","process":3,"thread":4,"cycle":10,"direction":"call","depth":0,"irql":"PASSIVE_LEVEL","args":{"arg":{"RTAdapter":null,"Adapter":null,"Interface":0}}}
{"at":"leave","seq":1,"name":"OpenAdapter10_2","process":3,"thread":4,"cycle":20,"results":{"hr":"S_OK"}}
{"at":"enter","seq":2,"name":"pfnCreateDevice","process":3,"thread":4,"cycle":30,"direction":"call","depth":0,"irql":"PASSIVE_LEVEL","args":{"h":null,"arg":{"RTDevice":null,"RTCoreLayer":null,"Device":null,"Interface":0,"Flags":"0x0"}}}
{"at":"leave","seq":2,"name":"pfnCreateDevice","process":3,"thread":4,"cycle":40,"results":{"hr":"S_OK"}}
{"at":"enter","seq":3,"name":"pfnFlush","process":3,"thread":4,"cycle":50,"direction":"call","depth":0,"irql":"PASSIVE_LEVEL","args":{"h":"device 1"}}
{"at":"enter","seq":4,"name":"pfnRenderCb","process":3,"thread":4,"cycle":60,"direction":"callback","depth":1,"irql":"PASSIVE_LEVEL","args":{"h":null,"arg":{"Context":"0x7","CommandOffset":0,"CommandLength":0,"NumAllocations":0,"NumPatchLocations":0,"NewCommandBuffer":null,"NewAllocationList":{"len":0},"NewPatchLocationList":{"len":0},"QueuedBufferCount":0}}}
{"at":"leave","seq":4,"name":"pfnRenderCb","process":3,"thread":4,"cycle":70,"args":{"arg":{"Context":"0x7","CommandOffset":0,"CommandLength":0,"NumAllocations":0,"NumPatchLocations":0,"NewCommandBuffer":null,"NewAllocationList":{"len":0},"NewPatchLocationList":{"len":0},"QueuedBufferCount":1}},"results":{"hr":"D3DDDIERR_DEVICEREMOVED"}}
{"at":"leave","seq":3,"name":"pfnFlush","process":3,"thread":4,"cycle":80}
`, b.String())
	assert.Empty(t, th.Stack())
}

// interrupting is a miniport whose interrupt routine reports a fence.
func interrupting() kmddi.DriverInitializationData {
	var cb *kmddi.DxgkrnlInterface
	return kmddi.DriverInitializationData{
		Version: kmddi.InterfaceVersion,
		StartDevice: func(_ *ddi.Thread, _ kmddi.HAdapter, _ kmddi.StartInfo, c *kmddi.DxgkrnlInterface) (kmddi.StartDeviceOut, ddi.Status) {
			cb = c
			return kmddi.StartDeviceOut{}, ddi.StatusSuccess
		},
		InterruptRoutine: func(t *ddi.Thread, _ kmddi.HAdapter, _ uint32) bool {
			cb.NotifyInterrupt(t, cb.DeviceHandle, kmddi.NotifyInterrupt{InterruptType: kmddi.InterruptDMACompleted, FenceID: 9, NodeOrdinal: 1})
			return cb.QueueDpc(t, cb.DeviceHandle)
		},
		SubmitCommand: func(*ddi.Thread, kmddi.HAdapter, kmddi.SubmitCommand) ddi.Status { return ddi.StatusInvalidParameter },
	}
}

func TestKernelModeTrace(t *testing.T) {
	var b bytes.Buffer
	th := new(ddi.Thread)
	d := WrapKernelMode(interrupting, nil, NewTrace(&b, func() uint64 { return 5 }))()
	assert.EqualValues(t, kmddi.InterfaceVersion, d.Version)
	assert.Nil(t, d.Render)
	d.StartDevice(th, kmddi.HAdapter{}, kmddi.StartInfo{}, &kmddi.DxgkrnlInterface{
		NotifyInterrupt: func(*ddi.Thread, kmddi.HDxgkrnl, kmddi.NotifyInterrupt) {},
		QueueDpc:        func(*ddi.Thread, kmddi.HDxgkrnl) bool { return true },
	})
	adapter := kmddi.HAdapter{Root: new(ddi.Root)}
	d.SubmitCommand(th, adapter, kmddi.SubmitCommand{
		Context: kmddi.HContext{Root: new(ddi.Root)}, DmaBufferPhysicalAddress: 0x1000, DmaBufferSubmissionEndOffset: 64, SubmissionFenceID: 8,
		NodeOrdinal: 1, Flags: kmddi.SubmitFlags{Present: true},
	})
	old := th.Raise(ddi.DIRQL)
	d.InterruptRoutine(th, adapter, 1)
	th.Lower(old)

	var got []string
	for line := range strings.Lines(b.String()) {
		if _, call, ok := strings.Cut(line, `"direction":`); ok {
			got = append(got, strings.TrimSuffix(call, "\n"))
		}
	}
	assert.Equal(t, []string{
		`"call","depth":0,"irql":"PASSIVE_LEVEL","args":{"h":null,"info":{"RequiredDmaQueueEntry":0,"AdapterLUID":0}}}`,
		`"call","depth":0,"irql":"PASSIVE_LEVEL","args":{"h":"km_adapter 1","arg":{"Device":null,"Context":"km_context 1","DmaBufferPhysicalAddress":"0x1000",` +
			`"DmaBufferPrivateData":null,"DmaBufferSize":0,"DmaBufferSubmissionStartOffset":0,"DmaBufferSubmissionEndOffset":64,"SubmissionFenceID":8,"NodeOrdinal":1,"EngineOrdinal":0,` +
			`"Flags":{"Paging":false,"Present":true,"Resubmission":false}}}}`,
		`"call","depth":0,"irql":"DIRQL","args":{"h":"km_adapter 1","messageNumber":1}}`,
		`"callback","depth":1,"irql":"DIRQL","args":{"h":null,"arg":{"InterruptType":"InterruptDMACompleted","FenceID":9,"LastCompletedFenceID":0,"Status":0,"NodeOrdinal":1,"EngineOrdinal":0}}}`,
		`"callback","depth":1,"irql":"DIRQL","args":{"h":null}}`,
	}, got)
	assert.Contains(t, b.String(), `"name":"DxgkDdiSubmitCommand","process":0,"thread":0,"cycle":5,"results":{"status":"STATUS_INVALID_PARAMETER"}`)
	assert.Contains(t, b.String(), `"name":"DxgkCbQueueDpc","process":0,"thread":0,"cycle":5,"results":{"result":true}`)
}

// list is user memory and a patch list of 3 elements.
type list struct{}

func (list) Size() int                                { return 48 }
func (list) Read(int, []byte) ddi.Status              { panic("a trace reads no user memory") }
func (list) Len() int                                 { return 3 }
func (list) At(int) (kmddi.PatchLocation, ddi.Status) { panic("a trace reads no user memory") }

// TestTraceOfArguments checks how arguments are shown. The wanted texts are
// written by hand from the documentation of Event.
func TestTraceOfArguments(t *testing.T) {
	dev := umddi.HDevice{Root: new(ddi.Root)}
	a, b := umddi.HResource{Object: new(ddi.Object)}, umddi.HResource{Object: new(ddi.Object)}
	query := umddi.HQuery{Object: new(ddi.Object)}
	alloc := kmddi.HDeviceAllocation{Root: new(ddi.Root)}
	for _, tt := range []struct {
		name   string
		params string
		args   []any
		want   string
	}{
		{"handles, numbers and a box", "h dst dstSub box", []any{dev, b, uint32(3), &umddi.Box{Left: 1, Right: 7, Bottom: 2, Back: 1}},
			`{"h":"device 1","dst":"resource 1","dstSub":3,"box":{"Left":1,"Top":0,"Front":0,"Right":7,"Bottom":2,"Back":1}}`},
		{"no box, no handle", "h res box", []any{dev, umddi.HResource{}, (*umddi.Box)(nil)}, `{"h":"device 1","res":null,"box":null}`},
		{"memory", "data none", []any{make([]byte, 9), []byte(nil)}, `{"data":{"bytes":9},"none":null}`},
		{"a list of handles", "start bufs strides", []any{uint32(0), []umddi.HResource{a, {}, b}, []uint32{16, 0, 4}},
			`{"start":0,"bufs":["resource 1",null,"resource 2"],"strides":[16,0,4]}`},
		{"numbers that JSON cannot represent", "color", []any{[4]float32{float32(math.NaN()), float32(math.Inf(-1)), 0.5, 1}}, `{"color":["NaN","-Inf",0.5,1]}`},
		{"a flag word and a constant", "typ flags", []any{umddi.MapWriteDiscard, umddi.MapDoNotWait}, `{"typ":"MapWriteDiscard","flags":"0x100000"}`},
		{"a value without a constant", "typ f", []any{umddi.Map(77), dxgi.Format(5000)}, `{"typ":77,"f":5000}`},
		{"truth", "q value", []any{query, true}, `{"q":"query 1","value":true}`},
		{"results", "hr status", []any{ddi.DDIStillDrawing, ddi.Status(0xc0000001)}, `{"hr":"DXGI_DDI_ERR_WASSTILLDRAWING","status":"STATUS_UNSUCCESSFUL"}`},
		{"results without a name", "hr status", []any{ddi.HRESULT(0x80001234), ddi.Status(0xc00000ff)}, `{"hr":"HRESULT 0x80001234","status":"NTSTATUS 0xc00000ff"}`},
		{"a register", "off v", []any{uint32(0x1004), uint32(0xff)}, `{"off":"0x1004","v":"0xff"}`},
		{"tables are omitted", "h funcs", []any{dev, &umddi.DeviceFuncs{}}, `{"h":"device 1"}`},
		{"user memory is not read", "arg", []any{kmddi.Render{Command: list{}, PatchLocationListIn: list{}, DmaBuffer: make([]byte, 32),
			AllocationList:       []kmddi.AllocationList{{}, {DeviceSpecificAllocation: alloc, WriteOperation: true, SegmentID: 2, PhysicalAddress: 1 << 63}},
			PatchLocationListOut: make([]kmddi.PatchLocation, 5)}},
			`{"arg":{"Command":{"bytes":48},"PatchLocationListIn":{"len":3},"AllocationList":[` +
				`{"DeviceSpecificAllocation":null,"WriteOperation":false,"SegmentID":0,"PhysicalAddress":"0x0"},` +
				`{"DeviceSpecificAllocation":"km_open_allocation 1","WriteOperation":true,"SegmentID":2,"PhysicalAddress":"0x8000000000000000"}],` +
				`"DmaBuffer":{"bytes":32},"DmaBufferPrivateData":null,"PatchLocationListOut":{"len":5},"MultipassOffset":0}}`},
		{"a runtime handle that cannot be a map key", "h", []any{umddi.HRTDevice{Runtime: []int{1}}}, `{"h":"device 1"}`},
		{"an unknown name", "", []any{uint32(4)}, `{"#0":4}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out bytes.Buffer
			tr := NewTrace(&out, func() uint64 { return 0 })
			th := new(ddi.Thread)
			th.Push("pfnX")
			tr.Enter(th, &Func{Name: "pfnX", Params: strings.Fields(tt.params)}, tt.args...)
			_, got, _ := strings.Cut(out.String(), `"args":`)
			assert.Equal(t, tt.want+"}\n", got)
		})
	}
}

// The trace of SetErrorCb shows the core layer and the error.
func TestTraceOfErrors(t *testing.T) {
	var b bytes.Buffer
	tr := NewTrace(&b, func() uint64 { return 0 })
	th := new(ddi.Thread)
	device, layer, context := new(ddi.Root), &struct{ int }{}, &struct{ int }{}
	call := func(f string, args ...any) {
		fn := &Func{Name: f, Params: []string{"h", "arg", "res", "rt"}, Callback: f == "pfnSetErrorCb"}
		th.Push(f)
		tr.Enter(th, fn, args...)
		tr.Leave(th, fn)
		th.Pop()
	}
	call("pfnCreateDevice", umddi.HAdapter{}, &umddi.CreateDevice{Device: umddi.HDevice{Root: device}, RTCoreLayer: umddi.HRTCoreLayer{Runtime: layer}})
	call("pfnCreateDeferredContext", umddi.HDevice{Root: device}, &umddi.CreateDeferredContext{
		Context: umddi.HDevice{Root: new(ddi.Root)}, RTCoreLayer: umddi.HRTCoreLayer{Runtime: context},
	})
	b.Reset()
	call("pfnSetErrorCb", umddi.HRTCoreLayer{Runtime: layer}, ddi.EOutOfMemory)
	call("pfnSetErrorCb", umddi.HRTCoreLayer{Runtime: context}, ddi.DDIDeviceRemoved)
	assert.Contains(t, b.String(), `"args":{"h":"device 1","arg":"E_OUTOFMEMORY"}`)
	assert.Contains(t, b.String(), `"args":{"h":"context 1","arg":"D3DDDIERR_DEVICEREMOVED"}`)
}

// An object keeps its name while it lives, under each of its handles. Recycling
// a command-list handle starts a new generation.
func TestTraceOfObjects(t *testing.T) {
	var b bytes.Buffer
	tr := NewTrace(&b, func() uint64 { return 0 })
	th, other := new(ddi.Thread), &ddi.Thread{ID: 1}
	dev, ctx := umddi.HDevice{Root: new(ddi.Root)}, umddi.HDevice{Root: new(ddi.Root)}
	call := func(th *ddi.Thread, f string, args ...any) string {
		fn := &Func{Name: f, Params: []string{"h", "arg", "res", "rt"}}
		b.Reset()
		th.Push(f)
		tr.Enter(th, fn, args...)
		_, got, _ := strings.Cut(b.String(), `"args":`)
		tr.Leave(th, fn)
		th.Pop()
		return strings.TrimSuffix(got, "}\n")
	}
	res, rt := umddi.HResource{Object: new(ddi.Object)}, umddi.HRTResource{Runtime: new(int)}
	assert.Equal(t, `{"h":"device 1","arg":null,"res":"resource 1","rt":"resource 1"}`,
		call(th, "pfnCreateResource", dev, (*umddi.CreateResource)(nil), res, rt))
	assert.Equal(t, `{"h":null,"arg":{"Resource":"resource 1","AllocationInfo":null}}`,
		call(th, "pfnAllocateCb", umddi.HRTDevice{}, &umddi.Allocate{Resource: rt}))
	call(th, "pfnCreateDeferredContext", dev, &umddi.CreateDeferredContext{Context: ctx})
	local := umddi.HResource{Object: new(ddi.Object)}
	assert.Equal(t, `{"h":"context 1","arg":null,"res":"resource 1.1","rt":"resource 1"}`,
		call(other, "pfnCreateResource", ctx, (*umddi.CreateResource)(nil), local, umddi.HRTResource{Runtime: res}), "opened in a context")
	assert.Equal(t, `{"h":"context 1","arg":"resource 1.1"}`, call(other, "pfnDestroyResource", ctx, local))
	assert.Equal(t, `{"h":"device 1","arg":"resource 1"}`, call(th, "pfnDestroyResource", dev, res))
	assert.Equal(t, `{"h":"device 1","arg":null,"res":"resource 2","rt":"resource 2"}`,
		call(th, "pfnCreateResource", dev, (*umddi.CreateResource)(nil), res, rt), "another one in the same memory")

	l, arg := umddi.HCommandList{Object: new(ddi.Object)}, &umddi.CreateCommandList{DeferredContext: ctx}
	rtl := umddi.HRTCommandList{Runtime: new(int)}
	made := `{"h":"device 1","arg":{"DeferredContext":"context 1"},"res":"list 1.1","rt":"list 1.1"}`
	assert.Equal(t, made, call(other, "pfnCreateCommandList", dev, arg, l, rtl))
	assert.Equal(t, `{"h":"device 1","arg":"list 1.1"}`, call(th, "pfnRecycleDestroyCommandList", dev, l))
	assert.Equal(t, `{"h":"context 1","arg":"list 1.1"}`, call(other, "pfnRecycleCommandList", ctx, l))
	assert.Equal(t, `{"h":"device 1","arg":{"DeferredContext":"context 1"},"res":"list 1.1:2","rt":"list 1.1"}`,
		call(other, "pfnRecycleCreateCommandList", dev, arg, l, rtl))
	assert.Equal(t, `{"h":"device 1","arg":"list 1.1:2"}`, call(th, "pfnCommandListExecute", dev, l))
}

func TestUnwoundCallDoesNotReturn(t *testing.T) {
	var b bytes.Buffer
	tr := NewTrace(&b, func() uint64 { return 0 })
	th := new(ddi.Thread)
	outer, inner := &Func{Name: "DxgkDdiRender"}, &Func{Name: "DxgkCbQueueDpc", Callback: true}
	th.Push(outer.Name)
	tr.Enter(th, outer)
	th.Push(inner.Name)
	tr.Enter(th, inner)
	tr.Leave(th, outer, ddi.StatusSuccess) // inner has unwound
	var got []string
	for _, ev := range events(t, &b) {
		got = append(got, ev.At+" "+ev.Name)
	}
	assert.Equal(t, []string{"enter DxgkDdiRender", "enter DxgkCbQueueDpc", "leave DxgkDdiRender"}, got)
}

// The line of a call is written by one Write, before the call is made.
func TestTraceIsWrittenAtOnce(t *testing.T) {
	var b bytes.Buffer
	th := new(ddi.Thread)
	during := ""
	f := wrapDeviceFuncs(&umddi.DeviceFuncs{Flush: func(*ddi.Thread, umddi.HDevice) { during = b.String() }}, nil, NewTrace(&b, func() uint64 { return 0 }))
	f.Flush(th, umddi.HDevice{})
	assert.Equal(t, 2, strings.Count(during, "\n"))
	assert.True(t, strings.HasSuffix(during, `"args":{"h":null}}`+"\n"), during)
}
