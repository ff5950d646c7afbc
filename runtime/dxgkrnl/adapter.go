// Package dxgkrnl is the graphics kernel: devices, contexts and allocations,
// the video memory manager (VidMm) and the GPU scheduler (VidSch) on top of a
// display miniport driver. [Kernel] serves the thunks of package
// [github.com/hilgpu/hilgpu/runtime/ddi/kmt] and calls the miniport through
// [github.com/hilgpu/hilgpu/runtime/ddi/kmddi].
//
// # Path of a command buffer
//
// Render calls DxgkDdiRender to write a DMA buffer and a patch list, which says
// where the buffer needs the address of which allocation. The buffer then enters the
// software queue of its context. When its turn has come and its node has room, VidMm
// walks the patch list in order and makes the allocations resident: it builds paging
// buffers with DxgkDdiBuildPagingBuffer that move content in and out. A DMA buffer
// whose allocations do not fit together is split at a SplitOffset of the list. A
// portion keeps the places of its allocations until it is submitted. The scheduler
// calls DxgkDdiPatch with the addresses, then DxgkDdiSubmitCommand with the paging
// buffers and with the portion, each with a fence ID. Paging buffers for another node
// are submitted before, and the portion is patched when they have completed. The
// miniport's interrupt routine reports fences with NotifyInterrupt, which only records
// them. NotifyDpc in the DPC retires buffers and submits waiting paging buffers; DMA
// buffers follow at PASSIVE_LEVEL, on the thread that is in the kernel. Patch is not
// called for paging buffers, whose addresses are final when they are built.
//
// # Order
//
// Submissions to one node run in order, and those of a context in the order of their
// rendering. A node takes next the work of the context with the highest priority.
// Contexts of one priority take turns of a quantum each. The priority of work rises
// while it waits, and is at least that of the work that waits for it. A submission
// that depends on another node waits until the fences of its dependencies are
// reported: the paging buffers that move its allocations in, the last write to each
// allocation it uses, and every use of each allocation it writes. A submission never
// depends on a later one.
//
// # Time-outs
//
// TdrDelay after the last progress of a node that has work, the kernel delivers the
// interrupts that have arrived, and calls DxgkDdiQueryCurrentFence, which recovers a lost
// interrupt. If there was no progress, the node is asked to stop. If that does not help, it
// is reset with DxgkDdiResetEngine: the device of its work is lost, Lost returns the reason,
// and everything else goes on. A fault is handled alike. The adapter is stopped, and Err
// returns the reason, if the miniport does not claim these functions or they fail.
//
// # A stopped adapter
//
// A link failure stops the adapter, and so does a fault or a time-out that no reset of a
// node ends: every wait ends, and
// every thunk that needs the GPU returns StatusDeviceRemoved, or
// StatusIODeviceError after a link failure. A link failure is noticed by the
// first access that fails, at the latest at the end of the thunk. Memory that
// the GPU may have used is kept as long as the GPU may write to it. The adapter is
// reset, and its link begins again, when somebody next creates a device or asks for the
// adapter. After that new devices work; earlier devices remain removed.
//
// # Threads
//
// One thread at a time is inside the kernel. While it waits there, others enter or go
// on, so that several processes make progress at once. The thunks of one device do
// not overlap, and one thread at a time places allocations. Kernel.Run runs threads
// in an order that a seed gives. Interrupts and DPCs are delivered on the thread that
// is inside, within any access to the device. An interrupt that arrives while no
// thread is inside is delivered at the beginning of the next thunk.
package dxgkrnl

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
	"github.com/hilgpu/hilgpu/runtime/hal"
)

// Defaults of Config.
const (
	defaultTdrSeconds    = 2
	defaultTdrDDISeconds = 5
	defaultTdrLimit      = 5
	defaultTdrWindow     = 60 // seconds
	defaultDMABuffers    = 4
)

// maxNodes is the maximum number of nodes.
const maxNodes = 64

// DefaultTdrDelay returns the TdrDelay of a device whose clock has hz ticks in a second: two seconds.
func DefaultTdrDelay(hz uint64) uint64 { return defaultTdrSeconds * hz }

