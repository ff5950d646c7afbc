package why

import (
	"fmt"

	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/testbench/eventlog"
)

// taken adds a descriptor to its packet, whose event is the cause. The events of the packets of a
// submission follow each other.
func (b *builder) taken(e *eventlog.Event, at Point) {
	for _, s := range *b.flight(e.Fields[0]) {
		if i := e.Cause - s.first; s.first != 0 && e.Cause >= s.first && i < uint64(len(s.packets)) {
			p := &s.packets[i]
			p.taken++
			p.last = store{at, e.Fields[2], e.Fields[4]}
			b.pieces[e.Cause] = append(b.pieces[e.Cause], p.last)
			return
		}
	}
}

// moved says how far the DMA engine is with a packet, or nothing.
func (p *packet) moved() string {
	if p.taken == 0 {
		return ""
	}
	return fmt.Sprintf("; the DMA engine has taken %d of its descriptors, the last at clock %d: %d bytes to %s",
		p.taken, p.last.Time, p.last.value, pkt.FormatAddr(p.last.addr))
}
