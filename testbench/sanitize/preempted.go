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

// checkStopped checks that a node has not stopped inside a submission, unless the miniport claims so.
// It needs the packets that the node has executed.
func (s *Sanitizer) checkStopped(u *submission) {
	if s.granularity <= kmddi.GraphicsPreemptionDMABufferBoundary && u.done != 0 && u.done < u.buffer.to {
		s.find("access-stopped", "DxgkDdiPreemptCommand", "node %d has stopped at %s, inside submission %d (fence %d), whose buffer ends at %s, but GraphicsPreemptionGranularity is %d, want a stop between buffers",
			u.node, pkt.FormatAddr(u.done), u.serial, u.fence, pkt.FormatAddr(u.buffer.to), s.granularity)
	}
}
