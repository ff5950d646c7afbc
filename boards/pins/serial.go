package pins

// A SerialTop is the top of a board at the end of a UART.
type SerialTop interface {
	// Line returns the level that the board sends.
	Line() bool

	// Tick advances one clock. rx is the level that the board receives.
	Tick(rx bool)
}

// A Batch is the same, for many clocks at once. rx has the level that the board receives in
// each clock, and Run stores in tx the level that the board sends after it.
type Batch interface {
	Run(rx, tx []bool) error

	// Reset is a clock with the reset input set.
	Reset() error
}

// Clocked makes a Batch of a SerialTop. Its Reset fails if the top has none.
func Clocked(top SerialTop) Batch { return clocked{top} }

type clocked struct{ SerialTop }

func (c clocked) Run(rx, tx []bool) error {
	for i, level := range rx {
		c.Tick(level)
		tx[i] = c.Line()
	}
	return nil
}

func (c clocked) Reset() error { return reset(c.SerialTop) }

// Delay is the length of the cable, in clocks: what the host sends begins at the board that
// much later. So the clocks of the board can be run in batches of as many.
const Delay = 128

// A Serial drives a board at the pins of its UART, bit by bit: 8 data bits, no parity, a stop
// bit. It implements Gateware. The host's UART samples in the middle of each bit.
type Serial struct {
	top    Batch
	hz     uint64
	rates  []int
	fast   int
	baud   int    // of the host
	most   int    // limit of rates for the next session; 0: none
	bit    uint64 // clocks of a bit of the host, in 1/1024
	faults *faulter
	err    error

	now    uint64      // clocks
	rx, tx [Delay]bool // levels of the present batch
	down   sender      // of the host
	up     receiver
}

// bitScale is the number of units of a clock in which bits are measured.
const bitScale = 1024

// NewSerial returns a driver of a board with hz clocks a second. rates are those of the
// board in bits per second, in ascending order, and at the first one it waits for a session.
// The host's clock is fast by the given parts per million.
func NewSerial(top SerialTop, hz uint64, rates []int, fast int) *Serial {
	return NewBatched(Clocked(top), hz, rates, fast, Faults{})
}

// NewBatched is NewSerial for a Batch, with faults at the pins.
func NewBatched(top Batch, hz uint64, rates []int, fast int, f Faults) *Serial {
	s := &Serial{top: top, hz: hz, rates: rates, fast: fast, faults: newFaulter(f)}
	s.up.level = true
	s.setBaud(rates[0])
	return s
}

// setBaud sets the rate of the host's UART, in bits per second. No byte may be on its way.
func (s *Serial) setBaud(baud int) {
	s.baud = baud
	s.bit = s.hz * bitScale * 1_000_000 / uint64(1_000_000+s.fast) / uint64(baud)
	s.down.bit, s.up.bit, s.faults.bit = s.bit, s.bit, s.bit
}

// Baud returns the rate of the host's UART, in bits per second.
func (s *Serial) Baud() int { return s.baud }

// Limit makes the next session begin at a rate of at most the given one, or at the lowest;
// 0: no limit.
func (s *Serial) Limit(most int) { s.most = most }

// ByteClocks returns the clocks of a byte, rounded up.
func (s *Serial) ByteClocks() uint64 { return (10*s.bit + bitScale - 1) / bitScale }

// Faulty returns the faults injected so far.
func (s *Serial) Faulty() FaultStats { return s.faults.stats }

// Err returns why the board has failed, or nil.
func (s *Serial) Err() error { return s.err }

// Tick implements Gateware. A byte may arrive when the one before has been sent. The board
// sends when it wants, whatever ready is.
func (s *Serial) Tick(in byte, valid, _ bool) (out byte, got bool) {
	at := s.now % Delay
	if at == 0 {
		s.run()
	}
	if valid {
		s.down.queue = append(s.down.queue, timed{at: s.now + Delay, what: in})
	}
	s.now++
	return s.up.sample(s.now, s.faults.up(s.now, s.tx[at]))
}

// run runs the board for a batch.
func (s *Serial) run() {
	if s.err != nil {
		return
	}
	for i := range s.rx {
		now := s.now + uint64(i)
		level, begins := s.down.level(now)
		if begins {
			s.faults.byteBegins(now)
		}
		s.rx[i] = s.faults.down(now, level)
	}
	if s.faults.resets() {
		s.err = s.top.Reset()
	}
	if s.err == nil {
		s.err = s.top.Run(s.rx[:], s.tx[:])
	}
}

// sending reports whether bytes of the host are on their way.
func (s *Serial) sending() bool { return len(s.down.queue) > 0 || s.down.sends }

// A timed is a byte of the host, and the clock in which its start bit begins.
type timed struct {
	at   uint64
	what byte
}

// A sender is the transmitter of the host.
type sender struct {
	bit   uint64 // in 1/1024 clocks
	queue []timed
	sends bool
	word  uint16 // start bit, data bits, stop bit
	from  uint64 // clock of the start bit
}

// level returns the level in a clock, and whether a byte begins in it.
func (s *sender) level(now uint64) (level, begins bool) {
	if len(s.queue) > 0 && s.queue[0].at <= now {
		s.sends, s.from, s.word = true, now, uint16(s.queue[0].what)<<1|1<<9
		s.queue = s.queue[1:]
		begins = true
	}
	if !s.sends {
		return true, false
	}
	i := (now - s.from) * bitScale / s.bit
	if i >= 10 {
		s.sends = false
		return true, false
	}
	return s.word>>i&1 != 0, begins
}

// A receiver is the receiver of the host.
type receiver struct {
	bit      uint64 // in 1/1024 clocks
	level    bool   // in the clock before
	inside   bool   // a byte arrives
	from     uint64 // clock of its start bit
	sampled  int
	arriving uint16
}

// sample takes the level in a clock, and returns a byte that has arrived.
func (r *receiver) sample(now uint64, level bool) (out byte, got bool) {
	before := r.level
	r.level = level
	if !r.inside {
		if before && !level {
			r.inside, r.from, r.sampled, r.arriving = true, now, 0, 0
		}
		return 0, false
	}
	if (now-r.from)*bitScale < uint64(r.sampled)*r.bit+r.bit/2 {
		return 0, false
	}
	if level {
		r.arriving |= 1 << r.sampled
	}
	r.sampled++
	if r.sampled < 10 {
		return 0, false
	}
	r.inside = false
	return byte(r.arriving >> 1), r.arriving&1 == 0 && r.arriving>>9 == 1
}
