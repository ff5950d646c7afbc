package why

import (
	"fmt"
	"regexp"
	"slices"

	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
)

// presentKind is the kind of a submission that presents a frame.
const presentKind = "DxgkDdiPresent"

// maxHops bounds the moves from a pixel back to its origin.
const maxHops = 1000

// Pixel answers where a pixel of the last presented frame comes from: back through copies to
// the fill, or to the memory that the CPU wrote. The newest link is first. It fails with
// ErrQuestion if the log has no such pixel.
func (r *Run) Pixel(x, y uint16) (*Answer, error) {
	a, err := r.pixel(x, y)
	if err == nil {
		r.untimed(a)
		if wrongPixel.MatchString(r.end.Text()) {
			a.Notes = append(a.Notes, "the command read a wrong frame back, and the chain is what the GPU was told to do: if that is right, the memory may be wrong, or a read of it: bringup tests both")
		}
	}
	return a, err
}

// wrongPixel finds the first pixel in the error of a command that has read a wrong frame.
var wrongPixel = regexp.MustCompile(`pixels differ, the first at (\d+,\d+)`)

// untimed adds a note on the time of packets if the board does not tell them.
func (r *Run) untimed(a *Answer) {
	if !r.Header.Observed && len(r.order) > 0 {
		a.Notes = append(a.Notes, "this board does not tell when its packets end: each has the time at which its submission ended")
	}
}

// pixel is Pixel without the notes about the log.
func (r *Run) pixel(x, y uint16) (*Answer, error) {
	m, ok := r.presented(x, y)
	doubts := r.doubts()
	if !ok {
		if d, open := doubted(doubts, func(d move) bool { return d.sub.kind == presentKind && d.presents(x, y) }); open {
			a := &Answer{Question: fmt.Sprintf("pixel %d,%d", x, y), Verdict: "its origin is not known"}
			a.frames(d.sub.calls(d.packet))
			a.step(d.when, "it was %s", d.doubt("written"))
			return a.lacks(MissingUnknown, "it was %s", d.doubt("written")), nil
		}
		return nil, fmt.Errorf("%w: no present that has ended wrote pixel %d,%d; %s", ErrQuestion, x, y, r.frame())
	}
	a := &Answer{Question: fmt.Sprintf("pixel %d,%d", x, y)}
	addr := m.to.element(x, y)
	at, known := r.spotOf(m, addr, addr, true)
	all := r.ended()
	if d, ok := doubted(doubts, func(d move) bool { return d.sub.kind == presentKind && d.presents(x, y) && m.precedes(d) }); ok {
		a.Notes = append(a.Notes, fmt.Sprintf("later the pixel was %s", d.doubt("written")))
	}
	until := r.last.Event
	for hop := 0; hop < maxHops; hop++ {
		a.frames(m.sub.calls(m.packet))
		a.step(m.when, "%s writes %s%s", m.describe(), pkt.FormatAddr(addr), map[bool]string{true: ", " + at.String()}[known])
		if !m.copies {
			a.Verdict = "it was filled: " + m.describe()
			return a, nil
		}
		if text := r.wrong(m); text != "" {
			a.Verdict = "it was copied from or to another address than the driver asked for"
			return a.lacks(MissingPatch, "%s", text), nil
		}
		if event, ok := m.order(); ok {
			until = event
		}
		src := r.sourceOf(all, m, addr)
		d, open := doubted(doubts, func(d move) bool { return src.doubted(r, d, m) })
		g, gone := r.missed(src.since(), m.when.Event)
		switch c := r.overlooked(src, until); {
		case open:
			a.step(d.when, "%s was %s", pkt.FormatAddr(src.addr), d.doubt("written"))
			a.Verdict = "its origin is not known"
			return a.lacks(MissingUnknown, "%s was %s", pkt.FormatAddr(src.addr), d.doubt("written")), nil
		case gone:
			a.Verdict = "its origin is not known"
			return a.lacks(MissingUnknown, "%s, and one of them may have written %s", g, pkt.FormatAddr(src.addr)), nil
		case c != nil:
			return r.silence(a, c), nil
		case src.upload != nil:
			return r.origin(a, src.upload, src.addr), nil
		case !src.found:
			return r.untraced(a, m, src), nil
		}
		m, addr, at, known = src.last, src.at, src.spot, src.known
	}
	a.Verdict = "its origin is not in the log"
	return a.lacks(MissingUnknown, "it was moved more than %d times", maxHops), nil
}

