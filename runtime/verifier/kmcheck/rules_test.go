package kmcheck

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/verifier/rule"
)

// A ruleCase has a program that breaks a rule and a similar one that does not.
type ruleCase struct {
	rule   string
	breaks func(r *rig)
	keeps  func(r *rig)
}

// allCases returns the cases of all rules of this package.
func allCases() []ruleCase {
	return slices.Concat(levelCases(), resultCases(), objectCases(), resourceCases(), fenceCases(), preemptCases(), argumentCases(), failedCases(), ignoredCases(), patchCases(), budgetCases())
}

// kernelRules are the rules without a bugcheck that the graphics kernel checks.
var kernelRules = []string{"interrupt-lost", "miniport-table", "command-twice", "adapter-info", "context-info", "allocation-info", "gpu-fault", "gpu-time-out", "gpu-late", "preempt-time-out", "paging-content", "aperture-unmap"}

// Every rule of the kernel-mode interface that the graphics kernel does not check
// has a program that breaks it, alone, and a program at its boundary that breaks
// no rule.
func TestRules(t *testing.T) {
	cases := map[string][]ruleCase{}
	for _, c := range allCases() {
		cases[c.rule] = append(cases[c.rule], c)
	}
	for _, want := range rule.KernelMode() {
		if want.Code != 0 || slices.Contains(kernelRules, want.Name) {
			continue // in package dxgkrnl
		}
		t.Run(want.Name, func(t *testing.T) {
			require.NotEmpty(t, cases[want.Name], "the rule has no test")
			for _, c := range cases[want.Name] {
				c.run(t, want)
			}
		})
		delete(cases, want.Name)
	}
	assert.Empty(t, cases, "cases of rules that do not exist")
}

func (c ruleCase) run(t *testing.T, want rule.Rule) {
	r := newRig(t)
	c.breaks(r)
	var got []string
	for _, v := range r.m.Violations() {
		assert.NotEmpty(t, v.Text)
		got = append(got, v.Rule.Name)
	}
	for _, f := range r.m.Findings() {
		got = append(got, f.Rule)
	}
	assert.Equal(t, []string{want.Name}, got, "%v", r.m.Violations())
	r = newRig(t)
	c.keeps(r)
	for _, v := range r.m.Violations() {
		t.Errorf("at the boundary: %v", v)
	}
	assert.Empty(t, r.m.Findings())
}
