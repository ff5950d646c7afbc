package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/hdl/vcd/vcdtest"
)

// TestWave records what commands have the GPU do, also when they fail.
func TestWave(t *testing.T) {
	small := []string{"run", "compose", "--size", "16x16"}
	for _, tt := range []struct {
		name string
		args []string
		code int
		from uint64 // first time
		to   uint64 // last time; 0: any
	}{
		{"compose", small, exitOK, 0, 0},
		{"over a line", append(small, "--board", "line?baud=100000000"), exitOK, 0, 0},
		{"some clocks", append(small, "--wave-on", "cycle 3000..3100"), exitOK, 3000, 3100},
		{"the same, shorter", append(small, "--wave-on=3000..3100"), exitOK, 3000, 3100},
		{"lists", []string{"run", "lists", "--lists", "10", "--alive", "5"}, exitOK, 0, 0},
		{"bringup", []string{"bringup", "--only", "ident"}, exitOK, 0, 0},
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
	return d
}

// A GPU that stops has its last clocks in the wave, although no node told of a
// fault; one that works has none.
func TestWaveOnFault(t *testing.T) {
	for board, code := range map[string]int{"emu?fault=lost-doorbell&after=2": exitDevice, "emu": exitOK} {
		path := filepath.Join(t.TempDir(), "w.vcd")
		var out, errs bytes.Buffer
		args := []string{"run", "compose", "--size", "16x16", "--board", board, "--wave-on", "fault", "--wave", path}
		require.Equal(t, code, run(args, &out, &errs), errs.String())
		d := readWave(t, path)
		assert.Equal(t, code == exitDevice, len(d.Times) > 100, "%d times", len(d.Times))
	}
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
		{[]string{"--wave", path, "--wave-on", "cycle -1..9"}, "with A below B"},
		{[]string{"--wave", "/nowhere/w.vcd"}, "cannot write /nowhere/w.vcd"},
		{[]string{"--wave", path, "--board", "tcp:127.0.0.1:1"}, "a wave is of a GPU that is emulated here, want emu or line"},
	} {
		var out, errs bytes.Buffer
		assert.Equal(t, exitUsage, run(append([]string{"run", "compose"}, tt.args...), &out, &errs), "%q", tt.args)
		assert.Contains(t, errs.String(), tt.says)
		_, err := os.Stat(path)
		assert.ErrorIs(t, err, os.ErrNotExist)
	}
}
