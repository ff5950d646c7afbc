package verifier

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/dxgi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// bindings is the pipeline state of a context as set by the Set functions.
type bindings struct {
	topology  umddi.Topology
	vertex    [umddi.MaxVertexBuffers]slot
	index     [1]slot
	constants [6][umddi.MaxConstantBuffers]slot
	targets   [umddi.MaxRenderTargets]slot
	viewports []umddi.Viewport
	scissors  []umddi.Rect
	predicate *ddi.Object
}

// stages are the prefixes of the functions of shader stages.
var stages = []string{"Vs", "Hs", "Ds", "Gs", "Ps", "Cs"}

// refreshed maps each state-refresh callback to the function that it calls.
var refreshed = makeRefreshed()

func makeRefreshed() map[string]string {
	m := map[string]string{
		"pfnStateIaPrimitiveTopologyCb": "pfnIaSetTopology", "pfnStateIaVertexBufCb": "pfnIaSetVertexBuffers",
		"pfnStateIaIndexBufCb": "pfnIaSetIndexBuffer", "pfnStateOmRenderTargetsCb": "pfnSetRenderTargets",
		"pfnStateRsViewportsCb": "pfnSetViewports", "pfnStateRsScissorCb": "pfnSetScissorRects",
	}
	for _, s := range stages {
		m["pfnState"+s+"ConstBufCb"] = "pfn" + s + "SetConstantBuffers"
	}
	return m
}

// slots returns the slots that a Set function sets, or nil.
func (b *bindings) slots(function string) []slot {
	switch function {
	case "pfnIaSetVertexBuffers":
		return b.vertex[:]
	case "pfnIaSetIndexBuffer":
		return b.index[:]
	case "pfnSetRenderTargets":
		return b.targets[:]
	}
	if i := slices.Index(stages, strings.TrimPrefix(strings.TrimSuffix(function, "SetConstantBuffers"), "pfn")); i >= 0 {
		return b.constants[i][:]
	}
	return nil
}

// handles calls yield with each bound handle, until it returns false.
func (b *bindings) handles(yield func(*ddi.Object) bool) {
	all := [][]slot{b.vertex[:], b.index[:], b.targets[:], {{h: b.predicate}}}
	for i := range b.constants {
		all = append(all, b.constants[i][:])
	}
	for _, slots := range all {
		for _, s := range slots {
			if s.h != nil && !yield(s.h) {
				return
			}
		}
	}
}

// A change is the new state in a Set function: slots from base on, or other
// state.
type change struct {
	base      int
	slots     []slot
	whole     bool // slots beyond these become empty
	topology  umddi.Topology
	viewports []umddi.Viewport
	scissors  []umddi.Rect
}

// changeOf returns the change that the Set function of fr makes.
func changeOf(fr *frame) change {
	a := fr.args
	switch fr.f.Name {
	case "pfnIaSetTopology":
		return change{topology: a[1].(umddi.Topology)}
	case "pfnSetViewports":
		return change{viewports: a[1].([]umddi.Viewport)}
	case "pfnSetScissorRects":
		return change{scissors: a[1].([]umddi.Rect)}
	case "pfnIaSetIndexBuffer":
		return change{slots: []slot{{h: a[1].(umddi.HResource).Object, format: a[2].(dxgi.Format), offset: a[3].(uint32)}}}
	case "pfnSetRenderTargets":
		c := change{whole: true}
		for _, v := range a[1].([]umddi.HRenderTargetView) {
			c.slots = append(c.slots, slot{h: v.Object})
		}
		return c
	}
	c := change{base: int(a[1].(uint32))}
	for _, b := range a[2].([]umddi.HResource) {
		c.slots = append(c.slots, slot{h: b.Object})
	}
	if fr.f.Name == "pfnIaSetVertexBuffers" {
		for i := range c.slots {
			c.slots[i].stride, c.slots[i].offset = a[3].([]uint32)[i], a[4].([]uint32)[i]
		}
	}
	return c
}

