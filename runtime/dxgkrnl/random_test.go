package dxgkrnl

import (
	"bytes"
	"slices"
	"testing"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// machine runs random work on a kernel and on a reference model: the bytes of
// each allocation after all commands in render order. Nodes complete in random
// order, VRAM is scarce, and interrupts are merged at random.
type machine struct {
	*rig
	contexts []*umddi.CreateContext
	handles  []ddi.KMHandle
	contents map[ddi.KMHandle][]byte
	offered  []ddi.KMHandle // not in handles
}

func newRandomMachine(t *rapid.T) *machine {
	nodes := rapid.IntRange(1, 3).Draw(t, "nodes")
	r := newRig(t, options{
		aperture: rapid.SampledFrom([]int{0, 2, 4, 64}).Draw(t, "aperture"), maps: rapid.Bool().Draw(t, "maps"),
		nodes: nodes, capacity: rapid.IntRange(1, 4).Draw(t, "capacity"), vram: 8192,
		hiddenVRAM: rapid.Bool().Draw(t, "hidden"), first: rapid.SampledFrom([]uint32{0, 0xfffffff0}).Draw(t, "first"),
		buffers: rapid.IntRange(1, 4).Draw(t, "buffers"), preempts: rapid.Bool().Draw(t, "preempts"), resets: rapid.Bool().Draw(t, "resets"), pagingBytes: rapid.SampledFrom([]uint32{opBytes, 96, 256}).Draw(t, "paging"),
	})
	r.mini.piece = 1000
	seed := rapid.Uint32().Draw(t, "order")
	r.gpu.choose = func() int {
		seed = seed*1664525 + 1013904223
		if node := int(seed>>16) % nodes; len(r.gpu.queues[node]) > 1 && seed>>30 == 0 {
			r.gpu.execute(node) // merges its interrupt with the next one
			return node
		}
		return int(seed>>16) % nodes
	}
	stops := 0
	r.mini.preempt = func(node int) {
		stops++
		r.gpu.stop(node, stops%3) // each third time it has not begun
	}
	r.mini.every = func(name string) {
		if name == "BuildPagingBuffer" {
			require.True(t, r.kernel.moving, "others may place meanwhile")
		}
	}
	m := &machine{rig: r, contents: map[ddi.KMHandle][]byte{}}
	for node := range nodes {
		m.contexts = append(m.contexts, r.context(uint32(node)), r.context(uint32(node)))
	}
	return m
}

func (m *machine) pick(t *rapid.T) ddi.KMHandle {
	if len(m.handles) == 0 {
		m.create(t)
	}
	return rapid.SampledFrom(m.handles).Draw(t, "allocation")
}

func (m *machine) create(t *rapid.T) {
	set, most := rapid.SampledFrom([]uint32{local, local, both, system}).Draw(t, "segments"), 4000
	if set == system && len(m.gpu.entries) >= 64 {
		most = 12000
	}
	size := rapid.IntRange(1, most).Draw(t, "size")
	a := m.alloc(uint64(size), set)
	m.handles = append(m.handles, a)
	m.contents[a] = make([]byte, size)
}

func (m *machine) remove(t *rapid.T) {
	a := m.pick(t)
	m.ok(m.rig.destroy(a))
	delete(m.contents, a)
	for i, h := range m.handles {
		if h == a {
			m.handles = append(m.handles[:i], m.handles[i+1:]...)
			return
		}
	}
}

func (m *machine) command(t *rapid.T) command {
	dst := m.pick(t)
	to := m.contents[dst]
	off := rapid.IntRange(0, len(to)-1).Draw(t, "offset")
	if rapid.Bool().Draw(t, "fill") {
		n := rapid.IntRange(1, len(to)-off).Draw(t, "n")
		v := rapid.Byte().Draw(t, "value")
		copy(to[off:], repeat(v, n))
		return fill(dst, uint32(off), uint32(n), v)
	}
	src := m.pick(t)
	from := m.contents[src]
	at := rapid.IntRange(0, len(from)-1).Draw(t, "from")
	n := rapid.IntRange(1, min(len(from)-at, len(to)-off)).Draw(t, "n")
	copy(to[off:], bytes.Clone(from[at:at+n]))
	return copyTo(dst, uint32(off), src, uint32(at), uint32(n))
}

func (m *machine) render(t *rapid.T) {
	var cmds []command
	for range rapid.IntRange(1, 8).Draw(t, "commands") {
		if rapid.IntRange(0, 7).Draw(t, "null") == 0 {
			cmds = append(cmds, null(rapid.Bool().Draw(t, "null is written")))
		}
		cmds = append(cmds, m.command(t))
	}
	m.ok(m.submit(rapid.SampledFrom(m.contexts).Draw(t, "context"), cmds...))
}

func (m *machine) priority(t *rapid.T) {
	c := rapid.SampledFrom(m.contexts).Draw(t, "context")
	m.ok(m.thunks.SetContextSchedulingPriority(m.thread, c.Context, rapid.IntRange(MinPriority, MaxPriority).Draw(t, "priority")))
}

// evictionPriority changes how long an allocation stays, and nothing else.
func (m *machine) evictionPriority(t *rapid.T) {
	m.prioritize(m.pick(t), rapid.Uint32Range(1, 1<<32-1).Draw(t, "eviction priority"))
}

// give offers an allocation.
func (m *machine) give(t *rapid.T) {
	a := m.pick(t)
	m.offer(umddi.OfferPriority(rapid.IntRange(1, 3).Draw(t, "offer")), a)
	m.handles, m.offered = slices.DeleteFunc(m.handles, func(h ddi.KMHandle) bool { return h == a }), append(m.offered, a)
}

// takeBack reclaims an allocation, which has its content or is zero.
func (m *machine) takeBack(t *rapid.T) {
	if len(m.offered) == 0 {
		m.give(t)
	}
	a := rapid.SampledFrom(m.offered).Draw(t, "offered")
	if m.reclaim(a)[0] {
		clear(m.contents[a])
	}
	require.Equal(t, m.contents[a], m.read(a))
	m.offered, m.handles = slices.DeleteFunc(m.offered, func(h ddi.KMHandle) bool { return h == a }), append(m.handles, a)
}

func (m *machine) check(t *rapid.T) {
	a := m.pick(t)
	require.Equal(t, m.contents[a], m.read(a))
}

func (m *machine) overwrite(t *rapid.T) {
	a := m.pick(t)
	arg := &umddi.Lock{Allocation: a}
	m.ok(m.lock(arg))
	require.Equal(t, m.contents[a], arg.Data)
	i := rapid.IntRange(0, len(arg.Data)-1).Draw(t, "at")
	arg.Data[i]++
	m.contents[a][i]++
	m.unlock(a)
}

// docs/properties.md: S8.
func TestRandomWorkKeepsContents(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newRandomMachine(t)
		t.Repeat(map[string]func(*rapid.T){
			"":       func(*rapid.T) { m.audit() },
			"create": m.create, "destroy": m.remove, "render": m.render, "render more": m.render,
			"read": m.check, "write": m.overwrite, "priority": m.priority,
			"eviction priority": m.evictionPriority, "offer": m.give, "reclaim": m.takeBack,
		})
		for _, a := range m.handles {
			require.Equal(t, m.contents[a], m.read(a))
		}
		m.finish()
	})
}