// ErrStart is wrapped by errors of Start that are not a status of the miniport.
var ErrStart = errors.New("dxgkrnl: adapter not usable")

// Config holds the parameters of Start.
type Config struct {
	Machine *hal.Machine
	Device  *hal.Device
	Driver  kmddi.DriverInitializationData

	TdrDelay   uint64                    // ticks without progress until the GPU counts as hung; 0: DefaultTdrDelay
	TdrDDI     uint64                    // TdrDdiDelay: ticks that a function may take which resets the GPU; 0: five seconds
	TdrLimit   int                       // TdrLimitCount: how often the adapter may reset itself in TdrWindow; 0: 5; less than 0: always
	TdrWindow  uint64                    // TdrLimitTime, in ticks; 0: sixty seconds
	LinkDelay  func(bytes uint64) uint64 // ticks that a slow link takes for them, at its rate of the moment; nil: none
	DMABuffers int                       // number of DMA buffers per context; 0: 4
	Quantum    uint64                    // ticks of a node that a context gets in a turn; 0: a millisecond
	FirstFence uint32                    // fence ID of the first submission to node 0; 0: 1
	FenceStep  uint32                    // added for each further node, modulo 2^32

	Settings []kmddi.Setting // of the driver, in its DeviceInfo

	Poison bool // checks the memory that is lent to the miniport, see lent

	// Peek reads memory of the device of a BAR without an access to it, for checks
	// that take no time. It returns false if it cannot. nil: these checks are left out.
	Peek func(bar int, off uint64, p []byte) bool

	// Translate returns the page of host memory that an access of the GPU to an address of an
	// aperture segment uses now, for checks that take no time. mapped is false if the access would
	// fault, and known if it cannot tell. nil: these checks are left out.
	Translate func(addr uint64) (page uint64, mapped, known bool)

	// Report gets broken rules of package rule that the kernel survives: the thread,
	// the rule, the function, what was found, and the number of the submission that it is
	// about, or 0. nil: they are not reported.
	Report func(t *ddi.Thread, name, function, found string, submission uint64)

	// Log gets the text of each event that the miniport logs, at most 65535 bytes. It may be
	// called at any level. nil: events are dropped.
	Log func(text string)

	// Observe gets each step of the kernel's work, on the thread that is in the kernel. It
	// must not call the kernel. nil: none.
	Observe func(t *ddi.Thread, e Event)
}

// A Kernel is the graphics kernel of one adapter.
type Kernel struct {
	machine    *hal.Machine
	dev        *hal.Device
	driver     kmddi.DriverInitializationData
	tdrTicks   uint64 // without the link's
	tdrDDI     uint64 // without the link's
	tdrLimit   int
	tdrWindow  uint64
	linkDelay  func(bytes uint64) uint64
	largest    uint64 // span of the largest allocation so far
	dmaBuffers int
	firstFence uint32
	fenceStep  uint32
	poison     bool
	settings   []kmddi.Setting
	report     func(t *ddi.Thread, name, function, found string, submission uint64)
	log        func(text string)
	peek       func(bar int, off uint64, p []byte) bool
	translate  func(addr uint64) (page uint64, mapped, known bool)
	remaps     uint64 // MAP and UNMAP operations, and parts of them
	peeked     []byte
	observer   func(t *ddi.Thread, e Event)

	gate    gate
	thread  *ddi.Thread // that is inside
	visits  int         // threads that are inside or wait there
	closing bool        // Stop has begun
	moving  bool        // a thread places allocations
	lost    []*device   // devices that were lost meanwhile

	cancelled []*submission // preempted, and to be cancelled at PASSIVE_LEVEL
	pins      int           // allocations that are pinned
	resets    uint64        // times that a reset of the adapter has begun
	itself    []uint64      // times at which the adapter reset itself, the last tdrLimit
	byHand    bool          // such a reset has failed, and only Recover tries again
	serial    uint64        // fences given so far
	jobs      uint64        // DMA buffers queued so far
	able      []*context    // contexts that have work, see rank
	picked    []*context    // candidates, reused
	quantum   uint64        // ticks

	adapter   kmddi.HAdapter
	cb        *kmddi.DxgkrnlInterface
	caps      kmddi.DriverCaps
	nodes     []node
	segments  []*segment // indexed by id-1
	paging    pager
	handles   table
	devices   []*device     // in order of creation, the kernel's own device first
	destroyed []*allocation // destroyed, but in use when last checked
	held      []hal.Pages   // kept because a stopped GPU may use them
	spare     []*submission

	dummy    hal.Pages // if there is an aperture segment
	mappings []*mapping
	memory   []hal.Pages // allocated by AllocateContiguousMemory
	written  written
	running  bool // between StartDevice and StopDevice, except during a reset
	notified bool // NotifyInterrupt called in this InterruptRoutine, but not yet QueueDpc
	inISR    bool

	scheduling bool // a function of the GPU scheduler class runs
	dpcDone    bool // NotifyDpc called in this DpcRoutine
	err        *DeviceError
	access     error     // the first failed access of the miniport
	crashed    *Bugcheck // the miniport must not be called; nil: it works
	stopped    bool      // by Stop
	epoch      uint64
	shares     []share // of the segment that account has last looked at
	budget     uint64  // of each of them, in bytes
	needy      uint32  // the process for which account has looked at it, or noProcess
	modest     bool    // no process may take memory of one within its budget
	clock      uint64  // counter of allocation uses, for LRU
	stats      Stats
	calm       hal.Stats // of the device at the last progress of a node
}

