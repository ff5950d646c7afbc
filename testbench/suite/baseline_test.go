package suite

import (
	"bytes"
	"errors"
	"image"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/verifier"
	"github.com/hilgpu/hilgpu/runtime/verifier/rule"
	"github.com/hilgpu/hilgpu/testbench/eventlog"
	"github.com/hilgpu/hilgpu/testbench/report"
)

func TestReadBaseline(t *testing.T) {
	all := Expand("emu", 0, 0)
	b, err := ReadBaseline(strings.NewReader("# known\n\npresent,Fail\n random[nodes=1]/1 , Flake\nrandom,Skip\n"), all)
	require.NoError(t, err)
	for name, want := range map[string]Mark{
		"present": Fail, "random[nodes=1]/1": Flake, "random[nodes=1]/0": "", "random/0": Skip, "random/1": Skip, "clears": "",
	} {
		assert.Equal(t, want, b.of(name), name)
	}
	assert.Empty(t, (*Baseline)(nil).of("present"))
	for text, want := range map[string]string{
		"present":                     `line 1: "present", want NAME,Fail or NAME,Skip or NAME,Flake`,
		"present,Pass":                `line 1: "present,Pass", want NAME,Fail`,
		"# one\npresents,Fail":        `line 2: no case "presents"`,
		"present,Fail\npresent,Flake": `line 2: "present" is listed twice`,
	} {
		_, err := ReadBaseline(strings.NewReader(text), all)
		require.ErrorIs(t, err, ErrBaseline)
		assert.ErrorContains(t, err, want)
	}
}

// TestJudge: the outcome of a case by its mark and by the results of its runs.
func TestJudge(t *testing.T) {
	hang, err := rule.Named("call-hang")
	require.NoError(t, err)
	pass, fails := Result{Outcome: Passed}, Result{Outcome: Failed, Messages: []string{"one\nstack 1"}}
	for _, tt := range []struct {
		name     string
		selector string
		mark     Mark
		runs     []Result
		word     string
		bad      bool
		says     string
	}{
		{"passes", "emu", "", []Result{pass}, "passed", false, ""},
		{"fails", "emu", "", []Result{fails, {Outcome: Failed, Messages: []string{"one\nstack 2"}}}, "failed", true, "one"},
		{"fails and passes", "emu", "", []Result{fails, pass}, "failed", true, "not deterministic: run again, it passed"},
		{"fails otherwise", "line", "", []Result{fails, {Outcome: Failed, Messages: []string{"two"}}}, "failed", true, "not deterministic: run again, it failed with: two"},
		{"checks otherwise", "verilated", "", []Result{{Outcome: Failed, Messages: []string{"Error:\tis 1\nMessages:\tone"}}, {Outcome: Failed, Messages: []string{"Error:\tis\n\t2\nMessages:\tone"}}}, "failed", true, "it failed with: one: is 2"},
		{"flaky board", "tcp:host:1", "", []Result{fails, pass}, "flaky", false, "one"},
		{"bad board", "tcp:host:1", "", []Result{fails, {Outcome: Failed, Messages: []string{"two"}}}, "failed", true, "one"},
		{"hangs", "emu", "", []Result{{Outcome: Failed, Messages: []string{"one"}, Violation: &verifier.Violation{Rule: hang}}}, "failed", true, "one"},
		{"threads", "emu", "", []Result{fails}, "failed", true, "one"},
		{"known", "emu", Fail, []Result{fails}, "known", false, "one"},
		{"may fail", "emu", Flake, []Result{fails}, "known", false, "one"},
		{"may pass", "emu", Flake, []Result{pass}, "passed", false, ""},
		{"unexpected pass", "emu", Fail, []Result{pass}, "failed", true, "unexpected pass: the baseline lists it as Fail"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			n := 0
			o := Options{Again: true, Baseline: &Baseline{map[string]Mark{"it": tt.mark}}}
			got := o.judge(Instance{Name: "it/3", Selector: tt.selector, Case: Case{threads: tt.name == "threads"}}, func(Instance) Result {
				n++
				return tt.runs[n-1]
			})
			assert.Equal(t, len(tt.runs), n)
			assert.Equal(t, tt.word, got.Word())
			assert.Equal(t, tt.bad, got.Unexpected())
			assert.Contains(t, strings.Join(got.Messages, "\n"), tt.says)
		})
	}
}

// A skipped case does not run, a known failure does not end a run, and both are told.
func TestRunWithBaseline(t *testing.T) {
	r := NewReport("emu", Run(Options{
		Selector: "emu", FailFast: true,
		Baseline: &Baseline{map[string]Mark{"present": Fail, "clears": Skip}},
		Exec: func(i Instance) Result {
			if i.Name == "present" {
				return i.Failure(errors.New("it fails"), 0)
			}
			return Result{Name: i.Name, Outcome: Passed}
		},
	}))
	assert.Equal(t, []int{1, 1, 1}, []int{r.Failed, r.Known, r.Skipped})
	assert.Equal(t, len(r.Results)-2, r.Passed)
	assert.Contains(t, r.Counts(), "1 failed, 1 skipped, 1 of the failures known on emu")
	var b bytes.Buffer
	require.NoError(t, r.WriteJUnit(&b, "mine", 0, nil, func(Result) []string { return []string{"a/report.html"} }))
	assert.Contains(t, b.String(), `<skipped message="known to fail: it fails">`)
	assert.Contains(t, b.String(), `<skipped message="the baseline lists it as Skip">`)
	assert.Contains(t, b.String(), `<property name="report" value="a/report.html">`)
	assert.NotContains(t, b.String(), "<failure")
}

// A frame that differs, and the last events, are in the folder and on the page.
func TestSaveFrames(t *testing.T) {
	c := &T{keep: true}
	c.differs(image.NewNRGBA(image.Rect(0, 0, 2, 2)), image.NewNRGBA(image.Rect(0, 0, 2, 3)))
	sink, err := c.record(eventlog.Header{Board: "emu", Hz: 1e6})
	require.NoError(t, err)
	sink.Add(eventlog.New(eventlog.Call, 1).WithText("CopyResource"))
	dir := t.TempDir()
	files, err := Result{Name: "it", Outcome: Failed, Log: c.log(""), Got: c.got, Expected: c.expected}.Save(dir, "emu")
	require.NoError(t, err)
	for _, name := range []string{report.LogFile, report.GotEnd, report.ExpectedEnd, report.DiffEnd} {
		assert.Contains(t, files, filepath.Join(dir, "it", name))
	}
	page, err := os.ReadFile(filepath.Join(dir, "it", reportFile))
	require.NoError(t, err)
	assert.Equal(t, 3, strings.Count(string(page), `src="data:image/png;base64,`))
	assert.Contains(t, string(page), "<h1>it: failed</h1>")
	assert.Contains(t, string(page), "CopyResource: 1")
}
