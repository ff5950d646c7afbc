package cp

import "github.com/hilgpu/hilgpu/rtl/abi/port"

// depth is the number of 8-byte beats that a stream holds: two requests.
const depth = 32

// A window is the part of the current buffer that the stream may read: from its position to
// End, modulo Mask+1, in dwords from Base.
type window struct {
	Enable bool
	Base   uint64 // GPU address of position 0, a multiple of 4
	End    uint32 // first position that must not be read
	Mask   uint32 // positions are modulo Mask+1, a power of two
}

// odd reports whether position 0 of a buffer is in the upper half of a beat.
func odd(base uint64) bool { return base>>2&1 != 0 }

// stream reads one buffer ahead of the decoder, in requests of up to 128 bytes
// that end at multiples of 128.
//
//	In      w, the window of its buffer; seek, a pulse, where to, and how many dwords that
//	        it held there are kept; take, a pulse if there is a dword; jumps, a pulse if it is
//	        empty, over how many dwords; asks, what it issues is offered, and dwords, how many;
//	        cpl, its completions
//	Out     issues; held, the beat of the next dword is there; keep and place, where this
//	        clock's completion is put; failed, no dword will come because a read was
//	        answered with an error; quiet, nothing is in flight
//	Timing  a dword a clock; 2 clocks from a beat to its first dword; one request
//	        in flight, the next one when there is room for 128 bytes
//	Reset   empty, at position 0
//	Order   that of the positions; a beat's place is its position modulo depth
//	Paths   none
//	Size    32 beats of 64 bits, which the node keeps, and 36 bits
type stream struct {
	at   uint32 `w:"20"` // position of the next dword to take
	come uint8  `w:"6"`  // dwords requested that have not arrived
	have uint8  `w:"7"`  // dwords that have arrived and are not taken
	odd  bool   // the next dword to arrive is in the upper lanes
	drop bool   // drop the dwords in flight
	bad  bool   // a read was answered with an error
}

// Reset empties the stream, which must be quiet.
func (s *stream) Reset() {
	s.at = 0
	s.come, s.have = 0, 0
	s.odd, s.drop, s.bad = false, false, false
}

func (s *stream) failed() bool { return s.bad && s.have == 0 }

func (s *stream) quiet() bool { return s.come == 0 }

// empty reports whether the stream holds and awaits nothing.
func (s *stream) empty() bool { return s.come == 0 && s.have == 0 }

// issues reports whether the stream requests, in this clock, the left dwords at next, after
// those it holds. A request that starts in the upper half of a beat waits until the stream
// is empty, so that only the newest beat that it holds can end in its lower half.
func (s *stream) issues(w window, next, left uint32) bool {
	free := s.come == 0 && !s.bad && s.have <= depth
	even := next&1 != 0 == odd(w.Base)
	return w.Enable && free && left != 0 && (even || s.have == 0)
}

// beat returns the place of the beat of a position.
func beat(position uint32, skew bool) uint8 {
	p := uint8(position) & (2*depth - 1)
	if skew {
		p++
	}
	return p >> 1 & (depth - 1)
}

// Tick is one rising clock edge. held is set if the beat of the next dword arrived in an
// earlier clock.
func (s *stream) Tick(w window, seek bool, to uint32, kept uint8, take, jumps bool, over uint16, asks bool, dwords uint8, cpl port.Completion) (held, keep bool, place uint8) {
	skew := odd(w.Base)
	place = beat(s.at+uint32(s.have), skew)
	if asks {
		s.come = dwords & 0x3f
		s.odd = (s.at^uint32(s.have))&1 != 0 != skew
	}
	by := bit(take, 1)
	if jumps {
		by = uint32(over)
		s.bad = false
	}
	at := s.at + by
	s.have = (s.have - uint8(bit(take, 1))) & 0x7f
	held = s.have != 0 && !seek
	keep = s.arrive(cpl)
	if seek {
		at = to
		s.have = kept & 0x7f
		s.bad = false
		s.drop = s.come != 0
	}
	s.at = at & w.Mask
	return held, keep, place
}

// arrive counts the dwords of a completion and reports whether they are kept.
func (s *stream) arrive(cpl port.Completion) bool {
	var keep bool
	if cpl.Status != port.CplNone {
		n := uint8(2)
		if s.odd || s.come == 1 {
			n = 1
		}
		keep = !s.drop && cpl.Status == port.CplSuccess
		if keep {
			s.have = (s.have + n) & 0x7f
		}
		s.bad = s.bad || !s.drop && cpl.Status != port.CplSuccess
		s.odd = false
		s.come = (s.come - n) & 0x3f
		if cpl.Last {
			s.come = 0
			s.drop = false
		}
	}
	return keep
}

// span returns the length of the next read, in dwords: left dwords at next, up to a multiple
// of 128 bytes.
func span(w window, next, left uint32) uint8 {
	n := port.MaxLen - uint8(uint32(w.Base>>2)+next)&(port.MaxLen-1)
	if left&^(port.MaxLen-1) == 0 && uint8(left) < n {
		n = uint8(left)
	}
	return n & 0x3f
}
