package dma

import (
	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/hdl"
)

// A writer is the part of a descriptor that is still to be written. The headers
// run ahead of the beats. The last byte of each burst except the last is in the
// tag after that of the previous burst, so one tag is checked for each header.
type writer struct {
	active bool
	fill   bool
	owner  uint8  `w:"1"`
	fault  Result `w:"2"` // why no further header is offered

	more  bool  // there are headers left
	tag   uint8 `w:"5"` // tag of the last byte of the next burst, with the wrap bit
	skew  bool  // the tag before it has not been checked
	all   bool  // the data of all remaining headers has arrived
	offer bool  // a header was offered and not taken, so it stays offered

	credit uint8 `w:"2"` // headers taken whose beats are not all issued

	at    uint8 `w:"4"` // word of the next beat in its chunk
	lane  uint8 `w:"3"` // first lane of the next beat
	word  uint8 `w:"4"` // next source word in the oldest tag's chunk
	prime bool  // the first word makes no beat
	ended bool  // no tag of the descriptor is left
	shift uint8 `w:"3"` // bytes from a source lane to a destination lane
}

// A stage is the beat whose source word is at the reorder memory's output.
type stage struct {
	valid  bool
	last   bool // of its burst
	end    bool // of its descriptor
	enable uint8
	prev   uint64 // the source word before, or the value of a fill
}

// load gives the write side a descriptor whose first tag is head.
func (m *Module) load(e entry) {
	fill := e.desc.Op == Fill
	src, dst := uint8(e.desc.Src)&(chunk-1), uint8(e.desc.Dst)&(chunk-1)
	if fill {
		m.s.prev = e.desc.Src
		src = 0
	}
	m.w = writer{
		active: true, fill: fill, owner: e.owner,
		more: true, tag: m.head, skew: src > dst, all: fill,
		at: dst >> 3, lane: dst & 7, word: src >> 3,
		prime: src&7 > dst&7, ended: fill, shift: (dst - src) & 7,
	}
	if m.queues && e.desc.After && m.broken>>e.owner&1 != 0 {
		m.w.fault = ResultWriteError
	}
}

// Header returns the header of a write.
func (m *Module) Header() port.Request {
	writing := m.writing()
	if hdl.Asleep(!writing) { // the GPU calls this in each clock, and often needs only Kind
		return port.Request{}
	}
	req := m.to.request(0)
	if writing {
		req.Kind = port.MemWrite
	}
	return req
}

// Offers reports whether there is a beat of a write whose header was taken.
func (m *Module) Offers() bool { return m.s.valid }

// Beat returns that beat, with its data not yet rotated: Rotate(Data, shift) puts
// them in their lanes. The data are the source word; the lanes from 8-shift on,
// which become the lower ones, have the previous word. For a fill both are the
// value.
func (m *Module) Beat() (beat port.Beat, shift uint8) {
	lower := ^uint64(0) >> (8 * m.w.shift)
	if m.w.fill {
		lower = 0
	}
	data := m.order.Out()&lower | m.s.prev&^lower
	return port.Beat{Valid: m.s.valid, Last: m.s.last, Enable: m.s.enable, Data: data}, m.w.shift
}

// Rotate returns v with the lanes moved up by shift, 0 to 7. The parent calls it
// after it has chosen among the beats. Rotate of 0 is 0.
func Rotate(v uint64, shift uint8) uint64 {
	if shift&4 != 0 {
		v = v<<32 | v>>32
	}
	if shift&2 != 0 {
		v = v<<16 | v>>48
	}
	if shift&1 != 0 {
		v = v<<8 | v>>56
	}
	return v
}

// writing reports whether a header is offered.
func (m *Module) writing() bool {
	return m.w.offer || m.hasHeaders() && m.w.credit < ahead && !m.w.skew && m.answered() && !m.failing()
}

// hasHeaders reports whether there are headers left that no error stops.
func (m *Module) hasHeaders() bool { return m.w.active && m.w.fault == ResultNone && m.w.more }

// answered reports whether the tag that the next header needs has been answered.
func (m *Module) answered() bool { return m.w.all || m.arrived(m.w.tag) }

