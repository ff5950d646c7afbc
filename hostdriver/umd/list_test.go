package umd

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// newListRig is a rig whose lists use a counting heap.
func newListRig(t tb) (*rig, *testHeap) {
	m := newHeap(t)
	r := openRigWith(newKernel(t), Options{Memory: m})
	require.Equal(t, ddi.OK, r.createDevice())
	return r, m
}

// filledBuffer creates a buffer of 64 bytes that count up from first.
func (r *rig) filledBuffer(u umddi.Usage, first int) umddi.HResource {
	arg := buf(64, u)
	arg.InitialDataUP = []umddi.SubresourceUP{{SysMem: seq(first, 64), RowPitch: 64}}
	return r.create(arg)
}

func (r *rig) buffer(res umddi.HResource) []byte {
	r.Helper()
	return r.read(res, buf(64, umddi.UsageDefault), 0)
}

// Each execution of a list has the effect of the recorded calls on the contents
// at that time.
func TestListExecutes(t *testing.T) {
	r, _ := newListRig(t)
	a, b := r.filledBuffer(umddi.UsageDefault, 1), r.filledBuffer(umddi.UsageDefault, 100)
	c := r.recorder()
	c.copy(a, b)
	l := c.done()
	assert.Equal(t, seq(1, 64), r.buffer(a), "nothing is done before execution")
	r.execute(l)
	assert.Equal(t, seq(100, 64), r.buffer(a))
	r.update(b, buf(64, umddi.UsageDefault), 0, nil, seq(7, 64))
	r.execute(l)
	r.update(b, buf(64, umddi.UsageDefault), 0, nil, seq(8, 64))
	assert.Equal(t, seq(7, 64), r.buffer(a), "read at execution")
	assert.Empty(t, c.errors())
}

// Nothing of a list is needed after CommandListExecute has returned.
func TestListDestroyedBeforeTheGPURuns(t *testing.T) {
	r, m := newListRig(t)
	a := r.filledBuffer(umddi.UsageDefault, 1)
	c := r.recorder()
	c.update(a, buf(64, umddi.UsageDefault), 0, nil, seq(50, 64))
	c.update(a, buf(64, umddi.UsageDefault), 0, box(0, 0, 32, 1), seq(90, 32))
	big := r.create(buf(chunkBytes, umddi.UsageDefault))
	c.update(big, buf(chunkBytes, umddi.UsageDefault), 0, nil, seq(3, chunkBytes))
	l := c.done()
	r.execute(l)
	r.f.DestroyCommandList(r.th, r.h, l)
	clear(l.Private)
	c.destroy()
	assert.Empty(t, m.live)
	want := seq(50, 64)
	copy(want, seq(90, 32))
	assert.Equal(t, want, r.buffer(a))
	assert.Equal(t, seq(3, chunkBytes), r.read(big, buf(chunkBytes, umddi.UsageDefault), 0))
	assert.Empty(t, c.errors())
}

// The diagram of "Supporting Command Lists": each function is either permitted
// or refused in each state.
func TestListStates(t *testing.T) {
	removed := ddi.DDIDeviceRemoved
	for _, state := range []string{"green", "black 1", "black 2", "destroyed", "garbage"} {
		for name, want := range map[string]map[string]ddi.HRESULT{
			"execute":         {"black 1": removed, "black 2": removed, "destroyed": removed, "garbage": removed},
			"open":            {"black 1": removed, "black 2": removed, "destroyed": removed, "garbage": removed},
			"recycle destroy": {"black 1": removed, "black 2": removed, "destroyed": removed, "garbage": removed},
			"recycle":         {"green": removed, "black 2": removed, "destroyed": removed, "garbage": removed},
			"recycle create":  {"green": removed, "black 1": removed, "destroyed": removed, "garbage": removed},
			"destroy":         {"destroyed": removed, "garbage": removed},
		} {
			for _, large := range []bool{false, true} {
				r, m := newListRig(t)
				c := r.recorder()
				a := r.filledBuffer(umddi.UsageDefault, 1)
				c.copy(a, a)
				if large {
					for range 20 {
						c.copy(a, a)
					}
				}
				l := c.done()
				if state == "garbage" {
					r.f.DestroyCommandList(r.th, r.h, l)
					l = umddi.HCommandList{Object: garbage(listBytes)}
				}
				if state == "black 1" || state == "black 2" {
					r.f.RecycleDestroyCommandList(r.th, r.h, l)
				}
				if state == "black 2" {
					c.f.RecycleCommandList(c.th, c.h, l)
				}
				if state == "destroyed" {
					r.f.DestroyCommandList(r.th, r.h, l)
				}
				require.Empty(t, c.errors())
				got := c.apply(name, l)
				assert.Equal(t, want[state], got, "%s of a list that is %s", name, state)
				if got == ddi.OK && name != "destroy" || want[state] != ddi.OK && state != "destroyed" && state != "garbage" {
					r.f.DestroyCommandList(r.th, r.h, l)
				}
				c.destroy()
				assert.Empty(t, c.errors())
				assert.Empty(t, m.live, "%s of a list that is %s", name, state)
			}
		}
	}
}

