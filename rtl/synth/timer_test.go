//go:build timer

package synth

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/gpu"
	"github.com/hilgpu/hilgpu/rtl/mcu"
	"github.com/hilgpu/hilgpu/rtl/mcu/core"
	"github.com/hilgpu/hilgpu/rtl/verilog"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

// timerCells is the most logic cells of the timer of the microcontroller on an iCE40.
const timerCells = 300

// without returns the root of a module source in which a package has other text: each pair is a text and its replacement.
// Everything else is a link to root.
func without(t *testing.T, root, pkg string, pairs ...string) string {
	t.Helper()
	root, err := filepath.Abs(root)
	require.NoError(t, err)
	to, at := t.TempDir(), ""
	for _, part := range strings.Split(pkg, "/") {
		entries, err := os.ReadDir(filepath.Join(root, at))
		require.NoError(t, err)
		for _, e := range entries {
			if e.Name() != part {
				require.NoError(t, os.Symlink(filepath.Join(root, at, e.Name()), filepath.Join(to, at, e.Name())))
			}
		}
		at = filepath.Join(at, part)
		require.NoError(t, os.Mkdir(filepath.Join(to, at), 0o777))
	}
	entries, err := os.ReadDir(filepath.Join(root, at))
	require.NoError(t, err)
	replaced := 0
	for _, e := range entries {
		from, copied := filepath.Join(root, at, e.Name()), filepath.Join(to, at, e.Name())
		if e.IsDir() {
			require.NoError(t, os.Symlink(from, copied))
			continue
		}
		text, err := os.ReadFile(from)
		require.NoError(t, err)
		s := string(text)
		for i := 0; i < len(pairs); i += 2 {
			replaced += strings.Count(s, pairs[i])
			s = strings.ReplaceAll(s, pairs[i], pairs[i+1])
		}
		require.NoError(t, os.WriteFile(copied, []byte(s), 0o666))
	}
	require.Equal(t, len(pairs)/2, replaced, "each text is there once")
	return to
}

// TestTimer measures the timer of the microcontroller on an iCE40. It takes minutes, so it has its own tag. It counts the cells of the microcontroller, less those of one whose
// time never reaches the compare value, which nothing writes.
func TestTimer(t *testing.T) {
	tooltest.Need(t, "yosys", "nextpnr-ice40")
	var cells [2]int
	for i, root := range []string{"../..", without(t, "../..", "rtl/mcu",
		"return now >= t.compare() }", "return false }",
		"m.timer.low = v", "m.timer.events &= 0xfff",
		"m.timer.high = v", "m.timer.events &= 0xfff")} {
		m := mcu.New(mcu.Params{Bytes: core.MinBytes, HostBits: gpu.Small().HostBits, VRAMBytes: VRAMBytes})
		d, err := verilog.TranslateModule(root, &m, mcu.Outputs...)
		require.NoError(t, err)
		n, err := synthesise(Of(d), ICE40, false)
		require.NoError(t, err)
		cells[i], err = pack(n)
		require.NoError(t, err)
	}
	t.Logf("%d logic cells with the timer, %d without it", cells[0], cells[1])
	assert.LessOrEqual(t, cells[0]-cells[1], timerCells)
}

// controllerCells is the most logic cells of the microcontroller on an iCE40 without its debug unit, with counters,
// timer, windows, the master on the register bus and the registers of the host.
const controllerCells = 2850

// TestDebugUnit measures the microcontroller on an iCE40 without its debug unit: the block does not have the registers
// of it, and so no breakpoint, and no order for the core.
func TestDebugUnit(t *testing.T) {
	tooltest.Need(t, "yosys", "nextpnr-ice40")
	root := without(t, "../..", "rtl/mcu",
		"m.host.rsp.Hit = m.debug.access(r, write, halted)", "m.host.rsp.Hit = false",
		"when(off == mcureg.DebugBase+mcureg.PC, pc)", "0",
		"bit(s.Halted)|uint32(s.Cause)<<4", "0",
		"m.debug.point(r.Off, r.Data, m.words())", "m.host.rsp = regbus.Rsp{}",
		"if sends {", "if sends && d.exec {")
	m := mcu.New(mcu.Params{Bytes: core.MinBytes, HostBits: gpu.Small().HostBits, VRAMBytes: VRAMBytes})
	d, err := verilog.TranslateModule(root, &m, mcu.Outputs...)
	require.NoError(t, err)
	n, err := synthesise(Of(d), ICE40, false)
	require.NoError(t, err)
	cells, err := pack(n)
	require.NoError(t, err)
	t.Logf("%d logic cells without the debug unit", cells)
	assert.LessOrEqual(t, cells, controllerCells)
}
