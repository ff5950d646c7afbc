package bringup

import "fmt"

// lineFaults adds what is wrong with a line, by the changes while the host sent short frames and
// long ones. For a UART both are the same.
func lineFaults(f *finding, short, long change) {
	c := short
	switch {
	case short.reset || long.reset:
		if long.reset {
			c = long
		}
		f.add("its supply drops, its reset is touched, or its FPGA was configured again",
			"the board was reset during the run (sessions of the host %d -> %d, of the board %d -> %d)",
			c.from.host["sessions"], c.to.host["sessions"], c.from.board.Counters.Sessions, c.to.board.Counters.Sessions)
	case c.to.board.MAC != nil:
		ethernetFaults(f, short, long)
	default:
		serialFaults(f, c)
	}
}

// rateOrNoise is the cause of wrong bits, which a lower rate may mend. openCable is that of
// frames without a trace. The others are those of a UART too.
const (
	rateOrNoise = "a rate that is too high for the cable or the adapter, or noise"
	openCable   = "the cable was open for a time: a plug that is loose, or was out"
	bitsOrOpen  = "too few frames to tell: " + rateOrNoise + "; or " + openCable
	bitsOrBreak = rateOrNoise + "; or breaks in the direction board to host, which only the board would count"
	longOpen    = "the cable was open for longer than the silence that ends a session"
)

// A trace is what the faults of a UART leave in the counters of both ends.
type trace struct {
	breaks, glitches, framing uint64 // at the board
	refused                   uint64 // pieces and frames that the board saw and dropped, also what it has already
	repeated                  uint64 // frames of the host that it sent again
	lost, missing             uint64 // frames of the host that did not arrive, at least and at most
	damaged                   uint64 // frames that the host saw and dropped
}

// wrong reports whether a frame was lost or had a wrong bit. A good line has frames that are sent
// again too: those that are late. The board refuses them, but they arrive.
func (t *trace) wrong() bool {
	return t.lost+t.damaged+t.framing != 0 || min(t.refused, t.missing) >= fewTraces && 2*t.missing >= t.refused
}

// silent reports whether the host repeated many more frames than the board refused.
func (t *trace) silent() bool { return 2*t.repeated >= 3*t.refused }

// fewTraces is the least number of frames that tells wrong bits from an open cable.
const fewTraces = 3

// A signature is a cause and its trace. The first one of serialSignatures that matches is named.
type signature struct {
	likely string
	match  func(t trace) bool
	detail func(c change, t trace) string
}

// serialSignatures has a row for each fault of a UART. A board refuses each frame with wrong bits,
// so a host repeats about as many as it refuses. An open cable takes some frames without a trace,
// and a host repeats those too. Most glitches harm no frame. A break may leave a short
// level, and a glitch in a stop bit may look like a break.
var serialSignatures = []signature{
	{"breaks: a cable with a bad contact, a driver without supply, or a host that sends breaks",
		func(t trace) bool { return t.breaks != 0 && t.glitches <= 2*t.breaks },
		func(_ change, t trace) string {
			return fmt.Sprintf("the line to the board was low for two bytes or more, %d times", t.breaks)
		}},
	{"noise: no common ground, a cable that is too long or next to a source of noise",
		func(t trace) bool { return t.glitches != 0 && t.glitches >= t.refused },
		func(_ change, t trace) string {
			return fmt.Sprintf("glitches: %d levels shorter than half a bit arrived at the board", t.glitches)
		}},
	{openCable,
		func(t trace) bool {
			return t.lost != 0 && t.silent() && t.repeated >= t.refused+fewTraces && 4*t.framing <= t.refused
		},
		func(c change, t trace) string {
			return fmt.Sprintf("frames were lost without a wrong bit: the host sent %d again, of %d, and the board saw %d damaged",
				t.repeated, c.host("frames_sent"), t.refused)
		}},
	{bitsOrBreak,
		func(t trace) bool { return t.damaged >= fewTraces && t.refused+t.lost+t.framing == 0 }, bitErrors},
	{rateOrNoise,
		func(t trace) bool {
			return t.wrong() && t.refused+t.damaged >= fewTraces && (4*t.repeated <= 5*t.refused || t.framing != 0 && !t.silent())
		}, bitErrors},
	{bitsOrOpen,
		func(t trace) bool { return t.wrong() }, bitErrors},
}

// sign returns the signature of a change at a UART, or nil if nothing is wrong.
func sign(c change) (*signature, trace) {
	t := trace{
		breaks: uint64(c.uart.Breaks), glitches: uint64(c.uart.Glitches), framing: uint64(c.uart.Framing),
		refused: uint64(c.link.Refused), repeated: c.host("frames_repeated"), lost: c.lost(), missing: c.missing(), damaged: c.host("frames_damaged"),
	}
	for i := range serialSignatures {
		if s := &serialSignatures[i]; s.match(t) {
			return s, t
		}
	}
	return nil, t
}

