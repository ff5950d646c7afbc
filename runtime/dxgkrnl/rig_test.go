package dxgkrnl

import (
	"bytes"
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmt"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
	"github.com/hilgpu/hilgpu/runtime/hal"
	"github.com/stretchr/testify/require"
)

// Segments of the fake miniport.
const (
	local  = 1
	system = 2
	both   = 3 // as a set
)

// options of a rig; the zero value is one node with 64 KiB of VRAM.
type options struct {
	nodes, capacity int
	vram            int
	hiddenVRAM      bool
	aperture        int  // its pages; 0: the second segment is a System segment
	maps            bool // the CPU maps pages, and not what is in a paging buffer
	first, step     uint32
	buffers         int
	dmaBytes        uint32
	pagingBytes     uint32
	linkDelay       func(uint64) uint64
	quantum         uint64
	preempts        bool // the miniport claims PreemptionAware and CancelCommandAware
	resets          bool // the miniport claims SupportPerEngineTDR
}

// rig is a kernel on the fake miniport and GPU, with a device and a context on
// node 0.
type rig struct {
	require.TestingT
	gpu    *gpu
	mini   *miniport
	kernel *Kernel
	thread *ddi.Thread
	thunks kmt.Thunks
	dev    ddi.KMHandle
	ctx    umddi.CreateContext

	reports []string
	about   []uint64  // submissions that they are about
	faults  bool      // a test makes the GPU fault
	extra   []command // that a test renders too
}

func newMachine(t require.TestingT, o *options) (*gpu, *miniport, Config) {
	o.nodes = max(o.nodes, 1)
	if o.capacity == 0 {
		o.capacity = 2
	}
	for _, d := range []struct {
		v *uint32
		n uint32
	}{{&o.dmaBytes, 1024}, {&o.pagingBytes, 256}} {
		if *d.v == 0 {
			*d.v = d.n
		}
	}
	if o.vram == 0 {
		o.vram = 64 << 10
	}
	m := hal.New(64 << 20)
	g := newGPU(m, o.vram, o.nodes, o.capacity)
	g.hidden = o.hiddenVRAM
	dev, err := m.Attach(new(ddi.Thread), g, g)
	require.NoError(t, err)
	mini := &miniport{
		gpu: g, piece: 4096, maps: o.maps, last: make([]uint32, o.nodes), stopping: make([]uint32, o.nodes), any: make([]bool, o.nodes), fail: map[string]ddi.Status{},
		info: kmddi.ContextInfo{DmaBufferSize: o.dmaBytes, DmaBufferPrivateDataSize: 16, AllocationListSize: 64, PatchLocationListSize: 128},
		caps: kmddi.DriverCaps{
			HighestAcceptableAddress: math.MaxUint32, NumberOfNodes: uint32(o.nodes), PagingNode: uint32(o.nodes - 1),
			HwQueuePacketCap: uint32(o.capacity), WDDMVersion: 1300, MultiEngineAware: o.nodes > 1,
			PreemptionAware: o.preempts, CancelCommandAware: o.preempts, SupportPerEngineTDR: o.resets,
		},
		segments: kmddi.QuerySegment{PagingBufferSize: o.pagingBytes, PagingBufferPrivateDataSize: 16, Segments: []kmddi.SegmentDescriptor{
			{BaseAddress: vramBase, Size: uint64(o.vram), BAR: 2, Flags: kmddi.SegmentFlags{CPUVisible: !o.hiddenVRAM}},
			{BaseAddress: hostBase, Size: 64 << 20, Flags: kmddi.SegmentFlags{System: true}},
		}},
	}
	if o.aperture > 0 {
		g.entries = make([]uint64, o.aperture)
		mini.segments.Segments[1] = kmddi.SegmentDescriptor{
			BaseAddress: apertureBase, Size: uint64(o.aperture) * 4096, Flags: kmddi.SegmentFlags{Aperture: true},
		}
	}
	translate := func(addr uint64) (page uint64, mapped, known bool) {
		n := int((addr - apertureBase) / 4096)
		page = cmp.Or(g.kept[n], g.entries[n])
		return page, page != 0, true
	}
	peek := func(bar int, off uint64, p []byte) bool { return bar == 2 && copy(p, g.vram[off:]) == len(p) }
	return g, mini, Config{Machine: m, Device: dev, Driver: mini.table(), FirstFence: o.first, FenceStep: o.step, DMABuffers: o.buffers, LinkDelay: o.linkDelay, Quantum: o.quantum, Poison: true, Peek: peek, Translate: translate}
}

