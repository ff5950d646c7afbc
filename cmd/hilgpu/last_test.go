package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
	"github.com/hilgpu/hilgpu/testbench/command/exit"
)

// A storm or a stress that fails prints the 40 events up to its failure, and where what is kept begins. That
// is the reset or the stop which the error names. With --dump a log has all that is kept, and an answer that lies before it says so.
func TestLastEventsOfAFailure(t *testing.T) {
	tooltest.Long(t)
	code, _, stderr := hilgpu("run", "storm", "--board", "emu?fault=stuck-enable:5")
	require.Equal(t, exit.Check, code, stderr)
	assert.Regexp(t, `hilgpu: the last 40 events up to the first failure, of \d+ events:\n(\d+ \d+ .*\n){40}$`, stderr)
	assert.NotContains(t, stderr, " end check failed", "that is after the failure")

	code, _, stderr = hilgpu("run", "stress", "--board", "emu?config=small&fault=lost-doorbell&after=600")
	require.Equal(t, exit.Check, code, stderr)
	assert.Regexp(t, `up to the first failure, of \d+ events.*:\n(\d+ \d+ .*\n){39}\d+ \d+ stop .* GPU time-out: node 0.*\n$`, stderr)

	dir := t.TempDir()
	code, _, stderr = hilgpu("run", "stress", "--board", "emu?vram=64KiB&fault=lost-doorbell&after=560", "--dump", dir)
	require.Equal(t, exit.Check, code, stderr)
	log := filepath.Join(dir, "last.log")
	assert.Regexp(t, `hilgpu: the last 40 events up to the first failure, of \d+ events; the log begins at event \d+, clock \d+:\n(\d+ \d+ .*\n){39}\d+ \d+ reset .* GPU time-out: node 0, fence 413: .*\nhilgpu: what is kept is in `, stderr)
	assert.Contains(t, stderr, log)
	assert.Regexp(t, `check failed: .* GPU time-out: node 0, fence 413: `, stderr, "the reset is that of the error")

	code, stdout, stderr := hilgpu("why", log, "fault")
	require.Zero(t, code, stderr)
	assert.Contains(t, stdout, "GPU time-out: node 0")
	_, all, _ := hilgpu("log", log)
	first := strings.Fields(all)
	for _, question := range []string{"call 1", "fence 1:1", "call 999999"} {
		code, _, stderr = hilgpu(append([]string{"why", log}, strings.Fields(question)...)...)
		assert.Equal(t, exit.Usage, code)
		assert.Contains(t, stderr, "; the log begins at event "+first[0]+", clock "+first[1]+": what was before is not in it\n", question)
	}
}

// A run that succeeds prints no events, and one with a log prints none either, since the log has all.
func TestNoLastEvents(t *testing.T) {
	code, _, stderr := hilgpu("run", "storm", "--cycles", "50000")
	assert.Zero(t, code)
	assert.Empty(t, stderr)
	log := filepath.Join(t.TempDir(), "run.log")
	code, _, stderr = hilgpu("run", "storm", "--board", "emu?fault=stuck-enable:5", "--record", log)
	assert.Equal(t, exit.Check, code)
	assert.NotContains(t, stderr, "the last 40")
	code, _, stderr = hilgpu("why", log, "call", "1")
	assert.Equal(t, exit.Usage, code)
	assert.NotContains(t, stderr, "the log begins")
}
