package kernelmutant

import (
	"flag"
	"fmt"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

var (
	seed  = flag.Uint64("kernelmutants.seed", 1, "seed of the choice of mutants")
	count = flag.Int("kernelmutants.count", 3, "mutants to run")
	limit = flag.Duration("kernelmutants.limit", 15*time.Second, "processor time of the fast tests of the kernel, after which a mutant counts as caught")
)

// rateCount is the least number of mutants of which TestMutants checks the rate.
const rateCount = 100

// TestMutants runs mutants, two at a time, and prints the survivors and the table. Of many
// mutants 95 % are caught, of a few of them half. The source stays as it is.
func TestMutants(t *testing.T) {
	tooltest.Long(t)
	s, err := Load("../..")
	require.NoError(t, err)
	all := s.Pick(*seed, *count)
	require.Len(t, all, *count)
	b := &Bench{Source: s, Mutants: all, Dir: t.TempDir(), Limit: *limit, Memory: 4 << 10}
	t.Logf("seed %d", *seed)
	table, results := Table{}, make([]Result, len(all))
	next := make(chan int)
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for i := range next {
				r, err := b.Judge(i)
				mu.Lock()
				assert.NoError(t, err)
				table[r.Outcome]++
				results[i] = r
				t.Logf("%4d %-17s %s | %s", i, r.Outcome, r.Mutant, r.Test)
				mu.Unlock()
			}
		})
	}
	for i := range all {
		next <- i
	}
	close(next)
	wg.Wait()
	for _, r := range results {
		if r.Outcome == Survived {
			t.Logf("survived: %v, in %s", r.Mutant, r.Mutant.Function)
		}
	}
	t.Log(table)
	assert.Equal(t, *count, table.Total())
	want := 0.5
	if *count >= rateCount {
		want = 0.95
	}
	assert.GreaterOrEqual(t, table.Caught(), want)
	for name, text := range s.texts {
		now, err := os.ReadFile(s.path(name))
		require.NoError(t, err)
		assert.Equal(t, string(text), string(now), name)
	}
}

// Each equivalent mutant is one that there would be without the list.
func TestEquivalents(t *testing.T) {
	s, err := Load("../..")
	require.NoError(t, err)
	for _, e := range equivalents {
		n := 0
		for _, m := range s.Mutants() {
			if e.matches(m) {
				n++
			}
		}
		assert.Equal(t, 1, n, "%s.go: %s: %s", e.file, e.function, e.change)
		assert.NotEmpty(t, e.why)
	}
	t.Logf("%d mutants, of which %d are equivalent", len(s.Mutants()), len(equivalents))
}

// The seed gives the mutants, and the files and the operators take turns.
func TestPick(t *testing.T) {
	tooltest.Long(t)
	s, err := Load("../..")
	require.NoError(t, err)
	again, err := Load("../..")
	require.NoError(t, err)
	all := s.Pick(1, 30)
	files, operators := map[string]int{}, map[Operator]int{}
	for i, m := range again.Pick(1, 30) {
		assert.Equal(t, all[i].String(), m.String())
		files[m.File]++
		operators[m.Operator]++
	}
	assert.Len(t, files, 29, "each file once, and one of them twice")
	assert.Equal(t, 2, slices.Max(slices.Collect(maps.Values(files))))
	assert.GreaterOrEqual(t, len(operators), 7)
	assert.NotEqual(t, all[0].String(), s.Pick(2, 1)[0].String())
}

// The source with all mutants has a body for each mutant of a function, and the one without a
// mistake. The others keep their source.
func TestSwitchable(t *testing.T) {
	s, err := Load("../..")
	require.NoError(t, err)
	var all []*Mutant
	for _, m := range s.Mutants() {
		if m.File == "idle.go" || m.File == "work.go" {
			all = append(all, m)
		}
	}
	out := s.switchable(all)
	idle, work := string(out[s.path("idle.go")]), string(out[s.path("work.go")])
	assert.Equal(t, strings.Count(idle, "case ")+1, strings.Count(idle, "v := k.enter(t)"))
	assert.Greater(t, strings.Count(idle, "case "), 5)
	constants := 0
	for i, m := range all {
		if s.inBody(m) == nil {
			constants++
			assert.Empty(t, m.Function)
			continue
		}
		text := map[string]string{"idle.go": idle, "work.go": work}[m.File]
		assert.Equal(t, 1, strings.Count(text, fmt.Sprintf("case %d:", i+1)), m)
	}
	assert.Equal(t, 2, constants, "4 in maxOps")
	assert.Equal(t, string(s.texts["gate.go"]), string(out[s.path("gate.go")]))
	for name, src := range out {
		_, err := parser.ParseFile(token.NewFileSet(), name, src, 0)
		assert.NoError(t, err)
	}
}

// What does not compile is no mutant.
func TestCompiles(t *testing.T) {
	s, err := Load("../..")
	require.NoError(t, err)
	for _, m := range s.Mutants() {
		if m.File == "idle.go" && m.Operator == Negated {
			assert.True(t, s.compiles(m))
			m := *m
			m.New = "1"
			assert.False(t, s.compiles(&m), "a number is no condition")
			return
		}
	}
	t.Error("no condition in idle.go")
}

// Text, events and capacities have no mutants. A text that is a verdict has.
func TestUnobservable(t *testing.T) {
	s, err := Load("../..")
	require.NoError(t, err)
	functions := map[string]bool{}
	for _, m := range s.Mutants() {
		functions[m.Function] = true
		assert.NotRegexp(t, `^(k\.observe|k\.noteWaits|clear\(k\.|clear\(c\.)`, m.Old)
		assert.False(t, strings.HasPrefix(m.Source, "op.Operation, s, progress, waited"), "an argument of a format")
	}
	for name, want := range map[string]bool{
		"Kernel.dump": false, "Kernel.dumpNode": false, "written.since": false, "pagingOp.String": false, "placeName": false,
		"Kernel.describeAperture": false, "lent.overrun": true, "wrongFill": true, "Kernel.compareContent": true, "Kernel.submit": true,
	} {
		assert.Equal(t, want, functions[name], name)
	}
}
