package umd

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// predicate creates a query with a result, as if the GPU had counted.
func (r *rig) predicate(result byte) umddi.HQuery {
	q := r.queryOf(umddi.QueryOcclusionPredicate)
	r.last().bytes[queryResult] = result
	return q
}

// SetPredication skips exactly the copies, updates and clears if the result
// equals the value.
func TestPredication(t *testing.T) {
	arg := tex(4, 4, rgba, umddi.UsageDefault, umddi.BindRenderTarget)
	for _, tt := range []struct {
		name    string
		result  byte
		value   bool
		skipped bool
	}{
		{"FALSE, skip if FALSE", 0, false, true},
		{"FALSE, skip if TRUE", 0, true, false},
		{"TRUE, skip if FALSE", 1, false, false},
		{"TRUE, skip if TRUE", 1, true, true},
	} {
		for _, list := range []bool{false, true} {
			t.Run(tt.name, func(t *testing.T) {
				r, _ := newListRig(t)
				q, end := r.predicate(tt.result), r.query()
				a, b := r.create(arg), r.create(arg)
				x, y := r.filledBuffer(umddi.UsageDefault, 1), r.filledBuffer(umddi.UsageDefault, 70)
				dyn, late := r.create(buf(64, umddi.UsageDynamic)), r.create(buf(64, umddi.UsageDefault))
				r.update(a, arg, 0, nil, seq(1, 64))
				r.update(b, arg, 0, nil, seq(70, 64))
				v := r.view(b, rgba, 0, 0, 1)

				c := r.recorder()
				f, h, use, target, set, event := c.f, c.h, c.res, c.target(v, b), c.q(q), c.q(end)
				if !list {
					f, h, use, target, set, event = r.f, r.h, func(res umddi.HResource) umddi.HResource { return res }, v, q, end
				}
				f.SetPredication(c.th, h, set, tt.value)
				f.ResourceCopy(c.th, h, use(x), use(y))
				f.ClearRenderTargetView(c.th, h, target, [4]float32{1, 1, 1, 1})
				f.ResourceUpdateSubresourceUP(c.th, h, use(a), 0, box(0, 0, 1, 1), []byte{9, 9, 9, 9}, 4, 0)
				f.ResourceUpdateSubresourceUP(c.th, h, use(y), 0, box(0, 0, 1, 1), []byte{9}, 1, 0)
				f.ResourceCopyRegion(c.th, h, use(a), 0, 0, 3, 0, use(b), 0, box(0, 0, 1, 1))
				fillMap(t, f.DynamicResourceMapDiscard(c.th, h, use(dyn), 0, umddi.MapWriteDiscard, 0), 5)
				f.DynamicResourceUnmap(c.th, h, use(dyn), 0)
				f.QueryEnd(c.th, h, event)
				f.SetPredication(c.th, h, umddi.HQuery{}, false)
				f.ResourceCopy(c.th, h, use(late), use(dyn))
				l := c.done()
				if list {
					r.execute(l)
				}
				if tt.skipped {
					assert.Equal(t, seq(1, 64), r.buffer(x))
					assert.Equal(t, seq(70, 64), r.buffer(y))
					assert.Equal(t, seq(70, 64), r.read(b, arg, 0))
					assert.Equal(t, seq(1, 64), r.read(a, arg, 0))
				} else {
					assert.Equal(t, seq(70, 64), r.buffer(x))
					assert.Equal(t, byte(9), r.buffer(y)[0])
					assert.Equal(t, byte(255), r.read(b, arg, 0)[9])
					got := r.read(a, arg, 0)
					assert.Equal(t, []byte{9, 9, 9, 9}, got[:4])
					assert.Equal(t, []byte{255, 255, 255, 255}, got[48:52])
				}
				assert.Equal(t, byte(5), r.buffer(late)[0], "maps are not skipped, nor what follows")
				assert.Equal(t, byte(1), r.ask(end, 0)[0], "nor queries")
				assert.Empty(t, c.errors())
			})
		}
	}
}

// The initial data of a resource is present, whatever is skipped around its
// first use.
func TestPredicationAndInitialData(t *testing.T) {
	r, _ := newListRig(t)
	a, b := r.filledBuffer(umddi.UsageDefault, 1), r.filledBuffer(umddi.UsageDefault, 2)
	r.f.SetPredication(r.th, r.h, r.predicate(0), false)
	r.copy(a, b)
	r.f.SetPredication(r.th, r.h, umddi.HQuery{}, false)
	assert.Equal(t, seq(1, 64), r.buffer(a))
	assert.Equal(t, seq(2, 64), r.buffer(b))
	assert.Empty(t, r.errs)
}

