package verilog

import (
	"math/rand/v2"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/verilog/testdata/sample"
	"github.com/hilgpu/hilgpu/rtl/verilog/testdata/several"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

// fill sets the scalars of v at random and returns their values in order.
func fill(r *rand.Rand, v reflect.Value) []uint64 {
	switch v.Kind() {
	case reflect.Struct:
		var out []uint64
		for i := range v.NumField() {
			out = append(out, fill(r, v.Field(i))...)
		}
		return out
	case reflect.Bool:
		v.SetBool(r.IntN(2) == 1)
		return []uint64{liveBits(v)}
	}
	x := r.Uint64() >> r.IntN(64)
	if r.IntN(4) == 0 {
		x = ^uint64(0) >> r.IntN(2)
	}
	v.SetUint(x & (1<<v.Type().Bits() - 1))
	return []uint64{v.Uint()}
}

// TestSample clocks each sample in Go and in Verilog with the same inputs and
// compares every output and register at every clock.
func TestSample(t *testing.T) {
	tooltest.Long(t)
	t.Parallel()
	tooltest.Need(t, "iverilog", "vvp")
	for _, tt := range []struct {
		name    string
		top     any
		outputs []string
	}{
		{"every operator", &sample.Arith{A8: 7, Flag: true}, []string{"Out"}},
		{"branches, loops and early returns", sample.NewFlow(0x10203), nil},
		{"structs and arrays", &sample.Record{}, nil},
		{"memories", sample.NewStore(), nil},
		{"narrow memories and ROMs", sample.NewNarrow(), []string{"Out"}},
		{"a quiet block", &sample.Sleeper{}, nil},
		{"instances with parameters", several.New(), nil},
		{"copies of queues", sample.NewUndo(), []string{"Has"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			const clocks = 3000
			d, err := translate("../..", tt.top, tt.outputs...)
			require.NoError(t, err)
			r := rand.New(rand.NewPCG(1, 2))
			live := reflect.ValueOf(tt.top)
			tick := live.MethodByName("Tick")
			var vectors [][]uint64
			var want [][]uint64
			for clock := range clocks {
				rst := clock == 0 || r.IntN(50) == 0
				vec := []uint64{0}
				var args []reflect.Value
				for i := range tick.Type().NumIn() {
					a := reflect.New(tick.Type().In(i)).Elem()
					vec = append(vec, fill(r, a)...)
					args = append(args, a)
				}
				if rst {
					vec[0] = 1
					live.MethodByName("Reset").Call(nil)
				} else {
					tick.Call(args)
				}
				vectors = append(vectors, vec)
				want = append(want, observe(d, live))
			}
			compare(t, d, want, icarus(t, d, vectors))
		})
	}
}

// observe returns the outputs and registers of a live module.
func observe(d *Design, live reflect.Value) []uint64 {
	var out []uint64
	for _, p := range d.Manifest.Ports {
		if !p.Input {
			out = append(out, liveBits(live.MethodByName(p.Go).Call(nil)[0]))
		}
	}
	for _, r := range d.Manifest.Registers {
		out = append(out, liveBits(livePath(live.Elem(), r.Go)))
	}
	return out
}

// compare fails at the first clock and signal that differ.
func compare(t *testing.T, d *Design, want [][]uint64, got [][]string) {
	t.Helper()
	var names []string
	for _, p := range d.Manifest.Ports {
		if !p.Input {
			names = append(names, p.Go)
		}
	}
	for _, r := range d.Manifest.Registers {
		names = append(names, r.Go+" at "+r.Pos)
	}
	require.NotEmpty(t, names)
	for clock := range want {
		require.Len(t, got[clock], len(want[clock]))
		for i, w := range want[clock] {
			g := strings.TrimLeft(got[clock][i], "0")
			if w != 0 || g != "" {
				require.Equal(t, strconv.FormatUint(w, 16), g, "clock %d, %s", clock, names[i])
			}
		}
	}
}

// The condition under which a block skips its Tick is not in the Verilog.
func TestAsleepIsNoHardware(t *testing.T) {
	d, err := translate("../..", &sample.Sleeper{})
	require.NoError(t, err)
	text := string(d.Files[0].Text)
	require.Contains(t, text, "Sum")
	require.NotContains(t, text, "==")
}
