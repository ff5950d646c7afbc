package dma

import "github.com/hilgpu/hilgpu/rtl/abi/port"

// A writer is what is left to write of the descriptor at the write side. The
// headers run ahead of the beats.
type writer struct {
	active bool
	fill   bool
	owner  uint8  `w:"1"`
	fault  Result `w:"2"` // why no further header is offered

	dst   uint64 // of the next header
	left  uint32 // bytes behind it
	src   uint8  `w:"7"` // where its data starts, modulo chunk
	tag   uint8  `w:"5"` // of its first byte, as head counts
	offer bool   // a header was offered and not taken: it stays

	credit uint8 `w:"2"` // headers taken whose beats are not all issued

	at    uint8  `w:"7"` // destination of the next beat, modulo chunk
	bytes uint32 // to issue
	word  uint8  `w:"4"`  // next source word in the oldest tag's chunk
	words uint32 `w:"30"` // source words to fetch
	prime bool   // the first word makes no beat of its own
	shift uint8  `w:"3"` // bytes from a source lane to a destination lane
}

// A stage is the beat whose source word is in the reorder memory's output.
type stage struct {
	valid  bool
	prime  bool // no beat: the word is only kept for the next one
	word   bool // there is a source word, otherwise it counts as 0
	last   bool // of its burst
	end    bool // of its descriptor
	enable uint8
	prev   uint64 // the source word before, or the value of a fill
}

// load gives the write side a descriptor whose first tag is head.
func (m *Module) load(e entry) {
	src, dst := uint8(e.desc.Src)&7, uint8(e.desc.Dst)&7
	m.w = writer{
		active: true, fill: e.desc.Op == Fill, owner: e.owner,
		dst: e.desc.Dst, left: e.desc.Len, src: uint8(e.desc.Src) & (chunk - 1), tag: m.head,
		at: uint8(e.desc.Dst) & (chunk - 1), bytes: e.desc.Len,
	}
	if m.w.fill {
		m.s.prev = e.desc.Src
		m.w.shift = dst
	} else {
		m.w.word = uint8(e.desc.Src>>3) & (beats - 1)
		m.w.words = uint32((uint64(src)+uint64(e.desc.Len)+7)>>3) & m.lenMask & 0x3fffffff
		m.w.prime = src > dst
		m.w.shift = (dst - src) & 7
	}
}

// Header returns the header of a write.
func (m *Module) Header() port.Request {
	if !m.writing() {
		return port.Request{}
	}
	n := span(m.w.dst, m.w.left)
	return port.Request{Kind: port.MemWrite, Len: dwords(m.w.dst, n), Addr: m.w.dst &^ 3}
}

// Beat returns a beat of a write whose header was taken.
func (m *Module) Beat() port.Beat {
	if !m.s.valid || m.s.prime {
		return port.Beat{}
	}
	return port.Beat{Valid: true, Last: m.s.last, Enable: m.s.enable, Data: m.shifted()}
}

// shifted returns the data of the beat: the source word, and in its lower lanes
// what is left of the one before. The value of a fill is both.
func (m *Module) shifted() uint64 {
	cur := uint64(0)
	if m.w.fill {
		cur = m.s.prev
	} else if m.s.word {
		cur = m.order.Out()
	}
	return funnel(cur, m.s.prev, m.w.shift)
}

// funnel returns high shifted up by n bytes, 0 to 7, with the upper bytes of low
// behind it.
func funnel(high, low uint64, n uint8) uint64 {
	if n&4 != 0 {
		high, low = high<<32|low>>32, low<<32
	}
	if n&2 != 0 {
		high, low = high<<16|low>>48, low<<16
	}
	if n&1 != 0 {
		high = high<<8 | low>>56
	}
	return high
}

// writing returns whether a header is offered.
func (m *Module) writing() bool {
	return m.w.offer || m.judges() && m.w.credit < ahead && m.ready()
}

// judges returns whether there are headers left that no fault keeps back.
func (m *Module) judges() bool { return m.w.active && m.w.fault == ResultNone && m.w.left != 0 }

// ready returns whether the next header has its data.
func (m *Module) ready() bool {
	ready, fail := m.source()
	return ready && !fail
}

// failing returns whether a read of the next header's data has failed.
func (m *Module) failing() bool {
	_, fail := m.source()
	return fail
}

// source returns whether all data of the next header is in the reorder memory,
// and whether a read of it has failed.
func (m *Module) source() (ready, fail bool) {
	if m.w.fill {
		return true, false
	}
	ready, fail = m.arrived(m.w.tag)
	if uint32(m.w.src)+span(m.w.dst, m.w.left) > chunk {
		ready2, fail2 := m.arrived(m.w.tag + 1)
		ready, fail = ready && ready2, fail || fail2
	}
	return ready, fail
}

