package kernelmutant

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"time"

	"github.com/hilgpu/hilgpu/testbench/overlay"
)

// A tests is tests of a package.
type tests struct {
	folder string        // from the root of the module
	run    string        // regular expression of their names
	args   []string      // of the test binary
	limits time.Duration // of Bench.Limit that they get
}

// rapidArgs make random tests repeat, and write no files.
var rapidArgs = []string{"-rapid.seed=1", "-rapid.nofailfile", "-rapid.shrinktime=0s"}

// judges are the tests that may notice a mutant, in this order: those of the kernel, and
// if they pass, tests of the system.
var judges = []tests{
	{Folder, ".", rapidArgs, 1},
	{"testbench/model", "^(TestModel|TestThreads)$", rapidArgs, 1},
	{"testbench", "^(TestPriorityOfDevices|TestStagesOfATimeout|TestHangsAreRecovered|TestRecoverFromTimeouts|TestRecoverFromFaults|TestDevicesInQueues|TestFaultInAQueue)$", nil, 4},
}

// An Outcome is the result of a mutant.
type Outcome string

// The outcomes.
const (
	Survived Outcome = "survived"          // all tests pass
	Kernel   Outcome = "caught"            // by the tests of the kernel
	System   Outcome = "caught by system"  // only by tests of the system
	TimedOut Outcome = "caught by timeout" // a test did not end
)

// A Result is what the tests found of a mutant.
type Result struct {
	Mutant  *Mutant
	Outcome Outcome
	Test    string // that failed, or ""
}

// A Bench runs tests on mutants.
type Bench struct {
	Source *Source
	Dir    string        // for binaries, temporary
	Limit  time.Duration // of the tests of a package
	Memory int           // that a test binary may reserve, in MiB
}

// errBuild is wrapped by the error of a mutant that does not build.
var errBuild = errors.New("kernelmutant: the mutant does not build")

// Judge runs the tests on a mutant, whose number is unique.
func (b *Bench) Judge(m *Mutant, number int) (Result, error) {
	r := Result{Mutant: m, Outcome: Survived}
	dir := filepath.Join(b.Dir, fmt.Sprint(number))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return r, fmt.Errorf("kernelmutant: %w", err)
	}
	defer os.RemoveAll(dir)
	changed, err := overlay.Write(dir, map[string][]byte{b.Source.path(m.File): m.apply(b.Source.texts[m.File])})
	if err != nil {
		return r, err
	}
	for i, j := range judges {
		binary := filepath.Join(dir, "test.exe")
		build := exec.Command("go", "test", "-c", "-vet=off", "-ldflags=-w", "-overlay", changed, "-o", binary, "./"+j.folder)
		build.Dir = b.Source.root
		if out, err := build.CombinedOutput(); err != nil {
			return r, fmt.Errorf("%w: %v: %w\n%s", errBuild, m, err, out)
		}
		failed, late := b.run(j, binary)
		switch {
		case late:
			r.Outcome, r.Test = TimedOut, failed
			return r, nil
		case failed != "":
			r.Outcome, r.Test = Kernel, failed
			if i > 0 {
				r.Outcome = System
			}
			return r, nil
		}
	}
	return r, nil
}

var (
	failure = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)
	timeout = []byte("panic: test timed out after")
)

// run runs tests. It returns the first that fails, or "", and reports whether the tests
// did not end in time.
func (b *Bench) run(j tests, binary string) (failed string, late bool) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*j.limits*b.Limit)
	defer cancel()
	args := append([]string{binary, "-test.failfast", "-test.run=" + j.run, fmt.Sprintf("-test.timeout=%v", j.limits*b.Limit)}, j.args...)
	if runtime.GOOS != "windows" { // a mistake may use memory without end
		args = append([]string{"sh", "-c", fmt.Sprintf(`ulimit -v %d; exec "$0" "$@"`, b.Memory<<10)}, args...)
	}
	c := exec.CommandContext(ctx, args[0], args[1:]...)
	c.Dir = filepath.Join(b.Source.root, filepath.FromSlash(j.folder))
	out, err := c.CombinedOutput()
	if err == nil {
		return "", false
	}
	failed = "panic"
	if m := failure.FindSubmatch(out); m != nil {
		failed = string(m[1])
	}
	return failed, ctx.Err() != nil || bytes.Contains(out, timeout)
}

// A Table counts outcomes.
type Table map[Outcome]int

// Total returns the number of mutants.
func (t Table) Total() int { return t[Survived] + t[Kernel] + t[System] + t[TimedOut] }

// Caught is the share of the mutants that were caught, 0 to 1.
func (t Table) Caught() float64 {
	return float64(t.Total()-t[Survived]) / float64(max(t.Total(), 1))
}

// String describes the counts in a line.
func (t Table) String() string {
	return fmt.Sprintf("%d mutants: %d caught by the tests of the kernel, %d only by tests of the system, %d by a timeout, %d survived; caught %.1f %%",
		t.Total(), t[Kernel], t[System], t[TimedOut], t[Survived], 100*t.Caught())
}
