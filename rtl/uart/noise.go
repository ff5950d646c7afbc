package uart

// A noise finds levels on the line that no byte has.
type noise struct {
	left   uint16 // clocks until the present level is a long one
	low    bool   // a stop bit was low, with all bits before it
	glitch bool
	long   bool
}

// tick counts a clock with a period in 1/16 clocks. edge, the level has changed; broke, a
// byte and its stop bit were low.
func (n *noise) tick(period uint16, edge, broke bool) {
	n.glitch, n.long = edge && n.left != 0 && !n.low, n.low && n.left == 1 && !edge
	switch {
	case edge:
		n.left, n.low = period>>5, false
	case broke:
		n.left, n.low = period>>1+period>>3, true // ten bits: two bytes and the bits between may be 0
	case n.left != 0:
		n.left--
	default:
		n.low = false
	}
}
