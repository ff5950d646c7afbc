package d3d11

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/dxgi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

func TestCreateDevice(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*fakeDriver, *fakeKernel, *Config)
		want   ddi.HRESULT
	}{
		{"no failure", func(*fakeDriver, *fakeKernel, *Config) {}, ddi.OK},
		{"no driver", func(_ *fakeDriver, _ *fakeKernel, c *Config) { c.Driver = nil }, ddi.EInvalidArg},
		{"a thunk is missing", func(_ *fakeDriver, _ *fakeKernel, c *Config) { c.Kernel.Lock = nil }, ddi.EInvalidArg},
		{"the kernel has no memory", func(_ *fakeDriver, k *fakeKernel, _ *Config) { k.status = ddi.StatusNoMemory }, ddi.EOutOfMemory},
		{"the GPU is lost", func(_ *fakeDriver, k *fakeKernel, _ *Config) { k.status = ddi.StatusDeviceRemoved }, ddi.DXGIDeviceRemoved},
		{"the adapter does not open", func(f *fakeDriver, _ *fakeKernel, _ *Config) { f.fail["OpenAdapter"] = ddi.EFail }, ddi.EFail},
		{"another interface", func(f *fakeDriver, _ *fakeKernel, _ *Config) { f.versions = []uint32{1} }, ddi.DXGIUnsupported},
		{"the device does not open", func(f *fakeDriver, _ *fakeKernel, _ *Config) { f.fail["CreateDevice"] = ddi.EOutOfMemory }, ddi.EOutOfMemory},
		{"an error outside any function", func(f *fakeDriver, _ *fakeKernel, _ *Config) { f.fail["early"] = ddi.OK }, ddi.DXGIInternalError},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f, k := newFakeDriver(), &fakeKernel{}
			cfg := Config{Driver: f.openAdapter, Kernel: k.thunks()}
			tt.change(f, k, &cfg)
			d, c, err := CreateDevice(cfg)
			check(t, tt.want, err)
			if err == nil {
				assert.Same(t, c, d.GetImmediateContext())
				d.Close()
				d.Close()
			} else {
				assert.Nil(t, d)
			}
			assert.Zero(t, f.open, "the driver is closed")
			assert.Zero(t, k.devices, "the kernel device is destroyed")
		})
	}
}

// The error for an incomplete driver table names the missing entry.
func TestDeviceOfAnIncompleteTable(t *testing.T) {
	for name, strip := range map[string]func(*umddi.DeviceFuncs){
		"pfnFlush":            func(d *umddi.DeviceFuncs) { d.Flush = nil },
		"pfnResourceCopy":     func(d *umddi.DeviceFuncs) { d.ResourceCopy = nil },
		"pfnSetRenderTargets": func(d *umddi.DeviceFuncs) { d.SetRenderTargets = nil },
	} {
		f, k := newFakeDriver(), &fakeKernel{}
		f.editTable = strip
		_, _, err := CreateDevice(Config{Driver: f.openAdapter, Kernel: k.thunks()})
		assert.ErrorIs(t, err, ddi.DXGIInternalError)
		assert.EqualError(t, err, "D3D11CreateDevice: DXGI_ERROR_DRIVER_INTERNAL_ERROR: the driver left "+name+" nil")
		assert.Zero(t, f.open, "the driver is closed")
		assert.Zero(t, k.devices, "the kernel device is destroyed")
	}
}

func TestDeviceTellsTheDriver(t *testing.T) {
	b := newBench(t, func(_ *fakeDriver, c *Config) { c.SingleThreaded = true })
	assert.EqualValues(t, umddi.FlagSingleThreaded, b.drv.arg.Flags)
	assert.EqualValues(t, 11<<16|10, b.drv.arg.Interface)
}

func TestThreadOfACall(t *testing.T) {
	b := newBench(t)
	var process uint32
	threads := map[*ddi.Thread]bool{}
	b.drv.hook = func(t *ddi.Thread, _ string) { process, threads[t] = t.Process, true }
	b.ctx.Flush()
	b.ctx.IASetPrimitiveTopology(TopologyPointList)
	assert.EqualValues(t, 3, process)
	assert.Len(t, threads, 1, "the immediate context has one thread")
}

