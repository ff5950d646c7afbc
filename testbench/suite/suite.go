// Package suite is the whole-system suite: what every board with the drivers of
// this GPU, or with others, has to do. Each case opens the board, works on it
// through the whole stack, and compares what comes out with what the
// specification or a plain model says.
//
// The same cases run under go test (./testbench, TestSuite) and from a command
// (Run), on every selector.
package suite

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/boards"
	"github.com/hilgpu/hilgpu/rtl/wave"
	"github.com/hilgpu/hilgpu/testbench"
)

// TB is what a case needs of the test that it is. *testing.T is one.
type TB interface {
	Helper()
	Errorf(format string, args ...any)
	Skipf(format string, args ...any)
	FailNow()
	Cleanup(f func())
}

// T is a case that runs.
type T struct {
	TB
	Selector string
	Board    boards.Options // of the connection
	Drivers  testbench.Drivers
	Seed     uint64

	dump string // what the kernel dumped
	err  error  // why the board could not be opened, or the GPU stopped
	tdr  time.Duration

	keep   bool           // keep the DDI calls, and the last clocks of an emulated GPU
	traces []*tail        // of the systems, in the order in which they were opened
	flight *wave.Recorder // of the board that was opened last, or nil
}

// Open opens the board. It is closed when the case ends, which fails if that
// does. If a failure is to leave them, the DDI calls, the packets of the link and
// the last clocks of an emulated GPU are kept.
func (t *T) Open(o testbench.Options) *testbench.System {
	t.Helper()
	o.Board, o.Tdr = t.Board, t.tdr
	if t.keep && boards.Emulated(t.Selector) {
		var err error
		t.flight, err = wave.New(nil, wave.Options{})
		require.NoError(t, err)
		o.Board.Wave = t.flight
	}
	if t.keep {
		trace := new(tail)
		t.traces = append(t.traces, trace)
		o.DDI = trace
	}
	sys, err := testbench.Open(t.Selector, t.Drivers, o)
	t.err = first(t.err, err)
	require.NoError(t, err)
	t.Cleanup(func() {
		if err := sys.Err(); err != nil {
			t.dump = dumpOf(err)
			t.err = first(t.err, err)
		}
		assert.NoError(t, sys.Close())
	})
	return sys
}

