package savefile_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"maps"
	"math/bits"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/gpu"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
	"github.com/hilgpu/hilgpu/rtl/wave/savefile"
)

// display starts a display without a screen in dir, on a socket there, and returns the
// environment of its programs.
func display(t *testing.T, dir string) []string {
	t.Helper()
	env := append(os.Environ(), "XDG_RUNTIME_DIR="+dir, "HOME="+dir, "GDK_BACKEND=broadway", "BROADWAY_DISPLAY=:0")
	c := exec.Command("broadwayd", "--unixsocket", filepath.Join(dir, "http"), ":0")
	c.Env = env
	says, err := c.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, c.Start())
	t.Cleanup(func() {
		assert.NoError(t, c.Process.Kill())
		assert.Error(t, c.Wait(), "killed")
	})
	line, err := bufio.NewReader(says).ReadString('\n')
	require.NoError(t, err)
	require.Contains(t, line, "Listening on")
	return env
}

// gtkwave opens a dump with the save file in GTKWave, and returns what a script in Tcl prints.
func gtkwave(t *testing.T, dump []byte, script string) string {
	t.Helper()
	dir := t.TempDir()
	for _, f := range append(savefile.GTKWave(), savefile.File{Name: "gpu.vcd", Data: dump}, savefile.File{Name: "script.tcl", Data: []byte(script + "exit\n")}) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, f.Name), f.Data, 0o666))
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, "gtkwave", "-S", "script.tcl", "gpu.vcd", "hilgpu.gtkw")
	c.Dir, c.Env = dir, display(t, dir)
	out, err := c.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.NotContains(t, string(out), "Could not")
	return string(out)
}

// found returns the words after a mark at the beginning of each line that has it.
func found(out, mark string) (all []string) {
	for _, line := range strings.Split(out, "\n") {
		if rest, ok := strings.CutPrefix(line, mark+" "); ok {
			all = append(all, strings.TrimSpace(rest))
		}
	}
	return all
}

// TestGTKWaveShowsAll: GTKWave finds each signal of the save file in a dump.
func TestGTKWaveShowsAll(t *testing.T) {
	tooltest.Need(t, "gtkwave", "broadwayd")
	dump, _ := dumped(t, gpu.Default())
	_, main := folder(t, savefile.GTKWave(), ".gtkw")
	var want []string
	for _, line := range strings.Split(main, "\n") {
		if strings.HasPrefix(line, "gpu.") {
			want = append(want, line)
		}
	}
	out := gtkwave(t, dump, "foreach s [gtkwave::getDisplayedSignals] {puts \"shown $s\"}\n")
	assert.Equal(t, want, found(out, "shown"))
}

// width returns the width of a signal with a name for each value.
func width(names []string) int { return bits.Len(uint(len(names) - 1)) }

// counting returns a dump in which each code has the value t at time t, or as much of it as it has
// bits for.
func counting(codes map[string][]string) []byte {
	var b bytes.Buffer
	b.WriteString("$timescale 1 ns $end\n")
	order := slices.Sorted(maps.Keys(codes))
	for i, name := range order {
		scopes := strings.Split(name, ".")
		for _, s := range scopes[:len(scopes)-1] {
			fmt.Fprintf(&b, "$scope module %s $end\n", s)
		}
		fmt.Fprintf(&b, "$var reg %d v%d %s $end\n", width(codes[name]), i, scopes[len(scopes)-1])
		b.WriteString(strings.Repeat("$upscope $end\n", len(scopes)-1))
	}
	b.WriteString("$enddefinitions $end\n")
	for at := range 256 {
		fmt.Fprintf(&b, "#%d\n", at)
		for i, name := range order {
			fmt.Fprintf(&b, "b%b v%d\n", at%len(codes[name]), i)
		}
	}
	return b.Bytes()
}

// TestGTKWaveNames: GTKWave shows the names of the codes, and other values in hexadecimal.
func TestGTKWaveNames(t *testing.T) {
	tooltest.Long(t)
	tooltest.Need(t, "gtkwave", "broadwayd")
	var script strings.Builder
	all := codes(t)
	var want []string
	for v := range 256 {
		for _, name := range slices.Sorted(maps.Keys(all)) {
			names := all[name]
			if v >= len(names) || names[v] == "" && v > 15 && v < 255 {
				continue
			}
			says := names[v]
			if says == "" {
				says = fmt.Sprintf("%0*X", (width(names)+3)/4, v)
			}
			want = append(want, fmt.Sprintf("%s %d %s", name, v, says))
			fmt.Fprintf(&script, "if {[gtkwave::getMarker] != %d} {gtkwave::setMarker %[1]d}\n", v)
			fmt.Fprintf(&script, "puts \"value %s %d [gtkwave::getTraceValueAtMarkerFromName {%[1]s[%[3]d:0]}]\"\n", name, v, width(names)-1)
		}
	}
	assert.Equal(t, want, found(gtkwave(t, counting(all), script.String()), "value"))
}
