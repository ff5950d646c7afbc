package sanitize

import (
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

// Claims notes where the miniport claims that nodes stop.
func (s *Sanitizer) Claims(c kmddi.PreemptionCaps) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.granularity = c.GraphicsPreemptionGranularity
}

// submitted notes that a submission is in the hardware.
func (s *Sanitizer) submitted(u *submission) {
	u.submitted, u.done = true, 0
	delete(s.wasReset, u.node)
}

// takenBack notes that the kernel takes a submission back, after its node has stopped or was reset.
func (s *Sanitizer) takenBack(u *submission) {
	if s.wasReset[u.node] {
		if u.inside() {
			u.cut, u.place = true, 0
			if s.stopsInside() {
				u.place = u.done - u.buffer.from
			}
		}
	} else {
		s.checkStopped(u)
	}
	u.submitted, u.stopped = false, true
}

// stopsInside reports whether the miniport claims that nodes stop inside a DMA buffer.
func (s *Sanitizer) stopsInside() bool {
	return s.granularity > kmddi.GraphicsPreemptionDMABufferBoundary
}

// inside reports whether a node has executed packets of a submission, and not the last one.
func (u *submission) inside() bool { return u.done != 0 && u.done < u.buffer.to }

// checkAgain checks that a node does not execute a submission once more that its reset has ended inside. The packets before that
// place were executed. A node that stops inside, as the miniport claims, may have stopped there for the reset, and then it continues there.
func (s *Sanitizer) checkAgain(u *submission, at uint64) {
	if u.cut && (u.place == 0 || at != u.buffer.from+u.place) {
		s.find("access-stopped", "DxgkDdiResetEngine", "node %d executes submission %d (fence %d) again at %s, but its reset has ended it inside, want the end of its device, or LastAbortedFenceId of it",
			u.node, u.serial, u.fence, pkt.FormatAddr(at))
	}
	u.cut = false
}

// checkStopped checks that a node has not stopped inside a submission, unless the miniport claims so.
// It needs the packets that the node has executed.
func (s *Sanitizer) checkStopped(u *submission) {
	if !s.stopsInside() && u.inside() {
		s.find("access-stopped", "DxgkDdiPreemptCommand", "node %d has stopped at %s, inside submission %d (fence %d), whose buffer ends at %s, but GraphicsPreemptionGranularity is %d, want a stop between buffers",
			u.node, pkt.FormatAddr(u.done), u.serial, u.fence, pkt.FormatAddr(u.buffer.to), s.granularity)
	}
}
