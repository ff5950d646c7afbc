package noc

// Beats is the arbiter of the shared beat channel of the engines, which leads to
// the initiator port and to VRAM. It also arbitrates at VRAM between that channel
// and the target.
//
//	In      route, Choose's; taken, whether its beat was taken; target, whether
//	        VRAM took a beat of the target
//	Out     Inward, for Choose; Next, for Yields
//	Timing  a beat in every clock
//	Reset   the port goes first, and the target
//	Order   if both the port's owner and VRAM's have a beat, they alternate; so
//	        do the channel and the target at VRAM. A beat that was offered to
//	        the port and not taken stays; then VRAM's owner waits, but the
//	        target does not. The port's owner waits for VRAM at most 2 clocks:
//	        1 until VRAM is ready and 1 for the target
//	Paths   none; the route depends only on registers, taken on the ready of the
//	        port and on whether the target has a beat
//	Size    2 bits
//	Source  docs/design.md#beats
type Beats struct {
	inward bool // VRAM's owner goes first
	next   bool // at VRAM the engines go first
}

// A Route is the destination of the engines' beat; at most one is set.
//
//	Out  to the initiator port
//	In   to VRAM
type Route struct {
	Out bool
	In  bool
}

// Inward reports whether VRAM's owner goes first if the port's owner also has a
// beat.
func (m *Beats) Inward() bool { return m.inward }

// Next reports whether an engine's beat goes to VRAM before the target's.
func (m *Beats) Next() bool { return m.next }

// Choose returns the route of the beat. out reports whether the port's owner has
// a beat, in whether VRAM's has. The choice does not depend on whether the beat
// is taken: if VRAM, not ready, gave its turn to the port, the port's next beat
// could occupy the channel forever.
func Choose(out, in, inward bool) Route {
	return Route{Out: out && !(in && inward), In: in && (inward || !out)}
}

// Yields reports whether the target waits for the engines' beat to VRAM.
func Yields(route Route, next bool) bool { return route.In && next }

// Tick is one rising clock edge.
func (m *Beats) Tick(route Route, taken, target bool) {
	if route.Out {
		m.inward = taken
	} else if route.In && taken {
		m.inward = false
	}
	if target {
		m.next = true
	} else if route.In && taken {
		m.next = false
	}
}

// Reset sets the registers.
func (m *Beats) Reset() { *m = Beats{} }
