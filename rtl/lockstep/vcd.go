package lockstep

import (
	"io"
	"os"
	"strings"

	"github.com/hilgpu/hilgpu/rtl/hdl/vcd"
	"github.com/hilgpu/hilgpu/rtl/verilog/sim"
)

// writeWave writes the samples as a value change dump (VCD) with a clock of hz. The
// scopes go and verilog hold the signals of the two sides, in the hierarchy of the
// instances.
func writeWave(path string, l *sim.Layout, hz uint64, samples []sample) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	err = dump(f, l, hz, samples)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}

// waveVars declares the signals of both sides, the Go side's first, and the clock.
func waveVars(l *sim.Layout) []vcd.Var {
	var vars []vcd.Var
	for _, side := range []string{"go.", "verilog."} {
		for _, s := range l.Out {
			name := strings.NewReplacer("[", "_", "]", "").Replace(s.Name)
			vars = append(vars, vcd.Var{Name: side + name, Width: s.Width})
		}
	}
	return append(vars, vcd.Var{Name: "clk", Width: 1})
}

// A waveValue is the current value of a signal in a wave.
type waveValue struct {
	v, x  uint64
	known bool // false before the first value
}

func dump(w io.Writer, l *sim.Layout, hz uint64, samples []sample) error {
	scale := vcd.NewTimescale(hz)
	out := vcd.NewWriter(w, scale, waveVars(l))
	clock := vcd.NewClock(out, scale, 2*len(l.Out))
	last := make([]waveValue, 2*len(l.Out))
	set := func(i int, v, x uint64) {
		if to := (waveValue{v, x, true}); last[i] != to {
			last[i] = to
			out.SetX(i, v, x)
		}
	}
	for _, s := range samples {
		clock.Rise(s.clock)
		for i := range l.Out {
			sig := &l.Out[i]
			x := uint64(0)
			if s.x != nil {
				x = sig.Get(s.x)
			}
			set(i, sig.Get(s.want), 0)
			set(len(l.Out)+i, sig.Get(s.got), x)
		}
	}
	if n := len(samples); n > 0 {
		clock.End(samples[n-1].clock + 1)
	}
	return out.Flush()
}
