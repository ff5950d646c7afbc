package umd

import (
	"github.com/hilgpu/hilgpu/hostdriver/privdata"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// Layout of a query's allocation, in bytes. The GPU writes a time stamp after
// the work that the query waits for, and the result.
//
//	dword  bits   field
//	0, 1   63..0  time stamp of the last end
//	2, 3   63..0  result, read by PREDICATE
const (
	queryBytes  = 16
	queryResult = 8
)

// A query waits for a time stamp that the GPU writes after the queried work.
// The driver knows from the kernel when it was written: until then the kernel
// counts the allocation as used. OCCLUSION and predicates count the effects of
// draws, which are not supported, so the GPU writes a result of 0.
type query struct {
	typ   umddi.QueryType
	alloc *allocation
	ended bool // QueryEnd was called; for the immediate context
}

// counts reports whether the query has a result in memory.
func (q *query) counts() bool { return q.typ == umddi.QueryOcclusion || q.predicate() }

// predicate reports whether SetPredication accepts the query.
func (q *query) predicate() bool {
	return q.typ == umddi.QueryOcclusionPredicate || q.typ == umddi.QueryOverflowPredicate
}

// dataBytes returns the size of a query's result in bytes, or 0 for an unknown
// type.
func dataBytes(typ umddi.QueryType) int {
	switch typ {
	case umddi.QueryEvent, umddi.QueryOcclusionPredicate, umddi.QueryOverflowPredicate:
		return 4
	case umddi.QueryOcclusion, umddi.QueryTimestamp:
		return 8
	case umddi.QueryTimestampDisjoint:
		return 16
	}
	return 0
}

func calcPrivateQuerySize(*ddi.Thread, umddi.HDevice, umddi.CreateQuery) int { return privateBytes }

// createQuery creates a query and its allocation, with a result of 0.
//
//	DDI     PFND3D10DDI_CREATEQUERY, d3d10umddi.h
//	Caller  any thread
//	Returns through SetErrorCb: EOutOfMemory; DDIDeviceRemoved, also for an
//	        unknown type of query; nothing is kept
func createQuery(t *ddi.Thread, h umddi.HDevice, arg umddi.CreateQuery, q umddi.HQuery, _ umddi.HRTQuery) {
	d := deviceOf(h)
	obj, hr := d.newQuery(t, arg.Query)
	if hr.Failed() {
		d.report(t, hr, ddi.EOutOfMemory)
		return
	}
	d.queries.put(q.Object, obj)
}

func (d *device) newQuery(t *ddi.Thread, typ umddi.QueryType) (*query, ddi.HRESULT) {
	if dataBytes(typ) == 0 {
		return nil, ddi.EFail
	}
	k := allocator{desc: privdata.Allocation{Place: privdata.Result, Bytes: queryBytes}}
	a, hr := d.allocate(t, &k)
	if hr.Failed() {
		return nil, hr
	}
	q := &query{typ: typ, alloc: a}
	if !q.counts() {
		return q, ddi.OK
	}
	l := new(locker)
	data, hr := d.lock(t, l, a, umddi.Lock{})
	if !hr.Failed() {
		clear(data[queryResult:queryBytes])
		hr = d.unlock(t, l, a)
	}
	if hr.Failed() {
		return nil, first(hr, d.free(t, a))
	}
	return q, ddi.OK
}

// destroyQuery destroys a query as destroyResource destroys a resource.
func destroyQuery(t *ddi.Thread, h umddi.HDevice, q umddi.HQuery) {
	d := deviceOf(h)
	obj := d.queries.remove(q.Object)
	if obj == nil {
		d.report(t, ddi.EFail)
		return
	}
	d.report(t, d.free(t, obj.alloc))
}

// queryBegin does nothing, since no query depends on its beginning.
func queryBegin(t *ddi.Thread, h umddi.HDevice, q umddi.HQuery) {
	d := deviceOf(h)
	if d.queries.get(q.Object) == nil {
		d.report(t, ddi.EFail)
	}
}

// queryEnd requests the result of a query: all work recorded so far is done.
//
//	DDI     PFND3D10DDI_QUERYEND, d3d10umddi.h
//	Effect  a FILL of the result, if the query counts, and a TIMESTAMP packet
func queryEnd(t *ddi.Thread, h umddi.HDevice, q umddi.HQuery) {
	d := deviceOf(h)
	d.report(t, d.endQuery(t, d.queries.get(q.Object)))
}

func (d *device) endQuery(t *ddi.Thread, q *query) ddi.HRESULT {
	if q == nil {
		return ddi.EFail
	}
	if q.counts() {
		if hr := d.recordFill(t, q.alloc, queryResult); hr.Failed() {
			return hr
		}
	}
	if hr := d.recordTimestamp(t, q.alloc); hr.Failed() {
		return hr
	}
	q.ended = true
	return ddi.OK
}

// queryGetData writes the result of a query in the format of umddi.QueryType,
// if the work that QueryEnd marked is done. If data is too short, it is
// unchanged.
//
//	DDI     PFND3D10DDI_QUERYGETDATA, d3d10umddi.h
//	Effect  submits the batch if the end is in it and DoNotFlush is not set
//	Returns through SetErrorCb: DDIStillDrawing if the work is not done,
//	        DDIDeviceRemoved, also for a query that was not ended
func queryGetData(t *ddi.Thread, h umddi.HDevice, q umddi.HQuery, data []byte, flags umddi.GetDataFlags) {
	d := deviceOf(h)
	obj := d.queries.get(q.Object)
	memory, hr := d.readQuery(t, obj, flags)
	if hr.Failed() {
		d.report(t, hr, ddi.DDIStillDrawing)
		return
	}
	if len(data) >= dataBytes(obj.typ) {
		d.queryData(obj.typ, memory, data)
	}
}

// readQuery returns the content of a query's allocation. DDIStillDrawing means
// that the GPU has not written it yet.
func (d *device) readQuery(t *ddi.Thread, q *query, flags umddi.GetDataFlags) (m [queryBytes]byte, hr ddi.HRESULT) {
	if q == nil || !q.ended {
		return m, ddi.EFail
	}
	if flags&umddi.DoNotFlush != 0 && d.batch.uses(q.alloc) {
		return m, ddi.DDIStillDrawing
	}
	data, hr := d.lockIdle(t, q.alloc, umddi.Lock{ReadOnly: true, DoNotWait: true})
	if hr.Failed() {
		return m, hr
	}
	copy(m[:], data)
	return m, d.unlock(t, &d.locker, q.alloc)
}

// queryData encodes the result of a query. The GPU's clock has a fixed
// frequency, so no interval is disjoint.
func (d *device) queryData(typ umddi.QueryType, memory [queryBytes]byte, data []byte) {
	switch typ {
	case umddi.QueryEvent:
		le.PutUint32(data, 1)
	case umddi.QueryTimestamp:
		copy(data, memory[:queryResult])
	case umddi.QueryTimestampDisjoint:
		le.PutUint64(data, uint64(d.adapter.info.ClockHz))
		le.PutUint64(data[8:], 0)
	case umddi.QueryOcclusion:
		copy(data, memory[queryResult:])
	case umddi.QueryOcclusionPredicate, umddi.QueryOverflowPredicate:
		le.PutUint32(data, 0)
		if le.Uint64(memory[queryResult:]) != 0 {
			le.PutUint32(data, 1)
		}
	}
}
