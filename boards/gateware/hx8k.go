package gateware

import (
	"fmt"

	"github.com/hilgpu/hilgpu/boards/ice40hx8k"
	"github.com/hilgpu/hilgpu/rtl/synth"
)

// hx8k returns the breakout board of Lattice.
func hx8k() *Board {
	b := &Board{
		Name: ice40hx8k.Name, Title: "iCE40HX8K-B-EVN",
		Part:  synth.HX8K(),
		PinHz: ice40hx8k.PinHz, Hz: ice40hx8k.Hz, Rates: ice40hx8k.Rates(),
		Config:   fmt.Sprintf("small with %d KiB of VRAM", ice40hx8k.VRAMBytes>>10),
		Source:   "Lattice EB85, appendix A",
		Tried:    "not tried",
		Programs: "ice40_generic", Iceprog: true,
		Seed:  1,
		Shell: ice40hx8k.Shell,
		Macros: [][2]string{
			{"DIVF", fmt.Sprintf("7'd%d", ice40hx8k.DivF)},
			{"DIVQ", fmt.Sprintf("3'd%d", ice40hx8k.DivQ)},
		},
		Outputs: ice40hx8k.Outputs(),
		New:     func(build uint32) (Top, error) { return ice40hx8k.New(build) },
		Pins: []Pin{
			{"clk12", "J3", "12 MHz"},
			{"uart_rx", "B10", "UART, channel B of the FT2232H, to the FPGA"},
			{"uart_tx", "B12", "UART, to the host"},
		},
	}
	for i, ball := range []string{"B5", "B4", "A2", "A1", "C5", "C4", "B3", "C3"} {
		b.Pins = append(b.Pins, Pin{fmt.Sprintf("led[%d]", i), ball, fmt.Sprintf("LED D%d: %s", 9-i, lights()[i])})
	}
	return b
}
