package d3d11

import (
	"slices"

	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// effects determine whether a list may be executed, and what its execution adds
// to the effects of the executing context.
type effects struct {
	maps    []*resource // dynamic resources that the list maps, without duplicates
	queries []*Query    // begun or ended, without duplicates
	size    uint64      // of the list, in bytes, as ExecuteCommandList defines it
}

// moveTo moves e to f, which is empty, and gives e the memory of f.
func (e *effects) moveTo(f *effects) {
	f.size, e.size = e.size, 0
	if len(e.maps)+len(e.queries) != 0 {
		e.maps, f.maps = f.maps, e.maps
		e.queries, f.queries = f.queries, e.queries
	}
}

// ownEffects returns empty effects with preallocated memory on separate cache
// lines.
func ownEffects() effects {
	return effects{maps: make([]*resource, 0, cacheLine/8), queries: make([]*Query, 0, cacheLine/8)}
}

func (e *effects) reset() {
	e.size = 0
	if len(e.maps)+len(e.queries) == 0 {
		return
	}
	clear(e.maps)
	clear(e.queries)
	e.maps = e.maps[:0]
	e.queries = e.queries[:0]
}

// blocked returns why the context may not execute a list: the API ensures
// that the context has neither mapped a dynamic resource that the list maps,
// nor begun a query that the list begins or ends. It does not refuse a list for
// other resources that are mapped. If the list moves their data, the content is
// undefined where both sides use it and one writes.
//
//	Source  WDK, "Supporting Command Lists"
func (c *Context) blocked(e *effects) problem {
	if c.mapCount > 0 || !c.deferred && c.dev.mapped.Load() > 0 {
		for _, r := range e.maps {
			if c.isMapped(r, 0) {
				return problem{MessageExecuteCommandListMapped, "the list maps a resource that the context has mapped"}
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

// inherit adds the effects of a list whose execution a deferred context has
// recorded.
func (c *Context) inherit(e *effects) {
	for _, r := range e.maps {
		c.recordMapped(r)
	}
	for _, q := range e.queries {
		c.recordQuery(q)
	}
}

// recordMapped records that a deferred context's list maps a dynamic resource,
// which has one subresource.
func (c *Context) recordMapped(r *resource) {
	if c.rec != nil {
		if _, known := c.rec.contents[r]; known {
			return
		}
		if c.rec.contents == nil {
			c.rec.contents = make(map[*resource][]byte)
		}
		c.rec.contents[r] = nil
	} else {
		l := c.localOf(&r.child, umddi.HandleResource)
		if l.state.maps {
			return
		}
		l.state.maps = true
	}
	c.effects.maps = append(c.effects.maps, r)
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
