package noc

// An Owner is the writer whose beats are next on a channel.
//
//	Valid   there is one
//	Drop    its beats are taken and go nowhere: the write was refused
//	Source  its number
type Owner struct {
	Valid  bool
	Drop   bool
	Source uint8 `w:"3"`
}

// owners is a queue of two owners, so that a header is taken while the beats of
// the one before are moving.
type owners struct {
	cur  Owner
	then Owner
}

// move returns the queue after a clock in which the last beat of its head was
// taken, and the header of o was taken if o is valid.
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

// Writes is the arbiter in front of the VRAM write channel.
//
//	In      valid  bit i: source i has a header, 0 while Full; granted, Grant's;
//	        taken, whether that one is taken; last, whether the last beat of
//	        Owner's write is
//	Out     Turn, for Grant; Owner, whose beats are next; Full, that no header
//	        can be taken
//	Timing  a grant in every clock; the beats of a header from the clock after it
//	        on, and without a bubble from one write to the next
//	Reset   source 0 is asked first; no owner
//	Order   round robin of headers; beats in the order of the headers
//	Paths   none
//	Size    12 bits
type Writes struct {
	turn   Turn
	owners owners
}

// Turn returns the arbiter's state.
func (m *Writes) Turn() Turn { return m.turn }

// Owner returns the writer whose beats are next.
func (m *Writes) Owner() Owner { return m.owners.cur }

// Full returns whether no header can be taken.
func (m *Writes) Full() bool { return m.owners.then.Valid }

// Owed returns whether another source than the target holds the grant, or owes
// beats.
func (m *Writes) Owed() bool {
	const but = VRAMWriteTarget
	cur, then := m.owners.cur, m.owners.then
	return m.turn.Hold && m.turn.At != but || cur.Valid && cur.Source != but || then.Valid && then.Source != but
}

// Tick is one rising clock edge.
func (m *Writes) Tick(valid, granted uint8, taken, last bool) {
	granted &= 7
	m.turn = next(valid, granted, m.turn, taken)
	m.owners = move(m.owners, last, Owner{Valid: taken, Source: granted})
	m.owners.cur.Drop, m.owners.then.Drop = false, false // VRAM refuses nothing
}

// Reset sets the registers.
func (m *Writes) Reset() { *m = Writes{} }
