package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/regmap"
	"github.com/hilgpu/hilgpu/testbench/command/exit"
	"github.com/hilgpu/hilgpu/testbench/eventlog"
)

// The command accepts an address in the form that it prints. A value that is out of range, or that is true of several things, gets one
// clear line.
func TestWhyReadsWhatItPrints(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.log")
	code, _, stderr := hilgpu("run", "compose", "--size", "32x16", "--record", path)
	require.Zero(t, code, stderr)
	for notation, number := range map[string]string{"VRAM+0x40": "0x40", "HOST+0x100040": "0x8000000000100040", "HOST+1048640": "0x8000000000100040"} {
		assert.Equal(t, whyOf(t, path, "address", number), whyOf(t, path, "address", notation), notation)
	}
	for question, want := range map[string]string{
		"address APERTURE+0x0":            "the page of APERTURE+0x0 was not mapped",
		"address VRAM+0x10000000000":      `address "VRAM+0x10000000000", want a number, or VRAM+0x40, APERTURE+0x40 or HOST+0x40`,
		"address HOST+0x8000000000000000": "want a number, or VRAM+0x40",
		"address ROM+0x40":                "want a number, or VRAM+0x40",
		"fence 2":                         "why: several things in the log fit: 2 nodes have a fence 2; ask for fence 0:2 or fence 1:2",
		"pixel -1,0":                      "-1,0 is out of range: calls count from 1, clocks, addresses and pixels from 0",
		"call -1":                         "-1 is out of range: calls count from 1",
		"call -- -1":                      `call "-1", want a number`,
		"call --bad":                      "unknown flag --bad",
	} {
		code, stdout, stderr := hilgpu(append([]string{"why", path}, strings.Fields(question)...)...)
		assert.Equal(t, exit.Usage, code, question)
		assert.Empty(t, stdout, question)
		assert.Contains(t, stderr, want, question)
	}
}

// A damaged block of events does not hide the rest of the log: the answer says which events are missing. A log without a whole block says so.
func TestWhyOfADamagedLog(t *testing.T) {
	var log bytes.Buffer
	w, err := eventlog.NewWriter(&log, eventlog.Header{Map: regmap.Hash()})
	require.NoError(t, err)
	var ends []int // of blocks
	for i := range uint64(9) {
		w.Add(eventlog.New(eventlog.Call, i+1).WithText("Flush"))
		if i%3 == 2 {
			require.NoError(t, w.Flush())
			ends = append(ends, log.Len())
		}
	}
	path := filepath.Join(t.TempDir(), "run.log")
	damaged := bytes.Clone(log.Bytes())
	damaged[ends[1]-1] ^= 0xff
	require.NoError(t, os.WriteFile(path, damaged, 0o644))
	assert.Contains(t, whyOf(t, path, "call", "7"), "note: the log is damaged: events 4 to 6 are missing, and what they did is not known\n")
	assert.Contains(t, whyOf(t, path, "fault"), "events 4 to 6 are missing")

	require.NoError(t, os.WriteFile(path, damaged[:headerOf(damaged)+3], 0o644))
	answer := whyOf(t, path, "fault")
	assert.Regexp(t, regexp.MustCompile(`(?s)^fault: nothing is known\n.*missing: unknown\nbecause the log has no event\nnote: the log has no complete block: `), answer)
}

// headerOf returns the size of the header of a log.
func headerOf(log []byte) int {
	return 20 + int(log[12]) + int(log[13])<<8
}
