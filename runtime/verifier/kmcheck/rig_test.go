package kmcheck

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
	"github.com/hilgpu/hilgpu/runtime/verifier"
)

// A rig is a test driver and a test kernel with a Checker between them. Both do
// only what the test tells them.
type rig struct {
	t     *testing.T
	m     *verifier.Monitor
	k     *Checker
	th    *ddi.Thread
	other *ddi.Thread

	on     map[string]func(t *ddi.Thread) // code of the driver, by function
	during map[string]func(t *ddi.Thread) // code of the kernel, by callback
	status map[string]ddi.Status          // results of functions and callbacks
	start  kmddi.StartDeviceOut
	info   kmddi.AllocationInfo
	ctx    kmddi.ContextInfo
	render func(arg kmddi.Render) kmddi.RenderOut
	patch  func(arg kmddi.Patch)

	segments []kmddi.SegmentDescriptor

	length int    // of CollectDbgInfo
	fence  uint32 // of QueryCurrentFence
	value  uint32 // of a register
	claim  bool
	unset  bool // devices and contexts get no object
	clock  uint64
	page   uint64 // address of the next contiguous memory

	funcs   kmddi.DriverInitializationData // as the kernel calls them
	cb      *kmddi.DxgkrnlInterface        // as the driver calls them
	h       kmddi.HDxgkrnl
	adapter kmddi.HAdapter
}

func newRig(t *testing.T) *rig {
	m, err := verifier.NewMonitor(verifier.Options{Collect: true})
	require.NoError(t, err)
	r := &rig{
		t: t, m: m, th: &ddi.Thread{ID: 1}, other: &ddi.Thread{ID: 2}, page: 1 << 20, claim: true,
		on: map[string]func(*ddi.Thread){}, during: map[string]func(*ddi.Thread){}, status: map[string]ddi.Status{},
		adapter: kmddi.HAdapter{Root: new(ddi.Root)},
	}
	r.k = New(m, r.options())
	r.funcs = verifier.WrapKernelMode(r.k.Driver(r.table), m, verifier.Hooks(m, r.k))()
	return r
}

func (r *rig) options() Options { return Options{Now: func() uint64 { return r.clock }, Hz: hz} }

// run runs the code of a test for a function or callback and returns its status.
func (r *rig) run(t *ddi.Thread, code map[string]func(*ddi.Thread), name string) ddi.Status {
	if f := code[name]; f != nil {
		f(t)
	}
	return r.status[name]
}

