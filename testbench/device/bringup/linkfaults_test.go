package bringup_test

import (
	"flag"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
	"github.com/hilgpu/hilgpu/testbench/device/bringup"
)

// A pinFault is a fault at the pins of a board.
type pinFault struct {
	board  string
	stage  string // that names it
	says   string
	likely string
}

var pinFaults = []pinFault{
	{"pins:ulx3s-25f", "", "", ""},
	{"pins:ulx3s-25f?faults=bit=0.0003", "link.errors", "the line has bit errors: ", "noise"},
	{"pins:ulx3s-25f?faults=glitch=0.001,seed=2", "link.errors", "glitches: ", "no common ground"},
	{"pins:ulx3s-25f?faults=break=0.0005,seed=3", "link.errors", "the line to the board was low for two bytes or more", "breaks: "},
	{"pins:ulx3s-25f?faults=unplug=0.0003", "link.errors", "frames were lost without a wrong bit", "the cable was open for a time"},
	{"pins:ulx3s-25f?faults=reset=0.0001,seed=5", "link.errors", "the board was reset during the run (sessions of the host 1 -> 2, of the board 1 -> 1)", "its supply drops"},
	{"pins:ulx3s-25f?hostclock=980", "ident.time", "the board's clock is 2.04 % fast", "the rate is off"},
	{"pins:ulx3s-25f?hostclock=1020", "ident.time", "the board's clock is 1.96 % slow", "the rate is off"},
	{"pins:ulx3s-25f?hostclock=1001", "ident.time", "the board's clock is 0.10 % slow", "the rate is off"},
	{"pins:ulx3s-25f?hostclock=999", "ident.time", "the board's clock is 0.10 % fast", "the rate is off"},
	{"pins:colorlight-i5", "", "", ""},
	{"pins:colorlight-i5?faults=fcs=0.05,seed=1", "link.errors", "the PHY's frames have a wrong FCS", "wrong bits"},
	{"pins:colorlight-i5?faults=runt=0.05,seed=2", "link.errors", "frames were too short (runts)", "a collision"},
	{"pins:colorlight-i5?faults=oversize=0.05,seed=3", "link.errors", "frames were too long", "above 1518 bytes"},
	{"pins:colorlight-i5?faults=carrier=0.05,seed=4", "link.errors", "frames end early", "the carrier was lost"},
	{"pins:colorlight-i5?faults=unplug=0.01,seed=5", "link.errors", "frames were lost without a wrong one at the PHY", "a cable that was out"},
	{"pins:colorlight-i5?faults=loss=0.05,seed=5", "link.errors", "frames were lost without a wrong one at the PHY", "a cable that was out"},
	{"pins:colorlight-i5?faults=flip=0.05,seed=5", "link.errors", "frames were damaged although their FCS was right: 4", "where no FCS protects them"},
	{"pins:colorlight-i5?faults=truncate=0.05,seed=5", "link.errors", "frames were damaged although their FCS was right: 4", "where no FCS protects them"},
	{"pins:colorlight-i5?faults=reset=0.001,seed=8", "link.errors", "the board was reset during the run", "its supply drops"},
}

// seqFaults are those of the board whose link has a program. It takes the most clocks for a
// frame.
var seqFaults = []pinFault{
	{"pins:ice40-hx8k", "", "", ""},
	{"pins:ice40-hx8k?hostclock=999", "ident.time", "the board's clock is 0.10 % fast", "the rate is off"},
	{"pins:ice40-hx8k?faults=bit=0.0003", "link.errors", "the line has bit errors: ", "noise"},
	{"pins:ice40-hx8k?faults=glitch=0.001,seed=2", "link.errors", "glitches: ", "no common ground"},
	{"pins:ice40-hx8k?faults=break=0.0005,seed=3", "link.errors", "the line to the board was low for two bytes or more", "breaks: "},
	{"pins:ice40-hx8k?faults=unplug=0.0003", "link.errors", "frames were lost without a wrong bit", "the cable was open for a time"},
	{"pins:ice40-hx8k?faults=reset=0.0001,seed=5", "link.errors", "the board was reset during the run (sessions of the host 1 -> 2, of the board 1 -> 1)", "its supply drops"},
	{"pins:ice40-hx8k?hostclock=1001", "ident.time", "the board's clock is 0.10 % slow", "the rate is off"},
	{"pins:ice40-hx8k?hostclock=980", "ident.time", "the board's clock is 2.04 % fast", "the rate is off"},
	{"pins:ice40-hx8k?hostclock=1020", "ident.time", "the board's clock is 1.96 % slow", "the rate is off"},
}

var sequencerFlag = flag.Int("bringup.sequencer", 2, "rows of TestPinFaults with ice40-hx8k; 10 are all")

// Each fault at the pins of a board is named, with its likely cause, and no other one. Without
// a fault there is no name.
func TestPinFaults(t *testing.T) {
	tooltest.Long(t)
	for _, tt := range slices.Concat(pinFaults, seqFaults[:min(*sequencerFlag, len(seqFaults))]) {
		t.Run(tt.board, func(t *testing.T) {
			t.Parallel()
			only := []string{"link", "ident.time"}
			if strings.Contains(tt.board, "reset=") { // another reset may end each stage
				only = []string{"link.trips", "link.errors"}
			}
			r := run(t, bringup.Options{Board: tt.board, Only: only})
			if tt.stage == "" {
				assert.True(t, r.OK(), text(r))
				return
			}
			for _, stage := range failures(r) { // of wrong bits, the stage of the rates names the cause too
				assert.Contains(t, []string{tt.stage, "link.rate"}, stage, text(r))
				assert.Contains(t, result(t, r, stage).Likely, tt.likely, text(r))
			}
			res := result(t, r, tt.stage)
			assert.Contains(t, res.Details[0], tt.says)
			assert.Contains(t, res.Likely, tt.likely)
			assert.NotContains(t, res.Likely, "; ", "one cause")
			assert.False(t, r.LinkFailed())
		})
	}
}
