package suite

import (
	"slices"

	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/d3d11"
	"github.com/hilgpu/hilgpu/runtime/ddi/dxgi"
)

// A list is a command list, its steps, and the resources that it maps.
type list struct {
	api   *d3d11.CommandList
	steps []step
	maps  map[*tracked]bool
}

// A deferredContext is a deferred context and the steps recorded on it.
type deferredContext struct {
	ctx     *d3d11.Context
	steps   []step
	maps    map[*tracked]bool
	current map[*tracked][]byte // contents that a NO_OVERWRITE map extends
}

// record records one operation.
func (m *machine) record() {
	d := m.ctxs[m.int(len(m.ctxs))]
	switch n := m.int(10); {
	case n < 2:
		m.recordMap(d)
	case n == 2 && len(m.lists) > 0:
		l := m.lists[m.int(len(m.lists))]
		if len(l.steps) > 200 {
			return
		}
		d.ctx.ExecuteCommandList(l.api, m.int(2) == 0)
		d.steps = append(d.steps, l.steps...)
		for x := range l.maps {
			d.maps[x] = true
			delete(d.current, x)
		}
	default:
		if s := m.work(d.ctx); s != nil {
			d.steps = append(d.steps, s)
			clear(d.current)
		}
	}
}

func (m *machine) recordMap(d *deferredContext) {
	x := m.pick(withUsage(d3d11.UsageDynamic))
	if x == nil {
		return
	}
	var out d3d11.MappedSubresource
	if p, ok := d.current[x]; ok && x.format == dxgi.Unknown {
		require.NoError(m.t, d.ctx.Map(x.res, 0, d3d11.MapWriteNoOverwrite, 0, &out), "Map(NO_OVERWRITE) succeeds after a discard in the same list")
		m.same(p, out.Data, "NO_OVERWRITE returns the contents of the discard")
		x0, _, x1, _ := m.rect(x.w, 1)
		copy(p[x0:x1], m.randomBytes(x1-x0)) // p also belongs to the step of the discard
		copy(out.Data, p)
	} else {
		require.NoError(m.t, d.ctx.Map(x.res, 0, d3d11.MapWriteDiscard, 0, &out), "Map(DISCARD) succeeds on a deferred context")
		p := m.randomBytes(x.w * x.h * x.bytes)
		for y := range x.h {
			copy(out.Data[y*int(out.RowPitch):], p[y*x.w*x.bytes:][:x.w*x.bytes])
		}
		d.current[x], d.maps[x] = p, true
		d.steps = append(d.steps, func() { x.subs[0], x.used = slices.Clone(p), true })
	}
	d.ctx.Unmap(x.res, 0)
}

func (m *machine) finishList() {
	d := m.ctxs[m.int(len(m.ctxs))]
	m.lists = append(m.lists, &list{m.finish(d.ctx, m.int(2) == 0), d.steps, d.maps})
	d.steps, d.maps = nil, map[*tracked]bool{}
	clear(d.current)
	if len(m.lists) > 5 {
		m.lists[0].api.Release()
		m.lists = m.lists[1:]
	}
}

func (m *machine) execute() {
	if len(m.lists) == 0 {
		return
	}
	l := m.lists[m.int(len(m.lists))]
	m.ctx.ExecuteCommandList(l.api, m.int(2) == 0)
	for _, s := range l.steps {
		s()
	}
}