// Start starts the miniport on a device and the kernel on the miniport.
//
//	DDI     DxgkDdiAddDevice, DxgkDdiStartDevice, DxgkDdiQueryAdapterInfo
//	        (DRIVERCAPS, QUERYSEGMENT), DxgkDdiCreateDevice of the system device
//	Caller  at PASSIVE_LEVEL
//	Effect  connects the interrupt. On an error everything is undone, in
//	        reverse order
//	Returns an error that wraps the miniport's ddi.Status and the error of the
//	        first failed access to the device, or ErrStart if the table lacks
//	        a function or the capabilities are invalid
func Start(t *ddi.Thread, cfg Config) (*Kernel, error) {
	if cfg.TdrDelay == 0 {
		cfg.TdrDelay = DefaultTdrDelay(cfg.Device.Hz())
	}
	cfg.TdrDDI = cmp.Or(cfg.TdrDDI, defaultTdrDDISeconds*cfg.Device.Hz())
	cfg.TdrLimit = cmp.Or(cfg.TdrLimit, defaultTdrLimit)
	cfg.TdrWindow = cmp.Or(cfg.TdrWindow, defaultTdrWindow*cfg.Device.Hz())
	if cfg.LinkDelay == nil {
		cfg.LinkDelay = func(uint64) uint64 { return 0 }
	}
	if cfg.DMABuffers <= 0 {
		cfg.DMABuffers = defaultDMABuffers
	}
	if cfg.Quantum == 0 {
		cfg.Quantum = max(cfg.Device.Hz()/quantumsPerSecond, 1)
	}
	if cfg.FirstFence == 0 {
		cfg.FirstFence = 1
	}
	k := &Kernel{
		machine: cfg.Machine, dev: cfg.Device, driver: cfg.Driver,
		tdrTicks: cfg.TdrDelay, tdrDDI: cfg.TdrDDI, tdrLimit: cfg.TdrLimit, tdrWindow: cfg.TdrWindow, linkDelay: cfg.LinkDelay, dmaBuffers: cfg.DMABuffers, quantum: cfg.Quantum, firstFence: cfg.FirstFence, fenceStep: cfg.FenceStep,
		settings: cfg.Settings, poison: cfg.Poison, report: cfg.Report, log: cfg.Log, peek: cfg.Peek, translate: cfg.Translate,
		observer: cfg.Observe, thread: t,
		adapter: kmddi.HAdapter{Root: new(ddi.Root)},
	}
	if k.report == nil {
		k.report = func(*ddi.Thread, string, string, string, uint64) {}
	}
	if found := checkTable(&k.driver); k.broken(t, "miniport-table", "DriverEntry", found) {
		return nil, fmt.Errorf("%w: %s", ErrStart, found)
	}
	k.cb = k.callbacks()
	k.gate.free.L = &k.gate.mu
	v := k.enter(t)
	defer k.leave(t, &v)
	if err := k.start(t); err != nil {
		if k.access != nil {
			err = fmt.Errorf("%w: %w", err, k.access)
		}
		return nil, err
	}
	return k, nil
}

