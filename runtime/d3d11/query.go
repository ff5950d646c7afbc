package d3d11

import (
	"slices"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// QueryType is D3D11_QUERY.
type QueryType uint32

// The supported types and their data. A driver without SetPredication supports
// only QueryEvent.
const (
	QueryEvent              QueryType = 0 // BOOL, 4 bytes: the work before End is done
	QueryOcclusion          QueryType = 1 // UINT64: number of samples that passed
	QueryTimestamp          QueryType = 2 // UINT64: ticks
	QueryTimestampDisjoint  QueryType = 3 // UINT64 ticks per second, BOOL, 4 bytes of 0
	QueryOcclusionPredicate QueryType = 5 // BOOL, 4 bytes: TRUE if any samples passed
	QueryOverflowPredicate  QueryType = 7 // BOOL, 4 bytes: D3D11_QUERY_SO_OVERFLOW_PREDICATE
)

// QueryPredicateHint is D3D11_QUERY_MISC_PREDICATEHINT: the GPU may do the work
// instead of waiting for the result of the predicate.
const QueryPredicateHint = 1

// QueryDesc is D3D11_QUERY_DESC.
type QueryDesc struct {
	Query     QueryType
	MiscFlags uint32 // 0, or QueryPredicateHint for a predicate
}

// GetDataFlags is D3D11_ASYNC_GETDATA_FLAG.
type GetDataFlags uint32

// GetDataDoNotFlush asks GetData not to submit pending work.
const GetDataDoNotFlush GetDataFlags = 1

// maxQueryData is the size of the largest query result, in bytes.
const maxQueryData = 16

// dataSize returns the size of a type's result in bytes, 0 for an unknown type.
func (t QueryType) dataSize() uint32 {
	switch t {
	case QueryEvent, QueryOcclusionPredicate, QueryOverflowPredicate:
		return 4
	case QueryOcclusion, QueryTimestamp:
		return 8
	case QueryTimestampDisjoint:
		return 16
	}
	return 0
}

// predicate reports whether the type is a predicate (ID3D11Predicate).
func (t QueryType) predicate() bool {
	return t == QueryOcclusionPredicate || t == QueryOverflowPredicate
}

// hasBegin reports whether the query type uses Begin.
func (t QueryType) hasBegin() bool { return t != QueryEvent && t != QueryTimestamp }

// A Query is ID3D11Query, and ID3D11Predicate if its type is a predicate.
type Query struct {
	child

	obj  ddi.Object
	desc QueryDesc

	// An End was executed since the last Begin. Only for the immediate context.
	ended bool
}

// CreateQuery creates a query. It has no equivalent to validating desc with a
// NULL result, which returns S_FALSE in Direct3D.
//
//	DDI     pfnCalcPrivateQuerySize, pfnCreateQuery,
//	        pfnCalcDeferredContextHandleSize
//	Returns EInvalidArg if desc is nil, or has an unknown flag or a type that is
//	        unknown or not supported by the driver; EOutOfMemory;
//	        DXGIDeviceRemoved
func (d *Device) CreateQuery(desc *QueryDesc) (*Query, error) {
	return d.createQuery("CreateQuery", desc)
}

// createQuery is CreateQuery for a call of the API.
func (d *Device) createQuery(api string, desc *QueryDesc) (*Query, error) {
	if d.removed() {
		return nil, d.gone(nil, api)
	}
	if p := d.queryProblem(desc); p.found() {
		return nil, d.refuse(nil, api, p)
	}
	q := &Query{desc: *desc}
	if err := q.create(d, api); err != nil {
		return nil, err
	}
	q.adopt(d, q)
	return q, nil
}

// CreatePredicate creates a query for SetPredication.
//
//	Returns as CreateQuery; EInvalidArg also if desc is not a predicate
func (d *Device) CreatePredicate(desc *QueryDesc) (*Query, error) {
	const api = "CreatePredicate"
	if !d.removed() && desc != nil && !desc.Query.predicate() {
		return nil, d.refuse(nil, api, problemf(MessageCreateQueryInvalidQuery, "Query is %d, want %d or %d",
			desc.Query, QueryOcclusionPredicate, QueryOverflowPredicate))
	}
	return d.createQuery(api, desc)
}

// queryProblem returns why desc is invalid.
func (d *Device) queryProblem(desc *QueryDesc) problem {
	switch {
	case desc == nil:
		return problem{MessageCreateQueryNullDesc, "QueryDesc is nil"}
	case desc.Query.dataSize() == 0:
		return problemf(MessageCreateQueryInvalidQuery, "Query is %d, which is not supported", desc.Query)
	case desc.Query != QueryEvent && !d.predicates:
		return problemf(MessageCreateQueryInvalidQuery, "Query is %d, want %d, the only one of a driver without pfnSetPredication",
			desc.Query, QueryEvent)
	case desc.MiscFlags&^QueryPredicateHint != 0:
		return problemf(MessageCreateQueryInvalidMiscFlags, "MiscFlags is %#x, want 0 or %#x", desc.MiscFlags, QueryPredicateHint)
	case desc.MiscFlags != 0 && !desc.Query.predicate():
		return problemf(MessageCreateQueryUnexpectedMiscFlag, "MiscFlags is %#x, want 0 for query type %d", desc.MiscFlags, desc.Query)
	}
	return problem{}
}

// create creates the driver's object of q for a call of the API. On failure
// there is none.
func (q *Query) create(d *Device, api string) error {
	arg := umddi.CreateQuery{Query: umddi.QueryType(q.desc.Query), MiscFlags: q.desc.MiscFlags}
	k := d.acquireCall()
	defer d.releaseCall(k)
	k.enter(api)
	defer k.leave(api)
	return k.failed(api, q.createOn(k, arg))
}

// createOn is create with the thread and the description.
func (q *Query) createOn(k *call, arg umddi.CreateQuery) ddi.HRESULT {
	d := k.dev
	n := d.funcs.CalcPrivateQuerySize(k.begin("pfnCalcPrivateQuerySize", 0), d.h, arg)
	if hr := k.end(); hr != ddi.OK {
		return hr
	}
	var ok bool
	if q.obj, ok = private(n); !ok {
		return k.sizeBroken(n)
	}
	d.funcs.CreateQuery(k.begin("pfnCreateQuery", mayCreate), d.h, arg, q.handle(), umddi.HRTQuery{Runtime: q})
	hr := k.end()
	if hr != ddi.OK {
		return hr
	}
	if q.localSize, hr = k.localSize(umddi.HandleQuery, &q.obj); hr != ddi.OK {
		q.destroyHandle(k, d)
	}
	return hr
}

// GetDesc returns the description of the query.
func (q *Query) GetDesc() QueryDesc { return q.desc }

// GetDataSize returns the size of the result in bytes.
func (q *Query) GetDataSize() uint32 { return q.desc.Query.dataSize() }

func (q *Query) handle() umddi.HQuery { return umddi.HQuery{Object: &q.obj} }

func (q *Query) destroyHandle(k *call, d *Device) {
	d.funcs.DestroyQuery(k.begin("pfnDestroyQuery", mayRemove), d.h, q.handle())
	k.end()
}

func (q *Query) destroy() {
	k := q.dev.acquireCall()
	k.enter("Release")
	q.destroyHandle(k, q.dev)
	k.leave("Release")
	q.dev.releaseCall(k)
}

// markProblem returns why the context may not begin or end q. The current
// predicate must not be begun or ended, which is message id.
func (c *Context) markProblem(q *Query, id MessageID) problem {
	switch {
	case q == nil:
		return problem{MessageInvalidObject, "Async is nil"}
	case !q.usable(c.dev):
		return q.misused(c.dev, MessageInvalidObject, "Async")
	case c.state.predicate == q:
		return problem{id, "Async is the predicate of the context"}
	}
	return problem{}
}

// Begin starts the range of a query, again if it is active. It does nothing to a
// query type without a range, or to the current predicate.
//
//	DDI     pfnQueryBegin
//	Source  learn.microsoft.com, nf-d3d11-id3d11devicecontext-begin
func (c *Context) Begin(q *Query) {
	const api = "Begin"
	c, l := c.lock(api)
	defer l.unlock()
	if !c.dropsAll(api) && !c.dropsOn(api, c.beginProblem(q)) {
		if slices.Contains(c.begun, q) {
			c.dev.warn(api, problem{MessageQueryBeginDuplicate, "Async is begun already, and begins again"})
		}
		c.queryBegin(q)
	}
}

// beginProblem returns why the context may not begin q.
func (c *Context) beginProblem(q *Query) problem {
	p := c.markProblem(q, MessagePredicateBeginDuringPredication)
	switch {
	case p.found():
	case !q.desc.Query.hasBegin():
		p = problemf(MessageQueryBeginUnsupported, "Async is a query of type %d, which has no Begin", q.desc.Query)
	}
	return p
}

// End ends the range of a query, or marks the point that a query without a
// range waits for. A range that was not begun starts here. It does nothing to
// the current predicate.
//
//	DDI     pfnQueryBegin, if the range was not begun; pfnQueryEnd
//	Source  learn.microsoft.com, nf-d3d11-id3d11devicecontext-end
func (c *Context) End(q *Query) {
	const api = "End"
	c, l := c.lock(api)
	defer l.unlock()
	if c.dropsAll(api) || c.dropsOn(api, c.markProblem(q, MessagePredicateEndDuringPredication)) {
		return
	}
	if q.desc.Query.hasBegin() && !slices.Contains(c.begun, q) {
		c.queryBegin(q)
	}
	c.queryEnd(q)
}

func (c *Context) queryBegin(q *Query) {
	if !slices.Contains(c.begun, q) {
		c.holdBound(&q.child, umddi.HandleQuery)
		c.begun = append(c.begun, q)
	}
	c.recordQuery(q)
	if c.rec != nil {
		c.rec.put(opQueryBegin, 0, 0)
		c.rec.object(q)
		return
	}
	if !c.deferred {
		q.ended = false
	}
	h := c.queryHandle(q)
	if c.callsDriver() {
		c.funcs.QueryBegin(c.begin("pfnQueryBegin", maySet), c.h, h)
		c.end()
	}
}

func (c *Context) queryEnd(q *Query) {
	i := slices.Index(c.begun, q)
	if i < 0 {
		c.markEnd(q)
		return
	}
	c.begun = slices.Delete(c.begun, i, i+1)
	c.markEnd(q)
	c.dropBound(&q.child)
}

// markEnd records the end of a query.
func (c *Context) markEnd(q *Query) {
	c.recordQuery(q)
	if c.rec != nil {
		c.rec.put(opQueryEnd, 0, 0)
		c.rec.object(q)
		return
	}
	h := c.queryHandle(q)
	if !c.callsDriver() {
		return
	}
	c.funcs.QueryEnd(c.begin("pfnQueryEnd", maySet), c.h, h)
	if c.end() == ddi.OK && !c.deferred {
		q.ended = true
	}
}

// GetData reads the result of a query.
//
//	DDI     pfnQueryGetData
//	In      data: GetDataSize bytes, or empty to ask only whether the result is
//	        available
//	Out     data: the result, if the return value is nil
//	Returns ddi.False while the result is not available; EInvalidArg for a wrong
//	        size, an invalid query or flag; DXGIInvalidCall on a deferred
//	        context, before an End was executed, and between Begin and End;
//	        DXGIDeviceRemoved
func (c *Context) GetData(q *Query, data []byte, flags GetDataFlags) error {
	const api = "GetData"
	c, l := c.lock(api)
	defer l.unlock()
	switch {
	case c.deferred:
		p := problem{MessageQueryGetDataInvalidCall, "the context is deferred, want the immediate one"}
		return c.dev.failed(c.call, api, ddi.DXGIInvalidCall, p, nil)
	case c.dev.removed():
		return c.dev.gone(c.call, api)
	}
	if p := c.dataProblem(q, data, flags); p.found() {
		return c.dev.refuse(c.call, api, p)
	}
	if !q.ended {
		p := problem{MessageQueryGetDataInvalidCall, "Async has no End since its last Begin"}
		return c.dev.failed(c.call, api, ddi.DXGIInvalidCall, p, nil)
	}
	clear(c.queryData[:])
	answer := c.queryData[:q.GetDataSize()]
	c.funcs.QueryGetData(c.begin("pfnQueryGetData", mayGet), c.h, q.handle(), answer, umddi.GetDataFlags(flags))
	switch hr := c.end(); hr {
	case ddi.OK:
		copy(data, answer)
		return nil
	case ddi.DDIStillDrawing:
		return ddi.False
	default:
		return c.call.failed(api, hr)
	}
}

// dataProblem returns why the arguments of GetData are invalid.
func (c *Context) dataProblem(q *Query, data []byte, flags GetDataFlags) problem {
	switch {
	case q == nil:
		return problem{MessageInvalidObject, "Async is nil"}
	case !q.usable(c.dev):
		return q.misused(c.dev, MessageInvalidObject, "Async")
	case flags&^GetDataDoNotFlush != 0:
		return problemf(MessageQueryGetDataInvalidFlags, "GetDataFlags is %#x, want 0 or %#x", flags, GetDataDoNotFlush)
	case len(data) != 0 && len(data) != int(q.GetDataSize()):
		return problemf(MessageQueryGetDataInvalidDataSize, "DataSize is %d, want 0 or %d", len(data), q.GetDataSize())
	}
	return problem{}
}
