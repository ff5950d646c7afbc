package dxgkrnl

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

// The error names the fence of the work that hung, also if a preemption has used the one
// after the last completed fence.
func TestFenceOfStoppedWorkThatHangs(t *testing.T) {
	q := newQueues(t, 1, options{preempts: true})
	p := q.devices[0]
	p.ok(p.submit(q.contexts[0], command{op: opHang})) // fence 1; 2 is the preemption
	assert.Equal(t, ddi.StatusDeviceRemoved, p.thunks.WaitForIdle(p.thread, p.dev))
	var e *DeviceError
	require.ErrorAs(t, q.kernel.Err(), &e)
	assert.EqualValues(t, 3, e.Fence)
	assert.Contains(t, e.Work, "DxgkDdiSubmitCommand")
}

// An allocation that is destroyed leaves its place first, also if it was used last. Its content
// is not copied out.
func TestDestroyedLeavesFirst(t *testing.T) {
	r := newRig(t, options{vram: 8192})
	old, used, next := r.alloc(4096, local), r.alloc(4096, local), r.alloc(4096, local)
	r.render(fill(old, 0, 64, 1))
	r.wait()
	r.gpu.auto = false
	r.render(fill(used, 0, 64, 2))
	r.gpu.complete(0) // its paging buffer
	r.enter()
	r.ok(r.destroy(used))
	r.mini.log = nil
	r.render(fill(next, 0, 64, 3))
	assert.Equal(t, []string{"BuildPagingBuffer discard 0 to 1", "BuildPagingBuffer fill 0 to 1"}, r.logged("Build"))
	r.gpu.auto = true
	assert.Equal(t, repeat(1, 64), r.read(old)[:64])
	assert.Equal(t, repeat(3, 64), r.read(next)[:64])
	r.finish()
}

// An allocation that is too large for the aperture goes to a memory segment, which a smaller one
// of the same group has left.
func TestGroupThatFitsInBothSegments(t *testing.T) {
	r := newRig(t, options{vram: 8192, aperture: 1})
	x, y := r.alloc(4096, both), r.alloc(8192, both)
	second := fill(y, 0, 64, 2)
	second.join = true
	r.render(fill(x, 0, 64, 1), second)
	r.wait()
	assert.Equal(t, repeat(1, 64), r.read(x)[:64])
	assert.Equal(t, repeat(2, 64), r.read(y)[:64])
	r.finish()
}

// A context pays for the time for which a node executed its work until it stopped, and no more.
func TestStoppedWorkIsCharged(t *testing.T) {
	q := newQueues(t, 2, options{preempts: true})
	q.priority(1, 1)
	q.gpu.now += 5000
	q.devices[0].render(halves(q.targets[0], 1)...)
	c := q.kernel.handles.get(q.contexts[0].Context).(*context)
	used, began := c.used, q.kernel.nodes[0].hardware[0].began
	q.gpu.now += 70
	q.work(1)
	require.EqualValues(t, 1, q.kernel.Stats().Preemptions)
	assert.InDelta(t, used+q.gpu.now-began, c.used, 5)
	assert.GreaterOrEqual(t, c.used-used, uint64(70))
	q.end()
}

// Each code of a bugcheck is that of its rule (docs/rules.md).
func TestRuleOfEachCode(t *testing.T) {
	for _, tt := range []struct {
		code, p1 uint32
		rule     string
	}{
		{CodeScheduler, SchedulerFence, "fence-reported"}, {CodeScheduler, SchedulerSubmit, "submit-result"}, {CodeScheduler, SchedulerPatch, "patch-result"},
		{CodeScheduler, SchedulerPaging, "submit-paging-result"}, {CodeScheduler, SchedulerCancel, "cancel-result"}, {CodeScheduler, SchedulerAbort, "reset-fence"},
		{CodeScheduler, SchedulerReset, "reset-interrupt"}, {CodeTimeout, TimeoutLimit, "reset-limit"}, {CodeTimeout, TimeoutDDI, "reset-time"},
		{CodeMemory, MemorySplit, "patch-list"}, {CodeMemory, MemoryPaging, "paging-result"}, {CodeMemory, MemoryOverflow, "buffer-overflow"},
		{CodeMemory, MemoryContract, "render-progress"}, {CodeMemory, MemoryAperture, "aperture-write"},
		{CodeMemory, MemoryMap, "aperture-map-result"}, {CodeMemory, MemoryUnmap, "aperture-unmap-result"}, {CodeMemory, MemoryPrivate, "private-overflow"},
		{CodeVerifier, VerifierNoQueueDPC, "interrupt-dpc"}, {CodeVerifier, VerifierNoNotifyDPC, "dpc-notify"}, {CodeVerifier, VerifierLevel, "callback-level"},
		{CodeVerifier, VerifierHandle, "callback-handle"}, {CodeVerifier, VerifierAlign, "buffer-align"}, {CodeVerifier, VerifierInterrupt, "interrupt-type"},
		{CodeVerifier, VerifierKept, "buffer-kept"}, {CodeVerifier, VerifierPatchRange, "patch-range"}, {CodeVerifier, VerifierSynchronize, "synchronize-level"},
	} {
		name, _, _ := (&Bugcheck{Code: tt.code, P1: tt.p1}).BrokenRule()
		assert.Equal(t, tt.rule, name)
	}
}

