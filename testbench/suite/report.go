package suite

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hilgpu/hilgpu/boards"
	"github.com/hilgpu/hilgpu/runtime/verifier"
	"github.com/hilgpu/hilgpu/testbench/junit"
	"github.com/hilgpu/hilgpu/testbench/output"
)

// A Report lists the results of the instances on a board.
type Report struct {
	Board   string   `json:"board"` // selector
	Passed  int      `json:"passed"`
	Failed  int      `json:"failed"`
	Skipped int      `json:"skipped"`
	Results []Result `json:"results"`

	Findings []verifier.Finding `json:"findings,omitempty"` // of all results, one for each rule
}

// NewReport returns the report of results on a board.
func NewReport(board string, results []Result) *Report {
	r := &Report{Board: board, Results: results}
	for _, res := range results {
		r.Findings = addFindings(r.Findings, res.Findings)
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
		switch res.Outcome {
		case Failed:
			c.Failure = strings.Join(res.Messages, "\n") + "\n" + res.Why()
			c.Output = "repeat: " + res.Replay(r.Board)
			c.Attachments = files(res)
		case Skipped:
			c.Skipped = strings.Join(res.Messages, "\n")
		}
		doc.Cases = append(doc.Cases, c)
	}
	return junit.Write(w, doc)
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
	fmt.Fprintf(&b, "%-8s %-44s %s\n", r.Outcome, r.Name, r.Time.Round(time.Millisecond))
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

// Save writes the artifacts of a failed case to its own folder in dir, and returns
// the paths of the files. It removes files of an earlier run that are not among
// them. It fails with output.ErrWrite.
func (r Result) Save(dir, board string) ([]string, error) {
	folder := filepath.Join(dir, strings.Map(fileRune, r.Name))
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return nil, output.Failed(folder, err)
	}
	readme := fmt.Sprintf("%s: %s\nsource: %s\nboard %s, seed %d\nrepeat: %s\n\n", r.Name, r.Doc, r.Source, r.Selector, r.Seed, r.Replay(board))
	var out []string
	for _, file := range []struct {
		name, doc string
		data      []byte
	}{
		{"messages.txt", "the checks that failed", []byte(strings.Join(r.Messages, "\n"))},
		{"ddi.jsonl", "the DDI calls as JSON lines; only the last ones of a long trace", r.Trace},
		{"dump.txt", "the kernel's dump of the GPU when it stopped", []byte(r.Dump)},
		{"bus.pcapng", "the packets of the link; only the last ones of a long capture", r.Bus},
		{"wave.vcd", "every register of an emulated GPU in its last clocks", r.Wave},
	} {
		path := filepath.Join(folder, file.name)
		if len(file.data) == 0 {
			os.Remove(path) // a file of an earlier run
			continue
		}
		if err := os.WriteFile(path, file.data, 0o666); err != nil {
			return nil, output.Failed(path, err)
		}
		readme += fmt.Sprintf("%-13s %s\n", file.name, file.doc)
		out = append(out, path)
	}
	path := filepath.Join(folder, "README.txt")
	if err := os.WriteFile(path, []byte(readme), 0o666); err != nil {
		return nil, output.Failed(path, err)
	}
	return append([]string{path}, out...), nil
}

// fileRune replaces characters that some file systems do not allow in names.
func fileRune(r rune) rune {
	switch {
	case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '.', r == '=':
		return r
	}
	return '_'
}