// table is the entry of the test driver.
func (r *rig) table() kmddi.DriverInitializationData {
	do := func(t *ddi.Thread, name string) ddi.Status { return r.run(t, r.on, name) }
	return kmddi.DriverInitializationData{
		AddDevice: func(t *ddi.Thread, h kmddi.HAdapter) ddi.Status { h.Driver = r; return do(t, "AddDevice") },
		StartDevice: func(t *ddi.Thread, _ kmddi.HAdapter, _ kmddi.StartInfo, cb *kmddi.DxgkrnlInterface) (kmddi.StartDeviceOut, ddi.Status) {
			r.cb, r.h = cb, cb.DeviceHandle
			return r.start, do(t, "StartDevice")
		},
		StopDevice:       func(t *ddi.Thread, _ kmddi.HAdapter) ddi.Status { return do(t, "StopDevice") },
		RemoveDevice:     func(t *ddi.Thread, _ kmddi.HAdapter) ddi.Status { return do(t, "RemoveDevice") },
		InterruptRoutine: func(t *ddi.Thread, _ kmddi.HAdapter, _ uint32) bool { do(t, "InterruptRoutine"); return r.claim },
		DpcRoutine:       func(t *ddi.Thread, _ kmddi.HAdapter) { do(t, "DpcRoutine") },
		QueryAdapterInfo: func(t *ddi.Thread, _ kmddi.HAdapter, _ kmddi.QueryAdapterInfo) (kmddi.QueryAdapterInfoOut, ddi.Status) {
			return kmddi.QueryAdapterInfoOut{Segments: kmddi.QuerySegment{Segments: r.segments}}, do(t, "QueryAdapterInfo")
		},
		CreateDevice: func(t *ddi.Thread, _ kmddi.HAdapter, d kmddi.HDevice, _ kmddi.CreateDevice) ddi.Status {
			d.Driver = r.object("device")
			return do(t, "CreateDevice")
		},
		DestroyDevice: func(t *ddi.Thread, _ kmddi.HDevice) ddi.Status { return do(t, "DestroyDevice") },
		CreateContext: func(t *ddi.Thread, _ kmddi.HDevice, c kmddi.HContext, _ kmddi.CreateContext) (kmddi.ContextInfo, ddi.Status) {
			c.Driver = r.object("context")
			return r.ctx, do(t, "CreateContext")
		},
		DestroyContext: func(t *ddi.Thread, _ kmddi.HContext) ddi.Status { return do(t, "DestroyContext") },
		CreateAllocation: func(t *ddi.Thread, _ kmddi.HAdapter, a kmddi.HAllocation, _ kmddi.CreateAllocation) (kmddi.AllocationInfo, ddi.Status) {
			a.Driver = "allocation"
			return r.info, do(t, "CreateAllocation")
		},
		DestroyAllocation: func(t *ddi.Thread, _ kmddi.HAdapter, _ kmddi.HAllocation) ddi.Status {
			return do(t, "DestroyAllocation")
		},
		OpenAllocation: func(t *ddi.Thread, _ kmddi.HDevice, o kmddi.HDeviceAllocation, _ kmddi.OpenAllocation) ddi.Status {
			o.Driver = "opened"
			return do(t, "OpenAllocation")
		},
		CloseAllocation: func(t *ddi.Thread, _ kmddi.HDevice, _ kmddi.HDeviceAllocation) ddi.Status {
			return do(t, "CloseAllocation")
		},
		Render: func(t *ddi.Thread, _ kmddi.HContext, arg kmddi.Render) (out kmddi.RenderOut, s ddi.Status) {
			if r.render != nil {
				out = r.render(arg)
			}
			return out, do(t, "Render")
		},
		RenderKm: func(t *ddi.Thread, _ kmddi.HContext, arg kmddi.Render) (out kmddi.RenderOut, s ddi.Status) {
			if r.render != nil {
				out = r.render(arg)
			}
			return out, do(t, "RenderKm")
		},
		Present: func(t *ddi.Thread, _ kmddi.HContext, _ kmddi.Present) (kmddi.RenderOut, ddi.Status) {
			return kmddi.RenderOut{}, do(t, "Present")
		},
		BuildPagingBuffer: func(t *ddi.Thread, _ kmddi.HAdapter, _ kmddi.BuildPagingBuffer) (kmddi.BuildPagingBufferOut, ddi.Status) {
			return kmddi.BuildPagingBufferOut{}, do(t, "BuildPagingBuffer")
		},
		Patch: func(t *ddi.Thread, _ kmddi.HAdapter, arg kmddi.Patch) ddi.Status {
			if r.patch != nil {
				r.patch(arg)
			}
			return do(t, "Patch")
		},
		SubmitCommand: func(t *ddi.Thread, _ kmddi.HAdapter, _ kmddi.SubmitCommand) ddi.Status { return do(t, "SubmitCommand") },
		QueryCurrentFence: func(t *ddi.Thread, _ kmddi.HAdapter, _ kmddi.QueryCurrentFence) (kmddi.QueryCurrentFenceOut, ddi.Status) {
			s := do(t, "QueryCurrentFence")
			return kmddi.QueryCurrentFenceOut{CurrentFence: r.fence}, s
		},
		CollectDbgInfo: func(t *ddi.Thread, _ kmddi.HAdapter, _ kmddi.CollectDbgInfo) (kmddi.CollectDbgInfoOut, ddi.Status) {
			return kmddi.CollectDbgInfoOut{Length: r.length}, do(t, "CollectDbgInfo")
		},
		Escape: func(t *ddi.Thread, _ kmddi.HAdapter, _ kmddi.Escape) ddi.Status { return do(t, "Escape") },
		PreemptCommand: func(t *ddi.Thread, _ kmddi.HAdapter, _ kmddi.PreemptCommand) ddi.Status {
			return do(t, "PreemptCommand")
		},
		CancelCommand: func(t *ddi.Thread, _ kmddi.HAdapter, _ kmddi.CancelCommand) ddi.Status { return do(t, "CancelCommand") },
		QueryEngineStatus: func(t *ddi.Thread, _ kmddi.HAdapter, _ kmddi.QueryEngineStatus) (kmddi.QueryEngineStatusOut, ddi.Status) {
			return kmddi.QueryEngineStatusOut{}, do(t, "QueryEngineStatus")
		},
		QueryDependentEngineGroup: func(t *ddi.Thread, _ kmddi.HAdapter, _ kmddi.QueryDependentEngineGroup) (kmddi.QueryDependentEngineGroupOut, ddi.Status) {
			return kmddi.QueryDependentEngineGroupOut{}, do(t, "QueryDependentEngineGroup")
		},
		ResetEngine: func(t *ddi.Thread, _ kmddi.HAdapter, _ kmddi.ResetEngine) (kmddi.ResetEngineOut, ddi.Status) {
			return kmddi.ResetEngineOut{}, do(t, "ResetEngine")
		},
		ResetFromTimeout:   func(t *ddi.Thread, _ kmddi.HAdapter) ddi.Status { return do(t, "ResetFromTimeout") },
		RestartFromTimeout: func(t *ddi.Thread, _ kmddi.HAdapter) ddi.Status { return do(t, "RestartFromTimeout") },
	}
}

