package model

import (
	"slices"

	"github.com/hilgpu/hilgpu/runtime/d3d11"
	"github.com/hilgpu/hilgpu/runtime/ddi"
)

// A List is a command list.
type List struct {
	recording

	Refs int // the application's references
}

// Alive reports whether the application may use the list.
func (l *List) Alive() bool { return l != nil && l.Refs > 0 }

// Maps reports whether the list maps r.
func (l *List) Maps(r *Resource) bool { return l.maps[r] }

// Steps returns the number of commands of the list, including those of inner lists.
func (l *List) Steps() int { return len(l.steps) }

// Finish is FinishCommandList. It ends queries and unmaps resources.
func (c *Context) Finish(restore bool) (*List, ddi.HRESULT) {
	if !c.Deferred || !c.working() {
		return nil, ddi.DXGIInvalidCall
	}
	for len(c.begun) > 0 {
		c.end(c.begun[0])
	}
	l := &List{recording: c.rec, Refs: 1}
	c.rec = newRecording()
	if !restore {
		c.State = State{}
	}
	return l, ddi.OK
}

// blocked reports whether the list cannot be executed: the context has mapped a
// dynamic resource that the list maps, or has begun a query that the list begins
// or ends.
func (c *Context) blocked(l *List) bool {
	for r := range l.maps {
		if c.mapped(r, 0) {
			return true
		}
	}
	return slices.ContainsFunc(c.begun, func(q *Query) bool { return l.queries[q] })
}

// SettledExecute reports whether the effect of executing a list is defined. It is
// undefined if a predicate has no result then, or if the list uses a resource that
// the context has mapped, unless both only read.
func (c *Context) SettledExecute(l *List) bool {
	for q := range l.needs {
		if !c.Deferred && !q.Ended || slices.Contains(c.begun, q) {
			return false
		}
	}
	for r, subs := range l.touched {
		for sub, written := range subs {
			if !c.blocked(l) && c.mapped(r, sub) && (written || c.Deferred || r.mapped[sub] != d3d11.MapRead) {
				return false
			}
		}
	}
	return true
}

// Execute is ExecuteCommandList.
func (c *Context) Execute(l *List, restore bool) {
	if !c.working() || !l.Alive() {
		return
	}
	switch {
	case c.blocked(l):
	case c.Deferred:
		c.inherit(l)
	default:
		for r := range l.touched {
			r.Used = true
		}
		for _, step := range l.steps {
			step()
		}
	}
	if !restore {
		c.State = State{}
	}
}

// inherit records the execution of a list.
func (c *Context) inherit(l *List) {
	for q := range l.needs {
		if !c.rec.ended[q] {
			c.rec.needs[q] = true
		}
	}
	for r, subs := range l.touched {
		for sub, written := range subs {
			c.touch(r, sub, written)
		}
	}
	for r := range l.maps {
		c.rec.maps[r], c.rec.contents[r], c.rec.used[r] = true, l.contents[r], l.used[r]
		if d := c.rec.discards[r]; d != nil {
			d.data = nil
		}
	}
	for q := range l.queries {
		c.rec.queries[q] = true
	}
	for q := range l.ended {
		c.rec.ended[q] = true
	}
	c.rec.steps = append(c.rec.steps, l.steps...)
}

// Steps returns the number of commands that a deferred context has recorded.
func (c *Context) Steps() int { return len(c.rec.steps) }
