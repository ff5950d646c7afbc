package main

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/pprof"
	"slices"
	"strings"
	"time"

	"github.com/hilgpu/hilgpu/rtl/gpu"
	"github.com/hilgpu/hilgpu/testbench"
	"github.com/hilgpu/hilgpu/testbench/compose"
	"github.com/hilgpu/hilgpu/testbench/figures"
	"github.com/hilgpu/hilgpu/testbench/session"
)

// modulePath begins the names of this module's functions.
const modulePath = "github.com/hilgpu/hilgpu/"

// A call is a call of a function by another one. Its line counts from the line on which
// the caller begins.
type call struct {
	caller, callee string
	line           int
}

func (c call) String() string { return fmt.Sprintf("%s by %s, line +%d", c.callee, c.caller, c.line) }

// A weighted is a call and its part of the time, callees included.
type weighted struct {
	call
	weight int64
}

// errProfile is wrapped by the error of a profile that cannot be read.
var errProfile = errors.New("pgo: no profile")

// each is the weight of all calls of a workload, and least that of a call that is kept.
const (
	each  = 1_000_000
	least = 20
)

// measure profiles the workloads.
func measure(d time.Duration) ([]weighted, error) {
	dir, err := os.MkdirTemp("", "hilgpu-pgo-*")
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errProfile, err)
	}
	defer os.RemoveAll(dir)
	works, err := workloads(d)
	if err != nil {
		return nil, err
	}
	sum := map[call]int64{}
	for i, work := range works {
		file := filepath.Join(dir, fmt.Sprint(i))
		if err := record(file, work); err != nil {
			return nil, err
		}
		calls, err := read(file)
		if err != nil {
			return nil, err
		}
		add(sum, calls)
	}
	return sorted(sum), nil
}

// workloads returns the functions to profile, each of which takes about d.
func workloads(d time.Duration) ([]func() error, error) {
	c := gpu.Default()
	plan, err := compose.SamplePlan(compose.Options{Width: 320, Height: 240, Contexts: 2, Seed: 1})
	if err != nil {
		return nil, err
	}
	busy, err := figures.Busy(c, 8)
	if err != nil {
		return nil, err
	}
	mixed, err := figures.Mixed(c, plan)
	if err != nil {
		return nil, err
	}
	return []func() error{
		func() error { return busy.Repeat(c, d) },
		func() error { return mixed.Repeat(c, d) },
		func() error {
			for start := time.Now(); time.Since(start) < d; {
				if _, err := session.OnBoard("emu", testbench.HostDrivers(), testbench.Options{}, plan); err != nil {
					return err
				}
			}
			return nil
		},
	}, nil
}

// record writes the profile of a function to a file.
func record(file string, work func() error) error {
	f, err := os.Create(file)
	if err != nil {
		return fmt.Errorf("%w: %w", errProfile, err)
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return errors.Join(fmt.Errorf("%w: %w", errProfile, err), f.Close())
	}
	err = work()
	pprof.StopCPUProfile()
	return errors.Join(err, f.Close())
}

// read returns the calls of a profile as the compiler sees them.
func read(file string) ([]weighted, error) {
	if _, err := os.Stat(file); err != nil {
		return nil, fmt.Errorf("%w: %w", errProfile, err)
	}
	cmd := exec.Command("go", "tool", "preprofile", "-i", file)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	text, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%w: %w: %s", errProfile, err, strings.TrimSpace(stderr.String()))
	}
	return parse(strings.NewReader(string(text)))
}

// parse reads the output of preprofile: a line with the format, then for each call its
// caller, its callee, and its line and weight.
func parse(r io.Reader) ([]weighted, error) {
	var lines []string
	for s := bufio.NewScanner(r); s.Scan(); {
		lines = append(lines, s.Text())
	}
	if len(lines)%3 != 1 || lines[0] != "GO PREPROFILE V1" {
		return nil, fmt.Errorf("%w: %d lines of another format", errProfile, len(lines))
	}
	var all []weighted
	for at := range slices.Chunk(lines[1:], 3) {
		w := weighted{call: call{caller: at[0], callee: at[1]}}
		if _, err := fmt.Sscanf(at[2], "%d %d", &w.line, &w.weight); err != nil {
			return nil, fmt.Errorf("%w: %q: %w", errProfile, at[2], err)
		}
		all = append(all, w)
	}
	return all, nil
}

// add adds the calls of a workload between functions of this module. Function literals
// are left out: their names depend on their number.
func add(sum map[call]int64, calls []weighted) {
	calls = slices.DeleteFunc(slices.Clone(calls), func(w weighted) bool { return !ours(w.caller) || !ours(w.callee) })
	total := int64(0)
	for _, w := range calls {
		total += w.weight
	}
	for _, w := range calls {
		sum[w.call] += w.weight * each / total
	}
}

// ours reports whether a function is of this module and has a name.
func ours(name string) bool {
	return strings.HasPrefix(name, modulePath) && !strings.HasPrefix(name, modulePath+"cmd/pgo") && !strings.Contains(name, ".func") && !strings.HasSuffix(name, "-fm")
}

// sorted returns the calls that are kept, by weight.
func sorted(sum map[call]int64) []weighted {
	var all []weighted
	for c, w := range maps.All(sum) {
		if w >= least {
			all = append(all, weighted{c, w})
		}
	}
	slices.SortFunc(all, func(a, b weighted) int {
		return cmp.Or(cmp.Compare(b.weight, a.weight), cmp.Compare(a.caller, b.caller), cmp.Compare(a.callee, b.callee), cmp.Compare(a.line, b.line))
	})
	return all
}
