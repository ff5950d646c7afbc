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

// Config holds the parameters of CreateDevice.
type Config struct {
	Driver umddi.OpenAdapterFunc // the user-mode display driver
	Kernel kmt.Thunks            // the graphics kernel; no field may be nil

	SingleThreaded bool   // D3D11_CREATE_DEVICE_SINGLETHREADED: no deferred contexts
	Process        uint32 // ID of the application's process
	Seed           uint64 // random choices of the runtime, such as when a table moves; 0: it chooses none
}

// A Device is ID3D11Device. It creates the other objects.
type Device struct {
	kernel         kmt.Thunks
	process        uint32
	singleThreaded bool
	seed           uint64

	adapter      umddi.HAdapter
	adapterFuncs umddi.AdapterFuncs
	adapterCb    umddi.AdapterCallbacks
	km           ddi.KMHandle
	h            umddi.HDevice
	funcs        umddi.DeviceFuncs // copy of the table for functions that any thread may call
	dxgiFuncs    umddi.DXGIBaseFuncs
	kernelCb     umddi.DeviceCallbacks
	coreCb       umddi.CoreLayerCallbacks
	dxgiCb       umddi.DXGIBaseCallbacks
	immediate    *Context
	removal      removal
	hung         atomic.Bool // the kernel reported that the GPU hung
	serial       sync.Mutex  // held during each DDI call, if serialized

	serialized   bool   // the driver is not free-threaded
	native       bool   // the driver supports command lists
	predicates   bool   // the driver supports predication and all query types
	missingEntry string // required entry that the driver left nil
	formats      [maxFormat]uint32
	localSizes   []umddi.HandleSize // valid results of CalcDeferredContextHandleSize

	_ [cacheLine]byte // the fields below change while contexts record

	mapped atomic.Int64 // number of subresources mapped by the immediate context

	mu       sync.Mutex // guards the fields below
	children *child     // newest first
	calls    map[*ddi.Thread]*call
	idle     []*call
	spare    []*recording
	lists    *listBody // all list bodies
	ids      []uint32  // free object numbers
	nextID   uint32
	closed   bool
}

// CreateDevice opens the driver and creates a device and its immediate context.
//
//	DDI     OpenAdapter10_2, pfnGetSupportedVersions, pfnGetCaps, pfnCreateDevice
//	Returns EInvalidArg if cfg lacks a function; DXGIUnsupported if the driver
//	        does not offer umddi.Interface; DXGIInternalError if its table is
//	        incomplete, wrapped with the name of the entry, or if it reported
//	        a forbidden error; otherwise the error of the driver or kernel.
//	        Nothing is left open on failure
func CreateDevice(cfg Config) (*Device, *Context, error) {
	if cfg.Driver == nil || !thunksComplete(&cfg.Kernel) {
		return nil, nil, ddi.EInvalidArg
	}
	d := &Device{
		kernel:         cfg.Kernel,
		process:        cfg.Process,
		singleThreaded: cfg.SingleThreaded,
		seed:           cfg.Seed,
		adapterCb:      umddi.AdapterCallbacks{QueryAdapterInfoCb: queryAdapterInfoCb},
		kernelCb:       deviceCallbacks(),
		coreCb:         coreCallbacks(),
		dxgiCb:         umddi.DXGIBaseCallbacks{PresentCb: presentCb},
		calls:          make(map[*ddi.Thread]*call),
	}
	d.immediate = newImmediate(d, d.newCall())
	d.immediate.moves = newMoves(cfg.Seed)
	if hr := d.open(cfg.Driver); hr != ddi.OK {
		if d.missingEntry != "" {
			return nil, nil, fmt.Errorf("%w: the driver left %s nil", hr, d.missingEntry)
		}
		return nil, nil, hr
	}
	return d, d.immediate, nil
}

// open opens the kernel device, the adapter and the driver's device. On failure
// none is open.
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
	d.missingEntry = missing(entry{"pfnCreateDevice", f.CreateDevice != nil},
		entry{"pfnGetSupportedVersions", f.GetSupportedVersions != nil}, entry{"pfnGetCaps", f.GetCaps != nil},
		entry{"pfnCloseAdapter", f.CloseAdapter != nil})
	hr = ddi.DXGIInternalError
	if d.missingEntry == "" {
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
		DeviceFuncs:   d.immediate.funcs,
		DXGIFuncs:     &d.dxgiFuncs,
	}
	if d.singleThreaded {
		arg.Flags = umddi.FlagSingleThreaded
	}
	if hr := d.adapterFuncs.CreateDevice(t, d.adapter, &arg); hr.Failed() {
		return apiResult(hr)
	}
	d.funcs = *d.immediate.funcs
	return d.finishOpen(t)
}

// finishOpen checks the driver's table and reads the supported formats.
func (d *Device) finishOpen(t *ddi.Thread) ddi.HRESULT {
	d.missingEntry = missing(append(deviceEntries(&d.funcs), entry{"pfnPresent", d.dxgiFuncs.Present != nil})...)
	if d.native && d.missingEntry == "" {
		d.missingEntry = missing(listEntries(&d.funcs)...)
	}
	complete := d.missingEntry == "" && (!d.native || d.readHandleSizes())
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

// apiResult converts a returned DDI result to one of the API.
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

// GetImmediateContext returns a reference to the immediate context, always the
// same object.
func (d *Device) GetImmediateContext() *Context {
	d.immediate.addRef()
	return d.immediate
}

// CreateDeferredContext creates a context that records command lists. It starts
// with the default state.
//
//	DDI     pfnCalcPrivateDeferredContextSize, pfnCreateDeferredContext, if the
//	        driver supports command lists
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

// Close destroys the device and all its remaining objects, and closes the
// driver. No object of the device may be in use. Afterwards the objects are
// stale and the device is removed. Further calls do nothing.
func (d *Device) Close() {
	d.mu.Lock()
	closed := d.closed
	d.closed = true
	d.mu.Unlock()
	if closed {
		return
	}
	d.immediate.closeImmediate()
	for _, c := range d.snapshot() {
		c.releaseAll()
	}
	for _, b := range d.allLists() {
		if l := b.list; l != nil {
			l.releaseAll()
		}
	}
	d.remove(ddi.DXGIDeviceRemoved)
	k := d.immediate.call
	d.funcs.DestroyDevice(k.begin(maySet), d.h)
	k.end()
	d.adapterFuncs.CloseAdapter(&k.thread, d.adapter)
	d.kernel.DestroyDevice(&k.thread, d.km)
}

// newCall creates a thread for DDI functions.
func (d *Device) newCall() *call {
	k := &call{dev: d}
	k.thread.Process = d.process
	d.mu.Lock()
	defer d.mu.Unlock()
	k.thread.ID = uint32(len(d.calls) + 1)
	d.calls[&k.thread] = k
	return k
}

// callOf returns the call running on t, or nil.
func (d *Device) callOf(t *ddi.Thread) *call {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.calls[t]
}

// acquireCall returns a call for a free-threaded function. The caller must pass
// it to releaseCall.
func (d *Device) acquireCall() *call {
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

// releaseCall takes back a call from acquireCall.
func (d *Device) releaseCall(k *call) {
	if k == d.immediate.call {
		return
	}
	d.mu.Lock()
	d.idle = append(d.idle, k)
	d.mu.Unlock()
}

// maxFormat is greater than every dxgi.Format in the table.
const maxFormat = 128

// readFormats asks the driver for the supported formats. Only Texture2D formats
// described in package dxgi are used.
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
