package d3d11

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"sync"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/dxgi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// fakeState is the pipeline state set in the fake driver, as IDs.
type fakeState struct {
	Topology  umddi.Topology
	Vertex    [32][3]uint32 // ID, stride, offset
	Index     [3]uint32     // ID, format, offset
	Constant  [6][14]uint32
	Targets   [8]uint32
	Viewports []umddi.Viewport
	Scissors  []umddi.Rect
	Predicate [2]uint32 // ID, value
}

// fakeDriver is a user-mode driver with resources in Go memory. It executes
// each call immediately and records broken rules.
type fakeDriver struct {
	caps       uint32
	versions   []uint32
	noFormat   map[dxgi.Format]uint32        // unsupported bits of a format
	fail       map[string]ddi.HRESULT        // error to report, by function
	hook       func(t *ddi.Thread, n string) // called in each function
	pending    int                           // polls until queries are complete
	calcSize   int                           // if not 0, size of private memory
	editTable  func(*umddi.DeviceFuncs)      // changes the table at the end of CreateDevice
	presentErr ddi.HRESULT                   // result of Present
	native     fakeNative
	predicated bool            // supports predication
	results    map[uint32]bool // results of predicates

	mu        sync.Mutex
	moves     int // of tables
	log       []string
	broken    []string
	next      uint32
	resources map[uint32]*fakeResource
	views     map[uint32]umddi.CreateRenderTargetView
	viewRes   map[uint32]uint32
	queries   map[uint32]int // remaining polls, -1 before End
	state     fakeState
	arg       umddi.CreateDevice
	open      int // number of open adapters and devices: adapter 1, device 2
}

func newFakeDriver() *fakeDriver {
	return &fakeDriver{
		caps: umddi.CapsFreeThreaded, versions: []uint32{umddi.Interface}, calcSize: fakePrivate,
		noFormat: map[dxgi.Format]uint32{}, fail: map[string]ddi.HRESULT{},
		resources: map[uint32]*fakeResource{}, views: map[uint32]umddi.CreateRenderTargetView{},
		viewRes: map[uint32]uint32{}, queries: map[uint32]int{}, results: map[uint32]bool{},
	}
}

// enter records a call. It reports the error that the test wants and then
// returns false.
func (f *fakeDriver) enter(t *ddi.Thread, name string) bool {
	if f.hook != nil {
		f.hook(t, name)
	}
	f.mu.Lock()
	f.log = append(f.log, name)
	hr, bad := f.fail[name]
	f.mu.Unlock()
	if bad {
		f.arg.UMCallbacks.SetErrorCb(t, f.arg.RTCoreLayer, hr)
	}
	return !bad
}

// moved checks that a table has moved from old to funcs.
func (f *fakeDriver) moved(old, funcs *umddi.DeviceFuncs) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.moves++
	if old == funcs || old.Flush != nil || old.ResourceCopy != nil || funcs.ResourceCopy == nil {
		f.violation("the table has not moved")
	}
}

func (f *fakeDriver) violation(format string, args ...any) {
	f.broken = append(f.broken, fmt.Sprintf(format, args...))
}

func id(o *ddi.Object) uint32 {
	if o == nil {
		return 0
	}
	return binary.LittleEndian.Uint32(o.Private)
}

// checkNew checks new private memory and puts an ID in it.
func (f *fakeDriver) checkNew(o *ddi.Object) uint32 {
	if want := bytes.Repeat([]byte{0xa5}, f.calcSize); !bytes.Equal(o.Private, want) {
		f.violation("private memory %x", o.Private)
	}
	f.next++
	binary.LittleEndian.PutUint32(o.Private, f.next)
	return f.next
}

func (f *fakeDriver) openAdapter(t *ddi.Thread, arg *umddi.OpenAdapter) ddi.HRESULT {
	if hr, bad := f.fail["OpenAdapter"]; bad {
		return hr
	}
	f.open = 1
	*arg.Funcs = umddi.AdapterFuncs{
		CreateDevice: f.createDevice,
		CloseAdapter: func(*ddi.Thread, umddi.HAdapter) ddi.HRESULT {
			f.open--
			return ddi.OK
		},
		GetSupportedVersions: func(*ddi.Thread, umddi.HAdapter) ([]uint32, ddi.HRESULT) { return f.versions, ddi.OK },
		GetCaps: func(_ *ddi.Thread, _ umddi.HAdapter, typ umddi.CapsType) (uint32, ddi.HRESULT) {
			return f.caps, ddi.OK
		},
	}
	return ddi.OK
}

