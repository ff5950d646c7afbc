package seq

import (
	"github.com/hilgpu/hilgpu/rtl/abi/linkreg"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/link/linkport"
)

// Fetch returns a read of the receive buffer: the position in the oldest frame, or
// in the one after it.
func (m *Module) Fetch() (read bool, at uint8, other bool) {
	return m.begun && takes(m.fetched(), inRx), m.position(), m.later
}

// fetched returns the instruction after the one in execution.
func (m *Module) fetched() uint16 { return uint16(m.rom.Out()) }

// writes reports whether the instruction in execution writes the port.
func (m *Module) writes(to uint16) bool { return outputs(m.in) && m.in&15 == to }

// position returns the read position in the received frame after the instruction in execution.
func (m *Module) position() uint8 {
	if m.writes(outRx) {
		return m.a
	}
	return m.rxAt
}

// Release reports whether the oldest received frame is freed in this clock.
func (m *Module) Release() bool { return m.writes(outRelease) }

// Send returns a byte for the transmitter, and the word of its frame's check.
func (m *Module) Send() (tx Tx, word uint32) {
	last := m.writes(outTxLast)
	return Tx{Valid: last || m.writes(outTx), Last: last, Data: m.a}, uint32(m.x >> 32)
}

// Target returns the inputs of the GPU's target port: a header, or a beat of a write
// whose header was taken.
func (m *Module) Target() (req port.Request, beat port.Beat) {
	kind := port.None
	if m.writes(outKind) {
		kind = port.Kind(m.a & 7)
	}
	last := m.writes(outBeatLast)
	beat = port.Beat{Valid: last || m.writes(outBeat), Last: last, Enable: m.a, Data: m.x}
	return port.Request{Kind: kind, Len: m.arg & 0x3f, Addr: m.x}, beat
}

// Takes returns the outputs of the GPU that are taken in this clock.
func (m *Module) Takes() (cpl, req, beat bool) {
	return m.writes(outTakeCpl), m.writes(outTakeReq), m.writes(outTakeBeat)
}

// Complete returns a beat of a completion for the GPU's initiator port.
func (m *Module) Complete() port.Completion {
	status := port.CplNone
	if m.writes(outCpl) {
		status = port.Status(m.a & 3)
	}
	return port.Completion{Tag: m.arg, Status: status, Last: m.a>>7 != 0, Data: m.x}
}

// Rate returns the number of the rate of the line, see Rates.
func (m *Module) Rate() uint8 { return m.state >> 3 & 7 }

// Status returns the state of the link, and the events that the program reports in this
// clock.
func (m *Module) Status() linkport.Status {
	s := linkport.Status{Up: m.state>>7 != 0, Cause: linkport.Cause(m.state & 7)}
	if m.writes(outEvent) {
		s.Began = m.a>>linkreg.Sessions&1 != 0
		s.Received = m.a>>linkreg.Received&1 != 0
		s.Refused = m.a>>linkreg.Refused&1 != 0
		s.Repeated = m.a>>linkreg.Repeated&1 != 0
		s.Nak = m.a>>linkreg.Naks&1 != 0
		s.Packet = m.a>>linkreg.Packets&1 != 0
	}
	return s
}
