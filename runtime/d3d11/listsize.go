package d3d11

// The size of one call in a list, and the limit of the size of a list, in bytes.
const (
	callSize    = 64
	maxListSize = 1 << 30
)

// addSize adds n bytes to the size of the list that a deferred context records.
//
// Design note: the size is computed from the calls and not from the memory that
// they take, so that a list has the same size whether the driver or the runtime
// records it. Nests in which each list executes the one before twice double with each
// list: a driver that copies nested lists runs out of memory, and a replay does not
// end. The limit is reached before either.
func (c *Context) addSize(n uint64) {
	if !c.deferred {
		return
	}
	c.effects.size += n
	if c.tooLarge() && c.rec == nil {
		c.fail()
	}
}

// addMapSize adds a Map. A map without a discard adds no data: it changes that of
// the last discard.
func (c *Context) addMapSize(r *resource, sub uint32, typ MapType) {
	c.addSize(callSize)
	if typ == MapWriteDiscard {
		w, h := r.extent(sub)
		c.addSize(uint64(w) * uint64(r.bytes) * uint64(h))
	}
}

// tooLarge reports whether the list being recorded exceeds the limit.
func (c *Context) tooLarge() bool { return c.effects.size > maxListSize }

// sizeProblem returns why FinishCommandList drops the list if it is too large.
func (c *Context) sizeProblem() problem {
	if !c.tooLarge() {
		return problem{}
	}
	return problemf(0, "the list is dropped, because its size is %d bytes, want at most %d", c.effects.size, maxListSize)
}

// dropRecording drops the runtime's recording of a list that is too large.
func (c *Context) dropRecording() {
	c.dropBegun()
	c.effects.reset()
	clear(c.open)
	c.mapCount = 0
	var e endedLists
	c.rec.reset(&e)
	e.retire()
}
