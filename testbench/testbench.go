// Package testbench joins a board, the PC and the graphics kernel to a pair of
// drivers and the Direct3D runtime. The drivers are a parameter.
//
// [Open] starts a [System]: it opens the board with package
// [github.com/hilgpu/hilgpu/boards], starts the PC ([github.com/hilgpu/hilgpu/runtime/hal]) and the graphics kernel
// ([github.com/hilgpu/hilgpu/runtime/dxgkrnl]), and wraps the drivers in the checks of
// [github.com/hilgpu/hilgpu/runtime/verifier]. [System.CreateDevice] returns a device of
// [github.com/hilgpu/hilgpu/runtime/d3d11]. [HostDrivers] returns the drivers of this GPU.
package testbench

import (
	"errors"
	"fmt"
	"io"
	"math"
	"sync/atomic"
	"time"

	"github.com/hilgpu/hilgpu/boards"
	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/firmware"
	"github.com/hilgpu/hilgpu/hostdriver/miniport"
	"github.com/hilgpu/hilgpu/hostdriver/umd"
	"github.com/hilgpu/hilgpu/runtime/d3d11"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmt"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
	"github.com/hilgpu/hilgpu/runtime/dxgkrnl"
	"github.com/hilgpu/hilgpu/runtime/hal"
	"github.com/hilgpu/hilgpu/runtime/verifier"
	"github.com/hilgpu/hilgpu/runtime/verifier/kmcheck"
	"github.com/hilgpu/hilgpu/testbench/eventlog"
	"github.com/hilgpu/hilgpu/testbench/events"
	"github.com/hilgpu/hilgpu/testbench/inject"
	"github.com/hilgpu/hilgpu/testbench/sanitize"
)

// ErrDevice is wrapped by errors of a device that does not start.
var ErrDevice = errors.New("testbench: the device did not start")

// ErrDrivers is wrapped by the error of Drivers without one of its entries.
var ErrDrivers = errors.New("testbench: a driver is missing")

// Drivers are the entry points of a user-mode display driver and of a display
// miniport driver.
//
//	Observed  returns the miniport driver that passes what its firmware tells to an observer;
//	          nil: the drivers have none
type Drivers struct {
	UserMode   umddi.OpenAdapterFunc
	KernelMode kmddi.DriverEntry
	Observed   func(o miniport.Observer) kmddi.DriverEntry
}

// HostDrivers returns the drivers of this GPU.
func HostDrivers() Drivers {
	return Drivers{UserMode: umd.OpenAdapter, KernelMode: miniport.DriverEntry, Observed: observed}
}

// observed returns the miniport driver with an observer of its firmware.
func observed(o miniport.Observer) kmddi.DriverEntry {
	return func() kmddi.DriverInitializationData { return miniport.WithObserver(firmware.Default(), o) }
}

// Options are optional settings of a system. The zero value works.
type Options struct {
	Board      boards.Options            // options of the connection
	HostMemory uint64                    // bytes of the PC's memory, allocated on use; 0: 4 GiB
	TdrDelay   uint64                    // clocks without progress until the GPU counts as hung; 0: 2 s, and more on a slow link
	Tdr        time.Duration             // the same as a time; 0: TdrDelay
	TdrLimit   int                       // resets of the adapter by itself within a minute; 0: 5; less than 0: no limit
	linkDelay  func(bytes uint64) uint64 // of a slow link without a given delay
	quantum    uint64                    // clocks of a turn; 0: a millisecond, and more on a slow link
	DDI        io.Writer                 // gets the verifier.Trace, a line per Write, for verifier.Merge; nil: none
	Observer   miniport.Observer         // of the firmware, if the drivers have Observed
	Hook       verifier.Hook             // sees each DDI call; nil: none

	// Lost gets why a node is about to be reset or the GPU has stopped, and the state of the
	// kernel and of the GPU then, as text. nil: it is in the error alone.
	Lost func(reason, state string)

	// Record begins the log of the run: it is called when the board is open, with the header,
	// and returns what takes the events. nil: there is no log.
	Record func(h eventlog.Header) (events.Sink, error)

	// Log gets the text of each event that the miniport logs, as dxgkrnl.Config.Log does; nil: none.
	Log func(text string)

	Seed uint64 // of the random choices of runtime and kernel: d3d11.Config, the first fences; 0: none

	Queues Queues // settings of the miniport for the queues of the firmware

	Inject *inject.Injector // faults between the PC and the board; nil: none

	Sanitize bool     // checks the GPU's accesses to memory, with the rules of rule.Access; not with NoVerify
	NoVerify bool     // leaves out the checks of the driver interfaces, for benchmarks
	Waive    []string // rules of package verifier that are counted and do not stop
	Collect  bool     // broken rules that a call can survive do not stop; see Violations

	CallLimit time.Duration // wall-clock limit of a driver's call, rule call-hang; 0: 4 TdrDelay, at least 1 minute
}

