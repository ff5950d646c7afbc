// Package ulx3s is the gateware of the ULX3S of Radiona: the GPU of the configuration
// default or full, with less VRAM, at the end of a UART.
package ulx3s

import (
	_ "embed" // the shell

	"github.com/hilgpu/hilgpu/rtl/abi/regmap"
	"github.com/hilgpu/hilgpu/rtl/gpu"
	"github.com/hilgpu/hilgpu/rtl/link/hard"
	"github.com/hilgpu/hilgpu/rtl/link/hard/dlink"
	"github.com/hilgpu/hilgpu/rtl/link/lights"
	"github.com/hilgpu/hilgpu/rtl/link/linkport"
	"github.com/hilgpu/hilgpu/rtl/link/rate"
	"github.com/hilgpu/hilgpu/rtl/link/vsec"
	"github.com/hilgpu/hilgpu/rtl/uart"
)

// Name is the name of the board.
const Name = "ulx3s"

// Hz is the clock, which is that of the board.
const Hz = 25_000_000

// Rates returns the rates of the UART in bits per second: the one after a reset, and those
// that a host can change to. The FT231X has at most 3 Mbit/s.
func Rates() []uint32 {
	return []uint32{115_200, 230_400, 460_800, 921_600, 1_000_000, 1_500_000, 2_000_000, 3_000_000}
}

// Shell is the Verilog around the module: its reset and its pins. It needs TOP_rx, TOP_Line
// and TOP_LEDs for the ports of the module.
//
//go:embed shell.v
var Shell []byte

// Module is the top of the board, below the shell that makes its reset.
//
//	In      rx, the line of the UART
//	Out     Line, the other line; LEDs
//	Timing  Hz clocks a second, one of Rates bits a second
//	Reset   that of the GPU and of the link; the memories keep their words
//	Order   as the link and the GPU
//	Paths   none
//	Size    20 block RAMs and those of VRAM, 2 KiB in each
//	Faults  as the link
//	Source  docs/design.md "The link in RTL"
type Module struct {
	uart   uart.Module
	link   hard.Module
	regs   vsec.Module
	lights lights.Module
	gpu    gpu.GPU
}

// linkConfig returns the configuration of the link. A tick is 100 us. At 3 Mbit/s a window
// of eight frames takes 4.4 ms on the line; the host and the FT231X, with its latency timer
// at 1 ms, add a few. At the first rate it takes 0.11 s, and a unit of Replay is 14 ticks. A
// read of the GPU outlives the silence that ends the session.
func linkConfig() dlink.Config {
	return dlink.Config{
		MapHash: regmap.Hash(), Window: 8, TickClocks: Hz / 10_000, TickMicros: 100,
		Ack: 3, Replay: 200, Limit: 64, Nak: 60, Ping: 1024, Dead: 5000, Expiry: 10_000,
	}
}

// Outputs are the methods of Module that are ports of its Verilog.
func Outputs() []string { return []string{"Line", "LEDs"} }

// New returns the board after reset, with a GPU of a configuration. build is the value of ID.BUILD.
func New(c gpu.Config, build uint32) (*Module, error) {
	c.ClockHz, c.Build = Hz, build
	g, err := gpu.New(c)
	if err != nil {
		return nil, err
	}
	return &Module{
		uart: uart.New(), link: hard.New(linkConfig(), rate.Config{Hz: Hz, Rates: Rates()}),
		regs: vsec.New(vsec.Config{Hz: Hz, UART: true}), lights: lights.New(), gpu: *g,
	}, nil
}

// GPU returns the GPU, for observation.
func (m *Module) GPU() *gpu.GPU { return &m.gpu }

// Reset is a fundamental reset.
func (m *Module) Reset() {
	m.uart.Reset()
	m.link.Reset()
	m.regs.Reset()
	m.lights.Reset()
	m.gpu.Reset()
}

// Line returns the level of the line to the host.
func (m *Module) Line() bool { return m.uart.Line() }

// LEDs returns the lights, see package lights.
func (m *Module) LEDs() uint8 { return m.lights.LEDs() }

// Tick is one rising clock edge.
func (m *Module) Tick(rx bool) {
	valid, data := m.uart.Received()
	framing, _ := m.uart.Errors()
	glitch, low := m.uart.Noise()
	answer := m.regs.Answer()
	status := m.link.Status()
	sends, what := m.link.Byte()
	ready := m.uart.Ready()
	req, beat := m.link.Target()
	takesCpl, takesReq, takesBeat := m.link.Takes()
	complete := m.link.Complete()
	cpl, reqReady, dataReady := m.gpu.Target()
	up, upBeat := m.gpu.Initiator()
	period := m.link.Period()
	m.lights.Tick(valid, status.Up, m.gpu.Busy(), m.gpu.Faulted())
	m.uart.Tick(rx, period, sends, what)
	m.link.Tick(linkport.Byte{Valid: valid, Broken: framing, Data: data}, ready, linkport.GPU{Cpl: vsec.Complete(cpl, answer), Req: up, Beat: upBeat}, reqReady, dataReady)
	m.regs.Tick(status, vsec.Line{Framing: framing, Glitch: glitch, Break: low}, uint16(period), vsec.Asked{Req: req, Taken: reqReady})
	m.gpu.Tick(req, beat, takesCpl && !answer.Waits, complete, takesReq, takesBeat)
}