// apply calls a function with a list and returns its result.
func (c *recorder) apply(name string, l umddi.HCommandList) ddi.HRESULT {
	hr := ddi.OK
	switch f := &c.rig.f; name {
	case "execute":
		c.rig.execute(l)
	case "open":
		local := umddi.HCommandList{Object: garbage(localBytes)}
		c.f.CreateCommandList(c.th, c.h, nil, local, umddi.HRTCommandList{Runtime: l})
	case "recycle destroy":
		f.RecycleDestroyCommandList(c.th, c.rig.h, l)
	case "recycle":
		c.f.RecycleCommandList(c.th, c.h, l)
	case "recycle create":
		hr = f.RecycleCreateCommandList(c.th, c.rig.h, &umddi.CreateCommandList{DeferredContext: c.h}, l, umddi.HRTCommandList{})
	case "destroy":
		f.DestroyCommandList(c.th, c.rig.h, l)
	}
	if es := c.errors(); len(es) > 0 {
		return es[0]
	}
	return hr
}

// A list is destroyed with its device, and survives its context.
func TestListOutlivesItsContext(t *testing.T) {
	r, m := newListRig(t)
	a := r.create(buf(1000, umddi.UsageDefault))
	c := r.recorder()
	c.update(a, buf(1000, umddi.UsageDefault), 0, nil, seq(5, 1000))
	l := c.done()
	c.destroy()
	assert.Len(t, m.live, 1)
	r.execute(l)
	assert.Equal(t, seq(5, 1000), r.read(a, buf(1000, umddi.UsageDefault), 0))
	r.f.DestroyDevice(r.th, r.h)
	assert.Empty(t, m.live)
	assert.Empty(t, r.errs)
}

// A list with a destroyed object is refused.
func TestListWithADestroyedObject(t *testing.T) {
	rt := tex(4, 4, rgba, umddi.UsageDefault, umddi.BindRenderTarget)
	for name, one := range map[string]func(r *rig, c *recorder) func(){
		"resource": func(r *rig, c *recorder) func() {
			a, b := r.create(rt), r.create(rt)
			c.copy(a, b)
			return func() { r.f.DestroyResource(r.th, r.h, b) }
		},
		"resource that is written": func(r *rig, c *recorder) func() {
			a := r.create(rt)
			c.update(a, rt, 0, nil, seq(1, 64))
			return func() { r.f.DestroyResource(r.th, r.h, a) }
		},
		"resource of a discard": func(r *rig, c *recorder) func() {
			a := r.create(buf(16, umddi.UsageDynamic))
			c.discard(a, 0)
			return func() { r.f.DestroyResource(r.th, r.h, a) }
		},
		"view": func(r *rig, c *recorder) func() {
			a := r.create(rt)
			v := r.view(a, rgba, 0, 0, 1)
			c.f.ClearRenderTargetView(c.th, c.h, c.target(v, a), [4]float32{})
			return func() { r.f.DestroyRenderTargetView(r.th, r.h, v) }
		},
		"query": func(r *rig, c *recorder) func() {
			q := r.query()
			c.f.QueryEnd(c.th, c.h, c.q(q))
			return func() { r.f.DestroyQuery(r.th, r.h, q) }
		},
		"predicate": func(r *rig, c *recorder) func() {
			q := r.queryOf(umddi.QueryOcclusionPredicate)
			c.f.SetPredication(c.th, c.h, c.q(q), true)
			return func() { r.f.DestroyQuery(r.th, r.h, q) }
		},
	} {
		r, _ := newListRig(t)
		c := r.recorder()
		destroy := one(r, c)
		l := c.done()
		destroy()
		r.execute(l)
		assert.Equal(t, []ddi.HRESULT{ddi.DDIDeviceRemoved}, c.errors(), name)
	}
}
