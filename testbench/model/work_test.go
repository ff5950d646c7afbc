package model_test

import (
	"errors"
	"slices"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hilgpu/hilgpu/runtime/d3d11"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/testbench/model"
)

func (m *machine) copyResource(t *rapid.T) {
	c := m.context(t)
	dst := m.busy(t, c)
	src := m.partner(t, dst)
	c.CopyResource(dst.Resource, src.Resource)
	c.api.CopyResource(dst.api, src.api)
}

func (m *machine) copyRegion(t *rapid.T) {
	c := m.context(t)
	dst := m.busy(t, c)
	src := m.partner(t, dst)
	ds, ss := subresource(t, dst.Resource), subresource(t, src.Resource)
	b := box(t, src.Resource, ss)
	x, y := rapid.SampledFrom([]int{0, 0, 0, 1, 2, 16, 32}).Draw(t, "x"), rapid.SampledFrom([]int{0, 0, 1}).Draw(t, "y")
	c.CopyRegion(dst.Resource, ds, x, y, src.Resource, ss, b)
	c.api.CopySubresourceRegion(dst.api, uint32(ds), uint32(x), uint32(y), 0, src.api, uint32(ss), b)
}

func (m *machine) update(t *rapid.T) {
	c, dst := m.context(t), m.resource(t)
	sub := subresource(t, dst.Resource)
	b := box(t, dst.Resource, sub)
	row, rows := 64, 1
	if dst.Resource != nil && sub < dst.Mips*dst.Layers {
		w, h := dst.Size(sub)
		row, rows = w*dst.Bytes, h
	}
	pitch := row + below(t, "padding", 5)
	data := fresh(t, pitch*rows)
	if chance(t, "too little", 15) {
		data = data[:len(data)/2]
	}
	c.Update(dst.Resource, sub, b, data, pitch)
	c.api.UpdateSubresource(dst.api, uint32(sub), b, data, uint32(pitch), 0)
	clear(data) // it has been copied
}

func (m *machine) clearTarget(t *rapid.T) {
	v, _ := pick(t, "view", m.views)
	c := m.context(t)
	var color [4]float32
	for i, b := range fresh(t, 4) {
		color[i] = float32(b) / 255
	}
	c.ClearTarget(v.View, color)
	c.api.ClearRenderTargetView(v.api, color)
}

// mapTypes lists the legal map types of each usage, and some illegal ones.
var mapTypes = map[d3d11.Usage][]d3d11.MapType{
	d3d11.UsageStaging: {d3d11.MapRead, d3d11.MapWrite, d3d11.MapReadWrite},
	d3d11.UsageDynamic: {d3d11.MapWriteDiscard, d3d11.MapWriteNoOverwrite, d3d11.MapWriteNoOverwrite},
}

// mappable returns a resource to map, usually one that the context can map.
func (m *machine) mappable(t *rapid.T, c context) resource {
	var some []resource
	for _, r := range m.resources {
		if r.Alive() && (r.Usage == d3d11.UsageDynamic || r.Usage == d3d11.UsageStaging && !c.Deferred) {
			some = append(some, r)
		}
	}
	if r, ok := pick(t, "mappable", some); ok && chance(t, "sensible", 2) {
		return r
	}
	return m.busy(t, c)
}

// mapping maps a resource, usually legally, compares the contents, and writes.
func (m *machine) mapping(t *rapid.T) {
	c := m.context(t)
	r := m.mappable(t, c)
	if c.Deferred && c.Refs == 0 || r.Resource == nil {
		return
	}
	types := mapTypes[r.Usage]
	if types == nil || chance(t, "any type", 8) {
		types = []d3d11.MapType{0, 1, 2, 3, 4, 5, 6}
	}
	typ := rapid.SampledFrom(types).Draw(t, "map type")
	sub, flags := subresource(t, r.Resource), d3d11.MapFlags(0)
	if chance(t, "do not wait", 6) {
		flags = d3d11.MapDoNotWait
	}
	out := d3d11.MappedSubresource{Data: []byte{1}, RowPitch: 0xabc, DepthPitch: 0xdef}
	want := c.Map(r.Resource, sub, typ, flags)
	err := c.api.Map(r.api, uint32(sub), typ, flags, &out)
	for range 100_000 {
		if !errors.Is(err, ddi.DXGIStillDrawing) || flags == 0 {
			break
		}
		m.immediate.api.Flush()
		err = c.api.Map(r.api, uint32(sub), typ, flags, &out)
	}
	result(t, want, err, "Map")
	if want != ddi.OK {
		require.Nil(t, out.Data)
		require.Equal(t, []uint32{0xabc, 0xdef}, []uint32{out.RowPitch, out.DepthPitch})
		return
	}
	m.stay = 2
	m.access(t, c, r, sub, typ, &out)
	if !chance(t, "stays mapped", 4) {
		c.Unmap(r.Resource, sub)
		c.api.Unmap(r.api, uint32(sub))
	}
}