// The predicate applies across batches; each operation has it in its own
// portion.
func TestPredicationSplits(t *testing.T) {
	for _, tt := range []struct{ bytes, allocs, patches int }{
		{predicateBytes + copyBytes, 3, 3}, {1000, 3, 7}, {1000, 16, 5},
	} {
		k := newKernel(t)
		k.cmdBytes, k.nAllocs, k.nPatches = tt.bytes, tt.allocs, tt.patches
		r := newRigOn(k)
		a, b := r.filledBuffer(umddi.UsageDefault, 1), r.filledBuffer(umddi.UsageDefault, 2)
		r.f.SetPredication(r.th, r.h, r.predicate(0), false)
		for range 9 {
			r.copy(a, b)
		}
		r.flush()
		r.run(len(r.queue))
		assert.NotContains(t, r.ran[2:], "COPY")
		assert.Contains(t, r.ran, "PREDICATE")
		r.f.SetPredication(r.th, r.h, umddi.HQuery{}, false)
		assert.Equal(t, seq(1, 64), r.buffer(a))
		assert.Empty(t, r.errs)
	}
	k := newKernel(t)
	k.nAllocs = 2
	r := newRigOn(k)
	a, b := r.create(buf(64, umddi.UsageDefault)), r.create(buf(64, umddi.UsageDefault))
	r.f.SetPredication(r.th, r.h, r.predicate(0), true)
	r.copy(a, b)
	assert.Equal(t, []ddi.HRESULT{ddi.EOutOfMemory}, r.errors(), "the query needs a place in the allocation list")
}

// A list starts and ends without predication, and so does a nested list.
func TestPredicationEndsWithTheList(t *testing.T) {
	r, _ := newListRig(t)
	never := r.predicate(0)
	a, b, x := r.filledBuffer(umddi.UsageDefault, 1), r.filledBuffer(umddi.UsageDefault, 2), r.filledBuffer(umddi.UsageDefault, 3)
	c := r.recorder()
	c.f.SetPredication(c.th, c.h, umddi.HQuery{}, true)
	c.copy(a, b)
	c.f.SetPredication(c.th, c.h, c.q(never), false)
	c.copy(x, b)
	inner := c.done()
	c.f.SetPredication(c.th, c.h, c.q(never), false)
	c.execute(inner)
	c.copy(x, a)
	outer := c.done()

	r.f.SetPredication(r.th, r.h, never, false)
	r.execute(inner)
	assert.Equal(t, seq(2, 64), r.buffer(a), "predication of the context does not count in the list")
	assert.Equal(t, seq(3, 64), r.buffer(x))
	r.update(b, buf(64, umddi.UsageDefault), 0, nil, seq(9, 64))
	assert.Equal(t, seq(9, 64), r.buffer(b), "that of the list does not count after it")
	r.f.SetPredication(r.th, r.h, never, false)
	r.execute(outer)
	assert.Equal(t, seq(9, 64), r.buffer(a), "the inner list begins without predication")
	assert.Equal(t, seq(9, 64), r.buffer(x), "and ends without")
	assert.Empty(t, c.errors())
}

// The predicate of a nested list applies to all of its chunks, wherever they
// are.
func TestPredicationOfANestedList(t *testing.T) {
	for before := range 4 {
		r, _ := newListRig(t)
		x, y := r.filledBuffer(umddi.UsageDefault, 1), r.filledBuffer(umddi.UsageDefault, 70)
		dyn, never := r.create(buf(64, umddi.UsageDynamic)), r.predicate(0)
		c := r.recorder()
		fillMap(t, c.discard(dyn, 0), 5)
		c.f.SetPredication(c.th, c.h, c.q(never), false)
		for range 100 {
			c.copy(x, y)
		}
		inner := c.done()
		for range before {
			c.copy(y, y)
		}
		c.execute(inner)
		outer := c.done()
		r.execute(outer)
		require.Empty(t, c.errors())
		assert.Equal(t, seq(1, 64), r.buffer(x), "%d copies before", before)
	}
}

