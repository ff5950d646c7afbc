package main

import (
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hilgpu/hilgpu/cmd/hilgpu/record"
	"github.com/hilgpu/hilgpu/cmd/hilgpu/reply"
	"github.com/hilgpu/hilgpu/cmd/hilgpu/terminal"
	"github.com/hilgpu/hilgpu/runtime/dxgkrnl"
	"github.com/hilgpu/hilgpu/runtime/verifier"
)

// An app is one run of the program.
type app struct {
	reply.Reply
	terminal.Palette
	links  *links
	stderr *terminal.Screen
	getenv func(name string) string // reads the environment
	term   terminal.Terminal        // standard output

	began bool  // the command has begun its work; earlier errors are usage errors
	help  error // error of a request for help on an unknown command
}

// newApp returns an app; getenv reads the environment, nil means an empty one.
func newApp(stdout, stderr io.Writer, getenv func(name string) string) *app {
	if getenv == nil {
		getenv = func(string) string { return "" }
	}
	s := terminal.NewScreen(stderr, getenv)
	a := &app{links: &links{Recorder: record.Recorder{Log: s, Stopped: stopped}}, stderr: s, getenv: getenv, term: terminal.Of(stdout, getenv)}
	a.Palette = terminal.PaletteOf(a.term, getenv)
	a.Out = answers{stdout, s}
	return a
}

// progress begins a task, which must end. It shows nothing if JSON lines are
// printed to the terminal.
func (a *app) progress(name string) *terminal.Task {
	if !a.Text() && a.term.OK() {
		return (&terminal.Screen{}).Begin(name)
	}
	return a.stderr.Begin(name)
}

// addJSON adds the flag --json.
func (a *app) addJSON(fl *pflag.FlagSet) {
	fl.BoolVar(&a.JSON, "json", false, "print one JSON document, which includes the error if there is one")
}

// end ends the answer of a command that returned err.
func (a *app) end(err error) error {
	if err == nil {
		return a.End(nil)
	}
	code := exitCode(err)
	return a.End(&reply.Failure{Code: code, Kind: kindOf(code), Message: err.Error()})
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
		err = fmt.Errorf("%w: cannot write standard output: %w", errInput, err)
	}
	return n, err
}

// run executes a command line and returns the exit code. It prints an error as
// one line on stderr, followed by details, and adds it to the JSON document if
// there is one.
func (a *app) run(args []string) int {
	err := a.execute(args)
	if cerr := a.links.Commit(err); err == nil {
		err = cerr
	}
	if !a.began { // flags may not have been parsed, and help is text
		a.JSON = err != nil && (a.JSON || wantsJSON(args))
		if err != nil && wantsSoak(args) {
			a.Lines()
		}
	}
	if werr := a.end(err); err == nil {
		err = werr
	}
	a.printError(err)
	return exitCode(err)
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
func (a *app) oneAnswer(c *cobra.Command) error {
	if soak := c.Flag("soak"); a.Text() && (soak == nil || soak.Value.String() == "") {
		return nil
	}
	var err error
	c.Flags().Visit(func(f *pflag.Flag) {
		switch f.Value.String() {
		case "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1":
			err = fmt.Errorf("%w: cannot write --%s to %s: standard output has the JSON document", errInput, f.Name, f.Value)
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
func (a *app) execute(args []string) error {
	root := newRoot(a)
	root.SetArgs(args)
	err := caught(root.Execute)
	if err == nil {
		err = a.help
	}
	if err != nil && !a.began {
		err = usageError{err}
	}
	return err
}

// printError prints an error and its details.
func (a *app) printError(err error) {
	if err == nil {
		return
	}
	fmt.Fprintf(a.stderr, "hilgpu: %v\n", err)
	var violation *verifier.Violation
	if errors.As(err, &violation) {
		fmt.Fprint(a.stderr, violation.Details())
	}
	var stopped *dxgkrnl.DeviceError
	if errors.As(err, &stopped) {
		fmt.Fprint(a.stderr, stopped.Dump)
	}
	var crashed *crash
	if errors.As(err, &crashed) {
		a.stderr.Write(crashed.stack)
	}
}

// A crash is a panic of the program itself.
type crash struct {
	value any
	stack []byte
}

// Error describes the panic in one line.
func (c *crash) Error() string { return fmt.Sprintf("panic: %v", c.value) }

// A usageError is an error of the command line detected before the command did
// anything.
type usageError struct{ error }

// Unwrap returns the error.
func (e usageError) Unwrap() error { return e.error }
