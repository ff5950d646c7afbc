// Package link is the board's end of a link: between a stream of bytes and the two ports
// of a GPU. It is the counterpart of bus/channel, bus/datalink and bus/endpoint.
package link

import (
	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/link/deframe"
	"github.com/hilgpu/hilgpu/rtl/link/enframe"
	"github.com/hilgpu/hilgpu/rtl/link/linkport"
	"github.com/hilgpu/hilgpu/rtl/link/seq"
)

// maxFrame is the size of the largest frame of a host, in bytes: the largest packet, with
// header, acknowledgement and check.
const maxFrame = seq.MaxPacket + 8

// Module is the data link and the transaction layer between a byte stream and a GPU.
//
//	In      in linkport.Byte, at most one in 2 clocks; ready, the byte for the line is taken;
//	        gpu linkport.GPU, the outputs of the GPU; reqReady, dataReady, whether its
//	        target port takes a header and a beat
//	Out     Byte, for the line, valid/ready; Target, Takes, Complete, for the GPU;
//	        LEDs; Status; Rate, for the parent that clocks the line
//	Timing  that of the program: up to 300 clocks from the first byte of a register read to the
//	        last byte of its answer, at a byte in 2 clocks
//	Reset   no session: the GPU's writes are lost and its reads are aborted
//	Order   that of PCIe: completions do not pass the writes that the GPU offered before
//	        them, and the packets of each direction stay in order
//	Paths   none
//	Size    a program of up to 2048 instructions, and 1536 bytes
//	Faults  frames and packets that are wrong are dropped, and requests completed as
//	        unsupported; see docs/design.md "The link in RTL"
//	Source  docs/design.md "Link layers"; PCIe 3.0 §2, §3
type Module struct {
	rx  deframe.Module
	tx  enframe.Module
	seq seq.Module
}

// Outputs are the methods of Module whose results are its outputs.
var Outputs = []string{"Byte", "Target", "Takes", "Complete", "LEDs", "Status", "Rate"}

// New returns a link after reset. program has the instructions of the sequencer; a tick
// is tickClocks clocks.
func New(program []uint64, tickClocks uint32) Module {
	return Module{rx: deframe.New(maxFrame), tx: enframe.New(enframe.MaxFrame), seq: seq.New(program, tickClocks)}
}

// Reset ends the session.
func (m *Module) Reset() {
	m.rx.Reset()
	m.tx.Reset()
	m.seq.Reset()
}

// Byte returns the byte for the line.
func (m *Module) Byte() (valid bool, data uint8) { return m.tx.Byte() }

// Target returns the inputs of the GPU's target port.
func (m *Module) Target() (req port.Request, beat port.Beat) { return m.seq.Target() }

// Takes reports which outputs of the GPU are taken in this clock.
func (m *Module) Takes() (cpl, req, beat bool) { return m.seq.Takes() }

// Complete returns a beat of a completion for the GPU's initiator port.
func (m *Module) Complete() port.Completion { return m.seq.Complete() }

// Status returns the state of the link. The program counts frames; pieces of the line that
// are none, and frames without room, it does not see.
func (m *Module) Status() linkport.Status {
	s := m.seq.Status()
	s.Refused = s.Refused || m.rx.Damaged() || m.rx.Overflow()
	return s
}

// Rate returns the number of the rate of the line, see seq.Rates.
func (m *Module) Rate() uint8 { return m.seq.Rate() }

// LEDs returns the levels of the lights: bit 0 in a session.
func (m *Module) LEDs() uint8 {
	if m.seq.Status().Up {
		return 1
	}
	return 0
}

// Tick is one rising clock edge.
func (m *Module) Tick(in linkport.Byte, ready bool, gpu linkport.GPU, reqReady, dataReady bool) {
	there, half := m.rx.Frame()
	rx := seq.Rx{There: there, Other: m.rx.Other(), Data: m.rx.Data(), Damaged: m.rx.Damaged()}
	read, at, later := m.seq.Fetch()
	release := m.seq.Release()
	tx, word := m.seq.Send()
	taken := seq.Ready{Tx: m.tx.Ready(), Room: m.tx.Room(), Empty: m.tx.Empty(), Req: reqReady, Beat: dataReady}
	from := uint32(half)<<8 | uint32(at)
	if later {
		from ^= 1 << 8
	}
	m.rx.Tick(in.Valid, in.Data, in.Broken, read, from, release, later)
	m.tx.Tick(tx.Valid, tx.Data, tx.Last, word, ready)
	m.seq.Tick(rx, taken, gpu)
}
