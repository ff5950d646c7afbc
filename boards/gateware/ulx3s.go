package gateware

import (
	"fmt"

	"github.com/hilgpu/hilgpu/boards/ulx3s"
	"github.com/hilgpu/hilgpu/rtl/gpu"
	"github.com/hilgpu/hilgpu/rtl/synth"
)

// ulx3sOf returns the board of Radiona by the thousands of LUTs in the name of its FPGA,
// with nodes and vram bytes of VRAM. With a microcontroller the GPU is that of the configuration full.
func ulx3sOf(suffix string, thousands, nodes int, vram uint64, mcu bool) *Board {
	c, name := gpu.Default(), "default"
	if mcu {
		c, name = gpu.Full(), "full"
	}
	c.Nodes, c.VRAMBytes = nodes, vram
	b := &Board{
		Name: ulx3s.Name + suffix, Title: fmt.Sprintf("ULX3S %dF", thousands),
		Part:  synth.LFE5U(thousands),
		PinHz: ulx3s.Hz, Hz: ulx3s.Hz,
		Config:   config(name, nodes, vram),
		Source:   "the constraints ulx3s_v20.lpf of the board's project",
		Tried:    "not tried",
		Programs: "ulx3s",
		Seed:     1,
		Shell:    ulx3s.Shell,
		Outputs:  ulx3s.Outputs(),
		New:      func(build uint32) (Top, error) { return ulx3s.New(c, build) },
		Pins: []Pin{
			{"clk25", "G2", "25 MHz"},
			{"uart_rx", "M1", "UART of the FT231X, to the FPGA"},
			{"uart_tx", "L4", "UART, to the host"},
			{"wifi_gpio0", "L2", "GPIO 0 of the ESP32"},
		},
	}
	for _, r := range ulx3s.Rates() {
		b.Rates = append(b.Rates, int(r))
	}
	for i, ball := range []string{"B2", "C2", "C1", "D2", "D1", "E2", "E1", "H3"} {
		b.Pins = append(b.Pins, Pin{fmt.Sprintf("led[%d]", i), ball, fmt.Sprintf("LED D%d: %s", i, lights()[i])})
	}
	return b
}
