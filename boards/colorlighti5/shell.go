// Package colorlighti5 is the gateware of the Colorlight i5 7.0 on its extension board: a GPU
// at the end of Ethernet.
package colorlighti5

import (
	_ "embed" // the shell

	"github.com/hilgpu/hilgpu/boards/shell"
	"github.com/hilgpu/hilgpu/rtl/verilog"
)

// Shell is the Verilog around the module: its resets, and the queues between it and PHY 0. It
// needs the files of Parts, and in board.vh TOP_rx_Valid, TOP_rx_End, TOP_rx_Error,
// TOP_rx_Data, TOP_ready, TOP_Symbol_valid, TOP_Symbol_s_Enable, TOP_Symbol_s_Last,
// TOP_Symbol_s_Data and TOP_LEDs for the ports of the module.
//
//go:embed shell.v
var Shell []byte

//go:embed rgmii_pins.v
var rgmiiPins []byte

//go:embed rgmii_rate.v
var rgmiiRate []byte

//go:embed rgmii_rx.v
var rgmiiRx []byte

//go:embed rgmii_tx.v
var rgmiiTx []byte

// Parts returns the files of the modules in the shell.
func Parts() []verilog.File {
	return []verilog.File{
		{Name: "rgmii_pins.v", Text: rgmiiPins},
		{Name: "rgmii_rate.v", Text: rgmiiRate},
		{Name: "rgmii_rx.v", Text: rgmiiRx},
		{Name: "rgmii_tx.v", Text: rgmiiTx},
		{Name: "asyncfifo.v", Text: shell.AsyncFIFO},
		{Name: "asyncfifo_sync.v", Text: shell.AsyncFIFOSync},
	}
}
