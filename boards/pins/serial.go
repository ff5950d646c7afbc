package pins

// A SerialTop is the top of a board at the end of a UART.
type SerialTop interface {
	// Line returns the level that the board sends.
	Line() bool

	// Tick advances one clock. rx is the level that the board receives.
	Tick(rx bool)
}

// A Serial drives a board at the pins of its UART, bit by bit: 8 data bits, no parity, a stop
// bit. It implements Gateware. The host's UART samples in the middle of each bit.
type Serial struct {
	top SerialTop
	bit uint64 // clocks of a bit of the host, in 1/1024

	now  uint64 // clocks
	sent uint16 // bits of the byte that the host sends, and its stop bit
	at   uint64 // its start, in 1/1024 clocks
	send bool

	level    bool // of the board in the clock before
	inside   bool // a byte of the board arrives
	from     uint64
	sampled  int
	arriving uint16
}

// bitScale is the number of units of a clock in which bits are measured.
const bitScale = 1024

// NewSerial returns a driver of a board with hz clocks a second. The host's clock is fast
// by the given parts per million.
func NewSerial(top SerialTop, hz, baud uint64, fast int) *Serial {
	bit := hz * bitScale / baud
	bit = uint64(int64(bit) - int64(bit)*int64(fast)/1_000_000)
	return &Serial{top: top, bit: bit, level: true}
}

// ByteClocks returns the clocks of a byte, rounded up.
func (s *Serial) ByteClocks() uint64 { return (10*s.bit + bitScale - 1) / bitScale }

// Tick implements Gateware. A byte may arrive when the one before has been sent. The board
// sends when it wants, whatever ready is.
func (s *Serial) Tick(in byte, valid, _ bool) (out byte, got bool) {
	if valid {
		s.sent, s.at, s.send = uint16(in)<<1|1<<9, s.now*bitScale, true
	}
	rx := true
	if s.send {
		i := (s.now*bitScale - s.at) / s.bit
		if i < 10 {
			rx = s.sent>>i&1 != 0
		} else {
			s.send = false
		}
	}
	s.top.Tick(rx)
	s.now++
	return s.sample(s.top.Line())
}

// sample takes a level of the board, and returns a byte that has arrived.
func (s *Serial) sample(level bool) (out byte, got bool) {
	if !s.inside {
		if s.level && !level {
			s.inside, s.from, s.sampled, s.arriving = true, s.now*bitScale, 0, 0
		}
		s.level = level
		return 0, false
	}
	if s.now*bitScale-s.from >= uint64(s.sampled)*s.bit+s.bit/2 {
		if level {
			s.arriving |= 1 << s.sampled
		}
		s.sampled++
	}
	s.level = level
	if s.sampled < 10 {
		return 0, false
	}
	s.inside = false
	return byte(s.arriving >> 1), s.arriving&1 == 0 && s.arriving>>9 == 1
}
