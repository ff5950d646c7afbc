package why

import (
	"encoding/binary"
	"fmt"

	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
)

// misplaced returns which address between two offsets of the buffer of a submission is not that of its patch
// location, or "".
func (r *Run) misplaced(s *submission, from, to uint32) string {
	for _, u := range s.uses {
		if u.offset < from || u.offset >= to {
			continue
		}
		place := r.residence(u.allocation, s.queued)
		for i := range s.packets {
			p := &s.packets[i]
			at := u.offset - p.offset
			if u.offset < p.offset || uint64(at)+8 > uint64(len(p.data)) || place == nil {
				continue
			}
			got, want := binary.LittleEndian.Uint64(p.data[at:]), place.address+u.within
			if got != want {
				return fmt.Sprintf("after DxgkDdiPatch the address at IB+%#x of submission %d is %s, want %s, byte %#x of allocation %#x", u.offset, s.serial,
					pkt.FormatAddr(got), pkt.FormatAddr(want), u.within, u.allocation)
			}
		}
	}
	return ""
}

// residence returns the place of an allocation in a segment when an event happened, or nil.
func (r *Run) residence(allocation uint64, at Point) *place {
	for i := len(r.places) - 1; i >= 0; i-- {
		p := r.places[i]
		if p.allocation == allocation && !p.memory && !p.driver && p.from.Event <= at.Event && (!p.to.In() || p.to.Event >= at.Event) {
			return p
		}
	}
	return nil
}

// wrong returns which address of a move is not that of its patch location, or "".
func (r *Run) wrong(m move) string {
	for _, p := range m.states {
		if p == nil {
			continue
		}
		if text := r.misplaced(m.sub, p.offset, p.offset+uint32(len(p.data))); text != "" {
			return text
		}
	}
	return ""
}

// misdirected returns which INDIRECT of the ring is not that of the bytes of a submission, or "". One that continues
// a preempted submission begins elsewhere.
func (s *submission) misdirected() string {
	from, dwords := pkt.Host|s.buffer+s.start, (s.end-s.start)/4
	for _, p := range s.ring {
		d, _, err := pkt.Decode(p.data)
		in, ok := d.(pkt.Indirect)
		if err == nil && ok && !in.Resume && (in.Addr != from || uint64(in.Dwords) != dwords) {
			return fmt.Sprintf("the INDIRECT of the ring has %d dwords at %s, want %d at %s", in.Dwords, pkt.FormatAddr(in.Addr), dwords, pkt.FormatAddr(from))
		}
	}
	return ""
}
