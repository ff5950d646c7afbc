package command

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hilgpu/hilgpu/runtime/dxgkrnl"
	"github.com/hilgpu/hilgpu/testbench/command/child"
	"github.com/hilgpu/hilgpu/testbench/command/conform"
	"github.com/hilgpu/hilgpu/testbench/command/exit"
	"github.com/hilgpu/hilgpu/testbench/junit"
	"github.com/hilgpu/hilgpu/testbench/output"
	"github.com/hilgpu/hilgpu/testbench/suite"
)

// testFlags are the flags of test.
type testFlags struct {
	board     string
	junit     string
	report    string
	artifacts string
	baseline  string
	filter    string
	seed      uint64
	runs      uint64
	list      bool
	rules     ruleFlags
	sanitize  bool
	tiers     []string
	inProcess bool
	pool      *child.Pool // runs the cases, or nil
	app       *App
}

func newTest(a *App) *cobra.Command {
	f := testFlags{app: a}
	c := &cobra.Command{
		Use:   "test",
		Short: "Run the whole-system suite on a board",
		Long: `Test runs the whole-system suite. Every case opens the board, works on it through runtime,
drivers and kernel, and compares the results with the specification or a simple reference
model. On the selector "emu" it also tries GPUs of other configurations.

A failed case has a folder in --artifacts with its messages, its last events, the DDI calls, the
kernel's dump if the GPU stopped, the last clocks of an emulated GPU, the command to run it
again, and a page of all this. index.html and summary.md list all cases.

With --artifacts or --baseline a failed case runs again. With virtual time, as of "emu", another
result is a failure; on other boards a pass makes the case flaky, which fails no run. Nor does a
failure that --baseline lists; a pass of a case that it lists as Fail does.`,
		Example: `  hilgpu test
  hilgpu test --board 'serial:/dev/ttyUSB1?baud=3000000' --junit junit.xml --artifacts out/test
  hilgpu test --filter '^random' --seed 100 --runs 20`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return runTest(f) },
	}
	fl := c.Flags()
	AddBoard(fl, &f.board, "")
	fl.StringVar(&f.junit, "junit", "", "write the results to this JUnit XML `file`")
	fl.StringVar(&f.report, "report", "", "write a conformance report to this HTML `file`; JSON if its name ends in .json")
	fl.StringVar(&f.artifacts, "artifacts", "", "`folder` for the artifacts of failed cases")
	fl.StringVar(&f.baseline, "baseline", "", "`file` of cases that are known to fail; docs/report.md has its form")
	fl.StringVar(&f.filter, "filter", "", "run the cases whose name matches this regular `expression`")
	fl.StringSliceVar(&f.tiers, "tier", nil, "run the cases of these `tiers`: "+tierNames()+"; default: all that the drivers must pass")
	fl.Uint64Var(&f.seed, "seed", 0, "first `seed` of the cases with seeds")
	fl.Uint64Var(&f.runs, "runs", 0, "`number` of seeds of each case with several; 0: the default of the case")
	addSanitize(c, &f.sanitize, true)
	a.Links.AddKernel(c)
	f.rules.add(c)
	if a.program.Child != nil {
		fl.BoolVar(&f.inProcess, inProcess, false, "run the cases in this process, as with --capture, --record, --inspect or --firmware-gdb; a driver that ends it ends the run")
	}
	fl.BoolVar(&f.list, "list", false, "print the names of the cases and run nothing")
	a.AddJSON(fl)
	a.Links.Add(c)
	return c
}

// flags returns the flags that change a case, for a command line that repeats it.
func (f testFlags) flags() string {
	text := f.app.Links.kernelFlags() + f.rules.flags()
	if !f.sanitize {
		text += " --sanitize=false"
	}
	return text
}

