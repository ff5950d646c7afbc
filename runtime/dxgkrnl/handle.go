package dxgkrnl

import "github.com/hilgpu/hilgpu/runtime/ddi"

// A handle has a slot's index, from 1, in its low bits and a generation, from
// 1, above it. A slot whose generations are used up is retired, so that a stale
// handle never refers to another object.
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

// A table assigns handles to objects.
type table struct {
	slots []slot
	free  []uint32 // indices of free slots, a stack
}

// add returns a handle for an object. It reports false if the table is full.
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

// remove makes a handle from add stale.
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

// context returns the context of a handle on device d.
func (k *Kernel) context(d *device, h ddi.KMHandle) (*context, bool) {
	c, ok := k.handles.get(h).(*context)
	return c, ok && c.device == d
}

// allocation returns the allocation of a handle on device d.
func (k *Kernel) allocation(d *device, h ddi.KMHandle) (*allocation, bool) {
	a, ok := k.handles.get(h).(*allocation)
	return a, ok && a.device == d
}
