package main

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
	"github.com/hilgpu/hilgpu/testbench"
	"github.com/hilgpu/hilgpu/testbench/command"
	"github.com/hilgpu/hilgpu/testbench/command/exit"
	"github.com/hilgpu/hilgpu/testbench/command/terminal/terminaltest"
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

// Run stress refuses what the board or the directory of --dump does not allow in one line, before the first round.
func TestStressRefuses(t *testing.T) {
	for _, tt := range []struct{ flags, says string }{
		{"--board emu?vram=64KiB&readtimeout=0 --faults host-read=0.02", "stress: invalid options: the fault host-read on the board emu?vram=64KiB&readtimeout=0, want a GPU with CAPS2.READTIMEOUT, "},
		{"--board emu?config=small --faults bad-packet=0.1,host-read=0.5", "stress: invalid options: the fault host-read on the board emu?config=small, want "},
		{"--board emu?config=small --faults ignore-preempt=0.5", "stress: invalid options: the fault ignore-preempt on the board emu?config=small, want a GPU whose driver claims preemption, "},
		{"--firmware-queues", "testbench: no firmware queues: the GPU lacks mcu; want "},
		{"--faults bad-packet=0.05,bad-packet=0", `stress: invalid options: fault "bad-packet" twice in "bad-packet=0.05,bad-packet=0", want each fault once`},
		{"--faults firmware=0.1", "stress: invalid options: the fault firmware, which needs --firmware-queues"},
		{"--dump " + os.DevNull, "bad input: cannot write " + os.DevNull + ": not a directory"},
		{"--dump /proc/self --faults bad-packet=0.05", "bad input: cannot write /proc/self/reset-1.txt: "},
	} {
		if strings.Contains(tt.flags, "/proc/") && runtime.GOOS != "linux" {
			continue
		}
		args := append([]string{"run", "stress"}, strings.Fields(tt.flags)...)
		code, stdout, stderr := hilgpu(args...)
		assert.Equal(t, exit.Usage, code, tt.flags)
		assert.True(t, strings.HasPrefix(stderr, "hilgpu: "+tt.says), stderr)
		assert.Equal(t, 1, strings.Count(stderr, "\n"), stderr)
		assert.Empty(t, stdout)

		code, stdout, stderr = hilgpu(append(args, "--json")...)
		assert.Equal(t, exit.Usage, code, tt.flags)
		all := lines(t, stdout)
		require.Len(t, all, 1)
		wantError(t, all[0], exit.Usage, "usage", stderr)
	}
	dir := t.TempDir()
	for _, name := range []string{"reset-1.txt", "reset-12.txt", "last.log", "reset-0.txt", "reset-a.txt", "my-reset-1.txt", "notes"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), nil, 0o666))
	}
	require.NoError(t, os.Mkdir(filepath.Join(dir, "reset-3.txt"), 0o777))
	left := func() (names []string) {
		all, err := os.ReadDir(dir)
		require.NoError(t, err)
		for _, e := range all {
			names = append(names, e.Name())
		}
		return names
	}
	before := left()
	code, _, stderr := hilgpu("run", "stress", "--frames", "0", "--dump", dir)
	require.Equal(t, exit.Usage, code, stderr)
	assert.Equal(t, before, left(), "a run that is refused leaves them")
	code, _, stderr = hilgpu("run", "stress", "--processes", "1", "--frames", "1", "--rounds", "1", "--board", "emu?vram=32KiB", "--dump", dir)
	require.Zero(t, code, stderr)
	assert.Equal(t, []string{"my-reset-1.txt", "notes", "reset-0.txt", "reset-3.txt", "reset-a.txt"}, left(), "the files of an earlier run are removed")
}

// A slow run shows its frames on standard error, the seed first, and the answer stays the same. A terminal has them as
// progress. The help of --json is that of lines.
func TestStressShowsFrames(t *testing.T) {
	run := strings.Fields("run stress --processes 2 --frames 2 --rounds 1 --seed 7 --board emu?vram=32KiB")
	for _, args := range [][]string{run, append(run, "--json")} {
		_, want, _ := hilgpu(args...)
		var out, errs bytes.Buffer
		a := newApp(&out, &errs, nil)
		slow := 0
		a.Stderr.Time.After = func(_ time.Duration, f func()) func() bool {
			if slow++; slow == 1 {
				go f()
			}
			return func() bool { return true }
		}
		require.Zero(t, a.Run(args))
		assert.Equal(t, want, out.String())
		assert.Regexp(t, `^hilgpu: seed 7: round [012]: [0-4] of 4 frames\n$`, errs.String())
	}
	x := terminaltest.Open(t)
	var out strings.Builder
	a := newApp(&out, x.Out, nil)
	at := time.Unix(0, 0)
	a.Stderr.Time.Now = func() time.Time { at = at.Add(time.Second); return at }
	a.Stderr.Time.After = func(time.Duration, func()) func() bool { return func() bool { return true } }
	got := x.Text(func() { assert.Zero(t, a.Run(run)) })
	assert.Regexp(t, `seed 7, round 1, [\dhms]+s +\d+% .*\(\d/4\)`, got)
	assert.NotContains(t, terminaltest.Seen(got), "%", "the line is cleared")

	_, help, _ := hilgpu("run", "stress", "--help")
	assert.Contains(t, strings.Join(strings.Fields(help), " "), "--json print JSON lines: one per round, and a last one with any error ")
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
