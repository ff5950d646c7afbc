package umd

import (
	"encoding/binary"
	"sync"
	"sync/atomic"

	"github.com/hilgpu/hilgpu/runtime/ddi"
)

var le = binary.LittleEndian

// privateBytes is the size of the private memory of an object handle.
//
//	dword  bits   field
//	0      31..0  the table's tag
//	1      31..0  slot
//	2      31..0  generation
const privateBytes = 12

// Tags distinguish the kinds of private memory.
const (
	tagResource = 0x53455255 // "URES"
	tagView     = 0x56545255 // "URTV"
	tagQuery    = 0x59525155 // "UQRY"
	tagList     = 0x534c4355 // "UCLS"
)

// An id identifies an object of a table. The zero id identifies none.
type id struct {
	slot, gen uint32
}

// word returns the encoding of an id in command lists: the slot in the low
// half.
func (k id) word() uint64 { return uint64(k.slot) | uint64(k.gen)<<32 }

// idOf decodes an id.
func idOf(w uint64) id { return id{uint32(w), uint32(w >> 32)} }

// A table holds the objects of one kind and finds them by the id in their
// handle's private memory. Stale, foreign and invalid ids are not found.
// Methods may be called from several threads; lookups take no lock.
type table[T any] struct {
	tag uint32

	slots atomic.Pointer[[]*slot[T]] // replaced by a longer slice; slots do not move

	mu   sync.Mutex // held to change slots and the fields below
	free []uint32
	gen  uint32
}

// A slot holds an object. An object is not removed while another thread uses
// it, so the two fields need not change atomically.
type slot[T any] struct {
	gen atomic.Uint32 // generation of the object; 0 if empty
	obj atomic.Pointer[T]
}

// minSlots is the initial number of slots of a table.
const minSlots = 16

// all returns the slots.
func (s *table[T]) all() []*slot[T] {
	if p := s.slots.Load(); p != nil {
		return *p
	}
	return nil
}

// grow doubles the number of slots.
func (s *table[T]) grow() {
	old := s.all()
	n := max(minSlots, len(old))
	added, all := make([]slot[T], n), make([]*slot[T], len(old), len(old)+n)
	copy(all, old)
	for i := range added {
		all = append(all, &added[i])
		s.free = append(s.free, uint32(len(old)+n-1-i))
	}
	s.slots.Store(&all)
}

// put adds obj and writes its id to the private memory of o.
func (s *table[T]) put(o *ddi.Object, obj *T) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gen++; s.gen == 0 {
		s.gen = 1
	}
	if len(s.free) == 0 {
		s.grow()
	}
	n := len(s.free) - 1
	i := s.free[n]
	s.free = s.free[:n]
	x := s.all()[i]
	x.obj.Store(obj)
	x.gen.Store(s.gen)
	putID(o, s.tag, id{i, s.gen})
}

// putID writes a tag and an id to private memory.
func putID(o *ddi.Object, tag uint32, k id) {
	le.PutUint32(o.Private, tag)
	le.PutUint64(o.Private[4:], k.word())
}

// idIn reads the id in the private memory of o. It returns zero if the tag
// differs.
func idIn(o *ddi.Object, tag uint32) id {
	if o == nil || len(o.Private) < privateBytes || le.Uint32(o.Private) != tag {
		return id{}
	}
	return idOf(le.Uint64(o.Private[4:]))
}

// id reads the id in the private memory of o. It returns zero if there is none.
func (s *table[T]) id(o *ddi.Object) id { return idIn(o, s.tag) }

// at returns the object with id k, or nil.
func (s *table[T]) at(k id) *T {
	if x := s.find(k); x != nil {
		return x.obj.Load()
	}
	return nil
}

func (s *table[T]) find(k id) *slot[T] {
	all := s.all()
	if k.gen == 0 || uint64(k.slot) >= uint64(len(all)) || all[k.slot].gen.Load() != k.gen {
		return nil
	}
	return all[k.slot]
}

// get returns the object of o, or nil.
func (s *table[T]) get(o *ddi.Object) *T { return s.at(s.id(o)) }

// remove removes the object of o and returns it, or nil.
func (s *table[T]) remove(o *ddi.Object) *T {
	k := s.id(o)
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.find(k)
	if x == nil {
		return nil
	}
	x.gen.Store(0)
	s.free = append(s.free, k.slot)
	return x.obj.Swap(nil)
}

// drain removes all objects and returns them in slot order.
func (s *table[T]) drain() []*T {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []*T
	for _, x := range s.all() {
		if x.gen.Load() != 0 {
			x.gen.Store(0)
			all = append(all, x.obj.Swap(nil))
		}
	}
	s.slots.Store(nil)
	s.free = nil
	return all
}