// start performs the steps of Start.
func (k *Kernel) start(t *ddi.Thread) error {
	if s := k.driver.AddDevice(t, k.adapter); s.Failed() {
		return fmt.Errorf("dxgkrnl: DxgkDdiAddDevice: %w", s)
	}
	k.dev.SetInterrupt(k.interrupt, k.deferred)
	if _, s := k.driver.StartDevice(t, k.adapter, kmddi.StartInfo{AdapterLUID: 1}, k.cb); s.Failed() {
		k.remove(t)
		return fmt.Errorf("dxgkrnl: DxgkDdiStartDevice: %w", s)
	}
	err := k.query(t)
	if err == nil {
		k.running = true
		var s ddi.Status
		if _, s = k.newDevice(t, true); s.Failed() {
			err = fmt.Errorf("dxgkrnl: DxgkDdiCreateDevice: %w", s)
		}
	}
	if err != nil {
		k.running = false
		k.driver.StopDevice(t, k.adapter)
		k.freeDummy()
		k.remove(t)
	}
	return err
}

// remove disconnects the interrupt and removes the miniport's device, which has
// been stopped. It frees the mappings and memory that the device still holds.
func (k *Kernel) remove(t *ddi.Thread) ddi.Status {
	k.dev.SetInterrupt(nil, nil)
	s := k.driver.RemoveDevice(t, k.adapter)
	k.reclaim()
	return s
}

// Stop destroys all remaining devices, waits until the GPU is idle and stops
// the miniport. After a DeviceError it does not wait; after a Bugcheck it only
// disconnects the interrupt. Further calls do nothing. After Stop every thunk
// returns StatusDeviceRemoved.
//
//	DDI     DxgkDdiStopDevice, DxgkDdiRemoveDevice
//	Caller  at PASSIVE_LEVEL
//	Returns an error that wraps the miniport's ddi.Status, or the *DeviceError
//	        that ended the wait
func (k *Kernel) Stop(t *ddi.Thread) error {
	v := k.enter(t)
	defer k.leave(t, &v)
	if k.closing {
		return nil
	}
	k.closing = true
	k.alone(t)
	if k.crashed != nil {
		k.stopped = true
		k.dev.SetInterrupt(nil, nil)
		return nil
	}
	was := k.err
	k.dev.Deliver(t)
	k.drain(t)
	for i := len(k.devices) - 1; i >= 0; i-- {
		k.destroyDevice(t, k.devices[i])
	}
	k.stopped, k.running = true, false
	s := k.driver.StopDevice(t, k.adapter)
	k.paging.release(k)
	k.releaseHeld()
	k.freeDummy()
	if r := k.remove(t); !s.Failed() {
		s = r
	}
	if k.err != nil && was == nil {
		return k.err
	}
	if s.Failed() {
		return fmt.Errorf("dxgkrnl: DxgkDdiStopDevice, DxgkDdiRemoveDevice: %w", s)
	}
	return nil
}

// Nodes returns the number of nodes reported by the miniport.
func (k *Kernel) Nodes() int { return len(k.nodes) }

// begin starts a thunk: it delivers pending interrupts and destroys idle
// allocations. It fails if the GPU has stopped.
func (k *Kernel) begin(t *ddi.Thread) ddi.Status {
	if k.closing || k.crashed != nil {
		return ddi.StatusDeviceRemoved
	}
	k.dev.Deliver(t)
	k.reap(t)
	k.work(t)
	return k.status(t)
}

// status fails if the GPU has stopped, for example because an access found the
// link down.
func (k *Kernel) status(t *ddi.Thread) ddi.Status {
	if k.err == nil {
		if err := k.dev.Down(); err != nil {
			k.stopLink(t, err)
		}
	}
	if k.err != nil {
		return k.err.status()
	}
	return ddi.StatusSuccess
}
