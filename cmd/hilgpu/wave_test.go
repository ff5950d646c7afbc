package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/hdl/vcd/vcdtest"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
	"github.com/hilgpu/hilgpu/testbench/command/exit"
)

// TestWave records the GPU while commands run, including commands that fail.
func TestWave(t *testing.T) {
	tooltest.Long(t)
	small := []string{"run", "compose", "--size", "16x16"}
	for _, tt := range []struct {
		name string
		args []string
		code int
		from uint64 // first time
		to   uint64 // last time; 0: any
	}{
		{"compose", small, exit.OK, 0, 0},
		{"over a line", append(small, "--board", "line?baud=100000000"), exit.OK, 0, 0},
		{"some clocks", append(small, "--wave-on", "cycle 3000..3100"), exit.OK, 3000, 3100},
		{"the same, shorter", append(small, "--wave-on=3000..3100"), exit.OK, 3000, 3100},
		{"lists", []string{"run", "lists", "--lists", "10", "--alive", "5"}, exit.OK, 0, 0},
		{"copy", []string{"run", "copy", "--size", "64", "--count", "2"}, exit.OK, 0, 0},
		{"fill", []string{"run", "fill", "--size", "64", "--count", "2"}, exit.OK, 0, 0},
		{"storm", []string{"run", "storm", "--cycles", "5000"}, exit.OK, 0, 0},
		{"bringup", []string{"bringup", "--only", "ident"}, exit.OK, 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "w.vcd")
			var out, errs bytes.Buffer
			require.Equal(t, tt.code, run(append(tt.args[:len(tt.args):len(tt.args)], "--wave", path), &out, &errs), errs.String())
			d := readWave(t, path)
			assert.Equal(t, tt.from, d.Times[0])
			last := d.Times[len(d.Times)-1]
			if tt.to != 0 {
				assert.Equal(t, tt.to, last)
			}
			assert.Greater(t, len(d.Times), 50)
			assert.Contains(t, d.Vars, "gpu.cp1.op")
		})
	}
}

func readWave(t *testing.T, path string) *vcdtest.Dump {
	t.Helper()
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	d, err := vcdtest.Parse(f)
	require.NoError(t, err)
	assert.EqualValues(t, 1e6, d.Unit, "5 ns are half of a period of 100 MHz")
	d, err = d.Clocks("gpu.clk", 100_000_000)
	require.NoError(t, err)
	return d
}

// If a GPU stops or differs from its reference model, the wave has its last
// clocks, even if no node reported a fault. Without such an error there is no
// wave.
func TestWaveOnFault(t *testing.T) {
	tooltest.Long(t)
	for _, tt := range []struct {
		args  string
		board string
		code  int
	}{
		{"run compose --size 16x16", "emu", exit.OK},
		{"run compose --size 16x16", "emu?fault=lost-doorbell&after=2", exit.Device},
		{"run copy --size 64", "emu", exit.OK},
		{"run copy --size 64", "emu?fault=dead", exit.Device},
		{"run copy --size 64", "emu?fault=lost-interrupt", exit.Device},
		{"run copy --size 64", "emu?fault=stuck-data:D0=1", exit.Check},
		{"run fill --size 64", "emu", exit.OK},
		{"run fill --size 64", "emu?fault=dead", exit.Device},
		{"run fill --size 64", "emu?fault=stuck-data:D0=1", exit.Check},
		{"run storm --cycles 3000000", "emu?fault=dead", exit.Device},
		{"run storm --cycles 3000000", "emu?fault=lost-interrupt&after=1", exit.Check},
		{"run storm --cycles 3000000", "emu?fault=stuck-enable:5", exit.Check},
		{"bringup --only ident", "emu", exit.OK},
		{"bringup", "emu?config=small&fault=lost-doorbell", exit.Check},
	} {
		t.Run(tt.args+" "+tt.board, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "w.vcd")
			code, _, stderr := hilgpu(append(strings.Fields(tt.args), "--board", tt.board, "--wave-on", "fault", "--wave", path)...)
			require.Equal(t, tt.code, code, stderr)
			if tt.code == exit.OK {
				assert.NoFileExists(t, path)
				assert.Equal(t, "hilgpu: "+path+" is not written, --wave-on \"fault\": no node faulted\n", stderr)
				return
			}
			d := readWave(t, path)
			assert.Greater(t, len(d.Times), 100)
			assert.True(t, slices.ContainsFunc(d.Changes, func(c map[string]string) bool { return c["gpu.cp0.regs_run"] == "1" }))
		})
	}
}

// No file is written for clocks that the run does not reach.
func TestWaveOfNoClock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "w.vcd")
	code, _, stderr := hilgpu("bringup", "--only", "ident", "--wave", path, "--wave-on", "cycle 900000000..900000001")
	require.Equal(t, exit.OK, code, stderr)
	assert.Equal(t, "hilgpu: "+path+" is not written, --wave-on \"cycle 900000000..900000001\": the run did not reach its clocks\n", stderr)
	assert.NoFileExists(t, path)
}

func TestWaveBadInput(t *testing.T) {
	path := filepath.Join(t.TempDir(), "w.vcd")
	for _, tt := range []struct {
		args []string
		says string
	}{
		{[]string{"--wave-on", "fault"}, "without --wave FILE"},
		{[]string{"--wave", path, "--wave-on", "sometimes"}, `--wave-on "sometimes", want fault or cycle A..B`},
		{[]string{"--wave", path, "--wave-on", "cycle 9..9"}, "with A below B"},
		{[]string{"--wave", path, "--board", "pins:ulx3s?sim=verilator"}, "want go, to record a waveform"},
		{[]string{"--wave", path, "--wave-on", "fault", "--board", "pins:ulx3s"}, "gateware is recorded once, and from clock to clock only"},
		{[]string{"--wave", path, "--wave-on", "cycle -1..9"}, "with A below B"},
		{[]string{"--wave", "/nowhere/w.vcd"}, "cannot write /nowhere/w.vcd"},
		{[]string{"--wave", path, "--board", "tcp:127.0.0.1:1"}, "a waveform needs a GPU emulated in this process, want emu, line or pins"},
	} {
		var out, errs bytes.Buffer
		assert.Equal(t, exit.Usage, run(append([]string{"run", "compose"}, tt.args...), &out, &errs), "%q", tt.args)
		assert.Contains(t, errs.String(), tt.says)
		_, err := os.Stat(path)
		assert.ErrorIs(t, err, os.ErrNotExist)
	}
}
