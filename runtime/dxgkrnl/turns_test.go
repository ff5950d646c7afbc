package dxgkrnl

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
	"github.com/hilgpu/hilgpu/runtime/hal"
)

// turns returns a kernel whose node 0 executes a part of a context since tick 1000, of
// which a quantum has 10, and a second context that waits.
func turns(t *testing.T) (q *queues, running *submission, c *context) {
	q = newQueues(t, 2, options{preempts: true, quantum: 10})
	q.work(0)
	q.work(1)
	running = q.kernel.nodes[0].hardware[0]
	running.began, running.line.context.used = 1000, 0
	c = q.kernel.handles.get(q.contexts[1].Context).(*context)
	return q, running, c
}

// Work goes before what a node executes if it has a higher level, or the same one and less time
// after a quantum. Of the same number of quantums the older work goes first.
func TestOutranks(t *testing.T) {
	for _, tt := range []struct {
		name  string
		now   uint64
		level int // of the work; that of what is executed is 0
		used  uint64
		runs  uint64 // what the running context has used before
		older bool
		want  bool
	}{
		{"a higher level", 1001, 1, 1 << 30, 0, false, true},
		{"a lower level", 1 << 20, -1, 0, 0, false, false},
		{"within the quantum", 1009, 0, 0, 100, true, false},
		{"after the quantum", 1010, 0, 0, 0, false, true},
		{"one quantum used by both, and younger", 1010, 0, 10, 0, false, false},
		{"one quantum used by both, and older", 1010, 0, 10, 0, true, true},
		{"less than a quantum used by it", 1010, 0, 9, 0, false, true},
		{"more used by it", 1010, 0, 20, 0, true, false},
		{"as much as before and now", 1015, 0, 19, 5, false, true},
		{"a quantum more than before and now", 1015, 0, 20, 5, false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			q, running, c := turns(t)
			q.gpu.now, c.used, running.line.context.used = tt.now, tt.used, tt.runs
			job := running.job.id + 1
			if tt.older {
				job = running.job.id - 1
			}
			assert.Equal(t, tt.want, q.kernel.outranks(c, tt.level, job, &q.kernel.nodes[0]))
			assert.False(t, q.kernel.outranks(running.line.context, 7, 0, &q.kernel.nodes[0]), "of the same context")
		})
	}
}

// The kernel looks again at the end of the quantum, or after the time in which work rises by
// a level, if the level is lower or the quantum is over.
func TestEndOfTurns(t *testing.T) {
	for _, tt := range []struct {
		now   uint64
		level int
		want  uint64
	}{{1005, 0, 1010}, {1005, 1, 1010}, {1005, -1, 1165}, {1009, 0, 1010}, {1010, 0, 1170}, {1020, 1, 1180}} {
		q, running, c := turns(t)
		q.gpu.now = tt.now
		assert.Equal(t, tt.want, q.kernel.turnEnds(running, tt.level), "%+v", tt)
		c.first().at, c.turn = tt.now, 0
		c.priority, c.level = tt.level, tt.level
		assert.Equal(t, tt.want, q.kernel.nextTurn(1<<40), "%+v", tt)
		assert.EqualValues(t, 1001, q.kernel.nextTurn(1001), "an earlier deadline")
		q.kernel.caps.PreemptionAware = false
		assert.EqualValues(t, 1<<40, q.kernel.nextTurn(1<<40), "it cannot be stopped")
	}
}

// Work that the node executes has the level of work that waits for it, or that waits for later
// work of its line.
func TestLevelOfWhatIsExecuted(t *testing.T) {
	for _, tt := range []struct {
		name   string
		number uint64 // of the submission of the line that the other one waits for
		done   bool   // it has completed
		level  int
		want   int
	}{
		{"waits for it", 5, false, 3, 3}, {"waits for a later one", 6, false, 3, 3}, {"waits for an earlier one", 4, false, 3, 0},
		{"has completed", 5, true, 3, 0}, {"has a lower level", 5, false, -3, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			q, running, c := turns(t)
			l := running.line
			running.mark.number, l.completed = 5, 3
			if tt.done {
				l.completed = 6
			}
			c.level = tt.level
			c.pending = []*submission{{mark: mark{&c.line, 1}, waits: marks{{l, tt.number}}}}
			q.kernel.able = []*context{c}
			assert.Equal(t, tt.want, q.kernel.runningLevel(running))
			c.pending[0].waits[0].line = &line{node: l.node}
			assert.Zero(t, q.kernel.runningLevel(running), "it waits for another line")
		})
	}
}

