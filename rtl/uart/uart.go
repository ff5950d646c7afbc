// Package uart is a receiver and a transmitter of bytes on an asynchronous serial line.
package uart

// The shortest and the longest period of a bit, in 1/16 clocks.
const (
	MinPeriod = 8 * 16
	MaxPeriod = 1<<16 - 1
)

// Module is a UART: a start bit, eight data bits with the lowest first, no parity, a stop
// bit. The line is high while it is idle.
//
//	In      line, the received level, of any phase; period, the clocks of a bit in 1/16,
//	        MinPeriod to MaxPeriod; tx and data, a byte for the transmitter, valid/ready,
//	        ready is Ready
//	Out     Received, a pulse with each good byte; Errors and Noise, pulses; Ready;
//	        Line, the transmitted level
//	Timing  a byte is received 2 to 5 clocks after the middle of its stop bit. Bytes of
//	        the transmitter follow each other without a gap if tx stays set; the average
//	        of their bits is exactly a period. The period may change in any clock. It is
//	        taken while the receiver is idle and the transmitter is idle or in a stop
//	        bit, and applies to bytes that begin two clocks later: no byte has two
//	        periods
//	Reset   idle, the line high; Ready from the second clock on
//	Order   as received
//	Paths   none
//	Size    100 bits
//	Faults  a start bit that is high in its middle begins no byte; Errors
//	Source  ITU-T V.4, start-stop characters
//
// A bit is the majority of three samples around its middle, counted from the start edge.
// From 8 clocks a bit, a line whose rate is off by 2 % and whose edges are late by up to a
// clock is received.
type Module struct {
	meta bool // the line, not yet settled
	now  bool // the line, and as it was one and two clocks before
	ago1 bool
	ago2 bool

	count uint16 // period, less countClocks

	rx       timer
	active   bool   // inside a byte
	start    bool   // in its start bit, or idle
	shift    uint16 `w:"9"` // bits so far, above a 1 that is the lowest bit before the stop bit
	any      bool   // a data bit was high
	received bool
	framing  bool
	broke    bool
	noise    noise

	tx  timer
	out uint16 `w:"10"` // bits to send, the lowest is on the line; then the stop bit, then zeros
}

const (
	emptyShift = 1 << 8 // before the first data bit
	idleOut    = 1      // the stop bit is on the line
	firstPart  = 4      // of a byte: rounds the middles of its bits down a little, see the package's tests
)

// New returns a UART after reset.
func New() Module {
	var m Module
	m.Reset()
	return m
}

// Received returns a byte, for one clock.
func (m *Module) Received() (valid bool, data uint8) { return m.received, uint8(m.shift >> 1) }

// Errors reports for one clock that a stop bit was low, so a byte is lost: framing. In a
// break, broke is also set: all bits were low. The receiver then waits for a high line.
func (m *Module) Errors() (framing, broke bool) { return m.framing, m.broke }

// Noise reports for one clock that a level has ended that was shorter than half a bit:
// glitch; or that the line has been low for two bytes: low.
func (m *Module) Noise() (glitch, low bool) { return m.noise.glitch, m.noise.long }

// Ready reports whether the transmitter takes a byte in this clock.
func (m *Module) Ready() bool { return m.tx.ends() && m.stopping() }

// Line returns the transmitted level.
func (m *Module) Line() bool { return m.out&1 != 0 }

// stopping reports whether the stop bit is on the line, or the transmitter is idle.
func (m *Module) stopping() bool { return m.out>>1 == 0 }

// Reset sets the registers.
func (m *Module) Reset() {
	*m = Module{
		meta: true, now: true, ago1: true, ago2: true,
		start: true, shift: emptyShift,
		tx: timer{run: true}, out: idleOut,
	}
}

// Tick is one rising clock edge.
func (m *Module) Tick(line bool, period uint32, tx bool, data uint8) {
	quiet := !m.active && m.stopping()
	m.noise.tick(uint16(period&MaxPeriod), m.now != m.ago1, m.broke)
	m.receive()
	m.meta, m.now, m.ago1, m.ago2 = line, m.meta, m.now, m.ago1
	m.transmit(tx, data)
	if quiet {
		m.count = uint16(period&MaxPeriod) - countClocks
	}
}

// receive advances the receiver.
func (m *Module) receive() {
	level := m.now && m.ago1 || m.now && m.ago2 || m.ago1 && m.ago2
	edge := m.ago1 && !m.now
	middle := m.active && m.rx.ends()
	stop := middle && !m.start && m.shift&1 != 0
	begin := edge
	if m.active && m.start {
		begin = !level
	} else if m.active && m.shift&1 == 0 {
		begin = true
	}
	fresh := m.start && (m.rx.run || !m.active)
	idle := !m.active
	m.rx.tick(m.count, begin, m.start)
	if fresh {
		m.rx.part, m.rx.extra = firstPart, false
	}

	m.received, m.framing, m.broke = stop && level, stop && !level, stop && !level && !m.any
	if m.start {
		m.shift, m.any = emptyShift, false
	} else if middle && !stop {
		m.shift = m.shift >> 1
		if level {
			m.shift, m.any = m.shift|emptyShift, true
		}
	}
	if idle || middle {
		m.active = begin
		m.start = idle || stop || !begin
	}
}

// transmit advances the transmitter.
func (m *Module) transmit(tx bool, data uint8) {
	ready, stopping := m.Ready(), m.stopping()
	ends := m.tx.ends()
	m.tx.tick(m.count, !stopping || tx, false)
	if ready && tx {
		m.out = uint16(data)<<1 | 1<<9
	} else if ends && !stopping {
		m.out >>= 1
	}
}
