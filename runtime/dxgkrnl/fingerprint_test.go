package dxgkrnl

import (
	"encoding/binary"
	"runtime"
	"slices"
)

// A printer appends what tells states apart to b. Times are relative to now, and of the fences
// of a node only the order counts. Left out are counters that are only printed, the accounts of time,
// which end with quantums that are longer than a run, and the order in which allocations leave
// memory segments, since these have room for all.
type printer struct {
	b     []byte
	now   uint64
	s     *scene
	order []uint64 // fences of a node, ascending
}

func (p *printer) put(vs ...uint64) {
	for _, v := range vs {
		p.b = binary.LittleEndian.AppendUint64(p.b, v)
	}
}

func (p *printer) flags(vs ...bool) {
	for _, v := range vs {
		if v {
			p.b = append(p.b, 1)
		} else {
			p.b = append(p.b, 0)
		}
	}
}

// ago puts a time; 0 is none.
func (p *printer) ago(at uint64) {
	p.flags(at == 0)
	if at != 0 {
		p.put(p.now - at)
	}
}

// waiting returns the state where no function of the miniport runs.
func (s *scene) waiting() fingerprint {
	p := &printer{now: s.gpu.now, s: s}
	p.kernel()
	return fingerprintOf(p.b)
}

// inside returns the state in a function of the miniport. Besides the kernel that is the stack, and
// what the functions there remember of earlier: where expire and resetNode began, of which node
// the last question was, and the choices of meet.
func (s *scene) inside() fingerprint {
	p := &printer{now: s.gpu.now, s: s}
	p.kernel()
	var pcs [64]uintptr
	for _, pc := range pcs[:runtime.Callers(1, pcs[:])] {
		p.put(uint64(pc))
	}
	for _, at := range s.places {
		p.flags(at.silent, at.done)
		p.put(uint64(at.first))
	}
	p.flags(s.kernel.inISR, s.kernel.notified, s.kernel.dpcDone)
	p.put(uint64(s.asked))
	st := s.kernel.dev.Stats()
	p.put(st.Messages - st.Merged - st.Interrupts)
	p.flags(s.noted)
	for node := range s.kernel.nodes {
		if was := s.pasts[node]; s.noted {
			p.flags(s.kernel.nodes[node].completed != was.completed, was.asked)
		}
	}
	return fingerprintOf(p.b)
}

// kernel puts the kernel and the devices, with the GPU and the application.
func (p *printer) kernel() {
	s, k := p.s, p.s.kernel
	p.put(uint64(s.call), uint64(s.faults), uint64(s.first), uint64(len(s.open)), k.resets, uint64(len(k.cancelled)), uint64(len(k.lost)), uint64(k.visits))
	p.flags(s.queued, s.owed[0], s.owed[1], k.running, k.scheduling, k.moving, k.byHand, k.err != nil)
	for i := range k.nodes {
		p.node(&k.nodes[i])
	}
	p.paging(&k.paging)
	for _, c := range k.cancelled {
		p.submission(c)
	}
	for _, d := range k.devices {
		p.put(uint64(d.removed))
		p.flags(d.lost != nil, d.busy, s.guilty[d])
		for _, c := range d.contexts {
			p.context(c)
		}
		for _, a := range d.allocations {
			p.allocation(a)
		}
	}
}

// node puts a node: the kernel's view, and that of the miniport and the GPU.
func (p *printer) node(n *node) {
	p.ranks(n)
	p.fence(n.submitted, n.reported, n.completed, n.preemption)
	if n.busy() { // else it is set before it is used
		p.put(n.progressAt - p.now)
	}
	p.flags(n.preemption != 0, n.preempted, n.masked, n.reset, n.completed == n.base, n.reported == n.base, n.faulted != nil)
	if n.faulted != nil {
		p.fence(uint64(n.faulted.fence))
		p.put(uint64(n.faulted.status))
	}
	if p.now-n.sampled <= p.s.kernel.tdrDelay() { // progressAt is never before that
		p.put(p.now - n.sampled)
	}
	p.put(uint64(len(n.noted)))
	for _, arg := range n.noted {
		p.put(uint64(arg.InterruptType))
		p.fence(uint64(arg.FenceID), uint64(arg.LastCompletedFenceID))
	}
	p.put(uint64(len(n.hardware)), uint64(len(n.waiting)))
	for _, s := range n.hardware {
		p.flags(p.s.open[s.serial])
		p.submission(s)
	}
	for _, s := range n.waiting {
		p.submission(s)
	}
	g, m, i := p.s.gpu, p.s.mini, n.ordinal
	p.fence(uint64(m.last[i]), uint64(m.stopping[i]), uint64(le.Uint32(g.bar0[regFence+4*i:])))
	p.flags(m.any[i], m.stopping[i] != 0)
	p.b = append(p.b, g.bar0[regStatus:regStopped+4]...)
	p.put(uint64(len(g.queues[i])))
	for _, w := range g.queues[i] {
		p.put(w.addr, uint64(w.bytes), uint64(w.part))
		p.fence(uint64(w.fence))
		p.b = append(p.b, w.place...)
	}
	p.order = p.order[:0]
}

