package model_test

import (
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hilgpu/hilgpu/runtime/d3d11"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/dxgi"
	"github.com/hilgpu/hilgpu/testbench/model"
)

// CPU access of resources, by usage.
var access = map[d3d11.Usage][]uint32{
	d3d11.UsageDefault:   {0},
	d3d11.UsageImmutable: {0},
	d3d11.UsageDynamic:   {d3d11.CPUAccessWrite},
	d3d11.UsageStaging: {d3d11.CPUAccessRead | d3d11.CPUAccessWrite, d3d11.CPUAccessRead | d3d11.CPUAccessWrite,
		d3d11.CPUAccessRead, d3d11.CPUAccessWrite},
}

var usages = []d3d11.Usage{d3d11.UsageDefault, d3d11.UsageDefault, d3d11.UsageDynamic, d3d11.UsageDynamic, d3d11.UsageStaging, d3d11.UsageImmutable}

// buffers lists the kinds of buffers to create. A staging buffer has no bind flags.
var buffers = []struct {
	bytes, stride int
	bind          uint32
}{
	{64, 0, d3d11.BindVertexBuffer | d3d11.BindIndexBuffer},
	{64, 0, d3d11.BindVertexBuffer},
	{64, 0, d3d11.BindVertexBuffer},
	{64, 0, d3d11.BindConstantBuffer},
	{64, 0, d3d11.BindShaderResource},
	{64, 16, d3d11.BindShaderResource},
	{64, 32, d3d11.BindShaderResource},
	{777, 0, d3d11.BindIndexBuffer},
}

func (m *machine) createBuffer(t *rapid.T) {
	if len(m.resources) >= maxResources {
		return
	}
	b := buffers[index(t, "buffer", len(buffers))]
	u := rapid.SampledFrom(usages).Draw(t, "usage")
	if u == d3d11.UsageStaging {
		b.bind, b.stride = 0, 0
	}
	r := &model.Resource{
		Shape: model.Shape{Bytes: 1, Width: b.bytes, Height: 1, Mips: 1, Layers: 1},
		Usage: u, Bind: b.bind, Access: rapid.SampledFrom(access[u]).Draw(t, "access"), Stride: b.stride,
	}
	r.Fill(func(n int) []byte { return fresh(t, n) })
	desc := d3d11.BufferDesc{ByteWidth: uint32(b.bytes), Usage: u, BindFlags: b.bind, CPUAccessFlags: r.Access}
	if b.stride != 0 {
		desc.MiscFlags, desc.StructureByteStride = d3d11.MiscBufferStructured, uint32(b.stride)
	}
	api, err := m.dev.CreateBuffer(desc, &d3d11.SubresourceData{SysMem: r.Subs[0]})
	require.NoError(t, err, "%+v", desc)
	m.resources = append(m.resources, resource{r, api})
	m.buffers[api] = r
}

// Families of formats.
const (
	rgba8 model.Family = iota + 1
	bgra8
	r8
	rgba32
)

// textures lists the kinds of textures to create. element, if not nil, encodes a
// colour of n/255 as an element.
var textures = []struct {
	format        dxgi.Format
	family        model.Family
	bytes         int
	w, h, mips, n int
	element       func([4]uint8) []byte
}{
	{dxgi.R8G8B8A8UNorm, rgba8, 4, 9, 5, 2, 3, func(c [4]uint8) []byte { return c[:] }},
	{dxgi.R8G8B8A8Typeless, rgba8, 4, 9, 5, 2, 3, nil},
	{dxgi.R8G8B8A8UInt, rgba8, 4, 9, 5, 1, 1, nil},
	{dxgi.R8G8B8A8UNorm, rgba8, 4, 9, 5, 1, 1, func(c [4]uint8) []byte { return c[:] }},
	{dxgi.B8G8R8A8UNorm, bgra8, 4, 9, 5, 1, 1, func(c [4]uint8) []byte { return []byte{c[2], c[1], c[0], c[3]} }},
	{dxgi.R8UNorm, r8, 1, 7, 6, 3, 1, func(c [4]uint8) []byte { return c[:1] }},
	{dxgi.R32G32B32A32UInt, rgba32, 16, 3, 4, 1, 2, nil},
}

func (m *machine) createTexture(t *rapid.T) {
	if len(m.resources) >= maxResources {
		return
	}
	s := textures[index(t, "texture", len(textures))]
	u := rapid.SampledFrom(usages).Draw(t, "usage")
	if u == d3d11.UsageDynamic {
		s.mips, s.n = 1, 1
	}
	bind := uint32(d3d11.BindShaderResource)
	switch {
	case u == d3d11.UsageStaging:
		bind = 0
	case u == d3d11.UsageDefault && s.element != nil:
		bind |= d3d11.BindRenderTarget
	}
	r := &model.Resource{
		Shape: model.Shape{Family: s.family, Bytes: s.bytes, Width: s.w, Height: s.h, Mips: s.mips, Layers: s.n},
		Usage: u, Bind: bind, Access: rapid.SampledFrom(access[u]).Draw(t, "access"),
	}
	r.Fill(func(n int) []byte { return fresh(t, n) })
	tex, err := m.dev.CreateTexture2D(m.desc(r, s.format), initial(r))
	require.NoError(t, err)
	m.resources = append(m.resources, resource{r, tex})
	if bind&d3d11.BindRenderTarget != 0 {
		m.createView(t, tex, r, s.element)
	}
}

