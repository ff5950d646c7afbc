package dxgkrnl

import (
	"slices"

	"github.com/hilgpu/hilgpu/runtime/ddi"
)

// make makes the next submission of the first job of a context: as large a part as
// finds room in the segments.
func (k *Kernel) make(t *ddi.Thread, c *context) bool {
	j := c.jobs[0]
	d := j.dma
	if !k.placeable(d, j.left.start, d.groupEnd(j.left.start)) && k.occupied() {
		return false
	}
	end, st := k.gather(t, d, j.left.start)
	k.flush()
	if st.Failed() {
		if k.err == nil {
			k.loseDevice(c.device, st)
		}
		return false
	}
	p := part{j.left.at, d.used, j.left.start, end}
	if end < d.nPatches {
		p.to = d.patches[end].SplitOffset
	}
	s := k.newSubmission(&c.line)
	s.dma, s.job, s.part, s.placed = d, j, p, true
	s.arg.Device, s.arg.Context, s.arg.DmaBufferPrivateData = c.device.driver, c.driver, d.private
	s.arg.DmaBufferPhysicalAddress, s.arg.DmaBufferSize = d.pages.Phys, uint32(len(d.pages.Bytes))
	s.arg.DmaBufferSubmissionStartOffset, s.arg.DmaBufferSubmissionEndOffset = p.at, p.to
	s.arg.Flags.Present = d.present
	d.refs++
	k.use(s)
	c.pending = append(c.pending, s)
	if p.start > 0 {
		k.stats.Splits++
	}
	j.left.at, j.left.start = p.to, end
	if end == d.nPatches {
		k.finishJob(c)
	}
	return true
}

// finishJob removes the first job of a context, of which nothing is left.
func (k *Kernel) finishJob(c *context) {
	j := c.jobs[0]
	j.made = true
	c.jobs = slices.Delete(c.jobs, 0, 1)
	j.dma.release()
}

// use records the uses of the allocations of a new submission, which keep their places,
// and what it must wait for.
func (k *Kernel) use(s *submission) {
	d := s.dma
	for i := s.part.start; i < s.part.end; i++ {
		a := d.object(i)
		if a == nil {
			continue
		}
		write := d.writes(i)
		before := a.writes
		if write {
			before = a.uses
		}
		for _, m := range before {
			if m.line != s.line && !m.completed() {
				s.waits.add(m)
			}
		}
		a.uses.add(s.mark)
		if write {
			a.writes.add(s.mark)
			a.written()
		}
		a.queued--
		a.held++
	}
}

// written notes that work will write an allocation at its place.
func (a *allocation) written() {
	a.content = a.content || !a.inMemorySegment()
	a.dirty = a.inMemorySegment()
}

// placeAgain gives places again to the allocations of a preempted submission.
func (k *Kernel) placeAgain(t *ddi.Thread, s *submission) bool {
	d, p := s.dma, s.part
	k.markFollowers()
	if s.follows {
		return false
	}
	if !k.placeable(d, p.start, p.end) && !k.makeWay(d, p) && (k.occupied() || k.pins > 0) {
		return false
	}
	st := k.placePart(t, d, p.start, p.end)
	k.flush()
	if st.Failed() {
		if k.err == nil {
			k.loseDevice(d.context.device, st)
		}
		return false
	}
	for i := p.start; i < p.end; i++ {
		a := d.object(i)
		if a == nil {
			continue
		}
		s.waits.add(mark{&k.paging.line, a.paged})
		if d.writes(i) {
			a.written()
		}
		a.queued--
		a.held++
	}
	s.placed = true
	return true
}

// letGo ends the hold on the places of a submission. submitted reports whether it goes to
// the hardware.
func (s *submission) letGo(submitted bool) {
	if !s.placed {
		return
	}
	s.placed = false
	for i := s.part.start; i < s.part.end; i++ {
		if a := s.dma.object(i); a != nil {
			a.held--
			if submitted && s.dma.writes(i) {
				a.changes++
			}
		}
	}
}

// hold keeps the places of a submission again, which letGo has given up.
func (s *submission) hold() {
	s.placed = true
	for i := s.part.start; i < s.part.end; i++ {
		if a := s.dma.object(i); a != nil {
			a.held++
		}
	}
}

// occupied reports whether places are held for other work, so that there is room later.
func (k *Kernel) occupied() bool {
	for _, seg := range k.segments {
		for _, a := range seg.residents {
			if a.held > 0 {
				return true
			}
		}
	}
	return false
}
