package noc

// Reads is the arbiter of a channel of headers without beats: VRAM reads, or the
// DMA engine's descriptors.
//
//	In      valid  bit i: source i has a header; granted, Grant's; taken, whether
//	        that header is taken in this clock; rst, a reset
//	Out     Turn, for Grant
//	Timing  a grant in every clock
//	Reset   source 0 goes first
//	Order   round robin; a header that is offered and not taken stays granted
//	Paths   none
//	Size    4 bits
type Reads struct {
	turn Turn
}

// Turn returns the arbiter's state.
func (m *Reads) Turn() Turn { return m.turn }

// Tick is one rising clock edge.
func (m *Reads) Tick(valid, granted uint8, taken, rst bool) {
	m.turn = next(valid, granted&7, m.turn, taken)
	if rst {
		m.Reset()
	}
}

// Reset sets the registers.
func (m *Reads) Reset() { m.turn = Turn{} }
