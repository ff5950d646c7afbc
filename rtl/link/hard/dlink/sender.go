package dlink

import "github.com/hilgpu/hilgpu/rtl/link/hard/transmit"

// A sender is the numbers of the frames in flight. Packets are in the slots of the replay
// buffer in their order, and after the last slot the first one follows. A replay sends all
// frames again, or only those that a Nak reports missing: end, done and edge are numbers of
// frames from the oldest one on.
type sender struct {
	first  uint16 `w:"12"` // number of the oldest one
	slot   uint8  `w:"6"`  // of the oldest one
	flying uint8  `w:"7"`  // packets in the replay buffer
	sent   uint8  `w:"7"`  // of them, those sent since the last replay began
	flown  uint8  `w:"7"`  // those sent at least once
	window uint8  `w:"7"`  // packets that may be there
	since  uint8  // units of Replay since the oldest one was sent
	rest   uint8  `w:"2"` // ticks until a frame that is sent again can be reported missing
	tries  uint8  // replays since an acknowledgement
	keeps  bool   // the host keeps frames out of order
	some   bool   // a replay sends only the missing frames
	marks  uint64 // of that replay: bit i, frame i after those sent has arrived, if lag is 0
	lag    uint8  `w:"6"` // bits of marks before those of the Nak
	end    uint8  `w:"7"` // the frames that the Nak is about
	done   uint8  `w:"7"` // those that are not sent again
	edge   uint8  `w:"7"` // those that had been sent when the last replay began
}

// restTicks is the time after the beginning of a replay in which a frame of it is not sent once
// more for a Nak, unless the host reports one that was sent later: one tick and a part of
// another one.
const restTicks = 2

// after returns the slot of the packet that follows the oldest one by k, at most the slots.
func (s *sender) after(k, slots uint8) uint8 {
	n := s.slot + k
	if n >= slots {
		n -= slots
	}
	return n & 63
}

// number returns the number of the next frame to send.
func (s *sender) number() uint16 { return (s.first + uint16(s.sent)) & maskNumber }

// room reports whether the slot of the next packet is free.
func (s *sender) room(busy transmit.Busy, next uint8) bool {
	return s.flying < s.window && !(busy.Packet && busy.Slot == next)
}

// less returns n without the k oldest frames.
func less(n, k uint8) uint8 {
	if n < k {
		return 0
	}
	return (n - k) & 127
}

// arrived forgets the k oldest frames, at most those that were sent.
func (s *sender) arrived(k uint8) {
	behind := s.sent < k
	s.flying, s.flown, s.sent = (s.flying-k)&127, (s.flown-k)&127, less(s.sent, k)
	s.end, s.done, s.edge = less(s.end, k), less(s.done, k), less(s.edge, k)
	if s.some && behind {
		// The marks are those of other frames now. A Nak will tell what is still missing.
		s.some, s.sent = false, s.flown
	}
	s.since, s.tries = 0, 0
}

// all begins a replay of all frames.
func (s *sender) all() {
	s.some, s.sent, s.rest = false, 0, restTicks
	s.done, s.edge = s.flown, s.flown
}

// missing takes a Nak with its marks, the last one of their bytes in the low bits, and the
// number of these bytes. The host asks for the frames before the last one that it reports, or
// for the oldest one if it reports none. Those that were sent again are not sent once more
// before the host can have received them: it reports a frame that was sent later, or some time
// has passed.
func (s *sender) missing(field uint64, size, top uint8) {
	if !s.keeps {
		if s.rest == 0 {
			s.all()
		}
		return
	}
	end := max(top, 1) & 127
	if s.flown <= top {
		return
	}
	if top >= s.edge || s.rest == 0 {
		s.done = 0
	}
	if s.done >= end {
		return
	}
	s.some, s.sent, s.end = true, 0, end
	s.marks, s.lag = turned(field)<<1, -size<<3&63
	s.edge, s.rest = s.flown, restTicks
}

// turned returns bytes in the other order.
func turned(v uint64) (w uint64) {
	for i := range 8 {
		w |= v >> (8 * i) & 255 << (56 - 8*i)
	}
	return w
}

// lags reports whether the marks are being shifted into place.
func (s *sender) lags() bool { return s.some && s.lag != 0 }

// ends reports whether a replay of the missing frames has come to its end.
func (s *sender) ends() bool { return s.some && s.lag == 0 && s.sent >= s.end }

// skips reports whether a frame is not sent again. The oldest one has not arrived.
func (s *sender) skips() bool {
	arrived := s.marks&1 != 0 && s.sent != 0
	return s.some && s.lag == 0 && s.sent < s.end && (s.sent < s.done || arrived)
}

// holds reports whether no packet may be sent in this clock.
func (s *sender) holds() bool { return s.lags() || s.ends() || s.skips() }

// advance moves to the next frame. was is the sender before this clock, in which no frame has
// arrived; sends reports whether a packet is sent.
func (s *sender) advance(was sender, sends bool) {
	next := (was.sent + 1) & 127
	moves := was.skips() || sends
	if was.lags() {
		s.lag = (was.lag - 1) & 63
	}
	if was.ends() {
		s.some, s.sent = false, was.flown
	}
	if moves {
		s.sent = next
	}
	if moves && was.some && was.sent >= was.done {
		s.done = next
	}
	if moves || was.lags() {
		s.marks = was.marks >> 1
	}
}
