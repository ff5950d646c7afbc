package bringup

// rewriter is the cause of frames that are damaged although their FCS is right.
const rewriter = "frames are changed where no FCS protects them: a bad buffer between the MAC and the data link, " +
	"or a switch or an adapter that changes a frame and then makes its FCS anew"

// rewrittenFrames adds frames that were damaged although their FCS was right, and the lost ones
// in addition to them. It reports whether there were such frames. The host counts the damaged
// frames that it receives.
func rewrittenFrames(f *finding, short, long change) bool {
	toHost, toBoard := short.host("frames_damaged")+long.host("frames_damaged"), short.rewritten()
	if toHost+toBoard < fewTraces {
		return false
	}
	f.add(rewriter, "frames were damaged although their FCS was right: %d to the host, and %d of the short ones to the board", toHost, toBoard)
	if n := short.lost(); n >= 2*toBoard+fewTraces && toBoard != 0 {
		f.add("also a cable that was out, or a switch, an adapter or a host that drops frames", "more short frames were lost: %d", n-toBoard)
	}
	return true
}

// rewritten returns how many frames arrived at the MAC of the board with a right FCS, and with a
// wrong check at its data link. Each Ethernet frame must have one frame of the link, as when the
// host waits for each answer.
func (c *change) rewritten() uint64 {
	good := uint64(c.mac.Good)
	other := uint64(c.mac.NoRoom+c.mac.Ignored+c.link.Sessions) + uint64(c.to.received-c.from.received)
	return min(c.lost(), good-min(good, other))
}