func (m *machine) desc(r *model.Resource, f dxgi.Format) d3d11.Texture2DDesc {
	return d3d11.Texture2DDesc{
		Width: uint32(r.Width), Height: uint32(r.Height), MipLevels: uint32(r.Mips), ArraySize: uint32(r.Layers), Format: f,
		SampleDesc: dxgi.SampleDesc{Count: 1}, Usage: r.Usage, BindFlags: r.Bind, CPUAccessFlags: r.Access,
	}
}

func initial(r *model.Resource) []d3d11.SubresourceData {
	var all []d3d11.SubresourceData
	for i, p := range r.Subs {
		w, _ := r.Size(i)
		all = append(all, d3d11.SubresourceData{SysMem: p, SysMemPitch: uint32(w * r.Bytes)})
	}
	return all
}

// createView creates a view of some slices of the last mip level.
func (m *machine) createView(t *rapid.T, tex *d3d11.Texture2D, r *model.Resource, element func([4]uint8) []byte) {
	v := &model.View{Of: r, Mip: r.Mips - 1, First: below(t, "slice", r.Layers), Refs: 1}
	v.Slices = 1 + below(t, "slices", r.Layers-v.First)
	v.Element = func(c [4]float32) []byte {
		var b [4]uint8
		for i := range b {
			b[i] = uint8(c[i]*255 + 0.5)
		}
		return element(b)
	}
	api, err := m.dev.CreateRenderTargetView(tex, &d3d11.RTVDesc{ViewDimension: d3d11.RTVTexture2DArray,
		MipSlice: uint32(v.Mip), FirstArraySlice: uint32(v.First), ArraySize: uint32(v.Slices)})
	require.NoError(t, err)
	m.views = append(m.views, view{v, api})
	m.targets[api] = v
}

var queryTypes = []d3d11.QueryType{d3d11.QueryEvent, d3d11.QueryOcclusion, d3d11.QueryTimestamp, d3d11.QueryTimestampDisjoint,
	d3d11.QueryOcclusionPredicate, d3d11.QueryOcclusionPredicate, d3d11.QueryOverflowPredicate, d3d11.QueryOverflowPredicate}

func (m *machine) createQuery(t *rapid.T) {
	if len(m.queries) >= maxQueries {
		return
	}
	q := &model.Query{Type: rapid.SampledFrom(queryTypes).Draw(t, "type"), Refs: 1}
	desc := d3d11.QueryDesc{Query: q.Type}
	if q.Predicate() && chance(t, "hint", 5) {
		q.Hint, desc.MiscFlags = true, d3d11.QueryPredicateHint
	}
	create := m.dev.CreateQuery
	if chance(t, "CreatePredicate", 3) {
		create = m.dev.CreatePredicate
		if !q.Predicate() {
			_, err := create(&desc)
			result(t, ddi.EInvalidArg, err, "CreatePredicate of another type")
			return
		}
	}
	api, err := create(&desc)
	require.NoError(t, err)
	m.queries = append(m.queries, query{q, api})
	m.known[api] = q
	if !chance(t, "never ended", 4) {
		m.immediate.End(q)
		m.immediate.api.End(api)
	}
}

func (m *machine) createContext(t *rapid.T) {
	if len(m.contexts) >= maxContexts {
		return
	}
	api, err := m.dev.CreateDeferredContext(0)
	require.NoError(t, err)
	m.contexts = append(m.contexts, context{m.model.NewDeferred(), api})
}

// createNothing tries to create illegal objects.
func (m *machine) createNothing(t *rapid.T) {
	const vertex, rw = d3d11.BindVertexBuffer, d3d11.CPUAccessRead | d3d11.CPUAccessWrite
	desc := rapid.SampledFrom([]d3d11.BufferDesc{
		{},
		{ByteWidth: 15, BindFlags: d3d11.BindConstantBuffer},
		{ByteWidth: 16, BindFlags: vertex, CPUAccessFlags: d3d11.CPUAccessWrite},
		{ByteWidth: 16, Usage: d3d11.UsageImmutable, BindFlags: d3d11.BindRenderTarget},
		{ByteWidth: 16, Usage: d3d11.UsageDynamic, BindFlags: vertex},
		{ByteWidth: 16, Usage: d3d11.UsageDynamic, BindFlags: vertex, CPUAccessFlags: rw},
		{ByteWidth: 16, Usage: d3d11.UsageStaging, BindFlags: vertex, CPUAccessFlags: rw},
		{ByteWidth: 16, Usage: d3d11.UsageStaging},
		{ByteWidth: 16, BindFlags: d3d11.BindShaderResource, MiscFlags: d3d11.MiscBufferStructured, StructureByteStride: 5},
	}).Draw(t, "desc")
	_, err := m.dev.CreateBuffer(desc, &d3d11.SubresourceData{SysMem: make([]byte, 16)})
	result(t, ddi.EInvalidArg, err, "buffer")
	_, err = m.dev.CreateBuffer(d3d11.BufferDesc{ByteWidth: 16, Usage: d3d11.UsageImmutable, BindFlags: vertex}, nil)
	result(t, ddi.EInvalidArg, err, "immutable buffer without data")
	_, err = m.dev.CreateQuery(nil)
	result(t, ddi.EInvalidArg, err, "query")
	_, err = m.dev.CreateDeferredContext(1)
	result(t, ddi.EInvalidArg, err, "deferred context")
	_, err = m.dev.CreateRenderTargetView(m.resource(t).api, &d3d11.RTVDesc{})
	result(t, ddi.EInvalidArg, err, "view")
}
