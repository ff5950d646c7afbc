package main

import (
	"bytes"
	"encoding/json"
	"image"
	"image/jpeg"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/cmd/hilgpu/version"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
	"github.com/hilgpu/hilgpu/runtime/verifier"
	"github.com/hilgpu/hilgpu/testbench"
	"github.com/hilgpu/hilgpu/testbench/command"
	"github.com/hilgpu/hilgpu/testbench/command/exit"
	"github.com/hilgpu/hilgpu/testbench/compose"
	"github.com/hilgpu/hilgpu/testbench/session"
)

// hilgpu runs a command line.
func hilgpu(args ...string) (code int, stdout, stderr string) {
	var out, err bytes.Buffer
	code = run(args, &out, &err)
	return code, out.String(), err.String()
}

func writeImage(t *testing.T, path string, w, h int) string {
	t.Helper()
	img := image.NewNRGBA(image.Rect(0, 0, w, h))
	for i := range img.Pix {
		img.Pix[i] = uint8(i * 7)
	}
	f, err := os.Create(path)
	require.NoError(t, err)
	defer f.Close()
	if strings.HasSuffix(path, ".jpg") {
		require.NoError(t, jpeg.Encode(f, img, nil))
	} else {
		require.NoError(t, png.Encode(f, img))
	}
	return path
}

func TestComposeWritesTheFrame(t *testing.T) {
	dir := t.TempDir()
	out := filepath.Join(dir, "frame.png")
	args := []string{"run", "compose", "--check", "--size", "64x48", "--json", "-o", out, "--ddi", filepath.Join(dir, "ddi.jsonl"),
		writeImage(t, filepath.Join(dir, "a.png"), 20, 10), writeImage(t, filepath.Join(dir, "b.jpg"), 9, 33)}
	code, stdout, stderr := hilgpu(args...)
	require.Zero(t, code, stderr)
	assert.Empty(t, stderr)

	var s map[string]any
	require.NoError(t, json.Unmarshal([]byte(stdout), &s))
	for _, key := range []string{"cycles", "packets", "dma_buffers", "paging_buffers", "fences", "interrupts", "dpcs", "bytes_moved", "host_ms", "cycles_per_second"} {
		assert.Positive(t, s[key], key)
	}
	assert.Len(t, s["frame_sha256"], 64)

	f, err := os.Open(out)
	require.NoError(t, err)
	defer f.Close()
	img, err := png.Decode(f)
	require.NoError(t, err)
	assert.Equal(t, image.Rect(0, 0, 64, 48), img.Bounds())

	trace, err := os.ReadFile(filepath.Join(dir, "ddi.jsonl"))
	require.NoError(t, err)
	for _, name := range []string{"OpenAdapter10_2", "pfnRenderCb", "DxgkDdiSubmitCommand", "DxgkCbNotifyInterrupt", "DxgkDdiPresent"} {
		assert.Contains(t, string(trace), `"`+name+`"`)
	}
	_, again, _ := hilgpu(args...)
	var s2 map[string]any
	require.NoError(t, json.Unmarshal([]byte(again), &s2))
	for key, v := range s {
		if key != "host_ms" && key != "cycles_per_second" {
			assert.Equal(t, v, s2[key], key)
		}
	}
}

// An image larger than VRAM is in host memory.
func TestImageLargerThanVRAM(t *testing.T) {
	big := writeImage(t, filepath.Join(t.TempDir(), "big.png"), 60, 60)
	code, _, stderr := hilgpu("run", "compose", "--check", "--size", "32x32", "-o", filepath.Join(t.TempDir(), "frame.png"), "--board", "emu?vram=8KiB", big)
	assert.Equal(t, exit.OK, code, stderr)
}

