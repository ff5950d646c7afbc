package umd

import (
	"slices"

	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/hostdriver/privdata"
	"github.com/hilgpu/hilgpu/rtl/abi/regmap"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// tb is the common interface of tests and property tests.
type tb interface {
	Errorf(format string, args ...any)
	FailNow()
	Helper()
}

// memory is an allocation of the fake kernel.
type memory struct {
	desc    privdata.Allocation
	bytes   []byte
	primary bool
	locks   int
	queued  int // number of pending submissions that use it
	freed   bool

	priority uint32 // of eviction; 0: none was set
	offered  umddi.OfferPriority
	lost     bool // the next reclaim reports that the content is lost
}

// submission is the kernel's copy of a command buffer.
type submission struct {
	cmd     []byte
	mem     []*memory // by allocation index
	write   []bool
	patches []umddi.PatchLocation
}

// kernel is a fake runtime and graphics kernel. It checks submissions by the
// rules of the miniport's validator and executes them on plain memory when the
// driver waits.
type kernel struct {
	t        tb
	cmdBytes int // sizes of the buffers it returns
	nAllocs  int
	nPatches int
	info     privdata.Adapter

	handles map[ddi.KMHandle]*memory
	next    ddi.KMHandle
	ctx     umddi.CreateContext // the driver's current buffers; zero without a context
	queue   []submission
	log     []string // callbacks in order, by name
	ran     []string // packets that ran, by name

	failAt  int // callback to fail, counted from 1 from now on; 0: none
	failHR  ddi.HRESULT
	failed  string // the callback that failed
	onPoll  int    // submissions to run after a DoNotWait lock of busy memory
	stale   bool   // LockCb maps one byte too few
	errs    []ddi.HRESULT
	present []umddi.PresentCB
}

func newKernel(t tb) *kernel {
	return &kernel{
		t: t, cmdBytes: 4096, nAllocs: 16, nPatches: 64, next: 0x40,
		info:    privdata.Adapter{MapHash: regmap.Hash(), Nodes: 1, LengthBits: 24, VRAMBytes: 1 << 22, ClockHz: 1e8},
		handles: map[ddi.KMHandle]*memory{},
	}
}

// enter records a callback and returns the error to fail with, if any.
func (k *kernel) enter(name string) ddi.HRESULT {
	k.log = append(k.log, name)
	if k.failAt == 0 {
		return ddi.OK
	}
	if k.failAt--; k.failAt == 0 {
		k.failed = name
		return k.failHR
	}
	return ddi.OK
}

func (k *kernel) callbacks() *umddi.DeviceCallbacks {
	return &umddi.DeviceCallbacks{
		AllocateCb: k.allocate, DeallocateCb: k.deallocate, CreateContextCb: k.createContext,
		DestroyContextCb: k.destroyContext, LockCb: k.lock, UnlockCb: k.unlock, SetPriorityCb: k.setPriority,
		OfferAllocationsCb: k.offerAllocations, ReclaimAllocationsCb: k.reclaimAllocations, RenderCb: k.render,
	}
}

func (k *kernel) setPriority(_ *ddi.Thread, _ umddi.HRTDevice, arg *umddi.SetPriority) ddi.HRESULT {
	if hr := k.enter("SetPriority"); hr.Failed() {
		return hr
	}
	require.Len(k.t, arg.Priorities, len(arg.Allocations))
	for i, h := range arg.Allocations {
		require.Contains(k.t, k.handles, h)
		k.handles[h].priority = arg.Priorities[i]
	}
	return ddi.OK
}

func (k *kernel) offerAllocations(_ *ddi.Thread, _ umddi.HRTDevice, arg *umddi.OfferAllocations) ddi.HRESULT {
	if hr := k.enter("Offer"); hr.Failed() {
		return hr
	}
	for _, h := range arg.Allocations {
		require.Zero(k.t, k.handles[h].offered)
		require.Zero(k.t, k.handles[h].locks)
		k.handles[h].offered = arg.Priority
	}
	return ddi.OK
}

func (k *kernel) reclaimAllocations(_ *ddi.Thread, _ umddi.HRTDevice, arg *umddi.ReclaimAllocations) ddi.HRESULT {
	if hr := k.enter("Reclaim"); hr.Failed() {
		return hr
	}
	for i, h := range arg.Allocations {
		require.NotZero(k.t, k.handles[h].offered)
		arg.Discarded[i], k.handles[h].offered = k.handles[h].lost, 0
	}
	return ddi.OK
}

func (k *kernel) queryAdapterInfo(_ *ddi.Thread, _ umddi.HRTAdapter, p []byte) ddi.HRESULT {
	if hr := k.enter("QueryAdapterInfo"); hr.Failed() {
		return hr
	}
	copy(p, k.info.Append(nil))
	return ddi.OK
}

func (k *kernel) allocate(_ *ddi.Thread, _ umddi.HRTDevice, arg *umddi.Allocate) ddi.HRESULT {
	if hr := k.enter("Allocate"); hr.Failed() {
		return hr
	}
	for i := range arg.AllocationInfo {
		info := &arg.AllocationInfo[i]
		desc, err := privdata.DecodeAllocation(info.PrivateDriverData)
		require.NoError(k.t, err)
		m := &memory{desc: desc, bytes: slices.Repeat([]byte{0xcd}, int(desc.Bytes)), primary: info.Primary}
		k.next += 4
		k.handles[k.next] = m
		info.Allocation = k.next
	}
	return ddi.OK
}

func (k *kernel) deallocate(_ *ddi.Thread, _ umddi.HRTDevice, arg *umddi.Deallocate) ddi.HRESULT {
	hr := k.enter("Deallocate")
	require.NotEmpty(k.t, arg.Allocations)
	for _, h := range arg.Allocations {
		m := k.handles[h]
		require.NotNil(k.t, m, "unknown handle %#x freed", h)
		require.Zero(k.t, m.locks, "a locked allocation freed")
		m.freed = true
		delete(k.handles, h)
	}
	return hr
}

func (k *kernel) createContext(_ *ddi.Thread, _ umddi.HRTDevice, arg *umddi.CreateContext) ddi.HRESULT {
	if hr := k.enter("CreateContext"); hr.Failed() {
		return hr
	}
	require.Zero(k.t, arg.NodeOrdinal)
	arg.Context = 0x99
	arg.CommandBuffer, arg.AllocationList, arg.PatchLocationList = k.buffers()
	k.ctx = *arg
	return ddi.OK
}

// buffers returns recording buffers with leftovers of another batch.
func (k *kernel) buffers() ([]byte, []umddi.AllocationList, []umddi.PatchLocation) {
	as := slices.Repeat([]umddi.AllocationList{{Allocation: 0xbad, WriteOperation: true}}, k.nAllocs)
	ps := slices.Repeat([]umddi.PatchLocation{{AllocationIndex: 7, SlotID: 7, DriverID: 7, AllocationOffset: 7}}, k.nPatches)
	return slices.Repeat([]byte{0xee}, k.cmdBytes), as, ps
}

func (k *kernel) destroyContext(_ *ddi.Thread, _ umddi.HRTDevice, ctx ddi.KMHandle) ddi.HRESULT {
	hr := k.enter("DestroyContext")
	require.Equal(k.t, k.ctx.Context, ctx)
	k.ctx = umddi.CreateContext{}
	return hr
}

func (k *kernel) lock(_ *ddi.Thread, _ umddi.HRTDevice, arg *umddi.Lock) ddi.HRESULT {
	if hr := k.enter("Lock"); hr.Failed() {
		return hr
	}
	m := k.handles[arg.Allocation]
	require.NotNil(k.t, m, "unknown handle %#x locked", arg.Allocation)
	require.Contains(k.t, []privdata.Place{privdata.System, privdata.Result}, m.desc.Place, "only these places may be locked")
	if m.queued > 0 && !arg.IgnoreSync {
		if arg.DoNotWait {
			k.run(k.onPoll)
			return ddi.DDIStillDrawing
		}
		for m.queued > 0 {
			k.run(1)
		}
	}
	m.locks++
	arg.Data = m.bytes
	if k.stale {
		arg.Data = m.bytes[1:]
	}
	return ddi.OK
}

func (k *kernel) unlock(_ *ddi.Thread, _ umddi.HRTDevice, arg *umddi.Unlock) ddi.HRESULT {
	hr := k.enter("Unlock")
	for _, h := range arg.Allocations {
		require.NotNil(k.t, k.handles[h], "unknown handle %#x unlocked", h)
		require.Positive(k.t, k.handles[h].locks)
		k.handles[h].locks--
	}
	return hr
}

// render copies the batch, checks it and returns other buffers of the
// configured sizes. The old buffers are overwritten.
func (k *kernel) render(_ *ddi.Thread, _ umddi.HRTDevice, arg *umddi.Render) ddi.HRESULT {
	if hr := k.enter("Render"); hr.Failed() {
		return hr
	}
	require.Equal(k.t, k.ctx.Context, arg.Context)
	require.Zero(k.t, arg.CommandOffset)
	s := submission{
		cmd:     slices.Clone(k.ctx.CommandBuffer[:arg.CommandLength]),
		patches: slices.Clone(k.ctx.PatchLocationList[:arg.NumPatchLocations]),
	}
	for _, a := range k.ctx.AllocationList[:arg.NumAllocations] {
		m := k.handles[a.Allocation]
		require.NotNil(k.t, m, "unknown handle %#x in the allocation list", a.Allocation)
		require.Zero(k.t, m.locks, "a locked allocation in the allocation list")
		require.False(k.t, slices.Contains(s.mem, m), "an allocation twice in the list")
		s.mem, s.write = append(s.mem, m), append(s.write, a.WriteOperation)
		m.queued++
	}
	ops, err := s.check(1<<k.info.LengthBits - 1)
	require.NoError(k.t, err)
	require.NotEmpty(k.t, ops)
	k.queue = append(k.queue, s)
	overwriteBuffers(k.ctx)
	arg.NewCommandBuffer, arg.NewAllocationList, arg.NewPatchLocationList = k.buffers()
	k.ctx.CommandBuffer, k.ctx.AllocationList, k.ctx.PatchLocationList = arg.NewCommandBuffer, arg.NewAllocationList, arg.NewPatchLocationList
	return ddi.OK
}

func overwriteBuffers(c umddi.CreateContext) {
	clear(c.AllocationList)
	clear(c.PatchLocationList)
	for i := range c.CommandBuffer {
		c.CommandBuffer[i] = 0xff
	}
}

func (k *kernel) presentCB(_ *ddi.Thread, _ umddi.HRTDevice, arg *umddi.PresentCB) ddi.HRESULT {
	if hr := k.enter("Present"); hr.Failed() {
		return hr
	}
	k.present = append(k.present, *arg)
	return ddi.OK
}

// run executes the n oldest submissions.
func (k *kernel) run(n int) {
	for ; n > 0 && len(k.queue) > 0; n-- {
		s := k.queue[0]
		k.queue = k.queue[1:]
		ops, err := s.check(1<<k.info.LengthBits - 1)
		require.NoError(k.t, err)
		to := 0
		for _, o := range ops {
			if o.at < to {
				continue
			}
			k.ran = append(k.ran, o.name)
			if o.skip == nil {
				o.do()
			} else if o.skip() {
				to = o.end
			}
		}
		for _, m := range s.mem {
			m.queued--
		}
	}
}
