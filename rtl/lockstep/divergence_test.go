package lockstep

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/hdl/vcd/vcdtest"
	"github.com/hilgpu/hilgpu/rtl/verilog"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

// Inputs at which the modified design differs from the twin.
const (
	plantAcc    = 0xdead
	plantChild  = 0xbeef
	plantPort   = 0xfeed
	plantRAM    = 0xface
	plantPair   = 0xfade
	plantX      = 0xcafe
	plantResets = 0xabad
)

func planted(t *testing.T) *verilog.Design {
	return twinDesign(t,
		"en ? acc + data", "en ? acc + data + (data == 64'hdead)",
		"count <= rst ? 12'd5", "count <= rst ? (bad ? 12'd6 : 12'd5) : bad ? count + 12'd2",
		"  input step,\n", "  input step,\n  input bad,\n",
		".step(en)", ".step(en), .bad(data == 64'hbeef || data == 64'habad)",
		"odd = flag_1", "odd = flag_1 ^ (acc[15:0] == 16'hfeed)",
		"ram[value[3:0]] <= data", "ram[value[3:0]] <= data ^ (data == 64'hface)",
		"{data, data[4:0], 1'd1}", "{data ^ ((data == 64'hfade) << 63), data[4:0], 1'd1}",
		"flag_0 <= rst ? 1'd0 : en", "flag_0 <= rst ? 1'd0 : data == 64'hcafe ? 1'bx : en",
	)
}

// A plantInput is the input of one clock of a planted run.
type plantInput struct {
	rst, en bool
	data    uint64
}

func TestPlantedDifferences(t *testing.T) {
	tooltest.Long(t)
	const at = 300
	on := func(data uint64) plantInput { return plantInput{en: true, data: data} }
	// acc is 0 before the clock, because all earlier data is 0.
	for _, tt := range []struct {
		name  string
		sim   Sim // "": any
		in    plantInput
		clock uint64
		want  []Difference
	}{
		{"register", "", on(plantAcc), at, []Difference{{
			Register: "acc", GoPath: "acc", Verilog: "acc", Pos: "twin.go:3", Width: 64, Want: plantAcc, Got: plantAcc + 1}, {
			Register: "sum", GoPath: "Sum", Verilog: "sum", Width: 64, Want: plantAcc, Got: plantAcc + 1}}},
		{"register of an instance", "", on(plantChild), at, []Difference{{
			Instance: "child", Register: "count", GoPath: "child.count", Verilog: "child.count", Pos: "twin.go:9", Width: 12,
			Want: 5 + at, Got: 5 + at + 1}}},
		{"reset value", "", plantInput{rst: true, data: plantResets}, at, []Difference{{
			Instance: "child", Register: "count", GoPath: "child.count", Verilog: "child.count", Pos: "twin.go:9", Width: 12, Want: 5, Got: 6}}},
		{"port", "", on(plantPort), at, []Difference{{
			Register: "odd", GoPath: "Odd", Verilog: "odd", Width: 1, Want: 0, Got: 1}}},
		{"word of a memory", "", on(plantRAM), at + 1, []Difference{{
			Register: "word 0", GoPath: "ram[0]", Verilog: "ram[0]", Width: 64, Want: plantRAM, Got: plantRAM ^ 1}}},
		{"bit of a wide word", "", on(plantPair), at + 1, []Difference{{
			Register: "word 0 from bit 32", GoPath: "pairs[0]", Verilog: "pairs[0]", Width: 70, Want: 0, Got: 0x20 << 32}}},
		{"unknown value", Icarus, on(plantX), at, []Difference{{
			Register: "flag_0", GoPath: "flag[0]", Verilog: "flag_0", Pos: "twin.go:4", Width: 1, Want: 1, Got: 1, X: 1}}},
	} {
		for _, s := range []Sim{Verilator, Icarus} {
			if tt.sim != "" && tt.sim != s {
				continue
			}
			t.Run(tt.name+" "+string(s), func(t *testing.T) {
				need(t, s)
				wave := filepath.Join(t.TempDir(), "wave.vcd")
				d := plantedRun(t, s, wave, at, tt.in)
				require.NotNil(t, d)
				assert.Equal(t, tt.clock, d.Clock)
				assert.Equal(t, tt.want, d.Differences)
				assert.Equal(t, wave, d.Wave)
				checkWave(t, wave, tt.clock, tt.want[0])
				w := tt.want[0]
				assert.Contains(t, d.Error(), fmt.Sprintf("Go %s = %#x, Verilog %s = %#x", w.GoPath, w.Want, w.Verilog, w.Got))
				assert.Contains(t, d.Error(), w.Pos)
			})
		}
	}
}

// plantedRun applies the input to the planted design at one clock, with zeros before
// it and one empty clock after it.
func plantedRun(t *testing.T, s Sim, wave string, at int, in plantInput) *Divergence {
	l, err := New(planted(t), newTwin(), Options{Sim: s, Batch: 64, Wave: wave, Cache: testCache()})
	require.NoError(t, err)
	for clock := 1; clock <= at+1 && err == nil; clock++ {
		p := plantInput{en: clock < at}
		if clock == at {
			p = in
		}
		en := uint64(0)
		if p.en {
			en = 1
		}
		err = l.Clock(p.rst, []uint64{en, p.data})
	}
	if cerr := l.Close(); err == nil {
		err = cerr
	}
	var d *Divergence
	require.ErrorAs(t, err, &d)
	return d
}

// checkWave checks that the wave has the last waveDepth clocks and, unless the
// difference is in a memory, both values of it after the last clock.
func checkWave(t *testing.T, path string, clock uint64, d Difference) {
	w := readWave(t, path)
	require.Len(t, w.Times, waveDepth+1)
	assert.Equal(t, clock+1-waveDepth, w.Times[0])
	assert.Equal(t, clock, w.Times[waveDepth-1])
	values := w.At(clock)
	if strings.HasPrefix(d.Register, "word") {
		return
	}
	assert.Equal(t, strconv.FormatUint(d.Want, 2), values["go."+d.Verilog])
	got := strconv.FormatUint(d.Got, 2)
	if d.X != 0 {
		got = "x" // the difference is in one bit
	}
	assert.Equal(t, got, values["verilog."+d.Verilog])
}

// readWave returns a wave whose times are converted to clocks.
func readWave(t *testing.T, path string) *vcdtest.Dump {
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	d, err := vcdtest.Parse(f)
	require.NoError(t, err)
	require.Len(t, d.Vars, 13, "6 signals on each side, and the clock")
	d, err = d.Clocks("clk", 100_000_000)
	require.NoError(t, err)
	return d
}
