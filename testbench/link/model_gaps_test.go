package link

// gaps sends the next frames out of order, with some duplicates and Pings. It takes less time
// than an end waits before it repeats a Nak.
func (s *script) gaps() {
	s.settle()
	base := s.next
	left, acked := s.shuffled(2 + s.r.IntN(s.window-1))
	s.next += uint16(len(left))
	for i, n := range left {
		s.data(base+uint16(n), false, 0)
		s.run(150)
		if !acked[i] {
			continue
		}
		switch s.r.IntN(4) {
		case 0:
			s.data(base+uint16(left[s.r.IntN(i+1)]), false, 0)
			s.run(100)
		case 1:
			s.frame(number(3, s.first), 0)
			s.run(100)
		default:
		}
	}
}

// shuffled returns 0 to n-1 in an order in which both ends acknowledge half a window at the same
// packet: the software delivers all frames after a gap at once. It also returns after which of
// them no packet waits for an acknowledgement.
func (s *script) shuffled(n int) (p []int, acked []bool) {
	for {
		p, acked = s.r.Perm(n), nil
		here := make([]bool, n+1)
		ok, next, newest, unacked := true, 0, 0, 0
		for _, k := range p {
			here[k] = true
			if k > newest {
				unacked = 0 // a Nak
			}
			newest = max(newest, k+1)
			for ; here[next]; next++ {
				ok = ok && unacked < s.window/2
				unacked++
			}
			if unacked >= s.window/2 {
				unacked = 0
			}
			acked = append(acked, unacked == 0)
		}
		if ok {
			return p, acked
		}
	}
}

// naks sends a Nak, one or two of them with marks, some of which are impossible.
func (s *script) naks() {
	marks := s.marks()
	if s.r.IntN(4) == 0 {
		s.frame(number(1, s.first), 0)
		return
	}
	body := number(1, s.first)
	if s.r.IntN(8) == 0 {
		s.frame(append(body, marks, 0), 0) // too long for the window, so it is no acknowledgement either
		s.run(100)
	}
	s.frame(append(body, marks), 0)
	s.run(400)
	if !s.keeps || s.r.IntN(2) == 0 {
		return
	}
	for range s.r.IntN(3) {
		if s.flying() < s.window {
			s.post()
		}
	}
	// More frames have arrived, perhaps also one that was sent after the replay.
	if marks |= s.marks(); marks != 0 {
		s.frame(append(number(1, s.first), marks), 0)
	}
}

// marks returns marks of frames in flight, but for some.
func (s *script) marks() uint8 {
	if s.r.IntN(8) == 0 {
		return uint8(s.r.Uint32())
	}
	return uint8(s.r.Uint32()) >> min(8, 9-s.flying())
}
