// Package command has the commands that run drivers and boards: test, run,
// bringup and rules, with their flags, help, completion and exit codes. The
// drivers are a parameter, so the program hilgpu and a program for other drivers
// share them.
package command

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime/debug"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hilgpu/hilgpu/boards"
	"github.com/hilgpu/hilgpu/runtime/dxgkrnl"
	"github.com/hilgpu/hilgpu/runtime/verifier"
	"github.com/hilgpu/hilgpu/testbench"
	"github.com/hilgpu/hilgpu/testbench/command/exit"
	"github.com/hilgpu/hilgpu/testbench/command/help"
	"github.com/hilgpu/hilgpu/testbench/command/record"
	"github.com/hilgpu/hilgpu/testbench/command/reply"
	"github.com/hilgpu/hilgpu/testbench/command/terminal"
	"github.com/hilgpu/hilgpu/testbench/suite"
)

// Name is the name of the program hilgpu, which the help of shared commands
// contains. The help of another program has its own name instead.
const Name = "hilgpu"

// A Program is a program with the commands of this package.
type Program struct {
	Name    string            // as users call it
	Drivers testbench.Drivers // the drivers that its commands run
	Foreign bool              // as in suite.Options
	Repeat  string            // command that repeats a case of test, without its flags; "": Name test

	// Each is suite.Options.Each of the command test.
	Each func(i suite.Instance, run func() suite.Result) suite.Result

	// Child starts the program again, so that it calls child.Serve with Execute. The
	// command test then runs each case, and run each workload with the drivers, in a
	// child process; nil: in this process.
	Child func() (*exec.Cmd, error)

	Trace io.Writer // in a child process: gets the DDI calls of run compose at once

	// Root returns the command of the program with its own subcommands.
	Root func(*App) *cobra.Command
}

// Execute is the child.Execute of p.
func (p Program) Execute(args []string, stdout, trace io.Writer) int {
	p.Trace = trace
	return NewApp(p, stdout, os.Stderr, os.Getenv).Run(args)
}

// repeat returns the command that repeats a case of test, without its flags.
func (p Program) repeat() string { return cmp.Or(p.Repeat, p.Name+" test") }

// An App is one run of a program.
type App struct {
	reply.Reply
	terminal.Palette
	Links  *Links
	Stderr *terminal.Screen
	Getenv func(name string) string // reads the environment

	program Program
	args    []string          // the command line
	there   bool              // a child has printed the answer and the error
	term    terminal.Terminal // standard output
	began   bool              // the command has begun its work; earlier errors are usage errors
	help    error             // error of a request for help on an unknown command
	events  sync.Map          // texts of the events of the miniport that were printed
}

// NewApp returns a run of p; getenv reads the environment, nil means an empty
// one.
func NewApp(p Program, stdout, stderr io.Writer, getenv func(name string) string) *App {
	if getenv == nil {
		getenv = func(string) string { return "" }
	}
	s := terminal.NewScreen(stderr, getenv)
	a := &App{Stderr: s, Getenv: getenv, program: p, term: terminal.Of(stdout, getenv)}
	a.Links = &Links{Recorder: record.Recorder{Program: p.Name, Log: s, Stopped: stopped, Mistake: mistake}}
	a.Palette = terminal.PaletteOf(a.term, getenv)
	a.Out = answers{stdout, s}
	return a
}

// Tree returns the commands of the program: its own, those of this package, and
// the help topics.
func (a *App) Tree() *cobra.Command {
	root := a.program.Root(a)
	root.Use, root.SilenceUsage, root.SilenceErrors = a.program.Name, true, true
	root.SetOut(a.Out)
	root.SetErr(a.Stderr)
	root.AddCommand(newBringup(a), newLog(a), newReport(a), newRules(a), newRun(a), newTest(a), newWhy(a))
	root.AddCommand(newTopics()...)
	root.SetUsageTemplate(help.Template)
	root.SetFlagErrorFunc(flagError)
	a.setHelp(root)
	a.complete(root)
	return root
}

// Progress begins a task, which must end. It shows nothing if JSON lines are
// printed to the terminal.
func (a *App) Progress(name string) *terminal.Task {
	if !a.Text() && a.term.OK() {
		return (&terminal.Screen{}).Begin(name)
	}
	return a.Stderr.Begin(name)
}

// AddJSON adds the flag --json.
func (a *App) AddJSON(fl *pflag.FlagSet) {
	fl.BoolVar(&a.JSON, "json", false, "print one JSON document, which includes the error if there is one")
}

// End ends the answer of a command that returned err. Only the first call has an
// effect.
func (a *App) End(err error) error {
	if err == nil {
		return a.Reply.End(nil)
	}
	code := exit.Code(err)
	return a.Reply.End(&reply.Failure{Code: code, Kind: exit.Kind(code), Message: err.Error()})
}

// answers is standard output, which may be the same terminal as the screen. A
// write error is an input error: the user chose the output.
type answers struct {
	w      io.Writer
	screen *terminal.Screen
}

// Write implements io.Writer.
func (a answers) Write(p []byte) (int, error) {
	n, err := a.screen.Through(a.w, p)
	if err != nil {
		err = fmt.Errorf("%w: cannot write standard output: %w", exit.ErrInput, err)
	}
	return n, err
}

