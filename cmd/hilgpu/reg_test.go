package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/boards/regs"
	"github.com/hilgpu/hilgpu/bus/capture"
	"github.com/hilgpu/hilgpu/bus/inproc"
	"github.com/hilgpu/hilgpu/rtl/abi/regmap"
	"github.com/hilgpu/hilgpu/rtl/gpu"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
	"github.com/hilgpu/hilgpu/testbench/command/exit"
)

// regSession runs the commands after "$ hilgpu " in a file of testdata and
// compares their output, standard output first, and the exit code after "=> ".
// MAPHASH is replaced by the hash of the register map.
func regSession(t *testing.T, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	t.Chdir(t.TempDir())
	recordSession(t, "session.pcapng")
	hash := fmt.Sprintf("%08x", regmap.Hash())
	for _, want := range strings.Split("\n"+string(text), "\n$ hilgpu ")[1:] {
		line, _, _ := strings.Cut(want, "\n")
		var args []string
		for _, a := range strings.Fields(line) {
			args = append(args, strings.Trim(a, "'"))
		}
		code, stdout, stderr := hilgpu(args...)
		got := strings.ReplaceAll(fmt.Sprintf("%s\n%s%s=> %d", line, stdout, stderr, code), hash, "MAPHASH")
		assert.Equal(t, strings.TrimSuffix(want, "\n"), got)
		if code != exit.OK && code != exit.Check {
			assert.Empty(t, stdout, line)
			assert.Equal(t, 1, strings.Count(stderr, "\n"), "one line: %q", stderr)
		}
	}
}

// recordSession captures a session with a GPU: open, some register reads and
// one write.
func recordSession(t *testing.T, file string) {
	t.Helper()
	g, err := gpu.New(gpu.Default())
	require.NoError(t, err)
	var b bytes.Buffer
	w, err := capture.NewWriter(&b, capture.Options{Comment: regs.NewCommenter().Comment})
	require.NoError(t, err)
	hz := uint64(gpu.Default().ClockHz)
	link, err := inproc.New(g, regs.NoMemory{}, inproc.Options{Hz: hz, Observer: w.Observer(hz, func(err error) { t.Error(err) })})
	require.NoError(t, err)
	f, err := regs.Open(link, regs.Options{})
	require.NoError(t, err)
	targets, err := f.Find("cp0.status", "intc.*")
	require.NoError(t, err)
	_, _, err = f.ReadAll(targets)
	require.NoError(t, err)
	targets, err = f.Find("id.scratch1")
	require.NoError(t, err)
	_, err = f.Write(targets[0], 0x1234)
	require.NoError(t, err)
	require.NoError(t, link.Write(0, 0x1118, []byte{0, 0, 0, 0}))
	_, err = link.ReadConfig(0)
	require.NoError(t, err)
	require.NoError(t, w.Err())
	require.NoError(t, os.WriteFile(file, b.Bytes(), 0o600))
}

func TestRegSession(t *testing.T) {
	tooltest.Long(t)
	file, err := filepath.Abs("testdata/reg.txt")
	require.NoError(t, err)
	regSession(t, file)
}

// TestCaptureIsCommented checks the comments of a session with a real GPU.
func TestCaptureIsCommented(t *testing.T) {
	t.Chdir(t.TempDir())
	recordSession(t, "a.pcapng")
	file, err := os.Open("a.pcapng")
	require.NoError(t, err)
	defer file.Close()
	r, err := capture.NewReader(file)
	require.NoError(t, err)
	var all []string
	var last capture.Record
	for {
		rec, err := r.Next()
		if err != nil {
			break
		}
		assert.GreaterOrEqual(t, rec.At, last.At)
		last = rec
		all = append(all, rec.Comment)
	}
	for _, want := range []string{
		"wr config.bar0 = 0xe0000000",
		"completion of rd id.magic = 0x47504c48 (1196444744)",
		"rd cp0.status",
		"completion of rd cp0.status = 0x1 (idle=1 fault=0 state=NEXT in_ib=0 ring=IDLE walk=IDLE issue=IDLE sync=IDLE)",
		"wr id.scratch1 = 0x1234 (4660)",
		"wr cp1.wptr = 0x0 (0 dwords)",
	} {
		assert.Contains(t, all, want)
	}
	assert.Equal(t, "completion of rd config.id = 0x48471234", all[len(all)-1])
	assert.Positive(t, last.At)
}

