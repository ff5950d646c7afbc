package why

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
)

// A contact is a time in which an address was written or read, or might have been written by the CPU.
type contact struct {
	Point
	what  func() string
	stack []frame     // the calls that led to it
	sub   *submission // nil: the CPU
}

// contacts are those of an address, each in order.
type contacts struct {
	writes, reads []contact
	doubts        []contact // writes of which the log does not say whether they happened
	unsure        []contact // and reads
}

// contacts returns the contacts of an address.
func (r *Run) contacts(addr uint64) (c contacts) {
	r.each(func(m move) {
		if _, ok := m.source(addr); ok {
			c.writes = append(c.writes, m.contact(func() string { return "written by " + m.describe() }))
		}
		if m.reads(addr) {
			c.reads = append(c.reads, m.contact(func() string { return "read by " + m.describe() }))
		}
	})
	r.doubtful(func(m move) {
		if r.reached(m, addr) {
			c.doubts = append(c.doubts, m.contact(func() string { return m.doubt("written") }))
		}
		if m.reads(addr) {
			c.unsure = append(c.unsure, m.contact(func() string { return m.doubt("read") }))
		}
	})
	for _, s := range r.order {
		if s.written.In() && addr-(pkt.Host|s.word) < fenceBytes {
			c.writes = append(c.writes, contact{s.written, func() string { return "written by the fence of " + s.name() }, s.stack, s})
		}
		r.fetches(&c, s, addr)
	}
	c.writes = append(c.writes, r.uploads(addr)...)
	for _, all := range [][]contact{c.writes, c.reads, c.doubts, c.unsure} {
		slices.SortStableFunc(all, func(x, y contact) int { return cmp.Compare(x.Event, y.Event) })
	}
	return c
}

// contact is a contact of a move.
func (m move) contact(what func() string) contact {
	return contact{m.when, what, m.sub.calls(m.packet), m.sub}
}

// fenceBytes is the size of the value of a fence.
const fenceBytes = 8

// uploads returns the times in which the CPU might write an address.
func (r *Run) uploads(addr uint64) (all []contact) {
	for _, w := range r.locksOf(addr) {
		all = append(all, contact{w.from, w.describe, w.stack, nil})
	}
	return all
}

// locksOf returns the times in which the CPU had what was at an address.
func (r *Run) locksOf(addr uint64) (all []*cpuWrite) {
	here := Run{}
	for _, p := range r.places {
		if addr-p.address < p.size {
			here.places = append(here.places, p)
		}
	}
	for _, w := range r.locks {
		if p := here.placeOf(addr, w.from); p != nil && !p.driver && p.allocation == w.allocation {
			all = append(all, w)
		}
	}
	return all
}

// times tells how often an address was written or read, and who did it last. did is "wrote" or "read", and done is
// "written" or "read". It adds the calls and the submission of the last time to an answer. n counts also what all does
// not have.
func times(did, done string, n int, all []contact, a *Answer) string {
	switch {
	case n == 0:
		return fmt.Sprintf("nothing %s it", did)
	case len(all) == 0:
		return fmt.Sprintf("it was %s %s", done, often(n))
	}
	last := all[len(all)-1]
	a.frames(last.stack)
	if s := last.sub; s != nil {
		a.step(s.queued, "%s enters the queue of the kernel: %s", s.name(), s.describe())
		a.step(s.submitted, "submission %d goes to the hardware", s.serial)
		a.end(s)
	}
	return fmt.Sprintf("it was %s %s, last by %s", done, often(n), last.by())
}

// often counts times.
func often(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// by names the call and the submission of a contact.
func (c contact) by() string {
	who := "the CPU"
	for _, f := range c.stack {
		if f.number != 0 {
			who = fmt.Sprintf("call %d, %s", f.number, f.name)
		}
	}
	switch {
	case c.sub == nil && who != "the CPU":
		return "the CPU in " + who
	case c.sub == nil:
		return who
	case who == "the CPU":
		return c.sub.name()
	case c.sub.kind == pagingKind:
		return "paging for " + who + ", in " + c.sub.name()
	}
	return who + ", in " + c.sub.name()
}
