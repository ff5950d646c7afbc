package umd

import (
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// queryBytes is the size of a query's allocation: one time stamp.
const queryBytes = 8

// A query is an EVENT: a time stamp that the GPU writes behind the work it
// waits for. That it was written is known from the kernel, which counts the
// allocation as used until then.
type query struct {
	alloc *allocation
	ended bool // QueryEnd was called
}

func calcPrivateQuerySize(*ddi.Thread, umddi.HDevice, umddi.CreateQuery) int { return privateBytes }

// createQuery makes an event query with its allocation.
//
//	DDI     PFND3D10DDI_CREATEQUERY, d3d10umddi.h
//	Caller  any thread
//	Returns through SetErrorCb: EOutOfMemory, DDIDeviceRemoved, the latter also
//	        for another type of query; nothing is kept
func createQuery(t *ddi.Thread, h umddi.HDevice, arg umddi.CreateQuery, q umddi.HQuery, _ umddi.HRTQuery) {
	d := deviceOf(h)
	if arg.Query != umddi.QueryEvent {
		d.report(t, ddi.EFail)
		return
	}
	k := system(queryBytes)
	a, hr := d.allocate(t, &k)
	if hr.Failed() {
		d.report(t, hr, ddi.EOutOfMemory)
		return
	}
	d.queries.put(q.Object, &query{alloc: a})
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

// queryBegin has nothing to do, as an event has an end only.
func queryBegin(t *ddi.Thread, h umddi.HDevice, q umddi.HQuery) {
	d := deviceOf(h)
	if d.queries.get(q.Object) == nil {
		d.report(t, ddi.EFail)
	}
}

// queryEnd asks for the event: all work recorded so far is done.
//
//	DDI     PFND3D10DDI_QUERYEND, d3d10umddi.h
//	Effect  a TIMESTAMP packet
func queryEnd(t *ddi.Thread, h umddi.HDevice, q umddi.HQuery) {
	d := deviceOf(h)
	obj := d.queries.get(q.Object)
	if obj == nil {
		d.report(t, ddi.EFail)
		return
	}
	if hr := d.recordTimestamp(t, obj.alloc); hr.Failed() {
		d.report(t, hr)
		return
	}
	obj.ended = true
}

// queryGetData writes TRUE, 4 bytes, to data if the work that QueryEnd marked is
// done. Shorter data is left alone.
//
//	DDI     PFND3D10DDI_QUERYGETDATA, d3d10umddi.h
//	Effect  submits the batch if the end is in it and DoNotFlush is not set
//	Returns through SetErrorCb: DDIStillDrawing if it is not done,
//	        DDIDeviceRemoved, also for a query that was not ended
func queryGetData(t *ddi.Thread, h umddi.HDevice, q umddi.HQuery, data []byte, flags umddi.GetDataFlags) {
	d := deviceOf(h)
	done, hr := d.signalled(t, d.queries.get(q.Object), flags)
	switch {
	case hr.Failed():
		d.report(t, hr)
	case !done:
		d.report(t, ddi.DDIStillDrawing, ddi.DDIStillDrawing)
	case len(data) >= 4:
		le.PutUint32(data, 1)
	}
}

func (d *device) signalled(t *ddi.Thread, q *query, flags umddi.GetDataFlags) (bool, ddi.HRESULT) {
	if q == nil || !q.ended {
		return false, ddi.EFail
	}
	if flags&umddi.DoNotFlush != 0 && d.batch.uses(q.alloc) {
		return false, ddi.OK
	}
	busy, hr := d.busy(t, q.alloc)
	return !busy, hr
}
