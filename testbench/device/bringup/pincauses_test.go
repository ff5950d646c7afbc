package bringup_test

import (
	"flag"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hilgpu/hilgpu/boards"
	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
	"github.com/hilgpu/hilgpu/testbench/device/bringup"
)

var (
	seedsFlag  = flag.Uint64("bringup.seeds", 2, "seeds of each row of TestPinCauses; each takes the next rate")
	boardsFlag = flag.Bool("bringup.boards", false, "TestPinCauses with each board of a row, and not only with the last one; TestPinFaults has the others")
)

// pinCauses are faults at the pins of boards, with two rates each, and the cause that must be named.
var pinCauses = []struct {
	boards []string
	fault  string
	rates  [2]float64
	likely string
}{
	{[]string{"ulx3s-25f", "ice40-hx8k"}, "bit", [2]float64{0.0003, 0.001}, "a rate that is too high"},
	{[]string{"ulx3s-25f", "ice40-hx8k"}, "glitch", [2]float64{0.001, 0.01}, "noise: no common ground"},
	{[]string{"ulx3s-25f", "ice40-hx8k"}, "break", [2]float64{0.0005, 0.001}, "breaks"},
	{[]string{"ulx3s-25f", "ice40-hx8k"}, "unplug", [2]float64{0.0003, 0.001}, "the cable was open"},
	{[]string{"colorlight-i5"}, "fcs", [2]float64{0.005, 0.05}, "wrong bits between the PHY"},
	{[]string{"colorlight-i5"}, "runt", [2]float64{0.005, 0.05}, "frames that end before their 64th byte"},
	{[]string{"colorlight-i5"}, "oversize", [2]float64{0.005, 0.05}, "frames above 1518 bytes"},
	{[]string{"colorlight-i5"}, "unplug", [2]float64{0.005, 0.05}, "a cable that was out"},
	{[]string{"colorlight-i5"}, "carrier", [2]float64{0.005, 0.05}, "the carrier was lost"},
}

// Several seeds and rates of a fault get its name, and no other. A run with few faults may name
// two causes, or none; half of the runs of a row name the one.
func TestPinCauses(t *testing.T) {
	tooltest.Long(t)
	for _, tt := range pinCauses {
		boards := tt.boards
		if !*boardsFlag {
			boards = boards[len(boards)-1:]
		}
		for _, board := range boards {
			t.Run(board+"/"+tt.fault, func(t *testing.T) {
				t.Parallel()
				named := uint64(0)
				for seed := range *seedsFlag {
					selector := fmt.Sprintf("pins:%s?faults=%s=%g,seed=%d", board, tt.fault, tt.rates[seed%2], seed+1)
					likely := causeOf(t, selector)
					if likely != "" {
						assert.Contains(t, likely, tt.likely, selector)
					}
					if strings.HasPrefix(likely, tt.likely) && !strings.Contains(likely, "; ") {
						named++
					}
				}
				assert.GreaterOrEqual(t, 2*named, *seedsFlag)
			})
		}
	}
}

// All stages pass on a board on Ethernet and on one with the hardwired link at a UART.
func TestAllStagesAtPins(t *testing.T) {
	tooltest.Long(t)
	for _, board := range []string{"pins:colorlight-i5", "pins:ulx3s-25f"} {
		t.Run(board, func(t *testing.T) {
			t.Parallel()
			r := run(t, bringup.Options{Board: board, Bytes: 4096})
			assert.True(t, r.OK(), text(r))
			assert.Zero(t, r.Warned, text(r))
		})
	}
}

// causeOf returns what link.errors names on a board with faults, and nothing if it passes.
func causeOf(t *testing.T, selector string) string {
	var link bus.Link
	r := run(t, bringup.Options{
		Board: selector, Only: []string{"link.trips", "link.errors"},
		Open: func(selector string, host bus.Host) (bus.Link, bus.Clock, error) {
			l, clock, err := boards.Open(selector, host)
			link = l
			return l, clock, err
		},
	})
	c, ok := bus.As[boards.Counters](link)
	assert.True(t, ok)
	for _, counter := range c.Counters() {
		if counter.Name == "pin_faults" {
			assert.NotZero(t, counter.Value, "%s injects nothing", selector)
		}
	}
	return result(t, r, "link.errors").Likely
}

// fast is a clock of a host that runs three times as fast.
type fast struct{ bus.Clock }

func (f fast) Hz() uint64 { return f.Clock.Hz() / 3 }

// A clock that is far off is wrong in virtual time. On the wall clock it may be that of a simulation: the stage
// warns of both, and does not fail.
func TestFarOff(t *testing.T) {
	for _, tt := range []struct {
		board, real string
		status      bringup.Status
		likely      string
	}{
		{"pins:ulx3s-25f", "pins:ulx3s-25f", bringup.Fail, "a PLL that is set wrong"},
		{"serial:/dev/ttyUSB1", "pins:ulx3s-25f", bringup.Warn, "a simulation; or, in an FPGA, a PLL that is set wrong"},
		{"tcp:127.0.0.1:1", "emu?config=small", bringup.Warn, "a simulation; or, in an FPGA, a PLL that is set wrong"},
		{"emu?config=small", "emu?config=small", bringup.OK, ""},
	} {
		r := run(t, bringup.Options{Board: tt.board, Only: []string{"ident.time"}, Open: func(_ string, host bus.Host) (bus.Link, bus.Clock, error) {
			link, clock, err := boards.Open(tt.real, host)
			return link, fast{clock}, err
		}})
		res := result(t, r, "ident.time")
		assert.Equal(t, tt.status, res.Status, "%s: %s", tt.board, text(r))
		assert.Contains(t, res.Likely, tt.likely, tt.board)
		assert.Equal(t, tt.status != bringup.Fail, r.OK(), tt.board)
		if tt.status == bringup.Warn {
			assert.Equal(t, 1, r.Warned)
			assert.Contains(t, r.Summary(), "warning        ident.time: a simulation; or")
		}
	}
}
