package lockstep

import (
	"io"
	"os"
	"strings"

	"github.com/hilgpu/hilgpu/rtl/hdl/vcd"
	"github.com/hilgpu/hilgpu/rtl/verilog/sim"
)

// writeWave writes the samples as a value change dump: a time unit is a clock,
// and the scopes go and verilog have the signals of each side in the hierarchy
// of the instances.
func writeWave(path string, l *sim.Layout, samples []sample) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	err = dump(f, l, samples)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}

// waveVars declares the signals of both sides, the Go side's first.
func waveVars(l *sim.Layout) []vcd.Var {
	var vars []vcd.Var
	for _, side := range []string{"go.", "verilog."} {
		for _, s := range l.Out {
			name := strings.NewReplacer("[", "_", "]", "").Replace(s.Name)
			vars = append(vars, vcd.Var{Name: side + name, Width: s.Width})
		}
	}
	return vars
}

// A shown is a value that a wave has of a signal.
type shown struct {
	v, x  uint64
	known bool // there is one
}

func dump(w io.Writer, l *sim.Layout, samples []sample) error {
	out := vcd.NewWriter(w, waveVars(l))
	last := make([]shown, 2*len(l.Out))
	set := func(i int, v, x uint64) {
		if to := (shown{v, x, true}); last[i] != to {
			last[i] = to
			out.SetX(i, v, x)
		}
	}
	for _, s := range samples {
		out.Time(s.clock)
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
		out.Time(samples[n-1].clock + 1)
	}
	return out.Flush()
}
