package testbench_test

import (
	"context"
	"flag"
	"fmt"
	"image"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/boards"
	"github.com/hilgpu/hilgpu/boards/serve"
	"github.com/hilgpu/hilgpu/hostdriver/umd"
	"github.com/hilgpu/hilgpu/rtl/abi/regmap"
	"github.com/hilgpu/hilgpu/testbench"
	"github.com/hilgpu/hilgpu/testbench/compose"
	"github.com/hilgpu/hilgpu/testbench/device/bringup"
	"github.com/hilgpu/hilgpu/testbench/device/storm"
	"github.com/hilgpu/hilgpu/testbench/device/transfer"
	"github.com/hilgpu/hilgpu/testbench/events/eventstest"
	"github.com/hilgpu/hilgpu/testbench/suite"
)

// Seeds of the board states that an earlier host left.
var (
	dirtySeed  = flag.Uint64("dirty.seed", 0, "first `seed` of the boards that an earlier host left")
	dirtySeeds = flag.Uint64("dirty.seeds", 2, "number of `seeds`")
)

// onDirty runs a test on boards that an earlier host used: one with all features,
// the smallest one with the given VRAM, and one at the end of a line.
func onDirty(t *testing.T, vram string, test func(t *testing.T, board string)) {
	for _, kind := range []string{"emu?", "emu?config=small&vram=" + vram + "&", "line?baud=30000000&"} {
		for seed := range *dirtySeeds {
			board := fmt.Sprintf("%sdirty=%d", kind, *dirtySeed+seed)
			t.Run(board, func(t *testing.T) {
				t.Parallel()
				test(t, board)
			})
		}
	}
}

// The drivers pass the suite on such boards. Cases that need another configuration
// than the board's are skipped.
func TestDirtySuite(t *testing.T) {
	onDirty(t, "8KiB", func(t *testing.T, board string) {
		passed := 0
		for _, r := range suite.Run(suite.Options{Selector: board, Drivers: testbench.HostDrivers(), Seed: *seed, Runs: 1}) {
			assert.NotEqual(t, suite.Failed, r.Outcome, "%s: %v", r.Name, r.Messages)
			if r.Outcome == suite.Passed {
				passed++
			}
		}
		assert.GreaterOrEqual(t, passed, 15)
	})
}

// The frame equals that of a clean board without an aperture. So do all counts except clocks and
// interrupts; one interrupt may stem from the earlier host.
func TestDirtyCompose(t *testing.T) {
	o := compose.Options{Width: 40, Height: 30, Contexts: 2, Seed: 5, Sources: noise(3, image.Pt(20, 20), image.Pt(9, 33))}
	want, clean := composed(t, "emu?config=full&gart=0", o, testbench.Options{})
	onDirty(t, "8KiB", func(t *testing.T, board string) {
		got, stats := composed(t, board, o, testbench.Options{})
		assert.Equal(t, want, got)
		if board == fmt.Sprintf("emu?dirty=%d", *dirtySeed) {
			stats.Cycles, stats.Interrupts = clean.Cycles, clean.Interrupts
			assert.Equal(t, clean, stats)
		}
	})
}

// composesWith composes with another miniport.
func composesWith(t *testing.T, board string, p *plain) {
	t.Helper()
	plan, err := compose.NewPlan(compose.Options{Width: 40, Height: 30, Contexts: 2, Seed: 3, Sources: noise(3, image.Pt(10, 12), image.Pt(9, 13))})
	require.NoError(t, err)
	sys, err := testbench.Open(board, testbench.Drivers{UserMode: umd.OpenAdapter, KernelMode: p.entry}, testbench.Options{Record: eventstest.Record(t)})
	require.NoError(t, err)
	frame, err := compose.Run(sys, plan)
	require.NoError(t, err)
	require.NoError(t, sys.Close())
	_, n := compose.Diff(frame, plan.Reference())
	assert.Zero(t, n)
}

// The small miniport starts in any state of the device.
func TestDirtyMiniport(t *testing.T) {
	onDirty(t, "64KiB", func(t *testing.T, board string) { composesWith(t, board, new(plain)) })
}

// The second session of a served board finds the state that the first one left.
func TestMiniportTwiceOnAServedBoard(t *testing.T) {
	dev, err := boards.Device("emu?config=small&vram=64KiB")
	require.NoError(t, err)
	board, err := serve.New(dev, serve.Options{Hz: dev.Hz(), MapHash: regmap.Hash()})
	require.NoError(t, err)
	l, err := serve.ListenTCP("127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		l.Serve(ctx, board) // returns when the context is done
	}()
	defer func() {
		cancel()
		<-done
	}()
	for range 2 {
		composesWith(t, l.Selector(), new(plain))
	}
	assert.EqualValues(t, 2, board.Stats().Sessions)
}

// Bring-up passes on such boards.
func TestDirtyBringup(t *testing.T) {
	onDirty(t, "8KiB", func(t *testing.T, board string) {
		r, err := bringup.Run(t.Context(), bringup.Options{Board: board, Open: boards.Open})
		require.NoError(t, err)
		assert.True(t, r.OK(), "%+v", r)
	})
}

// A microcontroller with the program of an earlier host, halted or running, is tested and gets the
// firmware of the drivers.
func TestDirtyMicrocontroller(t *testing.T) {
	o := compose.Options{Width: 16, Height: 16, Contexts: 1, Seed: 5, Sources: noise(3, image.Pt(9, 9))}
	want, _ := composed(t, "emu", o, testbench.Options{})
	for seed := range 2 * *dirtySeeds {
		board := fmt.Sprintf("emu?config=full&dirty=%d", *dirtySeed+seed)
		t.Run(board, func(t *testing.T) {
			t.Parallel()
			r, err := bringup.Run(t.Context(), bringup.Options{Board: board, Only: []string{"regs", "cp", "mcu"}, Open: boards.Open})
			require.NoError(t, err)
			assert.True(t, r.OK(), "%+v", r)
			got, _ := composed(t, board, o, testbench.Options{Log: func(text string) { assert.Fail(t, text) }})
			assert.Equal(t, want, got)
		})
	}
}

// Copies, fills and storms give the same results as on a clean board.
func TestDirtyWork(t *testing.T) {
	onDirty(t, "8KiB", func(t *testing.T, board string) {
		for _, fill := range []bool{false, true} {
			_, err := transfer.Run(t.Context(), transfer.Options{Board: board, Open: boards.Open, Size: 1000, Count: 2, Fill: fill})
			require.NoError(t, err)
		}
		_, err := storm.Run(t.Context(), storm.Options{Board: board, Open: boards.Open, Seed: 1, Cycles: 50_000})
		require.NoError(t, err)
	})
}
