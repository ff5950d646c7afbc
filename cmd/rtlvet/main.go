// Rtlvet is the vet tool of the RTL. go vet -vettool=bin/rtlvet ./rtl/...
// reports code that the translator to Verilog would refuse, without
// translating.
package main

import (
	"golang.org/x/tools/go/analysis/unitchecker"

	"github.com/hilgpu/hilgpu/rtl/verilog/analyzer"
)

func main() { unitchecker.Main(analyzer.Analyzer) }
