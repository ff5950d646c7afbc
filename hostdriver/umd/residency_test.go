package umd

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// The priority of a resource is that of all its allocations, also of those that it gets when
// it is renamed.
func TestPriorityOfAResource(t *testing.T) {
	r := newRig(t)
	res := r.create(buf(256, umddi.UsageDynamic))
	first := r.next
	set := func(p uint32) ddi.HRESULT {
		return r.dx.SetResourcePriority(r.th, umddi.SetResourcePriority{Device: r.h, Resource: res, Priority: p})
	}
	assert.Equal(t, ddi.OK, set(umddi.AllocationPriorityHigh))
	assert.EqualValues(t, umddi.AllocationPriorityHigh, r.handles[first].priority)
	dst := r.create(buf(256, umddi.UsageDefault))
	assert.Zero(t, r.handles[r.next].priority, "another resource")
	r.f.ResourceCopy(r.th, r.h, dst, res)
	r.f.DynamicIABufferMapDiscard(r.th, r.h, res, 0, umddi.MapWriteDiscard, 0)
	r.f.DynamicIABufferUnmap(r.th, r.h, res, 0)
	second := r.next
	assert.NotEqual(t, first, second)
	assert.EqualValues(t, umddi.AllocationPriorityHigh, r.handles[second].priority, "the allocation of a discard")
	assert.Equal(t, ddi.OK, set(umddi.AllocationPriorityLow))
	assert.EqualValues(t, umddi.AllocationPriorityLow, r.handles[first].priority)
	assert.EqualValues(t, umddi.AllocationPriorityLow, r.handles[second].priority)

	for _, hr := range []ddi.HRESULT{ddi.EInvalidArg, ddi.DDIDeviceRemoved} {
		r.failAt, r.failHR = 1, hr
		assert.Equal(t, ddi.DDIDeviceRemoved, set(umddi.AllocationPriorityHigh))
	}
	assert.Empty(t, r.errs, "it returns its error")
	r.f.DestroyResource(r.th, r.h, res)
	assert.Equal(t, ddi.DDIDeviceRemoved, set(umddi.AllocationPriorityHigh))
}

// Recorded work that uses a resource is submitted before the resource is offered.
func TestOfferOfAResource(t *testing.T) {
	r := newRig(t)
	x, y := r.create(buf(256, umddi.UsageDefault)), r.create(buf(256, umddi.UsageDynamic))
	first := r.next
	r.f.ResourceCopy(r.th, r.h, x, y)
	r.f.DynamicIABufferMapDiscard(r.th, r.h, y, 0, umddi.MapWriteDiscard, 0)
	r.f.DynamicIABufferUnmap(r.th, r.h, y, 0)
	current := r.next
	r.log = nil
	offer := func(rs ...umddi.HResource) ddi.HRESULT {
		return r.dx.OfferResources(r.th, umddi.OfferResources{Device: r.h, Resources: rs, Priority: umddi.OfferPriorityHigh})
	}
	reclaim := func(rs ...umddi.HResource) ([]bool, ddi.HRESULT) {
		lost := make([]bool, len(rs))
		hr := r.dx.ReclaimResources(r.th, umddi.ReclaimResources{Device: r.h, Resources: rs, Discarded: lost})
		return lost, hr
	}
	assert.Equal(t, ddi.OK, offer(x, y))
	assert.Equal(t, []string{"Render", "Offer"}, r.log)
	assert.Equal(t, umddi.OfferPriorityHigh, r.handles[first].offered, "each allocation")
	assert.Equal(t, umddi.OfferPriorityHigh, r.handles[current].offered)
	for _, tt := range []struct{ first, current bool }{{true, false}, {false, true}} {
		r.handles[first].lost, r.handles[current].lost = tt.first, tt.current
		lost, hr := reclaim(x, y)
		assert.Equal(t, ddi.OK, hr)
		assert.Equal(t, []bool{false, tt.current}, lost, "the content is that of the current allocation")
		assert.Equal(t, ddi.OK, offer(x, y))
	}
	assert.NotContains(t, r.log[2:], "Render", "nothing was recorded")
	r.failAt, r.failHR = 1, ddi.EInvalidArg
	_, hr := reclaim(x)
	assert.Equal(t, ddi.DDIDeviceRemoved, hr)
	r.failAt = 1
	assert.Equal(t, ddi.DDIDeviceRemoved, offer(x))
	r.f.DestroyResource(r.th, r.h, x)
	assert.Equal(t, ddi.DDIDeviceRemoved, offer(x))
	assert.Empty(t, r.errs)
}
