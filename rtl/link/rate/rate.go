// Package rate changes the rate of a board's UART when the host asks for it.
package rate

import (
	"github.com/hilgpu/hilgpu/rtl/crc32"
	"github.com/hilgpu/hilgpu/rtl/hdl"
	"github.com/hilgpu/hilgpu/rtl/link/linkport"
)

// MaxRates is the largest number of rates.
const MaxRates = 16

// TicksPerSecond is the number of ticks in a second, the unit of the times of a Module.
const TicksPerSecond = 10_000

// Times, in ticks.
const (
	fallBack = 4 * TicksPerSecond / 10 // silence at a new rate before the board returns
	keepFor  = TicksPerSecond          // wait for a session before the board returns
	linger   = TicksPerSecond / 50     // after a session, for the last frames of the link
)

// Config configures a Module. Without rates the period is always 0, and a framing for
// another line than a UART needs none.
//
//	Hz     clocks per second, TicksPerSecond to 2^12 times that
//	Rates  bits per second, at most MaxRates; the first one is that after a reset. The
//	       shortest has at least 8 clocks a bit, the longest fewer than 4096
type Config struct {
	Hz    uint32
	Rates []uint32
}

// Period returns the clocks of a bit at a rate, in 1/16, rounded.
func (c Config) Period(rate uint32) uint32 {
	return uint32((16*uint64(c.Hz) + uint64(rate)/2) / uint64(rate))
}

// A stage of the exchange of a request and its answer.
type stage uint8

const (
	stageListen stage = iota // waits for a request
	stageFetch               // reads a byte of it
	stageOffer               // has a byte of the answer for the framing
	stageTurn                // waits until the answer is on the line
)

// Kinds of messages. An answer follows its request, Yes is the answer of ask and No the one
// after it.
const (
	kindAsk  = 0
	kindYes  = 1
	kindNo   = 2
	kindEcho = 3
	kindKeep = 5
)

// Sizes and places in a message, in bytes. A pattern is between head and check.
const (
	headBytes  = 7 // "BR", the kind, the rate
	checkBytes = 4
	maxBytes   = headBytes + 64 + checkBytes
	kindPlace  = 2
)

// Module answers the messages with which a host raises the rate, between a framing and the
// data link.
//
//	In      in linkport.Piece, also seen by the data link; up, a session is up; link, the
//	        byte of the data link for the framing; takes, the framing takes a byte; empty,
//	        no byte is in it
//	Out     Period; Slow; Answer; Took
//	Timing  a message with less than 40 clocks between its bytes is not answered
//	Reset   the first rate, no message
//	Order   an answer is sent between frames of the data link
//	Paths   none
//	Size    128 bytes, and the table of rates
//	Faults  a message whose check is wrong is ignored; so is each in a session, and each
//	        that arrives during an answer
//	Source  bus/serial, RaiseBaud and AnswerBaud; docs/design.md "The link in RTL", Rates
//
// At a new rate without a valid message, or without a session after the host has kept the
// rate, the board returns to the first rate. So it does after a session.
type Module struct {
	rates      uint8  // number of rates
	basePeriod uint32 // at the first rate
	tickClocks uint16

	table hdl.ROM // a rate, and in its low 16 bits the period
	ram   hdl.RAM // the request

	period uint16 // at another rate than the first one
	at     uint8  `w:"4"`  // the rate, as its place in the table
	left   uint16 `w:"14"` // ticks until the return to the first rate
	clocks uint16 `w:"12"` // until the next tick

	stage   stage
	n       uint8 `w:"7"` // bytes of the request so far, at most maxBytes+1
	spoiled bool  // it is no request
	kind    uint8 `w:"3"`
	last    uint32
	crc     uint32

	scans bool  // the table is read
	index uint8 `w:"4"` // the place that was read
	fresh bool  // the table shows it
	found bool  // it is that of the rate of the request

	answer uint8 `w:"3"` // kind of the answer
	place  uint8 `w:"7"` // byte of it that is sent
	turns  bool  // the rate changes after the answer
	inside bool  // a frame of the data link is in work
	took   uint8 `w:"3"` // clocks in which a message has just arrived
}

// New returns a module after reset. It panics if a rate is out of range.
func New(c Config) Module {
	var words []uint64
	for _, r := range c.Rates {
		p := c.Period(r)
		hdl.Assert(p >= 8*16 && p < 1<<16, "rate: fewer than 8 or more than 4095 clocks a bit")
		words = append(words, uint64(r)<<16|uint64(p))
	}
	hdl.Assert(len(words) <= MaxRates, "rate: too many rates")
	m := Module{rates: uint8(len(words)), ram: hdl.NewNarrowRAM(128, 8)}
	m.table = hdl.NewROM(48, append(words, make([]uint64, MaxRates-len(words))...))
	if len(c.Rates) > 0 {
		m.basePeriod, m.tickClocks = c.Period(c.Rates[0]), uint16(c.Hz/TicksPerSecond)
		hdl.Assert(m.tickClocks > 0 && m.tickClocks <= 1<<12, "rate: a clock out of range")
	}
	m.Reset()
	return m
}

// Reset returns to the first rate.
func (m *Module) Reset() {
	m.period, m.at, m.left, m.clocks = 0, 0, 0, 0
	m.stage, m.n, m.spoiled, m.kind, m.last, m.crc = stageListen, 0, false, 0, 0, crc32.Init
	m.scans, m.index, m.fresh, m.found = false, 0, false, false
	m.answer, m.place, m.turns, m.inside, m.took = 0, 0, false, false, 0
}

// Period returns the clocks of a bit, in 1/16.
func (m *Module) Period() uint32 {
	if m.at == 0 {
		return m.basePeriod
	}
	return uint32(m.period)
}

// Took reports for a few clocks that the last frame was a message.
func (m *Module) Took() bool { return m.took != 0 }

// Slow returns the ticks of the data link by which its times are longer at this rate: one
// for 16 clocks of a bit.
func (m *Module) Slow() uint8 { return uint8(m.Period() >> 8) }

// Answer reports whether the framing belongs to an answer, and returns its byte.
func (m *Module) Answer() (talks bool, sent linkport.Sent) {
	body := m.n - checkBytes
	s := linkport.Sent{Valid: m.stage == stageOffer, Last: m.place == m.n-1, Data: uint8(m.ram.Out())}
	if m.place == kindPlace {
		s.Data = m.answer
	} else if m.place >= body {
		s.Data = uint8(^m.crc >> 24)
	}
	return m.stage == stageFetch || m.stage == stageOffer, s
}

// Tick is one rising clock edge.
func (m *Module) Tick(in linkport.Piece, up bool, link linkport.Sent, takes, empty bool) {
	listens := m.stage == stageListen && !up
	_, sent := m.Answer()
	m.memory(in, listens)
	m.passTime(up)
	if m.stage == stageListen && link.Valid && takes {
		m.inside = !link.Last
	}
	switch m.stage {
	case stageFetch:
		m.stage = stageOffer
	case stageOffer:
		if takes {
			m.send(sent)
		}
	case stageTurn:
		if empty {
			m.turn()
		}
	default:
		if m.at != 0 && m.left == 0 && empty {
			m.at = 0
		}
	}
	if m.took != 0 {
		m.took = (m.took - 1) & 7
	}
	m.scan()
	m.collect(in, listens)
}
