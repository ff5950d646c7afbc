package property

import (
	"fmt"
	"math/big"
	"regexp"
	"strings"
)

// A Trace is a counterexample: the values of the signals that a checker sees, clock by
// clock, from a reset to the clock in which an assertion fails.
type Trace struct {
	Signals []Signal
}

// A Signal has one value a clock, in hexadecimal.
type Signal struct {
	Name   string
	Values []string
}

// readTrace reads the last table that yosys prints, with the signals in the order of ports.
func readTrace(out string, ports []port) Trace {
	row := regexp.MustCompile(`(?m)^ +(\d+) \\check\.(\w+) +\S+ +\S+ +([01]+)$`)
	tables := strings.Split(out, "  Time Signal Name ")
	values := map[string][]string{}
	for _, m := range row.FindAllStringSubmatch(tables[len(tables)-1], -1) {
		v, _ := new(big.Int).SetString(m[3], 2)
		values[m[2]] = append(values[m[2]], v.Text(16))
	}
	var t Trace
	for _, p := range ports {
		if v, ok := values[p.name]; ok && p.name != "clk" && p.name != begun {
			t.Signals = append(t.Signals, Signal{p.name, v})
		}
	}
	return t
}

// String returns a line for each signal: the name and a value for each clock, in
// hexadecimal, with "." for a value that does not change.
func (t Trace) String() string {
	wide, name := 1, 0
	for _, s := range t.Signals {
		name = max(name, len(s.Name))
		for _, v := range s.Values {
			wide = max(wide, len(v))
		}
	}
	var b strings.Builder
	for _, s := range t.Signals {
		fmt.Fprintf(&b, "  %-*s", name, s.Name)
		for i, v := range s.Values {
			text := v
			if i > 0 && v == s.Values[i-1] {
				text = "."
			}
			fmt.Fprintf(&b, " %*s", wide, text)
		}
		b.WriteByte('\n')
	}
	return b.String()
}