// object returns the driver's object of a handle.
func (r *rig) object(name string) any {
	if r.unset {
		return nil
	}
	return name
}

// callbacks is the table of the test kernel.
func (r *rig) callbacks() *kmddi.DxgkrnlInterface {
	do := func(t *ddi.Thread, name string) ddi.Status { return r.run(t, r.during, name) }
	return &kmddi.DxgkrnlInterface{
		DeviceHandle: kmddi.HDxgkrnl{System: r},
		GetDeviceInformation: func(t *ddi.Thread, _ kmddi.HDxgkrnl) (kmddi.DeviceInfo, ddi.Status) {
			return kmddi.DeviceInfo{}, do(t, "GetDeviceInformation")
		},
		MapMemory: func(t *ddi.Thread, _ kmddi.HDxgkrnl, _ int, _, _ uint64) (kmddi.HMapping, ddi.Status) {
			return kmddi.HMapping{System: new(int)}, do(t, "MapMemory")
		},
		UnmapMemory: func(t *ddi.Thread, _ kmddi.HDxgkrnl, _ kmddi.HMapping) ddi.Status { return do(t, "UnmapMemory") },
		ReadDeviceSpace: func(t *ddi.Thread, _ kmddi.HDxgkrnl, _ int) (uint32, ddi.Status) {
			return 0, do(t, "ReadDeviceSpace")
		},
		WriteDeviceSpace: func(t *ddi.Thread, _ kmddi.HDxgkrnl, _ int, _ uint32) ddi.Status { return do(t, "WriteDeviceSpace") },
		NotifyInterrupt:  func(t *ddi.Thread, _ kmddi.HDxgkrnl, _ kmddi.NotifyInterrupt) { do(t, "NotifyInterrupt") },
		QueueDpc:         func(t *ddi.Thread, _ kmddi.HDxgkrnl) bool { do(t, "QueueDpc"); return true },
		NotifyDpc:        func(t *ddi.Thread, _ kmddi.HDxgkrnl) { do(t, "NotifyDpc") },
		SynchronizeExecution: func(t *ddi.Thread, _ kmddi.HDxgkrnl, _ uint32, fn func(t *ddi.Thread) bool) (bool, ddi.Status) {
			old := t.Raise(ddi.DIRQL)
			v := fn(t)
			t.Lower(old)
			return v, do(t, "SynchronizeExecution")
		},
		ReadRegister: func(t *ddi.Thread, _ kmddi.HDxgkrnl, _ kmddi.HMapping, _ uint32) (uint32, ddi.Status) {
			return r.value, do(t, "ReadRegister")
		},
		WriteRegister: func(t *ddi.Thread, _ kmddi.HDxgkrnl, _ kmddi.HMapping, _ uint32, _ uint32) ddi.Status {
			return do(t, "WriteRegister")
		},
		AllocateContiguousMemory: func(t *ddi.Thread, _ kmddi.HDxgkrnl, size int) (kmddi.ContiguousMemory, ddi.Status) {
			at := r.page
			r.page += 1 << 16
			return kmddi.ContiguousMemory{PhysicalAddress: at, Bytes: make([]byte, size)}, do(t, "AllocateContiguousMemory")
		},
		FreeContiguousMemory: func(t *ddi.Thread, _ kmddi.HDxgkrnl, _ kmddi.ContiguousMemory) { do(t, "FreeContiguousMemory") },
		LogEtwEvent:          func(t *ddi.Thread, _ kmddi.HDxgkrnl, _ string) { do(t, "LogEtwEvent") },
	}
}

