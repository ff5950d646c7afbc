package d3d11

import (
	"fmt"
	"iter"
	"math/bits"
	"slices"

	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// effects determine whether a list may be executed, and what its execution adds
// to the effects of the executing context.
type effects struct {
	uses    []resourceUse // one per CPU-accessible resource
	queries []*Query      // begun or ended, without duplicates
}

// A resourceUse is a resource of which a list maps, or moves data of, some
// subresources.
type resourceUse struct {
	r    *resource
	sub  uint32 // the first one added, or allSubresources
	maps bool
	set  []uint64 // one bit per subresource, from bit 0 of set[0]; nil if only sub
}

// allSubresources in resourceUse.sub stands for all subresources.
const allSubresources = ^uint32(0)

// add adds a subresource, or allSubresources.
func (t *resourceUse) add(sub uint32) {
	switch {
	case t.sub == sub || t.sub == allSubresources:
	case sub == allSubresources:
		t.sub, t.set = allSubresources, nil
	default:
		if t.set == nil {
			t.set = make([]uint64, (t.r.subresources()+63)/64)
			t.set[t.sub/64] |= 1 << (t.sub % 64)
		}
		t.set[sub/64] |= 1 << (sub % 64)
	}
}

// subs returns the subresources, or just allSubresources.
func (t *resourceUse) subs() iter.Seq[uint32] {
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

// moveTo moves e to f, which is empty, and gives e the memory of f.
func (e *effects) moveTo(f *effects) {
	if len(e.uses)+len(e.queries) != 0 {
		*e, *f = *f, *e
	}
}

// ownEffects returns empty effects with preallocated memory on separate cache
// lines.
func ownEffects() effects {
	return effects{uses: make([]resourceUse, 0, cacheLine/8), queries: make([]*Query, 0, cacheLine/8)}
}

func (e *effects) reset() {
	if len(e.uses)+len(e.queries) == 0 {
		return
	}
	clear(e.uses)
	clear(e.queries)
	e.uses = e.uses[:0]
	e.queries = e.queries[:0]
}

// blocked returns why the context may not execute a list.
func (c *Context) blocked(e *effects) problem {
	if c.mapCount > 0 || !c.deferred && c.dev.mapped.Load() > 0 {
		for i := range e.uses {
			t := &e.uses[i]
			for sub := range t.subs() {
				if sub == allSubresources && c.hasMapped(t.r) || sub != allSubresources && c.isMapped(t.r, sub) {
					return problem{MessageExecuteCommandListMapped, usedMapped(sub)}
				}
			}
		}
	}
	for _, q := range c.begun {
		if slices.Contains(e.queries, q) {
			return problemf(MessageExecuteCommandListActiveQuery, "the list uses a query of type %d that is active", q.desc.Query)
		}
	}
	return problem{}
}

// usedMapped describes a list that uses a mapped subresource.
func usedMapped(sub uint32) string {
	if sub == allSubresources {
		return "the list uses all subresources of a resource of which one is mapped"
	}
	return fmt.Sprintf("the list uses subresource %d of a resource, which is mapped", sub)
}

// inherit adds the effects of a list whose execution a deferred context has
// recorded.
func (c *Context) inherit(e *effects) {
	for i := range e.uses {
		t := &e.uses[i]
		for sub := range t.subs() {
			c.recordUse(t.r, sub, t.maps)
		}
		if t.maps {
			c.forget(t.r)
		}
	}
	for _, q := range e.queries {
		c.recordQuery(q)
	}
}

// recordUse records that a deferred context's list maps a subresource or moves
// data of it.
func (c *Context) recordUse(r *resource, sub uint32, maps bool) {
	if !c.deferred || r.access == 0 {
		return
	}
	if sub == allSubresources && r.subresources() == 1 {
		sub = 0
	}
	e := &c.effects
	n := int32(len(e.uses)) + 1
	i := c.useIndex(r, n)
	if i == n {
		e.uses = append(e.uses, resourceUse{r: r, sub: sub, maps: maps})
		return
	}
	t := &e.uses[i-1]
	t.add(sub)
	t.maps = t.maps || maps
}

// useIndex returns 1 + the index of r in effects.uses. If r has none, useIndex
// sets it to n.
func (c *Context) useIndex(r *resource, n int32) int32 {
	if c.rec != nil {
		if i := c.rec.useIndex[r]; i != 0 {
			return i
		}
		if c.rec.useIndex == nil {
			c.rec.useIndex = make(map[*resource]int32)
		}
		c.rec.useIndex[r] = n
		return n
	}
	l := c.localOf(&r.child, umddi.HandleResource)
	if l.state.useIndex == 0 {
		l.state.useIndex = n
	}
	return l.state.useIndex
}

// recordQuery records that a deferred context's list begins or ends q.
func (c *Context) recordQuery(q *Query) {
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
		l := c.localOf(&q.child, umddi.HandleQuery)
		if l.state.queried {
			return
		}
		l.state.queried = true
	}
	c.effects.queries = append(c.effects.queries, q)
}