func (f *fakeDriver) createDevice(t *ddi.Thread, h umddi.HAdapter, arg *umddi.CreateDevice) ddi.HRESULT {
	f.arg = *arg
	if hr, bad := f.fail["CreateDevice"]; bad {
		return hr
	}
	f.open = 2
	d := arg.DeviceFuncs
	f.fillResources(d)
	f.fillMaps(d)
	f.fillMoves(d)
	f.fillViews(d)
	f.fillState(d)
	d.Flush = func(t *ddi.Thread, _ umddi.HDevice) { f.enter(t, "Flush") }
	d.CheckFormatSupport = func(t *ddi.Thread, _ umddi.HDevice, fm dxgi.Format) uint32 {
		f.enter(t, "CheckFormatSupport")
		return (umddi.FormatRenderTarget | umddi.FormatTexture2D | umddi.FormatCopy) &^ f.noFormat[fm]
	}
	d.CheckMultisampleQualityLevels = func(t *ddi.Thread, _ umddi.HDevice, _ dxgi.Format, count uint32) uint32 {
		f.enter(t, "CheckMultisampleQualityLevels")
		return 1
	}
	d.DestroyDevice = func(*ddi.Thread, umddi.HDevice) { f.open-- }
	d.RelocateDeviceFuncs = func(_ *ddi.Thread, _ umddi.HDevice, funcs *umddi.DeviceFuncs) {
		f.moved(f.arg.DeviceFuncs, funcs)
		f.arg.DeviceFuncs = funcs
	}
	if f.predicated {
		f.fillPredicates(d)
	}
	if f.native.on {
		f.fillNative(d)
	}
	arg.DXGIFuncs.Present = f.present
	if f.editTable != nil {
		f.editTable(d)
	}
	if _, bad := f.fail["early"]; bad {
		arg.UMCallbacks.SetErrorCb(t, arg.RTCoreLayer, ddi.EOutOfMemory)
	}
	return ddi.OK
}

func (f *fakeDriver) fillViews(d *umddi.DeviceFuncs) {
	d.CalcPrivateRenderTargetViewSize = func(t *ddi.Thread, _ umddi.HDevice, _ *umddi.CreateRenderTargetView) int {
		f.enter(t, "CalcPrivateRenderTargetViewSize")
		return f.calcSize
	}
	d.CreateRenderTargetView = func(t *ddi.Thread, _ umddi.HDevice, arg *umddi.CreateRenderTargetView, v umddi.HRenderTargetView, _ umddi.HRTRenderTargetView) {
		if !f.enter(t, "CreateRenderTargetView") {
			return
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		f.res(arg.Resource)
		n := f.checkNew(v.Object)
		f.views[n] = *arg
		f.viewRes[n] = id(arg.Resource.Object)
	}
	d.DestroyRenderTargetView = func(t *ddi.Thread, _ umddi.HDevice, v umddi.HRenderTargetView) {
		f.enter(t, "DestroyRenderTargetView")
		f.mu.Lock()
		defer f.mu.Unlock()
		if slices.Contains(f.state.Targets[:], id(v.Object)) {
			f.violation("a bound view is destroyed")
		}
		delete(f.views, id(v.Object))
		delete(f.viewRes, id(v.Object))
	}
	d.CalcPrivateQuerySize = func(t *ddi.Thread, _ umddi.HDevice, _ umddi.CreateQuery) int {
		f.enter(t, "CalcPrivateQuerySize")
		return f.calcSize
	}
	d.CreateQuery = func(t *ddi.Thread, _ umddi.HDevice, _ umddi.CreateQuery, q umddi.HQuery, _ umddi.HRTQuery) {
		if f.enter(t, "CreateQuery") {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.queries[f.checkNew(q.Object)] = -1
		}
	}
	d.DestroyQuery = func(t *ddi.Thread, _ umddi.HDevice, q umddi.HQuery) {
		f.enter(t, "DestroyQuery")
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.queries, id(q.Object))
	}
	d.QueryBegin = func(t *ddi.Thread, _ umddi.HDevice, _ umddi.HQuery) { f.enter(t, "QueryBegin") }
	d.QueryEnd = func(t *ddi.Thread, _ umddi.HDevice, q umddi.HQuery) {
		if f.enter(t, "QueryEnd") {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.queries[id(q.Object)] = f.pending
		}
	}
	d.QueryGetData = f.getData
}

