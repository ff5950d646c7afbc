package suite

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/verifier"
	"github.com/hilgpu/hilgpu/testbench/junit"

	"github.com/hilgpu/hilgpu/testbench/output"
)

// sample returns a result of every outcome.
func sample() []Result {
	return []Result{
		{Name: "present", Tier: API, Outcome: Passed, Time: 2 * time.Millisecond,
			Findings: []verifier.Finding{{Rule: "interrupt-lost", Count: 2, First: "one"}}},
		{Name: "random[nodes=1]/7", Doc: "random calls", Source: "a page", Selector: "emu?nodes=1", Seed: 7, Outcome: Failed,
			Messages: []string{"one\ntwo", "three"}, Trace: []byte("{}\n"), Dump: "ring"},
		{Name: "order-flush", Outcome: Skipped, Findings: []verifier.Finding{{Rule: "interrupt-lost", Count: 3, First: "two"}},
			Messages: []string{"the miniport reports NumberOfNodes 1"}},
	}
}

const repeat = `hilgpu test --board emu --filter '^random\[nodes=1\](/|$)' --seed 7 --runs 1`

func TestReport(t *testing.T) {
	r := NewReport("emu", sample())
	assert.Equal(t, []int{1, 1, 1}, []int{r.Passed, r.Failed, r.Skipped})
	assert.Equal(t, "passed   present                                      2ms\n", r.Results[0].Text("emu"))
	assert.Equal(t, "failed   random[nodes=1]/7                            0s\n"+
		"         one\n         two\n         three\n         required: random calls\n         source: a page\n         repeat: "+repeat+"\n", r.Results[1].Text("emu"))

	var b bytes.Buffer
	require.NoError(t, r.WriteJUnit(&b, "mine", 7, []junit.Property{{Name: "driver", Value: "a module"}}, func(res Result) []string { return []string{res.Name + ".txt"} }))
	for _, says := range []string{
		`<testsuite name="mine" tests="3" failures="1" errors="0" skipped="1"`, `<property name="seed" value="7">`, `<property name="tier" value="api">`,
		`<property name="driver" value="a module">`, `<property name="finding interrupt-lost" value="verifier: warning: interrupt-lost, 5 times, first: one">`,
		`<property name="finding interrupt-lost" value="verifier: warning: interrupt-lost, 2 times, first: one">`,
		`message="one (and 1 more)"`, "required: random calls", "source: a page", `[[ATTACHMENT|random[nodes=1]/7.txt]]`, `<skipped message="the miniport reports NumberOfNodes 1">`, "repeat: hilgpu test",
	} {
		assert.Contains(t, b.String(), says)
	}
	assert.NotContains(t, b.String(), "present.txt", "only failed cases leave files")
}

func TestSave(t *testing.T) {
	dir := t.TempDir()
	folder := filepath.Join(dir, "random_nodes=1__7")
	require.NoError(t, os.Mkdir(folder, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "wave.vcd"), nil, 0o600))
	paths, err := sample()[1].Save(dir, "emu")
	require.NoError(t, err)
	var names []string
	for _, p := range paths {
		assert.FileExists(t, p)
		assert.Equal(t, folder, filepath.Dir(p))
		names = append(names, filepath.Base(p))
	}
	assert.Equal(t, []string{"README.txt", "report.html", "messages.txt", "ddi.jsonl", "dump.txt"}, names)
	assert.NoFileExists(t, filepath.Join(folder, "wave.vcd"), "file of an earlier run")
	text, err := os.ReadFile(paths[0])
	require.NoError(t, err)
	assert.Contains(t, string(text), "random[nodes=1]/7: random calls\nsource: a page\nboard emu?nodes=1, seed 7\nrepeat: "+repeat+"\n")

	_, err = sample()[1].Save(paths[0], "emu")
	assert.ErrorIs(t, err, output.ErrWrite)
}

func TestInstances(t *testing.T) {
	all := Options{Selector: "emu"}.Instances()
	assert.Len(t, all, len(Expand("emu", 0, 0)))
	some := Options{Selector: "emu", Filter: regexp.MustCompile("^present$")}.Instances()
	require.Len(t, some, 1)
	assert.Equal(t, "present", some[0].Name)
	assert.Empty(t, Options{Selector: "emu", Filter: regexp.MustCompile("nothing")}.Instances())
}
