package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/firmware"
	"github.com/hilgpu/hilgpu/rtl/abi/fwabi"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
	"github.com/hilgpu/hilgpu/testbench/command"
	"github.com/hilgpu/hilgpu/testbench/command/exit"
)

const withMCU = "emu?config=full"

func TestFirmwareInfo(t *testing.T) {
	m, err := firmware.Parse(firmware.Default())
	require.NoError(t, err)
	code, stdout, stderr := hilgpu("firmware", "info", "--board", withMCU)
	require.Zero(t, code, stderr)
	assert.Regexp(t, fmt.Sprintf(`^image    in this program, version %d, layout 0x%08x, CRC 0x%08x
         build %x, %d bytes, %d bytes of memory
board    emu\?config=full, 32768 bytes of memory, 8 windows, 4 breakpoints
program  reset, stage NONE, result BUSY, build 00000000
$`, m.Version, m.Layout, m.CRC, m.Build, m.Size, m.Memory), stdout)
}

// The image needs no board: info prints it for one without a microcontroller, and for one that is not there.
func TestFirmwareInfoWithoutMCU(t *testing.T) {
	code, stdout, stderr := hilgpu("firmware", "info")
	require.Zero(t, code, stderr)
	assert.Empty(t, stderr)
	image, board, _ := strings.Cut(stdout, "board ")
	assert.Regexp(t, `^image    in this program, version \d+, .*\n         build [0-9a-f]{32}, `, image)
	assert.Equal(t, "   emu, the board has no microcontroller\n", board)
	code, stdout, stderr = hilgpu("firmware", "info", "--json")
	require.Zero(t, code, stderr)
	all := document(t, stdout)
	assert.Nil(t, all["mcu"])
	assert.Contains(t, all["image"], "build")
	code, stdout, stderr = hilgpu("firmware", "info", "--board", "serial:"+filepath.Join(t.TempDir(), "none"))
	assert.Equal(t, exit.NoDevice, code)
	assert.Equal(t, image, stdout)
	assert.Equal(t, 1, strings.Count(stderr, "\n"), stderr)
}

// The boot is ready within 200,000 clocks, which docs/firmware.md promises.
func TestFirmwareLoad(t *testing.T) {
	code, stdout, stderr := hilgpu("firmware", "load", "--json", "--board", withMCU)
	require.Zero(t, code, stderr)
	var got bootJSON
	require.NoError(t, json.Unmarshal([]byte(stdout), &got))
	m, err := firmware.Parse(firmware.Default())
	require.NoError(t, err)
	assert.Equal(t, []string{"LOOP", "READY", fmt.Sprintf("%x", m.Build[:4])}, []string{got.Stage, got.Result, got.Build})
	assert.Less(t, got.Clocks, uint64(200_000))
}

func TestFirmwareSelftest(t *testing.T) {
	code, stdout, stderr := hilgpu("firmware", "selftest", "--board", withMCU)
	require.Zero(t, code, stderr)
	for _, stage := range []string{"START", "MEMORY", "BUS", "LOCK", "WINDOW", "TIMER", "LOOP", "AGAIN"} {
		assert.Regexp(t, "(?m)^"+stage+" +ok  ", stdout)
	}
}

// The stages before the one that failed have passed, and those after it were not run.
func TestFirmwareStages(t *testing.T) {
	b := firmware.Boot{Checkpoint: fwabi.StageLock, Result: fwabi.ResultUnlocked}
	for err, want := range map[error]string{firmware.ErrFailed: "UNLOCKED", firmware.ErrHung: "hangs"} {
		var got []string
		for _, s := range bootStages(b, err) {
			got = append(got, s.Stage+" "+s.Result)
		}
		assert.Equal(t, []string{"START ok", "MEMORY ok", "BUS ok", "LOCK " + want, "WINDOW not run", "TIMER not run", "LOOP not run"}, got)
	}
}