// access reads and writes mapped memory.
func (m *machine) access(t *rapid.T, c context, r resource, sub int, typ d3d11.MapType, out *d3d11.MappedSubresource) {
	w, h := r.Size(sub)
	row, mem := w*r.Bytes, c.Memory(r.Resource, sub)
	if r.Family == 0 {
		require.Equal(t, []uint32{uint32(row), uint32(row)}, []uint32{out.RowPitch, out.DepthPitch})
	}
	reads := typ == d3d11.MapRead || typ == d3d11.MapReadWrite || typ == d3d11.MapWriteNoOverwrite && c.Deferred
	for y := range h {
		if reads {
			require.Equal(t, mem[y*row:][:row], out.Data[y*int(out.RowPitch):][:row], "row %d of the mapped memory", y)
		}
	}
	from, to := 0, len(mem)
	switch typ {
	case d3d11.MapRead:
		return
	case d3d11.MapWriteNoOverwrite:
		if !c.Writable(r.Resource) {
			return
		}
		from = below(t, "from", len(mem))
		to = from + 1 + below(t, "bytes", len(mem)-from)
	}
	copy(mem[from:to], fresh(t, to-from))
	for i := from; i < to; i++ {
		out.Data[i/row*int(out.RowPitch)+i%row] = mem[i]
	}
}

// unmap unmaps a resource that may be mapped or not.
func (m *machine) unmap(t *rapid.T) {
	c, r := m.context(t), m.resource(t)
	if r.Resource == nil {
		c.api.Unmap(nil, 0)
		return
	}
	sub := subresource(t, r.Resource)
	c.Unmap(r.Resource, sub)
	c.api.Unmap(r.api, uint32(sub))
}

// unmapAll unmaps all resources that the immediate context has mapped, so that
// lists can be executed again.
func (m *machine) unmapAll(t *rapid.T) {
	for _, r := range m.resources {
		for sub := range r.Subs {
			m.immediate.Unmap(r.Resource, sub)
			m.immediate.api.Unmap(r.api, uint32(sub))
		}
	}
}

func (m *machine) begin(t *rapid.T) {
	q, ok := pick(t, "query", m.queries)
	if c := m.context(t); ok {
		c.Begin(q.Query)
		c.api.Begin(q.api)
	} else {
		c.api.Begin(nil)
	}
}

func (m *machine) end(t *rapid.T) {
	q, ok := pick(t, "query", m.queries)
	if c := m.context(t); ok {
		c.End(q.Query)
		c.api.End(q.api)
	} else {
		c.api.End(nil)
	}
}

func (m *machine) predication(t *rapid.T) {
	c, value := m.context(t), chance(t, "value", 2)
	var some []query
	odd := chance(t, "any", 6)
	for _, q := range m.queries {
		if odd || q.Predicate() && q.Alive() {
			some = append(some, q)
		}
	}
	q, ok := pick(t, "query", some)
	if !ok || chance(t, "none", 4) {
		c.SetPredication(nil, value)
		c.api.SetPredication(nil, value)
	} else if model.SettledPredication(q.Query, value) {
		m.stay = 4
		c.SetPredication(q.Query, value)
		c.api.SetPredication(q.api, value)
	}
}

