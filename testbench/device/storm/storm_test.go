package storm_test

import (
	"context"
	"flag"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/boards"
	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
	"github.com/hilgpu/hilgpu/rtl/wave/wavetest"
	"github.com/hilgpu/hilgpu/testbench/device/bare"
	"github.com/hilgpu/hilgpu/testbench/device/scoreboard"
	"github.com/hilgpu/hilgpu/testbench/device/storm"
)

var (
	stormSeed   = flag.Uint64("storm.seed", 1, "seed of TestStorm")
	stormCycles = flag.Uint64("storm.cycles", 0, "clocks of TestStorm on each board; 0: until every bin was hit")
)

func run(o storm.Options) (*storm.Report, error) {
	if o.Open == nil {
		o.Open = boards.Open
	}
	return storm.Run(context.Background(), o)
}

// Every bin is hit on all kinds of boards, and the device agrees with the reference model
// in every round.
func TestStorm(t *testing.T) {
	tooltest.Long(t)
	for _, board := range []string{
		"emu", "emu?config=small", "emu?vram=8KiB&latency=1", "emu?nodes=1&tags=2&hostbits=32", "emu?hostbits=62&lengthbits=20&vramports=1",
	} {
		t.Run(board, func(t *testing.T) {
			flight := wavetest.New(t).Recorder()
			o := storm.Options{Board: board, Open: bare.With(boards.Options{Wave: flight}), Seed: *stormSeed, Cycles: 10_000_000, Sanitize: true}
			if *stormCycles != 0 {
				o.Cycles, o.All = *stormCycles, true
			}
			r, err := run(o)
			require.NoError(t, err, "%s", strings.Join(r.Listing, "\n"))
			assert.Empty(t, r.Missing)
			assert.Positive(t, r.Total)
			assert.Equal(t, r.Total, r.Covered)
		})
	}
}

// On a slow link a read of host memory takes longer than all work of a round on other boards, and the watchdog
// reports only nodes that wait for the host.
func TestStormOnALink(t *testing.T) {
	tooltest.Long(t)
	for _, board := range []string{"line?vram=64KiB", "line?config=small&vram=16KiB"} {
		r, err := run(storm.Options{Board: board, Seed: 4, Cycles: 40_000_000_000, Sanitize: true})
		require.NoError(t, err, "%s: %s", board, strings.Join(r.Listing, "\n"))
		for _, c := range r.Bins {
			switch {
			case c.Outcome == "hung" && c.Packet == "(ring)":
				assert.Positive(t, c.Hits, c)
			case c.Outcome == "not hung": // no packet of a storm moves data for that long
				assert.Zero(t, c.Hits, c)
			}
		}
	}
}

// Each capability has its own bins, except the aperture, which a storm requires,
// coalescing, because a storm masks the events, the time-out of reads, because the host of
// a storm answers all of them, and the trace, which every packet changes.
func TestCapabilities(t *testing.T) {
	total := func(board string) int {
		r, err := run(storm.Options{Board: board, Cycles: 1})
		require.NoError(t, err, board)
		return r.Total
	}
	least := total("emu?config=small")
	for _, c := range caps.Table {
		none := c.Bit == caps.Aperture || c.Bit == caps.Coalescing || c.Bit == caps.ReadTimeout || c.Bit == caps.Trace || c.Bit&(caps.Master|caps.MCU|caps.GART) != 0
		assert.Equal(t, none, total("emu?config=small&"+c.Option()+"=1") == least, c.Name)
	}
}

// Equal seeds give equal runs.
func TestStormRepeats(t *testing.T) {
	o := storm.Options{Board: "emu", Seed: 9, Cycles: 100_000}
	first, err := run(o)
	require.NoError(t, err)
	again, err := run(o)
	require.NoError(t, err)
	assert.Equal(t, first, again)
	assert.NotEmpty(t, first.Missing, "the run ends after its clocks")
	o.Seed = 10
	other, err := run(o)
	require.NoError(t, err)
	assert.NotEqual(t, first.Bins, other.Bins)
}

// The bins contain every packet that the board executes, in every place.
func TestBinsCoverTheTable(t *testing.T) {
	r, err := run(storm.Options{Board: "emu", Seed: 1, Cycles: 1})
	require.NoError(t, err)
	seen := map[string]bool{}
	for _, b := range r.Bins {
		seen[b.Packet+" "+b.State] = true
	}
	for _, l := range pkt.Table {
		for _, state := range []string{"ring", "indirect", "guarded"} {
			assert.True(t, seen[l.Name+" "+state], "%s in %s", l.Name, state)
		}
	}
}

// A board has the bins of exactly the host actions that it supports.
func TestHostBins(t *testing.T) {
	for board, want := range map[string]map[string]bool{
		"emu":                       {"preempted": true, "hung": true, "counted": true, "node reset": true, "RING": true, "WRITE_ERROR": true},
		"emu?preemption=0":          {"preempted": false, "hung": true, "counted": true, "function reset": true},
		"emu?watchdog=0&nodes=1":    {"preempted": true, "hung": false, "counted": true, "whole reset": true},
		"emu?counters=0&contexts=0": {"preempted": true, "hung": true, "counted": false, "WRITE_ERROR": true},
	} {
		r, err := run(storm.Options{Board: board, Seed: 1, Cycles: 1})
		require.NoError(t, err)
		seen := map[string]bool{}
		for _, b := range r.Bins {
			seen[b.Outcome] = true
		}
		for outcome, there := range want {
			assert.Equal(t, there, seen[outcome], "%s on %s", outcome, board)
		}
	}
}

