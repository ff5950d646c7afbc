// Package vsec is the registers of a link in configuration space: a vendor-specific extended
// capability between the link and the target port of a GPU.
package vsec

import (
	"github.com/hilgpu/hilgpu/rtl/abi/linkreg"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/hdl"
	"github.com/hilgpu/hilgpu/rtl/link/linkport"
)

// Config configures the registers.
//
//	Hz    clock, 1 to 2^32-1
//	UART  the line is that of a UART
//	MAC   the line is an Ethernet
//	At    of a MAC, the addresses of its station
type Config struct {
	Hz   uint32
	UART bool
	MAC  bool
	At   Station
}

// A Station is the addresses of a station, the first byte of each the most significant one.
type Station struct {
	MAC  uint64 // 48 bits
	IP   uint32
	Port uint16
}

// A Line is what a line reports: pulses of a UART, or a counter of a MAC, which is not valid
// in each clock.
//
//	Framing  a stop bit was low
//	Glitch   a level was shorter than half a bit
//	Break    the line was low for two bytes
//	Valid    Count is that of the counter that was selected in the clock before
type Line struct {
	Framing bool
	Glitch  bool
	Break   bool
	Valid   bool
	Count   uint16
}

// An Asked is the header at the GPU's target port.
//
//	Taken  the GPU takes it in this clock
type Asked struct {
	Req   port.Request
	Taken bool
}

// An Answer is a part of the GPU's completion.
//
//	Waits  the completion waits for Word
//	Word   is or-ed to both halves of the data, 0 if the GPU answers alone
type Answer struct {
	Waits bool
	Word  uint32
}

// Complete returns a completion of the GPU for the link.
func Complete(c port.Completion, a Answer) port.Completion {
	c.Data |= uint64(a.Word)<<32 | uint64(a.Word)
	if a.Waits {
		c.Status = port.CplNone
	}
	return c
}

// Module keeps the registers. The GPU answers all requests: where it has no register, a read
// is 0, and a write does nothing. To its answer to a read of linkreg.Block the module adds the
// value. So the order of requests is that of the GPU.
//
// The counters are words of a memory, which takes them in turn: the word of a clock counts
// its event, and is the answer to a read of it.
//
//	In      status linkport.Status; line Line; period, the clocks of a bit in 1/16;
//	        asked Asked
//	Out     Answer, for Complete; Select, the counter of the MAC that is read
//	Timing  the value of a register is there 2 clocks after its header was taken, that of
//	        a counter 17 clocks later, and of one of the MAC when it is valid
//	Reset   all counters are 0, 16 clocks later
//	Order   that of the GPU
//	Paths   Complete, from the GPU's completion to the link
//	Size    16 words of 16 bits
//	Faults  an event is lost if one of its kind was less than 16 clocks ago, or less than
//	        8 without a UART, or 16 after a reset
//	Source  linkreg; PCIe 3.0 §7.9, §7.19
type Module struct {
	cfg  Config
	last uint8 // word of the last counter

	ram   hdl.RAM
	turn  uint8  `w:"4"` // the counter that was read
	ready bool   // the counters are cleared
	due   uint16 // bit i: counter i has an event

	mine  bool  // the present read is of a register here
	at    uint8 `w:"5"` // its dword
	asked bool  // its counter of the MAC was selected in the last clock
	have  bool  // word is valid
	word  uint32
}

// Outputs are the methods of Module whose results are its outputs.
var Outputs = []string{"Answer", "Select"}

// numCounters is the number of words for counters, those of a UART in the upper half.
const numCounters = 16

// New returns the registers after reset.
func New(c Config) Module {
	m := Module{cfg: c, last: numCounters/2 - 1, ram: hdl.NewNarrowRAM(numCounters, 16)}
	if c.UART {
		m.last = numCounters - 1
	}
	m.Reset()
	return m
}

// Reset clears the counters.
func (m *Module) Reset() {
	m.turn, m.ready, m.due = 0, false, 0
	m.mine, m.at, m.asked, m.have, m.word = false, 0, false, false, 0
}

