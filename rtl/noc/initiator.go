package noc

import (
	"math"

	"github.com/hilgpu/hilgpu/rtl/abi/port"
)

// hostWriters are the sources of the initiator port that write.
const hostWriters = 0xf << HostWrite

// An Offer is the decision of the initiator port's arbiter in a clock.
//
//	Sources  bit i: source i has a header that can be granted
//	Source   the granted source, if Sources is not 0
//	Refuse   bus mastering is off: the header is taken at once and not sent
type Offer struct {
	Sources uint8
	Source  uint8 `w:"3"`
	Refuse  bool
}

// Initiator is the arbiter of the initiator port: one stream of headers of reads
// and writes and one of the writes' beats. Nothing is queued after the arbiter:
// when a source sees its header taken, the port has taken it.
//
//	In      offer  Decide's; tag, Sent's for the granted read; own, that read's
//	        Tag; taken, whether the header was taken; last, whether the last beat
//	        of Owner's write was taken; cpl, the completion at the port; sweep,
//	        when to look for reads without an answer; rst, a reset of the readers
//	        and writers, in a clock in which nothing is Owed
//	Out     State, for Decide and Sent; Owner, the writer of the next beats;
//	        Awaited, Refusal and Spares, for Awaits and Arrival; Pending, whether
//	        the host owes completions; Busy, the retired tags: those of unanswered
//	        reads that have ended, or are from before a reset
//	Timing  a grant in every clock; the beats of a header from the clock after
//	        it, without a bubble from one write to the next; a refused read is
//	        answered from the clock after it. With time-out, a read without its
//	        last completion ends after 1 to 2 periods of sweep and up to 64 clocks;
//	        64 more each time that completions of other reads prevent it
//	Reset   source 0 goes first; no owner; no read in flight. After rst the
//	        reads in flight are still answered: their completions are dropped,
//	        and their tags stay retired until then
//	Order   round robin of headers; beats in the order of the headers
//	Paths   Taken, from the port's ready to the sources; Arrival, from the
//	        port's completion to the readers
//	Size    19 bits, and 2 for each tag; with time-out 28 more, 1 more for each
//	        tag, and 12 for the spare tags
//	Faults  a read that ends without its last completion is answered with
//	        CplUnsupported, and its tag is retired until that completion. A read
//	        whose tag is retired is sent with a spare tag. If all of those are
//	        retired too, it is refused in the next sweep
//	        A completion of a read that is not in flight is dropped; while bus
//	        mastering is off, a read is answered with CplUnsupported and the
//	        beats of a write are dropped. A header offered before that stays
//	        until it is taken, and its beats follow
type Initiator struct {
	tags    uint64 // tags that the readers use, and the spare tags
	limited bool   // reads end without an answer

	turn    Turn
	owners  owners
	refusal Refusal
	flying  uint64 // tags of the reads in flight
	late    uint64 // those of them that no reader awaits: the retired tags
	expiry  expiry
}

// owners is a queue of two owners: a header can be taken while the beats of the
// previous one are moving.
type owners struct {
	cur  Owner
	then Owner
}

// move returns the queue after a clock. last reports whether the last beat of its
// head was taken. o is the owner of the header that was taken, if valid.
func move(q owners, last bool, o Owner) owners {
	if last {
		q.cur = q.then
		q.then.Valid = false
	}
	if o.Valid {
		if q.cur.Valid {
			q.then = o
		} else {
			q.cur = o
		}
	}
	return q
}

// cpTags is the number of local tags of a command processor.
const cpTags = 3

// NewInitiator returns the arbiter of a GPU with the given numbers of nodes and
// DMA tags, whose other readers have the tags in others. With limited set, it has the time-out
// of reads.
func NewInitiator(nodes, dmaTags int, limited bool, others ...uint8) Initiator {
	tags := uint64(1<<cpTags-1)<<(ReadCP0<<4) | (uint64(1)<<dmaTags-1)<<(ReadDMA<<4)
	if nodes == 2 {
		tags |= (1<<cpTags - 1) << (ReadCP1 << 4)
	}
	for _, tag := range others {
		tags |= 1 << tag
	}
	if limited {
		tags |= (1<<spares - 1) << firstSpare
	}
	return Initiator{tags: tags, limited: limited}
}

// A Refusal is the pending answer to a refused read.
type Refusal struct {
	Valid bool
	Tag   uint8 `w:"6"`
}

// State is the part of an Initiator that Decide and Sent need.
//
//	Turn     of the arbiter
//	Full     no header of a write can be taken
//	Refused  no read can be refused: the previous answer is still pending
//	Spare    for reads whose own tag is retired
type State struct {
	Turn    Turn
	Full    bool
	Refused bool
	Spare   Spare
}

// State returns the arbiter's state.
func (m *Initiator) State() State {
	return State{Turn: m.turn, Full: m.owners.then.Valid, Refused: m.refusal.Valid, Spare: m.spare()}
}