// A System is a running PC with one GPU.
type System struct {
	machine *hal.Machine
	link    bus.Link
	clock   bus.Clock
	device  *hal.Device
	kernel  *dxgkrnl.Kernel
	thread  *ddi.Thread
	drivers Drivers
	trace   *verifier.Trace
	monitor *verifier.Monitor // nil: the interfaces are not checked

	contents *verifier.Checker // nil: the same
	unwatch  func()            // stops the search for calls that hang

	recorder  *events.Recorder    // of the log, or nil
	fetches   bool                // the log has the reads of submissions
	incidents events.Link         // of the link, for the log
	sanitizer *sanitize.Sanitizer // or nil

	seed      uint64
	processes atomic.Uint32 // ids given out
}

// Open starts a system: it opens the board, enumerates it, and starts the graphics
// kernel with the miniport. Errors wrap boards.ErrSelector, an error of package
// bus, *dxgkrnl.DeviceError, ErrDrivers, rule.ErrName, a *verifier.Violation, or
// ErrDevice with the miniport's status, or ErrQueues.
//
// Unless o.NoVerify is set, both driver interfaces are checked. A driver that
// breaks a rule, bugchecks or panics stops the system, and nothing else: the call
// that runs returns, no driver is called again, every later call of the API
// returns at once, and Err returns the *verifier.Violation. With o.NoVerify a
// bugcheck or a panic of a driver is a panic of the program.
func Open(selector string, d Drivers, o Options) (*System, error) {
	if d.UserMode == nil || d.KernelMode == nil {
		return nil, fmt.Errorf("%w: want a user-mode and a kernel-mode entry", ErrDrivers)
	}
	if (o.Observer.Core != nil || o.Observer.Samples != nil) && d.Observed != nil {
		d.KernelMode = d.Observed(o.Observer)
	}
	if o.HostMemory == 0 {
		o.HostMemory = 4 << 30
	}
	s := &System{machine: hal.New(o.HostMemory), thread: new(ddi.Thread), drivers: d, seed: o.Seed}
	var err error
	if !o.NoVerify {
		now := func() uint64 { return s.clock.Now() }
		if s.monitor, err = verifier.NewMonitor(verifier.Options{Waive: o.Waive, Collect: o.Collect, Now: now, Found: s.found}); err != nil {
			return nil, err
		}
	}
	if o.Sanitize && s.monitor != nil {
		s.sanitizer = sanitize.New(s.monitor.Report, s.machine.PeekMem)
	}
	s.observeBoard(&o)
	if err = s.openBoard(selector, &o); err != nil {
		if !errors.Is(err, boards.ErrSelector) {
			s.notOpened(selector, &o)
		}
		return nil, err
	}
	s.setTimes(&o)
	if err = s.record(selector, &o); err != nil {
		return nil, errors.Join(err, s.link.Close())
	}
	s.trace = s.newTrace(o)
	o.Hook = s.hook(o.Hook)
	check := s.budgets()
	check.Configured = o.Queues.Use
	s.wrap(d, o.Hook, check)
	s.watch(o)
	if err := s.Watched(func() error { return s.start(o) }); err != nil {
		if s.hangs() {
			return nil, err // the call may still use the board
		}
		s.unwatch()
		s.link.Close() // an error of Close has the same cause
		return nil, errors.Join(err, s.traceErr())
	}
	return s, nil
}

// openBoard opens the board, and puts the injector of faults in between.
func (s *System) openBoard(selector string, o *Options) (err error) {
	if o.Inject == nil {
		s.link, s.clock, err = boards.OpenWith(selector, s.machine, o.Board)
		return err
	}
	if s.link, s.clock, err = boards.OpenWith(selector, o.Inject.Host(s.machine), o.Board); err == nil {
		s.link = o.Inject.Link(s.link)
	}
	return err
}

// budgets returns the options for the budgets of time of the miniport. They need a
// clock that is the device's, which slow links do not have.
func (s *System) budgets() kmcheck.Options {
	if _, rated := bus.As[boards.Rated](s.link); rated {
		return kmcheck.Options{}
	}
	return kmcheck.Options{Now: s.clock.Now, Hz: s.clock.Hz()}
}

// wrap puts the hooks around the drivers: the system's, and hook, which may be nil.
func (s *System) wrap(d Drivers, hook verifier.Hook, o kmcheck.Options) {
	user, kernel := hook, hook
	if m := s.monitor; m != nil {
		before := verifier.Hook(m)
		if hook != nil {
			before = verifier.Hooks(m, hook)
		}
		checker := kmcheck.New(m, o)
		d.KernelMode = checker.Driver(d.KernelMode)
		s.observeMemory(checker.DeviceWrote)
		s.contents = verifier.New(m)
		user, kernel = verifier.Hooks(before, s.contents), verifier.Hooks(before, checker)
	} else {
		s.observeMemory(nil)
	}
	if user != nil {
		s.drivers.UserMode = verifier.WrapUserMode(d.UserMode, s.monitor, user)
		s.drivers.KernelMode = verifier.WrapKernelMode(d.KernelMode, s.monitor, kernel)
	}
}