func newRig(t require.TestingT, o options) *rig {
	r := &rig{TestingT: t, thread: &ddi.Thread{Process: 1, ID: 1}}
	var cfg Config
	var err error
	r.gpu, r.mini, cfg = newMachine(t, &o)
	cfg.Report = func(_ *ddi.Thread, name, function, found string, submission uint64) {
		r.about = append(r.about, submission)
		r.reports = append(r.reports, name+": "+function+": "+found)
	}
	r.kernel, err = Start(r.thread, cfg)
	require.NoError(t, err)
	r.thunks = r.kernel.Thunks()
	var s ddi.Status
	r.dev, s = r.thunks.CreateDevice(r.thread)
	r.ok(s)
	r.ok(r.thunks.CreateContext(r.thread, r.dev, &r.ctx))
	r.mini.log = nil
	return r
}

func (r *rig) ok(s ddi.Status) { require.Equal(r, ddi.StatusSuccess, s) }

// finish checks the invariants at the end of tests that break nothing.
func (r *rig) finish() {
	require.NoError(r, r.gpu.err)
	require.NoError(r, r.kernel.Err())
	require.Empty(r, r.wrongContents(), "paging operations")
	require.Empty(r, r.mini.irql)
	r.balanced()
	require.NoError(r, r.kernel.Stop(r.thread))
	require.Zero(r, r.mini.live, "driver objects left")
}

// wrongContents returns the reports of the rules paging-content and aperture-unmap.
func (r *rig) wrongContents() []string {
	return slices.DeleteFunc(slices.Clone(r.reports), func(s string) bool {
		return !strings.HasPrefix(s, "paging-content: ") && !strings.HasPrefix(s, "aperture-unmap: ")
	})
}

// alloc creates an allocation that may be in the given set of segments, the
// lowest preferred.
func (r *rig) alloc(size uint64, set uint32) ddi.KMHandle {
	return r.allocPrivate(private{size: size, align: 256, preferred: 1 + set>>1&^set&1, supported: set})
}

func (r *rig) allocPrivate(p private) ddi.KMHandle {
	arg := &umddi.Allocate{AllocationInfo: []umddi.AllocationInfo{{PrivateDriverData: p.encode()}}}
	r.ok(r.thunks.CreateAllocation(r.thread, r.dev, arg))
	return arg.AllocationInfo[0].Allocation
}

// A use is one operand of a command.
type use struct {
	at    int // offset in the command
	alloc ddi.KMHandle
	off   uint32
	write bool
}

// command is one command of a command buffer. If split is set, the buffer may
// be split before it.
type command struct {
	op, n uint32
	value byte
	uses  []use
	join  bool // belongs to the group of the previous command
}

func fill(a ddi.KMHandle, off, n uint32, v byte) command {
	return command{op: opFill, n: n, value: v, uses: []use{{dstAt, a, off, true}}}
}

func copyTo(dst ddi.KMHandle, dstOff uint32, src ddi.KMHandle, srcOff, n uint32) command {
	return command{op: opCopy, n: n, uses: []use{{srcAt, src, srcOff, false}, {dstAt, dst, dstOff, true}}}
}