// Decide returns the offer for the headers in valid, bit i for source i. While
// closed is set, only a header offered before is granted. The reads in tagless have
// no tag: they wait, and are refused in a sweep if there will be none.
func Decide(valid, tagless uint8, s State, busMaster, closed, sweep bool) Offer {
	refuse := !busMaster && !s.Turn.Hold
	if s.Full {
		valid &^= hostWriters
	}
	if refuse && s.Refused {
		valid &= hostWriters
	}
	if !sweep || !s.Spare.Dead || s.Refused {
		valid &^= tagless
	}
	valid = Open(valid, s.Turn, closed, 0)
	source := Grant(valid, s.Turn)
	return Offer{Sources: valid, Source: source, Refuse: refuse || valid&tagless>>source&1 != 0}
}

// Taken reports whether the granted header is taken, given the port's ready.
func Taken(o Offer, ready bool) bool { return o.Sources != 0 && (ready || o.Refuse) }

// Owner returns the writer of the next beats.
func (m *Initiator) Owner() Owner { return m.owners.cur }

// Awaited returns the tags of the reads in flight that a reader awaits.
func (m *Initiator) Awaited() uint64 { return m.flying &^ m.late }

// Refusal returns the answer to a refused read.
func (m *Initiator) Refusal() Refusal { return m.refusal }

// Awaits reports whether a reader awaits the completion at the port.
func Awaits(cpl port.Completion, awaited uint64) bool {
	return cpl.Status != port.CplNone && awaited>>cpl.Tag&1 != 0
}

// Arrival returns the completion for the readers, with the reader's own tag. mine
// reports whether a reader awaits the completion at the port; if not, Arrival
// returns the answer to a refused read.
func Arrival(cpl port.Completion, mine bool, r Refusal, s Spares) port.Completion {
	if !mine {
		cpl.Tag, cpl.Status, cpl.Last = r.Tag, port.CplNone, true
		if r.Valid {
			cpl.Status = port.CplUnsupported
		}
	}
	cpl.Tag = s.own(cpl.Tag)
	return cpl
}

// Pending reports whether the host owes completions.
func (m *Initiator) Pending() bool { return m.flying != 0 }

// Busy returns the tags that no new read may use yet.
func (m *Initiator) Busy() uint64 { return m.late }

// Owed reports whether an offered header must still be taken, or beats must
// follow one.
func (m *Initiator) Owed() bool { return m.turn.Hold || m.owners.cur.Valid }

// Sleeps reports whether a Tick with these inputs changes nothing, whatever the other
// inputs are.
func (m *Initiator) Sleeps(o Offer, rst bool) bool {
	reads := m.flying|m.late|m.expiry.old != 0 || m.refusal.Valid
	writes := m.owners.cur.Valid || m.owners.then.Valid
	spares := m.expiry.next != 0 || m.expiry.none || m.expiry.dead || m.expiry.spared
	return o.Sources == 0 && !m.turn.Hold && !reads && !writes && !spares && !rst
}

// Tick is one rising clock edge.
func (m *Initiator) Tick(o Offer, tag, own uint8, taken, last bool, cpl port.Completion, sweep Sweep, rst bool) {
	write := o.Source&HostWrite != 0
	ends := cpl.Status != port.CplNone && cpl.Last
	if !Awaits(cpl, m.Awaited()) {
		m.refusal.Valid = false
	}
	if ends {
		m.flying &^= uint64(1) << cpl.Tag
	}
	if taken && !write && !o.Refuse {
		m.flying |= uint64(1) << tag & m.tags
		if m.limited {
			m.expiry.lend(tag, own)
		}
	}
	refused := taken && !write && o.Refuse
	tells := m.limited && m.owed()>>sweep.At&1 != 0 && !m.refusal.Valid && !refused
	if refused {
		m.refusal = Refusal{Valid: true, Tag: own & 0x3f}
	}
	if tells {
		m.refusal = Refusal{Valid: true, Tag: sweep.At & 0x3f}
	}
	m.turn = next(o.Sources, o.Source, m.turn, taken)
	m.owners = move(m.owners, last, Owner{Valid: taken && write, Drop: o.Refuse, Source: o.Source & 3})
	m.retire(sweep, tells)
	if rst {
		m.late = m.flying
		m.expiry.old = 0
		m.refusal.Valid = false
	}
	m.flying &= m.tags
	m.late &= m.tags
	if m.limited {
		m.expiry.choose(m.flying|m.late, m.late, m.refusal.Valid, m.turn.Hold, tag)
	}
}

// IdleFor returns the clocks until the next sweep if a reader awaits an answer, 0
// while the answer to a refused read is pending, and otherwise math.MaxUint64: only
// an input can wake the arbiter. sweep is the number of clocks until that sweep, 0
// in one, and math.MaxUint64 if the time-out is off.
func (m *Initiator) IdleFor(sweep uint64) uint64 {
	switch {
	case m.refusal.Valid || m.owed() != 0 || m.late&^m.flying != 0 || m.expiry.old&^m.flying != 0:
		return 0
	case m.limited && m.Awaited() != 0:
		return sweep
	}
	return math.MaxUint64
}

// Skip skips n clocks without input. It changes nothing.
func (m *Initiator) Skip(uint64) {}

// Reset sets the registers.
func (m *Initiator) Reset() {
	*m = Initiator{tags: m.tags, limited: m.limited}
}
