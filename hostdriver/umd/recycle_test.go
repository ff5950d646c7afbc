package umd

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// Recycling keeps the size of the private memory and the driver's data in it.
func TestRecycling(t *testing.T) {
	r, m := newListRig(t)
	a, b := r.filledBuffer(umddi.UsageDefault, 1), r.filledBuffer(umddi.UsageDefault, 2)
	c := r.recorder()
	record := func(copies int) umddi.HCommandList {
		for range copies {
			c.copy(a, b)
		}
		return c.done()
	}
	first := record(1000)
	require.Equal(t, 5, m.allocs, "the head, four chunks")
	c.release(first)
	for _, copies := range []int{1, 1000, 9, 10, 1} {
		l := record(copies)
		assert.Same(t, first.Object, l.Object)
		assert.Len(t, l.Private, 256)
		r.update(b, buf(64, umddi.UsageDefault), 0, nil, seq(copies, 64))
		r.execute(l)
		assert.Equal(t, seq(copies, 64), r.buffer(a))
		c.release(l)
	}
	assert.Equal(t, 5, m.allocs)
	c.destroy()
	assert.Empty(t, m.live)
	assert.Empty(t, c.errors())
}

// A list of nine copies fits in its handle, one of ten does not.
func TestSmallList(t *testing.T) {
	for copies, chunks := range map[int]int{0: 0, 1: 0, 9: 0, 10: 1} {
		r, m := newListRig(t)
		a, b := r.filledBuffer(umddi.UsageDefault, 1), r.filledBuffer(umddi.UsageDefault, 2)
		c := r.recorder()
		for range copies {
			c.copy(a, b)
		}
		c.done()
		assert.Equal(t, 1+chunks, m.allocs, "%d copies", copies)
	}
}

// In the steady state a list needs no allocation and no growth, whatever its
// size and the number of live lists.
func TestRecyclingReuses(t *testing.T) {
	for _, alive := range []int{1, 1000} {
		for name, tt := range map[string]struct {
			copies  []int // number of copies in the lists, in turn
			discard int   // bytes, 0 for none
			update  int
			held    int // maximum number of bytes in a list
		}{
			"a copy":          {copies: []int{1}},
			"a full head":     {copies: []int{9}},
			"a chunk":         {copies: []int{10}, held: 512},
			"two chunks":      {copies: []int{50}, held: 512 + 2048},
			"three chunks":    {copies: []int{300}, held: 512 + 2048 + 8192},
			"a discard":       {copies: []int{1}, discard: 256, held: 512},
			"an update":       {copies: []int{2}, update: 3000, held: 3072},
			"of many lengths": {copies: []int{1, 300, 9, 10, 50, 10, 1}, discard: 256, update: 700, held: 896 + 2048 + 8192},
		} {
			t.Run(fmt.Sprintf("%s, %d alive", name, alive), func(t *testing.T) {
				r, m := newListRig(t)
				arg := buf(uint32(max(tt.update, 1)), umddi.UsageDefault)
				a, to := r.filledBuffer(umddi.UsageDefault, 1), r.create(arg)
				dyn := r.create(buf(uint32(max(tt.discard, 1)), umddi.UsageDynamic))
				data := seq(1, tt.update)
				c := r.recorder()
				lists := make([]umddi.HCommandList, alive)
				n := 0
				record := func() {
					if tt.discard > 0 {
						c.discard(dyn, 0)
					}
					for range tt.copies[n%len(tt.copies)] {
						c.copy(a, a)
					}
					if tt.update > 0 {
						c.update(to, arg, 0, nil, data)
					}
					n++
				}
				all := func() {
					for i, l := range lists {
						if l.Object != nil {
							c.release(l)
						}
						record()
						lists[i] = c.done()
					}
				}
				drained := func() { // all are released together
					for i, l := range lists {
						c.release(l)
						lists[i] = umddi.HCommandList{}
					}
					all()
				}
				turns := 2 * len(tt.copies) // each handle is used with each length
				for range turns {
					all()
					drained()
				}
				before := m.allocs
				for range turns {
					all()
					drained()
				}
				assert.Equal(t, before, m.allocs, "in the steady state")
				assert.LessOrEqual(t, c.driver().cache.bytes, (alive+1)*tt.held)
				held := 0
				for _, n := range m.live {
					held += n
				}
				assert.LessOrEqual(t, held, listBytes+2*(alive+1)*tt.held)
				for _, l := range lists {
					c.release(l)
				}
				c.destroy()
				assert.Empty(t, m.live)
			})
		}
	}
}

