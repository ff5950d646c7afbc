package seq

import "github.com/hilgpu/hilgpu/rtl/abi/port"

// Fetch returns a read of the receive buffer: the position in the oldest frame, or
// in the one after it.
func (m *Module) Fetch() (read bool, at uint8, other bool) {
	in := uint16(m.rom.Out())
	return m.begun && !m.second && takes(in, inRx), m.rxAt, m.later
}

// Release reports whether the oldest received frame is freed in this clock.
func (m *Module) Release() bool { return m.release }

// Send returns a byte for the transmitter, and the word of its frame's check.
func (m *Module) Send() (tx Tx, word uint32) { return m.tx, m.word }

// Target returns the inputs of the GPU's target port: a header, or a beat of a write
// whose header was taken.
func (m *Module) Target() (req port.Request, beat port.Beat) {
	beat = m.beat
	beat.Data = m.x
	return port.Request{Kind: m.kind, Len: m.length, Addr: m.x}, beat
}

// Takes returns the outputs of the GPU that are taken in this clock.
func (m *Module) Takes() (cpl, req, beat bool) {
	return m.take&takeCpl != 0, m.take&takeReq != 0, m.take&takeBeat != 0
}

// Complete returns a beat of a completion for the GPU's initiator port.
func (m *Module) Complete() port.Completion {
	return port.Completion{Tag: m.tag, Status: m.status, Last: m.last, Data: m.x}
}

// LEDs returns the levels that the program shows.
func (m *Module) LEDs() uint8 { return m.leds }
