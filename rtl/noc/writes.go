package noc

// An Owner is the writer whose beats are next on a channel.
//
//	Valid   there is one
//	Drop    its beats are taken and go nowhere: the write was refused
//	Source  its number
type Owner struct {
	Valid  bool
	Drop   bool
	Source uint8 `w:"2"`
}

// Writes is the arbiter in front of VRAM's writes of the engines. The target's do not
// come this way, so none of them waits for what an engine has begun.
//
//	In      valid  bit i: writer i has a header; granted, Grant's; taken, whether
//	        that one is taken, which Vacant says; last, whether the last beat of
//	        Owner's write is
//	Out     Turn, for Grant; Owner, whose beats are next, for Vacant
//	Timing  a header in the clock of the last beat of the write before it; its beats
//	        from the clock after it on, so without a bubble
//	Reset   source 0 is asked first; no owner
//	Order   round robin of headers; beats in the order of the headers
//	Paths   none
//	Size    7 bits
type Writes struct {
	turn  Turn
	owner Owner
}

// Turn returns the arbiter's state.
func (m *Writes) Turn() Turn { return m.turn }

// Owner returns the writer whose beats are next.
func (m *Writes) Owner() Owner { return m.owner }

// Vacant returns whether a header is taken, given that the owner's last beat is.
func Vacant(o Owner, last bool) bool { return !o.Valid || last }

// Owed returns whether a header is held, or beats are to follow one.
func (m *Writes) Owed() bool { return m.turn.Hold || m.owner.Valid }

// Tick is one rising clock edge.
func (m *Writes) Tick(valid, granted uint8, taken, last bool) {
	m.turn = next(valid, granted&7, m.turn, taken)
	m.owner.Valid = taken || m.owner.Valid && !last
	if taken {
		m.owner.Source = granted & 3
	}
	m.owner.Drop = false // VRAM refuses nothing
}

// Reset sets the registers.
func (m *Writes) Reset() { *m = Writes{} }