func TestFirmwareStates(t *testing.T) {
	for want, in := range map[string][2]uint32{"reset": {0, 0}, "running": {1, 0}, "asleep": {1, 1}, "halted": {1, 2}, "hung": {1, 6}} {
		assert.Equal(t, want, stateOf(in[0], in[1]))
	}
}

// A program of another kind is refused before it runs, and one that hangs ends in its stage.
func TestFirmwareErrors(t *testing.T) {
	tooltest.Long(t)
	dir := t.TempDir()
	file := func(name string, data []byte) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, data, 0o666))
		return path
	}
	damaged := firmware.Default()
	damaged[100] ^= 1
	hangs := firmware.Append(nil, firmware.Header{Version: fwabi.Version, Layout: fwabi.LayoutHash(), Memory: 4096}, []byte{0x6f, 0, 0, 0})
	for _, tt := range []struct {
		command, board, image string
		want                  int
		says                  string
	}{
		{"load", "emu", "", exit.NoDevice, "no microcontroller"},
		{"selftest", "emu", "", exit.NoDevice, "no microcontroller"},
		{"info", withMCU, file("short", []byte("HLFW")), exit.Usage, "firmware: truncated image"},
		{"load", withMCU, file("damaged", damaged), exit.Usage, "firmware: damaged image"},
		{"selftest", withMCU, file("other", []byte("\x7fELF....")), exit.Usage, "firmware: not an image"},
		{"load", withMCU, filepath.Join(dir, "none"), exit.Usage, "--image"},
		{"load", withMCU, file("hangs", hangs), exit.Device, "firmware: boot hangs in stage NONE"},
		{"selftest", withMCU, file("hangs2", hangs), exit.Device, "firmware: boot hangs in stage NONE"},
	} {
		args := []string{"firmware", tt.command, "--board", tt.board}
		if tt.image != "" {
			args = append(args, "--image", tt.image)
		}
		code, _, stderr := hilgpu(args...)
		assert.Equal(t, tt.want, code, "%v: %s", args, stderr)
		assert.Contains(t, stderr, tt.says, args)
		assert.Equal(t, 1, strings.Count(withoutHint(stderr), "\n"), stderr)
	}
}

// A workload continues without a firmware that does not run, and one line says why.
func TestWorkloadsWithoutFirmware(t *testing.T) {
	for _, command := range []string{"run compose --check --size 16x16", "run lists --lists 10 --alive 5"} {
		code, _, stderr := hilgpu(append(strings.Fields(command), "--board", withMCU+"&mcumem=8KiB")...)
		assert.Zero(t, code, stderr)
		assert.Regexp(t, `^hilgpu: miniport: firmware not running: firmware: memory of the microcontroller too small: 8192 bytes, want \d+\n$`, stderr)
		code, _, stderr = hilgpu(append(strings.Fields(command), "--board", withMCU)...)
		assert.Zero(t, code)
		assert.Empty(t, stderr)
	}
}

// The frame is the same with the firmware and without a microcontroller.
func TestComposeWithFirmware(t *testing.T) {
	frames := map[any]bool{}
	for _, board := range []string{withMCU, withMCU + "&mcu=0&master=0", "line?config=full"} {
		code, stdout, stderr := hilgpu("run", "compose", "--check", "--size", "64x48", "--json", "--board", board)
		require.Zero(t, code, stderr)
		frames[document(t, stdout)["frame_sha256"]] = true
	}
	assert.Len(t, frames, 1)
}