// The device accesses host memory up to HighestAcceptableAddress, with that, and no further.
func TestPagesTheDeviceCanAccess(t *testing.T) {
	for _, lacks := range []uint64{0, 1} { // bytes of the highest free page that the device cannot access
		r := newRig(t, options{aperture: 4})
		first, ok := r.kernel.pageList(4096)
		require.True(t, ok)
		r.kernel.caps.HighestAcceptableAddress = first.List[0] - 1 - lacks
		next, ok := r.kernel.pageList(100)
		assert.Equal(t, []int{100, 100}, []int{len(next.Bytes), cap(next.Bytes)}, "no memory after it")
		require.True(t, ok)
		assert.Equal(t, first.List[0]-4096*(1+lacks), next.List[0])
	}
}

// The priority of work rises by 1 for each 16 quantums that it waits, up to the highest one
// (docs/design.md).
func TestAgeOfWork(t *testing.T) {
	for _, tt := range []struct {
		priority int
		waited   uint64 // ticks; a quantum has 10
		want     int
	}{{0, 0, 0}, {0, 159, 0}, {0, 160, 1}, {0, 319, 1}, {0, 320, 2}, {0, 7 * 160, 7}, {0, 8 * 160, 7}, {-7, 13*160 + 159, 6}, {-7, 14 * 160, 7}, {7, 1 << 40, 7}} {
		q := newQueues(t, 2, options{quantum: 10})
		q.work(0)
		q.priority(1, tt.priority)
		q.work(1)
		q.gpu.now += tt.waited
		c := q.kernel.handles.get(q.contexts[1].Context).(*context)
		q.gpu.now = c.first().at + tt.waited
		assert.Equal(t, tt.want, q.kernel.levelOf(c), "%+v", tt)
	}
}

// The buffer of CollectDbgInfo has 64 KiB, and the kernel takes no more than was written.
func TestBufferOfDebugInformation(t *testing.T) {
	r := newRig(t, options{})
	table := r.kernel.driver
	table.CollectDbgInfo = func(_ *ddi.Thread, _ kmddi.HAdapter, arg kmddi.CollectDbgInfo) (kmddi.CollectDbgInfoOut, ddi.Status) {
		assert.Len(t, arg.Buffer, 64<<10)
		return kmddi.CollectDbgInfoOut{Length: copy(arg.Buffer, "state")}, ddi.StatusSuccess
	}
	r.kernel.driver = table
	r.gpu.auto = false
	r.render(command{op: opHang})
	r.wantStopped(t)
	var e *DeviceError
	require.ErrorAs(t, r.kernel.Err(), &e)
	assert.True(t, strings.HasSuffix(e.Dump, "\nstate\n"), e.Dump)
}

// At most 16 paging buffers are used, and those that are given back first are used first.
func TestNumberOfPagingBuffers(t *testing.T) {
	r := newRig(t, options{vram: 2 << 20})
	whole := r.alloc(1<<20, local) // of 32 buffers
	r.render(fill(whole, 0, 64, 1))
	r.wait()
	assert.Len(t, r.kernel.paging.all, 16)
	first := r.kernel.paging.free[0]
	r.render(fill(r.alloc(64, local), 0, 64, 1))
	r.wait()
	assert.Same(t, first, r.kernel.paging.free[15])
	r.finish()
}

// After Stop there is no work, and nobody waits.
func TestWaitForIdleAfterStop(t *testing.T) {
	r := newRig(t, options{})
	require.NoError(t, r.kernel.Stop(r.thread))
	assert.ErrorIs(t, r.kernel.WaitForIdle(r.thread), ddi.StatusDeviceRemoved)
}

// The first reason why the adapter has stopped is kept.
func TestFirstCauseIsKept(t *testing.T) {
	r := newRig(t, options{})
	first, second := errors.New("first"), errors.New("second")
	r.kernel.stopLink(r.thread, first)
	r.kernel.stopLink(r.thread, second)
	assert.ErrorIs(t, r.kernel.Err(), first)
	assert.NotErrorIs(t, r.kernel.Err(), second)
}

// Each bugcheck of the kernel has a rule. One without is a mistake of the kernel.
func TestBugcheckWithoutARule(t *testing.T) {
	assert.Panics(t, func() { (&Bugcheck{Code: CodeScheduler, P1: 0xffff}).BrokenRule() })
}

// A call of Run that is refused leaves the kernel as it was. After one that ends, the threads
// arrive in their own order again.
func TestKernelAfterRun(t *testing.T) {
	r := newRig(t, options{})
	task := Task{r.thread, func(*ddi.Thread) { r.enter() }}
	assert.Panics(t, func() { r.kernel.Run(1, []Task{task, task}) })
	require.False(t, r.kernel.gate.runs())
	require.Zero(t, r.kernel.gate.out)
	require.Empty(t, r.kernel.gate.crew)
	r.kernel.Run(1, []Task{task})
	require.False(t, r.kernel.gate.runs())
	require.Empty(t, r.kernel.gate.crew)
	r.works(t)
	r.finish()
}