func TestSerializedDriverHasOneThread(t *testing.T) {
	b := newBench(t, func(f *fakeDriver, _ *Config) { f.caps = 0 })
	threads := map[*ddi.Thread]bool{}
	b.drv.hook = func(t *ddi.Thread, _ string) { threads[t] = true }
	b.constant().Release()
	b.ctx.Flush()
	assert.Len(t, threads, 1)
}

func TestCallbackStatus(t *testing.T) {
	for _, tt := range []struct {
		status ddi.Status
		want   ddi.HRESULT
	}{
		{ddi.StatusSuccess, ddi.OK},
		{ddi.StatusNoMemory, ddi.EOutOfMemory},
		{ddi.StatusNoVideoMemory, ddi.EOutOfMemory},
		{ddi.StatusInsufficientResources, ddi.EOutOfMemory},
		{ddi.StatusInvalidHandle, ddi.EInvalidArg},
		{ddi.StatusInvalidParameter, ddi.EInvalidArg},
		{ddi.StatusInvalidUserBuffer, ddi.EInvalidArg},
		{ddi.StatusCantRenderLocked, ddi.EInvalidArg},
		{ddi.StatusAllocationBusy, ddi.DDIStillDrawing},
		{ddi.StatusCantLockMemory, ddi.DDINotAvailable},
		{ddi.StatusNotSupported, ddi.DDIUnsupported},
		{ddi.StatusDeviceRemoved, ddi.DDIDeviceRemoved},
		{ddi.StatusGPUExceptionOnDevice, ddi.DDIDeviceRemoved},
		{ddi.StatusIODeviceError, ddi.DDIDeviceRemoved},
		{ddi.StatusIOTimeout, ddi.DDIDeviceRemoved},
		{ddi.StatusIllegalInstruction, ddi.EFail},
		{ddi.StatusPrivilegedInstruction, ddi.EFail},
		{ddi.StatusUnsuccessful, ddi.EFail},
	} {
		b := newBench(t)
		b.breaks = []string{"callback-outside"}
		b.kern.status = tt.status
		cb, h := b.drv.arg.KTCallbacks, b.drv.arg.RTDevice
		th := new(ddi.Thread)
		got := []ddi.HRESULT{
			cb.AllocateCb(th, h, &umddi.Allocate{}), cb.DeallocateCb(th, h, &umddi.Deallocate{}),
			cb.CreateContextCb(th, h, &umddi.CreateContext{}), cb.DestroyContextCb(th, h, 1),
			cb.LockCb(th, h, &umddi.Lock{}), cb.UnlockCb(th, h, &umddi.Unlock{}), cb.RenderCb(th, h, &umddi.Render{}),
			queryAdapterInfoCb(th, umddi.HRTAdapter{Runtime: b.dev}, nil),
		}
		for i, hr := range got {
			assert.Equal(t, tt.want, hr, "callback %d, %v", i, tt.status)
		}
		assert.Equal(t, []string{"CreateAllocation", "DestroyAllocation", "CreateContext", "DestroyContext", "Lock", "Unlock",
			"Render", "QueryAdapterInfo"}, b.kern.calls)
	}
}

func TestCallbackHandles(t *testing.T) {
	b := newBench(t)
	b.breaks = []string{"callback-outside"}
	cb, th, no := b.drv.arg.KTCallbacks, new(ddi.Thread), umddi.HRTDevice{}
	for i, hr := range []ddi.HRESULT{
		cb.AllocateCb(th, no, nil), cb.DeallocateCb(th, no, nil), cb.CreateContextCb(th, no, nil), cb.DestroyContextCb(th, no, 0),
		cb.LockCb(th, no, nil), cb.UnlockCb(th, no, nil), cb.RenderCb(th, no, nil), presentCb(th, no, nil),
		queryAdapterInfoCb(th, umddi.HRTAdapter{}, nil),
		b.drv.arg.DXGICallbacks.PresentCb(th, b.drv.arg.RTDevice, nil), // outside Present
	} {
		assert.Equal(t, ddi.EInvalidArg, hr, "callback %d", i)
	}
	assert.Empty(t, b.kern.calls)
	setErrorCb(th, umddi.HRTCoreLayer{}, ddi.EFail)
	assert.NoError(t, b.dev.GetDeviceRemovedReason())
}

