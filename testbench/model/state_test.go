package model_test

import (
	"encoding/binary"
	"errors"
	"math"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hilgpu/hilgpu/runtime/d3d11"
	"github.com/hilgpu/hilgpu/runtime/ddi/dxgi"
	"github.com/hilgpu/hilgpu/testbench/model"
)

var le = binary.LittleEndian

// A stage holds the two functions for constant buffers of a shader stage.
type stage struct {
	set, get func(*d3d11.Context, uint32, []*d3d11.Buffer)
}

var stages = [model.Stages]stage{
	{(*d3d11.Context).VSSetConstantBuffers, (*d3d11.Context).VSGetConstantBuffers},
	{(*d3d11.Context).HSSetConstantBuffers, (*d3d11.Context).HSGetConstantBuffers},
	{(*d3d11.Context).DSSetConstantBuffers, (*d3d11.Context).DSGetConstantBuffers},
	{(*d3d11.Context).GSSetConstantBuffers, (*d3d11.Context).GSGetConstantBuffers},
	{(*d3d11.Context).PSSetConstantBuffers, (*d3d11.Context).PSGetConstantBuffers},
	{(*d3d11.Context).CSSetConstantBuffers, (*d3d11.Context).CSGetConstantBuffers},
}

// buffer returns a buffer, often one with the bind flag, or nil.
func (m *machine) buffer(t *rapid.T, flag uint32) (*model.Resource, *d3d11.Buffer) {
	var some []resource
	odd := chance(t, "wrong flag", 10)
	for _, r := range m.resources {
		if r.Family == 0 && (odd || r.Alive() && r.Bind&flag != 0) {
			some = append(some, r)
		}
	}
	r, ok := pick(t, "buffer", some)
	if !ok || chance(t, "none", 5) {
		return nil, nil
	}
	return r.Resource, r.api.(*d3d11.Buffer)
}

func (m *machine) setVertexBuffers(t *rapid.T) {
	c, start := m.context(t), below(t, "start", model.VertexSlots+1)
	n := rapid.SampledFrom([]int{1, 1, 2, 3, 0}).Draw(t, "slots")
	slots, bufs := make([]model.Vertex, n), make([]*d3d11.Buffer, n)
	strides, offsets := make([]uint32, n), make([]uint32, n)
	for i := range slots {
		v := &slots[i]
		v.Buffer, bufs[i] = m.buffer(t, d3d11.BindVertexBuffer)
		v.Stride = rapid.SampledFrom([]uint32{4, 16, 2048, 2049}).Draw(t, "stride")
		v.Offset = uint32(below(t, "offset", 99))
		strides[i], offsets[i] = v.Stride, v.Offset
	}
	c.SetVertexBuffers(start, slots)
	c.api.IASetVertexBuffers(uint32(start), bufs, strides, offsets)
}

func (m *machine) setIndexBuffer(t *rapid.T) {
	c := m.context(t)
	r, b := m.buffer(t, d3d11.BindIndexBuffer)
	f := rapid.SampledFrom([]dxgi.Format{d3d11.FormatR16UInt, dxgi.R32UInt, dxgi.Unknown, dxgi.R8UNorm}).Draw(t, "format")
	offset := uint32(below(t, "offset", 99))
	c.SetIndexBuffer(r, f, offset)
	c.api.IASetIndexBuffer(b, f, offset)
}

func (m *machine) setConstantBuffers(t *rapid.T) {
	c, st, start := m.context(t), below(t, "stage", model.Stages), below(t, "start", model.ConstantSlots+1)
	n := rapid.SampledFrom([]int{1, 1, 2, 3, 0}).Draw(t, "slots")
	all, bufs := make([]*model.Resource, n), make([]*d3d11.Buffer, n)
	for i := range all {
		all[i], bufs[i] = m.buffer(t, d3d11.BindConstantBuffer)
	}
	c.SetConstantBuffers(st, start, all)
	stages[st].set(c.api, uint32(start), bufs)
}

func (m *machine) setTargets(t *rapid.T) {
	c := m.context(t)
	n := rapid.SampledFrom([]int{1, 2, 8, 9, 0}).Draw(t, "targets")
	all, api := make([]*model.View, n), make([]*d3d11.RenderTargetView, n)
	for i := range all {
		v, ok := pick(t, "view", m.views)
		if ok && !chance(t, "none", 4) && (v.Joins(all[:i]) || chance(t, "refused", 8)) {
			all[i], api[i] = v.View, v.api
		}
	}
	c.SetTargets(all)
	c.api.OMSetRenderTargets(api)
}

