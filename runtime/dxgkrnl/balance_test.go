package dxgkrnl

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hilgpu/hilgpu/runtime/ddi"
)

// balanced waits until no device has work, and checks that what counts work has returned to 0:
// then nothing waits for what has ended, and nothing keeps what it does not need.
func (r *rig) balanced() {
	require.NoError(r, r.kernel.WaitForIdle(r.thread))
	r.audit()
	k := r.kernel
	for i := range k.nodes {
		n := &k.nodes[i]
		assert.Empty(r, n.hardware)
		assert.Empty(r, n.waiting)
		assert.Equal(r, []any{n.submitted, uint64(0), false, false}, []any{max(n.submitted, n.completed), n.preemption, n.preempted, n.masked})
	}
	locked := 0
	for _, d := range k.devices {
		for _, c := range d.contexts {
			assert.True(r, c.idle(), "context %#x", c.handle)
		}
		for _, a := range d.allocations {
			assert.Equal(r, [3]int{}, [3]int{a.held, a.queued, a.listed}, "held, queued and listed of %#x", a.handle)
			if a.pinned {
				locked++
			}
		}
	}
	assert.Equal(r, locked, k.pins)
	for _, seg := range k.segments {
		seg.check(r)
	}
	assert.Len(r, k.paging.free, len(k.paging.all), "paging buffers")
	assert.False(r, k.moving || k.scheduling)
	assert.Empty(r, k.lost)
}

// check checks that places are in the segment, and that no two overlap.
func (s *segment) check(t require.TestingT) {
	end := uint64(0)
	for _, a := range s.residents {
		assert.Same(t, s, a.segment)
		assert.LessOrEqual(t, end, a.offset)
		assert.Zero(t, a.address()%uint64(a.info.Alignment))
		end = a.offset + s.spanOf(a)
	}
	assert.LessOrEqual(t, end, s.desc.Size)
}

// Threads of several processes do random work at once, each on allocations of its own, in scarce
// memory. One of them may hang; the others keep their contents.
//
// docs/properties.md: S8.
func TestThreadsKeepContents(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newRandomMachine(t)
		hangs := -1
		if m.kernel.caps.SupportPerEngineTDR {
			hangs = rapid.IntRange(-1, 2).Draw(t, "hangs")
		}
		var all []*machine
		var tasks []Task
		for i := range 3 {
			p := &machine{rig: m.process(uint32(i + 2)), contents: map[ddi.KMHandle][]byte{}}
			p.open(0)
			p.contexts = append(p.contexts, &p.ctx, p.context(uint32(len(p.kernel.nodes)-1)))
			p.priority(t)
			all = append(all, p)
			tasks = append(tasks, Task{p.thread, func(*ddi.Thread) { p.anything(t, i == hangs) }})
		}
		m.kernel.Run(rapid.Uint64().Draw(t, "seed"), tasks)
		for i, p := range all {
			if i == hangs {
				require.Equal(t, ddi.StatusDeviceRemoved, p.thunks.WaitForIdle(p.thread, p.dev))
				continue
			}
			require.NoError(t, p.kernel.Lost(p.dev))
			for _, a := range p.handles {
				require.Equal(t, p.contents[a], p.read(a))
			}
		}
		m.finish()
	})
}

// anything does random work, and ends with work that never ends if it hangs.
func (m *machine) anything(t *rapid.T, hangs bool) {
	actions := []func(*rapid.T){m.create, m.remove, m.render, m.render, m.render, m.check, m.overwrite, m.priority}
	for range rapid.IntRange(1, 8).Draw(t, "actions") {
		actions[rapid.IntRange(0, len(actions)-1).Draw(t, "action")](t)
	}
	if !hangs {
		return
	}
	c := rapid.SampledFrom(m.contexts).Draw(t, "context")
	cmds := slices.Concat([]command{m.command(t)}, []command{{op: opHang}}, []command{m.command(t)})
	m.submit(c, cmds...)
	m.submit(c, m.command(t))
}
