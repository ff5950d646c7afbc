package model

import (
	"slices"

	"github.com/hilgpu/hilgpu/runtime/d3d11"
	"github.com/hilgpu/hilgpu/runtime/ddi"
)

// A Query is a query. Nothing is ever drawn, so the result of a counting query is 0
// or FALSE.
type Query struct {
	Type d3d11.QueryType
	Hint bool // D3D11_QUERY_MISC_PREDICATEHINT is set

	Refs int // the application's references

	Ended bool // the immediate context has executed an End after the last Begin
	Order int  // number of that End among all Ends
}

// Alive reports whether the application may use the query.
func (q *Query) Alive() bool { return q != nil && q.Refs > 0 }

// Predicate reports whether SetPredication accepts the query.
func (q *Query) Predicate() bool {
	return q.Type == d3d11.QueryOcclusionPredicate || q.Type == d3d11.QueryOverflowPredicate
}

// ranged reports whether the query has a Begin.
func (q *Query) ranged() bool {
	return q.Type != d3d11.QueryEvent && q.Type != d3d11.QueryTimestamp
}

// Size returns the size of the result, in bytes.
func (q *Query) Size() int {
	switch q.Type {
	case d3d11.QueryOcclusion, d3d11.QueryTimestamp:
		return 8
	case d3d11.QueryTimestampDisjoint:
		return 16
	}
	return 4
}

// Begin is ID3D11DeviceContext::Begin.
func (c *Context) Begin(q *Query) {
	if c.working() && q.Alive() && q.ranged() && c.State.Predicate != q {
		c.begin(q)
	}
}

func (c *Context) begin(q *Query) {
	if !slices.Contains(c.begun, q) {
		c.begun = append(c.begun, q)
	}
	if c.Deferred {
		c.rec.queries[q] = true
	}
	c.always(func() { q.Ended = false })
}

// End is ID3D11DeviceContext::End. A range without a Begin begins here.
func (c *Context) End(q *Query) {
	if c.working() && q.Alive() && c.State.Predicate != q {
		c.end(q)
	}
}

func (c *Context) end(q *Query) {
	c.begun = slices.DeleteFunc(c.begun, func(x *Query) bool { return x == q })
	if c.Deferred {
		c.rec.queries[q] = true
		c.rec.ended[q] = true
	}
	d := c.Device
	c.always(func() {
		d.ends++
		q.Ended, q.Order = true, d.ends
	})
}

// GetData returns the result of GetData, except S_FALSE while the GPU works. n is
// the requested size in bytes.
func (c *Context) GetData(q *Query, n int) ddi.HRESULT {
	switch {
	case c.Deferred:
		return ddi.DXGIInvalidCall
	case !q.Alive() || n != 0 && n != q.Size():
		return ddi.EInvalidArg
	case !q.Ended:
		return ddi.DXGIInvalidCall
	}
	return ddi.OK
}

// SetPredication is ID3D11DeviceContext::SetPredication.
func (c *Context) SetPredication(q *Query, value bool) {
	if !c.working() {
		return
	}
	if q != nil && (!q.Alive() || !q.Predicate() || slices.Contains(c.begun, q) || !c.Deferred && !q.Ended) {
		return
	}
	c.State.Predicate, c.State.Value = q, q != nil && value
}

// SettledPredication reports whether the effect of predication with q and value is
// defined. A hint may be ignored, which matters if it would skip work.
func SettledPredication(q *Query, value bool) bool { return q == nil || !q.Hint || value }
