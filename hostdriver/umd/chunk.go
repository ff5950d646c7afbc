package umd

import "math/bits"

// Sizes of the memory of command lists, in bytes. The first chunk of a list is
// firstChunk, the next ones are larger up to chunkBytes, and each is what one
// command needs if that is more. A deferred context keeps chunks that are not in
// use, at most cachedBytes of them.
const (
	firstChunk   = 512
	chunkBytes   = firstChunk << growthBits
	growthBits   = 5 // from the first chunk to the largest
	cachedBytes  = 64 << 20
	maxListBytes = 1 << 30 // of the chunks of a list
)

// chunkClasses is how many sizes of chunks there are, up to maxListBytes.
const chunkClasses = 4*21 + 1

// chunkClass returns the least size of a chunk that has n bytes, and which of
// the sizes it is. Sizes are four to a power of two, from firstChunk, so that of
// a chunk for a large command less than a quarter is left over, and lists that
// differ a little use the same chunks.
func chunkClass(n int) (size, class int) {
	n = max(n, firstChunk) - 1
	e := bits.Len(uint(n)) - 3
	q := n>>e + 1 // 5 to 8
	return q << e, 4*(e-6) + q - 8
}

// A chain is what a command list has beside the private memory of its handle:
// chunks, each a slice of the commands in it.
type chain struct {
	chunks [][]byte
}

// newChunks returns room for the chunks of a list of some 27 KB.
func newChunks() [][]byte { return make([][]byte, 0, 4) }

// free gives the chunks back to m.
func (c *chain) free(m Memory) {
	for i, p := range c.chunks {
		m.Free(p[:cap(p)])
		c.chunks[i] = nil
	}
	c.chunks = c.chunks[:0]
}

// A cache holds the chunks that a deferred context does not use. It belongs to
// the context's thread. Of each size it has at most as many as the lists of the
// context have ever held at a time: as many lists as that can be recorded again
// without an allocation, up to cachedBytes.
type cache struct {
	memory Memory

	free  [chunkClasses][][]byte // by size
	bytes int                    // in free
}

// take returns a chunk of a size of chunkClass, with any contents, or nil if
// there is no memory.
func (c *cache) take(size, class int) []byte {
	free := c.free[class]
	last := len(free) - 1
	if last < 0 {
		p := c.memory.Alloc(size)
		return p[:len(p):len(p)]
	}
	p := free[last]
	free[last] = nil
	c.free[class] = free[:last]
	c.bytes -= size
	return p
}

// give takes chunks back. What is more than the cache may hold is freed.
func (c *cache) give(chunks [][]byte) {
	for i, p := range chunks {
		p = p[:cap(p)]
		chunks[i] = nil
		if c.bytes+len(p) > cachedBytes {
			c.memory.Free(p)
			continue
		}
		_, class := chunkClass(len(p))
		c.free[class] = append(c.free[class], p)
		c.bytes += len(p)
	}
}

// drop frees all chunks.
func (c *cache) drop() {
	for class, free := range c.free {
		for _, p := range free {
			c.memory.Free(p)
		}
		c.free[class] = nil
	}
	c.bytes = 0
}
