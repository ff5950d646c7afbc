package model_test

import (
	"math/rand/v2"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hilgpu/hilgpu/runtime/d3d11"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/testbench"
	"github.com/hilgpu/hilgpu/testbench/model"
)

// Each object of the API is paired with its model. Released objects are kept for a
// while, to be misused.
type (
	resource struct {
		*model.Resource
		api d3d11.Resource
	}
	view struct {
		*model.View
		api *d3d11.RenderTargetView
	}
	query struct {
		*model.Query
		api *d3d11.Query
	}
	list struct {
		*model.List
		api *d3d11.CommandList
	}
	context struct {
		*model.Context
		api *d3d11.Context
	}
)

// machine performs the same calls on a device and on the model.
type machine struct {
	sys *testbench.System
	dev *d3d11.Device

	model     *model.Device
	immediate context
	contexts  []context // deferred contexts
	last      context   // context of the previous call
	stay      int       // number of further calls on last
	resources []resource
	views     []view
	queries   []query
	lists     []list

	buffers map[*d3d11.Buffer]*model.Resource
	targets map[*d3d11.RenderTargetView]*model.View
	known   map[*d3d11.Query]*model.Query
	stamps  []stamp
}

// A stamp is the result of a timestamp query.
type stamp struct {
	order int
	ticks uint64
}

// Limits of the number of objects of each kind, including released ones.
const (
	maxResources = 14
	maxQueries   = 8
	maxLists     = 6
	maxContexts  = 4
	maxSteps     = 150 // commands of a list that is executed in another one
)

// pick returns a random element, and false if there is none.
func pick[T any](t *rapid.T, what string, all []T) (x T, ok bool) {
	if len(all) == 0 {
		return x, false
	}
	return all[index(t, what, len(all))], true
}

// index returns a number in [0, n), uniformly distributed.
func index(t *rapid.T, what string, n int) int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return rapid.SampledFrom(all).Draw(t, what)
}

// chance returns true with probability 1/n.
func chance(t *rapid.T, what string, n int) bool { return index(t, what, n) == n-1 }

// below returns a number in [0, n), more often a small one.
func below(t *rapid.T, what string, n int) int { return rapid.IntRange(0, n-1).Draw(t, what) }

// fresh returns n bytes that depend on a single draw.
func fresh(t *rapid.T, n int) []byte {
	r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "bytes"), 0))
	p := make([]byte, n)
	for i := range p {
		p[i] = byte(r.Uint32())
	}
	return p
}

// result compares the API's result with the model's.
func result(t *rapid.T, want ddi.HRESULT, got error, what string) {
	if want == ddi.OK {
		require.NoError(t, got, what)
		return
	}
	if want == ddi.False {
		require.Equal(t, error(want), got, what)
		return
	}
	var e *d3d11.Error
	require.ErrorAs(t, got, &e, what)
	require.Equal(t, want, e.HRESULT, what)
}

// context returns any context, often the previous one, so that calls interact, and
// often the immediate one.
func (m *machine) context(t *rapid.T) context {
	m.stay--
	switch {
	case m.last.api != nil && (m.stay >= 0 || chance(t, "same", 2)):
	case len(m.contexts) == 0 || chance(t, "immediate", 3):
		m.last = m.immediate
	default:
		m.last = m.contexts[index(t, "context", len(m.contexts))]
	}
	return m.last
}

// busy returns a resource, preferably one that the context has discarded.
func (m *machine) busy(t *rapid.T, c context) resource {
	var some []resource
	for _, r := range m.resources {
		if c.Discarded(r.Resource) {
			some = append(some, r)
		}
	}
	if r, ok := pick(t, "discarded", some); ok && chance(t, "rather", 2) {
		return r
	}
	return m.resource(t)
}

// deferred returns a deferred context, and false if there is none.
func (m *machine) deferred(t *rapid.T) (context, bool) { return pick(t, "context", m.contexts) }

// resource returns any resource, or NULL.
func (m *machine) resource(t *rapid.T) resource {
	var some []resource
	stale := chance(t, "stale", 10)
	for _, r := range m.resources {
		if stale || r.Alive() {
			some = append(some, r)
		}
	}
	r, ok := pick(t, "resource", some)
	if !ok || chance(t, "null", 20) {
		return resource{}
	}
	return r
}

// partner returns a resource that can usually be copied to or from r.
func (m *machine) partner(t *rapid.T, r resource) resource {
	var some []resource
	for _, x := range m.resources {
		if r.Resource != nil && x.Resource != r.Resource && x.Family == r.Family && x.Width == r.Width && x.Mips == r.Mips {
			some = append(some, x)
		}
	}
	if x, ok := pick(t, "partner", some); ok && !chance(t, "any", 6) {
		return x
	}
	return m.resource(t)
}

// box returns a box in a subresource, sometimes one that exceeds it or is empty;
// nil means the entire subresource.
func box(t *rapid.T, r *model.Resource, sub int) *d3d11.Box {
	if r == nil || sub >= r.Mips*r.Layers || chance(t, "whole", 3) {
		return nil
	}
	w, h := r.Size(sub)
	unit := max(1, r.Stride)
	x0, y0 := below(t, "left", w/unit)*unit, below(t, "top", h)
	b := &d3d11.Box{Left: uint32(x0), Top: uint32(y0), Back: 1}
	b.Right = b.Left + uint32(unit*(1+below(t, "width", (w-x0)/unit)))
	b.Bottom = b.Top + uint32(1+below(t, "height", h-y0))
	switch rapid.SampledFrom([]int{0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3}).Draw(t, "bad box") {
	case 1:
		b.Right = uint32(w) + 1
	case 2:
		b.Bottom = b.Top
	case 3:
		b.Back = 2
	}
	return b
}

// subresource returns a subresource of r, rarely an invalid one.
func subresource(t *rapid.T, r *model.Resource) int {
	if r == nil {
		return 0
	}
	n := r.Mips * r.Layers
	if chance(t, "no such", 25) {
		return n
	}
	return below(t, "subresource", n)
}
