package dxgkrnl

import (
	"github.com/hilgpu/hilgpu/runtime/ddi"
)

// wait lets other threads in, and time pass, until done returns true, at
// PASSIVE_LEVEL. It fails if the GPU has stopped or stops first. what is what it waits
// for.
func (k *Kernel) wait(t *ddi.Thread, what string, done func() bool) ddi.Status {
	if k.observer != nil && k.err == nil && !done() {
		k.observe(Event{Kind: EventWait, Text: what})
		defer k.observe(Event{Kind: EventWaitEnd})
	}
	began, resets := k.dev.Now(), k.resets
	ended := func() bool { return k.err != nil || k.resets != resets || done() }
	for !ended() {
		k.letIn(t, ended)
		dpcs := k.stats.DPCs
		if k.work(t); ended() {
			break
		}
		if k.late(t, began) {
			// A message that late has delivered may have ended the wait, or made room for work.
			if k.work(t); !ended() && k.late(t, began) {
				k.expire(t)
			}
			continue
		}
		k.sample(t)
		if ended() || k.stats.DPCs != dpcs {
			continue // a DPC may have made room for work
		}
		if err := k.dev.Wait(t, k.turnEnd(k.nextTurn(k.nextSample(k.deadline(began))))); err != nil {
			k.stopLink(t, err)
		}
	}
	if k.resets != resets {
		return ddi.StatusDeviceRemoved
	}
	return k.status(t)
}

// turnEnd returns until when a thread that waits for the device may keep its place:
// other threads arrive meanwhile, on a board in real time. During Run nobody can arrive.
func (k *Kernel) turnEnd(deadline uint64) uint64 {
	if k.gate.runs() {
		return deadline
	}
	return min(deadline, k.dev.Now()+k.quantum)
}

// late reports whether the deadline of a wait has passed. First it delivers the
// messages that arrived by now: those of a board in another process arrive at any time,
// and a wait after a long pause of the application finds them and the time at once.
func (k *Kernel) late(t *ddi.Thread, began uint64) bool {
	now := k.dev.Now()
	if now < k.deadline(began) {
		return false
	}
	k.dev.Deliver(t)
	return now >= k.deadline(began)
}

// idle waits until nothing is in the hardware, and no paging buffer waits.
func (k *Kernel) idle(t *ddi.Thread) ddi.Status {
	return k.wait(t, "all submissions", func() bool {
		for i := range k.nodes {
			if n := &k.nodes[i]; n.busy() || len(n.waiting) > 0 {
				return false
			}
		}
		return true
	})
}

// LeastMove is how many bytes a submission may at least move over a slow link.
const LeastMove = 8 << 20

// tdrDelay returns the ticks without progress until the GPU counts as hung. A packet may
// move an allocation as a whole.
func (k *Kernel) tdrDelay() uint64 { return k.tdrTicks + k.linkDelay(max(LeastMove, k.largest)) }

// deadline returns when the first node that has work must have made progress.
// If no node has work, it is the end of a wait that started at the time began.
func (k *Kernel) deadline(began uint64) uint64 {
	delay := k.tdrDelay()
	first, found := began+delay, false
	for i := range k.nodes {
		n := &k.nodes[i]
		if d := n.progressAt + delay; n.busy() && (!found || d < first) {
			first, found = d, true
		}
	}
	return first
}

// working reports whether a node has work in the hardware.
func (k *Kernel) working() bool {
	for i := range k.nodes {
		if k.nodes[i].busy() {
			return true
		}
	}
	return false
}
