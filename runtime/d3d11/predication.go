package d3d11

import "slices"

// SetPredication makes later clears, copies and updates conditional: they are
// skipped if the result of p is value. A nil p makes them unconditional. It
// does nothing if p is not a predicate, is active in the context or, on the
// immediate context, has never been ended.
//
//	DDI     pfnSetPredication
//	Source  learn.microsoft.com, nf-d3d11-id3d11devicecontext-setpredication
func (c *Context) SetPredication(p *Query, value bool) {
	const api = "SetPredication"
	c, l := c.lock(api)
	defer l.unlock()
	if c.dropsAll(api) || p == nil && !c.dev.predicates || c.dropsOn(api, c.predicateProblem(p)) {
		return
	}
	value = value && p != nil
	if c.rec != nil {
		c.rec.predication(p, value)
	}
	c.bindPredication(p, value)
}

// predicateProblem returns why p, which may be nil, cannot be the predicate.
func (c *Context) predicateProblem(p *Query) problem {
	const id = MessageSetPredicationInvalidPredicateState
	switch {
	case !c.dev.predicates:
		return problem{MessageInvalidState, "the driver does not support predication: pfnSetPredication is nil"}
	case p == nil:
		return problem{}
	case !p.usable(c.dev):
		return p.misused(c.dev, MessageInvalidObject, "Predicate")
	case !p.desc.Query.predicate():
		return problemf(id, "Predicate is a query of type %d, want %d or %d", p.desc.Query, QueryOcclusionPredicate, QueryOverflowPredicate)
	case slices.Contains(c.begun, p):
		return problem{id, "Predicate is begun and not ended"}
	case !c.deferred && !p.ended:
		return problem{id, "Predicate was never ended"}
	}
	return problem{}
}

// GetPredication returns a reference to the current predicate, or nil, and the
// value.
func (c *Context) GetPredication() (*Query, bool) {
	c, l := c.lock("GetPredication")
	defer l.unlock()
	if p := c.state.predicate; p != nil {
		p.addRef()
	}
	return c.state.predicate, c.state.predicateValue
}