// unbinds reports whether fr is a Set function that binds nothing new.
// SetRenderTargets sets all slots and may leave bound views in place.
func unbinds(fr *frame) bool {
	if fr.f.Name == "pfnSetPredication" {
		return fr.args[1].(umddi.HQuery).Object == nil
	}
	if !strings.Contains(fr.f.Name, "Set") {
		return false
	}
	c := changeOf(fr)
	for i, s := range c.slots {
		stays := c.whole && i < len(fr.ctx.bound.targets) && fr.ctx.bound.targets[i] == s
		if s.h != nil && !stays {
			return false
		}
	}
	return c.topology == 0 && len(c.viewports) == 0 && len(c.scissors) == 0
}

// set checks the handles of a Set function. It binds them, so that a refresh in
// the function shows the new state; in a refresh it compares them with the
// bound state instead.
func (k *Checker) set(fr *frame) {
	kind := umddi.HandleResource
	if fr.f.Name == "pfnSetRenderTargets" {
		kind = umddi.HandleRenderTargetView
	}
	ch := changeOf(fr)
	for _, s := range ch.slots {
		k.useOptional(fr, s.h, kind)
	}
	if fr.inRefresh {
		k.compare(fr, ch)
		return
	}
	b := &fr.ctx.bound
	switch fr.f.Name {
	case "pfnIaSetTopology":
		b.topology = ch.topology
	case "pfnSetViewports":
		b.viewports = slices.Clone(ch.viewports)
	case "pfnSetScissorRects":
		b.scissors = slices.Clone(ch.scissors)
	default:
		all := b.slots(fr.f.Name)
		if ch.whole {
			clear(all)
		}
		if ch.base < len(all) {
			copy(all[ch.base:], ch.slots)
		}
	}
}

// A refresh is a running state-refresh callback.
type refresh struct {
	function    string // Set function that it must call
	base, limit int    // requested slots, [base, limit)
	all         bool   // up to the highest slot in use
	shown       [umddi.MaxVertexBuffers]bool
	called      bool
	refused     bool // the driver may not ask, so the runtime need not answer
}

// checkPlace checks that a callback is for the context of the running driver
// function and on its thread. A context has state from the return of its Create
// function on. Check functions only answer.
func (k *Checker) checkPlace(fr *frame) bool {
	in := fr.outer.f.Name
	switch {
	case fr.ctx == nil:
		k.fail(fr, "refresh-place", "in %s, the core layer does not exist", in)
	case !fr.outer.holding(fr.ctx):
		k.fail(fr, "refresh-place", "in %s, which is not on the thread of %v", in, fr.ctx)
	case in == "pfnCreateDevice" || in == "pfnCreateDeferredContext":
		k.fail(fr, "refresh-place", "in %s, which creates %v", in, fr.ctx)
	case strings.HasPrefix(in, "pfnCheck"):
		k.fail(fr, "refresh-place", "in %s, which may not use the state of %v", in, fr.ctx)
	default:
		return true
	}
	return false
}

// beginRefresh checks the entry of a state-refresh callback.
func (k *Checker) beginRefresh(fr *frame) {
	r := &refresh{function: refreshed[fr.f.Name]}
	fr.refresh = r
	if r.refused = !k.checkPlace(fr); r.refused {
		return
	}
	if fr.ctx.submitted {
		k.fail(fr, "refresh-amortized", "%v has submitted since pfnPerformAmortizedProcessingCb", fr.ctx)
	}
	r.limit = len(fr.ctx.bound.slots(r.function))
	if len(fr.args) < 2 {
		r.all = true
		return
	}
	arg := fr.args[1].(umddi.Range)
	r.base, r.all = arg.Base, arg.Count == -1
	if arg.Base < 0 || arg.Count < -1 || arg.Base >= r.limit || arg.Count > r.limit-arg.Base {
		k.fail(fr, "refresh-range", "base %d, count %d of %d slots", arg.Base, arg.Count, r.limit)
		r.refused = true
	} else if !r.all {
		r.limit = arg.Base + arg.Count
	}
}

