package model_test

import (
	"slices"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hilgpu/hilgpu/runtime/d3d11"
	"github.com/hilgpu/hilgpu/testbench/model"
)

// counted is an object with a reference count.
type counted interface {
	AddRef() uint32
	Release() uint32
}

// object returns an object, its reference count in the model, and the model's
// action at its last release, or nil if there is no object. Contexts are chosen
// rarely.
func (m *machine) object(t *rapid.T) (api counted, refs *int, closes func()) {
	closes = func() {}
	switch rapid.SampledFrom([]int{0, 0, 0, 1, 2, 3, 3, 4}).Draw(t, "kind") {
	case 0:
		if r, ok := pick(t, "resource", m.resources); ok {
			return r.api, &r.Refs, closes
		}
	case 1:
		if v, ok := pick(t, "view", m.views); ok {
			return v.api, &v.Refs, closes
		}
	case 2:
		if q, ok := pick(t, "query", m.queries); ok {
			return q.api, &q.Refs, closes
		}
	case 3:
		if l, ok := pick(t, "list", m.lists); ok {
			return l.api, &l.Refs, closes
		}
	case 4:
		if c, ok := m.deferred(t); ok && chance(t, "really", 3) {
			return c.api, &c.Refs, c.Close
		}
	}
	return nil, nil, nil
}

func (m *machine) addRef(t *rapid.T) {
	api, refs, _ := m.object(t)
	if refs == nil {
		return
	}
	if *refs > 0 {
		*refs++
	}
	require.Equal(t, *refs, int(api.AddRef()))
}

func (m *machine) release(t *rapid.T) {
	api, refs, closes := m.object(t)
	if refs == nil {
		return
	}
	if *refs > 0 {
		if *refs--; *refs == 0 {
			closes()
		}
	}
	require.Equal(t, *refs, int(api.Release()))
}

// releaseLists releases the oldest lists when there are many.
func (m *machine) releaseLists(t *rapid.T) {
	for len(m.lists) > maxLists {
		for l := m.lists[0]; l.Refs > 0; {
			l.Refs--
			require.Equal(t, l.Refs, int(l.api.Release()))
		}
		m.lists = m.lists[1:]
	}
}

// purge makes room for new objects: it drops released ones, and releases one of
// each kind that has no room.
func (m *machine) purge(t *rapid.T) {
	if len(m.resources) == maxResources {
		drop(t, m.resources[0].api, &m.resources[0].Refs)
	}
	if len(m.queries) == maxQueries {
		drop(t, m.queries[0].api, &m.queries[0].Refs)
	}
	if len(m.contexts) == maxContexts {
		c := m.contexts[0]
		drop(t, c.api, &c.Refs)
		c.Close()
	}
	m.resources = slices.DeleteFunc(m.resources, func(r resource) bool { return r.Refs == 0 })
	m.views = slices.DeleteFunc(m.views, func(v view) bool { return v.Refs == 0 || v.Of.Refs == 0 && m.orphan(t, v) })
	m.queries = slices.DeleteFunc(m.queries, func(q query) bool { return q.Refs == 0 })
	m.lists = slices.DeleteFunc(m.lists, func(l list) bool { return l.Refs == 0 })
	m.contexts = slices.DeleteFunc(m.contexts, func(c context) bool { return c.Refs == 0 })
}

// orphan releases a view whose texture is released.
func (m *machine) orphan(t *rapid.T, v view) bool {
	drop(t, v.api, &v.Refs)
	return true
}

// drop releases all references of an object.
func drop(t *rapid.T, api counted, refs *int) {
	for *refs > 0 {
		*refs--
		require.Equal(t, *refs, int(api.Release()))
	}
}

// oneContents compares the contents of one resource.
func (m *machine) oneContents(t *rapid.T) {
	if r, ok := pick(t, "resource", m.resources); ok {
		m.compareContents(t, r)
	}
}

// contents compares the contents of every resource.
func (m *machine) contents(t *rapid.T) {
	for _, r := range m.resources {
		m.compareContents(t, r)
	}
}

// compareContents copies a resource to a staging resource and reads that. If
// predication could skip the copy, a list makes it.
func (m *machine) compareContents(t *rapid.T, r resource) {
	if !r.Alive() || r.Mapped() {
		return
	}
	to := m.staging(t, r)
	defer to.api.Release()
	if c := m.immediate; c.State.Predicate == nil {
		c.api.CopyResource(to.api, r.api)
		c.CopyResource(to.Resource, r.Resource)
	} else {
		other, err := m.dev.CreateDeferredContext(0)
		require.NoError(t, err)
		other.CopyResource(to.api, r.api)
		l, err := other.FinishCommandList(false)
		require.NoError(t, err)
		c.api.ExecuteCommandList(l, true)
		l.Release()
		other.Release()
		r.Used = true
	}
	for sub := range r.Subs {
		var out d3d11.MappedSubresource
		require.NoError(t, m.immediate.api.Map(to.api, uint32(sub), d3d11.MapRead, 0, &out))
		w, h := r.Size(sub)
		var got []byte
		for y := range h {
			got = append(got, out.Data[y*int(out.RowPitch):][:w*r.Bytes]...)
		}
		require.Equal(t, r.Subs[sub], got, "subresource %d of %+v, usage %d, bind %#x", sub, r.Shape, r.Usage, r.Bind)
		m.immediate.api.Unmap(to.api, uint32(sub))
	}
}

// staging creates a staging resource with the shape of another resource.
func (m *machine) staging(t *rapid.T, r resource) resource {
	to := &model.Resource{Shape: r.Shape, Usage: d3d11.UsageStaging, Access: d3d11.CPUAccessRead}
	to.Fill(func(n int) []byte { return make([]byte, n) })
	var api d3d11.Resource
	var err error
	if tex, ok := r.api.(*d3d11.Texture2D); ok {
		api, err = m.dev.CreateTexture2D(m.desc(to, tex.GetDesc().Format), nil)
	} else {
		api, err = m.dev.CreateBuffer(d3d11.BufferDesc{ByteWidth: uint32(r.Width), Usage: d3d11.UsageStaging, CPUAccessFlags: d3d11.CPUAccessRead}, nil)
	}
	require.NoError(t, err)
	return resource{to, api}
}
