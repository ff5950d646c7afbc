// Package seq is the control of the board's end of a link: a small processor that
// runs the data link and the transaction layer between frames and the two ports of
// the GPU.
package seq

import "github.com/hilgpu/hilgpu/rtl/hdl"

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
const maxDepth = 4

// romWords is the size of the memory for the program.
const romWords = 2048

// memoryBytes is the size of the memory for state and frames in flight.
const memoryBytes = 512

// Ports of the program, as operands of instructions that read, and of st. The two low
// bits of those that write x select its source.
const (
	inX      = 0 // low byte of x, which shifts right by 8
	inRx     = 1 // byte of the received frame at the read position, which moves on
	inLen    = 2 // length of the initiator's header, dwords 5..0; its beat is the last 7
	inTag    = 3 // tag of the initiator's header 5..0, status of the target's completion 7..6
	inHalf   = 4 // a, shifted right by 1, into the carry
	inEnable = 5 // enables of the initiator's beat
	inClock  = 6 // clock counter 7..0
	inAt     = 7 // the read position in the received frame

	outX        = 0  // high byte of x, after a shift right by 8; the word of the check is x 63..32
	outTakeCpl  = 1  // takes the target's completion, and x its data
	outTakeReq  = 2  // takes the initiator's header, and x its address
	outTakeBeat = 3  // takes the initiator's beat, and x its data
	outTx       = 4  // byte of a frame
	outTxLast   = 5  // last byte of a frame
	outBeat     = 6  // the target's beat: its enables, with x as data
	outBeatLast = 7  // the same for the last beat
	outKind     = 8  // the target's header: its kind, with x as address
	outArg      = 9  // length of the target's header, dwords, or tag of the initiator's completion
	outCpl      = 10 // status of the initiator's completion 1..0, last beat 7; x is its data
	outRelease  = 11 // frees the received frame
	outOther    = 12 // 1: reads are of the frame after the oldest one
	outRx       = 13 // read position in the received frame
	outState    = 14 // state of the link: bit 7 a session, 5..3 its rate, 2..0 cause of the end of the last one
	outEvent    = 15 // events of the link, a bit for each, see Status
)

// Module runs its program from a ROM: the parent gives it, assembled by package asm.
// An instruction takes a clock. One that offers a byte, a header or a beat waits until
// that is taken. Jumps, and what moves the pointer, are done a clock earlier, when the
// operand is read. So a jump tests the port of the GPU as it is while the instruction
// before it takes something.
//
//	In      rx Rx, the receive buffer, read with a latency of a clock; ready Ready,
//	        what is taken, and whether a new frame may begin; gpu linkport.GPU, the outputs of
//	        the GPU
//	Out     Fetch, Release, for the receiver; Send, for the transmitter; Target, Takes,
//	        Complete, for the two ports of the GPU; Status
//	Timing  a clock an instruction; the word of a frame's check stays until the
//	        program writes x again
//	Reset   the program begins at its first instruction; the memory keeps its bytes
//	Order   as the program does
//	Paths   none
//	Size    the program, 512 bytes, and 199 bits
//	Faults  none: the program refuses and counts what is wrong with a frame
//	Source  docs/design.md "The link in RTL"
type Module struct {
	tickClocks uint32 // clocks of a tick

	rom hdl.ROM
	mem hdl.RAM

	begun bool   // the first instruction was fetched
	pc    uint16 `w:"11"` // of the instruction after the fetched one
	in    uint16 // the instruction in execution, with the address of its byte; a jump does nothing there
	same  bool   // its byte is the one that the instruction before it wrote
	a     uint8
	zero  bool
	carry bool
	p     uint16 `w:"9"` // pointer into the memory
	ret0  uint16 `w:"11"`
	ret1  uint16 `w:"11"`
	ret2  uint16 `w:"11"`
	ret3  uint16 `w:"11"`

	rxAt    uint8 // read position in the received frame
	later   bool  // reads are of the frame after the oldest one
	damaged bool  // a frame was dropped since the last test

	x      uint64 // data or address at the ports
	arg    uint8  // length or tag at the ports
	clocks uint16 // until the next tick, less 2^16
	tick   bool
	state  uint8 // of the link, see outState
}

// New returns a sequencer after reset. program has the instructions, at most 2048. A
// tick, the unit of time of the program, is tickClocks clocks, 1 to 2^16.
func New(program []uint64, tickClocks uint32) Module {
	hdl.Assert(tickClocks >= 1 && tickClocks <= 1<<16, "seq: a tick of 0 clocks or more than 2^16")
	hdl.Assert(len(program) <= romWords, "seq: a program of more than 2048 instructions")
	words := make([]uint64, romWords) // a multiplexer would follow the block RAMs of a shorter one
	copy(words, program)
	m := Module{tickClocks: tickClocks, rom: hdl.NewROM(16, words), mem: hdl.NewNarrowRAM(memoryBytes, 8)}
	m.Reset()
	return m
}

// Reset restarts the program.
func (m *Module) Reset() {
	m.pc, m.in, m.same = 0, 1<<15, false
	m.a, m.zero, m.carry, m.p = 0, false, false, 0
	m.ret0, m.ret1, m.ret2, m.ret3 = 0, 0, 0, 0
	m.rxAt, m.later, m.damaged = 0, false, false
	m.x, m.arg = 0, 0
	m.clocks, m.tick, m.state = 0xffff, false, 0
	m.begun = false
}
