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
	case c.sessions != 0:
		f.add("the cable was open for longer than the silence that ends a session",
			"the session ended and began again, %d times (cause at the board: %s)", c.sessions, c.to.board.Cause)
	default:
		serialFaults(f, c)
	}
}

// rateOrNoise is the cause of wrong bits, which a lower rate may mend.
const rateOrNoise = "a rate that is too high for the cable or the adapter, or noise"

// wrongBits is how many frames are lost for a frame that is seen to be damaged, at most, if
// the line has wrong bits. The others have a wrong delimiter, or no frame of the line is whole.
const wrongBits = 4

// serialFaults adds what is wrong with the line of a UART. A break ends in a byte, so it may
// leave a short level.
func serialFaults(f *finding, c change) {
	damaged := c.host("frames_damaged")
	wrong, lost := uint64(c.uart.Framing)+damaged, c.lost()
	switch {
	case c.uart.Breaks != 0:
		f.add("breaks: a cable with a bad contact, a driver without supply, or a host that sends breaks",
			"the line to the board was low for two bytes or more, %d times", c.uart.Breaks)
	case c.uart.Glitches != 0:
		f.add("noise: no common ground, a cable that is too long or next to a source of noise",
			"glitches: %d levels shorter than half a bit arrived at the board", c.uart.Glitches)
	case wrong*wrongBits < lost:
		f.add("the cable was open for a time: a plug that is loose, or was out",
			"frames were lost without a wrong bit: %d of the %d that the host sent", lost, c.host("frames_sent"))
	case wrong != 0 || lost != 0:
		f.add(rateOrNoise, "%s", bitErrors(c))
	}
}

// bitErrors describes the frames with wrong bits in each direction.
func bitErrors(c change) string {
	text := "the line has bit errors:"
	if lost, sent := c.lost(), c.host("frames_sent"); lost != 0 {
		text += fmt.Sprintf(" %s of the frames to the board were damaged (direction host to board)", percent(lost, sent))
	}
	if damaged := c.host("frames_damaged"); damaged != 0 {
		if text[len(text)-1] == ')' {
			text += ","
		}
		text += fmt.Sprintf(" %s of the frames to the host (direction board to host)", percent(damaged, damaged+c.host("frames_received")))
	}
	if text[len(text)-1] == ':' {
		text += fmt.Sprintf(" %d stop bits were wrong (direction host to board)", c.uart.Framing)
	}
	return text
}

// percent returns a part in percent.
func percent(n, of uint64) string { return fmt.Sprintf("%.1f %%", 100*float64(n)/float64(max(1, of))) }

// ethernetFaults adds what is wrong with the frames that the PHY of a board receives. A carrier
// that is lost leaves less than a short frame has, but most of a long one.
func ethernetFaults(f *finding, short, long change) {
	s, l := short.mac, long.mac
	if n := s.Oversized + l.Oversized; n != 0 {
		f.add("frames above 1518 bytes: jumbo frames, or bytes after the end of a frame", "%d frames were too long", n)
	}
	runts, bad := s.Runts+l.Runts, s.Bad+l.Bad
	switch {
	case s.Runts > s.Bad && l.Bad > l.Runts:
		f.add("the carrier was lost within frames: the cable, the plug, or the supply of the PHY",
			"frames end early: %d before their 64th byte, %d later, with a wrong FCS", runts, bad)
	default:
		if runts != 0 {
			f.add("frames that end before their 64th byte: a collision, or a PHY in half duplex", "%d frames were too short (runts)", runts)
		}
		if bad != 0 {
			f.add("wrong bits between the PHY and the FPGA, such as a wrong delay of its clock, or on the cable", "the PHY's frames have a wrong FCS: %d", bad)
		}
	}
	if n := s.NoRoom + l.NoRoom; n != 0 {
		f.add("other traffic for this board, or a window that is too large", "%d frames were dropped because the buffer was full", n)
	}
	if short.sessions+long.sessions != 0 {
		f.add("the cable or the network was interrupted", "the session ended and began again, %d times", short.sessions+long.sessions)
	}
}
