package d3d11

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/dxgi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmt"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// Config says what a device is made from.
type Config struct {
	Driver umddi.OpenAdapterFunc // the user-mode display driver
	Kernel kmt.Thunks            // the graphics kernel; no field may be nil

	SingleThreaded bool   // D3D11_CREATE_DEVICE_SINGLETHREADED: no deferred contexts
	Process        uint32 // id of the application's process
}

// A Device is ID3D11Device: it makes the other objects.
type Device struct {
	kernel         kmt.Thunks
	process        uint32
	singleThreaded bool

	adapter      umddi.HAdapter
	adapterFuncs umddi.AdapterFuncs
	adapterCb    umddi.AdapterCallbacks
	km           ddi.KMHandle
	h            umddi.HDevice
	funcs        umddi.DeviceFuncs
	dxgiFuncs    umddi.DXGIBaseFuncs
	kernelCb     umddi.DeviceCallbacks
	coreCb       umddi.CoreLayerCallbacks
	dxgiCb       umddi.DXGIBaseCallbacks
	immediate    *Context
	removal      removal
	hung         atomic.Bool // the kernel has said that the GPU hung
	serial       sync.Mutex  // held in each DDI call, if serialized

	serialized bool   // the driver is not free-threaded
	native     bool   // the driver has command lists
	predicates bool   // the driver has predication, and with it more queries than EVENT
	lacks      string // entry that the driver must have and left nil, so that there is no device
	formats    [maxFormat]uint32
	localSizes []umddi.HandleSize // what CalcDeferredContextHandleSize may return

	_ [cacheLine]byte // what follows changes while contexts record

	mapped atomic.Int64 // subresources that the immediate context has mapped

	mu       sync.Mutex // guards what follows
	children *child     // newest first
	calls    map[*ddi.Thread]*call
	idle     []*call
	spare    []*recording
	lists    *listBody // all there are
	ids      []uint32  // numbers of objects that are free
	nextID   uint32
	closed   bool
}

// CreateDevice opens the driver and makes a device and its immediate context.
//
//	DDI     OpenAdapter10_2, pfnGetSupportedVersions, pfnGetCaps, pfnCreateDevice
//	Returns EInvalidArg if cfg lacks a function; DXGIUnsupported if the driver
//	        does not offer umddi.Interface; DXGIInternalError if its table is
//	        incomplete, wrapped with the name of the entry, or if it reported
//	        an error that it may not; else what driver or kernel returned.
//	        Nothing is left open on failure
func CreateDevice(cfg Config) (*Device, *Context, error) {
	if cfg.Driver == nil || !thunksComplete(&cfg.Kernel) {
		return nil, nil, ddi.EInvalidArg
	}
	d := &Device{
		kernel:         cfg.Kernel,
		process:        cfg.Process,
		singleThreaded: cfg.SingleThreaded,
		adapterCb:      umddi.AdapterCallbacks{QueryAdapterInfoCb: queryAdapterInfoCb},
		kernelCb:       deviceCallbacks(),
		coreCb:         coreCallbacks(),
		dxgiCb:         umddi.DXGIBaseCallbacks{PresentCb: presentCb},
		calls:          make(map[*ddi.Thread]*call),
	}
	d.immediate = newImmediate(d, d.newCall())
	if hr := d.open(cfg.Driver); hr != ddi.OK {
		if d.lacks != "" {
			return nil, nil, fmt.Errorf("%w: the driver left %s nil", hr, d.lacks)
		}
		return nil, nil, hr
	}
	return d, d.immediate, nil
}

// open opens kernel device, adapter and driver device, or none of them.
func (d *Device) open(driver umddi.OpenAdapterFunc) ddi.HRESULT {
	t := &d.immediate.call.thread
	km, s := d.kernel.CreateDevice(t)
	if hr := d.hresult(s); hr != ddi.OK {
		return apiResult(hr)
	}
	d.km = km
	hr := d.openAdapter(t, driver)
	if hr != ddi.OK {
		d.kernel.DestroyDevice(t, km)
	}
	return hr
}

