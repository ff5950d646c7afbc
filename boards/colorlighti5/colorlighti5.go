package colorlighti5

import (
	"encoding/binary"

	"github.com/hilgpu/hilgpu/rtl/abi/regmap"
	"github.com/hilgpu/hilgpu/rtl/eth"
	"github.com/hilgpu/hilgpu/rtl/eth/ip"
	"github.com/hilgpu/hilgpu/rtl/eth/mac"
	"github.com/hilgpu/hilgpu/rtl/gpu"
	"github.com/hilgpu/hilgpu/rtl/link/datagram"
	"github.com/hilgpu/hilgpu/rtl/link/hard/dlink"
	"github.com/hilgpu/hilgpu/rtl/link/linkport"
	"github.com/hilgpu/hilgpu/rtl/link/vsec"
)

// Name is the name of the board.
const Name = "colorlight-i5"

// Hz is the clock of the board, which is that of the design.
const Hz = 25_000_000

// VRAMBytes is the size of VRAM.
const VRAMBytes = 32 << 10

// Address returns the addresses of the board: those that the build has if nothing else is
// said.
func Address() ip.Params {
	return ip.Params{MAC: [6]byte{0x02, 'h', 'i', 'l', 0, 5}, IP: [4]byte{10, 0, 0, 5}, Port: 4000, EtherType: 0x88b5}
}

// Module is the top of the board, below the shell that makes its reset and has the PHY.
//
//	In      rx, what the PHY has received; ready, the symbol for the PHY is taken
//	Out     Symbol, for the PHY, valid/ready; LEDs
//	Timing  Hz clocks a second, a byte in a clock each way
//	Reset   that of the GPU, the link and the station; the memories keep their words
//	Order   as the link and the GPU
//	Paths   none
//	Size    44 block RAMs
//	Faults  as the station and the link. While a host has a session, datagrams of others
//	        are dropped
//	Source  docs/design.md "Ethernet in RTL", "The link in RTL"
type Module struct {
	eth  eth.Module
	rx   datagram.Decoder
	tx   datagram.Encoder
	link dlink.Module
	regs vsec.Module
	gpu  gpu.GPU
	kept bool // the station keeps the host of the session
}

// Outputs are the methods of Module that are ports of its Verilog.
func Outputs() []string { return []string{"Symbol", "LEDs"} }

// Config returns the configuration of the GPU: that of one node of default. build is the
// value of ID.BUILD.
func Config(build uint32) gpu.Config {
	c := gpu.Default()
	c.Nodes, c.VRAMBytes, c.ClockHz, c.Build = 1, VRAMBytes, Hz, build
	return c
}

// Link returns the configuration of the link. A tick is 100 us. The windows are what 80 % of
// the block RAMs of a 25F allow: 5 for packets of the host, 4 for those of the GPU.
func Link() dlink.Config {
	return dlink.Config{
		MapHash: regmap.Hash(), Window: 64, Send: 56, Datagram: ip.MaxData, TickClocks: Hz / 10_000, TickMicros: 100,
		Ack: 3, Replay: 100, Limit: 100, Nak: 3, Ping: 1024, Dead: 5000, Expiry: 10_000,
	}
}

// New returns the board after reset. build is the value of ID.BUILD.
func New(at ip.Params, build uint32) (*Module, error) {
	g, err := gpu.New(Config(build))
	if err != nil {
		return nil, err
	}
	station := vsec.Station{MAC: at.Addr(), IP: binary.BigEndian.Uint32(at.IP[:]), Port: at.Port}
	return &Module{
		eth: *eth.New(at), rx: datagram.NewDecoder(), tx: datagram.NewEncoder(),
		link: dlink.New(Link()), regs: vsec.New(vsec.Config{Hz: Hz, MAC: true, At: station}), gpu: *g,
	}, nil
}

// GPU returns the GPU, for observation.
func (m *Module) GPU() *gpu.GPU { return &m.gpu }

// Reset is a fundamental reset.
func (m *Module) Reset() {
	m.eth.Reset()
	m.rx.Reset()
	m.tx.Reset()
	m.link.Reset()
	m.regs.Reset()
	m.gpu.Reset()
	m.kept = false
}

// Symbol returns the symbol for the PHY.
func (m *Module) Symbol() (valid bool, s mac.Symbol) { return m.eth.Symbol() }

// LEDs returns the light, bit 0: a session.
func (m *Module) LEDs() uint8 {
	if m.kept {
		return 1
	}
	return 0
}

// Tick is one rising clock edge.
func (m *Module) Tick(rx mac.Byte, ready bool) {
	status := m.link.Status()
	up := status.Up
	counted, count := m.eth.Count()
	answer, selected := m.regs.Answer(), m.regs.Select()
	arrived, piece := m.eth.Datagram(), m.rx.Piece()
	sent, largest, takes := m.link.Sent(), m.link.Largest(), m.tx.Ready()
	out, taken := m.tx.Byte(), m.eth.Ready()
	req, beat := m.link.Target()
	takesCpl, takesReq, takesBeat := m.link.Takes()
	complete := m.link.Complete()
	cpl, reqReady, dataReady := m.gpu.Target()
	upReq, upBeat := m.gpu.Initiator()
	keep, release := up && !m.kept, !up && m.kept
	foreign := m.kept && !arrived.Host

	m.kept = up
	m.eth.Tick(rx, ready, eth.Link{Ready: true, Valid: out.Valid, Last: out.Last, Data: out.Data, Keep: keep, Release: release}, selected)
	m.rx.Tick(datagram.Arrived{Valid: arrived.Valid, Last: arrived.Last, Foreign: foreign, Data: arrived.Data})
	m.tx.Tick(sent, largest, taken)
	m.link.Tick(piece, takes, linkport.GPU{Cpl: vsec.Complete(cpl, answer), Req: upReq, Beat: upBeat}, reqReady, dataReady, 0)
	m.regs.Tick(status, vsec.Line{Valid: counted, Count: uint16(count)}, 0, vsec.Asked{Req: req, Taken: reqReady})
	m.gpu.Tick(req, beat, takesCpl && !answer.Waits, complete, takesReq, takesBeat)
}
