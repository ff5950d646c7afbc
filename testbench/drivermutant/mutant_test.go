package drivermutant

import (
	"flag"
	"math/rand/v2"
	"reflect"
	"regexp"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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

// A violation names the call of its function, its stack, and those that the text
// blames. It mentions the others of the text.
func TestFailureNamesOrMentions(t *testing.T) {
	const call = "pfnFlush"
	for text, want := range map[string]Outcome{
		"work of pfnFlush that no pfnRenderCb submitted":    Mentioned,
		"memory of pfnMap without a later pfnFlush":         Named,
		"the pfnMap in pfnDraw lacks a pfnFlush":            Named,
		"the handle is nil, since pfnFlush did not set it":  Named,
		"nothing was drawn; want pfnFlush":                  Mentioned,
		"no call of pfnFlush, want one":                     Named,
		"the work of pfnDraw, pfnFlush and pfnMap":          Mentioned,
		"the work of pfnDraw and pfnFlush":                  Mentioned,
		"nothing was drawn; the last calls are pfnFlush":    Mentioned,
		"nothing was drawn; the last calls are pfnFlushAll": Noticed,
	} {
		v := &verifier.Violation{Function: "pfnPresent", Text: text, Stack: []string{"pfnBlt"}}
		assert.Equal(t, want, outcomeOf(v), text)
	}
	assert.Equal(t, Named, outcomeOf(&verifier.Violation{Function: call}))
	assert.Equal(t, Named, outcomeOf(&verifier.Violation{Function: "pfnRenderCb", Stack: []string{call, "pfnRenderCb"}}))
}

// outcomeOf classifies a violation of a mutant of pfnFlush.
func outcomeOf(v *verifier.Violation) Outcome {
	r := Result{Mutant: &Mutant{Function: "pfnFlush"}}
	r.failed(suite.Result{Messages: []string{"failed"}, Violation: v})
	return r.Outcome
}

// TestMutants runs mutants and prints the table. None may hang or panic. Of all
// mutants, 98 % are noticed, and the violation of 90 % names or mentions the call.
func TestMutants(t *testing.T) {
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
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for m := range next {
				r := m.Run(nil)
				mu.Lock()
				table[r.Outcome]++
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
	t.Log(table)
	assert.Zero(t, table[Hung])
	assert.Zero(t, table[Panicked])
	if *count == 0 && *match == "" {
		assert.GreaterOrEqual(t, table.NoticedShare(), 0.98)
		assert.GreaterOrEqual(t, table.MentionedShare(), 0.90)
	}
}
