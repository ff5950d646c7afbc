package umd

import (
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// A predicate is what data movement and clears depend on: they are skipped if
// the result of the query is value.
type predicate struct {
	query id // the zero id: they are not skipped
	value bool
}

// setPredication makes data movement and clears depend on a query.
//
//	DDI     PFND3D10DDI_SETPREDICATION, d3d10umddi.h
//	In      q: the query, nil is none; value: the result that skips
//	Effect  a PREDICATE packet in front of each COPY, COPY_2D and FILL_2D that
//	        is recorded from then on. The GPU reads the result when it gets
//	        there. Maps, presents, queries and initial data do not depend on it
//	Returns through SetErrorCb: DDIDeviceRemoved for a handle that is not one
//	        of a living query with a result of TRUE or FALSE
func setPredication(t *ddi.Thread, h umddi.HDevice, q umddi.HQuery, value bool) {
	d := deviceOf(h)
	if q.Object == nil {
		d.predicate = predicate{}
		return
	}
	d.report(t, d.predicateOn(d.queries.id(q.Object), value))
}

// predicateOn sets the predicate to the query k, if that can be one.
func (d *device) predicateOn(k id, value bool) ddi.HRESULT {
	if obj := d.queries.at(k); obj == nil || !obj.predicate() {
		return ddi.EFail
	}
	d.predicate = predicate{k, value}
	return ddi.OK
}

// predicateAlloc returns the memory of the query that is the predicate, or nil
// if it has been destroyed: then nothing is skipped.
func (d *device) predicateAlloc() *allocation {
	if q := d.queries.at(d.predicate.query); q != nil {
		return q.alloc
	}
	return nil
}