// suiteOptions checks the flags and returns the options of the run, without a board.
func (f testFlags) suiteOptions() (suite.Options, error) {
	p := f.app.program
	o := suite.Options{
		Selector: f.board, Drivers: p.Drivers, Foreign: p.Foreign, Repeat: p.repeat() + f.flags(), Each: p.Each,
		Seed: f.seed, Runs: f.runs, Tdr: f.app.Links.Tdr, Queues: f.app.Links.Queues, Limit: f.rules.limit, Sanitize: f.sanitize, Waive: f.rules.waive, Collect: f.rules.collect,
		Trace: f.artifacts != "", Again: f.artifacts != "" || f.baseline != "", Cover: f.report != "" || f.junit != "",
	}
	err := f.app.Links.CheckKernel()
	if err != nil {
		return o, err
	}
	if err := f.rules.check(); err != nil {
		return o, err
	}
	if o.Filter, err = regexp.Compile(f.filter); err != nil {
		return o, fmt.Errorf("%w: --filter: %w", exit.ErrInput, err)
	}
	if o.Tiers, err = suite.ParseTiers(f.tiers); err != nil {
		return o, err
	}
	o.Baseline, err = f.readBaseline()
	return o, err
}

// readBaseline reads the file of --baseline, if there is one.
func (f testFlags) readBaseline() (*suite.Baseline, error) {
	if f.baseline == "" {
		return nil, nil
	}
	if err := f.app.Links.Outputs.Reads(f.baseline); err != nil {
		return nil, err
	}
	file, err := os.Open(f.baseline)
	if err != nil {
		return nil, fmt.Errorf("%w: --baseline: %w", exit.ErrInput, err)
	}
	defer file.Close()
	b, err := suite.ReadBaseline(file, suite.Expand(f.board, f.seed, f.runs))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.baseline, err)
	}
	return b, nil
}

func runTest(f testFlags) error {
	o, err := f.suiteOptions()
	if err != nil {
		return err
	}
	instances := o.Instances()
	if len(instances) == 0 {
		return fmt.Errorf("%w: --filter %q matches no case, want a match for one of %s", exit.ErrInput, f.filter, strings.Join(caseNames(o), ", "))
	}
	if f.list {
		return listCases(f, instances)
	}
	xml, err := f.app.Links.Outputs.Create(f.junit)
	if err != nil {
		return err
	}
	defer xml.Discard()
	page, err := f.app.Links.Outputs.Create(f.report)
	if err != nil {
		return err
	}
	defer page.Discard()
	if o.Board, err = f.app.Links.Options(); err != nil {
		return err
	}
	o.Record = f.app.Links.Events()
	if p := f.app.program; p.Child != nil && !f.inProcess && !f.app.Links.needsProcess() {
		f.pool = &child.Pool{Command: p.Child, Options: o, Stderr: f.app.Stderr}
		defer f.pool.Close()
		o.Exec = f.pool.Run
	}
	if err := f.tryBoard(o); err != nil {
		return err
	}
	return f.finish(xml, page, suite.NewReport(f.board, f.runSuite(o, len(instances))))
}

// finish writes and prints the report of a run, and fails if a case has failed.
func (f testFlags) finish(xml, page *output.File, report *suite.Report) error {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = nil
	}
	c := conform.New(report, f.seed, info, time.Now())
	if err := f.write(xml, report, c.Properties()); err != nil {
		return err
	}
	if err := f.conform(page, c); err != nil {
		return err
	}
	if !f.app.Document(report) {
		for _, finding := range report.Findings {
			fmt.Fprintln(f.app.Out, finding)
		}
		fmt.Fprintln(f.app.Out, report.Counts())
		if f.artifacts != "" && report.Failed+report.Flaky > 0 {
			fmt.Fprintf(f.app.Out, "pages of these cases: %s\n", filepath.Join(f.artifacts, "index.html"))
		}
	}
	return f.verdict(report)
}

