package noc

import (
	"math"

	"github.com/hilgpu/hilgpu/rtl/abi/port"
)

// hostWriters are the sources of the initiator that write.
const hostWriters = 1<<HostWriteDMA | 1<<HostWriteFence0 | 1<<HostWriteFence1 | 1<<HostWriteMessage

// An Offer is what the arbiter of the initiator port decides in a clock.
//
//	Sources  bit i: source i has a header that can be granted
//	Source   the one that is granted, if Sources is not 0
//	Refuse   bus mastering is off: the header is taken at once and not sent
type Offer struct {
	Sources uint8
	Source  uint8 `w:"3"`
	Refuse  bool
}

// Initiator is the arbiter in front of the initiator port, one stream of
// headers of reads and writes and one of the writes' beats. Nothing is queued
// behind the arbiter: what a source sees taken, the port has taken.
//
//	In      offer  Decide's; tag of the granted header; taken, whether it was;
//	        last, whether the last beat of Owner's write was; cpl, what arrives
//	        at the port
//	Out     State, for Decide; Owner, whose beats are next; Completion, for the
//	        readers; Pending, whether the host owes completions
//	Timing  a grant in every clock; the beats of a header from the clock after it
//	        on, and without a bubble from one write to the next; 1 clock from the
//	        port's completion to Completion
//	Reset   source 0 is asked first; no owner; no completion
//	Order   round robin of headers; beats in the order of the headers
//	Paths   none
//	Size    230 bits
//	Faults  while bus mastering is off, a read is answered with CplUnsupported
//	        and the beats of a write are dropped. A header that was offered
//	        before stays until it is taken, and its beats follow
type Initiator struct {
	turn    Turn
	owners  owners
	cpl     port.Completion // from the port
	refused port.Completion // for a read that was not sent
	pending uint8           `w:"7"` // reads in flight, at most 64 tags
}

// State is what Decide needs of an Initiator.
//
//	Turn     of the arbiter
//	Full     no header of a write can be taken
//	Refused  no read can be refused: the answer to the one before still waits
type State struct {
	Turn    Turn
	Full    bool
	Refused bool
}

// State returns the arbiter's state.
func (m *Initiator) State() State {
	return State{Turn: m.turn, Full: m.owners.then.Valid, Refused: m.refused.Status != port.CplNone}
}

// Decide returns what is offered of the headers in valid, bit i source i's.
func Decide(valid uint8, s State, busMaster bool) Offer {
	refuse := !busMaster && !s.Turn.Hold
	if s.Full {
		valid &^= hostWriters
	}
	if refuse && s.Refused {
		valid &= hostWriters
	}
	return Offer{Sources: valid, Source: Grant(valid, s.Turn), Refuse: refuse}
}

// Taken returns whether the granted header is taken, given the port's ready.
func Taken(o Offer, ready bool) bool { return o.Sources != 0 && (ready || o.Refuse) }

// Owner returns the writer whose beats are next.
func (m *Initiator) Owner() Owner { return m.owners.cur }

// Completion returns what the readers get in this clock.
func (m *Initiator) Completion() port.Completion {
	if m.cpl.Status != port.CplNone {
		return m.cpl
	}
	return m.refused
}

// Pending returns whether reads are in flight at the host.
func (m *Initiator) Pending() bool { return m.pending != 0 }

// Tick is one rising clock edge.
func (m *Initiator) Tick(o Offer, tag uint8, taken, last bool, cpl port.Completion) {
	write := uint8(hostWriters)>>o.Source&1 != 0
	if m.cpl.Status == port.CplNone {
		m.refused = port.Completion{}
	}
	m.cpl = cpl
	if cpl.Last && cpl.Status != port.CplNone && m.pending != 0 {
		m.pending = (m.pending - 1) & 0x7f
	}
	if taken && !write {
		if o.Refuse {
			m.refused = port.Completion{Tag: tag, Status: port.CplUnsupported, Last: true}
		} else {
			m.pending = (m.pending + 1) & 0x7f
		}
	}
	m.turn = next(o.Sources, m.turn, taken)
	m.owners = move(m.owners, last, Owner{Valid: taken && write, Drop: o.Refuse, Source: o.Source})
}

// IdleFor returns 0 while a completion is on its way to a reader, and otherwise
// that only an input can wake the arbiter.
func (m *Initiator) IdleFor() uint64 {
	if m.cpl.Status != port.CplNone || m.refused.Status != port.CplNone {
		return 0
	}
	return math.MaxUint64
}

// Skip is n clocks without input.
func (m *Initiator) Skip(uint64) {}

// Reset sets the registers.
func (m *Initiator) Reset() { *m = Initiator{} }
