package suite

import (
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hilgpu/hilgpu/boards"
	"github.com/hilgpu/hilgpu/runtime/verifier"
	"github.com/hilgpu/hilgpu/testbench/junit"
)

// A Report lists the results of the instances on a board.
type Report struct {
	Board   string   `json:"board"` // selector
	Passed  int      `json:"passed"`
	Failed  int      `json:"failed"`
	Skipped int      `json:"skipped"`
	Known   int      `json:"known,omitempty"` // of Failed, those that the baseline lists
	Flaky   int      `json:"flaky,omitempty"` // of Passed, those that failed first
	Results []Result `json:"results"`

	Findings []verifier.Finding `json:"findings,omitempty"` // of all results, one for each rule
}

// NewReport returns the report of results on a board.
func NewReport(board string, results []Result) *Report {
	r := &Report{Board: board, Results: results}
	for _, res := range results {
		r.Findings = addFindings(r.Findings, res.Findings)
		if res.Known {
			r.Known++
		}
		if res.Flaky {
			r.Flaky++
		}
		switch res.Outcome {
		case Passed:
			r.Passed++
		case Failed:
			r.Failed++
		default:
			r.Skipped++
		}
	}
	return r
}

// WriteJUnit writes the report as a JUnit test suite with a name, that of the program
// with the drivers. seed is the first seed of the run, more are further properties of
// the suite. files returns the files that a failed case has left.
func (r *Report) WriteJUnit(w io.Writer, name string, seed uint64, more []junit.Property, files func(Result) []string) error {
	doc := junit.Suite{Name: name, Properties: slices.Concat([]junit.Property{
		{Name: "board", Value: r.Board}, {Name: "seed", Value: strconv.FormatUint(seed, 10)},
	}, more, propertiesOf(r.Findings))}
	for _, res := range r.Results {
		c := junit.Case{Class: "suite", Name: res.Name, Time: res.Time, Properties: []junit.Property{
			{Name: "tier", Value: string(res.Tier)}, {Name: "selector", Value: res.Selector}, {Name: "seed", Value: strconv.FormatUint(res.Seed, 10)},
		}}
		c.Properties = append(c.Properties, propertiesOf(res.Findings)...)
		if res.Outcome == Failed || res.Flaky {
			c.Output = "repeat: " + res.Replay(r.Board)
			c.Attachments = files(res)
			c.Properties = append(c.Properties, pages(c.Attachments)...)
		}
		switch {
		case res.Unexpected():
			c.Failure, c.Message = strings.Join(res.Messages, "\n")+"\n"+res.Why(), res.head()
		case res.Flaky:
			c.Properties = append(c.Properties, junit.Property{Name: "flaky", Value: res.head()})
		case res.Known:
			c.Skipped = "known to fail: " + strings.Join(res.Messages, "\n")
		case res.Outcome == Skipped:
			c.Skipped = strings.Join(res.Messages, "\n")
		}
		doc.Cases = append(doc.Cases, c)
	}
	return junit.Write(w, doc)
}

// pages returns a property for each page among files.
func pages(files []string) (out []junit.Property) {
	for _, f := range files {
		if filepath.Base(f) == reportFile {
			out = append(out, junit.Property{Name: "report", Value: f})
		}
	}
	return out
}

// propertiesOf returns a property for each finding.
func propertiesOf(all []verifier.Finding) (out []junit.Property) {
	for _, f := range all {
		out = append(out, junit.Property{Name: "finding " + f.Rule, Value: f.String()})
	}
	return out
}

// Why returns the requirement that a case checks, and its source.
func (r Result) Why() string { return fmt.Sprintf("required: %s\nsource: %s", r.Doc, r.Source) }

// Text formats the result as a line. After a failure it adds the messages and the
// command that repeats the case on the given board.
func (r Result) Text(board string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-8s %-44s %s\n", r.Word(), r.Name, r.Time.Round(time.Millisecond))
	for _, m := range r.Messages {
		fmt.Fprintf(&b, "         %s\n", strings.ReplaceAll(strings.TrimSpace(m), "\n", "\n         "))
	}
	if r.Outcome == Failed {
		fmt.Fprintf(&b, "         %s\n         repeat: %s\n", strings.ReplaceAll(r.Why(), "\n", "\n         "), r.Replay(board))
	}
	return b.String()
}

// Replay returns the command that repeats the case on the given board.
func (r Result) Replay(board string) string {
	name, _, _ := strings.Cut(r.Name, "/")
	return fmt.Sprintf("%s --board %s --filter %s --seed %d --runs 1",
		cmp.Or(r.repeat, "hilgpu test"), boards.Quote(board), boards.Quote("^"+regexp.QuoteMeta(name)+"(/|$)"), r.Seed)
}
