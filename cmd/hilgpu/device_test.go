package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/abi/regmap"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
	"github.com/hilgpu/hilgpu/testbench/command/exit"
	"github.com/hilgpu/hilgpu/testbench/device/storm"
	"github.com/hilgpu/hilgpu/testbench/device/transfer"
)

func TestTransfersSayWhatTheyTook(t *testing.T) {
	for _, args := range []string{
		"copy --size 500 --count 3",
		"copy --size 500 --dir host-vram --align 3,5 --nodes 1",
		"copy --size 500 --dir vram-host --align 4090",
		"copy --size 500 --dir host-host --board emu?config=small",
		"fill --size 500 --align 1",
		"fill --size 500 --dir host",
	} {
		t.Run(args, func(t *testing.T) {
			code, stdout, stderr := hilgpu(append([]string{"run"}, strings.Fields(args)...)...)
			require.Zero(t, code, stderr)
			assert.Empty(t, stderr)
			for _, part := range []string{"moved    ", " bytes per clock\n", "all as expected\n"} {
				assert.Contains(t, stdout, part)
			}
		})
	}
}

func TestTransferAsJSON(t *testing.T) {
	code, stdout, stderr := hilgpu("run", "copy", "--size", "100", "--count", "2", "--align", "7", "--json")
	require.Zero(t, code, stderr)
	var r transfer.Report
	require.NoError(t, json.Unmarshal([]byte(stdout), &r))
	assert.Equal(t, uint64(400), r.Bytes)
	assert.Equal(t, []int{7, 7}, r.Align)
	assert.Equal(t, "vram-vram", r.Dir)
}

func TestDeviceWorkloadsFail(t *testing.T) {
	tooltest.Long(t)
	for _, tt := range []struct {
		args string
		code int
		says string
	}{
		{"copy --size -1", exit.Usage, "--size -1, want 0 to"},
		{"copy --size many", exit.Usage, "many"},
		{"copy --dir up", exit.Usage, `--dir "up"`},
		{"copy --dir vram", exit.Usage, `--dir "vram"`},
		{"fill --dir vram-vram", exit.Usage, `--dir "vram-vram"`},
		{"copy --align x", exit.Usage, `--align "x"`},
		{"copy --align 1,2,3", exit.Usage, `--align "1,2,3"`},
		{"fill --align 1,2", exit.Usage, `--align "1,2"`},
		{"copy --align 5000", exit.Usage, "align 5000"},
		{"fill --count 0", exit.Usage, "count 0"},
		{"copy --nodes 2 --board emu?nodes=1", exit.Usage, "the board has 1"},
		{"copy --board vapour", exit.Usage, `"vapour"`},
		{"copy now", exit.Usage, "now"},
		{"copy --size 64 --board emu?fault=stuck-data:D0=1", exit.Check, "VRAM at"},
		{"copy --size 64 --board emu?fault=lost-interrupt", exit.Device, "CP0.STATUS"},
		{"fill --size 64 --board emu?fault=dead", exit.Device, "no completion"},
		{"storm --cycles 0", exit.Usage, "0 cycles"},
		{"storm --cycles many", exit.Usage, "many"},
		{"storm --board vapour", exit.Usage, `"vapour"`},
		{"storm now", exit.Usage, "now"},
		{"copy --board emu?fault=stuck-register:D3=0", exit.NoDevice, "ID.MAGIC"},
	} {
		t.Run(tt.args, func(t *testing.T) {
			code, stdout, stderr := hilgpu(append([]string{"run"}, strings.Fields(tt.args)...)...)
			assert.Equal(t, tt.code, code, stderr)
			assert.Empty(t, stdout)
			assert.Equal(t, 1, strings.Count(withoutHint(stderr), "\n"), "one line: %q", stderr)
			assert.Contains(t, stderr, tt.says)
		})
	}
}

// withoutHint returns the text of an error without the line that says how to find its cause.
func withoutHint(stderr string) string {
	text, _, _ := strings.Cut(stderr, "hilgpu: to see what led to it, ")
	return text
}

// A short storm misses bins; this is reported and fails only with --cover.
func TestStormPrintsWhatItHit(t *testing.T) {
	code, stdout, stderr := hilgpu("run", "storm", "--cycles", "50000")
	require.Zero(t, code, stderr)
	assert.Empty(t, stderr)
	for _, part := range []string{"COPY         VRAM to host", "FENCE        ID", "MISSING", " bins hit, "} {
		assert.Contains(t, stdout, part)
	}
	code, again, stderr := hilgpu("run", "storm", "--cycles", "50000", "--cover")
	assert.Equal(t, exit.Check, code)
	assert.Equal(t, stdout, again)
	assert.Contains(t, stderr, "bins were not hit")
}

// A seed gives one order of all accesses, also of those after a reset.
func TestStormIsTheSameEachTime(t *testing.T) {
	var logs [4][]byte
	for i := range logs {
		path := filepath.Join(t.TempDir(), "log")
		code, _, stderr := hilgpu("run", "storm", "--cycles", "100000", "--record", path)
		require.Zero(t, code, stderr)
		var err error
		logs[i], err = os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, logs[0], logs[i])
	}
}

// The sanitizer does not change what a storm finds, and can be turned off.
func TestStormWithoutTheSanitizer(t *testing.T) {
	code, with, stderr := hilgpu("run", "storm", "--cycles", "50000")
	require.Zero(t, code, stderr)
	code, without, stderr := hilgpu("run", "storm", "--cycles", "50000", "--sanitize=false")
	require.Zero(t, code, stderr)
	assert.Equal(t, with, without)
	_, help, _ := hilgpu("run", "storm", "--help")
	assert.Regexp(t, `(?s)--sanitize +check .*\(default true\)`, help)
}

func TestStormAsJSON(t *testing.T) {
	code, stdout, stderr := hilgpu("run", "storm", "--board", "emu?config=small", "--seed", "3", "--cover", "--json")
	require.Zero(t, code, stderr)
	var r storm.Report
	require.NoError(t, json.Unmarshal([]byte(stdout), &r))
	assert.Equal(t, uint64(3), r.Seed)
	assert.Equal(t, len(r.Bins), r.Covered)
	assert.Empty(t, r.Missing)
}

func TestStormFindsAFault(t *testing.T) {
	code, stdout, stderr := hilgpu("run", "storm", "--board", "emu?fault=stuck-enable:5")
	assert.Equal(t, exit.Check, code, stderr)
	assert.Contains(t, stdout, " bins hit, ")
	for _, part := range []string{"node 1\n", " FENCE addr=", "differs"} {
		assert.Contains(t, stderr, part)
	}
}

// otherMap is a board whose MAP_HASH is another one, and whose MAGIC is not.
func otherMap() string {
	for n := range 32 {
		if bit := idreg.MagicValue >> n & 1; uint32(bit) != regmap.Hash()>>n&1 {
			return fmt.Sprintf("emu?fault=stuck-register:D%d=%d", n, bit)
		}
	}
	return "" // MAGIC and MAP_HASH are equal
}

func TestTransferOnAnotherRegisterMap(t *testing.T) {
	code, _, stderr := hilgpu("run", "fill", "--board", otherMap())
	assert.Equal(t, exit.Map, code, stderr)
	assert.Contains(t, stderr, "ID.MAP_HASH")
}