// getData reads a result with any size on any context.
func (m *machine) getData(t *rapid.T) {
	q, ok := pick(t, "query", m.queries)
	if !ok {
		return
	}
	c := m.context(t)
	n := rapid.SampledFrom([]int{q.Size(), q.Size(), q.Size(), 0, 2, q.Size() - 1, q.Size() + 1}).Draw(t, "size")
	untouched := make([]byte, n)
	for i := range untouched {
		untouched[i] = 0xcc
	}
	data := slices.Clone(untouched)
	want := c.GetData(q.Query, n)
	err := c.api.GetData(q.api, data, 0)
	for range 100_000 {
		if err != error(ddi.False) || want != ddi.OK {
			break
		}
		require.Equal(t, untouched, data)
		err = c.api.GetData(q.api, data, 0)
	}
	result(t, want, err, "GetData")
	if want != ddi.OK || n == 0 {
		require.Equal(t, untouched, data)
		return
	}
	m.compare(t, q.Query, data)
	again := make([]byte, n)
	require.NoError(t, c.api.GetData(q.api, again, d3d11.GetDataDoNotFlush))
	require.Equal(t, data, again)
}

// compare compares a query's result with the expected one.
func (m *machine) compare(t *rapid.T, q *model.Query, data []byte) {
	switch q.Type {
	case d3d11.QueryEvent:
		require.Equal(t, []byte{1, 0, 0, 0}, data)
	case d3d11.QueryTimestamp:
		at := stamp{q.Order, le.Uint64(data)}
		for _, s := range m.stamps {
			require.Equal(t, s.order <= at.order, s.ticks <= at.ticks || s.order > at.order && s.ticks == at.ticks,
				"timestamps of End %d and %d: %d and %d", s.order, at.order, s.ticks, at.ticks)
		}
		m.stamps = append(m.stamps, at)
	case d3d11.QueryTimestampDisjoint:
		require.NotZero(t, le.Uint64(data), "ticks per second")
		require.Zero(t, le.Uint64(data[8:]))
	default:
		require.Equal(t, make([]byte, q.Size()), data, "nothing is ever drawn")
	}
}

// finish finishes a list.
func (m *machine) finish(t *rapid.T) {
	var some []context
	empty := chance(t, "anyone", 6)
	for _, c := range m.contexts {
		if empty || c.Steps() > 0 || c.State.Predicate != nil {
			some = append(some, c)
		}
	}
	c, ok := pick(t, "context", some)
	if chance(t, "immediate", 20) {
		c = m.immediate
	} else if !ok {
		return
	}
	restore := chance(t, "restore", 2)
	l, want := c.Finish(restore)
	api, err := c.api.FinishCommandList(restore)
	result(t, want, err, "FinishCommandList")
	if want == ddi.OK {
		m.last, m.stay = c, 3
		m.lists = append(m.lists, list{l, api})
	} else {
		require.Nil(t, api)
	}
}

// execute executes a list on the immediate context or inside another list.
func (m *machine) execute(t *rapid.T) {
	c, restore := m.immediate, chance(t, "restore", 2)
	if m.stay > 0 || chance(t, "nested", 3) {
		c = m.context(t)
	}
	l, ok := m.list(t, c)
	if !ok {
		c.api.ExecuteCommandList(nil, restore)
		return
	}
	if !c.SettledExecute(l.List) || c.Deferred && c.Steps()+l.Steps() > maxSteps {
		return
	}
	m.last, m.stay = c, 2
	c.Execute(l.List, restore)
	c.api.ExecuteCommandList(l.api, restore)
}

// list returns a list for a context to execute, preferably one that maps a resource
// that the context has discarded.
func (m *machine) list(t *rapid.T, c context) (list, bool) {
	var some []list
	for _, l := range m.lists {
		for _, r := range m.resources {
			if c.Discarded(r.Resource) && l.Maps(r.Resource) {
				some = append(some, l)
				break
			}
		}
	}
	if l, ok := pick(t, "list that maps", some); ok && chance(t, "rather", 2) {
		return l, true
	}
	return pick(t, "list", m.lists)
}

func (m *machine) flush(t *rapid.T) { m.context(t).api.Flush() }
