package dxgkrnl

import (
	"slices"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

// A job is a DMA buffer in the software queue of its context. The scheduler makes
// submissions of it, in as many parts as its allocations need, when its turn has come
// and its node has room.
type job struct {
	id    uint64 // among all jobs, from 1, in the order in which they are queued
	at    uint64 // time at which it was queued
	dma   *dmaBuffer
	after []earlier
	left  part // that is not yet made
	made  bool // nothing is left
}

// earlier is a job of another context that must be made before, since both use an
// allocation that one of them writes.
type earlier struct {
	job *job
	id  uint64 // a buffer, and so its job, is used again
}

// waits reports whether the job is not yet made.
func (e earlier) waits() bool { return e.job.id == e.id && !e.job.made }

// queueJob queues a DMA buffer.
//
//	Returns StatusSuccess; StatusNoVideoMemory, with nothing queued, if a group of its
//	        allocations does not fit
func (k *Kernel) queueJob(t *ddi.Thread, d *dmaBuffer) ddi.Status {
	if s := d.context.device.removed; s.Failed() {
		return s // while Render waited
	}
	if !k.ample(d) && !k.feasible(d, 0) {
		return ddi.StatusNoVideoMemory
	}
	k.jobs++
	c, j := d.context, &d.job
	*j = job{id: k.jobs, at: k.dev.Now(), dma: d, after: j.after[:0], left: part{0, d.used, 0, d.nPatches}}
	k.orderJob(j)
	d.expect(j.left, 1)
	d.refs++
	d.count(1)
	c.jobs = append(c.jobs, j)
	if len(c.jobs) == 1 && len(c.pending) == 0 {
		k.wake(c)
	}
	if k.observer != nil {
		k.observe(Event{
			Kind: EventPending, Job: j.id, Node: c.line.node.ordinal, Context: c.handle, Device: c.device.handle,
			End: d.used, Commands: d.pages.Bytes[:d.used], Uses: d.uses(0, d.nPatches), Text: d.function(),
		})
	}
	k.work(t)
	return k.status(t)
}

// orderJob finds the jobs of other contexts that must be made before j: those that write
// an allocation that j uses, and those that use one that j writes. An allocation belongs
// to one device, and the kernel draws to those of all.
func (k *Kernel) orderJob(j *job) {
	c := j.dma.context
	if !c.device.system && len(c.device.contexts) == 1 && len(k.devices[0].contexts) == 0 {
		return
	}
	for i := range j.dma.nPatches {
		if a := j.dma.object(i); a != nil {
			if a.user != j.id {
				a.user, a.writer = j.id, false
			}
			a.writer = a.writer || j.dma.writes(i)
		}
	}
	for _, d := range k.devices {
		if d != c.device && !d.system && !c.device.system {
			continue
		}
		for _, other := range d.contexts {
			for _, o := range other.jobs {
				if other != c && o.conflicts(j) {
					j.after = append(j.after, earlier{o, o.id})
				}
			}
		}
	}
}

// conflicts reports whether what is left of o uses an allocation that j writes, or
// writes one that j uses. orderJob has marked those of j.
func (o *job) conflicts(j *job) bool {
	for i := o.left.start; i < o.left.end; i++ {
		if a := o.dma.object(i); a != nil && a.user == j.id && (a.writer || o.dma.writes(i)) {
			return true
		}
	}
	return false
}

// blocked reports whether a job must wait for others to be made.
func (j *job) blocked() bool {
	j.after = slices.DeleteFunc(j.after, func(e earlier) bool { return !e.waits() })
	return len(j.after) > 0
}

// count counts the allocations in the list of a buffer.
func (d *dmaBuffer) count(n int) {
	for _, a := range d.objects[:d.nList] {
		if a != nil {
			a.listed += n
		}
	}
}

// writes reports whether the allocation list says that patch i is written.
func (d *dmaBuffer) writes(i int) bool { return d.list[d.patches[i].AllocationIndex].WriteOperation }

// work makes and submits what can be, at PASSIVE_LEVEL. One thread at a time does so; it
// may have to wait for a paging buffer, and the others go on.
func (k *Kernel) work(t *ddi.Thread) {
	k.endFaults(t)
	k.cancelRest()
	if k.moving || k.err != nil {
		return
	}
	k.moving = true
	defer k.endMove()
	for k.err == nil && k.step(t) {
	}
}

// step makes or submits one submission, and reports whether it could.
func (k *Kernel) step(t *ddi.Thread) bool {
	k.rank()
	for i := range k.nodes {
		n := &k.nodes[i]
		if k.contend(t, n) {
			return true
		}
		if !k.room(n) {
			continue
		}
		for _, c := range k.candidates(n) {
			if c.runs() && k.advance(t, c) {
				return true
			}
			if k.err != nil {
				return false
			}
		}
	}
	return k.kick(t)
}

// advance makes the next submission of a context, or submits it.
func (k *Kernel) advance(t *ddi.Thread, c *context) bool {
	if len(c.pending) == 0 {
		return !c.jobs[0].blocked() && k.make(t, c)
	}
	s := c.pending[0]
	if !s.placed {
		return k.placeAgain(t, s)
	}
	if !k.ready(s) {
		k.noteWaits(s)
		return false
	}
	if !k.together(c.line.node) {
		return false
	}
	k.issue(t, s)
	return true
}

// together reports whether a DMA buffer may be submitted now, after the paging buffers that
// wait for the same node: some of them may be its own. One that depends on another, which was
// taken back when the node stopped, would have to wait once that is submitted, and the DMA
// buffer would pass it.
func (k *Kernel) together(n *node) bool {
	return len(n.hardware)+len(n.waiting) < int(k.caps.HwQueuePacketCap) &&
		!slices.ContainsFunc(n.waiting, func(s *submission) bool { return !s.pumped() })
}

// patch is the function of the miniport that writes addresses.
const patch = "DxgkDdiPatch"

// part is a portion of a DMA buffer: its bytes and its patches.
type part struct {
	at, to     uint32
	start, end int
}

// issue patches the first submission of a context that waits, and submits it after the
// paging buffers that wait for its node.
func (k *Kernel) issue(t *ddi.Thread, s *submission) {
	d, c, p := s.dma, s.dma.context, s.part
	c.pending = slices.Delete(c.pending, 0, 1)
	s.level = c.level
	for _, paging := range c.line.node.waiting {
		k.number(paging)
	}
	k.number(s)
	k.checkLent(&d.lent, d.function())
	k.checkPatchesKept(d)
	k.beginLent(&d.lent, patch)
	d.keepRest()
	d.locate()
	d.beginLists()
	k.scheduling = true
	st := k.driver.Patch(t, k.adapter, kmddi.Patch{
		Device: c.device.driver, Context: c.driver,
		DmaBuffer: d.pages.Bytes, DmaBufferPrivateData: d.private, DmaBufferPhysicalAddress: d.pages.Phys,
		DmaBufferSubmissionStartOffset: p.at, DmaBufferSubmissionEndOffset: p.to,
		AllocationList: d.list[:d.nList:d.nList], PatchLocationList: d.patches[:d.nPatches:d.nPatches],
		PatchLocationListSubmissionStart: uint32(p.start), PatchLocationListSubmissionLength: uint32(p.end - p.start),
		SubmissionFenceID: s.arg.SubmissionFenceID, NodeOrdinal: c.line.node.ordinal, Flags: s.arg.Flags,
	})
	k.scheduling = false
	k.checkPatched(s)
	if st != ddi.StatusSuccess {
		k.bugcheck(patch, CodeScheduler, SchedulerPatch, "fence %d returned %v, want STATUS_SUCCESS", s.arg.SubmissionFenceID, st)
	}
	old := t.Raise(ddi.DispatchLevel)
	k.pump(t)
	if k.err == nil && len(c.line.node.waiting) > 0 {
		// The node has faulted meanwhile. The buffer gets a fence and a patch again, after the rest of the paging buffers.
		s.fence, s.serial = 0, 0
		c.pending = slices.Insert(c.pending, 0, s)
		k.dev.Lower(t, old)
		return
	}
	s.letGo(true)
	k.observeQueue(s)
	if k.err == nil {
		k.submit(t, s)
	} else {
		k.recycle(s)
	}
	k.dev.Lower(t, old)
}

// checkPatched bugchecks if Patch changed what it must not.
func (k *Kernel) checkPatched(s *submission) {
	d := s.dma
	if i := d.restChanged(s.part.at, s.part.to); i >= 0 && k.err == nil {
		k.bugcheck(patch, CodeVerifier, VerifierPatchRange, "byte %#x of the buffer changed, want changes in [%#x, %#x) only", i, s.part.at, s.part.to)
	}
	d.end(d.used)
	k.checkLent(&d.lent, patch)
	k.checkLists(d, patch)
}

// drain waits until all work of all devices has completed.
func (k *Kernel) drain(t *ddi.Thread) ddi.Status {
	s := k.wait(t, "all submissions", func() bool {
		return !slices.ContainsFunc(k.devices, func(d *device) bool { return !d.idle() })
	})
	if s.Failed() {
		return s
	}
	return k.idle(t)
}

// dropWork cancels the work of a context that is not in the hardware.
func (k *Kernel) dropWork(c *context) {
	c.line.cut = true // also for what a preemption takes back meanwhile
	for _, s := range c.pending {
		if !s.placed {
			s.dma.expect(s.part, -1)
		}
		s.letGo(false)
		k.discard(s)
	}
	for _, j := range c.jobs {
		j.dma.expect(j.left, -1)
		k.cancel(j.dma, j.left)
		j.made = true
		j.dma.release()
	}
	clear(c.pending)
	clear(c.jobs)
	c.pending, c.jobs = c.pending[:0], c.jobs[:0]
	c.line.settle()
}

// loseDevice removes a device and cancels its work that is not in the hardware, at the
// latest when the thread that places allocations ends that. Other devices go on.
func (k *Kernel) loseDevice(d *device, s ddi.Status) {
	if !d.removed.Failed() {
		d.removed = s
	}
	if k.moving {
		k.lost = append(k.lost, d)
		return
	}
	for _, c := range d.contexts {
		k.dropWork(c)
	}
}
