// Package lists is a workload of small command lists. Deferred contexts record them
// concurrently, the immediate context executes them, and they are released. It
// measures the time of each step on the application's threads, and separately the
// time of the graphics kernel, on the wall clock.
package lists

import (
	"errors"
	"fmt"

	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
	"github.com/hilgpu/hilgpu/runtime/verifier"
	"github.com/hilgpu/hilgpu/testbench"
)

// ErrInput is wrapped by errors of options out of range.
var ErrInput = errors.New("lists: bad input")

// ErrContents is wrapped by the error of a run whose lists did not copy the
// expected data.
var ErrContents = errors.New("lists: wrong contents")

// Limits of Options.
const (
	MaxLists    = 1_000_000_000
	MaxOps      = 10_000
	MaxContexts = 1_000
	MaxAlive    = 100_000
)

// Options are the settings of a run.
type Options struct {
	Board     string            // selector
	Drivers   testbench.Drivers // zero: the drivers of this GPU
	System    testbench.Options // without Hook
	Lists     int               // total number, 1 to MaxLists
	Ops       int               // CopyResource calls per list, 1 to MaxOps
	Contexts  int               // deferred contexts, each with a goroutine, 1 to MaxContexts
	Alive     int               // lists per context that exist at the same time, 1 to MaxAlive
	NoRecycle bool              // every list gets a new handle
	Emulated  bool              // the runtime's lists are used, even if the driver has command lists

	// Progress, if not nil, is called with the lists done of a part. Its cost is
	// excluded.
	Progress func(done, total int)
}

// check returns an error if an option is out of range.
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

// A Report is the result of a run. Times are on the wall clock.
type Report struct {
	Lists    int  `json:"lists"`
	Ops      int  `json:"ops"`
	Contexts int  `json:"contexts"`
	Recycle  bool `json:"recycle"`
	Native   bool `json:"native"` // the lists are the driver's
	Verify   bool `json:"verify"`

	// ListsPerSecond excludes the kernel's time; concurrent time counts once.
	ListsPerSecond float64 `json:"lists_per_second"`

	Parts Parts `json:"ns_per_list"`

	Allocations float64 `json:"allocations_per_list"` // objects on the Go heap, without the kernel's
	Submissions int     `json:"submissions"`          // pfnRenderCb calls
	Calls       []Call  `json:"calls"`                // in order of their names
	CountedOver int     `json:"calls_counted_over"`   // lists of the counted run

	Findings []verifier.Finding `json:"-"` // violations of waived rules, and warnings, of the timed run
}

// Parts are the times of one list, in ns of a thread.
type Parts struct {
	Record  float64 `json:"record"`  // recording of the copies
	Finish  float64 `json:"finish"`  // FinishCommandList
	Execute float64 `json:"execute"` // ExecuteCommandList, until the commands are in the command buffer
	Release float64 `json:"release"`
	Kernel  float64 `json:"kernel"` // pfnRenderCb, with the time of the GPU that the kernel waits for
}

// A Call is a DDI function and the number of its calls.
type Call struct {
	Name    string  `json:"name"` // name in the WDK
	PerList float64 `json:"per_list"`
}

// countedLists is the largest number of lists of the counted run.
const countedLists = 2000

// Run runs the workload twice: the first run is timed; the second, a shorter one,
// counts the calls, which would slow the first. It fails with ErrInput,
// ErrContents, or an error of testbench.Open.
func Run(o Options) (*Report, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	r := &Report{
		Lists: o.Lists, Ops: o.Ops, Contexts: o.Contexts,
		Recycle: !o.NoRecycle, Verify: !o.System.NoVerify,
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

// drivers returns the drivers, with a clock around the submissions. native is
// set if the lists of the run are the driver's.
func (o Options) drivers(k *KernelClock, native *bool) testbench.Drivers {
	d := o.Drivers
	if d.UserMode == nil && d.KernelMode == nil {
		d = testbench.HostDrivers()
	}
	d.UserMode = k.Wrap(withCaps(d.UserMode, func(caps uint32) uint32 {
		if o.Emulated {
			caps &^= umddi.CapsCommandLists | umddi.CapsCommandListsBuild2
		}
		*native = caps&umddi.CapsCommandListsBuild2 != 0
		return caps
	}))
	return d
}
