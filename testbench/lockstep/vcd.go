package lockstep

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/hilgpu/hilgpu/rtl/verilog/sim"
)

// writeWave writes the samples as a value change dump (IEEE 1364-2001 §18): a
// time unit is a clock, and the scopes go and verilog have the signals of each
// side in the hierarchy of the instances.
func writeWave(path string, l *sim.Layout, samples []sample) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	b := bufio.NewWriter(f)
	dump(b, l, samples)
	err = b.Flush()
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}

// dump writes errors into b, which keeps the first.
func dump(b *bufio.Writer, l *sim.Layout, samples []sample) {
	io.WriteString(b, "$timescale 1 ns $end\n")
	for side, name := range []string{"go", "verilog"} {
		fmt.Fprintf(b, "$scope module %s $end\n", name)
		declare(b, l, side*len(l.Out))
		io.WriteString(b, "$upscope $end\n")
	}
	io.WriteString(b, "$enddefinitions $end\n")
	last := make([]string, 2*len(l.Out))
	for _, s := range samples {
		fmt.Fprintf(b, "#%d\n", s.clock)
		for i := range l.Out {
			sig := &l.Out[i]
			x := uint64(0)
			if s.x != nil {
				x = sig.Get(s.x)
			}
			change(b, last, i, bits(sig, sig.Get(s.want), 0))
			change(b, last, len(l.Out)+i, bits(sig, sig.Get(s.got), x))
		}
	}
	if n := len(samples); n > 0 {
		fmt.Fprintf(b, "#%d\n", samples[n-1].clock+1)
	}
}

// declare writes the variables of one side, numbered from first on. A scope is
// opened for each part of an instance's name and kept for what follows.
func declare(b *bufio.Writer, l *sim.Layout, first int) {
	var open []string
	for i := range l.Out {
		s := &l.Out[i]
		var scope []string
		if at := strings.LastIndexByte(s.Name, '.'); at >= 0 {
			scope = strings.Split(s.Name[:at], ".")
		}
		same := 0
		for same < len(open) && same < len(scope) && open[same] == scope[same] {
			same++
		}
		for range open[same:] {
			io.WriteString(b, "$upscope $end\n")
		}
		for _, name := range scope[same:] {
			fmt.Fprintf(b, "$scope module %s $end\n", name)
		}
		open = scope
		name := s.Name[strings.LastIndexByte(s.Name, '.')+1:]
		fmt.Fprintf(b, "$var reg %d %s %s $end\n", s.Width, code(first+i), strings.NewReplacer("[", "_", "]", "").Replace(name))
	}
	for range open {
		io.WriteString(b, "$upscope $end\n")
	}
}

// change writes a value that is not the last one of the variable.
func change(b *bufio.Writer, last []string, i int, v string) {
	if last[i] == v {
		return
	}
	last[i] = v
	sep := " "
	if len(v) == 1 {
		sep = ""
	} else {
		io.WriteString(b, "b")
	}
	fmt.Fprintf(b, "%s%s%s\n", v, sep, code(i))
}

// bits returns a value of the signal, a digit a bit, x where x is set.
func bits(s *sim.Signal, v, x uint64) string {
	p := make([]byte, s.Width)
	for i := range p {
		n := s.Width - 1 - i
		p[i] = '0' + byte(v>>n&1)
		if x>>n&1 != 0 {
			p[i] = 'x'
		}
	}
	return string(p)
}

// code returns the identifier of a variable, of the printable characters.
func code(i int) string {
	var p []byte
	for {
		p = append(p, byte('!'+i%94))
		if i /= 94; i == 0 {
			return string(p)
		}
	}
}
