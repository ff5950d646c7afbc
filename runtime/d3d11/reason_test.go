package d3d11

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// TestReasonTexts: the reason of a removal names the driver's entry, the value
// and what was wanted.
func TestReasonTexts(t *testing.T) {
	const internal = "GetDeviceRemovedReason: DXGI_ERROR_DRIVER_INTERNAL_ERROR: "
	report := func(b *bench, th *ddi.Thread, hr ddi.HRESULT) {
		b.drv.arg.UMCallbacks.SetErrorCb(th, b.drv.arg.RTCoreLayer, hr)
	}
	for _, tt := range []struct {
		name string
		do   func(b *bench)
		want string
	}{
		{"an error that the function may not report", func(b *bench) {
			b.drv.fail["Flush"] = ddi.EInvalidArg
			b.ctx.Flush()
		}, internal + "pfnFlush reported E_INVALIDARG, want D3DDDIERR_DEVICEREMOVED"},
		{"an error of a function that may report none", func(b *bench) {
			b.drv.fail["CalcPrivateQuerySize"] = ddi.EOutOfMemory
			b.dev.CreateQuery(&QueryDesc{})
		}, internal + "pfnCalcPrivateQuerySize reported E_OUTOFMEMORY, want no error"},
		{"an error outside of functions", func(b *bench) { report(b, new(ddi.Thread), ddi.EFail) },
			internal + "the driver reported E_FAIL outside of its functions"},
		{"a size", func(b *bench) {
			b.drv.calcSize = -5
			b.dev.CreateBuffer(BufferDesc{ByteWidth: 4}, nil)
		}, internal + "pfnCalcPrivateResourceSize returned a size of -5 bytes, want 0 to 1048576"},
		{"too little mapped memory", func(b *bench) {
			b.dev.immediate.funcs.StagingResourceMap = func(*ddi.Thread, umddi.HDevice, umddi.HResource, uint32, umddi.Map, umddi.MapFlags) umddi.Mapped {
				return umddi.Mapped{Data: make([]byte, 15), RowPitch: 16}
			}
			b.ctx.Map(b.staging(CPUAccessRead), 0, MapRead, 0, new(MappedSubresource))
		}, internal + "pfnStagingResourceMap mapped 15 bytes with a pitch of 16, want 1 rows of 16"},
		{"a result of Present", func(b *bench) {
			b.drv.presentErr = ddi.EInvalidArg
			newObjects(b).chain.Present(0, 0)
		}, internal + "pfnPresent returned E_INVALIDARG, want S_OK, E_OUTOFMEMORY, DXGI_DDI_ERR_WASSTILLDRAWING or D3DDDIERR_DEVICEREMOVED"},
		{"a refresh elsewhere", func(b *bench) {
			b.drv.arg.UMCallbacks.StateRsScissorCb(new(ddi.Thread), b.drv.arg.RTCoreLayer)
		}, internal + "pfnStateRsScissorCb was called outside of the functions of its context"},
		{"a refresh of slots that do not exist", func(b *bench) {
			b.drv.hook = func(th *ddi.Thread, n string) {
				if n == "Flush" {
					b.drv.arg.UMCallbacks.StatePsConstBufCb(th, b.drv.arg.RTCoreLayer, umddi.Range{Base: 2, Count: 13})
				}
			}
			b.ctx.Flush()
		}, internal + "pfnStatePsConstBufCb got base 2 and count 13, want slots below 14, or count -1"},
		{"the driver says that the GPU is lost", func(b *bench) {
			b.drv.fail["Flush"] = ddi.DDIDeviceRemoved
			b.ctx.Flush()
		}, "GetDeviceRemovedReason: DXGI_ERROR_DEVICE_REMOVED: pfnFlush reported D3DDDIERR_DEVICEREMOVED"},
		{"the device was closed", func(b *bench) { b.dev.Close() },
			"GetDeviceRemovedReason: DXGI_ERROR_DEVICE_REMOVED: the device was closed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t)
			b.breaks = []string{"size"}
			tt.do(b)
			b.drv.calcSize = fakePrivate
			assert.EqualError(t, b.dev.GetDeviceRemovedReason(), tt.want)
			err := b.ctx.Map(nil, 0, MapRead, 0, new(MappedSubresource))
			check(t, ddi.DXGIDeviceRemoved, err)
			assert.EqualError(t, err, "Map: DXGI_ERROR_DEVICE_REMOVED: the device is removed: "+tt.want)
			b.ctx.ClearState()
			assert.Equal(t, "ClearState: dropped: the device is removed: "+tt.want, b.last().Description)
		})
	}
}