// The first line is that of the boot, in each format. LOG is the first request of which --level messages
// has a line, and the boot is no error.
func TestFirmwareLog(t *testing.T) {
	m, err := firmware.Parse(firmware.Default())
	require.NoError(t, err)
	boot := fmt.Sprintf("boot: build %08x, memory of 32768 bytes", binary.BigEndian.Uint32(m.Build[:]))
	for _, tt := range []struct{ flags, want string }{
		{"", `^ +[0-9]+ ` + boot + "\n$"},
		{"--level messages", `^ +[0-9]+ ` + boot + "\n +[0-9]+ request 1: op 4, status 0\n$"},
		{"--level events", `^ +[0-9]+ ` + boot + "\n$"},
		{"--level errors", `^$`},
		{"--level errors --format csv", "^number,clocks,level,text\n$"},
		{"--format jsonl", `^{"number":0,"clocks":[0-9]+,"level":2,"text":"` + boot + `"}` + "\n$"},
		{"--format csv", `^number,clocks,level,text` + "\n" + `0,[0-9]+,2,"` + boot + `"` + "\n$"},
		{"--telemetry 2 --period 2000", `^( +[0-9]+ node 0: busy 0, 0 bytes; node 1: busy 0, 0 bytes` + "\n){2}$"},
		{"--telemetry 1 --period 4294967295", `^ +4[0-9]{9} node 0: busy 0, 0 bytes; node 1: busy 0, 0 bytes\n$`},
		{"--telemetry 1 --format csv", `^number,clocks,cycles,busy0,bytes0,busy1,bytes1` + "\n0,[0-9]+,[0-9]+,0,0,0,0\n$"},
		{"--telemetry 1 --format jsonl", `^{"number":0,"clocks":[0-9]+,"cycles":[0-9]+,"busy":\[0,0\],"bytes":\[0,0\]}` + "\n$"},
	} {
		code, stdout, stderr := hilgpu(append(strings.Fields("firmware log --board "+withMCU), strings.Fields(tt.flags)...)...)
		require.Zero(t, code, stderr)
		assert.Regexp(t, tt.want, stdout, tt.flags)
	}
}

// Bad flags and a table of another build are refused before the board is opened.
func TestFirmwareLogErrors(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, data []byte) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, data, 0o666))
		return path
	}
	table, m := firmware.LogTable(), firmware.Default()
	image, err := firmware.Parse(m)
	require.NoError(t, err)
	other := image.Header
	other.Build[0] ^= 1
	for _, tt := range []struct{ flags, says string }{
		{"--level debug", `--level "debug", want errors, events or messages`},
		{"--format xml", `--format "xml", want text, jsonl or csv`},
		{"--telemetry -1", "--telemetry -1, want 0 to 65536"},
		{"--period 1023", "--period 1023, want at least 1024"},
		{"--table " + filepath.Join(dir, "none"), "bad input: --table: "},
		{"--table " + write("short", table[:15]), "log: bad table of formats: 15 bytes"},
		{"--table " + write("cut", table[:len(table)-1]), "log: bad table of formats: "},
		{"--table " + write("foreign", append([]byte{table[0] ^ 1}, table[1:]...)), fmt.Sprintf("log: formats of another build: %x%x, want %x", table[0]^1, table[1:4], table[:4])},
		{"--image " + write("image", firmware.Append(nil, other, image.Program)), "log: formats of another build: "},
	} {
		code, stdout, stderr := hilgpu(append(strings.Fields("firmware log --board vapour"), strings.Fields(tt.flags)...)...)
		assert.Equal(t, exit.Usage, code, stderr)
		assert.Empty(t, stdout)
		assert.Contains(t, stderr, tt.says)
		assert.Equal(t, 1, strings.Count(stderr, "\n"), stderr)
	}
	code, _, stderr := hilgpu("firmware", "log", "--board", "emu")
	assert.Equal(t, exit.NoDevice, code)
	assert.Contains(t, stderr, "no microcontroller")
}

// Lines that were lost are told in each format, and not among the lines.
func TestFirmwareLogLost(t *testing.T) {
	for _, format := range []string{"text", "jsonl", "csv"} {
		var stdout, stderr bytes.Buffer
		l := logFlags{firmwareFlags: &firmwareFlags{app: command.NewApp(command.Program{}, &stdout, &stderr, nil)}, format: format}
		require.NoError(t, l.print(logJSON{Lost: 5}))
		assert.NotContains(t, stdout.String(), "lost")
		assert.Equal(t, "5 lost, which found the ring full\n", stderr.String(), format)
		stderr.Reset()
		require.NoError(t, l.print(logJSON{}))
		assert.Empty(t, stderr.String())
	}
}
