package sanitize

import (
	"cmp"
	"fmt"

	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/dxgkrnl"
	"github.com/hilgpu/hilgpu/runtime/verifier"
)

// fetchBytes is the granule of the reads that fetch packets: a node may read the rest of it.
const fetchBytes = 64

// pagingKind is the kind of a submission that is a paging buffer.
const pagingKind = "paging buffer"

// The names of operations.
const (
	transferName = "TRANSFER"
	fillName     = "FILL"
	mapName      = "MAP_APERTURE_SEGMENT"
	unmapName    = "UNMAP_APERTURE_SEGMENT"
	discardName  = "DISCARD_CONTENT"
)

// The kinds of submissions that read what an application need not have drawn: that of a frame, and
// what the kernel draws.
const (
	presentKind = "DxgkDdiPresent"
	drawKind    = "DxgkDdiRenderKm"
)

// A submission is unfinished work.
type submission struct {
	serial    uint64
	job       uint64 // of a DMA buffer that has no submission yet; else 0
	node      uint32
	fence     uint32
	number    uint64 // on its node
	device    ddi.KMHandle
	function  string // that wrote its buffer
	paging    bool   // it is a paging buffer
	buffer    span   // the part that is submitted
	fetched   span   // what a node may read of it
	accesses  []access
	submitted bool
	stopped   bool     // its node has stopped before its end, and it does not continue yet
	turn      uint64   // when it was first queued, among those of all nodes
	owned     []*owned // host memory that it accesses
	done      uint64   // the end of the last packet that its node has executed, or 0
	cut       bool     // a reset of its node has ended it inside
	place     uint64   // how far in its buffer it may continue all the same, or 0
	rung      bool     // its doorbell was rung
	unpinned  bool     // it was told that a page of an access is not that of the allocation

	// By node: the number of the last submission that ends before this one begins.
	after map[uint32]uint64
}

// An access is what a packet reads or writes.
type access struct {
	op         string
	at         uint32 // offset of the packet in the buffer
	field      uint32 // offset of the address
	base       uint64 // the address: of a 2D packet that of the surface
	bytes      span   // from the first byte to the last
	named      span   // as the packet has them, if those were translated
	rows       rows   // of them
	offsets    span   // of them in the allocation, of a DMA buffer
	writes     bool
	allocation ddi.KMHandle // 0: unknown
}

// named is an access of a submission, with the name that a finding has for it.
type named struct {
	x access
	u *submission
}

func (x access) name(u *submission) named { return named{x, u} }

// work returns the packet, or nil if its buffer is in a software queue.
func (n named) work() *verifier.Work {
	if n.u.job != 0 {
		return nil
	}
	return &verifier.Work{Submission: n.u.serial, Packet: true, Offset: n.x.at}
}

func (n named) String() string {
	x, u := n.x, n.u
	if u.job != 0 {
		return fmt.Sprintf("%s at %#x of DMA buffer %d in its software queue", x.op, x.at, u.job)
	}
	return fmt.Sprintf("%s at %#x of submission %d (node %d, fence %d)", x.op, x.at, u.serial, u.node, u.fence)
}

// hardware names the submissions in the hardware, and how far each has been executed, as far as the GPU tells it.
func (s *Sanitizer) hardware() string {
	text := ""
	for _, u := range s.unfinished {
		if !u.submitted || u.stopped {
			continue
		}
		text += fmt.Sprintf("; submission %d (node %d, fence %d) is in the hardware", u.serial, u.node, u.fence)
		if u.done != 0 {
			text += ", and its packets before " + pkt.FormatAddr(u.done) + " are complete"
		}
	}
	return cmp.Or(text, "; no submission is in the hardware")
}

// shown returns the bytes as the packet has them.
func (x access) shown() span {
	if x.named != (span{}) {
		return x.named
	}
	return x.bytes
}

func (x access) String() string {
	_, does := verbs(x.writes)
	return does + " " + x.shown().String()
}

// allows reports whether a submission accesses a range of host memory.
func (u *submission) allows(at span, writes bool) bool {
	if !writes && u.fetched.has(at) {
		return true
	}
	for _, x := range u.accesses {
		// DMA reads whole beats of 8 bytes, and a request joins rows.
		if x.writes == writes && (span{x.bytes.from &^ 7, (x.bytes.to + 7) &^ 7}).has(at) {
			return true
		}
	}
	return false
}

// queue checks a submission that enters its queue.
func (s *Sanitizer) queue(t *ddi.Thread, e dxgkrnl.Event) {
	from := pkt.Host | e.Address
	s.counts[e.Node]++
	s.turns++
	turn := s.turns
	var kept []access // of a paging buffer, whose addresses are final
	cut, place := false, uint64(0)
	s.each(e.Again, func(u *submission) { turn, kept, cut, place = u.turn, u.accesses, u.cut, u.place })
	s.retire(e.Again) // it owns its memory until it continues
	u := &submission{
		serial: e.Submission, node: e.Node, fence: e.Fence, number: s.counts[e.Node], turn: turn, device: e.Device, function: e.Text, cut: cut, place: place,
		buffer: span{from + uint64(e.Start), from + uint64(e.End)},
	}
	u.fetched = span{u.buffer.from &^ (fetchBytes - 1), (u.buffer.to + fetchBytes - 1) &^ (fetchBytes - 1)}
	var end uint32
	u.accesses, end = accesses(e.Commands, e.Start)
	switch {
	case e.Text == pagingKind && e.Again != 0:
		u.function, u.paging, u.accesses = buildPaging, true, kept
		s.continueOut(u.serial, e.Again)
	case e.Text == pagingKind:
		u.function, u.paging = buildPaging, true
		s.checkPaging(u, e.Operations)
		s.checkEvictions(u, e.Operations)
	default:
		s.checkUses(u, e.Uses)
		s.lose(e.Uses, end)
		for i := range u.accesses {
			s.translate(&u.accesses[i])
		}
	}
	s.order(u, e.On)
	s.checkHazards(u)
	s.own(u)
	s.unfinished = append(s.unfinished, u)
	s.last[u.node] = u
}

