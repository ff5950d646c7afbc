package analyzer

import (
	"testing"

	"golang.org/x/tools/go/analysis/analysistest"
)

// TestAcrossPackages holds a call to be reported for what another package's
// function does, and nothing to be that no Tick calls. The rules one by one are
// in TestVet of package verilog, which has the translator's cases; the whole of
// the RTL is in the test of cmd/rtlvet.
func TestAcrossPackages(t *testing.T) {
	analysistest.Run(t, "../../..", Analyzer, "./rtl/verilog/analyzer/testdata/top", "./rtl/verilog/analyzer/testdata/block")
}