// Findings returns the violations of waived rules, and the warnings.
func (s *System) Findings() []verifier.Finding {
	if s.monitor == nil {
		return nil
	}
	return s.monitor.Findings()
}

// Violations returns the broken rules, in order: at most one, unless
// Options.Collect is set.
func (s *System) Violations() []*verifier.Violation {
	if s.monitor == nil {
		return nil
	}
	return s.monitor.Violations()
}

// guard calls f, which calls the kernel on the system's thread. It returns the
// violation that stopped the system, or the error of f.
func (s *System) guard(f func() error) error { return s.guardOn(s.thread, f) }

// guardOn is guard of a call on a thread.
func (s *System) guardOn(t *ddi.Thread, f func() error) error {
	if s.monitor == nil {
		return f()
	}
	return s.monitor.Guard(t, f)
}

func (s *System) start(o Options) error {
	var err error
	if s.device, err = s.machine.Attach(s.thread, s.link, s.clock); err != nil {
		return err
	}
	s.observeDevice()
	first, step := fences(o.Seed)
	peek, translate := s.looks()
	var said string
	log := o.Queues.listen(o.Log, &said)
	err = s.guard(func() (err error) {
		s.kernel, err = dxgkrnl.Start(s.thread, dxgkrnl.Config{
			Machine: s.machine, Device: s.device, Driver: s.drivers.KernelMode(), TdrDelay: o.TdrDelay, TdrLimit: o.TdrLimit, LinkDelay: o.linkDelay, Quantum: o.quantum,
			FirstFence: first, FenceStep: step, Report: s.report, Settings: o.Queues.settings(), Poison: s.monitor != nil, Peek: peek, Translate: translate,
			Log: log, Observe: s.observeKernel(o.Lost),
		})
		return err
	})
	if err != nil {
		return o.Queues.explain(err, said)
	}
	if s.sanitizer != nil {
		s.sanitizer.Claims(s.kernel.PreemptionCaps())
	}
	return nil
}

// fences returns the fence of the first submission to node 0, and its distance to
// that of the next node. With an odd seed the fences of all nodes wrap around soon.
// With an even one the nodes have different fences, so that a fence reported for the
// wrong node is one that the node was not given.
func fences(seed uint64) (first, step uint32) {
	switch {
	case seed == 0:
		return 0, 0
	case seed%2 == 1:
		return -uint32(1 + seed/2%8), math.MaxUint32 - 15
	}
	return uint32(1 + seed/2%1000), 1 << 30
}

// report reports a broken rule that the kernel found and survives.
func (s *System) report(t *ddi.Thread, name, function, found string, submission uint64) {
	if s.monitor != nil {
		s.monitor.Report(verifier.Report{Rule: name, Thread: t, Func: &verifier.Func{Name: function}, Text: found, Work: verifier.WorkOf(submission)})
	}
}

// CreateDevice creates a Direct3D device in a new process.
func (s *System) CreateDevice() (*d3d11.Device, *d3d11.Context, error) {
	return s.NewProcess().CreateDevice()
}

// stopped returns a function that returns the violation that stopped the system,
// or nil.
func (s *System) stopped() func() error {
	if s.monitor == nil {
		return nil
	}
	return func() error {
		if s.monitor.Stopped() {
			return s.monitor.Err()
		}
		return nil
	}
}

// UserMode returns the user-mode driver, for a runtime other than runtime/d3d11. Without
// Options.NoVerify its calls are checked.
func (s *System) UserMode() umddi.OpenAdapterFunc { return s.drivers.UserMode }

// Thunks returns the entry points of the graphics kernel, for a runtime other than
// runtime/d3d11.
func (s *System) Thunks() kmt.Thunks {
	if s.monitor == nil {
		return s.kernel.Thunks()
	}
	return verifier.WrapThunks(s.kernel.Thunks(), s.monitor)
}

// Nodes returns the number of nodes of the GPU.
func (s *System) Nodes() int { return s.kernel.Nodes() }

// Close stops the kernel and closes the board. After the system has stopped it
// only closes the board. It returns the *verifier.Violation that stopped the
// system, or the first collected one, so that no broken rule is missed. If a call
// hangs, it closes nothing.
func (s *System) Close() error {
	defer s.unwatch() // the driver may hang while it stops
	defer s.endRecord()
	if s.hangs() {
		return s.monitor.Err() // the call may still use the board
	}
	if s.sanitizer != nil && s.Err() == nil {
		s.sanitizer.Flush(s.thread)
	}
	var err error
	if s.Err() == nil {
		err = s.guard(func() error { return s.kernel.Stop(s.thread) })
	}
	if derr := s.device.Detach(s.thread); err == nil && s.Err() == nil {
		err = derr
	}
	if s.monitor.Stopped() {
		err = s.monitor.Err()
	} else if all := s.Violations(); len(all) > 0 {
		err = all[0]
	}
	if terr := s.traceErr(); terr != nil {
		err = errors.Join(err, terr)
	}
	return err
}

// traceErr returns the error of writing the trace.
func (s *System) traceErr() error {
	if s.trace == nil {
		return nil
	}
	return s.trace.Err()
}
