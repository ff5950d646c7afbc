package sim

import (
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/verilog/simtest"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

// twinModel is a model of twin.v.
type twinModel struct {
	acc, count uint64
	flag0, odd uint64
}

func (m *twinModel) clock(rst bool, en, data uint64) {
	if rst {
		*m = twinModel{count: 5}
		return
	}
	m.flag0, m.odd = en, m.count&1
	if en == 1 {
		m.acc, m.count = m.acc+data, (m.count+1)&0xfff
	}
}

// twinWork returns stimuli of the twin, the digest that they give, and the values of
// its registers before each clock.
func twinWork(l *Layout) (s *Stimuli, digest uint64, before []twinModel) {
	s, m, r := new(Stimuli), twinModel{}, rand.New(rand.NewPCG(1, 2))
	add := func(rst bool, en, data uint64, n uint32, look bool) {
		s.Append(l, rst, []uint64{en, data}, n, look)
		if look {
			digest = digest*DigestStep + m.acc*DigestFactor(0) + m.odd*DigestFactor(1)
		}
		for range n {
			before = append(before, m)
			m.clock(rst, en, data)
		}
	}
	add(true, 0, 0, 1, false)
	for range 100 {
		add(r.IntN(20) == 0, r.Uint64()&1, r.Uint64(), 1+r.Uint32N(3), r.IntN(4) > 0)
	}
	return s, digest, before
}

// Every kind of model gives the digest of an independent model, in each run.
func TestReplay(t *testing.T) {
	tooltest.Need(t, Verilator.Tools()...)
	for _, o := range []BuildOptions{{}, {Waves: true}, {Tuned: true}, {Tuned: true, Waves: true}} {
		t.Run("waves="+strconv.FormatBool(o.Waves)+",tuned="+strconv.FormatBool(o.Tuned), func(t *testing.T) {
			o.Cache, o.Replay = simtest.Cache(), true
			m, err := Build(simtest.TwinDesign(t), o)
			require.NoError(t, err)
			s, want, before := twinWork(m.layout)
			dir := t.TempDir()
			r, err := m.Replay(dir, s)
			require.NoError(t, err)
			for range 2 {
				took, digest, err := r.Run()
				require.NoError(t, err)
				assert.Positive(t, took)
				assert.Equal(t, want, digest)
			}
			require.NoError(t, r.Close())
			if o.Waves && o.Tuned {
				requireWave(t, filepath.Join(dir, "verilator.vcd"), before)
			}
		})
	}
}

// requireWave checks that the wave of a tuned twin has the ports and the registers,
// nothing else, and their values in the second run.
func requireWave(t *testing.T, file string, before []twinModel) {
	t.Helper()
	w := simtest.ReadWave(t, file)
	const top = "TOP.hilgpu_tuned.twin."
	var names []string
	for name := range w.Values {
		names = append(names, strings.TrimPrefix(name, top))
	}
	assert.ElementsMatch(t, []string{"clk", "en", "data", "sum", "odd", "acc", "flag_0", "flag_1", "child.count"}, names)
	require.Len(t, w.Times, len(before))
	for i, m := range before {
		for name, v := range map[string]uint64{"acc": m.acc, "sum": m.acc, "odd": m.odd, "flag_0": m.flag0, "flag_1": m.odd, "child.count": m.count} {
			if i > 0 { // the reset of the second run follows the end of the first
				require.Equal(t, strconv.FormatUint(v, 2), w.Values[top+name][i], "%s in clock %d", name, i)
			}
		}
	}
}

// The options choose the flags of the compiler. Of the same variable make uses the
// last value.
func TestCompilerFlags(t *testing.T) {
	d := simtest.TwinDesign(t)
	l, err := NewLayout(&d.Manifest)
	require.NoError(t, err)
	for _, tt := range []struct {
		o    BuildOptions
		want string
	}{
		{BuildOptions{}, "OPT_FAST=-O3"},
		{BuildOptions{Replay: true}, "OPT_FAST=-O3"},
		{BuildOptions{Unoptimized: true}, "OPT_FAST=-O0"},
		{BuildOptions{Replay: true, Tuned: true}, "OPT_FAST=-O3 -march=native"},
	} {
		_, steps := sources(d, l, tt.o)
		last := ""
		for _, arg := range steps[1] {
			if strings.HasPrefix(arg, "OPT_FAST=") {
				last = arg
			}
		}
		assert.Equal(t, tt.want, last)
		assert.Equal(t, tt.o.Tuned, slices.Contains(steps[0], tunedTop))
	}
}