// The same with the Go heap.
func TestRecyclingAllocates(t *testing.T) {
	for _, copies := range []int{1, 9, 10, 50, 300} {
		r := quietRig(t)
		dst, src := r.create(buf(64, umddi.UsageDefault)), r.create(buf(64, umddi.UsageDefault))
		s := newListRecorder(r, dst, src)
		s.c.um.PerformAmortizedProcessingCb = nil // the rig's callback records each call
		lists := make([]umddi.HCommandList, 1000)
		for i := range lists {
			s.create()
			lists[i] = s.list
		}
		ok := true
		all := func() {
			for _, s.list = range lists {
				s.c.f.CreateResource(s.c.th, s.c.h, nil, s.to, s.rtTo)
				s.c.f.CreateResource(s.c.th, s.c.h, nil, s.from, s.rtFrom)
				for range copies - 1 {
					s.c.f.ResourceCopy(s.c.th, s.c.h, s.to, s.from)
				}
				ok = s.recycle() && ok
				r.f.CommandListExecute(r.th, r.h, s.list)
			}
		}
		all()
		assert.Zero(t, testing.AllocsPerRun(2, all), "%d copies", copies)
		assert.True(t, ok)
		assert.Empty(t, s.c.errors())
		assert.LessOrEqual(t, len(r.driver().chains.all()), 1024)
	}
}

// The cache of a deferred context is bounded by size.
func TestCacheIsBounded(t *testing.T) {
	const lists, size = 18, 4<<20 - updateCommand // so that a command has 4 MiB
	r, m := newListRig(t)
	arg := buf(size, umddi.UsageDefault)
	a, data := r.create(arg), seq(1, size)
	c := r.recorder()
	var all []umddi.HCommandList
	for range lists {
		c.update(a, arg, 0, nil, data)
		all = append(all, c.done())
	}
	assert.Len(t, m.live, 1+lists)
	for _, l := range all {
		c.release(l)
	}
	c.done()
	assert.Len(t, m.live, 1+cachedBytes/(4<<20))
	c.destroy()
	assert.Empty(t, m.live)
}

// There are four chunk sizes per power of two, each with its own class.
func TestChunkClass(t *testing.T) {
	for _, tt := range []struct{ n, size, class int }{
		{0, 512, 0}, {512, 512, 0}, {513, 640, 1}, {640, 640, 1}, {641, 768, 2}, {769, 896, 3}, {897, 1024, 4},
		{1025, 1280, 5}, {2048, 2048, 8}, {chunkBytes, chunkBytes, 20}, {1<<20 + 1, 5 << 18, 45},
		{5<<29 + 1, maxListBytes, chunkClasses - 1},
	} {
		size, class := chunkClass(tt.n)
		assert.Equal(t, tt.size, size, "size for %d", tt.n)
		assert.Equal(t, tt.class, class, "class of %d", tt.n)
	}
	size, _ := chunkClass(maxListBytes + 1)
	assert.Greater(t, size, maxListBytes)
}

// A chunk that is far too large is kept for a list that needs it.
func TestOversizedChunkIsKept(t *testing.T) {
	r, m := newListRig(t)
	small, large := buf(chunkBytes/2, umddi.UsageDefault), buf(4*chunkBytes, umddi.UsageDefault)
	a, b := r.create(small), r.create(large)
	c := r.recorder()
	for _, tt := range []struct {
		small, want int // updates, and allocations so far: the first is the head
	}{{0, 2}, {1, 3}, {0, 3}, {1, 3}} { // an update to a chunk
		if tt.small > 0 {
			c.update(a, small, 0, nil, seq(1, chunkBytes/2))
		} else {
			c.update(b, large, 0, nil, seq(1, 4*chunkBytes))
		}
		l := c.done()
		assert.Equal(t, tt.want, m.allocs)
		c.release(l)
		c.done() // returns the chunks
	}
}

// The content of private memory is not trusted.
func TestListMemoryIsChecked(t *testing.T) {
	r, _ := newListRig(t)
	a, b := r.filledBuffer(umddi.UsageDefault, 1), r.filledBuffer(umddi.UsageDefault, 2)
	r.flush()
	c := r.recorder()
	c.copy(a, b)
	l := c.done()
	good := slices.Clone(l.Private)
	for name, spoil := range map[string]func(p []byte){
		"no command":                     func(p []byte) { p[32] = 0 },
		"an unknown command":             func(p []byte) { p[32] = byte(opPad + 1) },
		"a command without a size":       func(p []byte) { le.PutUint32(p[36:], 0) },
		"a truncated command":            func(p []byte) { le.PutUint32(p[36:], 16) },
		"a command beyond the end":       func(p []byte) { le.PutUint32(p[36:], 32) },
		"half a header":                  func(p []byte) { le.PutUint32(p[16:], 28) },
		"more than the memory":           func(p []byte) { le.PutUint32(p[16:], 1<<31) },
		"a resource that does not exist": func(p []byte) { p[40] = 77 },
		"an old generation":              func(p []byte) { p[44] = 77 },
	} {
		spoil(l.Private)
		r.execute(l)
		assert.Equal(t, []ddi.HRESULT{ddi.DDIDeviceRemoved}, c.errors(), name)
		copy(l.Private, good)
	}
	r.execute(l)
	assert.Empty(t, c.errors())
}
