package analyzer

import (
	"testing"

	"golang.org/x/tools/go/analysis/analysistest"
)

// TestAcrossPackages checks that a call is reported for code in another package's
// function, and that a function that no Tick calls is not. TestVet of package
// verilog tests each rule, with the translator's cases. The test of cmd/rtlvet
// runs the analyzer on the complete RTL.
func TestAcrossPackages(t *testing.T) {
	analysistest.Run(t, "../../..", Analyzer, "./rtl/verilog/analyzer/testdata/top", "./rtl/verilog/analyzer/testdata/block")
}