// TestErrorCategories lists, for each function, the errors that it may and may
// not report.
func TestErrorCategories(t *testing.T) {
	const (
		fine = iota // S_OK
		none        // nothing is allowed
		set         // removed
		make        // removed, memory
		poll        // removed, still drawing
		wait        // removed, memory, still drawing
	)
	may := map[int]map[ddi.HRESULT]bool{
		none: {},
		set:  {ddi.DDIDeviceRemoved: true},
		make: {ddi.DDIDeviceRemoved: true, ddi.EOutOfMemory: true},
		poll: {ddi.DDIDeviceRemoved: true, ddi.DDIStillDrawing: true},
		wait: {ddi.DDIDeviceRemoved: true, ddi.EOutOfMemory: true, ddi.DDIStillDrawing: true},
	}
	for _, tt := range []struct {
		name     string
		category int
		call     func(b *bench, o *objects) error
	}{
		{"CalcPrivateResourceSize", none, func(b *bench, _ *objects) error {
			_, err := b.dev.CreateBuffer(BufferDesc{ByteWidth: 4}, nil)
			return err
		}},
		{"CreateResource", make, func(b *bench, _ *objects) error {
			_, err := b.dev.CreateBuffer(BufferDesc{ByteWidth: 4}, nil)
			return err
		}},
		{"CalcPrivateRenderTargetViewSize", none, func(b *bench, o *objects) error {
			_, err := b.dev.CreateRenderTargetView(o.tex, nil)
			return err
		}},
		{"CreateRenderTargetView", make, func(b *bench, o *objects) error {
			_, err := b.dev.CreateRenderTargetView(o.tex, nil)
			return err
		}},
		{"CalcPrivateQuerySize", none, func(b *bench, _ *objects) error {
			_, err := b.dev.CreateQuery(&QueryDesc{})
			return err
		}},
		{"CreateQuery", make, func(b *bench, _ *objects) error {
			_, err := b.dev.CreateQuery(&QueryDesc{})
			return err
		}},
		{"CheckMultisampleQualityLevels", none, func(b *bench, _ *objects) error {
			_, err := b.dev.CheckMultisampleQualityLevels(dxgi.R8G8B8A8UNorm, 1)
			return err
		}},
		{"DestroyResource", set, func(b *bench, o *objects) error {
			o.cb.Release()
			return nil
		}},
		{"StagingResourceMap", make, func(b *bench, o *objects) error { return b.ctx.Map(o.staging, 0, MapRead, 0, new(MappedSubresource)) }},
		{"StagingResourceMap", wait, func(b *bench, o *objects) error {
			return b.ctx.Map(o.staging, 0, MapRead, MapDoNotWait, new(MappedSubresource))
		}},
		{"DynamicIABufferMapDiscard", make, func(b *bench, o *objects) error {
			return b.ctx.Map(o.vb, 0, MapWriteDiscard, 0, new(MappedSubresource))
		}},
		{"ResourceCopy", make, func(b *bench, o *objects) error { b.ctx.CopyResource(o.cb, o.staging); return nil }},
		{"ResourceCopyRegion", make, func(b *bench, o *objects) error {
			b.ctx.CopySubresourceRegion(o.cb, 0, 0, 0, 0, o.staging, 0, nil)
			return nil
		}},
		{"ResourceUpdateSubresourceUP", make, func(b *bench, o *objects) error {
			b.ctx.UpdateSubresource(o.cb, 0, nil, ramp(0, 16), 0, 0)
			return nil
		}},
		{"ClearRenderTargetView", make, func(b *bench, o *objects) error { b.ctx.ClearRenderTargetView(o.rtv, [4]float32{}); return nil }},
		{"QueryEnd", set, func(b *bench, o *objects) error { b.ctx.End(o.query); return nil }},
		{"QueryGetData", poll, func(b *bench, o *objects) error {
			b.ctx.End(o.query)
			return b.ctx.GetData(o.query, nil, 0)
		}},
		{"IaSetTopology", set, func(b *bench, _ *objects) error { b.ctx.IASetPrimitiveTopology(TopologyLineList); return nil }},
		{"SetRenderTargets", set, func(b *bench, o *objects) error {
			b.ctx.OMSetRenderTargets([]*RenderTargetView{o.rtv})
			return nil
		}},
		{"Flush", set, func(b *bench, _ *objects) error { b.ctx.Flush(); return nil }},
		{"Present", set, func(b *bench, o *objects) error {
			b.drv.presentErr = ddi.EOutOfMemory
			return o.chain.Present(0, 0)
		}},
	} {
		for _, hr := range []ddi.HRESULT{ddi.OK, ddi.EOutOfMemory, ddi.DDIStillDrawing, ddi.DDIDeviceRemoved, ddi.EInvalidArg, ddi.EFail} {
			t.Run(tt.name+"/"+hr.Error(), func(t *testing.T) {
				b := newBench(t)
				o := newObjects(b)
				b.drv.fail[tt.name] = hr
				err := tt.call(b, o)
				clear(b.drv.fail)
				reason := b.dev.GetDeviceRemovedReason()
				switch {
				case !may[tt.category][hr]:
					check(t, ddi.DXGIInternalError, reason)
				case hr == ddi.DDIDeviceRemoved:
					check(t, ddi.DXGIDeviceRemoved, reason)
				default:
					check(t, ddi.OK, reason)
					if tt.category == wait && hr == ddi.DDIStillDrawing {
						check(t, ddi.DXGIStillDrawing, err)
					}
					if tt.category == poll {
						check(t, ddi.False, err)
					}
				}
				if reason != nil && err != nil {
					check(t, ddi.DXGIDeviceRemoved, err)
				}
			})
		}
	}
}