func TestBadInput(t *testing.T) {
	dir := t.TempDir()
	broken := filepath.Join(dir, "broken.png")
	require.NoError(t, os.WriteFile(broken, []byte("\x89PNG\r\n\x1a\nnot much more"), 0o600))
	good := writeImage(t, filepath.Join(dir, "good.png"), 8, 8)
	for _, tt := range []struct {
		name string
		args []string
		says string
	}{
		{"missing image", []string{filepath.Join(dir, "none.png")}, "none.png"},
		{"broken image", []string{broken}, "broken.png"},
		{"not an image", []string{"main_test.go"}, "main_test.go"},
		{"unknown board", []string{"--board", "vapour", good}, `"vapour"`},
		{"unknown option", []string{"--board", "emu?speed=9", good}, `"speed"`},
		{"bad value", []string{"--board", "emu?vram=3", good}, "vram=3"},
		{"full disk", []string{"-o", "/dev/full", good}, "/dev/full"},
		{"full disk for the trace", []string{"--ddi", "/dev/full", good}, "/dev/full"},
		{"no such folder", []string{"-o", filepath.Join(dir, "no", "frame.png"), good}, "frame.png"},
		{"a folder", []string{"-o", dir, good}, "directory"},
		{"size of zero", []string{"--size", "0x10", good}, "0x10"},
		{"size of nothing", []string{"--size", "big", good}, `"big"`},
		{"size with a tail", []string{"--size", "8x8x8", good}, `"8x8x8"`},
		{"size too large", []string{"--size", "20000x1", good}, "16384"},
		{"no contexts", []string{"--contexts", "0", good}, "contexts"},
		{"unknown flag", []string{"--fast"}, "--fast"},
		{"seed of text", []string{"--seed", "x"}, "seed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "frame.png")
			args := append([]string{"run", "compose", "--size", "32x32", "-o", out}, tt.args...)
			code, stdout, stderr := hilgpu(args...)
			assert.Equal(t, exit.Usage, code, stderr)
			assert.Empty(t, stdout)
			assert.Equal(t, 1, strings.Count(stderr, "\n"), "one line: %q", stderr)
			assert.Contains(t, stderr, tt.says)
			left, err := os.ReadDir(filepath.Dir(out))
			require.NoError(t, err)
			assert.Empty(t, left, "no files are left")
		})
	}
}

func TestAnOldFileStaysWhenARunFails(t *testing.T) {
	out := filepath.Join(t.TempDir(), "frame.png")
	require.NoError(t, os.WriteFile(out, []byte("old"), 0o600))
	code, _, _ := hilgpu("run", "compose", "--board", "emu?fault=dead", "-o", out)
	assert.NotZero(t, code)
	b, err := os.ReadFile(out)
	require.NoError(t, err)
	assert.Equal(t, "old", string(b))
}

func TestDeadGPU(t *testing.T) {
	for _, tt := range []struct{ name, board, says string }{
		{"never answers", "emu?fault=dead", "fence"},
		{"doorbells are lost", "emu?fault=lost-doorbell", "ring"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			code, stdout, stderr := hilgpu("run", "compose", "--board", tt.board)
			assert.Equal(t, exit.Device, code, stderr)
			assert.Empty(t, stdout)
			assert.Contains(t, strings.ToLower(stderr), tt.says)
		})
	}
}

func TestLostInterruptsAreRecovered(t *testing.T) {
	code, _, stderr := hilgpu("run", "compose", "--check", "--board", "emu?fault=lost-interrupt", "--size", "32x32", "--contexts", "1")
	assert.Zero(t, code, stderr)
}

func TestVersionAndHelp(t *testing.T) {
	code, stdout, _ := hilgpu("version", "--json")
	require.Zero(t, code)
	var v version.Version
	require.NoError(t, json.Unmarshal([]byte(stdout), &v))
	assert.Len(t, v.MapHash, 8)
	assert.Equal(t, "1.0", v.Hardware)

	for _, args := range [][]string{{"--help"}, {"run", "--help"}, {"run", "compose", "--help"}, {"version", "--help"}, {}} {
		code, stdout, stderr := hilgpu(args...)
		assert.Zero(t, code, stderr)
		assert.Contains(t, stdout, "Examples:")
	}
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		code, stdout, _ := hilgpu("completion", shell)
		assert.Zero(t, code)
		assert.NotEmpty(t, stdout)
	}
	code, _, stderr := hilgpu("fly")
	assert.Equal(t, exit.Usage, code)
	assert.Contains(t, stderr, `"fly"`)
}