// TestRegJSON: each command prints one JSON document.
func TestRegJSON(t *testing.T) {
	t.Chdir(t.TempDir())
	decode := func(want int, args ...string) (all struct {
		Registers []regs.Description
		Skipped   []regs.Skip
		Writes    []regs.WriteDescription
		Changes   []regs.Change
		Unchanged int
	}) {
		t.Helper()
		code, stdout, stderr := hilgpu(append([]string{"reg", "--json"}, args...)...)
		require.Equal(t, want, code, stderr)
		d := json.NewDecoder(strings.NewReader(stdout))
		require.NoError(t, d.Decode(&all))
		assert.False(t, d.More(), "one document")
		return all
	}
	list := decode(0, "list")
	assert.Len(t, list.Registers, 299)
	assert.Len(t, decode(0, "list", "--board", "emu?nodes=1").Registers, 140)

	read := decode(0, "read", "id.time_*", "cp0.fault_info", "cp0.ring_base")
	require.Len(t, read.Registers, 3)
	assert.Equal(t, "id.time_lo", read.Skipped[0].Name)
	cause := read.Registers[1].Fields[0]
	assert.Equal(t, "NONE", cause.Meaning)
	assert.Zero(t, *cause.Value)
	assert.Equal(t, 64, read.Registers[2].Bits)

	written := decode(0, "write", "id.scratch0=0x10", "id.scratch3=3")
	assert.Equal(t, []regs.WriteDescription{
		{Name: "id.scratch0", Before: "0x0", Sent: "0x10", After: "0x10"}, {Name: "id.scratch3", Before: "0x0", Sent: "0x3", After: "0x3"},
	}, written.Writes)

	decode(0, "snap", "-o", "a.JSON")
	code, _, stderr := hilgpu("reg", "snap", "--board", "emu?vram=8KiB", "-o", "b.json")
	require.Zero(t, code, stderr)
	assert.Empty(t, decode(0, "diff", "a.JSON", "snap:a.JSON").Changes)
	d := decode(1, "diff", "a.JSON", "b.json")
	require.Len(t, d.Changes, 1)
	assert.Equal(t, "id.vram_size", d.Changes[0].Name)
	assert.EqualValues(t, 8192, *d.Changes[0].B)
	assert.Equal(t, 299, d.Unchanged)
}

// TestRegTime reads a running clock: the reads themselves take time.
func TestRegTime(t *testing.T) {
	for _, args := range [][]string{{"reg", "read", "id.time!"}, {"reg", "read!", "id.time"}} {
		code, stdout, stderr := hilgpu(args...)
		require.Zero(t, code, stderr)
		var v uint64
		_, err := fmt.Sscanf(strings.ReplaceAll(stdout, "_", ""), "id.time @0x0018 = 0x%x", &v)
		require.NoError(t, err, stdout)
		assert.Positive(t, v)
	}
}

// TestRegMapMismatch uses a snapshot of a board with another map.
func TestRegMapMismatch(t *testing.T) {
	t.Chdir(t.TempDir())
	code, _, stderr := hilgpu("reg", "snap", "-o", "a.JSON")
	require.Zero(t, code, stderr)
	b, err := os.ReadFile("a.JSON")
	require.NoError(t, err)
	hash := regmap.Hash()
	b = bytes.Replace(b, fmt.Appendf(nil, `"id.map_hash","offset":"0xc","value":"%#x"`, hash), fmt.Appendf(nil, `"id.map_hash","offset":"0xc","value":"%#x"`, ^hash), 1)
	require.NoError(t, os.WriteFile("b.json", b, 0o600))
	code, stdout, stderr := hilgpu("reg", "read", "--board", "snap:b.json", "id.magic")
	assert.Equal(t, exit.Map, code)
	assert.Empty(t, stdout)
	assert.Contains(t, stderr, fmt.Sprintf("%08x", ^hash))
	code, stdout, _ = hilgpu("reg", "read", "--force-map", "--board", "snap:b.json", "id.magic")
	assert.Zero(t, code)
	assert.Contains(t, stdout, "0x4750_4c48")
}

func TestRegNoDevice(t *testing.T) {
	t.Chdir(t.TempDir())
	code, _, stderr := hilgpu("reg", "snap", "-o", "a.JSON")
	require.Zero(t, code, stderr)
	b, err := os.ReadFile("a.JSON")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile("b.json", bytes.Replace(b, []byte("0x48471234"), []byte("0xffffffff"), 1), 0o600))
	code, _, stderr = hilgpu("reg", "read", "--board", "snap:b.json", "id.magic")
	assert.Equal(t, exit.NoDevice, code)
	assert.Contains(t, stderr, "no answer")
	code, _, _ = hilgpu("reg", "read", "--board", "emu?fault=dead-request&timeout=1000", "id.magic")
	assert.Equal(t, exit.Device, code)
}

func TestRegNoBoard(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, args := range [][]string{
		{"reg", "read", "--board", "vapour", "cp0.ctl"},
		{"reg", "diff", "vapour", "emu"},
	} {
		code, stdout, stderr := hilgpu(args...)
		assert.Equal(t, exit.Usage, code)
		assert.Empty(t, stdout)
		assert.Contains(t, stderr, `unknown scheme "vapour"`)
	}
}
