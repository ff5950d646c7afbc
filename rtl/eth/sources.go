package eth

import "github.com/hilgpu/hilgpu/rtl/hdl"

const slotBits = 4 // of a place in a slot

// sources has the addresses of hosts, each in one of four slots. The datagram that is
// delivered next has a slot, and so have the one before it, the host that is kept, and the
// datagram that is sent. The first is never one of the other three.
type sources struct {
	ram  hdl.RAM
	udp  uint8 `w:"4"` // bit i: slot i is of a host that uses UDP
	next uint8 `w:"2"` // of the next datagram
	last uint8 `w:"2"` // of the one before it
	kept uint8 `w:"2"` // of the host that is kept
	from uint8 `w:"2"` // of the datagram that is sent
	any  bool  // a datagram was delivered
	held bool  // a host is kept
}

func newSources() sources {
	s := sources{ram: hdl.NewNarrowRAM(4<<slotBits, 8)}
	s.reset()
	return s
}

func (s *sources) reset() {
	s.next, s.last, s.kept, s.from, s.udp = 0, 1, 2, 3, 0
	s.any, s.held = false, false
}

// uses reports whether the host of a slot uses UDP.
func (s *sources) uses(slot uint8) bool { return s.udp>>(slot&3)&1 != 0 }

// target returns the slot of the host that a datagram goes to.
func (s *sources) target() uint8 {
	if s.held {
		return s.kept
	}
	return s.last
}

// keeps reports whether a host is kept that uses UDP, or one that does not.
func (s *sources) keeps(udp bool) bool { return s.held && s.uses(s.kept) == udp }

// byte returns the byte that was read last.
func (s *sources) byte() uint8 { return uint8(s.ram.Out()) }

// store ticks the memory: a read of a place, and a write of the byte before i of the source
// of the next datagram.
func (s *sources) store(read bool, place uint8, write bool, i, data uint8, udp bool) {
	before := (i - 1) & (1<<slotBits - 1)
	enable, bit := uint8(0), uint8(1)<<(s.next&3)&0xf
	if write {
		enable = 1
	}
	s.ram.Tick(read, uint32(place), enable, uint32(s.next)<<slotBits|uint32(before), uint64(data))
	if write {
		s.udp &^= bit
	}
	if write && udp {
		s.udp |= bit
	}
}

// advance follows the strobes: keep and release of the link, sends, a datagram begins to be
// sent, and taken, the first byte of the next datagram is taken.
func (s *sources) advance(keep, release, sends, taken bool) {
	if release {
		s.held = false
	}
	if keep && s.any {
		s.kept, s.held = s.last, true
	}
	if sends {
		s.from = s.target()
	}
	if taken {
		s.last, s.any = s.next, true
		s.next = free(s.last, s.kept, s.from)
	}
}

// free returns a slot that is none of three.
func free(a, b, c uint8) uint8 {
	slot := uint8(3)
	for i := range uint8(3) {
		if 2-i != a && 2-i != b && 2-i != c {
			slot = 2 - i
		}
	}
	return slot
}