// begin adds and starts the device.
func (r *rig) begin() {
	r.funcs.AddDevice(r.th, r.adapter)
	r.funcs.StartDevice(r.th, r.adapter, kmddi.StartInfo{}, r.callbacks())
}

// end stops and removes the device.
func (r *rig) end() {
	r.funcs.StopDevice(r.th, r.adapter)
	r.funcs.RemoveDevice(r.th, r.adapter)
}

// at calls f at a level.
func (r *rig) at(l ddi.IRQL, f func(t *ddi.Thread)) {
	old := r.th.Raise(l)
	f(r.th)
	r.th.Lower(old)
}

// interrupt calls the interrupt routine, which runs code.
func (r *rig) interrupt(code func(t *ddi.Thread)) {
	r.on["InterruptRoutine"] = code
	r.at(ddi.DIRQL, func(t *ddi.Thread) { r.funcs.InterruptRoutine(t, r.adapter, 0) })
}

// dpc calls the DPC, which runs code.
func (r *rig) dpc(code func(t *ddi.Thread)) {
	r.on["DpcRoutine"] = code
	r.at(ddi.DispatchLevel, func(t *ddi.Thread) { r.funcs.DpcRoutine(t, r.adapter) })
}

// query calls QueryCurrentFence, which runs code.
func (r *rig) query(code func(t *ddi.Thread)) {
	r.on["QueryCurrentFence"] = code
	r.funcs.QueryCurrentFence(r.th, r.adapter, kmddi.QueryCurrentFence{})
}

// submit calls SubmitCommand with bytes of a DMA buffer.
func (r *rig) submit(node, fence, bytes uint32) {
	r.at(ddi.DispatchLevel, func(t *ddi.Thread) {
		r.funcs.SubmitCommand(t, r.adapter, kmddi.SubmitCommand{NodeOrdinal: node, SubmissionFenceID: fence, DmaBufferSubmissionEndOffset: bytes})
	})
}

// notify reports a completed fence.
func (r *rig) notify(t *ddi.Thread, node, fence uint32) {
	r.cb.NotifyInterrupt(t, r.h, kmddi.NotifyInterrupt{InterruptType: kmddi.InterruptDMACompleted, NodeOrdinal: node, FenceID: fence})
}

// names records the functions that are called.
type names map[string]bool

func (n names) Enter(_ *ddi.Thread, f *verifier.Func, _ ...any) { n[f.Name] = true }
func (n names) Leave(*ddi.Thread, *verifier.Func, ...any)       {}

// wrappedNames calls every function of both tables and returns their names.
func wrappedNames(r *rig) names {
	seen := names{}
	funcs := verifier.WrapKernelMode(r.table, nil, seen)()
	callAll(r, reflect.ValueOf(funcs))
	callAll(r, reflect.ValueOf(*r.cb))
	return seen
}

// callAll calls each function in a table with zero arguments.
func callAll(r *rig, table reflect.Value) {
	for i := range table.NumField() {
		f := table.Field(i)
		if f.Kind() != reflect.Func {
			continue
		}
		args := []reflect.Value{reflect.ValueOf(new(ddi.Thread))}
		for j := 1; j < f.Type().NumIn(); j++ {
			args = append(args, argument(r, f.Type().In(j)))
		}
		f.Call(args)
	}
}

// argument returns an argument of a type.
func argument(r *rig, t reflect.Type) reflect.Value {
	switch {
	case t == reflect.TypeFor[*kmddi.DxgkrnlInterface]():
		return reflect.ValueOf(r.callbacks())
	case t.Kind() == reflect.Func:
		return reflect.ValueOf(func(*ddi.Thread) bool { return true })
	case t.Kind() == reflect.Struct && t.NumField() == 1 && t.Field(0).Type == reflect.TypeFor[*ddi.Root]():
		v := reflect.New(t).Elem()
		v.Field(0).Set(reflect.ValueOf(new(ddi.Root)))
		return v
	}
	return reflect.Zero(t)
}
