// Package ice40hx8k is the gateware of the iCE40-HX8K breakout board of Lattice
// (iCE40HX8K-B-EVN): the GPU of the configuration small at the end of a UART.
package ice40hx8k

import (
	_ "embed" // the shell

	"github.com/hilgpu/hilgpu/rtl/abi/regmap"
	"github.com/hilgpu/hilgpu/rtl/gpu"
	"github.com/hilgpu/hilgpu/rtl/link"
	"github.com/hilgpu/hilgpu/rtl/link/lights"
	"github.com/hilgpu/hilgpu/rtl/link/linkport"
	"github.com/hilgpu/hilgpu/rtl/link/seq"
	"github.com/hilgpu/hilgpu/rtl/link/vsec"
	"github.com/hilgpu/hilgpu/rtl/uart"
)

// Name is the name of the board.
const Name = "ice40-hx8k"

// The clock. A PLL makes the clock of that of the board:
// PinHz * (DivF+1) / 2^DivQ.
const (
	PinHz = 12_000_000
	DivF  = 53
	DivQ  = 5
	Hz    = PinHz * (DivF + 1) >> DivQ
)

// Rates returns the rates of the UART in bits per second: the one after a reset, and those that a
// host can change to.
func Rates() []int { return seq.Rates() }

// Shell is the Verilog around the module: its clock, its reset and its pins. It needs the
// macros DIVF and DIVQ, and TOP_rx, TOP_Line and TOP_LEDs for the ports of the module.
//
//go:embed shell.v
var Shell []byte

// VRAMBytes is the size of VRAM. The program of the link takes the place of the rest of
// the block RAMs.
const VRAMBytes = 4 << 10

// Module is the top of the board, below the shell that makes its clock and its reset.
//
//	In      rx, the line of the UART
//	Out     Line, the other line; LEDs
//	Timing  Hz clocks a second, one of Rates bits a second
//	Reset   that of the GPU and of the link; the memories keep their words
//	Order   as the link and the GPU
//	Paths   none
//	Size    30 block RAMs
//	Faults  as the link
//	Source  docs/design.md "The link in RTL"
type Module struct {
	uart   uart.Module
	link   link.Module
	regs   vsec.Module
	lights lights.Module
	gpu    gpu.GPU
}

// Outputs are the methods of Module that are ports of its Verilog.
func Outputs() []string { return []string{"Line", "LEDs"} }

// Config returns the configuration of the GPU. build is the value of ID.BUILD.
func Config(build uint32) gpu.Config {
	c := gpu.Small()
	c.VRAMBytes, c.ClockHz, c.Build = VRAMBytes, Hz, build
	return c
}

// New returns the board after reset. build is the value of ID.BUILD.
func New(build uint32) (*Module, error) {
	g, err := gpu.New(Config(build))
	if err != nil {
		return nil, err
	}
	p, err := seq.Program(seq.Options{MapHash: regmap.Hash(), Replay: 6, Slow: 7})
	if err != nil {
		return nil, err
	}
	return &Module{
		uart: uart.New(), link: link.New(p.Words, Hz/1000),
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

// periodOf returns the clocks of a bit, in 1/16, at a rate of the link.
func periodOf(rate uint8) uint16 {
	switch rate {
	case 0:
		return (16*Hz + 57_600) / 115_200
	case 1:
		return (16*Hz + 115_200) / 230_400
	case 2:
		return (16*Hz + 230_400) / 460_800
	case 3:
		return (16*Hz + 460_800) / 921_600
	case 4:
		return 16 * Hz / 1_000_000
	case 5:
		return 16 * Hz / 1_500_000
	default:
		return 16 * Hz / 2_000_000
	}
}

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
	period := periodOf(m.link.Rate())
	m.lights.Tick(valid, status.Up, m.gpu.Busy(), m.gpu.Faulted())
	m.uart.Tick(rx, uint32(period), sends, what)
	m.link.Tick(linkport.Byte{Valid: valid, Broken: framing, Data: data}, ready, linkport.GPU{Cpl: vsec.Complete(cpl, answer), Req: up, Beat: upBeat}, reqReady, dataReady)
	m.regs.Tick(status, vsec.Line{Framing: framing, Glitch: glitch, Break: low}, period, vsec.Asked{Req: req, Taken: reqReady})
	m.gpu.Tick(req, beat, takesCpl && !answer.Waits, complete, takesReq, takesBeat)
}
