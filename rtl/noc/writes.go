package noc

// An Owner is the writer of the next beats on a channel.
//
//	Valid   there is one
//	Drop    its beats are taken and dropped: the write was refused
//	Source  its number
type Owner struct {
	Valid  bool
	Drop   bool
	Source uint8 `w:"2"`
}

// Writes is the arbiter of the engines' VRAM writes. Writes of the target do not
// pass it, so they never wait for a write that an engine has begun.
//
//	In      valid  bit i: writer i has a header; granted, Grant's; taken, whether
//	        that header is taken, from Vacant; last, whether the last beat of
//	        Owner's write is taken
//	Out     Turn, for Grant; Owner, the writer of the next beats, for Vacant
//	Timing  a header in the clock of the last beat of the previous write; its
//	        beats from the next clock, so without a bubble
//	Reset   source 0 goes first; no owner
//	Order   round robin of headers; beats in the order of the headers
//	Paths   none
//	Size    7 bits
type Writes struct {
	turn  Turn
	owner Owner
}

// Turn returns the arbiter's state.
func (m *Writes) Turn() Turn { return m.turn }

// Owner returns the writer of the next beats.
func (m *Writes) Owner() Owner { return m.owner }

// Vacant reports whether a header is taken. last reports whether the owner's last
// beat is.
func Vacant(o Owner, last bool) bool { return !o.Valid || last }

// Owed reports whether a header is held, or beats must follow one.
func (m *Writes) Owed() bool { return m.turn.Hold || m.owner.Valid }

// Tick is one rising clock edge.
func (m *Writes) Tick(valid, granted uint8, taken, last bool) {
	m.turn = next(valid, granted&7, m.turn, taken)
	m.owner.Valid = taken || m.owner.Valid && !last
	if taken {
		m.owner.Source = granted & 3
	}
	m.owner.Drop = false // VRAM refuses no write
}

// Reset sets the registers.
func (m *Writes) Reset() { *m = Writes{} }