// first returns a, or b if that is nil.
func first(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

// A Case is one test of the suite.
type Case struct {
	Name string
	Doc  string

	// options are what is added to the selector of a board that is configured
	// by it, each for a run of its own; "" is the board as it is. needs says
	// that the case makes no sense on a board as it is.
	options []string
	needs   bool
	seeds   uint64 // runs, with seeds that follow each other; 0 is 1
	run     func(t *T)
}

// different are GPUs that differ in what the kernel has to do.
var different = []string{"", "nodes=1", "vram=8KiB", "aperture=0"}

// Cases returns the cases, in the order in which they run.
func Cases() []Case {
	return []Case{
		{Name: "compose", Doc: "images are composed, presented and read back", options: different, seeds: 2, run: composeSamples},
		{Name: "copy-boxes", Doc: "boxes of a texture are copied; bad ones are ignored", options: different, run: copyBoxes},
		{Name: "copy-formats", Doc: "copies inside a typeless family keep the bits; others are ignored", run: copyBetweenFormats},
		{Name: "clears", Doc: "clears convert to the format and hit exactly the view", options: different, run: clears},
		{Name: "lists", Doc: "lists read contents when they execute, any number of times, nested or not", options: different, run: listsOnTheGPU},
		{Name: "restore-flags", Doc: "the restore flags of Finish and Execute", run: restoreFlags},
		{Name: "discard-in-list", Doc: "memory mapped on a deferred context belongs to the list", options: different, run: discardInAList},
		{Name: "renaming", Doc: "a discard never waits for, nor changes, what the GPU has still to read", options: different, run: renaming},
		{Name: "staging-maps", Doc: "pitches, errors and contents of staging maps", run: stagingMaps},
		{Name: "asking", Doc: "busy answers until the GPU is done, and asking is enough to get there", options: different, run: askingInsteadOfWaiting},
		{Name: "present", Doc: "Present copies the back buffer as it is then", options: different, run: present},
		{Name: "textures-too-large-together", Doc: "textures that fit in VRAM one by one are copied to each other",
			options: []string{"vram=64KiB", "vram=64KiB&nodes=1"}, needs: true, run: copyOfTexturesThatDoNotFitTogether},
		{Name: "texture-too-large", Doc: "a texture larger than VRAM is refused, and nothing else fails",
			options: []string{"vram=64KiB"}, needs: true, run: textureLargerThanVRAM},
		{Name: "order-flush", Doc: "Flush submits in the documented steps", run: orderOfFlush},
		{Name: "order-present", Doc: "Present submits in the documented steps", run: orderOfPresent},
		{Name: "order-lock", Doc: "Lock submits in the documented steps", run: orderOfLock},
		{Name: "order-full", Doc: "a full command buffer is submitted in the documented steps", run: orderOfFullBuffer},
		{Name: "order-pending", Doc: "Present submits pending work first", run: presentSubmitsPendingWorkFirst},
		{Name: "order-one-node", Doc: "paging buffers on a GPU with one node", options: []string{"nodes=1"}, run: orderOnOneNode},
		{Name: "malformed-buffers", Doc: "bad command buffers are refused, and the next good one works", run: malformedCommandBuffers},
		{Name: "random", Doc: "random API calls leave what a plain model says", seeds: 2,
			options: []string{"", "nodes=1", "vram=64KiB", "vram=64KiB&nodes=1", "config=small&vram=32KiB"}, run: randomOperations},
	}
}

// An Instance is a case on a board.
type Instance struct {
	Case     Case
	Name     string // of the case, the options that were added, and the seed if there are several
	Selector string
	Seed     uint64
	Skip     string // why it cannot run, or ""
}

// Expand returns the instances of the cases on a board, with seeds from seed on.
// If runs is not 0, it is how many seeds each case gets that has several.
func Expand(selector string, seed, runs uint64) []Instance {
	var out []Instance
	for _, c := range Cases() {
		options, skip := c.options, ""
		if !configurable(selector) && len(options) > 0 {
			options = []string{""}
			if c.needs {
				skip = "it needs a GPU with " + c.options[0]
			}
		}
		if len(options) == 0 {
			options = []string{""}
		}
		for _, o := range options {
			out = c.instances(out, selector, o, seed, runs, skip)
		}
	}
	return out
}

func (c Case) instances(out []Instance, selector, options string, seed, runs uint64, skip string) []Instance {
	n := max(c.seeds, 1)
	if n > 1 && runs != 0 {
		n = runs
	}
	name := c.Name
	if options != "" {
		selector, name = with(selector, options), name+"["+options+"]"
	}
	for s := range n {
		i := Instance{Case: c, Name: name, Selector: selector, Seed: seed + s, Skip: skip}
		if n > 1 {
			i.Name = fmt.Sprintf("%s/%d", name, i.Seed)
		}
		out = append(out, i)
	}
	return out
}

// configurable says whether the selector is the GPU's configuration too, and
// leaves it to the suite.
func configurable(selector string) bool { return selector == "emu" }

func with(selector, options string) string {
	if strings.Contains(selector, "?") {
		return selector + "&" + options
	}
	return selector + "?" + options
}

// keeper is a TB that has a folder for what a failure leaves, as *testing.T does.
type keeper interface {
	Failed() bool
	ArtifactDir() string
}

// Run runs the instance as the test tb. If it fails, it leaves the last clocks of
// an emulated GPU in wave.vcd, in the folder of the test's artifacts.
func (i Instance) Run(tb TB, drivers testbench.Drivers) {
	if i.Skip != "" {
		tb.Skipf("%s", i.Skip)
		return
	}
	t := &T{TB: tb, Selector: i.Selector, Drivers: drivers, Seed: i.Seed}
	if k, ok := tb.(keeper); ok {
		t.keep = true
		tb.Cleanup(func() {
			if k.Failed() && t.flight != nil {
				assert.NoError(t, os.WriteFile(filepath.Join(k.ArtifactDir(), "wave.vcd"), t.wave(), 0o666))
			}
		})
	}
	i.Case.run(t)
}

// wave returns the last clocks of the board that was opened last, as a value
// change dump, or nil.
func (t *T) wave() []byte {
	if t.flight == nil || !t.flight.Attached() {
		return nil
	}
	var out bytes.Buffer
	if err := t.flight.Dump(&out); err != nil {
		t.Errorf("no wave: %v", err)
		return nil
	}
	return out.Bytes()
}