// undecided reports whether more frames may tell the cause.
func undecided(c change) bool {
	s, _ := sign(c)
	return c.to.board.UART != nil && !c.reset && c.sessions == 0 && s != nil && s.likely == bitsOrOpen
}

// serialFaults adds what is wrong with the line of a UART.
func serialFaults(f *finding, c change) {
	s, t := sign(c)
	open := s == nil || s.likely == openCable || s.likely == bitsOrOpen
	if s != nil && (c.sessions == 0 || !open) {
		f.add(s.likely, "%s", s.detail(c, t))
	}
	if c.sessions == 0 {
		return
	}
	named := longOpen
	if !open {
		named = s.likely
	}
	f.add(named, "the session ended and began again, %d times (cause at the board: %s)", c.sessions, c.to.board.Cause)
}

// bitErrors describes the frames with wrong bits in each direction.
func bitErrors(c change, t trace) string {
	text, and := "the line has bit errors:", ""
	if n := max(t.lost, min(t.refused, t.repeated)); n != 0 {
		text, and = text+fmt.Sprintf(" %s of the frames to the board were damaged (direction host to board)", percent(n, c.host("frames_sent"))), ","
	}
	if t.damaged != 0 {
		text += and + fmt.Sprintf(" %s of the frames to the host (direction board to host)", percent(t.damaged, t.damaged+c.host("frames_received")))
		and = ","
	}
	if and == "" {
		text += fmt.Sprintf(" %d stop bits were wrong (direction host to board)", t.framing)
	}
	return text
}

// percent returns a part in percent.
func percent(n, of uint64) string { return fmt.Sprintf("%.1f %%", 100*float64(n)/float64(max(1, of))) }

// Causes of frames that a PHY delivers short or wrong.
const (
	carrierLost = "the carrier was lost within frames: the cable, the plug, or the supply of the PHY"
	collision   = "frames that end before their 64th byte: a collision, or a PHY in half duplex"
	wrongPHY    = "wrong bits between the PHY and the FPGA, such as a wrong delay of its clock, or on the cable"
	tooFewShort = "too few frames to tell: " + collision + "; or " + carrierLost
	tooFewBad   = "too few frames to tell: " + wrongPHY + "; or " + carrierLost
)

// fewRunts is the least number of runts among long frames that tells a runt from a lost
// carrier, which ends one in four of them before its 64th byte.
const fewRunts = 4

// unclear reports whether more long frames may tell the cause of short and wrong ones.
func unclear(s, l change) bool {
	var f finding
	brokenFrames(&f, s, l)
	return len(f.likely) == 1 && (f.likely[0] == tooFewShort || f.likely[0] == tooFewBad)
}

// brokenFrames adds the cause of short and wrong frames. A short frame that loses its carrier is
// a runt. A long one has a wrong FCS, and one with wrong bits has that too, but then the short
// frames have it.
func brokenFrames(f *finding, s, l change) {
	runts, bad := s.mac.Runts+l.mac.Runts, s.mac.Bad+l.mac.Bad
	switch {
	case runts != 0 && bad != 0 && s.mac.Bad <= s.mac.Runts/4:
		f.add(carrierLost, "frames end early: %d before their 64th byte, %d later, with a wrong FCS", runts, bad)
	case runts != 0 && bad != 0:
		f.add(collision, "%d frames were too short (runts)", runts)
		f.add(wrongPHY, "the PHY's frames have a wrong FCS: %d", bad)
	case runts != 0 && l.mac.Runts < fewRunts:
		f.add(tooFewShort, "%d frames were too short (runts)", runts)
	case runts != 0:
		f.add(collision, "%d frames were too short (runts)", runts)
	case bad != 0 && s.mac.Bad == 0:
		f.add(tooFewBad, "the PHY's frames have a wrong FCS: %d", bad)
	case bad != 0:
		f.add(wrongPHY, "the PHY's frames have a wrong FCS: %d", bad)
	}
}

// ethernetFaults adds what is wrong with the frames that the PHY of a board receives.
func ethernetFaults(f *finding, short, long change) {
	if n := short.mac.Oversized + long.mac.Oversized; n != 0 {
		f.add("frames above 1518 bytes: jumbo frames, or bytes after the end of a frame", "%d frames were too long", n)
	}
	brokenFrames(f, short, long)
	rewritten := rewrittenFrames(f, short, long)
	if n := short.mac.NoRoom + long.mac.NoRoom; n != 0 {
		f.add("other traffic for this board, or a window that is too large", "%d frames were dropped because the buffer was full", n)
	}
	if n := short.sessions + long.sessions; n != 0 {
		likely := "the cable or the network was interrupted"
		if rewritten {
			likely = rewriter
		}
		f.add(likely, "the session ended and began again, %d times", n)
	}
	if n := short.lost() + long.lost(); n != 0 && len(f.details) == 0 {
		f.add("a cable that was out, or a switch, an adapter or a host that drops frames", "frames were lost without a wrong one at the PHY: %d", n)
	}
}
