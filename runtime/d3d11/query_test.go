package d3d11

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi"
)

// bothWays runs a test with command lists of the driver and with command lists
// of the runtime. The driver supports predication.
func bothWays(t *testing.T, test func(t *testing.T, b *bench)) {
	t.Run("native", func(t *testing.T) { test(t, nativeBench(t)) })
	t.Run("emulated", func(t *testing.T) { test(t, newBench(t, predicated)) })
}

func (b *bench) query(typ QueryType) *Query {
	b.Helper()
	q, err := b.dev.CreateQuery(&QueryDesc{Query: typ})
	require.NoError(b, err)
	return q
}

func TestQueryTypes(t *testing.T) {
	b, plain := nativeBench(t), newBench(t)
	for _, tt := range []struct {
		typ               QueryType
		size              uint32
		ranged, predicate bool
	}{
		{0, 4, false, false}, {1, 8, true, false}, {2, 8, false, false}, {3, 16, true, false},
		{4, 0, false, false}, {5, 4, true, true}, {6, 0, false, false}, {7, 4, true, true},
		{8, 0, false, false}, {9, 0, false, false}, {15, 0, false, false},
	} {
		desc := QueryDesc{Query: tt.typ}
		hint := QueryDesc{Query: tt.typ, MiscFlags: QueryPredicateHint}
		result := func(ok bool) ddi.HRESULT {
			if ok {
				return ddi.OK
			}
			return ddi.EInvalidArg
		}
		q, err := b.dev.CreateQuery(&desc)
		check(t, result(tt.size != 0), err, tt.typ)
		_, err = b.dev.CreateQuery(&hint)
		check(t, result(tt.predicate), err, "hint of %d", tt.typ)
		_, err = b.dev.CreatePredicate(&desc)
		check(t, result(tt.predicate), err, "predicate of %d", tt.typ)
		_, err = plain.dev.CreateQuery(&desc)
		check(t, result(tt.typ == 0), err, "%d without predication", tt.typ)
		if q == nil {
			continue
		}
		assert.Equal(t, desc, q.GetDesc())
		assert.Equal(t, tt.size, q.GetDataSize())
		data := make([]byte, tt.size)
		data[0] = 9
		check(t, ddi.DXGIInvalidCall, b.ctx.GetData(q, data, 0), "before any End")
		b.drv.log = nil
		b.ctx.Begin(q)
		b.ctx.Begin(q)
		assert.Equal(t, tt.ranged, b.drv.count("QueryBegin") == 2)
		check(t, ddi.DXGIInvalidCall, b.ctx.GetData(q, data, 0), "before End")
		b.ctx.End(q)
		for _, n := range []uint32{1, tt.size - 1, tt.size + 1, 2} {
			check(t, ddi.EInvalidArg, b.ctx.GetData(q, make([]byte, n), 0))
		}
		assert.EqualValues(t, 9, data[0])
		check(t, ddi.OK, b.ctx.GetData(q, nil, 0))
		check(t, ddi.OK, b.ctx.GetData(q, data, 0))
		assert.EqualValues(t, 1, data[0])
		b.ctx.End(q)
		want := []string{"QueryEnd", "QueryEnd"}
		if tt.ranged {
			want = []string{"QueryBegin", "QueryBegin", "QueryEnd", "QueryBegin", "QueryEnd"}
		}
		var marks []string
		for _, n := range b.drv.log {
			if n == "QueryBegin" || n == "QueryEnd" {
				marks = append(marks, n)
			}
		}
		assert.Equal(t, want, marks, "an End without Begin has an empty range")
		if tt.ranged {
			b.ctx.Begin(q)
			check(t, ddi.DXGIInvalidCall, b.ctx.GetData(q, data, 0), "the next range")
			b.ctx.End(q)
		}
	}
	_, err := b.dev.CreatePredicate(nil)
	check(t, ddi.EInvalidArg, err)
}

// TestQueriesInLists: a query in a list has no result until the list executes.
// An active query ends with the list.
// TestBeginTwice: Begin of a query that is begun reaches the driver, and End ends
// the query once.
func TestBeginTwice(t *testing.T) {
	b := newBench(t, predicated)
	q, dc := b.predicate(), b.deferred()
	b.ctx.Begin(q)
	b.ctx.Begin(q)
	assert.Equal(t, 2, b.drv.count("QueryBegin"))
	assert.Equal(t, Message{CategoryExecution, SeverityWarning, MessageQueryBeginDuplicate,
		"Begin: warning: Async is begun already, and begins again"}, b.last())
	b.ctx.End(q)
	assert.Equal(t, 1, b.drv.count("QueryEnd"))
	for range 3 {
		dc.Begin(q)
	}
	b.ctx.ExecuteCommandList(b.finish(dc, false), false)
	assert.Equal(t, 5, b.drv.count("QueryBegin"))
	assert.Equal(t, 2, b.drv.count("QueryEnd"))
	assert.NoError(t, b.ctx.GetData(q, nil, 0))
}

