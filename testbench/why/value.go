package why

import (
	"slices"

	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/testbench/eventlog"
)

// wordBytes is the size of the value that a PREDICATE reads.
const wordBytes = 8

// A span is when something happened, at most: from one event to another.
type span struct {
	from, to uint64      // to is 0 if it has not ended
	sub      *submission // of a packet, or nil
	packet   int         // its number
}

// spanOf returns when a packet of a submission was executed: after the one before it, or while the submission was in the hardware.
func (r *Run) spanOf(s *submission, i int) span {
	t := span{s.submitted.Event, 0, s, i}
	for _, at := range []Point{s.aborted, s.retired, s.written, s.packets[i].executed} {
		if at.In() {
			t.to = at.Event
		}
	}
	for k := range s.packets[:i] {
		t.from = max(t.from, s.packets[k].executed.Event)
	}
	return t
}

// precedes reports whether it is certain that something happened before something else. A node executes its submissions in the order
// in which it gets them, unless they are in queues of the firmware.
func (r *Run) precedes(t, other span) bool {
	switch a, b := t.sub, other.sub; {
	case a != nil && a == b:
		return t.packet < other.packet
	case a != nil && b != nil && a.node == b.node && !r.rings:
		return a.submitted.Event < b.submitted.Event
	}
	return t.to != 0 && t.to < other.from
}

// A setting wrote a value that a PREDICATE reads, or may have written it.
type setting struct {
	span
	certain     bool // it has written it
	known, zero bool // whether it wrote 0
}

// isZero reports whether the 8 bytes at an address were 0 when a packet read them, and whether that is known.
func (r *Run) isZero(addr uint64, at span) (zero, known bool) {
	if len(r.gaps) > 0 || len(r.mapped) > 0 && (addr&pkt.Host != 0 || inApertures(addr)) {
		return false, false // bytes with two names
	}
	all := slices.DeleteFunc(r.settings(addr), func(w setting) bool { return r.precedes(at, w.span) })
	last := slices.DeleteFunc(slices.Clone(all), func(w setting) bool {
		return slices.ContainsFunc(all, func(later setting) bool {
			return later.certain && r.precedes(later.span, at) && r.precedes(w.span, later.span)
		})
	})
	if !slices.ContainsFunc(last, func(w setting) bool { return w.certain && r.precedes(w.span, at) }) {
		return false, false
	}
	same := func(w setting) bool { return w.known && w.zero == last[0].zero }
	return last[0].zero, !slices.ContainsFunc(last, func(w setting) bool { return !same(w) })
}

// settings returns what has written or may have written the 8 bytes at an address: packets, short writes of the GPU to host memory, which the
// log has with their values, and the CPU.
func (r *Run) settings(addr uint64) (all []setting) {
	if addr&pkt.Host != 0 {
		for _, w := range r.stored[addr&^pkt.Host] {
			all = append(all, setting{span{w.at, w.at, nil, 0}, true, w.all, w.zero})
		}
	}
	for _, w := range r.writersOf(addr) {
		m := w.move
		m.pass = r.passOf(m.sub, w.number)
		if r.fateOf(&m); m.fate == never {
			continue
		}
		one := setting{span: r.spanOf(m.sub, w.number), certain: m.fate == whole}
		if f, _, err := pkt.DecodeFill(m.packet.data); err == nil && addr >= f.Dst && addr-f.Dst+wordBytes <= uint64(f.Bytes) {
			one.known, one.zero = true, f.Value == 0
		}
		all = append(all, one)
	}
	for _, w := range r.locksOf(addr) {
		all = append(all, setting{span: span{from: w.from.Event, to: w.to.Event}})
	}
	return all
}

// A stored is a write of the GPU to 8 bytes of host memory.
type stored struct {
	at   uint64 // event
	all  bool   // it wrote all of them
	zero bool   // and then 0
}

// stores notes a short write of the GPU to host memory. That of a fence is no value of a PREDICATE.
func (b *builder) stores(e *eventlog.Event) {
	addr, n, value := e.Fields[0], e.Fields[1], e.Fields[2]
	if b.ofDriver(addr) || n == 0 {
		return
	}
	first, last := addr&^(wordBytes-1), (addr+n-1)&^(wordBytes-1)
	for _, word := range slices.Compact([]uint64{first, last}) {
		b.stored[word] = append(b.stored[word], stored{e.ID, addr == word && n == wordBytes, value == 0})
	}
}

// A writer is a move that writes a value of a PREDICATE, if it is executed.
type writer struct {
	move
	number int // of its packet
}

// writersOf returns the moves that write the 8 bytes at an address that a PREDICATE reads. The first call looks for those of all
// PREDICATEs of the log.
func (r *Run) writersOf(addr uint64) []writer {
	if r.writers == nil {
		r.writers = map[uint64][]writer{}
		words := r.predicates()
		for _, s := range r.order {
			r.intoWords(s, words)
		}
	}
	return r.writers[addr]
}

// predicates returns the addresses that PREDICATEs read, in order.
func (r *Run) predicates() (words []uint64) {
	for _, s := range r.order {
		for i := range s.packets {
			if d, _, err := pkt.DecodePredicate(s.packets[i].data); err == nil {
				words = append(words, d.Addr)
			}
		}
	}
	slices.Sort(words)
	return slices.Compact(words)
}

// intoWords notes the moves of a submission that write a word.
func (r *Run) intoWords(s *submission, words []uint64) {
	var surfaces [2]surface
	s.walk(&surfaces, nil, func(i int, d pkt.Packet, _ pass) bool {
		m := s.move(i)
		if !m.fill(d, surfaces) && !m.marks(d) || m.bytes == 0 || m.rows == 0 {
			return true
		}
		end := m.dst + (m.rows-1)*m.dstPitch + m.bytes
		from, _ := slices.BinarySearch(words, m.dst&^(wordBytes-1))
		for _, word := range words[from:] {
			if word >= end {
				break
			}
			if m.overlaps(word) {
				r.writers[word] = append(r.writers[word], writer{m, i})
			}
		}
		return true
	})
}

// marks is fill for packets that write memory and move nothing.
func (m *move) marks(d pkt.Packet) bool {
	switch d := d.(type) {
	case pkt.Fence:
		m.dst, m.bytes = d.Addr, fenceBytes
	case pkt.Signal:
		m.dst, m.bytes = d.Addr, fenceBytes
	case pkt.SaveState:
		m.dst, m.bytes = d.Addr, pkt.StateBytes
	default:
		return false
	}
	return true
}

// overlaps reports whether a move writes one of the 8 bytes at an address.
func (m move) overlaps(addr uint64) bool {
	for i := range uint64(wordBytes) {
		if _, ok := m.source(addr + i); ok {
			return true
		}
	}
	return false
}