// A device that stops answering at some access is a stopped device, wherever in
// the run that is, even after the frame is complete.
func TestADeviceThatStopsAnsweringIsNoLinkFailure(t *testing.T) {
	for _, after := range []string{"0", "2", "4", "20", "30", "40", "50"} {
		code, stdout, stderr := hilgpu("run", "compose", "--size", "64x48", "--board", "emu?fault=dead-request&after="+after)
		assert.Equal(t, exit.Device, code, "after %s: %s", after, stderr)
		assert.Empty(t, stdout)
		if after == "20" {
			assert.Contains(t, stderr, "no completion for 1048576 clocks", "why the device did not start")
		}
	}
}

// A driver that breaks its contract ends the run with the decoded state, and
// the trace up to that point is kept.
func TestBrokenContract(t *testing.T) {
	drivers := testbench.HostDrivers()
	entry := drivers.KernelMode
	drivers.KernelMode = func() kmddi.DriverInitializationData {
		d := entry()
		d.SubmitCommand = func(*ddi.Thread, kmddi.HAdapter, kmddi.SubmitCommand) ddi.Status { return ddi.StatusInvalidParameter }
		return d
	}
	plan, err := compose.PlanOf(compose.Options{Width: 16, Height: 16, Contexts: 1}, nil)
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "t.jsonl")
	trace, err := new(command.Links).Trace(path)
	require.NoError(t, err)
	_, err = session.OnBoard("emu", drivers, testbench.Options{DDI: trace}, plan)
	assert.Equal(t, exit.Contract, exit.Code(err))
	var broken *verifier.Violation
	require.ErrorAs(t, err, &broken)
	assert.Contains(t, broken.Details(), "kernel: node 0")
	require.NoError(t, trace.Finish())
	assert.Equal(t, []string{"pfnPresent", "pfnRenderCb"}, notReturned(t, path), "it stops the kernel under the present")
}

// Two outputs of a command cannot be the same file, by whatever name. The old
// file is kept, and nothing is done.
func TestOneFileForTwoOutputs(t *testing.T) {
	for _, tt := range []struct {
		args     string // arguments before the two outputs
		one, two string
	}{
		{"run compose --size 32x32", "-o", "--ddi"},
		{"run compose --size 32x32", "-o", "--wave"},
		{"run compose --size 32x32", "-o", "--capture"},
		{"run compose --size 32x32", "--ddi", "--wave"},
		{"run compose --size 32x32", "--ddi", "--capture"},
		{"run lists --lists 5 --alive 5", "--wave", "--capture"},
		{"run copy --size 64", "--wave", "--capture"},
		{"run fill --size 64", "--wave", "--capture"},
		{"run storm --cycles 1000", "--wave", "--capture"},
		{"bringup --only ident", "--wave", "--capture"},
		{"test --filter ^present$", "--junit", "--capture"},
		{"reg snap", "-o", "--capture"},
	} {
		t.Run(tt.args+" "+tt.one+" "+tt.two, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "same")
			require.NoError(t, os.WriteFile(path, []byte("old"), 0o666))
			code, stdout, stderr := hilgpu(append(strings.Fields(tt.args), tt.one, path, tt.two, filepath.Join(dir, ".", "x", "..", "same"))...)
			assert.Equal(t, exit.Usage, code)
			assert.Empty(t, stdout)
			assert.Regexp(t, `^hilgpu: bad input: cannot write .*same: it is used for two outputs\n$`, stderr)
			left, err := os.ReadDir(dir)
			require.NoError(t, err)
			assert.Len(t, left, 1)
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			assert.Equal(t, "old", string(text))
		})
	}
}

// The files of a report are outputs too.
func TestOneFileForAReportAndAWave(t *testing.T) {
	for _, flag := range []string{"--wave", "--capture"} {
		for _, name := range []string{"report.html", "report.json", "junit.xml"} {
			dir := t.TempDir()
			code, _, stderr := hilgpu("bringup", "--only", "ident", "--report", dir, flag, filepath.Join(dir, name))
			assert.Equal(t, exit.Usage, code)
			assert.Contains(t, stderr, name+": it is used for two outputs")
			left, err := os.ReadDir(dir)
			require.NoError(t, err)
			assert.Empty(t, left)
		}
	}
}

// A device may be used for several outputs.
func TestOneDeviceForTwoOutputs(t *testing.T) {
	code, _, stderr := hilgpu("run", "compose", "--size", "8x8", "-o", "/dev/null", "--ddi", "/dev/null", "--wave", "/dev/null", "--capture", "/dev/null")
	assert.Zero(t, code, stderr)
}