// runSuite runs the instances, total in number, and prints each result. It
// stops if the board is lost.
func (f testFlags) runSuite(o suite.Options, total int) []suite.Result {
	w := f.app.Progress("test")
	defer w.End()
	done := 0
	o.Report = func(r suite.Result) {
		if !f.app.JSON {
			fmt.Fprint(f.app.Out, f.app.Painted(r.Text(f.board), r.Word()))
		}
		done++
		w.To(done, total)
	}
	o.Lost = func(r suite.Result) error {
		if unreachable(r.Err) {
			return f.tryBoard(o)
		}
		return nil
	}
	return suite.Run(o)
}

// unreachable reports whether an error means that the board is missing or
// another one, so that no case can run.
func unreachable(err error) bool {
	code := exit.Code(err)
	return code == exit.NoDevice || code == exit.Link || code == exit.Map
}

// tryBoard opens and closes the board, where the cases run.
func (f testFlags) tryBoard(o suite.Options) error {
	if f.pool != nil {
		return f.pool.Try()
	}
	return suite.Try(o)
}

// caseNames returns the names of the cases that a filter may select.
func caseNames(o suite.Options) (names []string) {
	o.Filter = nil
	for _, i := range o.Instances() {
		if !slices.Contains(names, i.Case.Name) {
			names = append(names, i.Case.Name)
		}
	}
	return names
}

// tierNames lists the tiers and their meanings.
func tierNames() string {
	var all []string
	for _, t := range suite.Tiers() {
		all = append(all, fmt.Sprintf("%s (%s)", t, t.Doc()))
	}
	return strings.Join(all, ", ")
}

// casesJSON is the output of test --list --json.
type casesJSON struct {
	Cases []caseJSON `json:"cases"`
}

type caseJSON struct {
	Name     string     `json:"name"`
	Tier     suite.Tier `json:"tier"`
	Doc      string     `json:"doc"`
	Selector string     `json:"selector"`
}

func listCases(f testFlags, instances []suite.Instance) error {
	list := []caseJSON{}
	for _, i := range instances {
		list = append(list, caseJSON{i.Name, i.Case.Tier, i.Case.Doc, i.Selector})
	}
	if f.app.Document(casesJSON{list}) {
		return nil
	}
	for _, e := range list {
		fmt.Fprintf(f.app.Out, "%-44s %-5s %s\n", e.Name, e.Tier, e.Doc)
	}
	return nil
}

// verdict fails if a case has failed, with the error of a lost board if there
// is one.
func (f testFlags) verdict(r *suite.Report) error {
	for _, res := range r.Results {
		if err := res.Err; unreachable(err) {
			var stopped *dxgkrnl.DeviceError
			if errors.As(err, &stopped) { // the dump belongs to the case
				err = stopped.Cause
			}
			return fmt.Errorf("%d of %d cases failed on %s: %w", r.Failed, len(r.Results), f.board, err)
		}
	}
	if n := r.Failed - r.Known; n > 0 {
		return fmt.Errorf("%w: %d of %d cases failed on %s", exit.ErrCheck, n, len(r.Results), f.board)
	}
	return nil
}

// write writes the artifacts of failed cases and the JUnit file.
func (f testFlags) write(xml *output.File, r *suite.Report, properties []junit.Property) error {
	files, err := r.Save(f.artifacts)
	if err != nil || xml == nil {
		return err
	}
	if err := r.WriteJUnit(xml, f.app.program.Name, f.seed, properties, func(res suite.Result) []string { return files[res.Name] }); err != nil {
		return err
	}
	return xml.Commit()
}

// conform writes the conformance report if there is a file for it.
func (f testFlags) conform(page *output.File, c *conform.Report) error {
	if page == nil {
		return nil
	}
	write := c.WriteHTML
	if strings.EqualFold(filepath.Ext(f.report), ".json") {
		write = c.WriteJSON
	}
	if err := write(page); err != nil {
		return err
	}
	return page.Commit()
}
