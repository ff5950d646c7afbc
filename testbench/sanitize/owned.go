package sanitize

import (
	"bytes"
	"fmt"
	"maps"
	"slices"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/dxgkrnl"
)

// Go has no traps on memory, so a write by the CPU is found by its effect. While the GPU owns host
// memory the sanitizer keeps a copy, with the GPU's writes in it. Bytes that differ
// from the copy were written by the CPU.

// owned is the host memory of an allocation that an unfinished submission accesses.
type owned struct {
	by         *submission
	allocation ddi.KMHandle
	memory     span   // of the allocation
	parts      ranges // offsets that are accessed

	bytes  []byte // from the first part to the last; nil: not known yet
	early  []moved
	writes uint64 // of the GPU so far
}

// moved are bytes that the GPU wrote.
type moved struct {
	at    span
	bytes []byte
}

// own notes the host memory that a submission owns from now on. The kernel may move an allocation
// that the application has locked: the bytes that are written then are moved again at the unlock.
func (s *Sanitizer) own(u *submission) {
	if s.peek == nil {
		return
	}
	of := map[ddi.KMHandle]*owned{}
	for _, x := range u.accesses {
		a := s.allocations[x.allocation]
		if a == nil || !a.memory.has(x.bytes) || u.paging && a.locks > 0 {
			continue
		}
		o := of[x.allocation]
		if o == nil {
			o = &owned{by: u, allocation: x.allocation, memory: a.memory}
			of[x.allocation], u.owned = o, append(u.owned, o)
		}
		x.rows.each(x.bytes, func(row span, _ uint64) bool {
			o.parts.add(span{row.from - o.memory.from, row.to - o.memory.from})
			return true
		})
	}
	s.fresh = u.owned
}

// each calls do with the offsets of each part that is in a range of addresses, until it returns false.
func (o *owned) each(at span, do func(part span) bool) {
	if !o.memory.overlaps(at) {
		return
	}
	at = at.and(o.memory)
	at = span{at.from - o.memory.from, at.to - o.memory.from}
	for _, part := range o.parts[o.parts.after(at.from):] {
		if part.from >= at.to || !do(part.and(at)) {
			return
		}
	}
}

// read returns the bytes that are in memory now, in a buffer if it is large enough.
func (s *Sanitizer) read(o *owned, p []byte) ([]byte, bool) {
	first := o.parts[0].from
	n := o.parts[len(o.parts)-1].to - first
	if uint64(cap(p)) < n {
		p = make([]byte, n)
	}
	p, ok := p[:n], true
	o.each(o.memory, func(part span) bool {
		ok = s.peekAt(o.memory.from+part.from, p[part.from-first:part.to-first]) == nil
		return ok
	})
	return p, ok
}

// fill reads the memory that the last submission owns. The lock is not held then, since the GPU's
// accesses take it with the lock of the memory. So its writes in between are made again.
func (s *Sanitizer) fill() {
	for _, o := range take(s, &s.fresh) {
		p, ok := s.read(o, nil)
		s.mu.Lock()
		if early := o.early; ok {
			o.bytes, o.early = p, nil
			for _, m := range early {
				o.wrote(m.at, m.bytes)
			}
		} else {
			o.by.owned = nil // the memory is gone, so there is nothing to compare
		}
		s.mu.Unlock()
	}
}

// moved compares what the GPU reads with the copies, and changes them by what it writes.
func (s *Sanitizer) moved(at span, p []byte, writes bool) {
	if writes {
		for _, u := range s.jobs {
			for _, o := range u.owned {
				o.wrote(at, p)
			}
		}
	}
	for _, u := range s.unfinished {
		for _, o := range u.owned {
			switch {
			case writes:
				o.wrote(at, p)
			case u.submitted:
				s.differs(o, at, func(offset uint64) []byte { return p[o.memory.from+offset-at.from:] })
			}
		}
	}
}

// of returns the copy of a part.
func (o *owned) of(part span) []byte {
	first := o.parts[0].from
	return o.bytes[part.from-first : part.to-first]
}

