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
	hung     map[*byte]*device // DMA buffers with the commands of a hang
	reads    []*spoiled        // whose read may still be lost
}

// An owner is the device of a context, and the node of its work.
type owner struct {
	*device
	node uint32
}

func newSpoiler(b *bench) *spoiler {
	return &spoiler{bench: b, rand: rand.New(rand.NewPCG(b.Seed, 1<<32)), contexts: map[kmddi.HContext]owner{}, hung: map[*byte]*device{}}
}

// drivers returns d with the spoiler in the miniport.
func (s *spoiler) drivers(d testbench.Drivers) testbench.Drivers {
	entry := d.KernelMode
	d.Observed = nil
	d.KernelMode = func() kmddi.DriverInitializationData {
		table := entry()
		s.bench.judge.watch(&table)
		s.bench.claims.watch(&table)
		s.watch(&table)
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
			if o, ok := s.contexts[arg.Context]; ok && !arg.Flags.Paging {
				s.submitted(o, &arg)
				if o.bad[placeOf(&arg)] {
					copy(arg.DmaBuffer[arg.DmaBufferSubmissionStartOffset:arg.DmaBufferSubmissionEndOffset], unknownPacket[:])
				}
			}
			return st
		}
		return table
	}
	return d
}

// watch follows the devices, and the DMA buffers that get their commands.
func (s *spoiler) watch(table *kmddi.DriverInitializationData) {
	create, render, present := table.CreateDevice, table.Render, table.Present
	table.CreateDevice = func(t *ddi.Thread, h kmddi.HAdapter, dev kmddi.HDevice, arg kmddi.CreateDevice) ddi.Status {
		if p := s.bench.process(t.Process); p != nil && p.device != nil && !arg.SystemDevice {
			p.device.resets = len(s.bench.judge.resets)
		}
		return create(t, h, dev, arg)
	}
	table.Render = func(t *ddi.Thread, ctx kmddi.HContext, arg kmddi.Render) (kmddi.RenderOut, ddi.Status) {
		s.written(t.Process, arg.DmaBuffer)
		return render(t, ctx, arg)
	}
	table.Present = func(t *ddi.Thread, ctx kmddi.HContext, arg kmddi.Present) (kmddi.RenderOut, ddi.Status) {
		s.written(t.Process, arg.DmaBuffer)
		return present(t, ctx, arg)
	}
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

// submitted injects faults into a submission of a device when it is first patched. It is patched again after a
// preemption, after a fault of its node that came before it was submitted, and by a checker.
func (s *spoiler) submitted(o owner, arg *kmddi.Patch) {
	o.patched(arg)
	if !o.first(arg) {
		return
	}
	if s.hung[&arg.DmaBuffer[0]] == o.device {
		o.spoil(hang, arg, hits)
	}
	if s.bench.calm {
		return
	}
	if s.bench.Hang > 0 && s.rand.Float64() < s.bench.Hang {
		o.hangs = true
	}
	for _, i := range s.bench.Faults {
		if i.Fault != NoMemory && !(i.Fault == HostRead && s.armedReads() >= maxLostReads) && s.rand.Float64() < i.Rate {
			s.inject(i.Fault, o, arg)
		}
	}
}

// armedReads returns how many reads were lost so far, or may still be.
func (s *spoiler) armedReads() uint64 {
	s.reads = slices.DeleteFunc(s.reads, func(r *spoiled) bool { return r.over || r.hit() })
	return s.bench.injector.Counts().Reads + uint64(len(s.reads))
}

// loseRead leaves a read of a submission's commands without an answer.
func (s *spoiler) loseRead(o owner, arg *kmddi.Patch) {
	in := s.bench.injector
	from := arg.DmaBufferPhysicalAddress + uint64(arg.DmaBufferSubmissionStartOffset)
	before := in.LostReads(from)
	r := o.spoil(HostRead, arg, func() bool { return in.LostReads(from) > before })
	cancel := in.LoseRead(from, uint64(arg.DmaBufferSubmissionEndOffset-arg.DmaBufferSubmissionStartOffset))
	o.cancels = append(o.cancels, func() { r.over = !r.hit(); cancel() })
	s.reads = append(s.reads, r)
	j := s.bench.judge
	j.causes = append(j.causes, cause{HostRead, o.node, s.bench.round, r})
}

// inject injects a fault.
func (s *spoiler) inject(f Fault, o owner, arg *kmddi.Patch) {
	in, j := s.bench.injector, s.bench.judge
	node := registers(o.node)
	s.bench.note(f, o.device)
	switch f {
	case BadPacket:
		o.bad[placeOf(arg)] = true
		j.hits[f]++
		o.spoil(f, arg, hits)
		o.offend(f)
	case HostRead:
		s.loseRead(o, arg)
	case IgnorePreempt:
		in.LoseWrites(1, node+cpreg.Preempt, 0)
	case IgnoreReset:
		o.bad[placeOf(arg)] = true
		o.spoil(f, arg, hits)
		o.cancels = append(o.cancels, in.LoseWrites(lostResets, node+cpreg.Ctl, cpreg.CtlReset))
		o.offend(f)
	case LostInterrupt:
		in.LoseMessages(1)
	case Firmware:
		s.stopFirmware()
	case Unplug:
		j.hits[f]++
		j.stops(f, o.node)
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
	fault := f == BadPacket || f == HostRead || f == IgnoreReset || f == hang && b.System.Queues.Use
	stop := f == HostRead || f == IgnorePreempt || f == IgnoreReset || f == Firmware || f == Unplug
	b.sys.Injects(of, string(f), timeout, fault, stop)
}

// stopFirmware stops the microcontroller, unless the board is unplugged. The kernel is inside a
// call, so nothing here may ask it.
func (s *spoiler) stopFirmware() {
	b := s.bench
	err := b.sys.StopFirmware()
	switch {
	case err == nil:
		b.judge.hits[Firmware]++
		b.judge.stops(Firmware, 0)
	case !errors.Is(err, bus.ErrLinkDown):
		b.first(fmt.Errorf("%w: seed %d, round %d: the microcontroller cannot be stopped: %w", ErrFailed, b.Seed, b.round, err))
	}
}

// injects reports whether the run has faults of a kind.
func (s *spoiler) injects(f Fault) bool {
	return slices.ContainsFunc(s.bench.Faults, func(i Injection) bool { return i.Fault == f })
}

// registers returns the offset of the registers of a node in BAR0.
func registers(node uint32) uint64 { return cpreg.Base + uint64(node)*cpreg.Stride }

// refuses decides about an allocation of the PC's memory in a process.
func (b *bench) refuses(process uint32) bool {
	if b.calm {
		return false
	}
	for _, i := range b.Faults {
		if i.Fault == NoMemory && b.spoil.rand.Float64() < i.Rate {
			b.note(NoMemory, nil)
			b.judge.hits[NoMemory]++
			if p := b.process(process); p != nil {
				p.refused++
			}
			return true
		}
	}
	return false
}
