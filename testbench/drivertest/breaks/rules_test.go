package breaks

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/verifier/rule"
)

// without lists the rules that a driver can break and that no break names, with the
// reason.
var without = map[string]string{
	"size-varies": "the runtime asks for the size of each object once",
	"driver-exit": "the process ends: testbench/drivertest runs such drivers in a child",

	"access-unwritten": "it is a mistake of an application: testbench/sanitize has such a test",

	"private-overflow": "Go checks the indices of a driver: runtime/dxgkrnl writes the guard",

	"gpu-late":    "a device must lose a doorbell: the workload late",
	"reset-limit": "six resets of the adapter: runtime/dxgkrnl has such a driver",
	"reset-time":  "five seconds of accesses: runtime/dxgkrnl has such a driver",

	"callback-thread": "two calls must run at the same time: runtime/verifier has such a driver, with two goroutines",
}

// Each rule that a driver can break has a break, and each break names a rule that a
// driver can break.
func TestRules(t *testing.T) {
	count := map[string]int{}
	for _, b := range All() {
		count[b.Rule]++
		r, err := rule.Named(b.Rule)
		require.NoError(t, err, b.Name)
		assert.NotEqual(t, rule.Runtime, r.Fault, b.Name)
	}
	for _, r := range rule.All() {
		if r.Fault != rule.Runtime && without[r.Name] == "" {
			assert.Positive(t, count[r.Name], "%s has no break", r.Name)
		}
	}
}

// The table is complete: at least 150 breaks with different names, of which at least
// 150 are not the same mistake at another entry.
func TestTable(t *testing.T) {
	all := All()
	names := map[string]bool{}
	for _, b := range all {
		assert.False(t, names[b.Name], b.Name)
		names[b.Name] = true
		assert.Regexp(t, `^\p{Lu}?[\w].*\.$`, b.Doc, b.Name)
		assert.Contains(t, boards, b.Work, b.Name)
		assert.NotNil(t, b.Drivers, b.Name)
	}
	assert.GreaterOrEqual(t, len(all)-len(families()), 150)
}

// Each pitfall that a driver can commit here has a break, for each of its mistakes, and each other
// one says where its test is.
func TestPitfalls(t *testing.T) {
	pitfalls := Pitfalls()
	require.Len(t, pitfalls, 35)
	for i, p := range pitfalls {
		assert.Equal(t, i+1, p.Number)
		has := slices.ContainsFunc(All(), func(b Break) bool { return b.Pitfall == p.Number })
		assert.Equal(t, p.Test == "", has, fmt.Sprintf("pitfall %d has either a break or another test", p.Number))
		for _, m := range p.Mistakes {
			assert.True(t, slices.ContainsFunc(All(), func(b Break) bool { return b.Pitfall == p.Number && b.Mistake == m }), "pitfall %d: %s", p.Number, m)
		}
	}
	for _, b := range All() {
		if b.Mistake != "" {
			require.Positive(t, b.Pitfall, b.Name)
			assert.Contains(t, pitfalls[b.Pitfall-1].Mistakes, b.Mistake, b.Name)
		}
	}
}