func (d *Device) openAdapter(t *ddi.Thread, driver umddi.OpenAdapterFunc) ddi.HRESULT {
	d.adapter = umddi.HAdapter{Root: new(ddi.Root)}
	hr := driver(t, &umddi.OpenAdapter{
		RTAdapter: umddi.HRTAdapter{Runtime: d},
		Adapter:   d.adapter,
		Interface: umddi.Interface,
		Callbacks: &d.adapterCb,
		Funcs:     &d.adapterFuncs,
	})
	if hr.Failed() {
		return apiResult(hr)
	}
	f := &d.adapterFuncs
	d.lacks = missing(entry{"pfnCreateDevice", f.CreateDevice != nil},
		entry{"pfnGetSupportedVersions", f.GetSupportedVersions != nil}, entry{"pfnGetCaps", f.GetCaps != nil},
		entry{"pfnCloseAdapter", f.CloseAdapter != nil})
	hr = ddi.DXGIInternalError
	if d.lacks == "" {
		hr = d.openDevice(t)
	}
	if hr != ddi.OK && f.CloseAdapter != nil {
		f.CloseAdapter(t, d.adapter)
	}
	return hr
}

func (d *Device) openDevice(t *ddi.Thread) ddi.HRESULT {
	versions, hr := d.adapterFuncs.GetSupportedVersions(t, d.adapter)
	if hr.Failed() {
		return apiResult(hr)
	}
	if !slices.Contains(versions, umddi.Interface) {
		return ddi.DXGIUnsupported
	}
	caps, hr := d.adapterFuncs.GetCaps(t, d.adapter, umddi.CapsThreading)
	const lists = umddi.CapsFreeThreaded | umddi.CapsCommandListsBuild2
	d.serialized = hr.Failed() || caps&umddi.CapsFreeThreaded == 0
	d.native = !hr.Failed() && caps&lists == lists
	d.h = umddi.HDevice{Root: new(ddi.Root)}
	d.immediate.h = d.h
	arg := umddi.CreateDevice{
		RTDevice:      umddi.HRTDevice{Runtime: d},
		RTCoreLayer:   umddi.HRTCoreLayer{Runtime: d},
		Device:        d.h,
		Interface:     umddi.Interface,
		KTCallbacks:   &d.kernelCb,
		UMCallbacks:   &d.coreCb,
		DXGICallbacks: &d.dxgiCb,
		DeviceFuncs:   &d.funcs,
		DXGIFuncs:     &d.dxgiFuncs,
	}
	if d.singleThreaded {
		arg.Flags = umddi.FlagSingleThreaded
	}
	if hr := d.adapterFuncs.CreateDevice(t, d.adapter, &arg); hr.Failed() {
		return apiResult(hr)
	}
	return d.finishOpen(t)
}

// finishOpen checks the driver's table and reads the formats it supports.
func (d *Device) finishOpen(t *ddi.Thread) ddi.HRESULT {
	d.lacks = missing(append(deviceEntries(&d.funcs), entry{"pfnPresent", d.dxgiFuncs.Present != nil})...)
	if d.native && d.lacks == "" {
		d.lacks = missing(listEntries(&d.funcs)...)
	}
	complete := d.lacks == "" && (!d.native || d.readHandleSizes())
	if complete {
		d.predicates = d.funcs.SetPredication != nil && d.funcs.QueryBegin != nil
		d.readFormats()
	}
	if complete && !d.removed() {
		return ddi.OK
	}
	if d.funcs.DestroyDevice != nil {
		d.funcs.DestroyDevice(t, d.h)
	}
	return ddi.DXGIInternalError
}