// order notes which submissions of other nodes end before u begins.
func (s *Sanitizer) order(u *submission, on []uint64) {
	u.after = map[uint32]uint64{}
	join := func(other *submission) {
		u.after[other.node] = max(u.after[other.node], other.number)
		for node, number := range other.after {
			u.after[node] = max(u.after[node], number)
		}
	}
	if before := s.last[u.node]; before != nil {
		join(before)
	}
	for _, serial := range on {
		s.each(serial, join)
	}
}

// checkHazards checks u against unfinished submissions that may end after u begins.
func (s *Sanitizer) checkHazards(u *submission) {
	for _, other := range s.unfinished {
		if !u.mayPrecede(other) {
			continue
		}
		for _, x := range u.accesses {
			for _, y := range other.accesses {
				if (x.writes || y.writes) && u.meets(x, other, y) {
					_, does := verbs(y.writes)
					s.find("access-hazard", "DxgkDdiSubmitCommand", "%s %s of %s, which submission %d of node %d %s, and does not wait for it",
						x.name(u), x, s.of(x.allocation), other.serial, other.node, does)
					return
				}
			}
		}
	}
}

// mayPrecede reports whether an unfinished submission that was queued before u may end after u begins.
// A node executes in order what it has, so those of other nodes may, unless u waits for them. One
// that has stopped ends after u on any node.
func (u *submission) mayPrecede(other *submission) bool {
	if other.stopped {
		return other.turn < u.turn
	}
	return other.node != u.node && u.after[other.node] < other.number
}

// meets reports whether the access x of u gets in the way of the access y of an unfinished submission.
// One in the hardware needs its places. A DMA buffer that has stopped gets new places before it
// continues, so the kernel may give the old ones to other work. It needs the content of its
// allocations, which paging buffers keep, and other DMA buffers must leave alone. A paging buffer
// that has stopped continues at its places.
func (u *submission) meets(x access, other *submission, y access) bool {
	if !other.stopped || other.paging {
		return x.bytes.overlaps(y.bytes)
	}
	return x.allocation == y.allocation && x.offsets.overlaps(y.offsets)
}

// checkPaging checks a paging buffer against its operations.
func (s *Sanitizer) checkPaging(u *submission, operations []dxgkrnl.Operation) {
	for i := range u.accesses {
		x := &u.accesses[i]
		s.translate(x)
		allowed := false
		for _, o := range operations {
			at := o.From
			if x.writes {
				at = o.To
			}
			from := at.Address
			if at.SegmentID == 0 {
				from = s.hostAt(from)
			}
			if (span{from, from + o.Bytes}).has(x.bytes) && (o.Name == transferName || x.writes && o.Name == fillName) {
				allowed, x.allocation = true, o.Allocation
			}
		}
		if !allowed {
			end := "source"
			if x.writes {
				end = "destination"
			}
			s.find("access-paging", u.function, "%s %s, want a part of a %s of its operations", x.name(u), x, end)
		}
	}
}

// checkUses checks a DMA buffer against the patch locations of its submission.
func (s *Sanitizer) checkUses(u *submission, uses []dxgkrnl.Use) {
	s.copied = copied{}
	at := make(map[uint32]dxgkrnl.Use, len(uses))
	for _, use := range uses {
		at[use.At] = use
	}
	for i := range u.accesses {
		x := &u.accesses[i]
		use, ok := at[x.field]
		if !ok {
			s.find("access-unpatched", u.function, "%s %s, an address that no patch location names", x.name(u), x)
			continue
		}
		x.allocation = use.Allocation
		if a := s.allocations[use.Allocation]; a != nil {
			x.offsets = a.offsets(x.bytes)
			s.checkUse(u, x, use, a)
		}
	}
}

// checkUse checks an access of an allocation.
func (s *Sanitizer) checkUse(u *submission, x *access, use dxgkrnl.Use, a *allocation) {
	of := func() string { return s.of(use.Allocation) }
	switch end := a.place.to; {
	case a.device != u.device && u.function != drawKind: // the kernel draws to those of all devices
		s.find("access-device", u.function, "%s uses %s of device %#x, want one of device %#x", x.name(u), of(), a.device, u.device)
	case !a.placed:
		s.find("access-address", "DxgkDdiPatch", "%s %s, but %s is in no segment", x.name(u), x, of())
	case x.base != a.place.from+use.Offset:
		s.find("access-address", "DxgkDdiPatch", "%s %s, want %s, offset %#x of %s", x.name(u), x, pkt.FormatAddr(a.place.from+use.Offset), use.Offset, of())
	case !a.place.has(x.bytes):
		s.find("access-bounds", u.function, "%s %s, want at most %s, the end of %s", x.name(u), x, pkt.FormatAddr(end), of())
	case x.writes && !use.Write:
		s.find("access-write", u.function, "%s %s of %s, whose list element does not have WriteOperation", x.name(u), x, of())
	case x.writes:
		s.checkPlace(u, x, a)
		s.checkPages(u, x, a, nil)
		s.wrote(x, a)
		a.newer = a.place.from&pkt.Host == 0 && !a.mapped
	default:
		s.checkPlace(u, x, a)
		s.checkPages(u, x, a, nil)
		s.checkWritten(u, x, a)
	}
}
