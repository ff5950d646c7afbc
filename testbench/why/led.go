package why

import "fmt"

// maxLed bounds the packets of a call in the answer about it, in each submission.
const maxLed = 3

// led adds what became of a submission, and of the packets in it that a call wrote.
func (r *Run) led(a *Answer, s *submission, c *call) {
	a.step(s.submitted, "submission %d goes to the hardware", s.serial)
	a.step(s.rung, "DxgkDdiSubmitCommand rings the doorbell, %s = %#x", register(s.rungBy.offset), s.rungBy.value)
	a.step(s.begun, "node %d begins it", s.node)
	shown, left := 0, 0
	for i := range s.packets {
		p := &s.packets[i]
		switch {
		case !c.wrote(p) || !p.executed.In():
		case shown < maxLed:
			shown++
			a.step(p.executed, "node %d executes its packet %s", s.node, s.describePacket(p))
		default:
			left++
		}
	}
	if left > 0 {
		a.Notes = append(a.Notes, fmt.Sprintf("of submission %d, %s of the call", s.serial, count(left, "more packet is", "more packets are")))
	}
	a.step(s.fenced, "node %d executes the packet of its fence", s.node)
	a.step(s.written, "the fence is in host memory")
	a.step(s.message, "an interrupt message arrives")
	a.step(s.reported, "the fence is reported")
	a.end(s)
}

// wrote reports whether a call wrote a packet.
func (c *call) wrote(p *packet) bool {
	for _, f := range p.origin {
		if f.number == c.number {
			return true
		}
	}
	return false
}
