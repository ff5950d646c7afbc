package figures

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestRTLText(t *testing.T) {
	r := RTL{Config: "small", Runs: 5, Rows: []Row{
		{Name: "busy", GoSettings: Go, VerilatorSettings: Usual, Clocks: 1000, Slept: 250, Go: 100, Verilator: 300, Ratio: 3, Holds: true},
		{Name: "busy", GoSettings: Go, VerilatorSettings: Tuned, Clocks: 1000, Slept: 250, Go: 100, Verilator: 200, Ratio: 2, Target: 2, Holds: true},
		{Name: "mixed", GoSettings: Awake, VerilatorSettings: Tuned, Clocks: 1000, Go: 100, Verilator: 300, Ratio: 3, Target: 5},
	}, Translate: Translation{Seconds: 0.5, Target: 2, Holds: true}, Edits: []Edit{
		newEdit(Optimized, 2*time.Second, 30*time.Second, 0), newEdit(Unoptimized, 2*time.Second, 10*time.Second, 5), newEdit(Unoptimized, 2*time.Second, 9*time.Second, 5),
	}}
	assert.Equal(t, `RTL in Go against Verilator, configuration small, medians of 5

                clocks  skipped    Go ns/clock      Verilator     ratio
busy              1000   25.00%       100.00 a       300.00 b     3.00x
busy              1000   25.00%       100.00 a       200.00 c     2.00x  target 2x holds
mixed             1000    0.00%       100.00 d       300.00 c     3.00x  target 5x MISSED

a  go build -pgo=off
b  verilator -O3, g++ -O3, two evaluations a clock
c  verilator -O3, g++ -O3 -march=native, inputs in registers, one evaluation a clock
d  go build -pgo=off -tags awake

translation 0.50 s  target 2 s holds
edit rtl/fence and run compose --check: go build 2.0 s, verilator -O3, g++ -O3 30.0 s, 15.00x
edit rtl/fence and run compose --check: go build 2.0 s, verilator -O3, g++ -O0 10.0 s, 5.00x  target 5x holds
edit rtl/fence and run compose --check: go build 2.0 s, verilator -O3, g++ -O0 9.0 s, 4.50x  target 5x MISSED
`, r.Text())
}