// apiResult maps a DDI result that a function returned to one of the API.
func apiResult(hr ddi.HRESULT) ddi.HRESULT {
	switch hr {
	case ddi.DDIDeviceRemoved:
		return ddi.DXGIDeviceRemoved
	case ddi.DDIStillDrawing:
		return ddi.DXGIStillDrawing
	case ddi.DDIUnsupported:
		return ddi.DXGIUnsupported
	}
	return hr
}

// GetImmediateContext returns a reference to the immediate context, which is
// always the same object.
func (d *Device) GetImmediateContext() *Context {
	d.immediate.addRef()
	return d.immediate
}

// CreateDeferredContext makes a context that records command lists. Its state
// is the default, whatever the immediate context's is.
//
//	DDI     pfnCalcPrivateDeferredContextSize, pfnCreateDeferredContext, if the
//	        driver has command lists
//	In      flags: must be 0
//	Returns DXGIInvalidCall if the device is single-threaded, EInvalidArg,
//	        EOutOfMemory, DXGIDeviceRemoved
func (d *Device) CreateDeferredContext(flags uint32) (*Context, error) {
	switch {
	case d.removed():
		return nil, ddi.DXGIDeviceRemoved
	case d.singleThreaded:
		return nil, ddi.DXGIInvalidCall
	case flags != 0:
		return nil, ddi.EInvalidArg
	}
	if !d.native {
		return newRecorder(d), nil
	}
	c, hr := newDeferred(d)
	return c, result(hr)
}

// Close destroys the device with everything that is left of it, and closes the
// driver. Objects of the device must not be in use; they are stale afterwards,
// and the device is removed. Closing again does nothing.
func (d *Device) Close() {
	d.mu.Lock()
	closed := d.closed
	d.closed = true
	d.mu.Unlock()
	if closed {
		return
	}
	d.immediate.shut()
	for _, c := range d.snapshot() {
		c.strip()
	}
	for _, b := range d.allLists() {
		if l := b.list; l != nil {
			l.strip()
		}
	}
	d.remove(ddi.DXGIDeviceRemoved)
	k := d.immediate.call
	d.funcs.DestroyDevice(k.begin(mayRemove), d.h)
	k.end()
	d.adapterFuncs.CloseAdapter(&k.thread, d.adapter)
	d.kernel.DestroyDevice(&k.thread, d.km)
}

// newCall makes a thread that DDI functions can run on.
func (d *Device) newCall() *call {
	k := &call{dev: d}
	k.thread.Process = d.process
	d.mu.Lock()
	defer d.mu.Unlock()
	k.thread.ID = uint32(len(d.calls) + 1)
	d.calls[&k.thread] = k
	return k
}

// callOf returns the call that runs on t, or nil.
func (d *Device) callOf(t *ddi.Thread) *call {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.calls[t]
}

// acquire returns a call for a free-threaded function. The caller gives it
// back to yield.
func (d *Device) acquire() *call {
	if d.serialized {
		return d.immediate.call
	}
	d.mu.Lock()
	if n := len(d.idle); n > 0 {
		k := d.idle[n-1]
		d.idle = d.idle[:n-1]
		d.mu.Unlock()
		return k
	}
	d.mu.Unlock()
	return d.newCall()
}

// yield takes a call back that acquire returned.
func (d *Device) yield(k *call) {
	if k == d.immediate.call {
		return
	}
	d.mu.Lock()
	d.idle = append(d.idle, k)
	d.mu.Unlock()
}

// maxFormat is above every value of dxgi.Format in its table.
const maxFormat = 128

// readFormats asks the driver what it supports. Only Texture2D formats that
// package dxgi describes count.
func (d *Device) readFormats() {
	k := d.immediate.call
	for f := dxgi.Format(1); f < maxFormat; f++ {
		if _, ok := f.Info(); !ok {
			continue
		}
		d.formats[f] = d.funcs.CheckFormatSupport(k.begin(0), d.h, f)
		k.end()
	}
}
