package bustest

import "testing"

// Figure prints a measurement of a benchmark and its target.
func Figure(b *testing.B, what string, got float64, unit string, holds bool, want string) {
	b.Helper()
	verdict := "holds"
	if !holds {
		verdict = "MISSED"
	}
	b.Logf("%-34s %10.3f %-12s want %-28s %s", what, got, unit, want, verdict)
}
