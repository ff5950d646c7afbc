package umd

import (
	"bytes"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/dxgi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// model is a resource with its expected content, rows without padding.
type model struct {
	res  umddi.HResource
	arg  *umddi.CreateResource
	subs [][]byte
	view umddi.HRenderTargetView
	uses int // number of uses in lists
}

func (m *model) size(sub int) (w, h int) {
	s := m.arg.MipInfoList[uint32(sub)%m.arg.MipLevels]
	return int(s.TexelWidth), int(s.TexelHeight)
}

func (m *model) texture() bool { return m.arg.ResourceDimension == umddi.Texture2D }

// machine applies random operations to a device and to the models: directly, or
// in lists, whose effects on the models are applied when they execute.
type machine struct {
	*rig
	t    *rapid.T
	all  []*model
	skip bool // predication skips work

	predicate umddi.HQuery // a query with the result FALSE
	c         *recorder
	pending   effects
	mapped    map[*model][]byte // contents of the last discard in pending
	lists     []*modelList
}

// effects are the changes of a list to models, and the models that it uses.
type effects struct {
	do   []func()
	used []*model
}

type modelList struct {
	effects
	h    umddi.HCommandList
	maps bool
}

// opContext is a context that receives operations.
type opContext struct {
	f        *umddi.DeviceFuncs
	h        umddi.HDevice
	deferred bool
	res      func(x *model) umddi.HResource
	view     func(x *model) umddi.HRenderTargetView
}

// opContext draws the context for an operation.
func (m *machine) opContext() opContext {
	if m.below("deferred", 2) == 0 {
		return opContext{&m.f, m.h, false, func(x *model) umddi.HResource { return x.res },
			func(x *model) umddi.HRenderTargetView { return x.view }}
	}
	return opContext{&m.c.f, m.c.h, true, func(x *model) umddi.HResource { return m.c.res(x.res) },
		func(x *model) umddi.HRenderTargetView { return m.c.target(x.view, x.res) }}
}

// effect applies or records the effect of an operation on models.
func (m *machine) effect(on opContext, do func(), used ...*model) {
	if !on.deferred {
		do()
		return
	}
	for _, x := range used {
		x.uses++
	}
	m.pending.do = append(m.pending.do, do)
	m.pending.used = append(m.pending.used, used...)
}

// work is effect for operations subject to predication.
func (m *machine) work(on opContext, do func(), used ...*model) {
	m.effect(on, func() {
		if !m.skip {
			do()
		}
	}, used...)
}

func (m *machine) pick(name string, want func(x *model) bool) *model {
	var fit []*model
	for _, x := range m.all {
		if want(x) {
			fit = append(fit, x)
		}
	}
	if len(fit) == 0 {
		m.t.Skip("no such resource")
	}
	return fit[rapid.IntRange(0, len(fit)-1).Draw(m.t, name)]
}

func (m *machine) usage(u umddi.Usage) func(x *model) bool {
	return func(x *model) bool { return x.arg.Usage == u }
}

func (m *machine) any(*model) bool { return true }

func (m *machine) below(name string, n int) int { return rapid.IntRange(0, n-1).Draw(m.t, name) }

func (m *machine) bytes(n int) []byte { return seq(m.below("first byte", 256), n) }

func (m *machine) create(*rapid.T) {
	if len(m.all) == 12 {
		m.t.Skip("enough resources")
	}
	u := rapid.SampledFrom([]umddi.Usage{umddi.UsageDefault, umddi.UsageDefault, umddi.UsageDynamic, umddi.UsageStaging}).Draw(m.t, "usage")
	var arg *umddi.CreateResource
	switch m.below("kind", 3) {
	case 0:
		arg = buf(uint32(rapid.SampledFrom([]int{16, 700}).Draw(m.t, "bytes")), u)
	case 1:
		arg = tex(5, 6, dxgi.R8G8B8A8UInt, u, 0)
	case 2:
		arg = tex(8, 4, dxgi.R8G8B8A8UInt, u, 0)
		if u != umddi.UsageDynamic {
			arg = mips(arg, 2)
		}
	}
	if u == umddi.UsageDefault && arg.ResourceDimension == umddi.Texture2D {
		arg.BindFlags = umddi.BindRenderTarget
	}
	x := &model{arg: arg}
	for i := range int(arg.MipLevels * arg.ArraySize) {
		w, h := x.size(i)
		data := m.bytes(w * h * elementBytes(arg))
		x.subs = append(x.subs, data)
		arg.InitialDataUP = append(arg.InitialDataUP, umddi.SubresourceUP{SysMem: data, RowPitch: uint32(w * elementBytes(arg))})
	}
	x.res = m.rig.create(arg)
	arg.InitialDataUP = nil
	if arg.BindFlags != 0 {
		x.view = m.rig.view(x.res, arg.Format, 0, 0, 1)
	}
	m.all = append(m.all, x)
}

func (m *machine) destroy(*rapid.T) {
	x := m.pick("victim", func(x *model) bool { return x.uses == 0 && m.c.find(x.res.Object) == nil })
	m.f.DestroyResource(m.th, m.h, x.res)
	m.all = slices.DeleteFunc(m.all, func(y *model) bool { return x == y })
}

// finish creates a list of the pending operations.
func (m *machine) finish(*rapid.T) {
	l := &modelList{effects: m.pending, h: m.c.done(), maps: len(m.mapped) > 0}
	m.pending = effects{}
	clear(m.mapped)
	m.lists = append(m.lists, l)
}

func (m *machine) pickList() *modelList {
	if len(m.lists) == 0 {
		m.t.Skip("no list")
	}
	return m.lists[m.below("list", len(m.lists))]
}

// executeList executes a list on the immediate context, or records its
// execution.
func (m *machine) executeList(*rapid.T) {
	l, on := m.pickList(), m.opContext()
	all := func() {
		m.skip = false
		for _, do := range l.do {
			do()
		}
		m.skip = false
	}
	if !on.deferred {
		m.rig.execute(l.h)
		all()
		return
	}
	if len(m.pending.used)+len(l.used) > 200 {
		m.t.Skip("lists in lists in lists")
	}
	m.c.execute(l.h)
	m.effect(on, all, l.used...)
	if l.maps {
		clear(m.mapped)
		m.mapped[nil] = []byte{}
	}
}

// release retires a list, or destroys it.
func (m *machine) release(*rapid.T) {
	l := m.pickList()
	if m.c.find(l.h.Object) != nil {
		m.t.Skip("open on the context")
	}
	m.lists = slices.DeleteFunc(m.lists, func(x *modelList) bool { return x == l })
	m.drop(l.effects)
	if m.below("recycled", 4) > 0 {
		m.c.release(l.h)
	} else {
		m.f.DestroyCommandList(m.th, m.h, l.h)
	}
}

func (m *machine) abandon(*rapid.T) {
	m.c.abandon()
	m.drop(m.pending)
	m.pending = effects{}
	clear(m.mapped)
}

func (m *machine) drop(e effects) {
	for _, x := range e.used {
		x.uses--
	}
}

func (m *machine) check(*rapid.T) {
	require.Empty(m, m.c.errors())
}

// Random operations, direct and in lists, have the same effect on each resource
// as on plain memory, whatever the sizes of the kernel's buffers.
func TestRandomOperations(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		k := newKernel(rt)
		k.cmdBytes = rapid.IntRange(96, 600).Draw(rt, "command bytes")
		k.nAllocs = rapid.IntRange(3, 6).Draw(rt, "allocations")
		k.nPatches = rapid.IntRange(3, 12).Draw(rt, "patch locations")
		k.info.LengthBits = rapid.Uint32Range(9, 12).Draw(rt, "length bits")
		h := newHeap(rt)
		r := openRigWith(k, Options{Memory: h})
		require.Equal(rt, ddi.OK, r.createDevice())
		m := &machine{rig: r, t: rt, predicate: r.queryOf(umddi.QueryOcclusionPredicate), c: r.recorder(), mapped: map[*model][]byte{}}
		rt.Repeat(map[string]func(*rapid.T){
			"create": m.create, "destroy": m.destroy, "update": m.update, "copy": m.copyAll, "region": m.copyRegion,
			"region again": m.copyRegion, "clear": m.clear, "discard": m.discard, "map": m.mapStaging, "event": m.event,
			"flush": func(*rapid.T) { m.flush() }, "run": func(*rapid.T) { m.rig.run(1) }, "": m.check,
			"predication": m.predication, "no overwrite": m.noOverwrite, "finish": m.finish, "execute": m.executeList,
			"execute again": m.executeList, "release": m.release, "abandon": m.abandon,
		})
		m.f.SetPredication(m.th, m.h, umddi.HQuery{}, false)
		for i, x := range m.all {
			for sub, want := range x.subs {
				require.True(m, bytes.Equal(want, m.read(x.res, x.arg, uint32(sub))), "resource %d, subresource %d", i, sub)
			}
		}
		m.c.destroy()
		for _, l := range m.lists {
			m.f.DestroyCommandList(m.th, m.h, l.h)
		}
		require.Empty(m, h.live, "memory left")
		m.f.DestroyDevice(m.th, m.h)
		require.Empty(m, m.handles, "allocations left")
		require.Empty(m, m.c.errors())
	})
}