// TestReasonsOfDeferredContexts: the functions of contexts and lists are named
// too.
func TestReasonsOfDeferredContexts(t *testing.T) {
	const internal = "GetDeviceRemovedReason: DXGI_ERROR_DRIVER_INTERNAL_ERROR: "
	b := nativeBench(t)
	b.native().editContextTable = func(f *umddi.DeviceFuncs) { f.CommandListExecute = nil }
	_, err := b.dev.CreateDeferredContext(0)
	check(t, ddi.DXGIDeviceRemoved, err)
	want := internal + "pfnCreateDeferredContext left pfnCommandListExecute of the context's table nil"
	assert.EqualError(t, b.dev.GetDeviceRemovedReason(), want)
	assert.EqualError(t, err, "CreateDeferredContext: DXGI_ERROR_DEVICE_REMOVED: the device is removed: "+want)

	b = nativeBench(t)
	dc := b.deferred()
	b.finish(dc, false).Release()
	failing(b, "RecycleCreateCommandList")
	b.native().failWith = ddi.EFail
	_, err = dc.FinishCommandList(false)
	check(t, ddi.DXGIDeviceRemoved, err)
	assert.EqualError(t, b.dev.GetDeviceRemovedReason(), internal+"pfnRecycleCreateCommandList returned E_FAIL, want S_OK or E_OUTOFMEMORY")

	b = nativeBench(t)
	b.breaks = []string{"error-layer"}
	dc = b.deferred()
	failing(b, "IaSetTopology")
	b.native().layer = b.drv.arg.RTCoreLayer
	dc.IASetPrimitiveTopology(TopologyLineList)
	assert.EqualError(t, b.dev.GetDeviceRemovedReason(),
		internal+"pfnIaSetTopology of a deferred context reported E_OUTOFMEMORY to the core layer of the device, want its own")
}

// TestKernelsReason: what the kernel says is the cause, asked for once.
func TestKernelsReason(t *testing.T) {
	hung := errors.New("the GPU hung: node 0, fence 12")
	asked := 0
	b := newBench(t, func(_ *fakeDriver, c *Config) {
		c.Err = func(ddi.KMHandle) error { asked++; return hung }
	})
	b.drv.hook = func(th *ddi.Thread, name string) {
		if name == "Flush" {
			b.kern.status = ddi.StatusDeviceRemoved
			for range 2 {
				b.drv.arg.KTCallbacks.RenderCb(th, b.drv.arg.RTDevice, &umddi.Render{})
			}
		}
	}
	b.drv.fail["Flush"] = ddi.DDIDeviceRemoved
	b.ctx.Flush()
	b.kern.status = ddi.StatusSuccess
	err := b.dev.GetDeviceRemovedReason()
	assert.EqualError(t, err, "GetDeviceRemovedReason: DXGI_ERROR_DEVICE_HUNG: pfnFlush reported D3DDDIERR_DEVICEREMOVED: "+
		"Render of the kernel returned STATUS_DEVICE_REMOVED: the GPU hung: node 0, fence 12")
	assert.ErrorIs(t, err, hung)
	assert.Equal(t, 1, asked)
	assert.EqualValues(t, 379, b.last().ID)
	_, err = b.dev.CreateBuffer(BufferDesc{ByteWidth: 4}, nil)
	assert.ErrorIs(t, err, hung)
	assert.ErrorIs(t, err, ddi.DXGIDeviceRemoved)
}

