// Package hard is the board's end of a link without a program: the counterpart of
// rtl/link for a board with room, which moves a byte in every clock.
package hard

import (
	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/link/cobs"
	"github.com/hilgpu/hilgpu/rtl/link/hard/dlink"
	"github.com/hilgpu/hilgpu/rtl/link/linkport"
	"github.com/hilgpu/hilgpu/rtl/link/rate"
)

// Module is the framing of a byte stream and the data link and transaction layer after it.
// Its ports are those of link.Module.
//
//	In      in linkport.Byte, also one in every clock; ready, the byte for the line is
//	        taken; gpu linkport.GPU, the outputs of the GPU; reqReady, dataReady, whether
//	        its target port takes a header and a beat
//	Out     Byte, for the line, valid/ready; Target, Takes, Complete, for the GPU; LEDs;
//	        Status; Period, the clocks of a bit in 1/16, 0 without rates
//	Timing  about 160 clocks for 128 bytes of payload
//	Reset   no session: the GPU's writes are lost and its reads are aborted
//	Order   that of PCIe, see dlink.Module
//	Paths   none
//	Size    512 bytes a frame of the window, and 512
//	Faults  frames and packets that are wrong are dropped, and requests completed as
//	        unsupported; see docs/design.md "The link in RTL"
//	Source  docs/design.md "Link layers"; PCIe 3.0 §2, §3
type Module struct {
	rates bool // the rate can change

	rx   cobs.Decoder
	tx   cobs.Encoder
	link dlink.Module
	rate rate.Module
}

// Outputs are the methods of Module whose results are its outputs.
var Outputs = []string{"Byte", "Target", "Takes", "Complete", "LEDs", "Status"}

// New returns a link after reset. Without rates in r it leaves the rate alone.
func New(c dlink.Config, r rate.Config) Module {
	return Module{
		rates: len(r.Rates) > 0,
		rx:    cobs.NewDecoder(), tx: cobs.NewEncoder(dlink.MaxFrame), link: dlink.New(c), rate: rate.New(r),
	}
}

// Reset ends the session.
func (m *Module) Reset() {
	m.rx.Reset()
	m.tx.Reset()
	m.link.Reset()
	m.rate.Reset()
}

// Byte returns the byte for the line.
func (m *Module) Byte() (valid bool, data uint8) { return m.tx.Byte() }

// Target returns the inputs of the GPU's target port.
func (m *Module) Target() (req port.Request, beat port.Beat) { return m.link.Target() }

// Takes reports which outputs of the GPU are taken in this clock.
func (m *Module) Takes() (cpl, req, beat bool) { return m.link.Takes() }

// Complete returns a beat of a completion for the GPU's initiator port.
func (m *Module) Complete() port.Completion { return m.link.Complete() }

// Status returns the state of the link. A message that changes the rate is no frame to the
// data link, and is not counted as refused.
func (m *Module) Status() linkport.Status {
	s := m.link.Status()
	s.Refused = s.Refused && !m.rate.Took()
	return s
}

// Period returns the clocks of a bit, in 1/16.
func (m *Module) Period() uint32 { return m.rate.Period() }

// LEDs returns the levels of the lights: bit 0 in a session.
func (m *Module) LEDs() uint8 {
	if m.link.Status().Up {
		return 1
	}
	return 0
}

// Tick is one rising clock edge.
func (m *Module) Tick(in linkport.Byte, ready bool, gpu linkport.GPU, reqReady, dataReady bool) {
	piece, sent, takes, empty := m.rx.Piece(), m.link.Sent(), m.tx.Ready(), m.tx.Empty()
	talks, answer := false, linkport.Sent{}
	if m.rates {
		talks, answer = m.rate.Answer()
	}
	own, up := sent, m.link.Status().Up
	if talks {
		sent = answer
	}
	m.rx.Tick(in)
	m.tx.Tick(sent, ready)
	m.link.Tick(piece, takes && !talks, gpu, reqReady, dataReady, m.rate.Slow())
	if m.rates {
		m.rate.Tick(piece, up, own, takes, empty)
	}
}
