package gateware

import (
	"fmt"

	"github.com/hilgpu/hilgpu/boards/colorlighti5"
	"github.com/hilgpu/hilgpu/boards/pins"
	"github.com/hilgpu/hilgpu/rtl/eth/ip"
	"github.com/hilgpu/hilgpu/rtl/synth"
)

// colorlight returns the Colorlight i5 on its extension board.
func colorlight() *Board {
	at := colorlighti5.Address()
	b := &Board{
		Name: colorlighti5.Name, Title: "Colorlight i5 7.0",
		Part:  synth.LFE5U(25),
		PinHz: colorlighti5.Hz, Hz: colorlighti5.Hz, Address: at, usual: at,
		Config:   config("default", 1, colorlighti5.VRAMBytes),
		Source:   "the platform file of LiteX-Boards for the board",
		Tried:    "not tried",
		Programs: "colorlight-i5",
		Seed:     1,
		Shell:    colorlighti5.Shell,
		Parts:    colorlighti5.Parts(),
		Clocks:   []PinClock{{"rgmii_rxc", 125}},
		Outputs:  colorlighti5.Outputs(),
		NewEther: func(at ip.Params, build uint32) (pins.EtherTop, error) { return colorlighti5.New(at, build) },
		Pins: []Pin{
			{"clk25", "P3", "25 MHz"},
			{"button_n", "K18", "reset button, active low"},
			{"led_n", "U16", "LED, active low: a session"},
			{"phy_rst_n", "P4", "reset of both PHYs, active low"},
			{"mdc", "N5", "MDC of both PHYs"},
			{"rgmii_rxc", "H2", "PHY 0, receive clock"},
			{"rgmii_rx_ctl", "P2", "PHY 0"},
			{"rgmii_txc", "G1", "PHY 0, transmit clock"},
			{"rgmii_tx_ctl", "K1", "PHY 0"},
		},
	}
	for i := range 4 {
		b.Pins = append(b.Pins,
			Pin{fmt.Sprintf("rgmii_rxd[%d]", i), []string{"K2", "L1", "N1", "P1"}[i], "PHY 0"},
			Pin{fmt.Sprintf("rgmii_txd[%d]", i), []string{"G2", "H1", "J1", "J3"}[i], "PHY 0"})
	}
	return b
}
