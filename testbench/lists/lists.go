// Package lists is a workload of small command lists: deferred contexts record
// them at the same time, the immediate context executes them, and they are
// released. It says what each part costs the threads of the application, and
// what the graphics kernel costs beside it. It reads the wall clock, for that
// is what it measures.
package lists

import (
	"errors"
	"fmt"

	"github.com/hilgpu/hilgpu/hostdriver/umd"
	"github.com/hilgpu/hilgpu/runtime/verifier"
	"github.com/hilgpu/hilgpu/testbench"
)

// ErrInput is wrapped by errors of options out of range.
var ErrInput = errors.New("lists: bad input")

// ErrContents is wrapped by the error of a run whose lists did not do what they
// record.
var ErrContents = errors.New("lists: wrong contents")

// Limits of Options.
const (
	MaxLists    = 1_000_000_000
	MaxOps      = 10_000
	MaxContexts = 1_000
	MaxAlive    = 100_000
)

// Options are what a run does.
type Options struct {
	Board     string            // selector
	System    testbench.Options // without Hook
	Lists     int               // in all, 1 to MaxLists
	Ops       int               // CopyResource calls in each list, 1 to MaxOps
	Contexts  int               // deferred contexts, 1 to MaxContexts, each with its goroutine
	Alive     int               // lists of a context that exist at a time, 1 to MaxAlive
	NoRecycle bool              // each list is made with a handle that was not used before
	Emulated  bool              // the driver does not report command lists: those of the runtime are used

	// Progress, if not nil, is told how many lists of a part of the run are done.
	// Its time and its allocations are not counted.
	Progress func(done, total int)
}

// check returns what is wrong with o.
func (o Options) check() error {
	for _, x := range []struct {
		name  string
		n, to int
	}{{"lists", o.Lists, MaxLists}, {"ops", o.Ops, MaxOps}, {"contexts", o.Contexts, MaxContexts}, {"alive", o.Alive, MaxAlive}} {
		if x.n < 1 || x.n > x.to {
			return fmt.Errorf("%w: %d %s, want 1 to %d", ErrInput, x.n, x.name, x.to)
		}
	}
	if o.Lists < o.Contexts {
		return fmt.Errorf("%w: %d lists for %d contexts, want at least one each", ErrInput, o.Lists, o.Contexts)
	}
	return nil
}

// A Report is what a run has measured. Times are of the wall clock.
type Report struct {
	Lists    int  `json:"lists"`
	Ops      int  `json:"ops"`
	Contexts int  `json:"contexts"`
	Recycle  bool `json:"recycle"`
	Native   bool `json:"native"`
	Verify   bool `json:"verify"`

	// Lists a second, recorded, finished, executed and released, without the
	// kernel's time: parts of several contexts that run at the same time count
	// once.
	ListsPerSecond float64 `json:"lists_per_second"`

	Parts Parts `json:"ns_per_list"`

	Allocations float64 `json:"allocations_per_list"` // of objects on the Go heap, without the kernel's
	Submissions int     `json:"submissions"`          // pfnRenderCb calls
	Calls       []Call  `json:"calls"`                // in order of the name
	CountedOver int     `json:"calls_counted_over"`   // lists of the run in which the calls were counted

	Findings []verifier.Finding `json:"-"` // of the timed run: waived rules that were broken, and warnings
}

// Parts are the costs of one list, in ns of a thread.
type Parts struct {
	Record  float64 `json:"record"`  // the copies
	Finish  float64 `json:"finish"`  // FinishCommandList
	Execute float64 `json:"execute"` // ExecuteCommandList, until the commands stand in the command buffer
	Release float64 `json:"release"`
	Kernel  float64 `json:"kernel"` // in pfnRenderCb, with the GPU that the kernel waits for
}

// A Call is a DDI function, and how often it is called.
type Call struct {
	Name    string  `json:"name"` // as in the WDK
	PerList float64 `json:"per_list"`
}

// countedLists is how many lists the run has at most in which calls are counted.
const countedLists = 2000

// Run runs the workload twice: the first run is timed, the second, a shorter
// one, counts the calls, which would disturb the first. It returns what of the
// first run goes wrong, wrapping ErrInput, ErrContents, or what testbench.Open
// returns.
func Run(o Options) (*Report, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	r := &Report{
		Lists: o.Lists, Ops: o.Ops, Contexts: o.Contexts,
		Recycle: !o.NoRecycle, Native: !o.Emulated, Verify: !o.System.NoVerify,
	}
	if err := o.timed(r); err != nil {
		return nil, err
	}
	o.Lists = max(o.Contexts, min(o.Lists, countedLists))
	if err := o.counted(r); err != nil {
		return nil, err
	}
	return r, nil
}

// drivers returns the drivers of this GPU, with a clock at the submissions.
func (o Options) drivers(k *KernelClock) testbench.Drivers {
	d := testbench.HostDrivers()
	d.UserMode = k.Wrap(umd.New(umd.Options{EmulatedLists: o.Emulated}))
	return d
}
