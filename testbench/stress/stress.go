// Package stress runs many processes on one GPU under pressure: with devices and contexts of
// all priorities, command lists, queries, maps and presents, with more resources than VRAM
// holds, and with injected hangs and faults. The kernel draws to the same textures.
//
// Each process calls the API and the model of package
// [github.com/hilgpu/hilgpu/testbench/model], and compares each presented frame, and one of its
// resources, with what the model has. Only a device whose own work was made to fail may be
// lost, unless a fault hits all of them, such as a reset of the adapter. The process then goes
// on with a new device. At the end no memory of the PC may be left.
//
// One seed gives one run on a board in virtual time.
package stress

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hilgpu/hilgpu/runtime/verifier"
	"github.com/hilgpu/hilgpu/testbench"
)

// ErrInput is wrapped by the errors of Options that are invalid, or that the board cannot run.
var ErrInput = errors.New("stress: invalid options")

// ErrFailed is wrapped by the error of a run in which something went wrong.
var ErrFailed = errors.New("stress: failed")

// ErrLink is wrapped by the error of a run whose link to the board has failed, unless the run itself injects Unplug. It also
// wraps the error of the link.
var ErrLink = errors.New("stress: the link to the board failed")

// Limits of Options.
const (
	MaxProcesses = 64
	MaxContexts  = 8
	MaxPressure  = 16
)

// Options configure a run.
type Options struct {
	Board   string
	Drivers testbench.Drivers
	System  testbench.Options // without Inject, Seed and TdrLimit, which Run sets

	Processes int           // 1 to 64
	Contexts  int           // of the kernel that submissions of a device go to, 1 to 8; 0: 1
	Seed      uint64        // of everything that is random
	Rounds    int           // number of rounds, before the last one without injections; 0: until Time has passed
	Time      time.Duration // begins no new round after it; 0: no limit
	Frames    int           // of each process in a round, at least 1
	Hang      float64       // probability that a submission is followed by one that does not end in time, 0 to 1
	Pressure  float64       // bytes of all resources over those of VRAM, more than 0 to 16
	Faults    []Injection

	KernelDraws bool // the kernel draws to textures, too; DxgkDdiRenderKm must take those

	Progress func(Round) error // is called after each round, and may end the run; nil: it is not called
	Step     func(Step)        // is called before each round and after each frame; nil: it is not called
	Failed   func(error)       // gets the first failure before the system is closed; nil: nothing does

	Findings func([]verifier.Finding) // gets the findings of the verifier at the end; nil: nothing does
}

// check returns what is wrong with the options.
func (o *Options) check() error {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("%w: %s", ErrInput, fmt.Sprintf(format, args...))
	}
	tdr, least, hz := o.timeOut()
	switch {
	case o.Processes < 1 || o.Processes > MaxProcesses:
		return bad("%d processes, want 1 to %d", o.Processes, MaxProcesses)
	case o.Contexts < 0 || o.Contexts > MaxContexts:
		return bad("%d contexts, want 1 to %d", o.Contexts, MaxContexts)
	case o.Frames < 1:
		return bad("%d frames, want at least 1", o.Frames)
	case o.Rounds < 0:
		return bad("%d rounds (--rounds), want at least 0", o.Rounds)
	case o.Time < 0:
		return bad("a time (--time) of %v, want at least 0", o.Time)
	case o.Rounds == 0 && o.Time == 0:
		return bad("0 rounds and no time, want --rounds or --time")
	case !(o.Hang >= 0 && o.Hang <= 1):
		return bad("a hang rate of %v, want 0 to 1", o.Hang)
	case o.Hang > 0 && !inClocks(o.Board) && o.System.Tdr == 0 && o.System.TdrDelay == 0:
		return bad("hangs on the board %s, want a time-out of the GPU (--tdr-delay), since its default of seconds is too long for them", o.Board)
	case tdr < least:
		return bad("a time-out (--tdr-delay) of %s on the board %s, want at least %s, since paging buffers take nearly as long", o.timeText(tdr, hz), o.Board, atLeast(least, hz))
	case o.Hang > 0 && tdr > mostTimeOut:
		return bad("hangs and a time-out (--tdr-delay) of %s, want at most %s, since the emulator needs minutes for it", o.timeText(tdr, hz), atMost(mostTimeOut, hz))
	case strings.Contains(o.Board, "cut="):
		return bad("the board %s, whose line is cut; %s pulls the board out", o.Board, Unplug)
	case !(o.Pressure > 0 && o.Pressure <= MaxPressure):
		return bad("a pressure of %v, want more than 0 to %d", o.Pressure, MaxPressure)
	}
	for _, i := range o.Faults {
		if i.Fault == Firmware && !o.System.Queues.Use {
			return bad("the fault %s, which needs --firmware-queues", i.Fault)
		}
		if (i.Fault == IgnorePreempt || i.Fault == IgnoreReset) && o.System.Queues.Use {
			return bad("the fault %s with --firmware-queues, where the firmware stops and resets the nodes itself", i.Fault)
		}
		if !(i.Rate >= 0 && i.Rate <= 1) {
			return bad("a rate of %v of %s, want 0 to 1", i.Rate, i.Fault)
		}
	}
	return nil
}

// Totals are the counts of a run.
type Totals struct {
	Frames   uint64           `json:"frames"`   // that were presented, and compared
	Checked  uint64           `json:"checked"`  // bytes that were compared
	Drawn    uint64           `json:"drawn"`    // rectangles that the kernel drew
	Hangs    uint64           `json:"hangs"`    // submissions made to hang
	Injected map[Fault]uint64 `json:"injected"` // faults that have hit
	Guilty   uint64           `json:"guilty"`   // devices lost for their own work
	Others   uint64           `json:"others"`   // devices lost by a fault that hits all
	Refused  uint64           `json:"refused"`  // devices given up for want of memory
}

// A Round is the state after a round, with the counts since the beginning.
type Round struct {
	Seed  uint64 `json:"seed"`
	Round int    `json:"round"` // from 1; 0: the one before it, which has failed
	Totals
	testbench.Stats
	Digest string `json:"digest"` // hash of all frames, losses and counts so far that each board reports
}

// Run runs the processes. The last round is without injections, and the state after it is the
// result. Errors wrap ErrInput, ErrFailed or ErrLink, or are those of testbench.Open or a broken rule of
// a driver.
func Run(o Options) (last Round, err error) {
	if err := o.check(); err != nil {
		return last, err
	}
	b, err := open(o)
	if err != nil {
		return last, err
	}
	rounds := make(chan Round, 1)
	err = b.sys.Watched(func() error {
		err := b.run()
		if err == nil {
			err = b.settle()
		}
		b.tell(err)
		if b.Findings != nil {
			b.Findings(b.sys.Findings())
		}
		rounds <- b.state()
		if cerr := b.sys.Close(); err == nil {
			err = cerr
		}
		return err
	})
	select {
	case last = <-rounds:
	default: // a call hangs
	}
	return last, err
}