func TestOutputFollowsLinksAndKeepsTheMode(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "real.png"), filepath.Join(dir, "link.png")
	require.NoError(t, os.WriteFile(file, []byte("old"), 0o600))
	require.NoError(t, os.Symlink("real.png", link))
	code, _, stderr := hilgpu("run", "compose", "--size", "8x8", "-o", link)
	require.Zero(t, code, stderr)
	info, err := os.Lstat(link)
	require.NoError(t, err)
	assert.Equal(t, os.ModeSymlink, info.Mode().Type(), "the link is still a link")
	b, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, "\x89PNG", string(b[:4]))
	info, err = os.Stat(file)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode().Perm())
}

func TestFullDiskIsNamedAsGiven(t *testing.T) {
	for _, flag := range []string{"-o", "--ddi"} {
		code, _, stderr := hilgpu("run", "compose", "--size", "32x32", flag, "/dev/full")
		assert.Equal(t, exit.Usage, code)
		assert.Contains(t, stderr, "cannot write /dev/full: no space left on device")
	}
}

// A GPU that stops only when the application releases its resources is an error, although the frame was right.
func TestStopAtTheEnd(t *testing.T) {
	code, stdout, stderr := hilgpu("run", "compose", "--check", "--contexts", "1", "--size", "64x32", "--board", "emu?fault=dead&after=8")
	assert.Equal(t, exit.Device, code)
	assert.Empty(t, stdout)
	assert.Contains(t, stderr, "GPU time-out: node 1, fence 3")
}

// TestKilledRun also runs as the program that it kills. Recordings made until
// then are kept complete, and no other files are left.
func TestKilledRun(t *testing.T) {
	const child = "HILGPU_TEST_CHILD"
	if args := os.Getenv(child); args != "" {
		os.Exit(run(strings.Fields(args), os.Stdout, os.Stderr))
	}
	const signalled = 128 + int(syscall.SIGTERM)
	for _, tt := range []struct {
		args  string // & is the folder
		files int    // files it creates
		code  int
		kept  []string
	}{
		{"run compose --size 2000x2000 -o &/f.png --ddi &/f.jsonl", 2, signalled, []string{"f.jsonl"}},
		{"run compose --size 2000x2000 -o &/f.png --wave &/w.vcd --capture &/c.pcapng", 3, signalled, []string{"c.pcapng", "w.vcd"}},
		{"run compose --size 2000x2000 --record &/e.log", 1, signalled, []string{"e.log"}},
		{"run lists --lists 10000000 --wave &/w.vcd", 1, signalled, []string{"w.vcd"}},
		{"run storm --all --cycles 1000000000 --wave &/w.vcd", 1, signalled, []string{"w.vcd"}},
		{"test --junit &/j.xml --capture &/c.pcapng", 2, signalled, []string{"c.pcapng"}},
	} {
		t.Run(tt.args, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			cmd := exec.Command(os.Args[0], "-test.run=^TestKilledRun$")
			cmd.Env = append(os.Environ(), child+"="+strings.ReplaceAll(tt.args, "&", dir))
			require.NoError(t, cmd.Start())
			require.Eventually(t, func() bool {
				left, err := os.ReadDir(dir)
				return err == nil && len(left) == tt.files
			}, 20*time.Second, time.Millisecond)
			time.Sleep(500 * time.Millisecond) // the handler is installed, and work begins, just after the files are created
			require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
			require.Error(t, cmd.Wait())
			assert.Equal(t, tt.code, cmd.ProcessState.ExitCode())
			left, err := os.ReadDir(dir)
			require.NoError(t, err)
			var names []string
			for _, e := range left {
				names = append(names, e.Name())
			}
			assert.Equal(t, tt.kept, names)
			if slices.Contains(names, "f.jsonl") {
				assert.NotEmpty(t, notReturned(t, filepath.Join(dir, "f.jsonl")))
			}
			if slices.Contains(names, "e.log") {
				_, end, _ := hilgpu("log", filepath.Join(dir, "e.log"), "--kind", "end")
				assert.Contains(t, end, "ended by a signal: terminated")
			}
			if slices.Contains(names, "w.vcd") {
				assert.NotEmpty(t, readWave(t, filepath.Join(dir, "w.vcd")).Times)
			}
		})
	}
}
