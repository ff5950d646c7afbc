package sanitize

import (
	"fmt"

	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/runtime/dxgkrnl"
)

// Go has no traps on memory, so a write by the CPU is found by its effect. While the GPU owns host
// memory the sanitizer keeps a copy, with the GPU's writes in it. Bytes that differ
// from the copy were written by the CPU.

// owned is host memory that an unfinished submission accesses.
type owned struct {
	by    *submission
	x     access
	start uint64 // address of the allocation's memory

	bytes  []byte // of the rows, one after another; nil: not known yet
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
	for _, x := range u.accesses {
		a := s.allocations[x.allocation]
		if a == nil || !a.memory.has(x.bytes) || u.paging && a.locks > 0 {
			continue
		}
		o := &owned{by: u, x: x, start: a.memory.from}
		u.owned, s.fresh = append(u.owned, o), append(s.fresh, o)
	}
}

// read returns the bytes that are in memory now, in a buffer if it is large enough.
func (s *Sanitizer) read(o *owned, p []byte) ([]byte, bool) {
	n := o.x.rows.n * o.x.rows.width
	if uint64(cap(p)) < n {
		p = make([]byte, n)
	}
	p, ok := p[:n], true
	o.x.rows.each(o.x.bytes, func(part span, offset uint64) bool {
		ok = s.peek(part.from&^pkt.Host, p[offset:][:part.to-part.from]) == nil
		return ok
	})
	return p, ok
}

// fill reads the memory that the last submission owns. The lock is not held then, since the GPU's
// accesses take it with the lock of the memory. So its writes in between are made again.
func (s *Sanitizer) fill() {
	s.mu.Lock()
	fresh := s.fresh
	s.fresh = nil
	s.mu.Unlock()
	for _, o := range fresh {
		p, ok := s.read(o, nil)
		s.mu.Lock()
		if early := o.early; ok {
			o.bytes, o.early = p, nil
			for _, m := range early {
				o.wrote(m.at, m.bytes)
			}
		}
		s.mu.Unlock()
	}
}

// moved compares what the GPU reads with the copies, and changes them by what it writes.
func (s *Sanitizer) moved(at span, p []byte, writes bool) {
	for _, u := range s.unfinished {
		for _, o := range u.owned {
			switch {
			case !o.x.bytes.overlaps(at):
			case writes:
				o.wrote(at, p)
			case u.submitted && !o.x.writes:
				s.differs(o, at, func(part span, _ uint64) []byte { return p[part.from-at.from:] })
			}
		}
	}
}

// wrote changes the copy by what the GPU writes.
func (o *owned) wrote(at span, p []byte) {
	o.writes++
	if o.bytes == nil {
		o.early = append(o.early, moved{at, append([]byte(nil), p...)})
		return
	}
	o.x.rows.each(at, func(part span, offset uint64) bool {
		copy(o.bytes[offset:][:part.to-part.from], p[part.from-at.from:])
		return true
	})
}

// differs reports the first byte in a range that differs from the copy. After that it forgets the
// copy. memory returns the bytes from the beginning of a part on.
func (s *Sanitizer) differs(o *owned, in span, memory func(part span, offset uint64) []byte) {
	if o.bytes == nil {
		return
	}
	o.x.rows.each(in, func(part span, offset uint64) bool {
		now := memory(part, offset)
		for i, was := range o.bytes[offset:][:part.to-part.from] {
			if now[i] == was {
				continue
			}
			s.find("access-cpu-write", "pfnLockCb", "byte %#x of %s is %#02x and was %#02x: the CPU wrote it before submission %d ended, whose %s",
				part.from+uint64(i)-o.start, s.of(o.x.allocation), now[i], was, o.by.serial, o.x.use())
			o.by.owned = nil
			return false
		}
		return true
	})
}

// use describes an access without its submission.
func (x access) use() string { return fmt.Sprintf("%s at %#x %s", x.op, x.at, x) }

// maxCompare bounds the attempts to compare memory that the GPU writes meanwhile.
const maxCompare = 4

// compare compares the memory that a submission owned with the copies, when it ends.
func (s *Sanitizer) compare(serial uint64) {
	s.mu.Lock()
	var all []*owned
	s.each(serial, func(u *submission) { all = u.owned })
	s.mu.Unlock()
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
				s.differs(o, o.x.bytes, func(_ span, offset uint64) []byte { return s.peeked[offset:] })
			}
			s.mu.Unlock()
			if same {
				break
			}
		}
	}
}

// locked notes a lock, and checks that it has waited for the GPU.
func (s *Sanitizer) locked(a *allocation, e dxgkrnl.Event) {
	a.locks++
	if e.Write {
		a.written.add(span{0, a.bytes}) // the lock has no range
		a.mapped, a.kept = true, nil
	}
	if e.IgnoreSync {
		return
	}
	for _, u := range s.unfinished {
		for _, x := range u.accesses {
			if x.allocation == e.Allocation && (x.writes || e.Write) {
				s.find("access-lock", "pfnLockCb", "%s is locked while %s %s", s.of(e.Allocation), x.name(u), x)
				return
			}
		}
	}
}
