package dxgkrnl

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// docs/properties.md: F14.
func TestLostInterrupt(t *testing.T) {
	for _, tt := range []struct {
		name     string
		notifies bool // QueryCurrentFence reports the fence itself
	}{{"the kernel takes the fence", false}, {"the miniport reports it", true}} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, options{})
			a := r.alloc(64, system)
			if tt.notifies {
				r.mini.query = func(t *ddi.Thread, node uint32) (uint32, ddi.Status) {
					m := r.mini
					_, s := m.cb.SynchronizeExecution(t, m.cb.DeviceHandle, 0, func(t *ddi.Thread) bool {
						m.advance(t, node)
						return m.cb.QueueDpc(t, m.cb.DeviceHandle)
					})
					return m.last[node], s
				}
			}
			r.gpu.lostIRQ = true
			r.render(fill(a, 0, 64, 1))
			r.wait()
			assert.Equal(t, uint64(1), r.kernel.Stats().LostInterrupts)
			assert.GreaterOrEqual(t, r.gpu.now, uint64(2000), "two seconds at 1 kHz")
			want := []string{"interrupt-lost: DxgkDdiQueryCurrentFence: node 0: fence 1 completed, but no interrupt reported it in 2000 clocks"}
			assert.Equal(t, want, r.reports)
			r.gpu.lostIRQ = false
			r.render(fill(a, 0, 64, 2))
			r.wait()
			assert.Equal(t, uint64(1), r.kernel.Stats().LostInterrupts)
			assert.Equal(t, want, r.reports)
			r.finish()
		})
	}
}

// wantRemoved checks that everything that needs the GPU reports its loss, and
// that everything can be destroyed.
func (r *rig) wantRemoved(t *testing.T, a ddi.KMHandle) {
	for what, got := range map[string]ddi.Status{
		"CreateContext":    r.thunks.CreateContext(r.thread, r.dev, &umddi.CreateContext{}),
		"CreateAllocation": r.thunks.CreateAllocation(r.thread, r.dev, &umddi.Allocate{AllocationInfo: make([]umddi.AllocationInfo, 1)}),
		"Lock":             r.lock(&umddi.Lock{Allocation: a}),
		"Render":           r.submit(&r.ctx, fill(a, 0, 64, 1)),
		"Present":          r.thunks.Present(r.thread, r.dev, &umddi.PresentCB{SrcAllocation: a, DstAllocation: a, Context: r.ctx.Context}),
		"WaitForIdle":      r.thunks.WaitForIdle(r.thread, r.dev),
	} {
		assert.Equal(t, ddi.StatusDeviceRemoved, got, what)
	}
}

// TestInterruptStorm: a device that sends a message whenever its status is read does
// not keep the kernel beyond the time-out. The error names the storm.
func TestInterruptStorm(t *testing.T) {
	r := newRig(t, options{nodes: 1})
	a := r.alloc(64, system)
	r.render(fill(a, 0, 64, 1))
	r.wait()
	r.gpu.auto, r.gpu.storm = false, true
	r.render(fill(a, 0, 64, 1))
	r.gpu.interrupt(0)
	assert.Equal(t, ddi.StatusDeviceRemoved, r.thunks.WaitForIdle(r.thread, r.dev))
	var e *DeviceError
	require.ErrorAs(t, r.kernel.Err(), &e)
	assert.Equal(t, Timeout, e.Kind)
	assert.Greater(t, e.Storm, uint64(64))
	assert.Contains(t, e.Error(), fmt.Sprintf(": interrupt storm: %d messages since the last progress", e.Storm))
	r.gpu.storm = false
	r.ok(r.destroy(a))
	r.ok(r.thunks.DestroyDevice(r.thread, r.dev))
	assert.NoError(t, r.kernel.Stop(r.thread))
}

// docs/properties.md: F13.
func TestHang(t *testing.T) {
	for _, nodes := range []int{1, 2} {
		r := newRig(t, options{nodes: nodes})
		a, b := r.alloc(64, system), r.alloc(64, local)
		r.render(fill(a, 0, 64, 1))
		r.wait()
		r.gpu.auto = false
		r.render(fill(a, 0, 64, 1))
		r.render(copyTo(b, 0, a, 0, 64))
		r.mini.log = nil
		assert.Equal(t, ddi.StatusDeviceRemoved, r.thunks.WaitForIdle(r.thread, r.dev))
		assert.Equal(t, []string{"CollectDbgInfo 0x141"}, r.logged("Collect"))
		var e *DeviceError
		require.ErrorAs(t, r.kernel.Err(), &e)
		assert.Equal(t, Timeout, e.Kind)
		assert.ErrorIs(t, e, ddi.StatusIOTimeout)
		assert.Contains(t, e.Dump, "kernel: node 0: fence 1 completed")
		assert.True(t, strings.HasSuffix(e.Dump, "miniport: state\n"))
		if nodes == 2 {
			assert.Contains(t, e.Dump, "waits for node 1 fence 1")
		}
		assert.Zero(t, e.Storm)
		assert.Less(t, r.gpu.now, uint64(4500), "two seconds and the time before")
		r.wantRemoved(t, a)
		r.ok(r.destroy(a))
		r.ok(r.thunks.DestroyDevice(r.thread, r.dev))
		assert.NoError(t, r.kernel.Stop(r.thread))
		assert.Zero(t, r.mini.live)
	}
}

