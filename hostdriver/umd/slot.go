package umd

import (
	"encoding/binary"
	"sync"

	"github.com/hilgpu/hilgpu/runtime/ddi"
)

var le = binary.LittleEndian

// privateBytes is the size of the private memory behind an object handle.
//
//	dword  bits   field
//	0      31..0  the table's tag
//	1      31..0  slot
//	2      31..0  generation
const privateBytes = 12

// Tags tell the kinds of private memory apart.
const (
	tagResource = 0x53455255 // "URES"
	tagView     = 0x56545255 // "URTV"
	tagQuery    = 0x59525155 // "UQRY"
)

// An id names an object of a table. The zero id names none.
type id struct {
	slot, gen uint32
}

// A table holds the objects of one kind and finds them by the id in their
// handle's private memory. Stale, foreign and garbage ids find nothing. Its
// methods may be called from several threads.
type table[T any] struct {
	tag uint32

	mu    sync.Mutex // guards what follows
	slots []slot[T]
	free  []uint32
	gen   uint32
}

type slot[T any] struct {
	gen uint32 // of the object in it; 0 if there is none
	obj *T
}

// put adds obj and writes its id to the private memory of o.
func (s *table[T]) put(o *ddi.Object, obj *T) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gen++; s.gen == 0 {
		s.gen = 1
	}
	i := uint32(len(s.slots))
	if n := len(s.free); n > 0 {
		i = s.free[n-1]
		s.free = s.free[:n-1]
	} else {
		s.slots = append(s.slots, slot[T]{})
	}
	s.slots[i] = slot[T]{s.gen, obj}
	le.PutUint32(o.Private, s.tag)
	le.PutUint32(o.Private[4:], i)
	le.PutUint32(o.Private[8:], s.gen)
}

// id reads the id in the private memory of o. It is zero if there is none.
func (s *table[T]) id(o *ddi.Object) id {
	if o == nil || len(o.Private) < privateBytes || le.Uint32(o.Private) != s.tag {
		return id{}
	}
	return id{le.Uint32(o.Private[4:]), le.Uint32(o.Private[8:])}
}

// at returns the object that k names, or nil.
func (s *table[T]) at(k id) *T {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.find(k)
}

func (s *table[T]) find(k id) *T {
	if k.gen == 0 || int64(k.slot) >= int64(len(s.slots)) || s.slots[k.slot].gen != k.gen {
		return nil
	}
	return s.slots[k.slot].obj
}

// get returns the object behind o, or nil.
func (s *table[T]) get(o *ddi.Object) *T { return s.at(s.id(o)) }

// remove takes the object behind o out of the table and returns it, or nil.
func (s *table[T]) remove(o *ddi.Object) *T {
	k := s.id(o)
	s.mu.Lock()
	defer s.mu.Unlock()
	obj := s.find(k)
	if obj != nil {
		s.slots[k.slot] = slot[T]{}
		s.free = append(s.free, k.slot)
	}
	return obj
}

// drain takes all objects out of the table, in the order of their slots.
func (s *table[T]) drain() []*T {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []*T
	for _, x := range s.slots {
		if x.gen != 0 {
			all = append(all, x.obj)
		}
	}
	s.slots, s.free = nil, nil
	return all
}
