package shell

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

var wordsFlag = flag.Int("shell.words", 5000, "words of each run of TestAsyncFIFO")

// compiled returns the simulation of the queue with a synchronizer. block is the parameter
// BLOCK.
func compiled(t *testing.T, fifo, sync []byte, block int) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "fifo.v"), fifo, 0o666))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "sync.v"), sync, 0o666))
	out := filepath.Join(dir, "drift.vvp")
	text, err := exec.Command("iverilog", "-g2005", "-Wall", "-s", "drift", fmt.Sprintf("-Pdrift.BLOCK=%d", block), "-o", out, filepath.Join(dir, "fifo.v"), filepath.Join(dir, "sync.v"), "testdata/drift.v").CombinedOutput()
	require.NoError(t, err, "%s", text)
	return out
}

// run transfers words, and returns what the simulation prints.
func run(t *testing.T, vvp string, wps, rps, wgaps, rgaps, seed int) string {
	t.Helper()
	args := []string{"-n", vvp}
	for name, v := range map[string]int{"words": *wordsFlag, "wps": wps, "rps": rps, "wgaps": wgaps, "rgaps": rgaps, "seed": seed} {
		args = append(args, fmt.Sprintf("+%s=%d", name, v))
	}
	text, err := exec.Command("vvp", args...).CombinedOutput()
	require.NoError(t, err, "%s", text)
	return strings.TrimSpace(strings.Split(string(text), "\n")[0])
}

func skew(t *testing.T) []byte {
	t.Helper()
	text, err := os.ReadFile("testdata/skew.v")
	require.NoError(t, err)
	return text
}

// TestAsyncFIFO compares each word while both clocks drift, with an ideal synchronizer and with
// one whose bits arrive at different times.
func TestAsyncFIFO(t *testing.T) {
	tooltest.Need(t, "iverilog", "vvp")
	for name, at := range map[string]struct {
		sync  []byte
		block int
	}{"ideal": {AsyncFIFOSync, 0}, "skewed": {skew(t), 0}, "in block RAM": {skew(t), 1}} {
		vvp := compiled(t, AsyncFIFO, at.sync, at.block)
		for _, tt := range []struct {
			name         string
			wps, rps     int // periods
			wgaps, rgaps int
			full, empty  bool // both happen
		}{
			{"125 MHz both", 8000, 8000, 0, 0, true, true},
			{"125 MHz and 0.01 % less", 8000, 8001, 0, 0, false, true},
			{"125 to 21 MHz", 8000, 47619, 0, 0, true, false},
			{"21 to 125 MHz", 47619, 8000, 0, 0, false, true},
			{"100 to 125 MHz", 10000, 8000, 0, 0, false, true},
			{"125 to 100 MHz", 8000, 10000, 0, 0, true, false},
			{"with pauses", 8000, 7900, 128, 128, true, true},
			{"a writer with pauses", 7001, 13000, 140, 10, false, true},
		} {
			t.Run(name+" "+tt.name, func(t *testing.T) {
				t.Parallel()
				got := run(t, vvp, tt.wps, tt.rps, tt.wgaps, tt.rgaps, 1)
				var full, empty, low int
				_, err := fmt.Sscanf(got, "ok, full %d, empty %d, low %d", &full, &empty, &low)
				require.NoError(t, err, got)
				if tt.full {
					assert.Positive(t, full)
				}
				if tt.empty {
					assert.Positive(t, empty)
					assert.Positive(t, low)
				}
				t.Log(got)
			})
		}
	}
}

// TestBroken: the simulation finds a queue that is wrong.
func TestBroken(t *testing.T) {
	tooltest.Need(t, "iverilog", "vvp")
	for _, tt := range []struct {
		name, old, now string
		block, gaps    int
	}{
		{"pointers in binary", "next ^ (wnext >> 1)", "next", 0, 0},
		{"never full", "wgray != end_of_room && wagray != end_of_room", "1'b1", 0, 0},
		{"full a word too late", "&& wagray != end_of_room", "", 0, 128},
		{"low with room for a word", "taken < HALF", "wready", 0, 128},
		{"one word too many", "mem[wbin[LOG-1:0]] <= wdata", "mem[{1'b0, wbin[LOG-2:0]}] <= wdata", 0, 0},
		{"a word replaced before it is taken", "fetched && (!valid || rready)", "fetched", 1, 128},
		{"a word replaced in the register", "some && (!fetched || move)", "some", 1, 128},
		{"a word lost without the next", "move || (valid && !rready)", "move", 1, 128},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, 1, bytes.Count(AsyncFIFO, []byte(tt.old)))
			broken := bytes.Replace(AsyncFIFO, []byte(tt.old), []byte(tt.now), 1)
			got := run(t, compiled(t, broken, skew(t), tt.block), 8000, 9000, 0, tt.gaps, 1)
			assert.NotContains(t, got, "ok")
			t.Log(got)
		})
	}
}

// TestLint: Verilator gives no warning.
func TestLint(t *testing.T) {
	tooltest.Need(t, "verilator")
	for _, block := range []string{"0", "1"} {
		text, err := exec.Command("verilator", "--lint-only", "-Wall", "-Wno-MULTITOP", "-GBLOCK="+block, "--top-module", "asyncfifo", "asyncfifo.v", "asyncfifo_sync.v").CombinedOutput()
		require.NoError(t, err, "%s", text)
		assert.Empty(t, string(text))
	}
}
