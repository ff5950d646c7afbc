package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hilgpu/hilgpu/boards"
	"github.com/hilgpu/hilgpu/runtime/dxgkrnl"
	"github.com/hilgpu/hilgpu/testbench"
	"github.com/hilgpu/hilgpu/testbench/junit"
	"github.com/hilgpu/hilgpu/testbench/output"
	"github.com/hilgpu/hilgpu/testbench/suite"
)

// testFlags are the flags of test.
type testFlags struct {
	board     string
	junit     string
	artifacts string
	filter    string
	seed      uint64
	runs      uint64
	list      bool
	app       *app
}

func newTest(a *app) *cobra.Command {
	f := testFlags{app: a}
	c := &cobra.Command{
		Use:   "test",
		Short: "Run the whole-system suite on a board",
		Long: `Test runs the whole-system suite: every case opens the board, works on it through
runtime, drivers and kernel, and compares what comes out with what the
specification or a plain model says. On the selector "emu" it also tries GPUs of
other configurations.

A case that fails has a folder in --artifacts: its messages, the DDI calls, the
kernel's dump if the GPU stopped, the last clocks of an emulated GPU, and how to
run it again.`,
		Example: `  hilgpu test
  hilgpu test --board 'serial:/dev/ttyUSB1?baud=3000000' --junit junit.xml --artifacts out/test
  hilgpu test --filter '^random' --seed 100 --runs 20`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return runTest(f) },
	}
	fl := c.Flags()
	addBoard(fl, &f.board, "")
	fl.StringVar(&f.junit, "junit", "", "write the results to this JUnit XML `file`")
	fl.StringVar(&f.artifacts, "artifacts", "", "`folder` for what failed cases leave")
	fl.StringVar(&f.filter, "filter", "", "run the cases whose name matches this regular `expression`")
	fl.Uint64Var(&f.seed, "seed", 0, "first `seed` of the cases that have one")
	fl.Uint64Var(&f.runs, "runs", 0, "`number` of seeds of each case that has several; 0: as the case says")
	a.links.addTdr(c)
	fl.BoolVar(&f.list, "list", false, "print the names of the cases and run nothing")
	a.addJSON(fl)
	a.links.add(c)
	return c
}

// testReport is what test --json prints.
type testReport struct {
	Board   string         `json:"board"`
	Passed  int            `json:"passed"`
	Failed  int            `json:"failed"`
	Skipped int            `json:"skipped"`
	Results []suite.Result `json:"results"`
}

func runTest(f testFlags) error {
	stdout := f.app.Out
	o := suite.Options{Selector: f.board, Drivers: testbench.HostDrivers(), Seed: f.seed, Runs: f.runs, Trace: f.artifacts != ""}
	o.Tdr = f.app.links.tdr
	err := f.app.links.checkTdr()
	if err != nil {
		return err
	}
	if o.Filter, err = regexp.Compile(f.filter); err != nil {
		return fmt.Errorf("%w: --filter: %w", errInput, err)
	}
	if err := checkFilter(f, o.Filter); err != nil {
		return err
	}
	if f.list {
		return listCases(stdout, f, o.Filter)
	}
	xml, err := f.app.links.Outputs.Create(f.junit)
	if err != nil {
		return err
	}
	defer xml.Discard()
	defer f.app.onSignal(xml)()
	if o.Board, err = f.app.links.Options(); err != nil {
		return err
	}
	if err := tryBoard(f.board, o.Board); err != nil {
		return err
	}
	report := testReport{Board: f.board, Results: f.runSuite(o)}
	report.count()
	if err := f.write(xml, report); err != nil {
		return err
	}
	return report.print(stdout, f)
}

// runSuite runs the suite, prints each result as it comes, and ends it if the
// board is lost.
func (f testFlags) runSuite(o suite.Options) []suite.Result {
	w := f.app.progress("test")
	defer w.End()
	done, total := 0, countCases(f, o.Filter)
	o.Report = func(r suite.Result) {
		if !f.app.JSON {
			fmt.Fprint(f.app.Out, f.app.Painted(resultText(f, r), string(r.Outcome)))
		}
		done++
		w.To(done, total)
	}
	o.Lost = func(r suite.Result) error {
		if unreachable(r.Err) {
			return tryBoard(f.board, o.Board)
		}
		return nil
	}
	return suite.Run(o)
}

// unreachable reports whether an error is of a board that is not there, or not
// the one that it was: no case can say anything of it.
func unreachable(err error) bool {
	code := exitCode(err)
	return code == exitNoDevice || code == exitLink || code == exitMap
}

// countCases returns how many instances the filter matches.
func countCases(f testFlags, filter *regexp.Regexp) (n int) {
	for _, i := range suite.Expand(f.board, f.seed, f.runs) {
		if filter.MatchString(i.Name) {
			n++
		}
	}
	return n
}