func TestPredicationRefuses(t *testing.T) {
	removed := []ddi.HRESULT{ddi.DDIDeviceRemoved}
	r, _ := newListRig(t)
	a, b := r.filledBuffer(umddi.UsageDefault, 1), r.filledBuffer(umddi.UsageDefault, 2)
	for _, typ := range []umddi.QueryType{umddi.QueryEvent, umddi.QueryOcclusion, umddi.QueryTimestamp} {
		q := r.queryOf(typ)
		r.f.SetPredication(r.th, r.h, q, false)
		assert.Equal(t, removed, r.errors(), "type %d", typ)
		c := r.recorder()
		c.f.SetPredication(c.th, c.h, c.q(q), false)
		r.execute(c.done())
		assert.Equal(t, removed, r.errors(), "type %d in a list", typ)
	}
	q := r.predicate(0)
	r.f.SetPredication(r.th, r.h, q, false)
	r.f.DestroyQuery(r.th, r.h, q)
	r.copy(a, b)
	assert.Equal(t, seq(2, 64), r.buffer(a), "a destroyed predicate skips nothing")
	r.f.SetPredication(r.th, r.h, q, false)
	assert.Equal(t, removed, r.errors(), "a stale handle")
}

// The result of each type of query, as specified by umddi.QueryType.
func TestQueryData(t *testing.T) {
	stamp := []byte{0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11} // the fake GPU's clock
	no := []byte{0, 0, 0, 0}
	for _, tt := range []struct {
		typ  umddi.QueryType
		want []byte
		ran  []string
	}{
		{umddi.QueryEvent, []byte{1, 0, 0, 0}, []string{"TIMESTAMP"}},
		{umddi.QueryOcclusion, make([]byte, 8), []string{"FILL", "TIMESTAMP"}},
		{umddi.QueryTimestamp, stamp, []string{"TIMESTAMP"}},
		{umddi.QueryTimestampDisjoint, []byte{0, 0xe1, 0xf5, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, []string{"TIMESTAMP"}}, // 100 MHz
		{umddi.QueryOcclusionPredicate, no, []string{"FILL", "TIMESTAMP"}},
		{umddi.QueryOverflowPredicate, no, []string{"FILL", "TIMESTAMP"}},
	} {
		for _, list := range []bool{false, true} {
			r, _ := newListRig(t)
			q := r.queryOf(tt.typ)
			r.last().bytes[queryResult] = 1 // an end writes the result
			if list {
				c := r.recorder()
				c.f.QueryBegin(c.th, c.h, c.q(q))
				c.f.QueryEnd(c.th, c.h, c.q(q))
				r.execute(c.done())
			} else {
				r.f.QueryBegin(r.th, r.h, q)
				r.f.QueryEnd(r.th, r.h, q)
			}
			got := make([]byte, len(tt.want)+1)
			for i := range got {
				got[i] = 0xaa
			}
			r.f.QueryGetData(r.th, r.h, q, got, 0)
			require.Equal(t, []ddi.HRESULT{ddi.DDIStillDrawing}, r.errors())
			r.run(1)
			r.f.QueryGetData(r.th, r.h, q, got, 0)
			assert.Equal(t, append(tt.want, 0xaa), got, "type %d", tt.typ)
			assert.Equal(t, tt.ran, r.ran)
			clear(got)
			r.f.QueryGetData(r.th, r.h, q, got[:len(tt.want)-1], 0)
			assert.Equal(t, make([]byte, len(tt.want)+1), got, "too short")
			assert.Empty(t, r.errs)
		}
	}
}

// A counting query starts with a result of 0, and is not created if that fails.
func TestCreateCountingQuery(t *testing.T) {
	r := newRig(t)
	r.queryOf(umddi.QueryOverflowPredicate)
	assert.Equal(t, make([]byte, 8), r.last().bytes[queryResult:])
	for i, name := range []string{"Allocate", "Lock", "Unlock"} {
		r.failAt, r.failHR = i+1, ddi.EOutOfMemory
		o := garbage(privateBytes)
		r.f.CreateQuery(r.th, r.h, umddi.CreateQuery{Query: umddi.QueryOcclusion}, umddi.HQuery{Object: o}, umddi.HRTQuery{})
		assert.Equal(t, name, r.failed)
		assert.Equal(t, []ddi.HRESULT{ddi.EOutOfMemory}, r.errors())
		assert.Nil(t, r.driver().queries.get(o))
		assert.Len(t, r.handles, 1)
	}
}