// failing reports whether the answer of an answered tag is an error.
func (m *Module) failing() bool { return !m.w.all && m.failed>>m.slot(m.w.tag)&1 != 0 }

// tickWrite is the clock of the write side: the header, then the beat, then the
// next word. It returns the read of the reorder memory.
func (m *Module) tickWrite(writing, reqReady, beatReady, refused bool) (read bool, addr uint32) {
	draining := m.draining()
	fail := m.hasHeaders() && m.failing() && m.answered()
	looks := m.hasHeaders() && m.w.skew && m.answered() && !fail
	m.checkErrors(fail, refused)
	m.w.offer = writing && !reqReady
	if looks || writing && reqReady {
		m.nextTag()
	}
	if writing && reqReady {
		m.header()
	}
	addr = uint32(m.slot(m.head))*beats | uint32(m.w.word)
	if !m.s.valid || beatReady {
		if m.s.valid && m.s.end {
			m.finish()
		}
		m.s.valid = false
		if m.w.credit != 0 {
			read = m.issue()
		}
	}
	if draining {
		m.drain()
	}
	return read, addr
}

// checkErrors cancels the descriptor if a read of the next burst has failed or a write
// was refused.
func (m *Module) checkErrors(fail, refused bool) {
	if fail {
		m.w.fault = ResultReadError
	} else if refused && m.w.active && m.w.fault == ResultNone {
		m.w.fault = ResultWriteError
	}
}

// nextTag advances to the next tag after an answered one, if there is one.
func (m *Module) nextTag() {
	m.w.skew = false
	if !m.w.all {
		m.w.all = m.ending(m.w.tag)
		m.w.tag = m.next(m.w.tag)
	}
}

// header counts a header that was taken.
func (m *Module) header() {
	m.w.more = !m.to.last()
	m.w.credit = (m.w.credit + 1) & 3
}

// issue puts the next beat whose header was taken into the stage. It reports
// whether the beat has a source word, which is then fetched.
func (m *Module) issue() (read bool) {
	prime := m.w.prime
	end := !prime && !m.w.more && m.w.credit == 1 && m.w.at == m.to.end>>3
	read = !m.w.ended && (!end || m.to.end&7 >= m.w.shift)
	if !m.w.fill {
		m.s.prev = m.order.Out()
	}
	if !prime {
		m.place(end)
	}
	if !m.w.ended && (end || m.w.word == beats-1) {
		m.release()
	}
	m.w.word = (m.w.word + 1) & (beats - 1)
	m.w.prime = false
	return read
}

// place sets the lanes of the next beat and its position in the burst.
func (m *Module) place(end bool) {
	m.s.valid, m.s.end = true, end
	m.s.last = end || m.w.at == beats-1
	m.s.enable = 0xff << m.w.lane
	if end {
		m.s.enable &= 0xff >> (^m.to.end & 7)
	}
	m.w.at = (m.w.at + 1) & (beats - 1)
	m.w.lane = 0
	if m.s.last {
		m.w.credit = (m.w.credit - 1) & 3
	}
}

// release frees the oldest tag.
func (m *Module) release() {
	m.w.ended = m.ending(m.head)
	m.head = m.next(m.head)
}

// finish ends the descriptor with its outcome.
func (m *Module) finish() {
	m.result, m.owner = m.w.fault, m.w.owner
	mine := uint8(1) << m.w.owner & 3
	m.broken |= mine
	if m.w.fault == ResultNone {
		m.result = ResultDone
		m.broken &^= mine
	}
	m.w.active = false
}

// draining reports whether the descriptor was cancelled and its last burst has
// been sent.
func (m *Module) draining() bool {
	return m.w.active && m.w.fault != ResultNone && !m.w.offer && m.w.credit == 0 && !m.s.valid
}

// drain frees the oldest tag of a cancelled descriptor, or ends the descriptor if
// it has none.
func (m *Module) drain() {
	if m.w.ended {
		m.finish()
	} else if m.arrived(m.head) {
		m.release()
	}
}

// writeBusy reports whether the write side has something to do in this clock.
func (m *Module) writeBusy() bool {
	return m.s.valid || m.w.credit != 0 || m.w.offer || m.hasHeaders() && m.answered() ||
		m.draining() && (m.w.ended || m.arrived(m.head))
}