// checkFilter fails if the filter matches no case.
func checkFilter(f testFlags, filter *regexp.Regexp) error {
	var names []string
	for _, i := range suite.Expand(f.board, f.seed, f.runs) {
		if filter.MatchString(i.Name) {
			return nil
		}
		if name := i.Case.Name; !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return fmt.Errorf("%w: --filter %q matches no case, want some of %s", errInput, f.filter, strings.Join(names, ", "))
}

// tryBoard opens and closes the board, so that one that is missing is one error
// and not one for each case.
func tryBoard(selector string, link boards.Options) error {
	sys, err := testbench.Open(selector, testbench.HostDrivers(), testbench.Options{Board: link})
	if err != nil {
		return err
	}
	return sys.Close()
}

// casesJSON is what test --list --json prints.
type casesJSON struct {
	Cases []caseJSON `json:"cases"`
}

type caseJSON struct {
	Name     string `json:"name"`
	Doc      string `json:"doc"`
	Selector string `json:"selector"`
}

func listCases(stdout io.Writer, f testFlags, filter *regexp.Regexp) error {
	list := []caseJSON{}
	for _, i := range suite.Expand(f.board, f.seed, f.runs) {
		if filter.MatchString(i.Name) {
			list = append(list, caseJSON{i.Name, i.Case.Doc, i.Selector})
		}
	}
	if f.app.Document(casesJSON{list}) {
		return nil
	}
	for _, e := range list {
		fmt.Fprintf(stdout, "%-44s %s\n", e.Name, e.Doc)
	}
	return nil
}

func (r *testReport) count() {
	for _, res := range r.Results {
		switch res.Outcome {
		case suite.Passed:
			r.Passed++
		case suite.Failed:
			r.Failed++
		default:
			r.Skipped++
		}
	}
}

// print ends the report, and fails if a case has.
func (r *testReport) print(stdout io.Writer, f testFlags) error {
	if !f.app.Document(r) {
		fmt.Fprintf(stdout, "%d passed, %d failed, %d skipped on %s\n", r.Passed, r.Failed, r.Skipped, f.board)
	}
	for _, res := range r.Results {
		if err := res.Err; unreachable(err) {
			var stopped *dxgkrnl.DeviceError
			if errors.As(err, &stopped) { // its dump is of the case
				err = stopped.Cause
			}
			return fmt.Errorf("%d of %d cases failed on %s: %w", r.Failed, len(r.Results), f.board, err)
		}
	}
	if r.Failed > 0 {
		return fmt.Errorf("%w: %d of %d cases failed on %s", errCheck, r.Failed, len(r.Results), f.board)
	}
	return nil
}

// resultText is a line, and behind a failure its messages and how to repeat it.
func resultText(f testFlags, r suite.Result) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-8s %-44s %s\n", r.Outcome, r.Name, r.Time.Round(time.Millisecond))
	for _, m := range r.Messages {
		fmt.Fprintf(&b, "         %s\n", strings.ReplaceAll(strings.TrimSpace(m), "\n", "\n         "))
	}
	if r.Outcome == suite.Failed {
		fmt.Fprintf(&b, "         repeat: %s\n", replay(f, r))
	}
	return b.String()
}

// replay returns the command that runs a case again.
func replay(f testFlags, r suite.Result) string {
	name, _, _ := strings.Cut(r.Name, "/")
	return fmt.Sprintf("hilgpu test --board %s --filter %s --seed %d --runs 1", quote(f.board), quote("^"+regexp.QuoteMeta(name)+"(/|$)"), r.Seed)
}

// quote makes a word of a shell command.
func quote(s string) string {
	if strings.ContainsAny(s, " ?&'\"$()[]{}*|\\^~;<>`!#") {
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	}
	return s
}

// write writes the JUnit file and the artifacts of what failed.
func (f testFlags) write(xml *output.File, r testReport) error {
	doc := junit.Suite{Name: "hilgpu", Properties: []junit.Property{
		{Name: "board", Value: f.board}, {Name: "seed", Value: strconv.FormatUint(f.seed, 10)},
	}}
	for _, res := range r.Results {
		c := junit.Case{Class: "suite", Name: res.Name, Time: res.Time, Properties: []junit.Property{
			{Name: "selector", Value: res.Selector}, {Name: "seed", Value: strconv.FormatUint(res.Seed, 10)},
		}}
		switch res.Outcome {
		case suite.Failed:
			c.Failure, c.Output = strings.Join(res.Messages, "\n"), "repeat: "+replay(f, res)
			files, err := f.artifactsOf(res)
			if err != nil {
				return err
			}
			c.Attachments = files
		case suite.Skipped:
			c.Skipped = strings.Join(res.Messages, "\n")
		}
		doc.Cases = append(doc.Cases, c)
	}
	if xml == nil {
		return nil
	}
	if err := junit.Write(xml, doc); err != nil {
		return err
	}
	return xml.Commit()
}

// artifactsOf writes what a failed case left to a folder of its own and returns
// the files.
func (f testFlags) artifactsOf(r suite.Result) ([]string, error) {
	if f.artifacts == "" {
		return nil, nil
	}
	folder := filepath.Join(f.artifacts, strings.Map(fileRune, r.Name))
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return nil, output.Failed(folder, err)
	}
	readme := fmt.Sprintf("%s: %s\nboard %s, seed %d\nrepeat: %s\n\n", r.Name, r.Doc, r.Selector, r.Seed, replay(f, r))
	var out []string
	for _, file := range []struct {
		name, doc string
		data      []byte
	}{
		{"messages.txt", "the checks that failed", []byte(strings.Join(r.Messages, "\n"))},
		{"ddi.jsonl", "the DDI calls, the last ones if there are very many, as JSON lines", r.Trace},
		{"dump.txt", "what the kernel said of the GPU when it stopped", []byte(r.Dump)},
		{"bus.pcapng", "the packets of the link, the last ones if there are very many", r.Bus},
		{"wave.vcd", "the last clocks of an emulated GPU, every register", r.Wave},
	} {
		path := filepath.Join(folder, file.name)
		if len(file.data) == 0 {
			os.Remove(path) // of an earlier run
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

// fileRune keeps what a file name may have everywhere.
func fileRune(r rune) rune {
	switch {
	case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '.', r == '=':
		return r
	}
	return '_'
}