// TestLinkDelay: the time that a slow link needs is no hang, at its rate of the moment.
// Two seconds, the default, are 2,000 ticks.
func TestLinkDelay(t *testing.T) {
	for _, tt := range []struct {
		name   string
		delays []uint64 // of each submission
		passed int      // submissions
	}{
		{"no slow link", []uint64{0}, 0},
		{"too short", []uint64{900}, 0},
		{"long enough", []uint64{1100}, 1},
		{"the link becomes faster", []uint64{1100, 0}, 1},
		{"the link becomes slower", []uint64{1100, 3000, 1100}, 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			delay := uint64(0)
			r := newRig(t, options{linkDelay: func(uint64) uint64 { return delay }})
			a := r.alloc(64, system)
			r.gpu.latency = 3000
			for i, d := range tt.delays {
				delay = d
				r.render(fill(a, 0, 64, byte(i)))
				if i < tt.passed {
					r.wait()
					require.NoError(t, r.kernel.Err())
					continue
				}
				assert.Equal(t, ddi.StatusDeviceRemoved, r.thunks.WaitForIdle(r.thread, r.dev))
				var e *DeviceError
				require.ErrorAs(t, r.kernel.Err(), &e)
				assert.Equal(t, Timeout, e.Kind)
				return
			}
			assert.Zero(t, r.kernel.Stats().LostInterrupts)
			r.finish()
		})
	}
}

// TestLinkDelayOfAnAllocation: the time that is given to a link is that of the largest
// allocation, of 8 MiB at least.
func TestLinkDelayOfAnAllocation(t *testing.T) {
	var asked []uint64
	r := newRig(t, options{linkDelay: func(bytes uint64) uint64 {
		asked = append(asked, bytes)
		return 0
	}})
	r.render(fill(r.alloc(64, system), 0, 64, 1))
	r.wait()
	require.EqualValues(t, 8<<20, slices.Max(asked))
	a := r.alloc(9<<20, system)
	r.render(fill(a, 0, 64, 1))
	r.wait()
	require.EqualValues(t, 9<<20, slices.Max(asked))
	r.finish()
}

// Progress of one node does not hide a hang of another, and slow work that
// makes progress is not a hang.
func TestDeadlines(t *testing.T) {
	r := newRig(t, options{nodes: 2, capacity: 8, buffers: 8})
	a, b := r.alloc(64, system), r.alloc(64, system)
	other := r.context(1)
	r.gpu.latency = 1900
	for range 5 {
		r.render(fill(a, 0, 64, 1))
	}
	r.wait()
	require.NoError(t, r.kernel.Err())
	r.gpu.latency = 500
	r.gpu.auto = false
	r.ok(r.submit(other, fill(b, 0, 64, 1)))
	stuck := r.gpu.queues[1]
	r.gpu.queues[1] = nil
	for range 7 {
		r.render(fill(a, 0, 64, 1))
	}
	r.gpu.auto = true
	assert.Equal(t, ddi.StatusDeviceRemoved, r.thunks.WaitForIdle(r.thread, r.dev))
	var e *DeviceError
	require.ErrorAs(t, r.kernel.Err(), &e)
	assert.Equal(t, uint32(1), e.Node)
	assert.Equal(t, stuck[0].fence, e.Fence)
	assert.NotEmpty(t, r.gpu.queues[0], "node 0 still had work")
}

func TestFault(t *testing.T) {
	r := newRig(t, options{})
	a := r.alloc(64, system)
	r.render(fill(a, 0, 64, 1), command{op: opFault})
	r.mini.log = nil
	assert.Equal(t, ddi.StatusDeviceRemoved, r.thunks.WaitForIdle(r.thread, r.dev))
	assert.Equal(t, []string{
		"InterruptRoutine", "NotifyInterrupt type=4 fence=1 node=0", "QueueDpc", "DpcRoutine", "NotifyDpc", "CollectDbgInfo 0x117",
	}, r.mini.log)
	var e *DeviceError
	require.ErrorAs(t, r.kernel.Err(), &e)
	assert.Equal(t, []any{Fault, uint32(0), uint32(1)}, []any{e.Kind, e.Node, e.Fence})
	assert.ErrorIs(t, e, ddi.StatusGPUExceptionOnDevice)
	assert.Contains(t, e.Error(), "STATUS_GRAPHICS_GPU_EXCEPTION_ON_DEVICE")
	r.wantRemoved(t, a)
	assert.NoError(t, r.kernel.Stop(r.thread))
}

