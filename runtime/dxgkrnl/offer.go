package dxgkrnl

import (
	"slices"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// offerAllocationsThunk offers all allocations or none. Work that is queued keeps them until it
// has ended.
//
//	Source  learn.microsoft.com, nc-d3dumddi-pfnd3dddi_offerallocationscb, Remarks
func (k *Kernel) offerAllocationsThunk(t *ddi.Thread, dev ddi.KMHandle, arg *umddi.OfferAllocations) ddi.Status {
	v := k.enter(t)
	defer k.leave(t, &v)
	free := func(a *allocation) bool { return !a.offered() && a.locks == 0 }
	as, s := k.offerable(t, &v, dev, arg.Allocations, free)
	if s.Failed() {
		return s
	}
	if arg.Priority < umddi.OfferPriorityLow || arg.Priority > umddi.OfferPriorityHigh {
		return ddi.StatusInvalidParameter
	}
	for _, a := range as {
		a.offer = arg.Priority
		k.observe(Event{Kind: EventOffer, Allocation: a.handle, Fence: uint32(arg.Priority)})
	}
	return ddi.StatusSuccess
}

// reclaimAllocationsThunk reclaims all allocations or none. It waits for the paging buffers that
// use host memory whose content is lost, and clears that.
func (k *Kernel) reclaimAllocationsThunk(t *ddi.Thread, dev ddi.KMHandle, arg *umddi.ReclaimAllocations) ddi.Status {
	v := k.enter(t)
	defer k.leave(t, &v)
	as, s := k.offerable(t, &v, dev, arg.Allocations, (*allocation).offered)
	switch {
	case s.Failed():
		return s
	case arg.Discarded != nil && len(arg.Discarded) != len(as):
		return ddi.StatusInvalidParameter
	}
	for _, a := range as {
		if s := k.wait(t, "the GPU to be done with discarded content", func() bool { return !a.discarded || a.unused() }); s.Failed() {
			return s
		}
	}
	for i, a := range as {
		if arg.Discarded != nil {
			arg.Discarded[i] = a.discarded
		}
		if a.discarded {
			clear(a.pages.Bytes)
		}
		k.observe(Event{Kind: EventReclaim, Allocation: a.handle, Write: a.discarded})
		a.offer, a.discarded = umddi.OfferPriorityNone, false
	}
	return ddi.StatusSuccess
}

// offered reports whether an allocation must be reclaimed before it is used again.
func (a *allocation) offered() bool { return a.offer != umddi.OfferPriorityNone }

// offerable starts a thunk of a device, and returns the allocations of handles. It fails if the
// list is empty, has one twice, or has one for which is returns false.
func (k *Kernel) offerable(t *ddi.Thread, v *visit, dev ddi.KMHandle, handles []ddi.KMHandle, is func(*allocation) bool) ([]*allocation, ddi.Status) {
	if _, s := k.deviceThunk(t, v, dev); s.Failed() {
		return nil, s
	}
	as, ok := k.named(dev, handles)
	if !ok {
		return nil, ddi.StatusInvalidHandle
	}
	for i, a := range as {
		if !is(a) || slices.Contains(as[:i], a) {
			return nil, ddi.StatusInvalidParameter
		}
	}
	if len(as) == 0 {
		return nil, ddi.StatusInvalidParameter
	}
	return as, ddi.StatusSuccess
}

// discardContent tells the miniport that a has left its place in a memory segment, and that
// nobody needs the content there. Host memory may still have it.
//
//	DDI     DxgkDdiBuildPagingBuffer, DISCARD_CONTENT
func (k *Kernel) discardContent(t *ddi.Thread, a *allocation, from kmddi.PagingLocation) ddi.Status {
	k.stats.Discards++
	if a.dirty {
		a.dirty, a.content, a.discarded = false, false, true
	}
	return k.page(t, a, kmddi.BuildPagingBuffer{Operation: kmddi.PagingDiscardContent, Destination: from})
}
