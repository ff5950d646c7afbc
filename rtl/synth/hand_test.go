package synth

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/gpu"
	"github.com/hilgpu/hilgpu/rtl/verilog"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

// handExcess is the fraction of cells that the emitted arbiter may take beyond
// the hand-written one.
const handExcess = 0.15

// arbiters returns the emitted and the hand-written Verilog of the arbiter of
// VRAM writes.
func arbiters(t testing.TB) (emitted, hand verilog.File) {
	t.Helper()
	g, err := gpu.New(gpu.Small())
	require.NoError(t, err)
	d, err := verilog.Translate("../..", g)
	require.NoError(t, err)
	for _, f := range d.Files {
		if f.Name == "noc_writes.v" {
			emitted = f
		}
	}
	require.NotEmpty(t, emitted.Text)
	hand.Name = "noc_writes_hand.v"
	hand.Text, err = os.ReadFile(filepath.Join("testdata", hand.Name))
	require.NoError(t, err)
	return emitted, hand
}

// cellsOf returns the cells that a stand-alone module takes on an iCE40.
func cellsOf(t testing.TB, f verilog.File) Cells {
	t.Helper()
	top := strings.TrimSuffix(f.Name, ".v")
	n, err := synthesise(Source{Files: []verilog.File{f}, Top: top}, ICE40, false)
	require.NoError(t, err)
	bs, err := blocks(n.stat, top)
	require.NoError(t, err)
	return bs[0].Cells
}

// TestHandIsTheSame proves by induction that the hand-written arbiter is
// equivalent to the emitted one.
func TestHandIsTheSame(t *testing.T) {
	tooltest.Long(t)
	tooltest.Need(t, "yosys")
	emitted, hand := arbiters(t)
	dir, err := scratch([]verilog.File{emitted, hand})
	require.NoError(t, err)
	defer os.RemoveAll(dir)
	script := `read_verilog noc_writes.v noc_writes_hand.v
proc
opt_clean
equiv_make noc_writes noc_writes_hand both
hierarchy -top both
equiv_simple
equiv_induct
equiv_status -assert
`
	require.NoError(t, os.WriteFile(filepath.Join(dir, "run.ys"), []byte(script), 0o666))
	out, err := command(dir, "yosys", "-s", "run.ys")
	require.NoError(t, err, tail(out))
	assert.Contains(t, out, "Equivalence successfully proven!")
}

// TestByHand checks that the emitted arbiter takes at most handExcess more cells
// than the hand-written one.
func TestByHand(t *testing.T) {
	tooltest.Long(t)
	tooltest.Need(t, "yosys")
	emitted, hand := arbiters(t)
	a, b := cellsOf(t, emitted), cellsOf(t, hand)
	require.Positive(t, b.LUT)
	assert.LessOrEqual(t, float64(a.LUT), (1+handExcess)*float64(b.LUT), "%+v, by hand %+v", a, b)
	assert.Equal(t, b.FF, a.FF)
}

// BenchmarkByHand prints the size of both.
func BenchmarkByHand(b *testing.B) {
	emitted, hand := arbiters(b)
	for b.Loop() {
		e, h := cellsOf(b, emitted), cellsOf(b, hand)
		b.ReportMetric(float64(e.LUT), "LUTs")
		b.ReportMetric(float64(h.LUT), "LUTs-by-hand")
		b.ReportMetric(float64(e.LUT)/float64(h.LUT), "ratio")
	}
}