// Run executes a command line and returns the exit code. It prints an error as
// one line on stderr, followed by details, and adds it to the JSON document if
// there is one.
func (a *App) Run(args []string) int {
	a.args = args
	err := a.execute(args)
	if cerr := a.Links.Commit(err); err == nil {
		err = cerr
	}
	if !a.began { // flags may not have been parsed, and help is text
		a.JSON = err != nil && (a.JSON || wantsJSON(args))
		if err != nil && wantsSoak(args) {
			a.Lines("rounds")
		}
	}
	if a.there {
		return exit.Code(err)
	}
	if werr := a.End(err); err == nil {
		err = werr
	}
	a.printError(err)
	return exit.Code(err)
}

// wantsJSON reports whether --json is among arguments that could not be parsed.
func wantsJSON(args []string) bool {
	args = flagsOf(args)
	return slices.Contains(args, "--json") || slices.Contains(args, "--json=true")
}

// wantsSoak reports whether arguments that could not be parsed are those of a
// soak, which answers in JSON lines.
func wantsSoak(args []string) bool {
	args = flagsOf(args)
	return slices.Contains(args, "bringup") &&
		slices.ContainsFunc(args, func(a string) bool { return a == "--soak" || strings.HasPrefix(a, "--soak=") })
}

// flagsOf returns the arguments that can contain flags.
func flagsOf(args []string) []string {
	if i := slices.Index(args, "--"); i >= 0 {
		args = args[:i]
	}
	return args
}

// oneAnswer refuses to write a file to standard output, which is used for the
// document or the lines of a soak.
func (a *App) oneAnswer(c *cobra.Command) error {
	if soak := c.Flag("soak"); a.Text() && (soak == nil || soak.Value.String() == "") {
		return nil
	}
	var err error
	c.Flags().Visit(func(f *pflag.Flag) {
		switch f.Value.String() {
		case "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1":
			err = fmt.Errorf("%w: cannot write --%s to %s: standard output has the JSON document", exit.ErrInput, f.Name, f.Value)
		}
	})
	return err
}

// caught calls do and returns its error, or the error for a panic: a broken
// contract, or a defect of the program itself.
func caught(do func() error) (err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case *dxgkrnl.Bugcheck:
			err = r
		case *verifier.Violation:
			err = r
		default:
			err = &crash{r, debug.Stack()}
		}
	}()
	return do()
}

// execute runs the command.
func (a *App) execute(args []string) error {
	root := a.Tree()
	root.SetArgs(args)
	err := caught(root.Execute)
	if err == nil {
		err = a.help
	}
	if err != nil && !a.began {
		err = exit.UsageError{Err: together(err)}
	}
	return err
}

// printError prints an error and its details.
func (a *App) printError(err error) {
	if err == nil {
		return
	}
	fmt.Fprintf(a.Stderr, "%s: %v\n", a.program.Name, err)
	var violation *verifier.Violation
	if errors.As(err, &violation) {
		fmt.Fprint(a.Stderr, violation.Details())
	}
	var stopped *dxgkrnl.DeviceError
	if errors.As(err, &stopped) {
		fmt.Fprint(a.Stderr, stopped.Dump)
		if !strings.HasSuffix(stopped.Dump, "\n") {
			fmt.Fprintln(a.Stderr) // the text of CollectDbgInfo may lack its newline
		}
	}
	a.printWhy(err)
	a.printLast(err)
	var remote *exit.Remote
	if errors.As(err, &remote) {
		fmt.Fprint(a.Stderr, remote.More)
	}
	var crashed *crash
	if errors.As(err, &crashed) {
		a.Stderr.Write(crashed.stack)
	}
}

// printWhy prints how to find out why a device stopped, a driver broke a contract or a frame is wrong, if the run has a log or
// could have one.
func (a *App) printWhy(err error) {
	question := "fault"
	var wrong *wrongFrame
	switch code := exit.Code(err); {
	case errors.As(err, &wrong):
		question = fmt.Sprintf("pixel %d,%d", wrong.at.X, wrong.at.Y)
	case code != exit.Device && code != exit.Contract:
		return
	}
	if log := a.Links.Logged(); log != "" {
		fmt.Fprintf(a.Stderr, "%s: to see what led to it: %s why %s %s\n", a.program.Name, a.program.Name, boards.Quote(log), question)
	} else if a.Links.CanRecord() {
		fmt.Fprintf(a.Stderr, "%s: to see what led to it, add --record run.log, and then: %s why run.log %s\n", a.program.Name, a.program.Name, question)
	}
}

// lastEvents is the number of events that a command which keeps them prints when it fails.
const lastEvents = 40

// printLast prints the last events up to the first failure of a run, if the command keeps them and has no log. With --dump it
// also writes all that are kept to last.log.
func (a *App) printLast(err error) {
	code := exit.Code(err)
	text := a.Links.Last(lastEvents)
	if text == "" || code == exit.Usage || code >= exit.Signal {
		return
	}
	fmt.Fprintf(a.Stderr, "%s: %s", a.program.Name, text)
	if a.Links.dump == "" {
		return
	}
	path := a.Links.lastLog()
	if err := a.Links.SaveLast(path); err != nil {
		fmt.Fprintf(a.Stderr, "%s: %v\n", a.program.Name, err)
		return
	}
	fmt.Fprintf(a.Stderr, "%s: what is kept is in %s, for %s why\n", a.program.Name, path, a.program.Name)
}

// A crash is a panic of the program itself.
type crash struct {
	value any
	stack []byte
}

// Error describes the panic in one line.
func (c *crash) Error() string { return fmt.Sprintf("panic: %v", c.value) }