// compare compares a Set function in a refresh with the bound state.
func (k *Checker) compare(fr *frame, ch change) {
	outer := fr.th.frames[len(fr.th.frames)-2]
	r, b := outer.refresh, &fr.ctx.bound
	if r == nil || r.refused || r.function != fr.f.Name {
		return
	}
	r.called = true
	stale := func(got, want any) {
		k.fail(fr, "refresh-stale", "%v in %s, want %v", got, outer.f.Name, want)
	}
	switch fr.f.Name {
	case "pfnIaSetTopology":
		if ch.topology != b.topology {
			stale(ch.topology, b.topology)
		}
	case "pfnSetViewports":
		if !slices.EqualFunc(ch.viewports, b.viewports, sameViewport) {
			stale(ch.viewports, b.viewports)
		}
	case "pfnSetScissorRects":
		if !slices.Equal(ch.scissors, b.scissors) {
			stale(ch.scissors, b.scissors)
		}
	default:
		k.compareSlots(fr, outer, ch)
	}
}

// compareSlots is compare for slots.
func (k *Checker) compareSlots(fr, outer *frame, ch change) {
	r, all := outer.refresh, fr.ctx.bound.slots(fr.f.Name)
	if ch.whole {
		for i := range all {
			r.shown[i] = true
		}
		for len(ch.slots) < len(all) {
			ch.slots = append(ch.slots, slot{})
		}
	}
	for i, s := range ch.slots {
		at := ch.base + i
		switch {
		case at < r.base || at >= len(all) || !r.all && at >= r.limit:
			k.fail(fr, "refresh-stale", "slot %d in %s, want slots %d to %d", at, outer.f.Name, r.base, r.limit-1)
			return
		case s != all[at]:
			k.fail(fr, "refresh-stale", "slot %d has %s in %s, want %s", at, k.name(s), outer.f.Name, k.name(all[at]))
			return
		}
		r.shown[at] = true
	}
}

// name describes the content of a slot.
func (k *Checker) name(s slot) string {
	if s.h == nil {
		return "none"
	}
	o := k.objects[s.h]
	if o == nil {
		return "a handle that was never created"
	}
	if s.stride|s.offset|uint32(s.format) == 0 {
		return o.String()
	}
	return fmt.Sprintf("%v, stride %d, offset %d, format %d", o, s.stride, s.offset, s.format)
}

// sameViewport compares bits, so that a NaN equals itself.
func sameViewport(a, b umddi.Viewport) bool {
	bits := func(v umddi.Viewport) [6]uint32 {
		f := math.Float32bits
		return [6]uint32{f(v.TopLeftX), f(v.TopLeftY), f(v.Width), f(v.Height), f(v.MinDepth), f(v.MaxDepth)}
	}
	return bits(a) == bits(b)
}

// endRefresh checks that a refresh has shown all that was requested.
func (k *Checker) endRefresh(fr *frame) {
	r, c := fr.refresh, fr.ctx
	if r.refused || c.state >= failed || len(fr.outer.errors) > 0 {
		return
	}
	b := &c.bound
	if all := b.slots(r.function); all != nil {
		for i := r.base; i < r.limit; i++ {
			if !r.shown[i] && (all[i] != slot{} || !r.all) {
				k.fail(fr, "refresh-stale", "slot %d was not set, want %s", i, k.name(all[i]))
				return
			}
		}
		return
	}
	set := map[string]bool{
		"pfnIaSetTopology": b.topology != 0, "pfnSetViewports": len(b.viewports) > 0, "pfnSetScissorRects": len(b.scissors) > 0,
	}[r.function]
	if set && !r.called {
		k.fail(fr, "refresh-stale", "%s was not called", r.function)
	}
}