// Answer returns what is added to the GPU's completion.
func (m *Module) Answer() Answer { return Answer{Waits: m.mine && !m.have, Word: m.word} }

// Select returns the counter of the MAC that is read.
func (m *Module) Select() uint8 { return m.at & 7 }

// Tick is one rising clock edge.
func (m *Module) Tick(status linkport.Status, line Line, period uint16, asked Asked) {
	counter := uint16(m.ram.Out())
	if !m.have {
		m.answer(status, line, period, counter)
	}
	m.count(counter, events(status, line))
	if asked.Taken && asked.Req.Kind != port.None {
		m.mine = asked.Req.Kind == port.CfgRead && asked.Req.Addr>>7&31 == linkreg.Base>>7
		m.at, m.asked, m.have, m.word = uint8(asked.Req.Addr>>2)&31, false, !m.mine, 0
	}
}

// count counts the event of the counter whose turn it is, and reads the next one.
func (m *Module) count(counter, events uint16) {
	turn, next := m.turn, (m.turn+1)&m.last
	what, enable := uint16(0), uint8(0)
	if m.ready {
		what = counter + 1
	}
	if !m.ready || m.due>>turn&1 != 0 {
		enable = 3
	}
	m.ram.Tick(true, uint32(next), enable, uint32(turn), uint64(what))
	m.due = m.due&^(1<<turn) | events
	m.ready = m.ready || turn == m.last
	m.turn = next & (numCounters - 1)
}

// answer takes the value of a register. counter is that of the turn.
func (m *Module) answer(status linkport.Status, line Line, period, counter uint16) {
	asked, place := m.asked, m.at>>3
	mac, link, uart := place == linkreg.MAC>>5, place == linkreg.Counters>>5, place == linkreg.UART>>5
	m.asked = true
	m.have = true
	m.word = m.fixed(status, period)
	if link || uart && m.cfg.UART {
		m.have = m.ready && m.turn == m.at&m.last
		m.word = uint32(counter)
	}
	if mac && m.cfg.MAC {
		m.have = asked && line.Valid
		m.word = uint32(line.Count)
	}
}

// fixed returns a register that is no counter.
func (m *Module) fixed(status linkport.Status, period uint16) uint32 {
	switch m.at {
	case linkreg.Header >> 2:
		return linkreg.HeaderValue
	case linkreg.VSEC >> 2:
		return linkreg.VSECValue
	case linkreg.State >> 2:
		return bit(status.Up, 0) | uint32(status.Cause)<<4 | bit(m.cfg.UART, 8) | bit(m.cfg.MAC, 9)
	case linkreg.Rate >> 2:
		return uint32(period)
	case linkreg.Clock >> 2:
		return m.cfg.Hz
	case linkreg.Station >> 2:
		return uint32(m.cfg.At.Port)<<16 | uint32(m.cfg.At.MAC>>32)&linkreg.StationMAC
	case linkreg.MACLow >> 2:
		return uint32(m.cfg.At.MAC)
	case linkreg.IP >> 2:
		return m.cfg.At.IP
	default:
		return 0
	}
}

// events returns the events of a clock, a bit for each counter.
func events(s linkport.Status, l Line) uint16 {
	return uint16(bit(s.Began, linkreg.Sessions) | bit(s.Received, linkreg.Received) | bit(s.Refused, linkreg.Refused) |
		bit(s.Repeated, linkreg.Repeated) | bit(s.Nak, linkreg.Naks) | bit(s.Packet, linkreg.Packets) |
		bit(l.Framing, uart+linkreg.Framing) | bit(l.Glitch, uart+linkreg.Glitches) | bit(l.Break, uart+linkreg.Breaks))
}

// uart is the place of the first counter of the UART.
const uart = (linkreg.UART - linkreg.Counters) >> 2

// bit returns a word with a bit.
func bit(b bool, i uint8) uint32 {
	if b {
		return 1 << (i & 31)
	}
	return 0
}
