package why

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
)

// maxTouches is the number of writes in the answer about an address.
const maxTouches = 20

// Address answers what was at a GPU address, and what wrote it, the latest last.
// Addresses of host memory have bit 63 set. It fails with ErrQuestion if nothing was there.
func (r *Run) Address(addr uint64) (*Answer, error) {
	a := &Answer{Question: "address " + pkt.FormatAddr(addr), Verdict: "nothing wrote it"}
	r.inhabitants(a, addr)
	for _, s := range r.order {
		if addr&pkt.Host != 0 && addr&^pkt.Host-s.buffer-s.start < s.end-s.start {
			a.step(s.queued, "it is in the buffer of %s", s.name())
		}
	}
	touched := r.touched(a, addr)
	if len(a.Chain) == 0 {
		return nil, fmt.Errorf("%w: neither an allocation nor a buffer was at %s, and nothing is known to have used it", ErrQuestion, pkt.FormatAddr(addr))
	}
	writes := touched + r.writers(a, addr)
	slices.SortStableFunc(a.Chain, func(x, y Step) int { return cmp.Compare(x.Event, y.Event) })
	switch {
	case writes == 1:
		a.Verdict = "it was written once"
	case writes > 1:
		a.Verdict = fmt.Sprintf("it was written %d times", writes)
	}
	if n := writes - touched - maxTouches; n > 0 {
		a.Cause = fmt.Sprintf("the first %d times are left out", n)
	}
	return a, nil
}

// inhabitants adds what was at an address.
func (r *Run) inhabitants(a *Answer, addr uint64) {
	for _, p := range r.places {
		if addr-p.address >= p.size {
			continue
		}
		at := addr - p.address + p.within
		switch {
		case p.driver:
			a.step(p.from, "it is byte %#x of memory of the miniport", at)
		case p.memory:
			a.step(p.from, "it is byte %#x of the host memory of allocation %#x", at, p.allocation)
		default:
			a.step(p.from, "allocation %#x is there, in segment %d, from %s on; this is its byte %#x", p.allocation, p.segment, pkt.FormatAddr(p.address), at)
		}
		a.step(p.to, "allocation %#x is there no more", p.allocation)
	}
}

// A written is a time in which an address was written, or might have been. Only the last ones are described.
type written struct {
	Point
	what func() string
}

// writers adds the last packets, and the last times in which the CPU might, that wrote an
// address. It returns how many there are.
func (r *Run) writers(a *Answer, addr uint64) int {
	var all []written
	r.each(func(m move) {
		if _, ok := m.source(addr); ok {
			all = append(all, written{m.at(), func() string { return "written by " + m.describe() }})
		}
	})
	here := Run{}
	for _, p := range r.places {
		if addr-p.address < p.size {
			here.places = append(here.places, p)
		}
	}
	for _, w := range r.locks {
		if p := here.placeOf(addr, w.from); p != nil && !p.driver && p.allocation == w.allocation {
			all = append(all, written{w.from, w.describe})
		}
	}
	slices.SortStableFunc(all, func(x, y written) int { return cmp.Compare(x.Event, y.Event) })
	for _, w := range all[max(0, len(all)-maxTouches):] {
		a.Chain = append(a.Chain, Step{Event: w.Event, Time: w.Time, What: w.what()})
	}
	return len(all)
}

// describe tells which call might write the allocation.
func (w *cpuWrite) describe() string {
	by := ""
	for _, f := range w.stack {
		if f.number != 0 {
			by = fmt.Sprintf(", in call %d, %s", f.number, f.name)
		}
	}
	return fmt.Sprintf("the CPU may write allocation %#x%s", w.allocation, by)
}