func (m *machine) setRectangles(t *rapid.T) {
	c := m.context(t)
	n := rapid.SampledFrom([]int{1, 2, 16, 17, 0}).Draw(t, "rectangles")
	vps, rects := make([]d3d11.Viewport, n), make([]d3d11.Rect, n)
	for i := range n {
		side := float32(below(t, "side", 50))
		if chance(t, "negative", 30) {
			side = -1
		}
		vps[i] = d3d11.Viewport{TopLeftX: float32(i), Width: side, Height: 2 * side, MaxDepth: 1}
		rects[i] = d3d11.Rect{Left: int32(i), Top: int32(side), Right: math.MaxInt32, Bottom: -int32(i)}
	}
	c.SetViewports(vps)
	c.api.RSSetViewports(vps)
	c.SetScissors(rects)
	c.api.RSSetScissorRects(rects)
}

func (m *machine) setTopology(t *rapid.T) {
	c, topology := m.context(t), rapid.SampledFrom([]d3d11.Topology{0, 1, 4, 5, 6, 10, 33, 64, 65}).Draw(t, "topology")
	c.SetTopology(topology)
	c.api.IASetPrimitiveTopology(topology)
}

func (m *machine) clearState(t *rapid.T) {
	c := m.context(t)
	c.ClearState()
	c.api.ClearState()
}

// state reads the entire state of a context and releases the references that it
// gets.
func (m *machine) state(t *rapid.T, c *d3d11.Context) (s model.State) {
	left := map[*int]uint32{}
	buf := func(b *d3d11.Buffer) *model.Resource {
		if b == nil {
			return nil
		}
		left[&m.buffers[b].Refs] = b.Release()
		return m.buffers[b]
	}
	s.Topology = c.IAGetPrimitiveTopology()
	var vertex [model.VertexSlots]*d3d11.Buffer
	var strides, offsets [model.VertexSlots]uint32
	c.IAGetVertexBuffers(0, vertex[:], strides[:], offsets[:])
	for i, b := range vertex {
		s.Vertex[i] = model.Vertex{Buffer: buf(b), Stride: strides[i], Offset: offsets[i]}
	}
	index, f, offset := c.IAGetIndexBuffer()
	s.Index, s.IndexFormat, s.IndexOffset = buf(index), f, offset
	for st := range stages {
		var constant [model.ConstantSlots]*d3d11.Buffer
		stages[st].get(c, 0, constant[:])
		for i, b := range constant {
			s.Constant[st][i] = buf(b)
		}
	}
	var targets [model.TargetSlots]*d3d11.RenderTargetView
	c.OMGetRenderTargets(targets[:])
	for i, v := range targets {
		if v != nil {
			s.Targets[i] = m.targets[v]
			left[&m.targets[v].Refs] = v.Release()
		}
	}
	s.ViewportN = c.RSGetViewports(s.Viewports[:])
	s.ScissorN = c.RSGetScissorRects(s.Scissors[:])
	p, value := c.GetPredication()
	if p != nil {
		s.Predicate = m.known[p]
		left[&m.known[p].Refs] = p.Release()
	}
	s.Value = value
	for refs, n := range left {
		require.Equal(t, *refs, int(n), "references of bound objects")
	}
	return s
}

// checkState compares the state of every context and checks that the device works.
func (m *machine) checkState(t *rapid.T) {
	require.NoError(t, errors.Join(m.sys.Err(), m.dev.GetDeviceRemovedReason()))
	for i, c := range append([]context{m.immediate}, m.contexts...) {
		got, want := m.state(t, c.api), c.State
		for _, part := range []struct {
			name      string
			got, want any
		}{
			{"topology", got.Topology, want.Topology},
			{"index buffer", []any{got.IndexFormat, got.IndexOffset, got.Index == want.Index}, []any{want.IndexFormat, want.IndexOffset, true}},
			{"vertex buffers", got.Vertex == want.Vertex, true},
			{"constant buffers", got.Constant == want.Constant, true},
			{"render targets", got.Targets == want.Targets, true},
			{"viewports", got.Viewports, want.Viewports},
			{"scissor rectangles", got.Scissors, want.Scissors},
			{"number of viewports and scissor rectangles", []int{got.ViewportN, got.ScissorN}, []int{want.ViewportN, want.ScissorN}},
			{"predication", []bool{got.Predicate == want.Predicate, got.Value}, []bool{true, want.Value}},
		} {
			require.Equal(t, part.want, part.got, "%s of context %d", part.name, i)
		}
	}
}
