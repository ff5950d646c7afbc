package kernelmutant

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"sync"
	"time"

	"github.com/hilgpu/hilgpu/testbench/overlay"
)

// A judge is tests of a package.
type judge struct {
	folder string   // from the root of the module
	run    string   // regular expression of the names of the tests
	skip   string   // regular expression of those that are left out, or ""
	args   []string // of the test binary
	limits int      // of Bench.Limit that the tests get
}

// rapidArgs make random tests repeat, and write no files.
var rapidArgs = []string{"-rapid.seed=1", "-rapid.nofailfile", "-rapid.shrinktime=0s"}

// slow are the tests of the kernel that take most of the time.
const slow = "^(TestWorkingSets|TestHostMemoryInPieces|TestNoWakeUpIsLost|TestClearing|TestExplore|TestExplorePaging|TestThreadsKeepContents|TestRunIsDeterministic|TestRandomWorkKeepsContents)$"

// judges are the tests that may notice a mutant, in this order: those of the kernel, the
// fast ones first, and if they pass, tests of the system.
var judges = []judge{
	{Folder, ".", slow, rapidArgs, 1},
	{Folder, slow, "", rapidArgs, 2},
	{"testbench/model", "^(TestModel|TestThreads)$", "", rapidArgs, 2},
	{"testbench", "^(TestPriorityOfDevices|TestStagesOfATimeout|TestHangsAreRecovered|TestRecoverFromTimeouts|TestRecoverFromFaults|TestDevicesInQueues|TestFaultInAQueue)$", "", nil, 8},
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

// A Bench runs tests on mutants. One test binary of each package has all mutants that can
// be selected while it runs. It is built when it is needed.
type Bench struct {
	Source  *Source
	Mutants []*Mutant
	Dir     string        // for binaries, temporary
	Limit   time.Duration // processor time of the tests of a package
	Memory  int           // that a test binary may reserve, in MiB

	mu     sync.Mutex
	shared map[string]string // the binary with all mutants, by folder
}

// errBuild is wrapped by the error of a mutant that does not build, and errBroken by that
// of a kernel whose tests fail without a mistake.
var (
	errBuild  = errors.New("kernelmutant: the mutant does not build")
	errBroken = errors.New("kernelmutant: the tests fail without a mistake")
)

// Judge runs the tests on a mutant, by its index in Mutants.
func (b *Bench) Judge(i int) (Result, error) {
	r := Result{Mutant: b.Mutants[i], Outcome: Survived}
	for _, j := range judges {
		binary, err := b.binary(i, j.folder)
		if err != nil {
			return r, err
		}
		failed, late := b.run(j, binary, i+1)
		switch {
		case late:
			r.Outcome, r.Test = TimedOut, failed
			return r, nil
		case failed != "":
			r.Outcome, r.Test = Kernel, failed
			if j.folder != Folder {
				r.Outcome = System
			}
			return r, nil
		}
	}
	return r, nil
}

// binary returns the test binary of a folder that has mutant i.
func (b *Bench) binary(i int, folder string) (string, error) {
	m := b.Mutants[i]
	if b.Source.inBody(m) != nil {
		return b.common(folder)
	}
	dir := filepath.Join(b.Dir, fmt.Sprint(i))
	binary, err := b.build(dir, folder, map[string][]byte{b.Source.path(m.File): m.apply(b.Source.texts[m.File])})
	if err != nil {
		return "", fmt.Errorf("%w: %v", err, m)
	}
	return binary, nil
}

// common returns the test binary of a folder that has all mutants. Without a mistake its tests pass.
func (b *Bench) common(folder string) (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.shared[folder] != "" {
		return b.shared[folder], nil
	}
	binary, err := b.build(filepath.Join(b.Dir, "all", path.Base(folder)), folder, b.Source.switchable(b.Mutants))
	if err != nil {
		return "", err
	}
	for _, j := range judges {
		if j.folder != folder {
			continue
		}
		if failed, late := b.run(j, binary, 0); failed != "" {
			return "", fmt.Errorf("%w: %s in %s, late %v", errBroken, failed, folder, late)
		}
	}
	if b.shared == nil {
		b.shared = map[string]string{}
	}
	b.shared[folder] = binary
	return binary, nil
}

// build builds the test binary of a folder in dir, from changed sources of the kernel.
func (b *Bench) build(dir, folder string, sources map[string][]byte) (string, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("kernelmutant: %w", err)
	}
	changed, err := overlay.Write(dir, sources)
	if err != nil {
		return "", err
	}
	binary := filepath.Join(dir, "test.exe")
	build := exec.Command("go", "test", "-c", "-vet=off", "-ldflags=-w", "-overlay", changed, "-o", binary, "./"+folder)
	build.Dir = b.Source.root
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %w\n%s", errBuild, err, out)
	}
	return binary, nil
}

var (
	failure  = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)
	deadlock = []byte("all goroutines are asleep - deadlock!")
)

// patience is the time that tests may take for each second of the processor that they may
// use: other programs use the machine too. Without a timer of the test binary the Go
// runtime notices at once that all threads of the kernel wait.
const patience = 20

// run runs tests with a mistake, by its number. It returns the first that fails, or "",
// and reports whether the tests did not end in time.
func (b *Bench) run(j judge, binary string, number int) (failed string, late bool) {
	limit := time.Duration(j.limits) * b.Limit
	ctx, cancel := context.WithTimeout(context.Background(), patience*limit)
	defer cancel()
	args := append([]string{binary, "-test.failfast", "-test.run=" + j.run, "-test.skip=" + j.skip, "-test.timeout=0"}, j.args...)
	if runtime.GOOS != "windows" { // a mistake may use memory and time without end
		args = append([]string{"sh", "-c", fmt.Sprintf(`ulimit -v %d; ulimit -t %d; exec "$0" "$@"`, b.Memory<<10, int(limit.Seconds()))}, args...)
	}
	c := exec.CommandContext(ctx, args[0], args[1:]...)
	c.Dir = filepath.Join(b.Source.root, filepath.FromSlash(j.folder))
	c.Env = append(os.Environ(), fmt.Sprintf("%s=%d", selected, number))
	out, err := c.CombinedOutput()
	if err == nil {
		return "", false
	}
	failed = "panic"
	if m := failure.FindSubmatch(out); m != nil {
		failed = string(m[1])
	}
	return failed, c.ProcessState.ExitCode() < 0 || bytes.Contains(out, deadlock)
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