// A device with faulty memory is detected, and the error lists the packets of the round.
func TestDetectsFaultyMemory(t *testing.T) {
	for fault, want := range map[string]error{
		"stuck-data:D17=1":             storm.ErrDiffers,
		"stuck-enable:5":               scoreboard.ErrDiffers,
		"lost-interrupt&after=40":      storm.ErrDiffers,
		"lost-doorbell&after=40":       storm.ErrDiffers,
		"ignore-preempt&after=2":       storm.ErrDiffers,
		"ignore-reset&after=40":        bare.ErrStuck,
		"bit-flip:0.001@3":             scoreboard.ErrDiffers,
		"short-address:A4-A9":          storm.ErrDiffers,
		"lost-interrupt&after=3&count": boards.ErrSelector,
	} {
		t.Run(fault, func(t *testing.T) {
			r, err := run(storm.Options{Board: "emu?fault=" + fault, Seed: 1, Cycles: 3_000_000})
			require.ErrorIs(t, err, want)
			if want == boards.ErrSelector {
				assert.Nil(t, r)
				return
			}
			if want != bare.ErrStuck { // which may come before the packets of the round
				assert.NotEmpty(t, r.Listing)
			}
			assert.ErrorContains(t, err, "of seed 1")
		})
	}
}

func TestBadInput(t *testing.T) {
	_, err := run(storm.Options{Board: "emu"})
	assert.ErrorIs(t, err, storm.ErrInput)
	_, err = run(storm.Options{Board: "emu?aperture=0", Cycles: 1000})
	assert.ErrorIs(t, err, storm.ErrInput)
	assert.ErrorContains(t, err, "emu?aperture=0 has no aperture")
}

// The table has a line for each packet, operand and outcome, and marks the missing bins.
func TestText(t *testing.T) {
	r := storm.Report{Board: "emu", Seed: 4, Clocks: 900, Rounds: 2, Packets: 7, Covered: 1, Total: 3, Bins: []storm.Count{
		{Bin: storm.Bin{Packet: "COPY", Operand: "Bytes 0", Outcome: "retired", State: "ring"}, Hits: 5},
		{Bin: storm.Bin{Packet: "COPY", Operand: "Bytes 0", Outcome: "retired", State: "guarded"}},
		{Bin: storm.Bin{Packet: "FENCE", Operand: "place", Outcome: "PRIVILEGE", State: "indirect"}},
	}}
	var lines [][]string
	for line := range strings.Lines(r.Text()) {
		lines = append(lines, strings.Fields(line))
	}
	assert.Equal(t, [][]string{
		{"packet", "operand", "outcome", "ring", "indirect", "guarded"},
		{"COPY", "Bytes", "0", "retired", "5", "MISSING"},
		{"FENCE", "place", "PRIVILEGE", "MISSING"},
		strings.Fields("1 of 3 bins hit, 7 packets in 2 rounds, 900 clocks, seed 4 on emu"),
	}, lines)
}

// Failed gets the error of a run while the board is open. It is not called without an
// error.
func TestFailedBeforeClose(t *testing.T) {
	for board, fails := range map[string]bool{"emu?config=small": false, "emu?config=small&fault=stuck-enable:5": true} {
		var link bus.Link
		var told error
		o := storm.Options{Board: board, Cycles: 1_000_000}
		o.Open = func(selector string, host bus.Host) (bus.Link, bus.Clock, error) {
			l, c, err := boards.Open(selector, host)
			link = l
			return l, c, err
		}
		o.Failed = func(err error) {
			told = err
			_, err = link.ReadConfig(0)
			assert.NoError(t, err, "the link is open")
		}
		_, err := storm.Run(t.Context(), o)
		assert.Equal(t, fails, err != nil, board)
		assert.Equal(t, err, told)
	}
}

// The bins include what random packets seldom have.
func TestRareBins(t *testing.T) {
	r, err := run(storm.Options{Board: "emu", Cycles: 1})
	require.NoError(t, err)
	there := map[storm.Bin]bool{}
	for _, c := range r.Bins {
		there[c.Bin] = true
	}
	for _, want := range []storm.Bin{
		{Packet: "COPY", Operand: "Bytes 4 KiB", Outcome: "retired", State: "guarded"},
		{Packet: "FILL", Operand: "Dst closed", Outcome: "WINDOW", State: "guarded"},
		{Packet: "SET_WINDOW", Operand: "closed anywhere", Outcome: "retired", State: "ring"},
		{Packet: "COPY_2D", Operand: "DstY far", Outcome: "retired", State: "indirect"},
		{Packet: "FILL_2D", Operand: "tall", Outcome: "retired", State: "guarded"},
		{Packet: "INDIRECT", Operand: "Addr VRAM+4 guarded", Outcome: "retired", State: "ring"},
		{Packet: "WRITE_REG", Operand: "both nodes", Outcome: "retired", State: "guarded"},
	} {
		assert.True(t, there[want], want)
	}
}
