package bustest

import (
	"os"
	"testing"
)

// FiguresVariable is the environment variable that, if it is "strict", makes a missed
// target fail its benchmark, as make bench does.
const FiguresVariable = "HILGPU_FIGURES"

// Figure prints a measurement of a benchmark and its target.
func Figure(b testing.TB, what string, got float64, unit string, holds bool, want string) {
	b.Helper()
	log, verdict := b.Logf, "holds"
	if !holds {
		verdict = "MISSED"
		if os.Getenv(FiguresVariable) == "strict" {
			log = b.Errorf
		}
	}
	log("%-34s %10.3f %-12s want %-28s %s", what, got, unit, want, verdict)
}
