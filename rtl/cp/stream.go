package cp

import "github.com/hilgpu/hilgpu/rtl/abi/port"

// depth is the number of 8-byte beats that a stream holds: two requests.
const depth = 32

// A window says what a stream may read: positions from where it is up to End,
// modulo Mask+1, in dwords from Base.
type window struct {
	Enable bool
	Base   uint64 // GPU address of position 0, a multiple of 4
	End    uint32 // first position not to be read
	Mask   uint32 // positions are modulo Mask+1, a power of two
}

// A seek moves a stream, and with it drops what it holds and what is on its way.
type seek struct {
	Valid bool
	Stay  bool   // where the decoder is, modulo the window
	Pos   uint32 `w:"20"` // otherwise
}

// stream reads one buffer ahead of the decoder, in requests of up to 128 bytes
// that end at multiples of 128.
//
//	In      win window, a level; to seek, a pulse; take, a pulse when Head is
//	        valid; asks, what it issues is offered, and dwords, how many; cpl, the
//	        completions of this stream
//	Out     issues; first, the place of the next dword's beat, if count is not 0;
//	        keep and place, where this clock's completion is put; failed, no dword will come because a
//	        read was answered with an error; quiet, nothing is in flight
//	Timing  a dword a clock; 2 clocks from a beat to its first dword; one request
//	        in flight, the next one when there is room for 128 bytes
//	Reset   empty, at position 0
//	Order   that of the positions
//	Paths   none
//	Size    32 beats of 64 bits, which the node keeps, and 67 bits
type stream struct {
	next uint32 `w:"20"` // position of the next dword to ask for
	at   uint32 `w:"20"` // position of the next dword to take
	come uint8  `w:"6"`  // dwords asked for that have not arrived
	have uint8  `w:"7"`  // dwords that have arrived and are not taken
	odd  bool   // the next dword to arrive is in the upper lanes
	drop bool   // what is in flight is not wanted
	bad  bool   // a read was answered with an error

	first uint8 `w:"5"` // place of the oldest beat
	count uint8 `w:"6"` // beats
}

// Reset empties the stream, which must be quiet.
func (s *stream) Reset() {
	s.next, s.at = 0, 0
	s.come, s.have = 0, 0
	s.odd, s.drop, s.bad = false, false, false
	s.first, s.count = 0, 0
}

// upper reports whether the next dword to take is in the upper half of its
// beat.
func (s *stream) upper(base uint64) bool { return (uint32(base>>2)+s.at)&1 != 0 }

func (s *stream) failed() bool { return s.bad && s.have == 0 }

func (s *stream) quiet() bool { return s.come == 0 }

// issues reports whether the stream asks for more in this clock. A request that
// starts in the upper half of a beat waits until the stream is empty, so that
// only the newest beat it holds can end in its lower half.
func (s *stream) issues(w window) bool {
	free := s.come == 0 && !s.bad && s.have <= depth
	return w.Enable && free && s.next != w.End&w.Mask && (s.even(w) || s.have == 0)
}

// even reports whether the next dword to ask for is in the lower half of a beat.
func (s *stream) even(w window) bool { return (uint32(w.Base>>2)+s.next)&1 == 0 }

// Tick is one rising clock edge. held is whether there is a beat at first that came
// in an earlier clock.
func (s *stream) Tick(win window, to seek, take, asks bool, dwords uint8, cpl port.Completion) (held, keep bool, place uint8) {
	pop := take && (s.upper(win.Base) || s.have == 1)
	place = (s.first + s.count) & (depth - 1)
	if take {
		s.at = (s.at + 1) & win.Mask
		s.have = (s.have - 1) & 0x7f
	}
	if pop {
		s.first = (s.first + 1) & (depth - 1)
		s.count = (s.count - 1) & 0x3f
	}
	held = s.count != 0 && !to.Valid
	keep = s.arrive(cpl)
	if keep {
		s.count = (s.count + 1) & 0x3f
	}
	if to.Valid {
		if !to.Stay {
			s.at = to.Pos
		}
		s.at &= win.Mask
		s.next = s.at
		s.have = 0
		s.bad = false
		s.drop = s.come != 0
		s.first, s.count = 0, 0
	} else if asks {
		s.come = dwords & 0x3f
		s.odd = !s.even(win)
		s.next = (s.next + uint32(dwords)) & win.Mask
	}
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

// span returns the dwords of a read of what is left of the window at next, up to
// a multiple of 128 bytes.
func span(w window, next uint32) uint8 {
	n := port.MaxLen - uint8(uint32(w.Base>>2)+next)&(port.MaxLen-1)
	if left := (w.End - next) & w.Mask; left < uint32(n) {
		n = uint8(left)
	}
	return n & 0x3f
}
