package noc

// The spare tags are those of the target, which reads no host memory.
const (
	spares     = 4
	firstSpare = ReadTarget << 4
)

// A Sweep is the part of time at whose end reads are checked for an answer. A sweep
// begins with At 0 and has 64 clocks. Sweeps are periods apart.
//
//	Open  this clock belongs to a sweep
//	At    the tag whose reader is told, the next one in each clock, in sweeps or not
type Sweep struct {
	Open bool
	At   uint8 `w:"6"`
}

// An expiry is the part of an Initiator that ends reads without an answer.
//
// A read that is in flight at the end of a sweep is old. At the end of the next sweep
// its tag is retired. It stays old until its reader is told, by a refusal, which is done
// for one tag a clock.
type expiry struct {
	old uint64 // tags of the reads that were in flight at the end of the last sweep

	lent   [spares]uint8 `w:"6"` // the own tag of the read with each spare tag
	next   uint8         `w:"2"` // a spare tag, less firstSpare
	none   bool          // next may not be used
	dead   bool          // all spare tags are retired
	spared bool          // the read that is offered and not taken has a spare tag
}

// A Spare is a spare tag.
//
//	Free  it may be used; if not, there is none
//	Dead  there will be none until the host answers
//	Used  the read that is offered and not taken has it
//	Next  its number
type Spare struct {
	Free bool
	Dead bool
	Used bool
	Next uint8 `w:"2"`
}

// spare returns the spare tag for the next read.
func (m *Initiator) spare() Spare {
	return Spare{Free: m.limited && !m.expiry.none, Dead: m.expiry.dead, Used: m.expiry.spared, Next: m.expiry.next}
}

// Sent returns the tag with which a read is sent. busy are the retired tags.
func Sent(own uint8, s State, busy uint64) uint8 {
	spare := !Free(own, busy)
	if s.Turn.Hold {
		spare = s.Spare.Used
	}
	if spare {
		own = firstSpare | s.Spare.Next&(spares-1)
	}
	return own
}

// Tagless reports whether there is no tag for a read. busy are the retired tags.
func Tagless(own uint8, s State, busy uint64) bool { return !Free(own, busy) && !s.Spare.Free }

// Spares has the own tag of the read with each spare tag.
type Spares struct {
	Own [spares]uint8 `w:"6"`
}

// Spares returns the own tags of the reads with spare tags.
func (m *Initiator) Spares() Spares { return Spares{Own: m.expiry.lent} }

// own returns the reader's tag of a read that was sent with the given tag.
func (s Spares) own(tag uint8) uint8 {
	if tag>>4 == ReadTarget {
		tag = s.Own[tag&(spares-1)]
	}
	return tag
}

// lend records the own tag of a read that is sent with a spare tag.
func (x *expiry) lend(tag, own uint8) {
	if tag>>4 == ReadTarget {
		x.lent[tag&(spares-1)] = own & 0x3f
	}
}

// owed returns the retired tags whose readers have not been told.
func (m *Initiator) owed() uint64 { return m.late & m.expiry.old }

// retire retires the tags of old reads at the end of a sweep, and frees those that are
// answered. told reports whether a reader is told in this clock. A retired tag is freed
// after that.
func (m *Initiator) retire(s Sweep, told bool) {
	old, late := m.expiry.old, m.late
	if !m.limited {
		m.late &= m.flying
		return
	}
	end := s.Open && s.At == 63
	m.expiry.old &= m.flying | late
	if end {
		m.expiry.old |= m.flying &^ late
		m.late |= old & m.flying
	}
	if told {
		m.expiry.old &^= uint64(1) << s.At
	}
	m.late &= m.flying | old
	m.expiry.old &= m.tags
}

// choose picks the spare tag for the next read. Pending refusals may name a spare tag,
// so none is lent until they are answered. hold reports whether a header is
// offered and not taken; then its tag stays.
func (x *expiry) choose(busy, late uint64, refusal, hold bool, tag uint8) {
	const all = 1<<spares - 1
	x.dead = uint8(late>>firstSpare)&all == all
	x.spared = hold && tag>>4 == ReadTarget
	if hold {
		return
	}
	used := uint8(busy>>firstSpare) & all
	x.none = used == all || refusal
	switch {
	case used&1 == 0:
		x.next = 0
	case used&2 == 0:
		x.next = 1
	case used&4 == 0:
		x.next = 2
	default:
		x.next = 3
	}
}
