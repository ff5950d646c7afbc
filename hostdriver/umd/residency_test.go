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
