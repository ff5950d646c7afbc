package why

import (
	"fmt"

	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
)

// maxTouches is the number of packets in the answer about an address.
const maxTouches = 20

// Address answers what was at a GPU address, and which packets wrote it, the latest last.
// Addresses of host memory have bit 63 set. It fails with ErrQuestion if nothing was there.
func (r *Run) Address(addr uint64) (*Answer, error) {
	a := &Answer{Question: "address " + pkt.FormatAddr(addr), Verdict: "nothing wrote it"}
	for _, p := range r.places {
		if addr-p.address >= p.size {
			continue
		}
		what := fmt.Sprintf("allocation %#x is there, in segment %d, from %s on; this is its byte %#x", p.allocation, p.segment, pkt.FormatAddr(p.address), addr-p.address)
		if p.memory {
			what = fmt.Sprintf("it is byte %#x of the host memory of allocation %#x", addr-p.address, p.allocation)
		}
		a.step(p.from, "%s", what)
		a.step(p.to, "allocation %#x is there no more", p.allocation)
	}
	for _, s := range r.order {
		if addr&pkt.Host != 0 && addr&^pkt.Host-s.buffer-s.start < s.end-s.start {
			a.step(s.queued, "it is in the buffer of %s", s.name())
		}
	}
	if len(a.Chain) == 0 {
		return nil, fmt.Errorf("%w: neither an allocation nor a buffer was at %s", ErrQuestion, pkt.FormatAddr(addr))
	}
	writes := 0
	r.each(func(m move) {
		if _, ok := m.source(addr); !ok {
			return
		}
		if writes++; writes > maxTouches {
			return
		}
		a.Chain = append(a.Chain, Step{Event: m.at().Event, Time: m.at().Time, What: "written by " + m.describe()})
	})
	if writes > 0 {
		a.Verdict = fmt.Sprintf("%d packets wrote it", writes)
	}
	if writes > maxTouches {
		a.Cause = fmt.Sprintf("the last %d packets are left out", writes-maxTouches)
	}
	return a, nil
}
