package cp

import (
	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/fence"
)

// syncState is the state of the sync unit.
type syncState uint8

const (
	syncIdle   syncState = iota
	syncFence            // waits for the fence unit
	syncRead             // offers the read of a predicate or of a context
	syncAnswer           // waits for the answer to the read
	syncWait             // waits for a timeline
	syncSave             // reads and sends a word of the context
)

// sync executes the packets that wait for something outside the node: fences, predicates,
// waits, and the save and restore of a context.
type sync struct {
	caps caps.Set

	state   syncState `w:"3"`
	fence   fence.Op  `w:"2"` // request to the fence unit
	fencing bool      // the fence unit works on the request
	reading bool      // the read was accepted and is not answered
	readErr bool      // the read was answered with an error
	zero    bool      // the value of the predicate is 0
	scratch bool      // a scratch write is offered
	waiting bool      // WAIT_FENCE has compared the timeline

	word  uint8 `w:"4"` // index of the next context word to save or restore
	wrong bool  // a restored word was refused
}

// Reset sets the registers to their power-on values.
func (s *sync) Reset() { *s = sync{caps: s.caps} }

// start prepares for a packet.
func (s *sync) start() {
	s.waiting, s.wrong = false, false
	s.word = 0
}

// offer offers a request to the fence unit.
func (s *sync) offer(op fence.Op) {
	s.fence = op
	s.state = syncFence
}

// handshake records that the fence unit accepts and ends the request.
func (s *sync) handshake(f Fence) {
	if f.Result != fence.ResultNone {
		s.fencing = false
	}
	if f.Ready && s.fence != fence.None {
		s.fence = fence.None
		s.fencing = true
	}
}

// answer handles a completion of the read.
func (s *sync) answer(cpl port.Completion) {
	s.reading = !cpl.Last
	s.readErr = s.readErr || cpl.Status != port.CplSuccess
	s.zero = cpl.Data == 0
}

// quiet reports whether nothing is in flight, apart from an offered read.
func (s *sync) quiet() bool {
	return !s.scratch && s.fence == fence.None && !s.fencing && !s.reading
}

// stepSync runs a clock of the sync unit.
func (m *Module) stepSync(word uint64, ready bool, f Fence) outcome {
	var o outcome
	switch m.sync.state {
	case syncFence:
		o = m.sync.fenced(f.Result)
	case syncRead:
		m.offerRead()
	case syncAnswer:
		if !m.ring.offersRead() && !m.sync.reading {
			skips := m.sync.zero != m.decode.flag && m.decode.left != 0
			o = m.sync.answered(m.decode.op() == pkt.OpRestoreState, skips)
		}
	case syncWait:
		if m.sync.caps.Has(caps.Timeline) {
			o = m.sync.wait(m.timeline(f) >= m.walk.src)
		}
	default:
		if m.sync.caps.Has(caps.Contexts) && ready {
			m.saveWord(word)
		}
	}
	return o
}

// timeline returns the level of the timeline that a WAIT_FENCE names.
func (m *Module) timeline(f Fence) uint64 {
	line := f.Node0
	if m.decode.flag {
		line = f.Node1
	}
	return line
}

// fenced ends the packet with the result of the fence unit.
func (s *sync) fenced(res fence.Result) outcome {
	var o outcome
	switch res {
	case fence.ResultDone:
		o = ended(completed)
	case fence.ResultBackwards:
		o = refuse(cpreg.CauseFence, wordAt(2))
	case fence.ResultWriteError:
		o = refuse(cpreg.CauseWriteError, pairAt(0))
	default:
	}
	if o.end != working {
		s.state = syncIdle
	}
	return o
}

// wait ends a WAIT_FENCE whose timeline has reached the value.
func (s *sync) wait(reached bool) outcome {
	var o outcome
	if reached {
		s.state = syncIdle
		o = ended(finished)
	} else {
		s.waiting = true
	}
	return o
}

// offerRead offers the read of a predicate or of a context when the stream offers none.
func (m *Module) offerRead() {
	if m.ring.req.Kind == port.None {
		m.ring.req = port.Request{Kind: port.MemRead, Tag: tagRead, Len: 2, Addr: m.walk.src}
		if m.sync.caps.Has(caps.Contexts) && m.decode.op() == pkt.OpRestoreState {
			m.ring.req.Len = 2 * contextWords
		}
		m.sync.state = syncAnswer
	}
}

// answered ends a packet whose read was answered. skips is set if a predicate skips dwords.
func (s *sync) answered(restores, skips bool) outcome {
	s.state = syncIdle
	o := ended(finished)
	switch {
	case s.readErr:
		o = refuse(cpreg.CauseReadError, pairAt(0))
	case s.caps.Has(caps.Contexts) && restores:
		if s.wrong {
			o = refuse(cpreg.CauseState, operandValue)
		}
	case skips:
		o = ended(skipping)
	default:
	}
	return o
}
