package testbench

import (
	"cmp"
	"encoding/binary"
	"flag"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/gartreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
	"github.com/hilgpu/hilgpu/runtime/dxgkrnl"
	"github.com/hilgpu/hilgpu/testbench/events/eventstest"
	"github.com/hilgpu/hilgpu/testbench/inject"
)

// hangs is how often TestHangsAreRecovered injects a hang of each kind. "make soak" does 1,000.
var hangs = flag.Int("recovery.hangs", 5, "injected hangs of each kind")

// A spoiler spoils a submission of the device that was created last, once it is armed. It sees
// what the miniport is told and tells, so it knows what work of other devices has not ended.
//
//	spoil   spoils what DxgkDdiPatch has patched; nil: nothing does
//	system  set when it is open
//	heal    is called before DxgkDdiResetEngine; nil: nothing is
//	again   spoils work of other devices that is submitted again; nil: nothing does
//	buffer  address of the DMA buffer of what was spoiled; 0: all of the device
//	fences  that submissions of it have had
//	others  fences of other devices in the hardware, by node, except those that have been reported
//	ahead   of node 0, what it had not completed when it got the spoiled work
//	nodes   that have had submissions of it
//	beside  the most that was unfinished when one of nodes was stopped or reset
type spoiler struct {
	spoil  func(arg kmddi.Patch)
	heal   func()
	again  func(arg kmddi.Patch)
	system *System
	device kmddi.HDevice
	owners map[kmddi.HContext]kmddi.HDevice
	armed  bool
	buffer uint64
	fences []uint32
	nodes  map[uint32]bool
	others map[uint32][]uint32
	ahead  int
	beside int
}

// drivers returns the drivers of this GPU with the spoiler in the miniport.
func (s *spoiler) drivers() Drivers {
	return withKernel(func(d *kmddi.DriverInitializationData) {
		s.owners, s.others, s.nodes = map[kmddi.HContext]kmddi.HDevice{}, map[uint32][]uint32{}, map[uint32]bool{}
		create, patch, reset := d.CreateContext, d.Patch, d.ResetEngine
		d.CreateContext = func(t *ddi.Thread, dev kmddi.HDevice, ctx kmddi.HContext, arg kmddi.CreateContext) (kmddi.ContextInfo, ddi.Status) {
			s.device = dev
			s.owners[ctx] = dev
			return create(t, dev, ctx, arg)
		}
		destroy := d.DestroyContext
		d.DestroyContext = func(t *ddi.Thread, ctx kmddi.HContext) ddi.Status {
			delete(s.owners, ctx)
			return destroy(t, ctx)
		}
		d.Patch = func(t *ddi.Thread, h kmddi.HAdapter, arg kmddi.Patch) ddi.Status {
			st := patch(t, h, arg)
			s.patched(arg)
			return st
		}
		d.ResetEngine = func(t *ddi.Thread, h kmddi.HAdapter, arg kmddi.ResetEngine) (kmddi.ResetEngineOut, ddi.Status) {
			s.stopped(arg.NodeOrdinal)
			if s.heal != nil {
				s.heal()
			}
			return reset(t, h, arg)
		}
		s.listen(d)
	})
}

// listen notes which fences of other devices have completed, or were stopped and go on with another one.
func (s *spoiler) listen(d *kmddi.DriverInitializationData) {
	start := d.StartDevice
	d.StartDevice = func(t *ddi.Thread, h kmddi.HAdapter, info kmddi.StartInfo, cb *kmddi.DxgkrnlInterface) (kmddi.StartDeviceOut, ddi.Status) {
		mine := *cb
		mine.NotifyInterrupt = func(t *ddi.Thread, h kmddi.HDxgkrnl, arg kmddi.NotifyInterrupt) {
			switch arg.InterruptType {
			case kmddi.InterruptDMACompleted:
				s.others[arg.NodeOrdinal] = after(s.others[arg.NodeOrdinal], arg.FenceID)
			case kmddi.InterruptDMAPreempted:
				s.others[arg.NodeOrdinal] = after(s.others[arg.NodeOrdinal], arg.LastCompletedFenceID)
				s.stopped(arg.NodeOrdinal)
			}
			cb.NotifyInterrupt(t, h, arg)
		}
		return start(t, h, info, &mine)
	}
	query := d.QueryCurrentFence
	d.QueryCurrentFence = func(t *ddi.Thread, h kmddi.HAdapter, arg kmddi.QueryCurrentFence) (kmddi.QueryCurrentFenceOut, ddi.Status) {
		out, st := query(t, h, arg)
		s.others[arg.NodeOrdinal] = after(s.others[arg.NodeOrdinal], out.CurrentFence)
		return out, st
	}
}

