package umd

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// ask returns the result of a query in data initialized to 0xffffffff.
func (r *rig) ask(q umddi.HQuery, flags umddi.GetDataFlags) []byte {
	data := []byte{255, 255, 255, 255}
	r.f.QueryGetData(r.th, r.h, q, data, flags)
	return data
}

func TestEventQuery(t *testing.T) {
	r := newRig(t)
	pending, untouched := []ddi.HRESULT{ddi.DDIStillDrawing}, []byte{255, 255, 255, 255}
	q := r.query()
	r.f.QueryBegin(r.th, r.h, q)
	r.f.QueryEnd(r.th, r.h, q)

	assert.Equal(t, untouched, r.ask(q, umddi.DoNotFlush))
	assert.Equal(t, pending, r.errors())
	assert.Empty(t, r.queue, "not asked to submit")
	assert.Equal(t, untouched, r.ask(q, 0))
	assert.Equal(t, pending, r.errors())
	assert.Len(t, r.queue, 1)
	assert.Equal(t, untouched, r.ask(q, umddi.DoNotFlush))
	assert.Equal(t, pending, r.errors())

	r.run(1)
	assert.Equal(t, []string{"TIMESTAMP"}, r.ran)
	assert.Equal(t, []byte{1, 0, 0, 0}, r.ask(q, umddi.DoNotFlush))
	assert.Equal(t, []byte{1, 0, 0, 0}, r.ask(q, 0), "again")
	r.f.QueryGetData(r.th, r.h, q, nil, 0)
	assert.Empty(t, r.errs)

	r.f.QueryEnd(r.th, r.h, q)
	assert.Equal(t, untouched, r.ask(q, 0), "ended again")
	assert.Equal(t, pending, r.errors())
}

// An event waits for the work before it, not for the work after it.
func TestEventOrder(t *testing.T) {
	r := newRig(t)
	a, b := r.create(buf(64, umddi.UsageDefault)), r.create(buf(64, umddi.UsageDefault))
	q := r.query()
	r.copy(a, b)
	r.f.QueryEnd(r.th, r.h, q)
	r.flush()
	r.copy(b, a)
	r.flush()
	r.run(1)
	assert.Equal(t, []string{"COPY", "TIMESTAMP"}, r.ran)
	assert.Equal(t, byte(1), r.ask(q, 0)[0])
	assert.Len(t, r.queue, 1)
	assert.Empty(t, r.errs)
}

// A program that polls for an event terminates.
func TestEventSpin(t *testing.T) {
	r := newRig(t)
	r.onPoll = 1
	q := r.query()
	r.f.QueryEnd(r.th, r.h, q)
	n := 0
	for r.ask(q, 0)[0] != 1 && n < 10 {
		n++
	}
	assert.Equal(t, 1, n)
}

func TestQueryRefuses(t *testing.T) {
	r := newRig(t)
	removed := []ddi.HRESULT{ddi.DDIDeviceRemoved}
	q := r.query()
	r.ask(q, 0)
	assert.Equal(t, removed, r.errors(), "not ended")

	o := garbage(privateBytes)
	r.f.CreateQuery(r.th, r.h, umddi.CreateQuery{Query: 4}, umddi.HQuery{Object: o}, umddi.HRTQuery{})
	assert.Equal(t, removed, r.errors(), "another type")
	r.failAt, r.failHR = 1, ddi.EOutOfMemory
	r.f.CreateQuery(r.th, r.h, umddi.CreateQuery{}, umddi.HQuery{Object: o}, umddi.HRTQuery{})
	assert.Equal(t, []ddi.HRESULT{ddi.EOutOfMemory}, r.errors())
	assert.Nil(t, r.driver().queries.get(o))
	assert.Len(t, r.handles, 1)
}
