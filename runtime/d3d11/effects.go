package d3d11

import (
	"iter"
	"math/bits"
	"slices"

	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// effects is what decides whether a list may be executed, and what it does to
// the context that executes it.
type effects struct {
	touched []touch  // one for each resource that the CPU can access
	queries []*Query // begun or ended, each once
}

// A touch is a resource of which a list maps, or moves data of, a set of
// subresources.
type touch struct {
	r    *resource
	sub  uint32 // the first that was added, or everything
	maps bool
	set  []uint64 // a bit for each subresource, from bit 0 of set[0]; nil if sub is all
}

// everything in touch.sub is all subresources.
const everything = ^uint32(0)

// add adds a subresource, or everything.
func (t *touch) add(sub uint32) {
	switch {
	case t.sub == sub || t.sub == everything:
	case sub == everything:
		t.sub, t.set = everything, nil
	default:
		if t.set == nil {
			t.set = make([]uint64, (t.r.subresources()+63)/64)
			t.set[t.sub/64] |= 1 << (t.sub % 64)
		}
		t.set[sub/64] |= 1 << (sub % 64)
	}
}

// subs returns the subresources, or everything alone.
func (t *touch) subs() iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		if t.set == nil {
			yield(t.sub)
			return
		}
		for i, word := range t.set {
			for ; word != 0; word &= word - 1 {
				if !yield(uint32(i*64 + bits.TrailingZeros64(word))) {
					return
				}
			}
		}
	}
}

// moveTo moves what is in e to f, which is empty, and leaves e with f's memory.
func (e *effects) moveTo(f *effects) {
	if len(e.touched)+len(e.queries) != 0 {
		*e, *f = *f, *e
	}
}

// ownEffects returns no effects, with memory for some on cache lines of its own.
func ownEffects() effects {
	return effects{touched: make([]touch, 0, cacheLine/8), queries: make([]*Query, 0, cacheLine/8)}
}

func (e *effects) reset() {
	if len(e.touched)+len(e.queries) == 0 {
		return
	}
	clear(e.touched)
	clear(e.queries)
	e.touched = e.touched[:0]
	e.queries = e.queries[:0]
}

// blocked says whether the context may not execute a list.
func (c *Context) blocked(e *effects) bool {
	if c.mapCount > 0 || !c.deferred && c.dev.mapped.Load() > 0 {
		for i := range e.touched {
			t := &e.touched[i]
			for sub := range t.subs() {
				if sub == everything && c.hasMapped(t.r) || sub != everything && c.isMapped(t.r, sub) {
					return true
				}
			}
		}
	}
	for _, q := range c.begun {
		if slices.Contains(e.queries, q) {
			return true
		}
	}
	return false
}

// inherit notes, on a deferred context, that it has recorded the execution of a
// list.
func (c *Context) inherit(e *effects) {
	for i := range e.touched {
		t := &e.touched[i]
		for sub := range t.subs() {
			c.touches(t.r, sub, t.maps)
		}
		if t.maps {
			c.forget(t.r)
		}
	}
	for _, q := range e.queries {
		c.manipulates(q)
	}
}

// touches notes, on a deferred context, that the list maps a subresource or
// moves data of it.
func (c *Context) touches(r *resource, sub uint32, maps bool) {
	if !c.deferred || r.access == 0 {
		return
	}
	if sub == everything && r.subresources() == 1 {
		sub = 0
	}
	e := &c.effects
	n := int32(len(e.touched)) + 1
	i := c.touchNumber(r, n)
	if i == n {
		e.touched = append(e.touched, touch{r: r, sub: sub, maps: maps})
		return
	}
	t := &e.touched[i-1]
	t.add(sub)
	t.maps = t.maps || maps
}

// touchNumber returns which of effects.touched is of r, counted from 1, and
// makes it n if there is none.
func (c *Context) touchNumber(r *resource, n int32) int32 {
	if c.rec != nil {
		if i := c.rec.touched[r]; i != 0 {
			return i
		}
		if c.rec.touched == nil {
			c.rec.touched = make(map[*resource]int32)
		}
		c.rec.touched[r] = n
		return n
	}
	l := c.slot(&r.child, umddi.HandleResource)
	if l.here.touch == 0 {
		l.here.touch = n
	}
	return l.here.touch
}

// manipulates notes, on a deferred context, that the list begins or ends q.
func (c *Context) manipulates(q *Query) {
	if !c.deferred {
		return
	}
	if c.rec != nil {
		if c.rec.queried[q] {
			return
		}
		if c.rec.queried == nil {
			c.rec.queried = make(map[*Query]bool)
		}
		c.rec.queried[q] = true
	} else {
		l := c.slot(&q.child, umddi.HandleQuery)
		if l.here.queried {
			return
		}
		l.here.queried = true
	}
	c.effects.queries = append(c.effects.queries, q)
}
