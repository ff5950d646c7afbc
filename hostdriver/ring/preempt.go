package ring

import (
	"fmt"

	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/runtime/ddi"
)

// A Place is where a node has stopped: in the first submission that has not completed, if
// there is one.
//
//	Rptr      of the node, in dwords
//	ID        its fence
//	Began     the node was in its buffer, at Addr
//	Ended     only its fence is left
//	Addr      GPU address of the next packet
//	Left      dwords from there to the end of the buffer
//	Progress  how much of that packet is done, as in the register PROGRESS
type Place struct {
	Rptr     uint32
	ID       uint32
	Began    bool
	Ended    bool
	Addr     uint64
	Left     uint32
	Progress uint32
}

// Resume is Submit for the rest of a buffer in which the node was stopped. The node first
// restores the context at the GPU address state, a multiple of pkt.StateBytes, with the
// progress of the packet at addr.
func (r *Ring) Resume(t *ddi.Thread, state, addr uint64, dwords, id uint32) {
	r.submit(t, work{state: state, addr: addr, dwords: dwords, id: id, resumes: true})
}

// Slot returns the number of the next submission, modulo Slots. No two outstanding
// submissions have the same.
func (r *Ring) Slot() uint32 { return r.next % Slots }

// Preempt asks the node to stop, also if it has been asked before. It may be called at DIRQL.
// Until Yield nothing may be submitted. The node must have CAPS.PREEMPTION.
func (r *Ring) Preempt(t *ddi.Thread) {
	r.asked++
	r.preempting = true
	r.write(t, cpreg.Preempt, r.asked)
}

// Preempting reports whether Yield is due when the node has answered.
func (r *Ring) Preempting() bool { return r.preempting }

// Answered reads whether the node has answered the last Preempt. If it has, FENCE and the
// registers that Place reads no longer change.
func (r *Ring) Answered(t *ddi.Thread) (bool, ddi.Status) {
	v, s := r.regs.ReadRegister(t, r.reg(cpreg.Preempted))
	return s == ddi.StatusSuccess && v == r.asked, s
}

// Place returns where the node has stopped, after it has answered and Complete got the value
// of FENCE. busy is false if all submissions have completed. A place where the node cannot
// have stopped is an error that marks the ring as failed. Place runs at DIRQL.
func (r *Ring) Place(t *ddi.Thread) (p Place, busy bool, err error) {
	var lo, hi uint32
	for _, v := range [...]struct {
		off uint32
		to  *uint32
	}{{cpreg.Rptr, &p.Rptr}, {cpreg.IBLeft, &p.Left}, {cpreg.IBLo, &lo}, {cpreg.IBHi, &hi}, {cpreg.Progress, &p.Progress}} {
		var s ddi.Status
		if *v.to, s = r.regs.ReadRegister(t, r.reg(v.off)); s != ddi.StatusSuccess {
			return Place{}, false, r.registerError(v.off, s)
		}
	}
	p.Addr = uint64(hi)<<32 | uint64(lo)
	sub, busy := r.Executing()
	if !r.at(&p, sub, busy) {
		err = fmt.Errorf("%w: CP%d.RPTR %d, IB_LEFT %d", ErrPlace, r.node, p.Rptr, p.Left)
		r.Fail(err)
		return Place{}, false, err
	}
	return p, busy, nil
}

// Yield ends a preemption: it forgets all submissions that have not completed, and starts
// the node with an empty ring from RPTR on. It runs at DIRQL.
func (r *Ring) Yield(t *ddi.Thread, rptr uint32) {
	for r.next != r.retired && r.outstanding(r.records[(r.next-1)%History]) {
		r.next--
	}
	r.submitted, r.head, r.preempting = r.completed, rptr&r.mask, false
	r.write(t, cpreg.Wptr, r.head)
	r.write(t, cpreg.Ctl, cpreg.CtlRun)
}

// at completes the place in a submission, or in an empty ring. It reports false if the node
// cannot have stopped there: it stops at a packet of the ring, and in a buffer only if it is
// at its INDIRECT.
func (r *Ring) at(p *Place, sub Submission, busy bool) bool {
	rptr := p.Rptr
	if !busy {
		return rptr == r.head && p.Left == 0
	}
	fence := (sub.End - (1 + pkt.FenceBody)) & r.mask
	indirect := (fence - (1 + pkt.IndirectBody)) & r.mask
	has := fence != sub.Start
	p.ID, p.Began, p.Ended = sub.ID, p.Left != 0, rptr == fence && has
	switch {
	case p.Began:
		return has && rptr == indirect
	case rptr == fence:
		return true
	}
	return has && (rptr == sub.Start || rptr == indirect)
}

// Progress has the registers of a node that show progress.
type Progress [len(moving)]uint32

// moving are the registers that change when a node makes progress.
var moving = [...]uint32{cpreg.Fence, cpreg.Rptr, cpreg.Packets, cpreg.IBLo, cpreg.IBHi, cpreg.IBLeft, cpreg.Progress}

// ReadProgress reads how far the node is.
func (r *Ring) ReadProgress(t *ddi.Thread) (p Progress, s ddi.Status) {
	for i, off := range moving {
		if p[i], s = r.regs.ReadRegister(t, r.reg(off)); s != ddi.StatusSuccess {
			return Progress{}, s
		}
	}
	return p, s
}

// Abort gives up the submissions that have not completed, after Stop, which keeps FENCE, and
// before Restart. It returns the id of the first one, which the node has executed, or the last
// completed id if all have, and whether that is newer than the last Complete. It reads FENCE, and
// ignores a value that the node cannot have reached. It runs at DIRQL.
func (r *Ring) Abort(t *ddi.Thread) (last uint32, newer bool, s ddi.Status) {
	id, s := r.ReadFence(t)
	if s != ddi.StatusSuccess {
		return 0, false, s
	}
	newer, err := r.Complete(id)
	if err != nil {
		r.Fail(err)
	}
	r.preempting = false
	if sub, busy := r.Executing(); busy {
		return sub.ID, newer, s
	}
	return r.completed, newer, s
}

// Restart resets the node and starts it with an empty ring, as Start does, but the ids of
// fences continue after last. It returns a status as Start does; on a failure the ring has
// failed.
func (r *Ring) Restart(t *ddi.Thread, last uint32) ddi.Status {
	began := r.began
	s := r.start(t, last)
	if s != ddi.StatusSuccess {
		r.Fail(fmt.Errorf("%w: CP%d does not restart: %v", ErrRegister, r.node, s))
		return s
	}
	r.began, r.submitted, r.completed = began, last, last
	return s
}