// overlooked returns a command that should have written the bytes that a move reads, after their last writer, or nil.
// Copies of the kernel do not change the order of the application's commands.
func (r *Run) overlooked(src source, until uint64) *command {
	if !src.known {
		return nil
	}
	since := uint64(0)
	if src.upload != nil {
		since = src.upload.from.Event
	} else if event, ok := src.last.orderIf(src.found); ok {
		since = event
	} else if src.found && src.last.copies {
		return nil
	}
	return r.skipped(src.allocation, since, until)
}

// untraced ends a chain at bytes without a known writer.
func (r *Run) untraced(a *Answer, m move, src source) *Answer {
	a.Verdict = "its origin is not in the log"
	if p := r.stay(src.spot, m.sub.queued); p != nil && src.known && src.addr&pkt.Host == 0 {
		a.step(p.from, "allocation %#x gets its place at %s", p.allocation, pkt.FormatAddr(p.address))
		return a.lacks(MissingUnknown, "nothing in the log wrote %s after the kernel put allocation %#x there: no paging operation, and no packet", pkt.FormatAddr(src.addr), p.allocation)
	}
	return a.lacks(MissingUnknown, "nothing in the log wrote %s before clock %d", pkt.FormatAddr(src.addr), m.when.Time)
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
	for _, s := range r.order {
		if s.kind != presentKind {
			continue
		}
		r.movesOf(s, func(m move) {
			if m.fate == whole && m.presents(x, y) && (!ok || found.precedes(m)) {
				found, ok = m, true
			}
		})
	}
	return found, ok
}

// presents reports whether the move of a present writes a pixel.
func (m move) presents(x, y uint16) bool {
	_, writes := m.source(m.to.element(x, y))
	return m.to.set && writes && uint64(x)*m.to.bytes < m.to.pitch
}

// frame describes the size of the last frame that was presented.
func (r *Run) frame() string {
	var last surface
	var width, height uint64
	r.each(func(m move) {
		if m.sub.kind != presentKind || !m.to.set || m.to.pitch == 0 || m.rows == 0 || m.bytes == 0 {
			return
		}
		if to := m.to; to.base != last.base || to.pitch != last.pitch {
			last, width, height = to, 0, 0
		}
		at := m.dst - m.to.base
		width = max(width, (at%m.to.pitch+m.bytes)/m.to.bytes)
		height = max(height, at/m.to.pitch+m.rows)
	})
	if height == 0 {
		return "no present is known to have ended"
	}
	return fmt.Sprintf("the last frame has %d x %d pixels", width, height)
}

// before returns the last move before m that wrote what src tells, and the address at which it did. all are the submissions of
// which packets were executed, in the order of the last of them.
func (r *Run) before(all []*submission, m move, src source) (found move, at uint64, ok bool) {
	for _, s := range slices.Backward(all) {
		if ok && s.finished < found.when.Event {
			break
		}
		if s.begun.In() && s.begun.Event > m.when.Event {
			continue
		}
		r.movesOf(s, func(other move) {
			if other.fate != whole || !other.precedes(m) || ok && !found.precedes(other) {
				return
			}
			if _, writes := other.source(src.addr); writes {
				found, at, ok = other, src.addr, true
			} else if src.known && src.addr&pkt.Host != 0 {
				if addr, writes := r.through(other, src.spot); writes {
					found, at, ok = other, addr, true
				}
			}
		})
	}
	return found, at, ok
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