// stopped notes what a node has not completed that stops. The kernel submits it again.
func (s *spoiler) stopped(node uint32) {
	if s.nodes[node] {
		s.beside = max(s.beside, len(s.others[0])+len(s.others[1]))
	}
	s.others[node] = nil
}

// Unfinished work counts when a node with the spoiled work stops, and not at a stop of the other node.
func TestSpoilerCountsAtItsNode(t *testing.T) {
	const buffer = 0x1000
	guilty, other := kmddi.HDevice{Root: new(ddi.Root)}, kmddi.HDevice{Root: new(ddi.Root)}
	of, others := kmddi.HContext{Root: new(ddi.Root)}, kmddi.HContext{Root: new(ddi.Root)}
	for _, spoil := range []func(kmddi.Patch){nil, func(kmddi.Patch) {}} {
		s := &spoiler{
			device: guilty, spoil: spoil, owners: map[kmddi.HContext]kmddi.HDevice{of: guilty, others: other},
			others: map[uint32][]uint32{}, nodes: map[uint32]bool{},
		}
		if spoil != nil {
			s.buffer = buffer // it was spoiled
		}
		s.patched(kmddi.Patch{Context: others, NodeOrdinal: 0, SubmissionFenceID: 5})
		s.patched(kmddi.Patch{Context: others, NodeOrdinal: 1, SubmissionFenceID: 6})
		s.patched(kmddi.Patch{Context: of, NodeOrdinal: 0, SubmissionFenceID: 7, DmaBufferPhysicalAddress: buffer})
		s.stopped(1)
		assert.Zero(t, s.beside)
		s.patched(kmddi.Patch{Context: others, NodeOrdinal: 1, SubmissionFenceID: 8})
		s.stopped(0)
		assert.Equal(t, 2, s.beside, "fences 5 and 8")
	}
}

// after returns the fences that are after one.
func after(fences []uint32, last uint32) []uint32 {
	return slices.DeleteFunc(fences, func(f uint32) bool { return int32(f-last) <= 0 })
}

// patched notes a submission, and spoils it if it is the one.
func (s *spoiler) patched(arg kmddi.Patch) {
	if s.owners[arg.Context] != s.device {
		if s.again != nil && arg.Flags.Resubmission {
			s.again(arg)
		}
		s.others[arg.NodeOrdinal] = append(s.others[arg.NodeOrdinal], arg.SubmissionFenceID)
		return
	}
	if s.armed && !arg.Flags.Resubmission {
		s.armed, s.buffer = false, arg.DmaBufferPhysicalAddress
		s.ahead = s.unfinished()
		s.spoil(arg)
	}
	if s.buffer == 0 && s.spoil == nil || s.buffer == arg.DmaBufferPhysicalAddress {
		s.fences = append(s.fences, arg.SubmissionFenceID)
		s.nodes[arg.NodeOrdinal] = true
	}
}

// unfinished returns how many submissions of other devices are in node 0 that it has not
// completed now, by its register FENCE.
func (s *spoiler) unfinished() int {
	p := make([]byte, 4)
	if err := s.system.link.Read(0, cpreg.Base+cpreg.Fence, p); err != nil {
		return 0
	}
	return len(after(slices.Clone(s.others[0]), binary.LittleEndian.Uint32(p)))
}

// unknownPacket makes a submission begin with a packet that does not exist.
func unknownPacket(arg kmddi.Patch) {
	copy(arg.DmaBuffer[arg.DmaBufferSubmissionStartOffset:], []byte{1, 0, 0, 0x7e})
}

// missingPage makes a submission begin with a copy to a page of the aperture that has no entry.
func missingPage(arg kmddi.Patch) {
	p, _ := pkt.Copy{Dst: missingAddr(arg.SubmissionFenceID), Bytes: 64}.Append(nil)
	copy(arg.DmaBuffer[arg.DmaBufferSubmissionStartOffset:], p)
}

// missingAddr returns the address that missingPage uses in the submission of a fence.
func missingAddr(fence uint32) uint64 {
	return gartreg.Start + (gartreg.MaxPages-1)*gartreg.PageBytes + uint64(fence%32*64)
}

// missingInDump returns what the dump has of the page that missingPage has used.
func missingInDump(fence uint32) []string {
	addr := missingAddr(fence)
	return []string{
		"GART.FAULT=0x15 (VALID=1 NODE=0 WRITE=1 LOST=0 KIND=INVALID)",
		fmt.Sprintf("GART.FAULT_LO=%#x\n", uint32(addr)), fmt.Sprintf("GART.FAULT_HI=%#x\n", addr>>32),
	}
}

