package d3d11

import (
	"bytes"
	"slices"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// Sizes of the fake driver's lists and local handles, in bytes. They differ, so
// that a mix-up is noticed.
const (
	fakeListPrivate  = 40
	fakeLocalPrivate = 24
	fakeLocalList    = 16

	fakeContextPrivate = 72
)

var fakeSizes = []umddi.HandleSize{
	{Type: umddi.HandleResource, Size: fakeLocalPrivate}, {Type: umddi.HandleRenderTargetView, Size: fakeLocalPrivate},
	{Type: umddi.HandleQuery, Size: fakeLocalPrivate}, {Type: umddi.HandleCommandList, Size: fakeLocalList},
}

// The states of a list's handle and of a deferred context.
const (
	fakeValid = iota
	fakeRetired
	fakeCached
	fakeDead

	fakeRecording
	fakeFinished
	fakeAbandoned
)

// fakeList is a command list of the fake driver: the calls to make on the
// immediate context.
type fakeList struct {
	state   int
	context *fakeContext
	ops     []func(*ddi.Thread)
	content []byte // private memory at retirement

	contents map[*ddi.Object][]byte // of the discarded resources
}

// fakeNative is the part of the fake driver that supports command lists.
type fakeNative struct {
	on               bool
	lists            map[*ddi.Object]*fakeList
	contexts         map[*ddi.Root]*fakeContext
	calls            []string                                      // of contexts and list functions
	unlogged         bool                                          // calls are not recorded
	editContextTable func(*umddi.DeviceFuncs)                      // changes a context's table
	contextHook      func(c *fakeContext, t *ddi.Thread, n string) // called in each of those functions
	failAt           int                                           // counts down; call 0 fails with failWith
	failWith         ddi.HRESULT
	failNext         string // function whose next call fails with failWith
	onFail           func()
	layer            umddi.HRTCoreLayer // if not zero, core layer to which failures are reported
	failed           string             // function that failed
	sizes            []umddi.HandleSize
	listSize         int
}

func natively(f *fakeDriver, _ *Config) {
	f.caps = umddi.CapsFreeThreaded | umddi.CapsCommandListsBuild2
	f.native = fakeNative{on: true, lists: map[*ddi.Object]*fakeList{}, contexts: map[*ddi.Root]*fakeContext{},
		failAt: -1, sizes: fakeSizes, listSize: fakeListPrivate}
}

// logCall records a call and returns the error to report or return, usually OK.
func (f *fakeDriver) logCall(c *fakeContext, t *ddi.Thread, name string) ddi.HRESULT {
	n := &f.native
	f.mu.Lock()
	if !n.unlogged {
		n.calls = append(n.calls, name)
	}
	hr := ddi.OK
	if n.failAt == 0 {
		hr, n.failed = n.failWith, name
	}
	if n.failAt >= 0 {
		n.failAt--
	}
	if n.failNext == name {
		hr, n.failNext = n.failWith, ""
		n.onFail()
	}
	recall := n.contextHook
	f.mu.Unlock()
	if recall != nil {
		recall(c, t, name)
	}
	return hr
}

func (f *fakeDriver) wrong(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.violation(format, args...)
}

func (f *fakeDriver) reportTo(t *ddi.Thread, core umddi.HRTCoreLayer, hr ddi.HRESULT) {
	if f.native.layer.Runtime != nil {
		core = f.native.layer
	}
	f.arg.UMCallbacks.SetErrorCb(t, core, hr)
}

// fillNative fills in the device's command-list functions.
func (f *fakeDriver) fillNative(d *umddi.DeviceFuncs) {
	n := &f.native
	d.CheckDeferredContextHandleSizes = func(t *ddi.Thread, _ umddi.HDevice, sizes []umddi.HandleSize) int {
		copy(sizes, n.sizes)
		return len(n.sizes)
	}
	d.CalcDeferredContextHandleSize = func(t *ddi.Thread, _ umddi.HDevice, typ umddi.HandleType, o *ddi.Object) int {
		if typ == umddi.HandleCommandList {
			f.logCall(nil, t, "CalcDeferredContextHandleSize")
			return fakeLocalList
		}
		return fakeLocalPrivate
	}
	d.CalcPrivateDeferredContextSize = func(t *ddi.Thread, _ umddi.HDevice, _ uint32) int { return fakeContextPrivate }
	d.CreateDeferredContext = func(t *ddi.Thread, _ umddi.HDevice, arg *umddi.CreateDeferredContext) {
		if hr := f.logCall(nil, t, "CreateDeferredContext"); hr != ddi.OK {
			f.reportTo(t, f.arg.RTCoreLayer, hr)
			return
		}
		if want := bytes.Repeat([]byte{privateFill}, fakeContextPrivate); !bytes.Equal(arg.Context.Root.Private, want) {
			f.wrong("a context with memory %x", arg.Context.Root.Private)
		}
		c := &fakeContext{f: f, arg: *arg, memory: bytes.Clone(arg.Context.Root.Private)}
		c.clear()
		f.mu.Lock()
		n.contexts[arg.Context.Root] = c
		f.mu.Unlock()
		c.fill(arg.ContextFuncs)
		if n.editContextTable != nil {
			n.editContextTable(arg.ContextFuncs)
		}
	}
	d.RecycleCreateDeferredContext = func(t *ddi.Thread, _ umddi.HDevice, arg *umddi.CreateDeferredContext) ddi.HRESULT {
		c := f.contextOf(arg.Context)
		if c.state != fakeFinished && c.state != fakeAbandoned || len(c.locals) != 0 {
			f.wrong("RecycleCreateDeferredContext in state %d with %d open handles", c.state, len(c.locals))
		}
		if p := arg.Context.Root.Private; !bytes.Equal(p, c.memory) || len(p) > 0 && &p[0] != &c.arg.Context.Root.Private[0] {
			f.wrong("RecycleCreateDeferredContext: the context's memory has changed")
		}
		if hr := f.logCall(c, t, "RecycleCreateDeferredContext"); hr != ddi.OK {
			return hr
		}
		c.clear()
		return ddi.OK
	}
	f.fillLists(d)
}

func (f *fakeDriver) contextOf(h umddi.HDevice) *fakeContext {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := f.native.contexts[h.Root]
	if c == nil {
		f.violation("a deferred context is not alive")
	}
	return c
}

// list returns the list of a handle, which must be in one of the given states.
func (f *fakeDriver) list(h umddi.HCommandList, name string, lives ...int) *fakeList {
	f.mu.Lock()
	defer f.mu.Unlock()
	l := f.native.lists[h.Object]
	if l == nil {
		f.violation("%s of a list that is not alive", name)
		return &fakeList{state: fakeDead}
	}
	if !slices.Contains(lives, l.state) {
		f.violation("%s of a list in state %d", name, l.state)
	}
	return l
}

// make ends the list of a context and attaches it to a handle.
func (c *fakeContext) make(l *fakeList, name string) {
	if c.state != fakeRecording || len(c.mapped) != 0 || len(c.begun) != 0 {
		c.f.wrong("%s in state %d with %d mapped and %d begun", name, c.state, len(c.mapped), len(c.begun))
	}
	l.ops, l.context, l.state, l.contents = c.ops, c, fakeValid, c.maps
	c.ops = nil
	c.state = fakeFinished
}

func (f *fakeDriver) fillLists(d *umddi.DeviceFuncs) {
	n := &f.native
	d.CalcPrivateCommandListSize = func(t *ddi.Thread, _ umddi.HDevice, arg *umddi.CreateCommandList) int {
		f.logCall(f.contextOf(arg.DeferredContext), t, "CalcPrivateCommandListSize")
		return n.listSize
	}
	d.CreateCommandList = func(t *ddi.Thread, _ umddi.HDevice, arg *umddi.CreateCommandList, h umddi.HCommandList, _ umddi.HRTCommandList) {
		c := f.contextOf(arg.DeferredContext)
		if hr := f.logCall(c, t, "CreateCommandList"); hr != ddi.OK {
			f.reportTo(t, f.arg.RTCoreLayer, hr)
			return
		}
		if want := bytes.Repeat([]byte{privateFill}, fakeListPrivate); !bytes.Equal(h.Private, want) {
			f.wrong("a list with memory %x", h.Private)
		}
		l := &fakeList{}
		c.make(l, "CreateCommandList")
		f.mu.Lock()
		defer f.mu.Unlock()
		if n.lists[h.Object] != nil {
			f.violation("CreateCommandList of a live handle")
		}
		n.lists[h.Object] = l
	}
	d.RecycleCreateCommandList = func(t *ddi.Thread, _ umddi.HDevice, arg *umddi.CreateCommandList, h umddi.HCommandList, _ umddi.HRTCommandList) ddi.HRESULT {
		c := f.contextOf(arg.DeferredContext)
		l := f.list(h, "RecycleCreateCommandList", fakeCached)
		if l.context != c || !bytes.Equal(l.content, h.Private) {
			f.wrong("RecycleCreateCommandList of another context's list, or its memory has changed")
		}
		if hr := f.logCall(c, t, "RecycleCreateCommandList"); hr != ddi.OK {
			return hr
		}
		c.make(l, "RecycleCreateCommandList")
		return ddi.OK
	}
	d.DestroyCommandList = func(t *ddi.Thread, _ umddi.HDevice, h umddi.HCommandList) {
		f.logCall(nil, t, "DestroyCommandList")
		l := f.list(h, "DestroyCommandList", fakeValid, fakeRetired, fakeCached)
		f.mu.Lock()
		defer f.mu.Unlock()
		l.state = fakeDead
		delete(n.lists, h.Object)
	}
	d.RecycleDestroyCommandList = func(t *ddi.Thread, _ umddi.HDevice, h umddi.HCommandList) {
		f.logCall(nil, t, "RecycleDestroyCommandList")
		l := f.list(h, "RecycleDestroyCommandList", fakeValid)
		l.state = fakeRetired
		l.ops = nil
		for i := range h.Private {
			h.Private[i] += 7
		}
		l.content = bytes.Clone(h.Private)
	}
	d.CommandListExecute = func(t *ddi.Thread, _ umddi.HDevice, h umddi.HCommandList) {
		if hr := f.logCall(nil, t, "CommandListExecute"); hr != ddi.OK {
			f.reportTo(t, f.arg.RTCoreLayer, hr)
			return
		}
		f.run(t, f.list(h, "CommandListExecute", fakeValid))
	}
}

// run executes a list on the immediate context.
func (f *fakeDriver) run(t *ddi.Thread, l *fakeList) {
	f.state = fakeState{}
	for _, op := range l.ops {
		op(t)
	}
	f.state = fakeState{}
}

// fillPredicates adds predication to the device: the predicates of the fake GPU
// have the results in f.results.
func (f *fakeDriver) fillPredicates(d *umddi.DeviceFuncs) {
	d.SetPredication = func(t *ddi.Thread, _ umddi.HDevice, q umddi.HQuery, value bool) {
		f.enter(t, "SetPredication")
		f.state.Predicate = [2]uint32{id(q.Object), 0}
		if value {
			f.state.Predicate[1] = 1
		}
	}
}

// skips reports whether predication skips commands of the immediate context.
func (f *fakeDriver) skips() bool {
	p := f.state.Predicate
	return p[0] != 0 && f.results[p[0]] == (p[1] == 1)
}
