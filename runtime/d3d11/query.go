package d3d11

import (
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// QueryType is D3D11_QUERY.
type QueryType uint32

// QueryEvent is D3D11_QUERY_EVENT: its data is a BOOL of 4 bytes, TRUE once the
// GPU has done all work before End.
const QueryEvent QueryType = 0

// QueryDesc is D3D11_QUERY_DESC.
type QueryDesc struct {
	Query     QueryType
	MiscFlags uint32 // must be 0
}

// GetDataFlags is D3D11_ASYNC_GETDATA_FLAG.
type GetDataFlags uint32

// GetDataDoNotFlush asks GetData not to submit pending work.
const GetDataDoNotFlush GetDataFlags = 1

// queryDataSize is the size of an event query's data, in bytes.
const queryDataSize = 4

// A Query is ID3D11Query.
type Query struct {
	child

	obj   ddi.Object
	desc  QueryDesc
	ended bool // the immediate context has executed an End; only it looks here
}

// CreateQuery makes a query.
//
//	DDI     pfnCalcPrivateQuerySize, pfnCreateQuery
//	Returns EInvalidArg if desc is nil or not of an event query; EOutOfMemory;
//	        DXGIDeviceRemoved
func (d *Device) CreateQuery(desc *QueryDesc) (*Query, error) {
	if d.removed() {
		return nil, ddi.DXGIDeviceRemoved
	}
	if desc == nil || *desc != (QueryDesc{Query: QueryEvent}) {
		return nil, ddi.EInvalidArg
	}
	q := &Query{desc: *desc}
	if hr := q.create(d); hr != ddi.OK {
		return nil, hr
	}
	q.adopt(d, q)
	return q, nil
}

// create makes the driver's object of q. On failure there is none.
func (q *Query) create(d *Device) ddi.HRESULT {
	arg := umddi.CreateQuery{Query: umddi.QueryEvent}
	k := d.acquire()
	defer d.yield(k)
	n := d.funcs.CalcPrivateQuerySize(k.begin(0), d.h, arg)
	if hr := k.end(); hr != ddi.OK {
		return hr
	}
	var ok bool
	if q.obj, ok = private(n); !ok {
		return k.broken()
	}
	d.funcs.CreateQuery(k.begin(mayCreate), d.h, arg, q.handle(), umddi.HRTQuery{Runtime: q})
	return k.end()
}

// GetDesc returns what the query was made from.
func (q *Query) GetDesc() QueryDesc { return q.desc }

// GetDataSize returns the bytes that GetData writes.
func (q *Query) GetDataSize() uint32 { return queryDataSize }

func (q *Query) handle() umddi.HQuery { return umddi.HQuery{Object: &q.obj} }

func (q *Query) destroy() {
	d := q.dev
	k := d.acquire()
	d.funcs.DestroyQuery(k.begin(mayRemove), d.h, q.handle())
	k.end()
	d.yield(k)
}

// Begin does nothing: an event query has no beginning.
//
//	Source  learn.microsoft.com, nf-d3d11-id3d11devicecontext-begin
func (c *Context) Begin(q *Query) {}

// End marks the point in the commands that the query waits for.
//
//	DDI     pfnQueryEnd
func (c *Context) End(q *Query) {
	if !c.ready() || q == nil || !q.usable(c.dev) {
		return
	}
	if c.rec != nil {
		c.rec.put(opQueryEnd, 0, 0)
		c.rec.object(q)
		return
	}
	c.queryEnd(q)
}

func (c *Context) queryEnd(q *Query) {
	c.dev.funcs.QueryEnd(c.call.begin(mayRemove), c.dev.h, q.handle())
	if c.call.end() == ddi.OK {
		q.ended = true
	}
}

// GetData reads the result of a query.
//
//	DDI     pfnQueryGetData
//	In      data: 4 bytes, or none to ask only whether there is a result
//	Out     data: the result, if the return value is nil
//	Returns ddi.False while there is none; EInvalidArg for another size, a bad
//	        query or flag; DXGIInvalidCall on a deferred context or before an
//	        End has been executed; DXGIDeviceRemoved
func (c *Context) GetData(q *Query, data []byte, flags GetDataFlags) error {
	switch {
	case c.deferred:
		return ddi.DXGIInvalidCall
	case c.dev.removed():
		return ddi.DXGIDeviceRemoved
	case q == nil || !q.usable(c.dev) || flags&^GetDataDoNotFlush != 0:
		return ddi.EInvalidArg
	case len(data) != 0 && len(data) != queryDataSize:
		return ddi.EInvalidArg
	case !q.ended:
		return ddi.DXGIInvalidCall
	}
	clear(c.answer[:])
	c.dev.funcs.QueryGetData(c.call.begin(mayGet), c.dev.h, q.handle(), c.answer[:], umddi.GetDataFlags(flags))
	switch hr := c.call.end(); hr {
	case ddi.OK:
		copy(data, c.answer[:])
		return nil
	case ddi.DDIStillDrawing:
		return ddi.False
	default:
		return hr
	}
}
