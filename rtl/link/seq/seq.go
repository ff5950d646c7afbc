// Package seq is the control of the board's end of a link: a small processor that
// runs the data link and the transaction layer between frames and the two ports of
// the GPU.
package seq

import (
	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/hdl"
)

// Rx is the input from the receiver of frames.
//
//	There    a frame is in the receive buffer
//	Other    another frame is, after it
//	Data     the byte that was read last
//	Damaged  a frame was dropped in this clock
type Rx struct {
	There   bool
	Other   bool
	Data    uint8
	Damaged bool
}

// Tx is a byte of a frame for the transmitter.
//
//	Valid  there is a byte
//	Last   it is the last one of its frame, before the check
type Tx struct {
	Valid bool
	Last  bool
	Data  uint8
}

// maxDepth is the number of calls that nest.
const maxDepth = 5

// memoryBytes is the size of the memory for state and frames in flight.
const memoryBytes = 512

// Ports of the program, as operands of instructions that read, and of st.
const (
	inRx     = 0 // byte of the received frame at the read position, which moves on
	inX      = 1 // low byte of x, which shifts right by 8
	inLen    = 2 // length of the initiator's header, dwords 5..0; its beat is the last 7
	inTag    = 3 // tag of the initiator's header
	inStatus = 4 // status of the target's completion 1..0, its last beat 7
	inEnable = 5 // enables of the initiator's beat
	inClock  = 6 // clock counter 7..0
	inAt     = 7 // the read position in the received frame

	outRx       = 0  // read position in the received frame
	outX        = 1  // high byte of x, after a shift right by 8
	outTx       = 2  // byte of a frame
	outTxLast   = 3  // last byte of a frame
	outKind     = 4  // kind of the target's header, offered with x as address
	outLen      = 5  // its length, dwords
	outBeat     = 6  // enables of the target's beat, offered with x as data
	outBeatLast = 7  // the same for the last beat
	outCpl      = 8  // status of the initiator's completion 1..0, last beat 7; x is its data
	outTag      = 9  // its tag
	outTake     = 10 // takes the target's completion 0, the initiator's header 1, its beat 2; x gets address or data
	outWord     = 11 // high byte of the word of the check, after a shift right by 8
	outRelease  = 12 // frees the received frame
	outLEDs     = 13 // levels that the board's top shows
	outOther    = 14 // 1: reads are of the frame after the oldest one
)

// Module runs its program from a ROM: the parent gives it, assembled by package asm.
// An instruction takes two clocks, more if the transmitter is not ready for its byte.
//
//	In      rx Rx, the receive buffer, read with a latency of a clock; txReady and
//	        room, whether a byte is taken, and whether a new frame may begin; cpl,
//	        reqReady, dataReady, the target port of the GPU; req, beat, its
//	        initiator port
//	Out     Fetch, Release, for the receiver; Send, Word, for the transmitter;
//	        Target, Takes, Complete, for the two ports of the GPU; LEDs
//	Timing  two clocks an instruction; a header, beat or byte that was offered stays
//	        until it is taken
//	Reset   the program begins at its first instruction; the memory keeps its bytes
//	Order   as the program does
//	Paths   none
//	Size    the program, 512 bytes, and 250 bits
//	Faults  none: the program refuses and counts what is wrong with a frame
//	Source  docs/design.md "The link in RTL"
type Module struct {
	tickClocks uint32 // clocks of a tick

	rom hdl.ROM
	mem hdl.RAM

	begun  bool   // the first instruction was fetched
	pc     uint16 `w:"11"` // of the next instruction
	second bool   // the second clock of an instruction
	a      uint8
	zero   bool
	carry  bool
	p      uint16 `w:"9"` // pointer into the memory
	ret0   uint16 `w:"11"`
	ret1   uint16 `w:"11"`
	ret2   uint16 `w:"11"`
	ret3   uint16 `w:"11"`
	ret4   uint16 `w:"11"`

	rxAt    uint8 // read position in the received frame
	later   bool  // reads are of the frame after the oldest one
	release bool
	damaged bool // a frame was dropped since the last test

	tx   Tx
	word uint32 // exclusive or the check of a frame

	x       uint64 // data or address at the ports
	kind    port.Kind
	length  uint8 `w:"6"`
	beat    port.Beat
	status  port.Status `w:"2"` // of the initiator's completion, for one clock
	last    bool
	tag     uint8
	take    uint8  `w:"3"`
	clocks  uint32 `w:"20"` // until the next tick
	counter uint8
	tick    bool
	leds    uint8
}

// New returns a sequencer after reset. program has the instructions, at most 2048. A
// tick, the unit of time of the program, is tickClocks clocks, 1 to 2^20.
func New(program []uint64, tickClocks uint32) Module {
	hdl.Assert(tickClocks >= 1 && tickClocks <= 1<<20, "seq: a tick of 0 clocks or more than 2^20")
	return Module{tickClocks: tickClocks, rom: hdl.NewROM(16, program), mem: hdl.NewNarrowRAM(memoryBytes, 8)}
}

// Reset restarts the program.
func (m *Module) Reset() {
	m.pc, m.second, m.a, m.zero, m.carry, m.p = 0, false, 0, false, false, 0
	m.ret0, m.ret1, m.ret2, m.ret3, m.ret4 = 0, 0, 0, 0, 0
	m.rxAt, m.later, m.release, m.damaged = 0, false, false, false
	m.tx, m.word = Tx{}, 0
	m.x, m.kind, m.length, m.beat = 0, port.None, 0, port.Beat{}
	m.status, m.last, m.tag, m.take = port.CplNone, false, 0, 0
	m.clocks, m.counter, m.tick, m.leds = 0, 0, false, 0
	m.begun = false
}