func (f *fakeDriver) getData(t *ddi.Thread, _ umddi.HDevice, q umddi.HQuery, data []byte, flags umddi.GetDataFlags) {
	name := "QueryGetData"
	if flags&umddi.DoNotFlush != 0 {
		name = "QueryGetData DoNotFlush"
	}
	if !f.enter(t, name) {
		return
	}
	left := f.queries[id(q.Object)]
	if left < 0 {
		f.violation("QueryGetData before QueryEnd")
	}
	if left > 0 {
		f.queries[id(q.Object)]--
		f.arg.UMCallbacks.SetErrorCb(t, f.arg.RTCoreLayer, ddi.DDIStillDrawing)
		return
	}
	binary.LittleEndian.PutUint32(data, 1)
}

func (f *fakeDriver) fillState(d *umddi.DeviceFuncs) {
	d.IaSetTopology = func(t *ddi.Thread, _ umddi.HDevice, topology umddi.Topology) {
		f.enter(t, "IaSetTopology")
		f.state.Topology = topology
	}
	d.IaSetVertexBuffers = func(t *ddi.Thread, _ umddi.HDevice, start uint32, bufs []umddi.HResource, strides, offsets []uint32) {
		f.enter(t, "IaSetVertexBuffers")
		for i, b := range bufs {
			f.state.Vertex[int(start)+i] = [3]uint32{id(b.Object), strides[i], offsets[i]}
		}
	}
	d.IaSetIndexBuffer = func(t *ddi.Thread, _ umddi.HDevice, b umddi.HResource, fm dxgi.Format, offset uint32) {
		f.enter(t, "IaSetIndexBuffer")
		f.state.Index = [3]uint32{id(b.Object), uint32(fm), offset}
	}
	set := func(st int) func(*ddi.Thread, umddi.HDevice, uint32, []umddi.HResource) {
		return func(t *ddi.Thread, _ umddi.HDevice, start uint32, bufs []umddi.HResource) {
			f.enter(t, "SetConstantBuffers")
			for i, b := range bufs {
				f.state.Constant[st][int(start)+i] = id(b.Object)
			}
		}
	}
	d.VsSetConstantBuffers, d.HsSetConstantBuffers, d.DsSetConstantBuffers = set(0), set(1), set(2)
	d.GsSetConstantBuffers, d.PsSetConstantBuffers, d.CsSetConstantBuffers = set(3), set(4), set(5)
	d.SetRenderTargets = func(t *ddi.Thread, _ umddi.HDevice, views []umddi.HRenderTargetView) {
		f.enter(t, "SetRenderTargets")
		f.state.Targets = [8]uint32{}
		for i, v := range views {
			f.state.Targets[i] = id(v.Object)
		}
	}
	d.SetViewports = func(t *ddi.Thread, _ umddi.HDevice, vps []umddi.Viewport) {
		f.enter(t, "SetViewports")
		f.state.Viewports = append([]umddi.Viewport(nil), vps...)
	}
	d.SetScissorRects = func(t *ddi.Thread, _ umddi.HDevice, rects []umddi.Rect) {
		f.enter(t, "SetScissorRects")
		f.state.Scissors = append([]umddi.Rect(nil), rects...)
	}
}

func (f *fakeDriver) present(t *ddi.Thread, arg umddi.Present) ddi.HRESULT {
	f.enter(t, "Present")
	if f.presentErr != ddi.OK {
		return f.presentErr
	}
	hr := f.arg.DXGICallbacks.PresentCb(t, f.arg.RTDevice, &umddi.PresentCB{DXGIContext: arg.DXGIContext})
	if hr != ddi.OK {
		return hr
	}
	copy(f.res(arg.DstResource).subs[0], f.res(arg.SurfaceToPresent).subs[0])
	return ddi.OK
}

// count returns the number of calls of a function.
func (f *fakeDriver) count(name string) int {
	n := 0
	for _, l := range f.log {
		if l == name {
			n++
		}
	}
	return n
}