// A hangKind is a kind of hang that one reset of a node ends.
type hangKind struct {
	name, board string
	queues      Queues
	spoil       func(arg kmddi.Patch) // nil: the work takes longer than TdrDelay
	heal        func()                // before the reset
	alone       bool                  // later work of the node would end the hang
	quantum     uint64                // of a context in clocks; 0: the default
	kind        dxgkrnl.Kind
	most        int                         // hangs that a GPU can have, after which another one goes on; 0: any number
	dumped      func(fence uint32) []string // what the dump has; nil: not checked
	unverified  bool                        // the verifier calls DxgkDdiPatch twice, and the second call would mend the spoiled address
}

// hangKinds returns the kinds of TestHangsAreRecovered.
func hangKinds(injector *inject.Injector) []hangKind {
	read := func(arg kmddi.Patch) {
		injector.LoseRead(arg.DmaBufferPhysicalAddress+uint64(arg.DmaBufferSubmissionStartOffset), 4)
	}
	lose := func(n int) func(kmddi.Patch) {
		return func(kmddi.Patch) { injector.LoseWrites(n, cpreg.Base+cpreg.Wptr, 0) }
	}
	const all = 1 << 30
	return []hangKind{
		{name: "fault", board: "emu?vram=64KiB", spoil: unknownPacket, kind: dxgkrnl.Fault},
		{name: "long work", board: "emu?vram=1MiB", kind: dxgkrnl.Timeout},
		{name: "long work, PREEMPT ignored", board: "emu?vram=1MiB&fault=ignore-preempt", kind: dxgkrnl.Timeout},
		{name: "lost doorbell, PREEMPT ignored", board: "emu?vram=64KiB&fault=ignore-preempt", spoil: lose(1), alone: true, kind: dxgkrnl.Timeout},
		{name: "all doorbells lost until the reset, PREEMPT ignored", board: "emu?vram=64KiB&fault=ignore-preempt", spoil: lose(all), heal: injector.Disarm, kind: dxgkrnl.Timeout},
		{name: "one node, no preemption", board: "emu?vram=64KiB&nodes=1&preemption=0", spoil: unknownPacket, kind: dxgkrnl.Fault},
		{name: "fault in a queue of the firmware", board: "emu?config=full&vram=64KiB", queues: Queues{Use: true}, spoil: unknownPacket, kind: dxgkrnl.Fault},
		{name: "long work in a queue of the firmware", board: "emu?config=full&vram=1MiB", queues: Queues{Use: true}, kind: dxgkrnl.Timeout},
		{name: "page fault", board: "emu?vram=64KiB&gart=1", spoil: missingPage, kind: dxgkrnl.Fault, dumped: missingInDump, unverified: true},
		{name: "page fault in a queue of the firmware", board: "emu?config=full&vram=64KiB", queues: Queues{Use: true}, spoil: missingPage, kind: dxgkrnl.Fault, dumped: missingInDump, unverified: true},
		{name: "host read", board: "emu?vram=64KiB&gart=1&readtimeout=1", spoil: read, quantum: math.MaxUint32, kind: dxgkrnl.Fault, most: 4},
		{name: "fault on a line", board: "line?vram=64KiB", spoil: unknownPacket, kind: dxgkrnl.Fault},
		{name: "host read on a line", board: "line?vram=64KiB", spoil: read, quantum: math.MaxUint32, kind: dxgkrnl.Fault, most: 4}, // the end of a turn would end the read; each retires a tag, and there are 4 spare ones (docs/registers.md, ID.READ_TIMEOUT)
	}
}

// A device whose work hangs or faults is lost with the reason. The work of two others, in the
// hardware and in the queues at the same time, has its result each time. Nothing leaks, and
// the adapter never stops.
//
// docs/properties.md: F13, S8, T5, T7.
func TestHangsAreRecovered(t *testing.T) {
	injector := new(inject.Injector)
	for _, k := range hangKinds(injector) {
		t.Run(k.name, func(t *testing.T) {
			most := cmp.Or(k.most, *hangs)
			for seed := range (*hangs + most - 1) / most {
				recovers(t, k, injector, uint64(seed), min(most, *hangs-seed*most))
			}
		})
	}
}

// recovers makes devices of a new system hang, one after the other.
func recovers(t *testing.T, k hangKind, injector *inject.Injector, seed uint64, hangs int) {
	o := Options{Seed: seed, Queues: k.queues, quantum: k.quantum, Sanitize: true, NoVerify: k.unverified, Inject: injector, Record: eventstest.Record(t)}
	if k.spoil == nil {
		o.TdrDelay = 100_000
	}
	s := &spoiler{spoil: k.spoil, heal: k.heal}
	sys, err := Open(k.board, s.drivers(), o)
	require.NoError(t, err)
	s.system = sys
	r := newRecoveries(t, k, s)
	for n := range hangs {
		r.hang(n)
		r.leaks(n)
	}
	t.Logf("%d hangs recovered, %d submissions of others unfinished at the least", hangs, r.least)
	assert.EqualValues(t, hangs, sys.kernel.Stats().NodeResets)
	assert.Zero(t, sys.kernel.Stats().Recoveries)
	expected := []string{"gpu-fault", "gpu-time-out", "preempt-time-out"}
	if k.queues.Use && k.spoil == nil { // a turn of the long work takes TdrDelay, in which work of others in other queues makes no progress
		expected = append(expected, "gpu-late")
	}
	for _, f := range sys.Findings() {
		assert.Contains(t, expected, f.Rule, "%v", f)
	}
	r.close()
}