// arrived returns whether the data of a tag, as head counts, is all there, and
// whether it is an error instead. A tag that is not in use yet shares its slot
// with one that is. The tag before head is freed, its last word already fetched.
func (m *Module) arrived(p uint8) (ready, fail bool) {
	t, d := m.slot(p), (p-m.head)&0x1f
	ready = d == 0x1f || d < (m.tail-m.head)&0x1f && m.complete>>t&1 != 0
	return ready, d != 0x1f && ready && m.failed>>t&1 != 0
}

// tickWrite is the write side's clock: the header, then the beat, then the next
// word. It returns the read of the reorder memory.
func (m *Module) tickWrite(writing, reqReady, beatReady, refused bool) (read bool, addr uint32) {
	m.judge(refused)
	m.w.offer = writing && !reqReady
	if writing && reqReady {
		m.header()
	}
	if !m.s.valid || m.s.prime || beatReady {
		if m.s.valid && m.s.word {
			m.s.prev = m.order.Out()
		}
		if m.s.valid && m.s.end {
			m.finish()
		}
		read, addr = m.issue()
	}
	if m.draining() {
		m.drain()
	}
	return read, addr
}

// judge gives the descriptor up if a read of the next burst has failed or a
// write was refused.
func (m *Module) judge(refused bool) {
	if m.w.active && m.w.fault == ResultNone {
		if m.w.left != 0 && m.failed != 0 && m.failing() {
			m.w.fault = ResultReadError
		} else if refused {
			m.w.fault = ResultWriteError
		}
	}
}

// header moves on behind a header that was taken.
func (m *Module) header() {
	n := span(m.w.dst, m.w.left)
	if uint32(m.w.src)+n >= chunk {
		m.w.tag = (m.w.tag + 1) & 0x1f
	}
	m.w.src = uint8(uint32(m.w.src)+n) & (chunk - 1)
	m.w.dst = m.w.dst&host | (m.w.dst+uint64(n))&(m.addrMask&^host)
	m.w.left = (m.w.left - n) & m.lenMask
	m.w.credit = (m.w.credit + 1) & 3
}

// issue fetches the source word of the next beat whose header was taken and
// puts the beat into the stage.
func (m *Module) issue() (read bool, addr uint32) {
	m.s = stage{prev: m.s.prev}
	if m.w.active && m.w.credit != 0 {
		m.s.valid, m.s.prime = true, m.w.prime
		m.w.prime = false
		if !m.s.prime {
			m.place()
		}
		if m.w.words != 0 {
			m.s.word = true
			read, addr = true, uint32(m.slot(m.head))*beats|uint32(m.w.word)
			m.w.words = (m.w.words - 1) & m.lenMask & 0x3fffffff
			if m.w.word == beats-1 || m.w.words == 0 {
				m.release()
			}
			m.w.word = (m.w.word + 1) & (beats - 1)
		}
	}
	return read, addr
}

// place sets the lanes of the next beat and where it stands in its burst.
func (m *Module) place() {
	lane := m.w.at & 7
	n := 8 - lane
	if m.w.bytes < uint32(n) {
		n = uint8(m.w.bytes)
	}
	m.w.at = (m.w.at + n) & (chunk - 1)
	m.w.bytes = (m.w.bytes - uint32(n)) & m.lenMask
	m.s.enable = uint8(uint16(1)<<n-1) << lane
	m.s.end = m.w.bytes == 0
	m.s.last = m.s.end || m.w.at == 0
	if m.s.last {
		m.w.credit = (m.w.credit - 1) & 3
	}
}

// finish ends the descriptor with its outcome.
func (m *Module) finish() {
	m.result, m.owner = m.w.fault, m.w.owner
	if m.w.fault == ResultNone {
		m.result = ResultDone
	}
	m.w = writer{}
}

// draining returns whether the descriptor was given up and its last burst has
// left.
func (m *Module) draining() bool {
	return m.w.active && m.w.fault != ResultNone && !m.w.offer && m.w.credit == 0 && !m.s.valid
}

// drained returns whether the oldest tag of a descriptor that was given up can
// be freed, or there is none.
func (m *Module) drained() bool {
	return m.w.words == 0 || m.complete>>m.slot(m.head)&1 != 0
}

// drain frees the oldest tag of a descriptor that was given up, and ends the
// descriptor behind its last tag.
func (m *Module) drain() {
	if m.w.words == 0 {
		m.finish()
	} else if m.drained() {
		end := m.ends>>m.slot(m.head)&1 != 0
		m.release()
		if end {
			m.finish()
		}
	}
}

// writeBusy returns whether the write side has something to do in this clock.
func (m *Module) writeBusy() bool {
	return m.s.valid || m.w.credit != 0 || m.writing() ||
		m.failed != 0 && m.judges() && m.failing() || m.draining() && m.drained()
}