// A submission is stuck if it, or one before it in its line, has no places.
func TestStuck(t *testing.T) {
	c := &context{}
	c.line.context = c
	for i, s := range []submission{{placed: true}, {placed: true, follows: true}, {placed: true}} {
		s.mark = mark{&c.line, uint64(i + 2)}
		c.pending = append(c.pending, &s)
	}
	c.line.completed = 1
	for number, want := range []bool{false, false, false, true, true} {
		assert.Equal(t, want, mark{&c.line, uint64(number)}.stuck(), number)
	}
	c.pending[0].placed = false
	assert.True(t, mark{&c.line, 2}.stuck())
	assert.False(t, mark{&c.line, 1}.stuck(), "it has completed")
	assert.False(t, mark{&line{}, 1}.stuck(), "of the paging buffers")
}

// The time-out is that of the node whose work made no progress for longest. Without work
// the wait itself has the time.
func TestFirstDeadline(t *testing.T) {
	q := newQueues(t, 1, options{nodes: 3})
	k := q.kernel
	assert.EqualValues(t, 2100, k.deadline(100))
	work := []*submission{{}}
	k.nodes[0].progressAt, k.nodes[1].progressAt, k.nodes[2].progressAt = 50, 300, 200
	k.nodes[1].hardware = work
	assert.EqualValues(t, 2300, k.deadline(100))
	k.nodes[2].hardware = work
	assert.EqualValues(t, 2200, k.deadline(100))
	k.nodes[0].preemption = 1
	assert.EqualValues(t, 2050, k.deadline(100))
}

// The first gap is the lowest one. GPU addresses are aligned, not offsets.
func TestLowestGap(t *testing.T) {
	for _, tt := range []struct {
		name        string
		base        uint64
		taken       [][2]uint64 // offset and span, of 1000 bytes
		span, align uint64
		off         uint64
		index       int
		none        bool
	}{
		{"empty", 0, nil, 1000, 1, 0, 0, false}, {"a byte too large", 0, nil, 1001, 1, 0, 0, true},
		{"before", 0, [][2]uint64{{100, 10}}, 100, 1, 0, 0, false}, {"after", 0, [][2]uint64{{100, 10}}, 101, 1, 110, 1, false},
		{"between", 0, [][2]uint64{{0, 100}, {150, 10}}, 50, 1, 100, 1, false}, {"aligned", 0, [][2]uint64{{0, 100}}, 8, 64, 128, 1, false},
		{"aligned address", 96, [][2]uint64{{0, 10}}, 8, 64, 32, 1, false}, {"no room when aligned", 0, [][2]uint64{{0, 901}}, 41, 64, 0, 0, true},
		{"to the end", 0, [][2]uint64{{0, 960}}, 40, 64, 960, 1, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := &segment{desc: kmddi.SegmentDescriptor{BaseAddress: tt.base, Size: 1000}}
			for _, p := range tt.taken {
				s.residents = append(s.residents, &allocation{segment: s, offset: p[0], span: p[1]})
			}
			a := &allocation{span: tt.span, info: kmddi.AllocationInfo{Alignment: uint32(tt.align)}}
			off, i, ok := s.gap(a)
			assert.Equal(t, []any{!tt.none, tt.off, tt.index}, []any{ok, off, i})
		})
	}
	s := &segment{desc: kmddi.SegmentDescriptor{Flags: kmddi.SegmentFlags{Aperture: true}}}
	for span, want := range map[uint64]uint64{1: 4096, 4095: 4096, 4096: 4096, 4097: 8192} {
		assert.Equal(t, want, s.spanOf(&allocation{span: span}), "whole pages")
	}
}

