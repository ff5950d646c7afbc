package dxgkrnl

import "github.com/hilgpu/hilgpu/runtime/ddi"

// A handle is a slot's index, from 1, below a generation, from 1. A slot whose
// generations are used up is not used again, so that a stale handle never names
// another object.
const (
	indexBits     = 20
	maxIndex      = 1<<indexBits - 1
	maxGeneration = 1<<(32-indexBits) - 1
)

// slot holds an object, or nil.
type slot struct {
	generation uint32
	object     any
}

// A table gives objects handles.
type table struct {
	slots []slot
	free  []uint32 // indices of free slots; the last is used next
}

// add returns a handle for an object, and false if there are too many.
func (h *table) add(object any) (ddi.KMHandle, bool) {
	var i uint32
	if n := len(h.free); n > 0 {
		i, h.free = h.free[n-1], h.free[:n-1]
	} else {
		if len(h.slots) == maxIndex {
			return 0, false
		}
		i = uint32(len(h.slots))
		h.slots = append(h.slots, slot{generation: 1})
	}
	s := &h.slots[i]
	s.object = object
	return ddi.KMHandle(s.generation<<indexBits | (i + 1)), true
}

// get returns the object of a handle, or nil.
func (h *table) get(handle ddi.KMHandle) any {
	i, generation := uint32(handle)&maxIndex-1, uint32(handle)>>indexBits
	if uint64(i) >= uint64(len(h.slots)) || h.slots[i].generation != generation {
		return nil
	}
	return h.slots[i].object
}

// remove makes a handle that add returned stale.
func (h *table) remove(handle ddi.KMHandle) {
	i := uint32(handle)&maxIndex - 1
	s := &h.slots[i]
	s.object = nil
	if s.generation == maxGeneration {
		s.generation = 0
		return
	}
	s.generation++
	h.free = append(h.free, i)
}

// device returns the device of a handle.
func (k *Kernel) device(h ddi.KMHandle) (*device, bool) {
	d, ok := k.handles.get(h).(*device)
	return d, ok
}

// context returns the context of a handle, of device d.
func (k *Kernel) context(d *device, h ddi.KMHandle) (*context, bool) {
	c, ok := k.handles.get(h).(*context)
	return c, ok && c.device == d
}

// allocation returns the allocation of a handle, of device d.
func (k *Kernel) allocation(d *device, h ddi.KMHandle) (*allocation, bool) {
	a, ok := k.handles.get(h).(*allocation)
	return a, ok && a.device == d
}
