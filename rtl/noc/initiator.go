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
//	        at the port; rst, a reset of the readers and writers, in a clock in
//	        which nothing is Owed
//	Out     State, for Decide; Owner, whose beats are next; Completion, for the
//	        readers; Pending, whether the host owes completions; Busy, the tags
//	        whose reads were sent before a reset and are not answered
//	Timing  a grant in every clock; the beats of a header from the clock after it
//	        on, and without a bubble from one write to the next; 1 clock from the
//	        port's completion to Completion
//	Reset   source 0 is asked first; no owner; no completion; no read in flight.
//	        Behind rst the reads in flight are still to be answered: their
//	        completions are dropped, and their tags kept busy until then
//	Order   round robin of headers; beats in the order of the headers
//	Paths   none
//	Size    223 bits, and 2 for each tag
//	Faults  a completion of a read that is not in flight is dropped; while bus mastering is off, a read is answered with CplUnsupported
//	        and the beats of a write are dropped. A header that was offered
//	        before stays until it is taken, and its beats follow
type Initiator struct {
	tags uint64 // those that the readers use

	turn    Turn
	owners  owners
	cpl     port.Completion // from the port
	refused port.Completion // for a read that was not sent
	flying  uint64          // tags of the reads in flight
	late    uint64          // of them those from before a reset
}

// cpTags is the number of local tags of a command processor.
const cpTags = 4

// NewInitiator returns the arbiter of a GPU with so many nodes, and tags of the
// DMA engine.
func NewInitiator(nodes, dmaTags int) Initiator {
	tags := uint64(1<<cpTags-1)<<(ReadCP0<<4) | (uint64(1)<<dmaTags-1)<<(ReadDMA<<4)
	if nodes == 2 {
		tags |= (1<<cpTags - 1) << (ReadCP1 << 4)
	}
	return Initiator{tags: tags}
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

// Decide returns what is offered of the headers in valid, bit i source i's; while
// closed is set only what was offered before.
func Decide(valid uint8, s State, busMaster, closed bool) Offer {
	refuse := !busMaster && !s.Turn.Hold
	if s.Full {
		valid &^= hostWriters
	}
	if refuse && s.Refused {
		valid &= hostWriters
	}
	valid = Open(valid, s.Turn, closed, 0)
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

// Arrived returns the outcome of a read in the clock in which its completion goes
// to the reader; what is dropped has none.
func (m *Initiator) Arrived() port.Status { return m.cpl.Status }

// Pending returns whether reads are in flight at the host.
func (m *Initiator) Pending() bool { return m.flying != 0 }

// Busy returns the tags that no read may have yet.
func (m *Initiator) Busy() uint64 { return m.late }

// Owed returns whether a header is offered that has to be taken, or beats are to
// follow one.
func (m *Initiator) Owed() bool { return m.turn.Hold || m.owners.cur.Valid }

// Tick is one rising clock edge.
func (m *Initiator) Tick(o Offer, tag uint8, taken, last bool, cpl port.Completion, rst bool) {
	write := uint8(hostWriters)>>o.Source&1 != 0
	if m.cpl.Status == port.CplNone {
		m.refused = port.Completion{}
	}
	m.arrive(cpl)
	if taken && !write {
		if o.Refuse {
			m.refused = port.Completion{Tag: tag, Status: port.CplUnsupported, Last: true}
		} else {
			m.flying |= uint64(1) << tag & m.tags
		}
	}
	m.turn = next(o.Sources, o.Source, m.turn, taken)
	m.owners = move(m.owners, last, Owner{Valid: taken && write, Drop: o.Refuse, Source: o.Source})
	if rst {
		m.late = m.flying
		m.cpl, m.refused = port.Completion{}, port.Completion{}
	}
	m.flying &= m.tags
	m.late &= m.tags
}

// arrive takes a completion. That of a read from before a reset goes nowhere.
func (m *Initiator) arrive(cpl port.Completion) {
	tag := uint64(1) << cpl.Tag & m.flying
	mine := cpl.Status != port.CplNone && tag&^m.late != 0
	m.cpl = port.Completion{}
	if mine {
		m.cpl = cpl
	}
	if cpl.Status != port.CplNone && cpl.Last {
		m.flying &^= tag
		m.late &^= tag
	}
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
func (m *Initiator) Reset() { *m = Initiator{tags: m.tags} }