func TestFaultThatOnlyAQueryReveals(t *testing.T) {
	r := newRig(t, options{})
	a := r.alloc(64, system)
	r.mini.query = func(t *ddi.Thread, node uint32) (uint32, ddi.Status) {
		m := r.mini
		m.cb.SynchronizeExecution(t, m.cb.DeviceHandle, 0, func(t *ddi.Thread) bool {
			m.notify(t, kmddi.NotifyInterrupt{InterruptType: kmddi.InterruptDMAFaulted, FenceID: 1, Status: uint32(ddi.StatusGPUExceptionOnDevice)})
			return true
		})
		return 0, ddi.StatusSuccess
	}
	r.gpu.auto = false
	r.render(fill(a, 0, 64, 1))
	assert.Equal(t, ddi.StatusDeviceRemoved, r.thunks.WaitForIdle(r.thread, r.dev))
	var e *DeviceError
	require.ErrorAs(t, r.kernel.Err(), &e)
	assert.Equal(t, Fault, e.Kind)
}

func TestQueryThatFailsIsNoProgress(t *testing.T) {
	r := newRig(t, options{})
	a := r.alloc(64, system)
	r.gpu.auto = false
	r.mini.query = func(*ddi.Thread, uint32) (uint32, ddi.Status) { return 1, ddi.StatusIODeviceError }
	r.render(fill(a, 0, 64, 1))
	assert.Equal(t, ddi.StatusDeviceRemoved, r.thunks.WaitForIdle(r.thread, r.dev))
}

func TestRepeatedFenceIsIgnored(t *testing.T) {
	r := newRig(t, options{})
	a := r.alloc(64, system)
	r.mini.isr = func(t *ddi.Thread) {
		for range 2 {
			r.mini.notify(t, kmddi.NotifyInterrupt{InterruptType: kmddi.InterruptDMACompleted, FenceID: r.mini.read(t, regFence)})
		}
		r.mini.cb.QueueDpc(t, r.mini.cb.DeviceHandle)
	}
	r.render(fill(a, 0, 64, 1))
	r.wait()
	assert.Equal(t, uint64(1), r.kernel.Stats().Fences)
	r.finish()
}

func TestInterruptOfNobody(t *testing.T) {
	r := newRig(t, options{})
	require.NoError(t, r.gpu.machine.WriteMem(le.Uint64(r.gpu.bar0[msixTable:]), make([]byte, 4)))
	r.wait()
	assert.Equal(t, []uint64{1, 1, 0}, []uint64{r.kernel.Stats().Interrupts, r.kernel.Stats().Unclaimed, r.kernel.Stats().DPCs})
	r.finish()
}

// A miniport reads the memory of an application once in each call.
//
// docs/validator.md: V01.
func TestRenderReadsOnce(t *testing.T) {
	for _, tt := range []struct {
		name, want string
		read       func(arg kmddi.Render)
	}{
		{"each byte once", "", func(arg kmddi.Render) {
			arg.Command.Read(4, make([]byte, 8))
			arg.Command.Read(0, make([]byte, 4))
			arg.PatchLocationListIn.At(0)
		}},
		{"a byte again", "byte 7 of Command was read twice", func(arg kmddi.Render) {
			arg.Command.Read(0, make([]byte, 8))
			arg.Command.Read(7, make([]byte, 2))
			arg.Command.Read(0, make([]byte, 2))
		}},
		{"an element again", "element 0 of PatchLocationListIn was read twice", func(arg kmddi.Render) {
			arg.PatchLocationListIn.At(0)
			arg.PatchLocationListIn.At(0)
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, options{})
			a := r.alloc(64, system)
			for range 2 {
				r.mini.render = func(arg kmddi.Render) (kmddi.RenderOut, ddi.Status, bool) {
					tt.read(arg)
					return kmddi.RenderOut{}, ddi.StatusSuccess, true
				}
				r.reports = nil
				r.submit(&r.ctx, fill(a, 0, 64, 1))
				if tt.want == "" {
					assert.Empty(t, r.reports)
				} else {
					assert.Equal(t, []string{"command-twice: DxgkDdiRender: " + tt.want}, r.reports)
				}
			}
			r.reports = nil
			r.finish()
		})
	}
}

// A status of Render that is neither success nor an error drops the command, so
// the caller gets an error.
func TestRenderWithAnotherSuccess(t *testing.T) {
	r := newRig(t, options{})
	a := r.alloc(64, system)
	out(kmddi.RenderOut{}, 0x103)(r)
	assert.Equal(t, ddi.StatusUnsuccessful, r.submit(&r.ctx, fill(a, 0, 64, 1)))
	r.finish()
}
