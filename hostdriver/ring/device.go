package ring

import (
	"fmt"
	"math/bits"

	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/runtime/ddi"
)

// resetPolls bounds the number of reads of CTL until a reset is done. A node
// first drains its reads in flight, each of which takes at most a round trip of
// the link.
const resetPolls = 1 << 12

// Start resets the node, gives it the ring and starts it. Afterwards the ring
// is empty, has no error, and FENCE is 0. It returns the status of a failed
// register access, StatusIOTimeout if the node does not leave reset or ignores
// it, and StatusDeviceConfiguration if it refuses to run.
func (r *Ring) Start(t *ddi.Thread) ddi.Status { return r.start(t, 0) }

// start is Start with another value of FENCE.
func (r *Ring) start(t *ddi.Thread, fence uint32) ddi.Status {
	if s := r.reset(t); s != ddi.StatusSuccess {
		return s
	}
	base := r.Addr(0)
	for _, w := range [...]struct{ off, v uint32 }{
		{cpreg.Fence, fence},
		{cpreg.RingLo, uint32(base)},
		{cpreg.RingHi, uint32(base >> 32)},
		{cpreg.RingSize, uint32(bits.TrailingZeros(uint(len(r.mem.Bytes))))},
		{cpreg.Ctl, cpreg.CtlRun},
	} {
		if s := r.regs.WriteRegister(t, r.reg(w.off), w.v); s != ddi.StatusSuccess {
			return s
		}
	}
	ctl, s := r.regs.ReadRegister(t, r.reg(cpreg.Ctl))
	if s != ddi.StatusSuccess {
		return s
	}
	if ctl&cpreg.CtlRun == 0 {
		return ddi.StatusDeviceConfiguration
	}
	r.head, r.next, r.retired = 0, 0, 0
	r.submitted, r.completed, r.err = 0, 0, nil
	r.began, r.preempting, r.asked = false, false, 0
	return ddi.StatusSuccess
}

// Stop resets the node, so that it no longer accesses memory. It returns a
// status as Start does; on failure the node may still be running.
func (r *Ring) Stop(t *ddi.Thread) ddi.Status {
	return r.reset(t)
}

// reset resets the node and waits until the reset is done. RING_SIZE, which Start
// sets, shows whether it took place: a node that ignores RESET reads as done too.
func (r *Ring) reset(t *ddi.Thread) ddi.Status {
	if s := r.regs.WriteRegister(t, r.reg(cpreg.Ctl), cpreg.CtlReset); s != ddi.StatusSuccess {
		return s
	}
	for range resetPolls {
		ctl, s := r.regs.ReadRegister(t, r.reg(cpreg.Ctl))
		if s != ddi.StatusSuccess {
			return s
		}
		if ctl&cpreg.CtlReset == 0 {
			return r.isReset(t)
		}
	}
	return ddi.StatusIOTimeout
}

// isReset checks that RING_SIZE is 0, as after a reset.
func (r *Ring) isReset(t *ddi.Thread) ddi.Status {
	size, s := r.regs.ReadRegister(t, r.reg(cpreg.RingSize))
	if s == ddi.StatusSuccess && size != 0 {
		return ddi.StatusIOTimeout
	}
	return s
}

// preset sets FENCE of the idle node, so that the first id may be any, although ids
// never decrease. It clears RUN: a write while a fence completes would be lost.
func (r *Ring) preset(t *ddi.Thread, id uint32) error {
	if id == 0 {
		return nil
	}
	for _, w := range [...]struct{ off, v uint32 }{{cpreg.Ctl, 0}, {cpreg.Fence, id}, {cpreg.Ctl, cpreg.CtlRun}} {
		if s := r.regs.WriteRegister(t, r.reg(w.off), w.v); s != ddi.StatusSuccess {
			return r.registerError(w.off, s)
		}
	}
	return nil
}

// ReadFence reads the node's fence register. The value is untrusted: Complete
// checks it.
func (r *Ring) ReadFence(t *ddi.Thread) (uint32, ddi.Status) {
	return r.regs.ReadRegister(t, r.reg(cpreg.Fence))
}

// ReadCause reads why the node stopped: cpreg.CauseNone if it has not.
func (r *Ring) ReadCause(t *ddi.Thread) (uint32, ddi.Status) {
	v, s := r.regs.ReadRegister(t, r.reg(cpreg.FaultInfo))
	return v & cpreg.FaultCause, s
}

// write writes a register of the node. A failure marks the ring as failed.
func (r *Ring) write(t *ddi.Thread, off, v uint32) {
	if s := r.regs.WriteRegister(t, r.reg(off), v); s != ddi.StatusSuccess {
		r.Fail(r.registerError(off, s))
	}
}

func (r *Ring) registerError(off uint32, s ddi.Status) error {
	return fmt.Errorf("%w: CP%d at %#x: %w", ErrRegister, r.node, off, s)
}

// reg returns the offset of a register of the node in BAR0.
func (r *Ring) reg(off uint32) uint32 { return cpreg.Base + uint32(r.node)*cpreg.Stride + off }