// record writes commands to the user buffers and returns the Render arguments
// for them.
func (r *rig) record(c *umddi.CreateContext, cmds ...command) *umddi.Render {
	arg := &umddi.Render{Context: c.Context, CommandLength: uint32(len(cmds) * opBytes)}
	split := 0
	for i, cmd := range cmds {
		copy(c.CommandBuffer[i*opBytes:], encodeOp(cmd.op, cmd.n, ^uint64(0), ^uint64(0), uint64(cmd.value)))
		if !cmd.join {
			split = i * opBytes
		}
		for _, u := range cmd.uses {
			c.PatchLocationList[arg.NumPatchLocations] = umddi.PatchLocation{
				AllocationIndex: arg.NumAllocations, AllocationOffset: u.off,
				PatchOffset: uint32(i*opBytes + u.at), SplitOffset: uint32(split),
			}
			c.AllocationList[arg.NumAllocations] = umddi.AllocationList{Allocation: u.alloc, WriteOperation: u.write}
			arg.NumPatchLocations++
			arg.NumAllocations++
		}
	}
	return arg
}

// submit renders commands on a context and switches to the next buffers.
func (r *rig) submit(c *umddi.CreateContext, cmds ...command) ddi.Status {
	arg := r.record(c, cmds...)
	s := r.thunks.Render(r.thread, r.dev, arg)
	if !s.Failed() {
		c.CommandBuffer, c.AllocationList, c.PatchLocationList = arg.NewCommandBuffer, arg.NewAllocationList, arg.NewPatchLocationList
	}
	return s
}

func (r *rig) render(cmds ...command) { r.ok(r.submit(&r.ctx, cmds...)) }

func (r *rig) wait() { r.ok(r.thunks.WaitForIdle(r.thread, r.dev)) }

// enter enters the kernel, which then delivers interrupts and submits what is ready.
func (r *rig) enter() {
	r.ok(r.thunks.QueryAdapterInfo(r.thread, make([]byte, 64)))
	r.audit()
}

// read returns an allocation's content through Lock.
func (r *rig) read(a ddi.KMHandle) []byte {
	arg := &umddi.Lock{Allocation: a, ReadOnly: true}
	r.ok(r.thunks.Lock(r.thread, r.dev, arg))
	b := bytes.Clone(arg.Data)
	r.unlock(a)
	return b
}

// write writes an allocation's content through Lock.
func (r *rig) write(a ddi.KMHandle, b []byte) {
	arg := &umddi.Lock{Allocation: a, WriteOnly: true}
	r.ok(r.thunks.Lock(r.thread, r.dev, arg))
	copy(arg.Data, b)
	r.unlock(a)
}

func (r *rig) unlock(a ddi.KMHandle) {
	r.ok(r.thunks.Unlock(r.thread, r.dev, &umddi.Unlock{Allocations: []ddi.KMHandle{a}}))
}

func (r *rig) destroy(as ...ddi.KMHandle) ddi.Status {
	return r.thunks.DestroyAllocation(r.thread, r.dev, &umddi.Deallocate{Allocations: as})
}

// context creates another context of the device.
func (r *rig) context(node uint32) *umddi.CreateContext {
	c := &umddi.CreateContext{NodeOrdinal: node}
	r.ok(r.thunks.CreateContext(r.thread, r.dev, c))
	return c
}

// logged returns the log lines that start with one of the words, and clears the
// log.
func (r *rig) logged(words ...string) []string {
	var out []string
	for _, line := range r.mini.log {
		for _, w := range words {
			if strings.HasPrefix(line, w) {
				out = append(out, line)
			}
		}
	}
	r.mini.log = nil
	return out
}

// crash runs fn and returns the bugcheck that ends it, or nil.
func crash(fn func()) (b *Bugcheck) {
	defer func() {
		if v := recover(); v != nil {
			b = v.(*Bugcheck)
		}
	}()
	fn()
	return nil
}

func repeat(v byte, n int) []byte { return bytes.Repeat([]byte{v}, n) }