// An allocation in host memory without gaps has a list of all its pages, and no more.
func TestPagesOfAnAllocation(t *testing.T) {
	r := newRig(t, options{aperture: 4})
	k := r.kernel
	k.segments = append(k.segments, &segment{id: 3, desc: kmddi.SegmentDescriptor{Flags: kmddi.SegmentFlags{System: true}}})
	for span, want := range map[uint64]int{4: 1, 4096: 1, 4100: 2, 8192: 2} {
		a := &allocation{span: span, info: kmddi.AllocationInfo{Alignment: 4, SupportedSegmentSet: 6}}
		assert.True(t, k.store(a))
		assert.Len(t, a.mdl, want, span)
		for i, at := range a.mdl {
			assert.Equal(t, a.pages.Phys+uint64(i)*hal.PageSize, at)
		}
	}
}

// The helpers that compare and fill memory.
func TestComparisonsOfMemory(t *testing.T) {
	assert.Equal(t, -1, difference([]byte{1, 2}, []byte{1, 2}))
	for i := range 3 {
		b := make([]byte, 3)
		b[i] = 1
		assert.Equal(t, i, difference(b, make([]byte, 3)))
		p := repeat(poison, 3)
		assert.Equal(t, -1, unpoisoned(p))
		p[i]++
		assert.Equal(t, i, unpoisoned(p))
		assert.Equal(t, i, mismatch(p, repeat(poison, 3)))
	}
	assert.Equal(t, -1, unpoisoned(nil))
	assert.Equal(t, 0, unpoisoned([]byte{1, 1}))
	assert.Equal(t, -1, mismatch([]int{1}, []int{1, 2}))
	for n := range 9 {
		b := make([]byte, n)
		repeatFill(b, 7)
		assert.Equal(t, string(repeat(7, n)), string(b))
	}
	word := []byte{0x44, 0x33, 0x22, 0x11, 0x44}
	assert.Empty(t, wrongFill(word, 0x11223344))
	for i := range word {
		b := append([]byte{}, word...)
		b[i]++
		assert.NotEmpty(t, wrongFill(b, 0x11223344), i)
	}
}

// stopsInQuestion lets node 0 answer a preemption inside a question for its progress, counted from 1. Then it completes its
// work. asked reports whether it has been asked.
func (q *queues) stopsInQuestion(t *testing.T, number int) (asked func() bool) {
	questions := 0
	asked = func() bool { return questions >= number }
	q.mini.preempt = func(int) {}
	var ask func()
	ask = func() {
		if questions++; !asked() {
			q.mini.at = map[string]func(){"QueryEngineStatus": ask}
			return
		}
		q.gpu.stop(0, 0)
		q.mini.read(q.kernel.thread, regStatus)
	}
	q.mini.at = map[string]func(){"QueryEngineStatus": ask}
	q.gpu.acts = func() bool {
		require.True(t, q.kernel.working(), "the node has nothing to do")
		if asked() {
			q.gpu.complete(0)
		}
		return asked()
	}
	return asked
}

// A node answers a preemption while it is asked for its progress. What it has given back goes to it
// again before the application waits.
//
// docs/properties.md: S7.
func TestWorkThatComesBackInAQuestionIsSubmitted(t *testing.T) {
	q := newQueues(t, 1, options{preempts: true, resets: true, quantum: 1 << 40})
	asked := q.stopsInQuestion(t, 1)
	q.work(0)
	q.devices[0].wait()
	require.True(t, asked())
	q.gpu.acts, q.gpu.auto = nil, true
	q.finish()
}

// The same holds for a paging buffer, while a thread that places allocations waits for a free one.
//
// docs/properties.md: S7.
func TestPagingThatComesBackInAQuestionIsSubmitted(t *testing.T) {
	q := newQueues(t, 1, options{preempts: true, resets: true, quantum: 1 << 40, pagingBytes: opBytes, vram: 1 << 20})
	asked := q.stopsInQuestion(t, 1)
	p := q.devices[0]
	a := p.alloc(32*4096, local) // of twice as many paging buffers as there are
	p.ok(p.submit(q.contexts[0], fill(a, 0, 64, 1)))
	p.wait()
	require.True(t, asked())
	q.gpu.acts, q.gpu.auto = nil, true
	assert.Equal(t, repeat(1, 64), p.read(a)[:64])
	q.finish()
}
