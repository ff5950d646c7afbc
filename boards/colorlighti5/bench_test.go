package colorlighti5

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/verilog"
)

// A bench is the shell in Icarus, between a PHY and what is in place of the design.
type bench struct{ vvp string }

// newBench compiles the shell. edit changes its files.
func newBench(t *testing.T, edit func(name string, text []byte) []byte) bench {
	t.Helper()
	dir := t.TempDir()
	out := filepath.Join(dir, "bench.vvp")
	args := []string{"-g2005", "-Wall", "-Wno-timescale", "-Itestdata", "-s", "bench", "-o", out}
	for _, f := range append(Parts(), verilog.File{Name: "shell.v", Text: Shell}) {
		place := filepath.Join(dir, f.Name)
		require.NoError(t, os.WriteFile(place, edit(f.Name, f.Text), 0o666))
		args = append(args, place)
	}
	args = append(args, "testdata/cells.v", "testdata/design.v", "testdata/bench.v")
	text, err := exec.Command("iverilog", args...).CombinedOutput()
	require.NoError(t, err, "%s", text)
	require.Empty(t, string(text))
	return bench{out}
}

// asIs is an edit that changes nothing.
func asIs(_ string, text []byte) []byte { return text }

// A run is the input of a simulation.
//
//	clk, phy  mean periods of the clocks of the board and of the PHY, ps
//	next      that of the PHY after a word with bit 10
//	words     what the PHY receives
//	symbols   what the design sends: valid, enable, last in bits 10 to 8, and a byte
//	press     clock of the PHY in which the button is pressed, 0 for never
type run struct {
	clk, phy, next int
	words, symbols []uint16
	press          int
}

// tail returns the clocks of the PHY after the last word: those in which the design makes its
// symbols and they are sent, and in which a full queue is read.
func (r run) tail() int {
	last := r.phy
	if r.next != 0 {
		last = r.next
	}
	send := len(r.symbols)*r.clk/last + 2*len(r.symbols)
	if r.next == 0 {
		send -= len(r.words)
	}
	return max(send, min(4200, len(r.words))*r.clk/last) + 1000
}

// An arrived is a carrier that the design has received.
type arrived struct {
	data  []byte
	wrong bool
}

// A result is what a simulation prints.
//
//	rx      carriers that the design has received
//	broken  bytes without an end, at the end of the simulation
//	tx      frames that the PHY has got, as words
//	idle    clocks without a frame before each of them
//	resets  symbols that the design had sent at the beginning of each reset, the first of
//	        which is that after configuration
type result struct {
	rx     []arrived
	broken []byte
	tx     [][]uint16
	idle   []int
	resets []int
}

// simulate runs the bench. It fails the test if the simulation prints what is not allowed.
func (b bench) simulate(t *testing.T, r run) result {
	t.Helper()
	out, err := parse(b.output(t, r))
	require.NoError(t, err)
	return out
}

// output returns what the simulation prints.
func (b bench) output(t *testing.T, r run) string {
	t.Helper()
	dir := t.TempDir()
	for name, words := range map[string][]uint16{"words.hex": r.words, "symbols.hex": r.symbols} {
		var text bytes.Buffer
		for _, w := range words {
			fmt.Fprintf(&text, "%x\n", w)
		}
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), text.Bytes(), 0o666))
	}
	args := []string{"-n", b.vvp}
	for name, v := range map[string]int{
		"clk": r.clk, "phy": r.phy, "next": r.next, "words": len(r.words), "symbols": len(r.symbols),
		"tail": r.tail(), "press": r.press, "seed": 1,
	} {
		args = append(args, fmt.Sprintf("+%s=%d", name, v))
	}
	cmd := exec.Command("vvp", args...)
	cmd.Dir = dir
	text, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", text)
	return string(text)
}

// parse reads what a simulation prints. It fails if a line is not known, if a frame has a
// level that is not 0 or 1, or if the light and MDC are not as they must be.
func parse(text string) (result, error) {
	var out result
	var rx arrived
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if last := lines[len(lines)-1]; last != "led_n 0 mdc 0" {
		return out, fmt.Errorf("the last line is %q", last)
	}
	for _, line := range lines[:len(lines)-1] {
		var end, wrong, ctlRise, ctlFall, idle, symbols int
		var data, rise, fall uint8
		if n, _ := fmt.Sscanf(line, "rx %b %b %x", &end, &wrong, &data); n >= 2 {
			if rx.wrong = rx.wrong || wrong == 1; end == 1 {
				out.rx, rx = append(out.rx, rx), arrived{}
				continue
			}
			if n == 2 {
				return out, fmt.Errorf("a byte in %q", line)
			}
			rx.data = append(rx.data, data)
		} else if n, _ := fmt.Sscanf(line, "tx %d %b %b %x %x", &idle, &ctlRise, &ctlFall, &rise, &fall); n == 5 {
			if idle != 0 || len(out.tx) == 0 {
				out.tx, out.idle = append(out.tx, nil), append(out.idle, idle)
			}
			last := &out.tx[len(out.tx)-1]
			*last = append(*last, word(ctlRise == 1, ctlRise != ctlFall, rise, fall))
		} else if n, _ := fmt.Sscanf(line, "reset %d", &symbols); n == 1 {
			out.resets, rx = append(out.resets, symbols), arrived{}
		} else {
			return out, fmt.Errorf("a line %q", line)
		}
	}
	out.broken = rx.data
	return out, nil
}
