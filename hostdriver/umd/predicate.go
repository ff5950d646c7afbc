package umd

import (
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// A predicate makes copies, updates and clears conditional: they are skipped if
// the result of the query is value.
type predicate struct {
	query id // zero: no predication
	value bool
}

// setPredication makes copies, updates and clears depend on a query.
//
//	DDI     PFND3D10DDI_SETPREDICATION, d3d10umddi.h
//	In      q: the query, or nil for none; value: the result that skips
//	Effect  a PREDICATE packet before each later COPY, COPY_2D and FILL_2D.
//	        The GPU reads the result when it executes the packet. Maps,
//	        presents, queries and initial data are unconditional
//	Returns through SetErrorCb: DDIDeviceRemoved for a handle that is not a
//	        query with a result of TRUE or FALSE
func setPredication(t *ddi.Thread, h umddi.HDevice, q umddi.HQuery, value bool) {
	d := deviceOf(h)
	if q.Object == nil {
		d.predicate = predicate{}
		return
	}
	d.report(t, d.predicateOn(d.queries.id(q.Object), value))
}

// predicateOn sets the predicate to the query k, if k can be a predicate.
func (d *device) predicateOn(k id, value bool) ddi.HRESULT {
	if obj := d.queries.at(k); obj == nil || !obj.predicate() {
		return ddi.EFail
	}
	d.predicate = predicate{k, value}
	return ddi.OK
}

// predicateAlloc returns the memory of the current predicate. It returns nil if
// there is none or it was destroyed: then nothing is skipped.
func (d *device) predicateAlloc() *allocation {
	if q := d.queries.at(d.predicate.query); q != nil {
		return q.alloc
	}
	return nil
}
