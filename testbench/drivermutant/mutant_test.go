package drivermutant

import (
	"flag"
	"maps"
	"math/rand/v2"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
	"github.com/hilgpu/hilgpu/runtime/verifier"
	"github.com/hilgpu/hilgpu/testbench/suite"
)

var (
	seed  = flag.Uint64("mutants.seed", 1, "seed of the choice of mutants")
	match = flag.String("mutants.match", "", "regular expression of the mutants' descriptions")
	count = flag.Int("mutants.count", 8, "mutants to run; 0: all")
)

// Each harmless change is one of a mutant that there would be without it.
func TestHarmlessChanges(t *testing.T) {
	var every []string
	for _, e := range edges {
		for i := range e.table.NumField() {
			if f := e.table.Field(i); f.Type.Kind() == reflect.Func {
				for _, m := range mutantsOf(e, f) {
					every = append(every, m.String())
				}
			}
		}
	}
	for _, h := range harmlessChanges {
		assert.True(t, slices.ContainsFunc(every, regexp.MustCompile(h.match).MatchString), h.match)
	}
	t.Logf("%d of %d changes are mistakes", len(All()), len(every))
}

// A violation names the call of its function and of its culprit. It mentions those of
// its stack and of its text.
func TestFailureNamesOrMentions(t *testing.T) {
	named := &verifier.Culprit{Function: "pfnFlush", Why: "returned"}
	other := &verifier.Culprit{Function: "pfnFlushAll", Why: "returned since pfnFlush did"}
	for _, tt := range []struct {
		name string
		v    verifier.Violation
		want Outcome
	}{
		{"function", verifier.Violation{Function: "pfnFlush"}, Named},
		{"culprit", verifier.Violation{Function: "pfnPresent", Culprit: named}, Named},
		{"other culprit", verifier.Violation{Function: "pfnPresent", Culprit: other}, Mentioned},
		{"stack", verifier.Violation{Function: "pfnRenderCb", Stack: []string{"pfnFlush", "pfnRenderCb"}}, Mentioned},
		{"text", verifier.Violation{Function: "pfnPresent", Text: "the work of pfnDraw and pfnFlush"}, Mentioned},
		{"none", verifier.Violation{Function: "pfnPresent", Text: "the last calls are pfnFlushAll"}, Noticed},
	} {
		assert.Equal(t, tt.want, outcomeOf(&tt.v), tt.name)
	}
}

// outcomeOf classifies a violation of a mutant of pfnFlush.
func outcomeOf(v *verifier.Violation) Outcome {
	r := Result{Mutant: &Mutant{Function: "pfnFlush"}}
	r.failed(suite.Result{Messages: []string{"failed"}, Violation: v})
	return r.Outcome
}

// TestMutants runs mutants and prints the table, and those that no violation names, by
// rule. None may hang or panic. Of all mutants, 98 % are noticed, and the violation of
// 90 % names the call as its function or its culprit.
func TestMutants(t *testing.T) {
	tooltest.Long(t)
	all := All()
	assert.GreaterOrEqual(t, len(all), 300)
	only, err := regexp.Compile(*match)
	require.NoError(t, err)
	all = slices.DeleteFunc(all, func(m *Mutant) bool { return !only.MatchString(m.String()) })
	rand.New(rand.NewPCG(*seed, 0)).Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	if *count > 0 {
		all = all[:min(*count, len(all))]
	}
	table, next := Table{}, make(chan *Mutant)
	unnamed := map[string][]string{} // by rule
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for m := range next {
				r := m.Run(nil)
				mu.Lock()
				table[r.Outcome]++
				if r.Outcome != Named && r.Outcome != NotReached {
					unnamed[r.Rule] = append(unnamed[r.Rule], m.String())
				}
				t.Logf("%4d %-11s %-22s %s | %s | %s", m.ID, r.Outcome, r.Rule, m, r.Case, r.Text)
				mu.Unlock()
			}
		})
	}
	for _, m := range all {
		next <- m
	}
	close(next)
	wg.Wait()
	for _, broken := range slices.Sorted(maps.Keys(unnamed)) {
		slices.Sort(unnamed[broken])
		t.Logf("not named, rule %q: %d\n\t%s", broken, len(unnamed[broken]), strings.Join(unnamed[broken], "\n\t"))
	}
	t.Log(table)
	assert.Zero(t, table[Hung])
	assert.Zero(t, table[Panicked])
	if *count == 0 && *match == "" {
		assert.GreaterOrEqual(t, table.NoticedShare(), 0.98)
		assert.GreaterOrEqual(t, table.NamedShare(), 0.90)
	}
}