func TestQueriesInLists(t *testing.T) {
	bothWays(t, func(t *testing.T, b *bench) {
		q, dc, data := b.query(QueryOcclusion), b.deferred(), make([]byte, 8)
		dc.Begin(q)
		dc.CopyResource(b.constant(), b.constant())
		check(t, ddi.DXGIInvalidCall, dc.GetData(q, data, 0))
		inner := b.finish(dc, false)
		dc.ExecuteCommandList(inner, false)
		outer := b.finish(dc, false)
		check(t, ddi.DXGIInvalidCall, b.ctx.GetData(q, data, 0))
		b.drv.log = nil
		b.ctx.ExecuteCommandList(outer, false)
		assert.Equal(t, []string{"QueryBegin", "ResourceCopy", "QueryEnd"}, b.drv.log)
		check(t, ddi.OK, b.ctx.GetData(q, data, 0))
		check(t, ddi.DXGIInvalidCall, dc.GetData(q, data, 0))

		b.ctx.Begin(q)
		b.drv.log = nil
		for _, l := range []*CommandList{inner, outer} {
			b.ctx.IASetPrimitiveTopology(TopologyLineList)
			b.ctx.ExecuteCommandList(l, false)
			assert.Zero(t, b.ctx.IAGetPrimitiveTopology(), "FALSE leaves the default state")
		}
		assert.NotContains(t, b.drv.log, "QueryEnd", "active where the list is executed")
		b.ctx.End(q)
		dc.Begin(q)
		dc.ExecuteCommandList(inner, false)
		dc.End(q)
		unnested := b.finish(dc, false)
		b.ctx.ClearState()
		b.drv.log = nil
		b.ctx.ExecuteCommandList(unnested, false)
		assert.Equal(t, []string{"QueryBegin", "QueryEnd"}, b.drv.log, "nor recorded")
	})
}

// TestQueryIsReleasedWhileItIsBegun: an active query stays alive.
func TestQueryIsReleasedWhileItIsBegun(t *testing.T) {
	bothWays(t, func(t *testing.T, b *bench) {
		for _, c := range []*Context{b.ctx, b.deferred()} {
			q := b.query(QueryOcclusion)
			c.Begin(q)
			q.Release()
			c.End(q)
			assert.Len(t, c.begun, 1)
			if c == b.ctx {
				continue
			}
			l := b.finish(c, false)
			assert.Empty(t, c.begun)
			b.ctx.ExecuteCommandList(l, false)
			l.Release()
			assert.Len(t, b.drv.queries, 1, "that of the immediate context")
		}
	})
}

func TestSetPredication(t *testing.T) {
	bothWays(t, func(t *testing.T, b *bench) {
		p, unused, plain := b.predicate(), b.predicate(), b.query(QueryOcclusion)
		b.ctx.End(p)
		other := newBench(t, predicated).predicate()
		for _, c := range []*Context{b.ctx, b.deferred()} {
			set := func(q *Query) *Query {
				c.SetPredication(q, true)
				got, value := c.GetPredication()
				assert.Equal(t, got != nil, value)
				if got != nil {
					got.Release()
				}
				return got
			}
			assert.Nil(t, set(plain), "no predicate")
			assert.Nil(t, set(other), "of another device")
			c.Begin(unused)
			assert.Nil(t, set(unused), "begun")
			c.End(unused)
			assert.Same(t, p, set(p))
			c.Begin(p)
			assert.Empty(t, c.begun, "in use")
			b.drv.log = nil
			c.End(p)
			assert.NotContains(t, b.drv.log, "QueryEnd")
			assert.Same(t, p, set(plain))
			assert.Nil(t, set(nil))
			assert.Same(t, p, set(p))
			c.ClearState()
			got, _ := c.GetPredication()
			assert.Nil(t, got)
		}
		fresh := b.predicate()
		b.ctx.SetPredication(fresh, true)
		got, _ := b.ctx.GetPredication()
		assert.Nil(t, got, "it has never ended")
	})
	b := newBench(t)
	b.ctx.SetPredication(b.query(QueryEvent), true)
	got, _ := b.ctx.GetPredication()
	assert.Nil(t, got)
}

// TestPredication: clears, copies and updates are skipped if the result equals
// the value, only in the list that sets the predicate.
func TestPredication(t *testing.T) {
	bothWays(t, func(t *testing.T, b *bench) {
		for _, result := range []bool{false, true} {
			for _, value := range []bool{false, true} {
				p, dst, dc := b.predicate(), b.constant(), b.deferred()
				b.drv.results[id(&p.obj)] = result
				b.ctx.End(p)
				dc.SetPredication(p, value)
				dc.UpdateSubresource(dst, 0, nil, ramp(100, 16), 0, 0)
				l := b.finish(dc, true)
				dc.UpdateSubresource(dst, 0, nil, ramp(200, 16), 0, 0)
				kept := b.finish(dc, false)
				dc.UpdateSubresource(dst, 0, nil, ramp(50, 16), 0, 0)
				free := b.finish(dc, false)
				want := ramp(0, 16)
				for _, step := range []struct {
					list  *CommandList
					first byte
				}{{l, 100}, {kept, 200}} {
					b.ctx.ExecuteCommandList(step.list, false)
					if result != value {
						want = ramp(step.first, 16)
					}
					assert.Equal(t, want, b.drv.content(dst, 0), "%v %v", result, value)
				}
				b.ctx.SetPredication(p, result)
				b.ctx.ExecuteCommandList(free, true)
				assert.Equal(t, ramp(50, 16), b.drv.content(dst, 0), "a list begins without it")
				got, v := b.ctx.GetPredication()
				assert.Same(t, p, got)
				assert.Equal(t, result, v)
				got.Release()
				b.ctx.UpdateSubresource(dst, 0, nil, ramp(1, 16), 0, 0)
				assert.Equal(t, ramp(50, 16), b.drv.content(dst, 0), "it is back after the list")

				s, err := b.dev.CreateDeviceContextState(0)
				require.NoError(t, err)
				before := b.ctx.SwapDeviceContextState(s)
				assert.Zero(t, b.drv.state.Predicate)
				b.ctx.SwapDeviceContextState(before)
				assert.Equal(t, id(&p.obj), b.drv.state.Predicate[0])
				b.ctx.ClearState()
			}
		}
	})
}
