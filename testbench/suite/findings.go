package suite

import (
	"cmp"
	"slices"

	"github.com/hilgpu/hilgpu/runtime/verifier"
	"github.com/hilgpu/hilgpu/runtime/verifier/rule"
)

// addFindings adds findings to those of the same rules.
func addFindings(all, more []verifier.Finding) []verifier.Finding {
	for _, f := range more {
		if n := slices.IndexFunc(all, func(of verifier.Finding) bool { return of.Rule == f.Rule }); n >= 0 {
			all[n].Count += f.Count
		} else {
			all = append(all, f)
		}
	}
	return all
}

// undoneOf returns the warnings that name work that was not done, in the order of
// virtual time.
func undoneOf(all []verifier.Finding) []*verifier.Violation {
	var out []*verifier.Violation
	for _, f := range all {
		if f.Violation.Rule.Fault == rule.DriverOrDevice || f.Rule == "removed-report" {
			out = append(out, f.Violation)
		}
	}
	slices.SortStableFunc(out, func(a, b *verifier.Violation) int { return cmp.Compare(a.Cycle, b.Cycle) })
	return out
}

// broken returns the first broken rule, or else the first that names work that the
// GPU did not do, or nil.
func (t *T) broken() *verifier.Violation {
	if t.violation == nil && len(t.undone) > 0 {
		return t.undone[0]
	}
	return t.violation
}
