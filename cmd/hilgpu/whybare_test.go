package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A logLine is an event of a node or of its memory, in the JSON of log.
type logLine struct {
	Kind                   string
	Time                   uint64
	Node                   int
	Address, Packet, Value string
}

// logLines returns the events of some kinds.
func logLines(t *testing.T, path, kinds string) (all []logLine) {
	t.Helper()
	code, stdout, stderr := hilgpu("log", path, "--jsonl", "--kind", kinds)
	require.Zero(t, code, stderr)
	for in := json.NewDecoder(bytes.NewBufferString(stdout)); in.More(); {
		var l logLine
		require.NoError(t, in.Decode(&l))
		if l.Kind != "" { // otherwise the last line
			all = append(all, l)
		}
	}
	assert.True(t, strings.HasSuffix(stdout, fmt.Sprintf("{\"done\":true,\"events\":%d,\"exit_code\":0}\n", len(all))), "the last line has the number of events")
	return all
}

// whyOf returns the answer to a question.
func whyOf(t *testing.T, path string, question ...string) string {
	t.Helper()
	code, stdout, stderr := hilgpu(append([]string{"why", path}, question...)...)
	require.Zero(t, code, stderr)
	return stdout
}

// shown returns a GPU address as why shows it.
func shown(addr string) string {
	if host, ok := strings.CutPrefix(addr, "0x8000"); ok && len(addr) == 18 {
		return "HOST+0x" + strings.TrimLeft(host, "0")
	}
	return "VRAM+" + addr
}

// A storm expects each fault that it makes, so that none is named as what stopped the run. Without submissions why
// answers from what the nodes, the DMA engine and the host did.
func TestWhyOfAStorm(t *testing.T) {
	path := filepath.Join(t.TempDir(), "storm.log")
	code, _, stderr := hilgpu("run", "storm", "--cycles", "150000", "--record", path)
	require.Zero(t, code, stderr)
	faults := len(logLines(t, path, "fault"))
	assert.Greater(t, faults, 5)
	assert.Len(t, logLines(t, path, "expect"), faults)
	assert.Contains(t, whyOf(t, path, "fault"), fmt.Sprintf("nothing stopped the run\nnote: faults that the command made on purpose, and that are left out: %d\n", faults))
	_, refused, _ := hilgpu("log", path, "--kind", "refused")
	assert.Regexp(t, `refused cause=\d+ address=0x4000\w{4} bytes=\d+ write=no\n`, refused)

	inPacket, all := 0, logLines(t, path, "descriptor,executed,fault")
	for i, l := range all[:len(all)-1] {
		if next := all[i+1]; l.Kind == "descriptor" && next.Kind == "executed" && next.Address == l.Packet && next.Time > l.Time {
			assert.Regexp(t, fmt.Sprintf(`node %d was in \w+ at %s`, l.Node, strings.ReplaceAll(shown(l.Packet), "+", `\+`)), whyOf(t, path, "cycle", fmt.Sprint(l.Time)))
			assert.Contains(t, whyOf(t, path, "address", next.Address), "at "+shown(next.Address)+"\n")
			if inPacket++; inPacket == 5 {
				break
			}
		}
	}
	assert.Equal(t, 5, inPacket)
	written := logLines(t, path, "memory")[0]
	answer := whyOf(t, path, "address", "0x8000000000"+strings.TrimPrefix(written.Address, "0x"))
	assert.Contains(t, answer, "it was written ")
	assert.Contains(t, answer, "the GPU writes "+written.Value+" to HOST+"+written.Address)
}

// The log of a command that reads registers tells which.
func TestWhyOfRegisters(t *testing.T) {
	path := filepath.Join(t.TempDir(), "reg.log")
	code, _, stderr := hilgpu("reg", "read", "id.magic", "--record", path)
	require.Zero(t, code, stderr)
	read := logLines(t, path, "read")[0]
	assert.Contains(t, whyOf(t, path, "cycle", fmt.Sprint(read.Time)), "the host reads ID.MAGIC, 0x47504c48")
}

// A command that fails prints the question that its log answers, as a line for a shell.
func TestQuestionOfAFailure(t *testing.T) {
	log := filepath.Join(t.TempDir(), "my log")
	for _, tt := range []struct {
		board, flags string
		record       bool
		want         string
	}{
		{"emu?fault=bit-flip:0.01@3", "--verify=false", true, "hilgpu: to see what led to it: hilgpu why '" + log + "' pixel "},
		{"emu?fault=bit-flip:0.01@3", "--verify=false", false, "add --record run.log, and then: hilgpu why run.log pixel "},
		{"emu?fault=stuck-data:D3=1", "", true, "hilgpu why '" + log + "' fault\n"},
		{"emu?fault=dead", "", true, "hilgpu why '" + log + "' fault\n"},
	} {
		args := append([]string{"run", "compose", "--check", "--size", "32x32", "--board", tt.board}, strings.Fields(tt.flags)...)
		if tt.record {
			args = append(args, "--record", log)
		}
		code, _, stderr := hilgpu(args...)
		assert.NotZero(t, code)
		_, question, ok := strings.Cut(stderr, "pixels differ, the first at ")
		assert.Contains(t, stderr, tt.want)
		if !ok || !tt.record {
			continue
		}
		at, _, _ := strings.Cut(question, ":")
		assert.Contains(t, stderr, tt.want+at+"\n")
		code, stdout, stderr := hilgpu("why", log, "pixel", at)
		assert.Zero(t, code, stderr)
		assert.Contains(t, stdout, "pixel "+at+": ")
	}
}
