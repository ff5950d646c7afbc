package umd

import "math/bits"

// Sizes of command-list memory, in bytes. The first chunk of a list has
// firstChunk bytes and later chunks grow up to chunkBytes, unless one command
// needs more. A deferred context caches at most cachedBytes of unused chunks.
// The runtime refuses a list of more than 1 GiB, for which it counts 64 bytes a
// call. A command has up to 72 bytes besides its data, and chunks are at least half
// used, so no list of the runtime needs maxListBytes.
const (
	firstChunk   = 512
	chunkBytes   = firstChunk << growthBits
	growthBits   = 5 // number of doublings from the first chunk to the largest
	cachedBytes  = 64 << 20
	maxListBytes = 3 << 30 // total size of the chunks of a list
)

// chunkClasses is the number of chunk sizes up to maxListBytes.
const chunkClasses = 4*22 + 3

// chunkClass returns the smallest chunk size of at least n bytes and its class.
// There are four sizes per power of two, from firstChunk, so that less than a
// quarter of a chunk for a large command is wasted and lists of similar size
// use the same chunks.
func chunkClass(n int) (size, class int) {
	n = max(n, firstChunk) - 1
	e := bits.Len(uint(n)) - 3
	q := n>>e + 1 // 5 to 8
	return q << e, 4*(e-6) + q - 8
}

// A chain holds the chunks of a command list, each a slice of its commands.
type chain struct {
	chunks [][]byte
}

// newChunks returns a slice with capacity for the chunks of a list of about 27
// KB.
func newChunks() [][]byte { return make([][]byte, 0, 4) }

// free frees the chunks.
func (c *chain) free(m Memory) {
	for i, p := range c.chunks {
		m.Free(p[:cap(p)])
		c.chunks[i] = nil
	}
	c.chunks = c.chunks[:0]
}

// A cache holds unused chunks of a deferred context. It must be used on the
// context's thread. For each size it holds at most as many chunks as the
// context's lists have ever used at a time, so that the same number of lists
// can be recorded again without an allocation, up to cachedBytes.
type cache struct {
	memory Memory

	free  [chunkClasses][][]byte // by size
	bytes int                    // total size of free
}

// take returns a chunk of a size returned by chunkClass, or nil if there is no
// memory. The content is undefined.
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

// put returns chunks to the cache. It frees those above the limits.
func (c *cache) put(chunks [][]byte) {
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
