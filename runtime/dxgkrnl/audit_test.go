package dxgkrnl

import (
	"github.com/stretchr/testify/assert"
)

// audit checks what counts work against the work itself, while no thread is in the kernel.
func (r *rig) audit() {
	k := r.kernel
	if k.visits > 0 {
		return
	}
	assert.Zero(r, k.visits)
	assert.False(r, k.modest)
	held, queued, listed := map[*allocation]int{}, map[*allocation]int{}, map[*allocation]int{}
	count := func(n map[*allocation]int, d *dmaBuffer, p part) {
		for i := p.start; i < p.end; i++ {
			n[d.object(i)]++
		}
	}
	for _, d := range k.devices {
		for _, c := range d.contexts {
			for _, j := range c.jobs {
				count(queued, j.dma, j.left)
			}
			for _, s := range c.pending {
				if s.placed {
					count(held, s.dma, s.part)
				} else {
					count(queued, s.dma, s.part)
				}
			}
			for _, b := range c.dma {
				if b.job.id == 0 {
					continue
				}
				for _, a := range b.objects[:b.nList] {
					listed[a]++
				}
			}
			r.auditLine(&c.line, c.pending)
		}
		for _, a := range d.allocations {
			assert.Equal(r, [3]int{held[a], queued[a], listed[a]}, [3]int{a.held, a.queued, a.listed}, "held, queued and listed of %#x", a.handle)
		}
	}
	for _, a := range k.destroyed {
		assert.Equal(r, [3]int{held[a], queued[a], listed[a]}, [3]int{a.held, a.queued, a.listed}, "held, queued and listed of destroyed %#x", a.handle)
	}
	for i := range k.nodes {
		r.auditNode(&k.nodes[i])
	}
	r.auditLine(&k.paging.line, k.pagingNode().waiting)
}

// auditLine checks that the submissions of a line follow each other: the completed ones, those in
// the hardware, and those that wait.
func (r *rig) auditLine(l *line, waiting []*submission) {
	next := l.completed + 1
	for _, s := range l.node.hardware {
		if s.line == l {
			assert.Equal(r, next, s.mark.number, "in the hardware")
			next++
		}
	}
	assert.Equal(r, l.submitted+1, next, "submitted")
	if l.cut {
		return
	}
	for _, s := range waiting {
		assert.Equal(r, next, s.mark.number, "waiting")
		next++
	}
	assert.Equal(r, l.made+1, next, "made")
}

// auditNode checks the numbers of the fences of a node, and that each submission in its hardware
// has one after the last that has completed.
func (r *rig) auditNode(n *node) {
	assert.LessOrEqual(r, n.completed, n.reported)
	assert.LessOrEqual(r, n.reported, n.submitted)
	last := n.completed
	for _, s := range n.hardware {
		assert.Greater(r, s.fence, last)
		assert.Equal(r, n.first+uint32(s.fence)-1, s.arg.SubmissionFenceID)
		last = s.fence
	}
	assert.LessOrEqual(r, last, n.submitted)
	assert.False(r, n.preemption != 0 && n.preemption > n.submitted)
}
