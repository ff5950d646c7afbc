package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
	"github.com/hilgpu/hilgpu/testbench"
	"github.com/hilgpu/hilgpu/testbench/command"
	"github.com/hilgpu/hilgpu/testbench/command/exit"
)

// Run stress prints a line for each round, the seed first, and as many JSON lines and one more. A
// GPU that computes wrong is found.
func TestStress(t *testing.T) {
	run := "run stress --processes 2 --frames 2 --rounds 2 --seed 7 --faults bad-packet=0.02 --board emu?vram=32KiB"
	code, stdout, stderr := hilgpu(strings.Fields(run)...)
	require.Zero(t, code, stderr)
	text := strings.Split(strings.TrimSuffix(stdout, "\n"), "\n")
	require.Len(t, text, 3)
	assert.Regexp(t, `^seed 7: round 3: \d+ frames, .*; digest [0-9a-f]{32}$`, text[2])

	code, stdout, stderr = hilgpu(strings.Fields(run + " --json")...)
	require.Zero(t, code, stderr)
	all := lines(t, stdout)
	require.Len(t, all, 4)
	assert.True(t, strings.HasPrefix(stdout, `{"seed":7,"round":1,`), stdout)
	assert.Contains(t, text[2], all[2]["digest"])
	assert.Equal(t, map[string]any{"done": true, "rounds": 3.0, "exit_code": 0.0}, all[3])

	code, stdout, stderr = hilgpu(strings.Fields(run + "&fault=stuck-data:D0=1 --json")...)
	assert.Equal(t, exit.Check, code)
	assert.Contains(t, stderr, "hilgpu: check failed: stress: failed: seed 7, round 0, process ")
	all = lines(t, stdout)
	require.Len(t, all, 2)
	assert.Equal(t, []any{7.0, 0.0}, []any{all[0]["seed"], all[0]["round"]}, "a failure before the first round has its seed")
	wantError(t, all[1], 1, "check", stderr)
	for _, bad := range []string{"--faults rain=1", "--faults unplug", "--pressure 0", "--hang 2", "--rounds 0", "--firmware-queues --faults ignore-preempt=0.1"} {
		code, _, stderr := hilgpu(append(strings.Fields(run), strings.Fields(bad)...)...)
		assert.Equal(t, exit.Usage, code, bad)
		assert.Equal(t, 1, strings.Count(stderr, "\n"), stderr)
	}
}

// misplaced returns drivers with a miniport that patches a wrong address into each submission that
// begins with SET_STATE.
func misplaced() testbench.Drivers {
	d := testbench.HostDrivers()
	entry := d.KernelMode
	d.KernelMode = func() kmddi.DriverInitializationData {
		table := entry()
		patch := table.Patch
		table.Patch = func(t *ddi.Thread, h kmddi.HAdapter, arg kmddi.Patch) ddi.Status {
			s := patch(t, h, arg)
			if part := arg.DmaBuffer[arg.DmaBufferSubmissionStartOffset:arg.DmaBufferSubmissionEndOffset]; !arg.Flags.Paging && part[3] == pkt.OpSetState {
				part[8] |= 0x40
			}
			return s
		}
		return table
	}
	return d
}

// Run stress uses the sanitizer unless it is told not to. Without it the wrong contents are found.
func TestStressSanitizes(t *testing.T) {
	for args, want := range map[string]struct {
		code       int
		kind, text string
	}{
		"":                 {exit.Contract, "contract", ": verifier: access-address (driver): DxgkDdiPatch: "},
		"--sanitize=false": {exit.Check, "check", ": the frame: wrong contents: "},
	} {
		var out, errs bytes.Buffer
		p := command.Program{Name: command.Name, Drivers: misplaced(), Root: newRoot}
		run := "run stress --processes 2 --frames 2 --rounds 2 --seed 7 --json --board emu?vram=32KiB "
		assert.Equal(t, want.code, command.NewApp(p, &out, &errs, nil).Run(strings.Fields(run+args)), args)
		assert.Contains(t, errs.String(), want.text, args)
		all := lines(t, out.String())
		wantError(t, all[len(all)-1], want.code, want.kind, errs.String())
	}
}