// wrote changes the copy by what the GPU writes.
func (o *owned) wrote(at span, p []byte) {
	if !o.memory.overlaps(at) {
		return
	}
	o.writes++
	if o.bytes == nil {
		o.early = append(o.early, moved{at, append([]byte(nil), p...)})
		return
	}
	o.each(at, func(part span) bool {
		copy(o.of(part), p[o.memory.from+part.from-at.from:])
		return true
	})
}

// differs reports the first byte in a range that differs from the copy. After that it forgets the
// copies of the submission. memory returns the bytes from an offset on.
func (s *Sanitizer) differs(o *owned, in span, memory func(offset uint64) []byte) {
	if o.bytes == nil {
		return
	}
	o.each(in, func(part span) bool {
		was := o.of(part)
		now := memory(part.from)[:len(was)]
		if bytes.Equal(now, was) {
			return true
		}
		i := 0
		for now[i] == was[i] {
			i++
		}
		at := part.from + uint64(i)
		before := fmt.Sprintf("submission %d ended", o.by.serial)
		if o.by.job != 0 {
			before = fmt.Sprintf("DMA buffer %d left its software queue", o.by.job)
		}
		s.find("access-cpu-write", "pfnLockCb", "byte %#x of %s is %#02x and was %#02x: the CPU wrote it before %s, whose %s",
			at, s.of(o.allocation), now[i], was[i], before, o.use(at))
		o.by.owned = nil
		return false
	})
}

// use describes the first access of a byte, without its submission.
func (o *owned) use(offset uint64) string {
	at := span{o.memory.from + offset, o.memory.from + offset + 1}
	i := slices.IndexFunc(o.by.accesses, func(x access) (found bool) {
		x.rows.each(at, func(span, uint64) bool {
			found = true
			return false
		})
		return found
	})
	x := o.by.accesses[i]
	return fmt.Sprintf("%s at %#x %s", x.op, x.at, x)
}

// maxCompare bounds the attempts to compare memory that the GPU writes meanwhile.
const maxCompare = 4

// compare compares the memory that a submission owned with the copies, when it ends.
func (s *Sanitizer) compare(serial uint64) {
	s.mu.Lock()
	var all []*owned
	s.each(serial, func(u *submission) { all = u.owned })
	s.mu.Unlock()
	s.compareOwned(all)
}

// compareOwned compares memory with the copies.
func (s *Sanitizer) compareOwned(all []*owned) {
	for _, o := range all {
		for range maxCompare {
			s.mu.Lock()
			writes := o.writes
			s.mu.Unlock()
			var ok bool
			if s.peeked, ok = s.read(o, s.peeked); !ok {
				break
			}
			s.mu.Lock()
			same := o.writes == writes
			if same && o.by.owned != nil {
				s.differs(o, o.memory, func(offset uint64) []byte { return s.peeked[offset-o.parts[0].from:] })
			}
			s.mu.Unlock()
			if same {
				break
			}
		}
	}
}

// locked notes a lock, and checks that it has waited for the GPU. With IgnoreSync a lock for writing need
// not wait, since the application writes other bytes. A lock for reading with IgnoreSync is reported if
// unfinished work writes the allocation.
func (s *Sanitizer) locked(a *allocation, e dxgkrnl.Event) {
	a.locks++
	a.pinned = a.pinned || e.IgnoreSync
	if e.Write {
		a.written.add(span{0, a.bytes}) // the lock has no range
		a.locked, a.kept = true, nil
		if e.IgnoreSync {
			return
		}
	}
	how := ""
	if e.IgnoreSync {
		how = " for reading with IgnoreSync"
	}
	for _, u := range s.works() {
		for _, x := range u.accesses {
			if x.allocation == e.Allocation && (x.writes || e.Write) {
				s.find("access-lock", "pfnLockCb", "%s is locked%s while %s %s", s.of(e.Allocation), how, x.name(u), x)
				return
			}
		}
	}
}

// works returns the unfinished submissions, and then the DMA buffers in software queues.
func (s *Sanitizer) works() []*submission {
	all := slices.Clone(s.unfinished)
	for _, job := range slices.Sorted(maps.Keys(s.jobs)) {
		all = append(all, s.jobs[job])
	}
	return all
}
