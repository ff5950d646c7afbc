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

	// Err returns why the kernel took a device away or stopped the GPU, or nil. It may be
	// nil. The runtime asks it when a thunk first reports that the device is lost, or
	// CreateDevice fails, and wraps the answer in the errors of the device.
	Err func(device ddi.KMHandle) error

	// Stopped returns why the system was stopped from outside, or nil. It may be nil.
	// The runtime asks it in each call and calls Stop with the answer. It must be
	// cheap and safe for concurrent use.
	Stopped func() error

	// Observer sees each call of the API. It may be nil.
	Observer Observer

	// Break is called with each message that the break settings of the InfoQueue
	// select, on the goroutine of the call that the message is about. It may
	// panic to stop the application there. It may be nil.
	Break func(Message)

	// DebugOutput is called with each message that passes the storage filter of
	// the InfoQueue, unless it is muted. It may be called from several goroutines
	// at a time and must not call the device. It may be nil.
	DebugOutput func(Message)
}

// A Device is ID3D11Device. It creates the other objects.
type Device struct {
	kernel         kmt.Thunks
	stopped        func() error // of Config; nil: never
	observer       Observer     // nil: none
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
	removal      atomic.Pointer[Error]    // why the device was removed, or nil
	loss         atomic.Pointer[loss]     // how the kernel lost the GPU, or nil
	kernelErr    func(ddi.KMHandle) error // Config.Err
	queue        InfoQueue
	refs         deviceRefs
	private      privateData
	priorities   priorities
	serial       sync.Mutex // held during each DDI call, if serialized

	serialized         bool   // the driver is not free-threaded
	native, predicates bool   // it supports command lists; predication and all query types
	openFailed         string // why CreateDevice failed
	formats            [maxFormat]uint32
	localSizes         []umddi.HandleSize // valid results of CalcDeferredContextHandleSize

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

// CreateDevice opens the driver and creates a device and its immediate context,
// with a reference to each.
//
//	DDI     OpenAdapter10_2, pfnGetSupportedVersions, pfnGetCaps, pfnCreateDevice
//	Returns an [*Error]: EInvalidArg if cfg lacks a function; DXGIUnsupported if
//	        the driver does not offer umddi.Interface; DXGIInternalError if its
//	        table is incomplete or if it reported a forbidden error; otherwise
//	        the error of the driver or kernel. Nothing is left open on failure
func CreateDevice(cfg Config) (*Device, *Context, error) {
	const api = "D3D11CreateDevice"
	if cfg.Driver == nil {
		return nil, nil, &Error{HRESULT: ddi.EInvalidArg, Call: api, Text: "Config.Driver is nil"}
	}
	if name := missingThunk(&cfg.Kernel); name != "" {
		return nil, nil, &Error{HRESULT: ddi.EInvalidArg, Call: api, Text: "Config.Kernel." + name + " is nil"}
	}
	d := &Device{
		kernel:         cfg.Kernel,
		kernelErr:      cfg.Err,
		stopped:        cfg.Stopped,
		observer:       cfg.Observer,
		process:        cfg.Process,
		singleThreaded: cfg.SingleThreaded,
		seed:           cfg.Seed,
		adapterCb:      umddi.AdapterCallbacks{QueryAdapterInfoCb: queryAdapterInfoCb},
		kernelCb:       deviceCallbacks(),
		coreCb:         coreCallbacks(),
		dxgiCb:         umddi.DXGIBaseCallbacks{PresentCb: presentCb},
		calls:          make(map[*ddi.Thread]*call),
	}
	d.queue.init(&cfg)
	d.refs.n.Store(2) // the device and its immediate context
	d.immediate = newImmediate(d, d.newCall())
	d.immediate.moves = newMoves(cfg.Seed)
	if hr := d.open(api, cfg.Driver); hr != ddi.OK {
		e := &Error{HRESULT: hr, Call: api, Text: d.openFailed}
		switch r, l := d.removal.Load(), d.loss.Load(); {
		case r != nil:
			e.Text, e.cause = r.Text, r.cause
		case l != nil:
			e.cause = l.cause
		case d.kernelErr != nil:
			e.cause = d.kernelErr(d.km)
		}
		return nil, nil, e
	}
	return d, d.immediate, nil
}

// failedOpen remembers that a function returned hr while the device was opened.
func (d *Device) failedOpen(function string, hr error) {
	d.openFailed = fmt.Sprintf("%s returned %v", function, hr)
}

// open opens the kernel device, the adapter and the driver's device. On failure
// none is open.
func (d *Device) open(api string, driver umddi.OpenAdapterFunc) ddi.HRESULT {
	t := &d.immediate.call.thread
	d.immediate.call.enter(api)
	defer d.immediate.call.leave(api)
	km, s := d.kernel.CreateDevice(t)
	if hr := d.hresult("CreateDevice", s); hr != ddi.OK {
		d.failedOpen("CreateDevice of the kernel", s)
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
		d.failedOpen("OpenAdapter10_2 of the driver", hr)
		return apiResult(hr)
	}
	f := &d.adapterFuncs
	name := missing(entry{"pfnCreateDevice", f.CreateDevice != nil},
		entry{"pfnGetSupportedVersions", f.GetSupportedVersions != nil}, entry{"pfnGetCaps", f.GetCaps != nil},
		entry{"pfnCloseAdapter", f.CloseAdapter != nil})
	hr = ddi.DXGIInternalError
	if name == "" {
		hr = d.openDevice(t)
	} else {
		d.leftNil(name)
	}
	if hr != ddi.OK && f.CloseAdapter != nil {
		f.CloseAdapter(t, d.adapter)
	}
	return hr
}

func (d *Device) openDevice(t *ddi.Thread) ddi.HRESULT {
	versions, hr := d.adapterFuncs.GetSupportedVersions(t, d.adapter)
	if hr.Failed() {
		d.failedOpen("pfnGetSupportedVersions", hr)
		return apiResult(hr)
	}
	if !slices.Contains(versions, umddi.Interface) {
		d.openFailed = fmt.Sprintf("the driver supports interface versions %#x, want %#x", versions, umddi.Interface)
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
		d.failedOpen("pfnCreateDevice", hr)
		return apiResult(hr)
	}
	d.funcs = *d.immediate.funcs
	return d.finishOpen(t)
}

// finishOpen checks the driver's table and reads the supported formats.
func (d *Device) finishOpen(t *ddi.Thread) ddi.HRESULT {
	all := append(deviceEntries(&d.funcs), entry{"pfnPresent", d.dxgiFuncs.Present != nil})
	if d.native {
		all = append(all, listEntries(&d.funcs)...)
	}
	name := missing(all...)
	if name != "" {
		d.leftNil(name)
	}
	complete := name == "" && (!d.native || d.readHandleSizes())
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

// leftNil remembers that the driver lacks a required entry.
func (d *Device) leftNil(name string) { d.openFailed = "the driver left " + name + " nil" }

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
	const api = "CreateDeferredContext"
	switch {
	case d.removed():
		return nil, d.gone(nil, api)
	case d.singleThreaded:
		p := problem{MessageCreateDeferredContextSingleThreaded, "the device was created with SingleThreaded"}
		return nil, d.failed(nil, api, ddi.DXGIInvalidCall, p, nil)
	case flags != 0:
		return nil, d.refuse(nil, api, problemf(MessageCreateDeferredContextInvalidFlags, "ContextFlags is %#x, want 0", flags))
	}
	if !d.native {
		return newRecorder(d), nil
	}
	return newDeferred(d, api)
}

// Close destroys the device and all its remaining objects, regardless of references,
// and closes the driver. No object of the device may be in use. Afterwards the objects
// are stale and the device is removed. Further calls do nothing.
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
	d.removal.CompareAndSwap(nil, &Error{HRESULT: ddi.DXGIDeviceRemoved, Call: "GetDeviceRemovedReason", Text: "the device was closed"})
	k := d.immediate.call
	k.enter("Release")
	defer k.leave("Release")
	d.funcs.DestroyDevice(k.begin("pfnDestroyDevice", maySet), d.h)
	k.end()
	d.adapterFuncs.CloseAdapter(&k.thread, d.adapter)
	d.kernel.DestroyDevice(&k.thread, d.km)
	d.private.clear()
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
		d.formats[f] = d.funcs.CheckFormatSupport(k.begin("pfnCheckFormatSupport", 0), d.h, f)
		k.end()
	}
}