// warmUp is the number of hangs after which nothing may grow. Until then the contexts of
// the others make their DMA buffers, up to 4 each, when they have that much work at once.
const warmUp = 2

// recoveries is a run of TestHangsAreRecovered.
type recoveries struct {
	*testing.T
	kind     hangKind
	spoiler  *spoiler
	others   []*bystander
	least    int // submissions of others that had not ended in a hang
	holdings dxgkrnl.Holdings
	memory   uint64
}

// newRecoveries returns the hangs of a kind in the system of a spoiler, with two other devices.
func newRecoveries(t *testing.T, k hangKind, s *spoiler) *recoveries {
	r := &recoveries{T: t, kind: k, spoiler: s, others: []*bystander{newBystander(t, s.system, 1000), newBystander(t, s.system, 2000)}}
	for _, b := range r.others {
		b.fresh(0)
		b.moves(1)
	}
	return r
}

// close closes the other devices and the system.
func (r *recoveries) close() {
	for _, b := range r.others {
		b.dev.Close()
	}
	require.NoError(r, r.spoiler.system.Close())
}

// meet makes a device hang while the others work.
func (r *recoveries) meet(n int) (guilty *copier) {
	t, s := r.T, r.spoiler
	size, copies := 1500, 1
	if r.kind.spoil == nil {
		size, copies = 128<<10, 60
	}
	guilty = newCopier(t, s.system, size, 7)
	guilty.copies(1)
	require.NoError(t, s.system.WaitForIdle()) // its buffers are resident
	s.ahead, s.beside = 0, 0
	s.armed, s.buffer, s.fences, s.nodes = s.spoil != nil, 0, nil, map[uint32]bool{}
	r.others[0].fresh(n + 1)
	r.others[0].moves(60) // while the node does that, the rest is queued
	r.others[1].fresh(n + 1)
	if r.kind.alone {
		r.others[1].moves(3)
	}
	guilty.copies(copies)
	if r.kind.alone {
		require.NoError(t, s.system.WaitForIdle())
	} else {
		r.others[1].moves(3)
	}
	guilty.copies(1)
	return guilty
}

// hang makes a device hang while the others work, and checks all of them.
func (r *recoveries) hang(n int) {
	t, s := r.T, r.spoiler
	guilty := r.meet(n)
	for _, b := range r.others {
		require.Equal(t, b.data, b.result(t), "hang %d", n)
		require.NoError(t, b.dev.GetDeviceRemovedReason())
	}
	require.NoError(t, s.system.WaitForIdle())
	unfinished := s.beside
	if r.kind.alone {
		unfinished = s.ahead
	}
	require.Positive(t, unfinished, "hang %d: the others have unfinished work", n)
	if r.least == 0 || unfinished < r.least {
		r.least = unfinished
	}
	guilty.copies(1) // here the driver learns of it
	var e *dxgkrnl.DeviceError
	require.ErrorAs(t, guilty.dev.GetDeviceRemovedReason(), &e, "hang %d", n)
	require.Equal(t, r.kind.kind, e.Kind, "%v: %s", e, e.Dump)
	require.Contains(t, s.fences, e.Fence, "%v: %s", e, e.Dump)
	require.ErrorIs(t, guilty.dev.GetDeviceRemovedReason(), ddi.DXGIDeviceHung)
	if r.kind.dumped != nil {
		for _, want := range r.kind.dumped(s.fences[0]) {
			require.Contains(t, e.Dump, want, "hang %d", n)
		}
	}
	guilty.close()
}

// leaks checks that the kernel and the PC hold what they held after warmUp hangs.
func (r *recoveries) leaks(n int) {
	sys := r.spoiler.system
	require.NoError(r, sys.WaitForIdle())
	holdings, memory := sys.kernel.Holdings(), sys.MemoryInUse()
	if n < warmUp {
		r.holdings, r.memory = holdings, memory
		return
	}
	require.Equal(r, r.holdings, holdings, "hang %d", n)
	require.Equal(r, r.memory, memory, "hang %d leaks host memory", n)
	require.Zero(r, holdings.Submissions+holdings.Jobs+holdings.Kept)
}
