package transfer_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/boards"
	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/testbench/device/scoreboard"
	"github.com/hilgpu/hilgpu/testbench/device/transfer"
)

func run(o transfer.Options) (*transfer.Report, error) {
	o.Open = boards.Open
	if o.Board == "" {
		o.Board = "emu"
	}
	return transfer.Run(context.Background(), o)
}

var directions = []struct{ from, to transfer.Place }{
	{transfer.VRAM, transfer.VRAM}, {transfer.Host, transfer.VRAM}, {transfer.VRAM, transfer.Host}, {transfer.Host, transfer.Host},
}

// Copies and fills of all kinds of sizes and alignments work in each direction, on
// boards with one node and with two.
func TestCopiesAndFills(t *testing.T) {
	for _, board := range []string{"emu", "emu?config=small"} {
		for _, d := range directions {
			for i, size := range []int{1, 7, 8, 127, 128, 129, 1000} {
				for _, fill := range []bool{false, true} {
					if fill && d.from == transfer.Host {
						continue
					}
					o := transfer.Options{
						Board: board, Fill: fill, Size: size, From: d.from, To: d.to,
						FromAlign: 5 * i, ToAlign: 3*i + 1, Count: 5, Seed: uint64(i),
					}
					r, err := run(o)
					require.NoError(t, err, "%+v", o)
					assert.Equal(t, uint64(r.Nodes*5*size), r.Bytes)
					assert.Positive(t, r.Clocks)
					assert.Positive(t, r.Checked)
				}
			}
		}
	}
}

// The clocks of a copy are exact on the emulator, and more nodes add less than
// half.
func TestClocksAreTheSameEachTime(t *testing.T) {
	o := transfer.Options{Size: 4096, Count: 3, Seed: 3}
	first, err := run(o)
	require.NoError(t, err)
	again, err := run(o)
	require.NoError(t, err)
	assert.Equal(t, first, again)
	assert.Equal(t, 2, first.Nodes)
	o.Nodes = 1
	one, err := run(o)
	require.NoError(t, err)
	assert.Equal(t, first.Bytes, 2*one.Bytes)
	assert.Less(t, one.Clocks, first.Clocks)
}

// Injected faults of the board's hardware fail the run.
func TestInjectedFaultsAreFound(t *testing.T) {
	for _, tt := range []struct {
		fault string
		want  error
	}{
		{"stuck-address:A5=1", scoreboard.ErrDiffers},
		{"stuck-data:D3=0", scoreboard.ErrDiffers},
		{"stuck-enable:2", scoreboard.ErrDiffers},
		{"lost-doorbell", transfer.ErrWrong},
		{"lost-interrupt", transfer.ErrWrong},
		{"dead", bus.ErrTimeout},
	} {
		t.Run(tt.fault, func(t *testing.T) {
			_, err := run(transfer.Options{Board: "emu?fault=" + tt.fault, Size: 300, ToAlign: 3, Count: 2})
			assert.ErrorIs(t, err, tt.want)
		})
	}
}

func TestBadInput(t *testing.T) {
	good := transfer.Options{Size: 64, Count: 1}
	for name, edit := range map[string]func(o *transfer.Options){
		"--size -1, want":          func(o *transfer.Options) { o.Size = -1 },
		"--size 4194305":           func(o *transfer.Options) { o.Size = transfer.MaxSize + 1 },
		"align -1":                 func(o *transfer.Options) { o.FromAlign = -1 },
		"align 4096":               func(o *transfer.Options) { o.ToAlign = 4096 },
		"count 0":                  func(o *transfer.Options) { o.Count = 0 },
		"count 10001":              func(o *transfer.Options) { o.Count = 10001 },
		"nodes 3":                  func(o *transfer.Options) { o.Nodes = 3 },
		"2 nodes, the":             func(o *transfer.Options) { o.Nodes, o.Board = 2, "emu?nodes=1" },
		"want at most 6553":        func(o *transfer.Options) { o.Size, o.Board = 1<<16, "emu?lengthbits=16" },
		"want --size at most 4088": func(o *transfer.Options) { o.Size, o.Board = 5000, "emu?config=small" },
		"--dir vram-vram needs 8192 bytes of VRAM at any --size, the board has 4096: want --dir host-vram": func(o *transfer.Options) {
			o.Board = "emu?config=small&vram=4KiB"
		},
		"--dir vram needs 8192 bytes of VRAM at any --size, the board has 4096: want --dir host": func(o *transfer.Options) {
			o.Board, o.Fill = "emu?vram=4KiB", true
		},
		"--dir host-vram needs 8192 bytes of VRAM at any --size, the board has 4096: want --dir host-host": func(o *transfer.Options) {
			o.Board, o.From, o.Size = "emu?vram=4KiB", transfer.Host, 0
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := good
			edit(&o)
			_, err := run(o)
			require.ErrorIs(t, err, transfer.ErrInput)
			assert.ErrorContains(t, err, name)
		})
	}
}

func ExampleReport_Text() {
	r := transfer.Report{Board: "emu", Packet: "copy", Size: 100, Dir: "vram-host", Align: []int{3, 0}, Count: 2, Nodes: 1, Seed: 7, Bytes: 200, Clocks: 400, Rate: 0.5, Checked: 9000}
	fmt.Print(r.Text())
	// Output:
	// copy     2 of 100 bytes on each of 1 nodes, vram-host, +3 to +0, seed 7 on emu
	// moved    200 bytes in 400 clocks from the doorbell to the last fence, 0.50 bytes per clock
	// checked  9000 bytes of VRAM and host memory, all as expected
}

// Failed is called with the error of a run while the board is open, and not called
// after a success.
func TestFailedBeforeClose(t *testing.T) {
	for board, fails := range map[string]bool{"emu?config=small": false, "emu?config=small&fault=stuck-data:D0=1": true} {
		var link bus.Link
		var told error
		o := transfer.Options{Board: board, Size: 64, Count: 1}
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
		_, err := transfer.Run(t.Context(), o)
		assert.Equal(t, fails, err != nil, board)
		assert.Equal(t, err, told)
	}
}

// The clocks are those of the board, also if the clock of the link has nanoseconds: at 25 MHz a
// clock has 40 of them. The report has a rate that is not 0.
func TestClocksOfABoardAtALine(t *testing.T) {
	var clock bus.Clock
	var from, to uint64
	o := transfer.Options{Board: "pins:ulx3s-25f", Size: 256, From: transfer.Host, Count: 4, Nodes: 1}
	o.Open = func(selector string, host bus.Host) (bus.Link, bus.Clock, error) {
		l, c, err := boards.Open(selector, host)
		clock = c
		return l, c, err
	}
	o.Progress = func(done, _ int) {
		switch done {
		case 1:
			from = clock.Now()
		case 2:
			to = clock.Now()
		}
	}
	r, err := transfer.Run(t.Context(), o)
	require.NoError(t, err)
	assert.Equal(t, uint64(1e9), clock.Hz())
	assert.Less(t, r.Clocks, (to-from)/40, "less than from the start of the node")
	assert.Greater(t, r.Clocks, uint64(1024)*10*12, "1024 bytes at 2 Mbit/s take 12.5 clocks a bit")
	assert.InDelta(t, 1024/float64(r.Clocks), r.Rate, 1e-9)
	assert.NotContains(t, r.Text(), " 0.00 bytes per clock")
	assert.Contains(t, r.Text(), fmt.Sprintf("in %d clocks", r.Clocks))
}