// ranks collects all fences of a node that are kept somewhere. The first fence is 1, so that a
// fence is its number. Only their order matters, since each new one is the greatest.
func (p *printer) ranks(n *node) {
	g, m, i := p.s.gpu, p.s.mini, n.ordinal
	p.order = append(p.order, 0, n.submitted, n.reported, n.completed, n.preemption, uint64(m.last[i]), uint64(m.stopping[i]), uint64(le.Uint32(g.bar0[regFence+4*i:])))
	for _, s := range slices.Concat(n.hardware, n.waiting) {
		p.order = append(p.order, s.fence)
	}
	for _, w := range g.queues[i] {
		p.order = append(p.order, uint64(w.fence))
	}
	for _, arg := range n.noted {
		p.order = append(p.order, uint64(arg.FenceID), uint64(arg.LastCompletedFenceID))
	}
	if n.faulted != nil {
		p.order = append(p.order, uint64(n.faulted.fence))
	}
	slices.Sort(p.order)
	p.order = slices.Compact(p.order)
}

// fence puts fences of the node as their ranks.
func (p *printer) fence(all ...uint64) {
	for _, v := range all {
		p.put(uint64(slices.Index(p.order, v)))
	}
}

func (p *printer) marks(all marks) {
	for _, m := range all {
		if !m.completed() { // one that has completed has no effect
			p.mark(m)
		}
	}
	p.b = append(p.b, '.')
}

func (p *printer) mark(m mark) {
	p.put(m.number)
	p.flags(m.line.context != nil)
	if m.line.context != nil {
		p.put(uint64(m.line.context.handle))
	}
}

func (p *printer) submission(s *submission) {
	p.mark(s.mark)
	p.marks(s.waits)
	p.flags(s.fence != 0, s.serial != 0, s.late, s.spared, s.fruitless, s.follows, s.placed, s.arg.Flags.Resubmission)
	if s.fence != 0 {
		p.fence(s.fence)
	}
	p.ago(s.began)
	p.put(min(s.spent, p.s.kernel.tdrDelay()), uint64(s.level))
	if s.paging != nil {
		p.put(uint64(slices.Index(p.s.kernel.paging.all, s.paging)), uint64(s.arg.DmaBufferSubmissionEndOffset))
		return
	}
	p.put(uint64(s.part.at), uint64(s.part.to), uint64(s.part.start), uint64(s.part.end), s.job.id, uint64(indexOf(s.dma)))
}

// paging puts the paging buffers.
func (p *printer) paging(g *pager) {
	p.put(g.line.made, g.line.submitted, g.line.completed, uint64(len(g.built)))
	p.flags(g.open != nil)
	p.marks(g.waits)
	for _, s := range g.built {
		p.submission(s)
	}
	for _, b := range g.free {
		p.put(uint64(slices.Index(g.all, b)))
	}
	for _, b := range g.all {
		p.flags(b.submitted, b.clean, b.fresh, b.kept)
		p.put(uint64(len(b.ops)))
		p.b = append(append(p.b, b.private...), b.pages.Bytes...)
	}
}

func (p *printer) context(c *context) {
	p.put(uint64(c.handle), c.line.made, c.line.submitted, c.line.completed, uint64(c.priority), uint64(c.level), uint64(c.current))
	p.flags(c.line.cut)
	p.put(uint64(len(c.jobs)), uint64(len(c.pending)), uint64(len(c.dma)), uint64(len(c.free)))
	for _, j := range c.jobs {
		p.job(j)
	}
	for _, s := range c.pending {
		p.submission(s)
	}
	for _, d := range c.free {
		p.put(uint64(indexOf(d)))
	}
	for _, d := range c.dma {
		p.put(uint64(d.refs), uint64(d.used), uint64(d.nPatches), uint64(d.nList))
		p.flags(d.submitted, d.clean, d.fresh, d.kept)
		p.b = append(append(p.b, d.private...), d.pages.Bytes...)
	}
}

func (p *printer) job(j *job) {
	p.put(j.id, uint64(j.left.at), uint64(j.left.to), uint64(j.left.start), uint64(j.left.end), uint64(len(j.after)))
	p.flags(j.made)
	for _, e := range j.after {
		p.put(e.id)
		p.flags(e.waits())
	}
}

func (p *printer) allocation(a *allocation) {
	if a.inMemorySegment() {
		p.put(a.offset, a.paged)
		p.b = append(p.b, p.s.gpu.vram[a.offset:a.offset+a.span]...)
	}
	p.put(uint64(a.handle), uint64(a.queued), uint64(a.listed), uint64(a.held), uint64(a.locks))
	p.flags(a.segment != nil, a.inMemorySegment(), a.content, a.dirty, a.destroyed)
	p.marks(a.uses)
	p.marks(a.writes)
	if !a.device.removed.Failed() { // else nobody reads it
		p.b = append(p.b, a.pages.Bytes...)
	}
}

// require fails if the fingerprint leaves out what matters.
func (s *scene) require(ok bool, format string, args ...any) {
	if !ok {
		s.t.Fatalf(format, args...)
	}
}
