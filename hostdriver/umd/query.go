package umd

import (
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// A query's allocation, in bytes: a time stamp that the GPU writes behind the
// work that the query waits for, and what it has counted.
//
//	dword  bits   field
//	0, 1   63..0  time stamp of the last end
//	2, 3   63..0  result: what PREDICATE reads
const (
	queryBytes  = 16
	queryResult = 8
)

// A query asks the GPU, by a time stamp behind the work it waits for. That it
// was written is known from the kernel, which counts the allocation as used
// until then. What OCCLUSION and the predicates count is done by draws, of which
// there are none, so the GPU gets a result of 0 to write.
type query struct {
	typ   umddi.QueryType
	alloc *allocation
	ended bool // QueryEnd was called; the immediate context's
}

// counts reports whether the query has a result in memory.
func (q *query) counts() bool { return q.typ == umddi.QueryOcclusion || q.predicate() }

// predicate reports whether SetPredication takes the query.
func (q *query) predicate() bool {
	return q.typ == umddi.QueryOcclusionPredicate || q.typ == umddi.QueryOverflowPredicate
}

// dataBytes returns the size of a query's data, 0 for a type that there is not.
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

// createQuery makes a query with its allocation. A result in it is 0.
//
//	DDI     PFND3D10DDI_CREATEQUERY, d3d10umddi.h
//	Caller  any thread
//	Returns through SetErrorCb: EOutOfMemory, DDIDeviceRemoved, the latter also
//	        for another type of query; nothing is kept
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
	k := system(queryBytes)
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

// destroyQuery frees a query as destroyResource does a resource.
func destroyQuery(t *ddi.Thread, h umddi.HDevice, q umddi.HQuery) {
	d := deviceOf(h)
	obj := d.queries.remove(q.Object)
	if obj == nil {
		d.report(t, ddi.EFail)
		return
	}
	d.report(t, d.free(t, obj.alloc))
}

// queryBegin has nothing to do, as nothing is counted from a beginning on.
func queryBegin(t *ddi.Thread, h umddi.HDevice, q umddi.HQuery) {
	d := deviceOf(h)
	if d.queries.get(q.Object) == nil {
		d.report(t, ddi.EFail)
	}
}

// queryEnd asks for the result: all work recorded so far is done.
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

// queryGetData writes the data of a query, as umddi.QueryType has it, if the
// work that QueryEnd marked is done. Shorter memory is left alone.
//
//	DDI     PFND3D10DDI_QUERYGETDATA, d3d10umddi.h
//	Effect  submits the batch if the end is in it and DoNotFlush is not set
//	Returns through SetErrorCb: DDIStillDrawing if it is not done,
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

// readQuery returns what the GPU has written to a query's allocation.
// DDIStillDrawing means that it has not yet.
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

// queryData encodes the data of a query. The GPU's clock has one frequency, so
// that no interval is disjoint.
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