func TestErrorOnAnUnknownThread(t *testing.T) {
	b := newBench(t)
	b.drv.arg.UMCallbacks.SetErrorCb(new(ddi.Thread), b.drv.arg.RTCoreLayer, ddi.DDIDeviceRemoved)
	check(t, ddi.DXGIInternalError, b.dev.GetDeviceRemovedReason())
}

// TestErrorBetweenFunctions reports an error on a thread outside any function.
// The last function could have reported it.
func TestErrorBetweenFunctions(t *testing.T) {
	b := newBench(t)
	var thread *ddi.Thread
	b.drv.hook = func(t *ddi.Thread, _ string) { thread = t }
	b.ctx.CopyResource(b.constant(), b.constant())
	b.drv.arg.UMCallbacks.SetErrorCb(thread, b.drv.arg.RTCoreLayer, ddi.EOutOfMemory)
	check(t, ddi.DXGIInternalError, b.dev.GetDeviceRemovedReason())
}

func TestBadSizeOfPrivateMemory(t *testing.T) {
	for _, n := range []int{-1, 1<<20 + 1} {
		b := newBench(t)
		b.drv.calcSize = n
		_, err := b.dev.CreateBuffer(BufferDesc{ByteWidth: 4}, nil)
		check(t, ddi.DXGIDeviceRemoved, err)
		check(t, ddi.DXGIInternalError, b.dev.GetDeviceRemovedReason())
	}
}

func TestCloseEndsEverything(t *testing.T) {
	b := newBench(t)
	o := newObjects(b)
	b.ctx.VSSetConstantBuffers(0, []*Buffer{o.cb})
	b.ctx.OMSetRenderTargets([]*RenderTargetView{o.rtv})
	o.def.CopyResource(o.cb, o.staging)
	outer := b.deferred()
	outer.ExecuteCommandList(o.list, true)
	b.ctx.SwapDeviceContextState(o.state)
	require.NoError(t, b.ctx.Map(o.staging, 0, MapRead, 0, new(MappedSubresource)))
	b.dev.Close()
	assert.Empty(t, b.drv.resources)
	assert.Empty(t, b.drv.broken)
	check(t, ddi.DXGIDeviceRemoved, b.dev.GetDeviceRemovedReason())
	for _, c := range []*Context{b.ctx, o.def, outer} {
		useAll(c, o)
	}
	assert.Zero(t, o.cb.Release())
	_, err := o.chain.GetBuffer(0)
	check(t, ddi.DXGIInvalidCall, err)
}
