package umd

// Sizes of the memory of command lists, in bytes. A chunk is chunkBytes, or what
// one command needs if that is more. A deferred context keeps chunks that are
// not in use, at most cachedChunks of them and cachedBytes together.
const (
	chunkBytes   = 16 << 10
	cachedChunks = 64
	cachedBytes  = 4 << 20
	maxListBytes = 1 << 30 // of the chunks of a list
)

// A chain is what a command list has beside the private memory of its handle:
// chunks, each a slice of the commands in it.
type chain struct {
	chunks [][]byte
}

// free gives the chunks back to m.
func (c *chain) free(m Memory) {
	for i, p := range c.chunks {
		m.Free(p[:cap(p)])
		c.chunks[i] = nil
	}
	c.chunks = c.chunks[:0]
}

// A cache holds the chunks that a deferred context does not use. It belongs to
// the context's thread.
type cache struct {
	memory Memory

	free  [][]byte
	bytes int // in free
}

// take returns a chunk of at least n bytes, or nil if there is no memory. Of
// the chunks at hand it takes the smallest that is large enough, unless that is
// far too large.
func (c *cache) take(n int) []byte {
	n = max(n, chunkBytes)
	best := -1
	for i, p := range c.free {
		if len(p) >= n && len(p) <= 4*n && (best < 0 || len(p) < len(c.free[best])) {
			best = i
		}
	}
	if best < 0 {
		p := c.memory.Alloc(n)
		return p[:len(p):len(p)]
	}
	p, last := c.free[best], len(c.free)-1
	c.free[best], c.free[last] = c.free[last], nil
	c.free = c.free[:last]
	c.bytes -= len(p)
	return p
}

// give takes chunks back. What is more than the cache may hold is freed.
func (c *cache) give(chunks [][]byte) {
	for i, p := range chunks {
		p = p[:cap(p)]
		chunks[i] = nil
		if len(c.free) == cachedChunks || c.bytes+len(p) > cachedBytes {
			c.memory.Free(p)
			continue
		}
		c.free = append(c.free, p)
		c.bytes += len(p)
	}
}

// drop frees all chunks.
func (c *cache) drop() {
	for _, p := range c.free {
		c.memory.Free(p)
	}
	c.free, c.bytes = nil, 0
}
