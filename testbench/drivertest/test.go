package drivertest

import (
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/hilgpu/hilgpu/testbench"
	"github.com/hilgpu/hilgpu/testbench/command"
	"github.com/hilgpu/hilgpu/testbench/command/child"
	"github.com/hilgpu/hilgpu/testbench/command/exit"
	"github.com/hilgpu/hilgpu/testbench/suite"
)

// notApplicable begins the reason of a skipped case, which needs a feature that the
// driver or the board lacks. No tool is missing.
const notApplicable = "not applicable: "

// name is the name of the program in the messages of a test.
const name = "drivertest"

// Options are the flags of a test binary. The zero value has none.
type Options struct {
	set   *flag.FlagSet
	names []string
}

// Flags adds the flags of the command test to a set: board, filter, seed, runs,
// junit, artifacts and the others, with the same meaning and the same defaults.
// Only list, json and help are left out, which go test has itself. Relative files
// are below the folder of the test.
func Flags(set *flag.FlagSet) *Options {
	o := &Options{set: set}
	app := command.NewApp(program(name, testbench.Drivers{}), io.Discard, io.Discard, nil)
	test, _, err := app.Tree().Find([]string{"test"})
	if err != nil {
		panic(err) // a Program has this command
	}
	test.InheritedFlags() // adds those to Flags
	test.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Name != "list" && f.Name != "json" && f.Name != "help" {
			set.Var(f.Value, f.Name, f.Usage)
			o.names = append(o.names, f.Name)
		}
	})
	return o
}

// args returns the flags that were given, as arguments of the command test.
func (o *Options) args() (args []string) {
	if o == nil || o.set == nil {
		return nil
	}
	o.set.Visit(func(f *flag.Flag) {
		for _, name := range o.names {
			if f.Name == name {
				args = append(args, fmt.Sprintf("--%s=%v", name, f.Value))
			}
		}
	})
	return args
}

// Test runs the cases of the suite as subtests of t. The flags o are those of
// Flags; nil means none. Each case runs in a child process: the test binary, started
// again for the test t only. A test function therefore calls Test once.
func Test(t *testing.T, drivers testbench.Drivers, o *Options) {
	p := testProgram(t, drivers)
	p.Repeat = fmt.Sprintf("go test -run '^%s$' .", t.Name())
	p.Each = func(i suite.Instance, run func() suite.Result) suite.Result {
		r := suite.Result{
			Name: i.Name, Tier: i.Case.Tier, Doc: i.Case.Doc, Source: i.Case.Source, Selector: i.Selector, Seed: i.Seed,
			Outcome: suite.Skipped, Messages: []string{"-run does not select it"},
		}
		t.Run(i.Name, func(t *testing.T) {
			r = run()
			switch {
			case r.Unexpected():
				t.Error(strings.Join(append(r.Messages, r.Why()), "\n"))
			case r.Known:
				t.Log("known to fail: " + strings.Join(r.Messages, "\n"))
			case r.Outcome == suite.Skipped:
				t.Skip(notApplicable + strings.Join(r.Messages, "\n"))
			}
		})
		return r
	}
	execute(t, p, append([]string{"test"}, o.args()...))
}

// testProgram returns the program of a test. Its child processes serve here.
func testProgram(t *testing.T, drivers testbench.Drivers) command.Program {
	p := program(name, drivers)
	p.Child = func() (*exec.Cmd, error) { return testAgain(t.Name()) }
	child.Serve(name, drivers, p.Execute)
	return p
}

// testAgain starts this test binary again, for the test with the given name, with the
// flags of the binary except those of go test.
func testAgain(name string) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	var levels []string
	for part := range strings.SplitSeq(name, "/") {
		levels = append(levels, "^"+regexp.QuoteMeta(part)+"$")
	}
	args := []string{"-test.run=" + strings.Join(levels, "/"), "-test.count=1"}
	flag.Visit(func(f *flag.Flag) {
		if !strings.HasPrefix(f.Name, "test.") {
			args = append(args, fmt.Sprintf("-%s=%v", f.Name, f.Value))
		}
	})
	return exec.Command(self, append(append(args, "--"), flag.Args()...)...), nil
}

// Run runs a command line of the program for the drivers, as in
//
//	drivertest.Run(t, drivers, "run", "compose", "--check")
//
// Its output goes to the log of t, which fails if the exit code is not 0. The
// drivers run in a child process, as with [Test]; all calls of Run and Test by one
// test function have the same drivers.
func Run(t *testing.T, drivers testbench.Drivers, args ...string) {
	t.Helper()
	execute(t, testProgram(t, drivers), args)
}

// execute runs a command line of p. A failed check is no second failure of a test
// that has already failed.
func execute(t *testing.T, p command.Program, args []string) {
	t.Helper()
	code := command.NewApp(p, t.Output(), t.Output(), os.Getenv).Run(args)
	if code == exit.OK || code == exit.Check && t.Failed() {
		return
	}
	t.Errorf("%s: exit code %d", strings.Join(args, " "), code)
}