// TestOpenReasons: the errors of D3D11CreateDevice name the function that failed.
func TestOpenReasons(t *testing.T) {
	lost := errors.New("the link failed")
	for want, change := range map[string]func(*fakeDriver, *fakeKernel, *Config){
		"E_INVALIDARG: Config.Driver is nil":      func(_ *fakeDriver, _ *fakeKernel, c *Config) { c.Driver = nil },
		"E_INVALIDARG: Config.Kernel.Lock is nil": func(_ *fakeDriver, _ *fakeKernel, c *Config) { c.Kernel.Lock = nil },
		"E_FAIL: OpenAdapter10_2 of the driver returned E_FAIL": func(f *fakeDriver, _ *fakeKernel, _ *Config) {
			f.fail["OpenAdapter"] = ddi.EFail
		},
		"E_OUTOFMEMORY: pfnCreateDevice returned E_OUTOFMEMORY": func(f *fakeDriver, _ *fakeKernel, _ *Config) {
			f.fail["CreateDevice"] = ddi.EOutOfMemory
		},
		"DXGI_ERROR_UNSUPPORTED: the driver supports interface versions [0x1], want 0xb000a": func(f *fakeDriver, _ *fakeKernel, _ *Config) {
			f.versions = []uint32{1}
		},
		"DXGI_ERROR_DRIVER_INTERNAL_ERROR: the driver reported E_OUTOFMEMORY outside of its functions": func(f *fakeDriver, _ *fakeKernel, _ *Config) {
			f.fail["early"] = ddi.OK
		},
		"DXGI_ERROR_DEVICE_REMOVED: CreateDevice of the kernel returned STATUS_IO_DEVICE_ERROR: the link failed": func(_ *fakeDriver, k *fakeKernel, c *Config) {
			k.status, c.Err = ddi.StatusIODeviceError, func(ddi.KMHandle) error { return lost }
		},
	} {
		f, k := newFakeDriver(), &fakeKernel{}
		cfg := Config{Driver: f.openAdapter, Kernel: k.thunks()}
		change(f, k, &cfg)
		_, _, err := CreateDevice(cfg)
		assert.EqualError(t, err, "D3D11CreateDevice: "+want)
		assert.Equal(t, cfg.Err != nil, errors.Is(err, lost))
	}
}

// TestStop: a monitor removes the device with a cause, which every later error
// wraps. The first cause wins.
func TestStop(t *testing.T) {
	b := newBench(t)
	first, second := errors.New("rule x is broken"), errors.New("rule y is broken")
	b.dev.Stop(first)
	b.dev.Stop(second)
	b.drv.fail["Flush"] = ddi.EFail
	b.ctx.Flush()
	err := b.dev.GetDeviceRemovedReason()
	check(t, ddi.DXGIInternalError, err)
	assert.EqualError(t, err, "GetDeviceRemovedReason: DXGI_ERROR_DRIVER_INTERNAL_ERROR: the device was stopped: rule x is broken")
	assert.ErrorIs(t, err, first)
	assert.NotErrorIs(t, err, second)
	_, err = b.dev.CreateBuffer(BufferDesc{ByteWidth: 4}, nil)
	assert.ErrorIs(t, err, first)

	b = newBench(t)
	b.drv.hook = func(_ *ddi.Thread, name string) {
		if name == "Flush" {
			b.dev.Stop(nil)
		}
	}
	b.ctx.Flush()
	require.EqualError(t, b.dev.GetDeviceRemovedReason(),
		"GetDeviceRemovedReason: DXGI_ERROR_DRIVER_INTERNAL_ERROR: the device was stopped")
}
