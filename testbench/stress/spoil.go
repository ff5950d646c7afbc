package stress

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
	"github.com/hilgpu/hilgpu/testbench"
)

// unknownPacket is a header with an opcode that does not exist.
var unknownPacket = [4]byte{1, 0, 0, 0x7e}

// maxLostReads is how many reads of a run get no answer. The GPU retires the tag of each, and has
// as many spare tags (docs/registers.md, ID.READ_TIMEOUT).
const maxLostReads = 4

// lostResets is how many writes that reset a node are lost. The driver may repeat one.
const lostResets = 16

// A spoiler decides for each submission whether it gets a fault.
type spoiler struct {
	bench    *bench
	rand     *rand.Rand
	contexts map[kmddi.HContext]owner
	last     patched
	stops    uint64 // faults so far that may stop the adapter
	memory   uint64 // refused allocations
}

// An owner is the device of a context, and the node of its work.
type owner struct {
	*device
	node uint32
}

// patched is a submission. A checker may have it patched twice.
type patched struct {
	context kmddi.HContext
	fence   uint32
	bad     bool // it got a packet that does not exist
}

func newSpoiler(b *bench) *spoiler {
	return &spoiler{bench: b, rand: rand.New(rand.NewPCG(b.Seed, 1<<32)), contexts: map[kmddi.HContext]owner{}}
}

// drivers returns d with the spoiler in the miniport.
func (s *spoiler) drivers(d testbench.Drivers) testbench.Drivers {
	entry := d.KernelMode
	d.Observed = nil
	d.KernelMode = func() kmddi.DriverInitializationData {
		table := entry()
		create, destroy, patch := table.CreateContext, table.DestroyContext, table.Patch
		table.CreateContext = func(t *ddi.Thread, dev kmddi.HDevice, ctx kmddi.HContext, arg kmddi.CreateContext) (kmddi.ContextInfo, ddi.Status) {
			if p := s.bench.process(t.Process); p != nil && !arg.SystemContext {
				s.contexts[ctx] = owner{p.device, arg.NodeOrdinal}
			}
			return create(t, dev, ctx, arg)
		}
		table.DestroyContext = func(t *ddi.Thread, ctx kmddi.HContext) ddi.Status {
			delete(s.contexts, ctx)
			return destroy(t, ctx)
		}
		table.Patch = func(t *ddi.Thread, h kmddi.HAdapter, arg kmddi.Patch) ddi.Status {
			st := patch(t, h, arg)
			if o, ok := s.contexts[arg.Context]; ok && !arg.Flags.Paging && !arg.Flags.Resubmission && !s.bench.calm {
				if s.last.context != arg.Context || s.last.fence != arg.SubmissionFenceID {
					s.last = patched{arg.Context, arg.SubmissionFenceID, false}
					s.submitted(o, arg)
				}
				if s.last.bad {
					copy(arg.DmaBuffer[arg.DmaBufferSubmissionStartOffset:arg.DmaBufferSubmissionEndOffset], unknownPacket[:])
				}
			}
			return st
		}
		return table
	}
	return d
}

// process returns the process with an ID, or nil.
func (b *bench) process(id uint32) *process {
	for _, p := range b.processes {
		if p.system.ID() == id {
			return p
		}
	}
	return nil
}

// submitted injects faults into a submission of a device.
func (s *spoiler) submitted(o owner, arg kmddi.Patch) {
	for _, i := range s.bench.Faults {
		if i.Fault == HostRead && s.bench.totals.Injected[HostRead] == maxLostReads {
			continue
		}
		if i.Fault != NoMemory && s.rand.Float64() < i.Rate {
			s.bench.totals.Injected[i.Fault]++
			s.inject(i.Fault, o, arg)
		}
	}
}

// inject injects a fault.
func (s *spoiler) inject(f Fault, o owner, arg kmddi.Patch) {
	from, to := uint64(arg.DmaBufferSubmissionStartOffset), uint64(arg.DmaBufferSubmissionEndOffset)
	in := s.bench.injector
	node := registers(o.node)
	s.bench.note(f, o.device)
	switch f {
	case BadPacket:
		s.last.bad = true
		o.offend(f)
	case HostRead:
		o.cancels = append(o.cancels, in.LoseRead(arg.DmaBufferPhysicalAddress+from, to-from))
		s.stops++
		o.offend(f)
	case IgnorePreempt:
		in.LoseWrites(1, node+cpreg.Preempt, 0)
	case IgnoreReset:
		s.last.bad = true
		s.stops++
		o.cancels = append(o.cancels, in.LoseWrites(lostResets, node+cpreg.Ctl, cpreg.CtlReset))
		o.offend(f)
	case LostInterrupt:
		in.LoseMessages(1)
	case Firmware:
		s.stops++
		s.stopFirmware()
	case Unplug:
		s.stops++
		in.Unplug()
	}
}

// note notes in the log that work of a device gets a fault, and how that may end.
func (b *bench) note(f Fault, d *device) {
	of := ddi.KMHandle(0)
	switch f {
	case hang, BadPacket, HostRead, IgnoreReset:
		of = d.spread.device
	}
	timeout := f == hang || f == HostRead || f == IgnorePreempt
	fault := f == BadPacket || f == HostRead || f == IgnoreReset
	stop := f == HostRead || f == IgnorePreempt || f == IgnoreReset || f == Firmware || f == Unplug
	b.sys.Injects(of, string(f), timeout, fault, stop)
}

// stopFirmware stops the microcontroller, unless the board is unplugged. The kernel is inside a
// call, so nothing here may ask it.
func (s *spoiler) stopFirmware() {
	b := s.bench
	if err := b.sys.StopFirmware(); err != nil && !errors.Is(err, bus.ErrLinkDown) && b.failed == nil {
		b.failed = fmt.Errorf("%w: seed %d, round %d: the microcontroller cannot be stopped: %w", ErrFailed, b.Seed, b.round, err)
	}
}

// injects reports whether the run has faults of a kind.
func (s *spoiler) injects(f Fault) bool {
	return slices.ContainsFunc(s.bench.Faults, func(i Injection) bool { return i.Fault == f })
}

// registers returns the offset of the registers of a node in BAR0.
func registers(node uint32) uint64 { return cpreg.Base + uint64(node)*cpreg.Stride }

// lostPreempts returns the number of requests to preempt that were lost so far.
func (s *spoiler) lostPreempts() (n uint64) {
	for node := range uint32(s.bench.sys.Nodes()) {
		n += s.bench.injector.LostWrites(registers(node) + cpreg.Preempt)
	}
	return n
}

// check returns an error if the adapter has stopped more often than faults explain.
func (s *spoiler) check() error {
	n := s.bench.sys.Stats().Recoveries
	if s.bench.sys.Err() != nil {
		n++
	}
	// A node that loses a paging buffer, since it did not see a PREEMPT, stops the adapter.
	if may := s.stops + s.lostPreempts(); n > may {
		return fmt.Errorf("the adapter has stopped %d times, after %d faults that may do that", n, may)
	}
	return nil
}

// refuses decides about an allocation of the PC's memory.
func (b *bench) refuses(int) bool {
	if b.calm {
		return false
	}
	for _, i := range b.Faults {
		if i.Fault == NoMemory && b.spoil.rand.Float64() < i.Rate {
			b.totals.Injected[NoMemory]++
			b.spoil.memory++
			b.note(NoMemory, nil)
			return true
		}
	}
	return false
}
