package noc

// Beats is the arbiter of the one way that the beats of all engines take, to the
// initiator port and to VRAM, and of VRAM's choice between that way and the target.
//
//	In      way, Choose's; taken, whether its beat was; target, whether VRAM took a
//	        beat of the target
//	Out     Inward, for Choose; Next, for Yields
//	Timing  a beat in every clock
//	Reset   the port goes first, and the target
//	Order   if both the port's owner and VRAM's have a beat, they take turns; so do
//	        the way and the target at VRAM. A beat that was offered to the port and
//	        not taken stays; then VRAM's owner waits, and the target does not. For VRAM the
//	        port's owner waits at most 2 clocks, 1 until VRAM is ready and 1 for the target
//	Paths   none; where the way leads depends on registers alone, what is taken on
//	        the ready of the port and on whether the target has a beat
//	Size    2 bits
//	Source  docs/design.md#beats
type Beats struct {
	inward bool // VRAM's owner goes first
	next   bool // at VRAM the way goes first
}

// A Way is where the engines' beat goes, at most to one of both.
//
//	Out  to the initiator port
//	In   to VRAM
type Way struct {
	Out bool
	In  bool
}

// Inward returns whether VRAM's owner goes first if the port's has a beat, too.
func (m *Beats) Inward() bool { return m.inward }

// Next returns whether an engine's beat goes to VRAM in front of the target's.
func (m *Beats) Next() bool { return m.next }

// Choose returns where the beat goes: out says that the port's owner has one, in that
// VRAM's has. It does not matter whether it is taken: if a VRAM that is not ready gave
// its turn to the port, it might find the port's next beat on the way ever after.
func Choose(out, in, inward bool) Way {
	return Way{Out: out && !(in && inward), In: in && (inward || !out)}
}

// Yields returns whether the target waits for the beat that goes to VRAM.
func Yields(way Way, next bool) bool { return way.In && next }

// Tick is one rising clock edge.
func (m *Beats) Tick(way Way, taken, target bool) {
	if way.Out {
		m.inward = taken
	} else if way.In && taken {
		m.inward = false
	}
	if target {
		m.next = true
	} else if way.In && taken {
		m.next = false
	}
}

// Reset sets the registers.
func (m *Beats) Reset() { *m = Beats{} }
