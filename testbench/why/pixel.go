package why

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
)

func sortBy(all []*submission, key func(s *submission) uint64) {
	slices.SortStableFunc(all, func(a, b *submission) int { return cmp.Compare(key(a), key(b)) })
}

// presentKind is the kind of a submission that presents a frame.
const presentKind = "DxgkDdiPresent"

// maxHops bounds the moves from a pixel back to its origin.
const maxHops = 1000

// Pixel answers where a pixel of the last presented frame comes from: back through copies to
// the fill, or to the memory that the CPU wrote. The newest link is first. It fails with
// ErrQuestion if the log has no such pixel.
func (r *Run) Pixel(x, y uint16) (*Answer, error) {
	m, ok := r.presented(x, y)
	if !ok {
		return nil, fmt.Errorf("%w: no present that has ended wrote pixel %d,%d", ErrQuestion, x, y)
	}
	a := &Answer{Question: fmt.Sprintf("pixel %d,%d", x, y)}
	addr := m.to.element(x, y)
	all := r.ended()
	until := r.last.Event
	for hop := 0; hop < maxHops; hop++ {
		from, _ := m.source(addr)
		a.frames(m.sub.calls(m.packet))
		a.step(m.at(), "%s writes %s%s", m.describe(), pkt.FormatAddr(addr), r.allocated(addr, m.at()))
		if !m.copies {
			a.Verdict = "it was filled: " + m.describe()
			return a, nil
		}
		if text := r.wrong(m); text != "" {
			a.Verdict = "it was copied from or to another address than the driver asked for"
			return a.lacks(MissingPatch, "%s", text), nil
		}
		last, found := before(all, m, from)
		if event, ok := m.order(); ok {
			until = event
		}
		if c := r.overlooked(m, last, found, from, until); c != nil {
			return r.silence(a, c), nil
		}
		if w := r.uploaded(from, m.at()); w != nil && (!found || w.from.Event > last.at().Event) {
			return r.origin(a, w, from), nil
		}
		if p := r.placeOf(from, m.at()); p != nil && from&pkt.Host == 0 && (!found || last.at().Event < p.from.Event) {
			a.step(p.from, "allocation %#x gets its place at %s", p.allocation, pkt.FormatAddr(p.address))
			a.Verdict = "its origin is not in the log"
			return a.lacks(MissingUnknown, "nothing in the log wrote %s after the kernel put allocation %#x there: no paging operation, and no packet", pkt.FormatAddr(from), p.allocation), nil
		}
		if !found {
			a.Verdict = "its origin is not in the log"
			return a.lacks(MissingUnknown, "nothing in the log wrote %s before clock %d", pkt.FormatAddr(from), m.at().Time), nil
		}
		m, addr = last, from
	}
	a.Verdict = "its origin is not in the log"
	return a.lacks(MissingUnknown, "it was moved more than %d times", maxHops), nil
}

// overlooked returns a command that should have written the bytes that a move reads, after their last writer, or nil.
// What the kernel copies keeps its place in the order of the application.
func (r *Run) overlooked(m, last move, found bool, from, until uint64) *command {
	p := r.placeOf(from, m.at())
	if p == nil || p.driver {
		return nil
	}
	since := uint64(0)
	if w := r.uploaded(from, m.at()); w != nil && (!found || w.from.Event > last.at().Event) {
		since = w.from.Event
	} else if event, ok := last.orderIf(found); ok {
		since = event
	} else if found && last.copies {
		return nil
	}
	return r.skipped(p.allocation, since, until)
}

// orderIf is order, or false without a move.
func (m move) orderIf(found bool) (uint64, bool) {
	if !found {
		return 0, false
	}
	return m.order()
}

// silence ends a chain at a command that wrote nothing.
func (r *Run) silence(a *Answer, c *command) *Answer {
	a.frames([]frame{c.call.frame, c.frame})
	a.Verdict = fmt.Sprintf("call %d, %s, should have written it", c.call.number, c.call.name)
	return a.lacks(MissingCommand, "%s", c.describe())
}

// presented returns the last move of a present that wrote a pixel.
func (r *Run) presented(x, y uint16) (found move, ok bool) {
	for _, s := range r.ended() {
		if s.kind != presentKind {
			continue
		}
		s.moves(func(m move) {
			_, writes := m.source(m.to.element(x, y))
			if m.to.set && writes && uint64(x)*m.to.bytes < m.to.pitch {
				found, ok = m, true
			}
		})
	}
	return found, ok
}

// before returns the last move before m that wrote a byte. all are the submissions that have
// ended, in order.
func before(all []*submission, m move, addr uint64) (found move, ok bool) {
	for i := slices.Index(all, m.sub); i >= 0 && !ok; i-- {
		past := false
		all[i].moves(func(other move) {
			past = past || other.packet == m.packet
			if _, writes := other.source(addr); writes && !past {
				found, ok = other, true
			}
		})
	}
	return found, ok
}

// allocated says which allocation was at an address.
func (r *Run) allocated(addr uint64, at Point) string {
	if p := r.placeOf(addr, at); p != nil {
		return fmt.Sprintf(", byte %#x of allocation %#x", addr-p.address+p.within, p.allocation)
	}
	return ""
}

// placeOf returns what was at an address when an event happened, or nil.
func (r *Run) placeOf(addr uint64, at Point) *place {
	for _, p := range slices.Backward(r.places) {
		if addr-p.address < p.size && p.from.Event <= at.Event && (!p.to.In() || p.to.Event >= at.Event) {
			return p
		}
	}
	return nil
}

// uploaded returns the last time before an event in which the CPU could write the allocation
// at an address, or nil.
func (r *Run) uploaded(addr uint64, at Point) *cpuWrite {
	p := r.placeOf(addr, at)
	if p == nil {
		return nil
	}
	for _, w := range slices.Backward(r.locks) {
		if w.allocation == p.allocation && w.from.Event < at.Event && w.from.Event > p.from.Event {
			return w
		}
	}
	return nil
}

// origin ends a chain at the CPU.
func (r *Run) origin(a *Answer, w *cpuWrite, addr uint64) *Answer {
	a.frames(w.stack)
	a.step(w.from, "the CPU may write allocation %#x, which has %s", w.allocation, pkt.FormatAddr(addr))
	a.step(w.to, "and gives it back")
	a.Verdict = fmt.Sprintf("the CPU uploaded it, in allocation %#x", w.allocation)
	for _, f := range w.stack {
		if f.number != 0 {
			a.Verdict = fmt.Sprintf("the CPU uploaded it: call %d, %s, of allocation %#x", f.number, f.name, w.allocation)
		}
	}
	return a
}
