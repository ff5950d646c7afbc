package miniport_test

import (
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/firmware"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

// restarted checks that the firmware was loaded again, that the context of queue 1 has its queue, and that its
// fences continue after 1.
func restarted(t *testing.T, k *kernel, f *fakeFirmware, ctx kmddi.HContext) {
	t.Helper()
	assert.Equal(t, program(t, firmware.Default()), k.gpu.loaded)
	require.GreaterOrEqual(t, len(f.requests), 4)
	assert.Equal(t, request{opHello, []uint32{1, 2}}, f.requests[0])
	assert.Equal(t, request{opNodeTake, []uint32{0, 0, 12}}, f.requests[1])
	assert.Equal(t, []uint32{0, 0, 3}, f.requests[2].payload[:3], "the queue of the system")
	assert.Equal(t, []uint32{1, 0, 1}, f.requests[3].payload[:3], "the queue of the context")
	assert.EqualValues(t, 1, k.gpu.regs[arbOwner])
	assert.EqualValues(t, 1|4|1<<7, k.gpu.regs[intcMask])
	assert.Contains(t, k.debug(t), "loaded again after it hung at pc 0x8")
	k.gpu.regs[intcStatus] = 0
	out, s := k.table.QueryCurrentFence(k.thread, k.adapter, kmddi.QueryCurrentFence{})
	require.Equal(t, ddi.StatusSuccess, s)
	assert.EqualValues(t, 1, out.CurrentFence)
	f.bells = nil
	k.work(t, ctx, 0, 1, 2, false)
	assert.Equal(t, []uint32{1 << 17}, f.bells)
	f.finish(1, 0)
	assert.Equal(t, completed(0, 2), k.interrupted(t))
	f.requests = nil
	require.Equal(t, ddi.StatusSuccess, k.table.DestroyContext(k.thread, ctx))
	assert.Equal(t, []request{{opQueueDestroy, []uint32{1}}}, f.requests)
}

// A firmware that hangs while nothing is submitted is loaded again by the next call, and nothing is lost.
func TestQueuesHangWithoutWork(t *testing.T) {
	for _, tt := range []struct {
		name string
		call func(t *testing.T, k *kernel, f *fakeFirmware, dev kmddi.HDevice)
	}{
		{"CreateContext", func(t *testing.T, k *kernel, f *fakeFirmware, dev kmddi.HDevice) {
			require.True(t, k.interrupt(1))
			k.context(t, dev, 0)
			assert.EqualValues(t, 2, f.requests[len(f.requests)-1].payload[0])
		}},
		{"CreateContext, lost event", func(t *testing.T, k *kernel, f *fakeFirmware, dev kmddi.HDevice) {
			k.gpu.regs[intcStatus] = 0
			k.context(t, dev, 0)
			assert.EqualValues(t, 2, f.requests[len(f.requests)-1].payload[0])
		}},
		{"Patch", func(t *testing.T, k *kernel, _ *fakeFirmware, _ kmddi.HDevice) {
			require.True(t, k.interrupt(1))
			require.Equal(t, ddi.StatusSuccess, k.table.Patch(k.thread, k.adapter, kmddi.Patch{}))
		}},
		{"QueryCurrentFence", func(t *testing.T, k *kernel, _ *fakeFirmware, _ kmddi.HDevice) {
			require.True(t, k.interrupt(1))
			_, s := k.table.QueryCurrentFence(k.thread, k.adapter, kmddi.QueryCurrentFence{})
			require.Equal(t, ddi.StatusSuccess, s)
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k, f, dev, ctx := idleQueues(t)
			k.gpu.hang(8)
			tt.call(t, k, f, dev)
			restarted(t, k, f, ctx)
		})
	}
}

// idleQueues returns a kernel with a context whose only work, fence 1, has completed.
func idleQueues(t *testing.T) (*kernel, *fakeFirmware, kmddi.HDevice, kmddi.HContext) {
	t.Helper()
	k, f := withQueues(t, 1)
	dev := k.device(t)
	ctx := k.context(t, dev, 0)
	k.work(t, ctx, 0, 1, 1, false)
	f.finish(1, 0)
	require.Equal(t, completed(0, 1), k.interrupted(t))
	f.requests, k.gpu.loaded = nil, nil
	return k, f, dev, ctx
}

// Contexts that share a queue share it after the load.
func TestQueuesHangWithSharedQueue(t *testing.T) {
	k, f, dev, ctx := idleQueues(t)
	for range 14 {
		k.context(t, dev, 0)
	}
	shared := k.context(t, dev, 0)
	k.gpu.hang(8)
	require.True(t, k.interrupt(1))
	require.Equal(t, ddi.StatusSuccess, k.table.Patch(k.thread, k.adapter, kmddi.Patch{}))
	f.requests = nil
	require.Equal(t, ddi.StatusSuccess, k.table.DestroyContext(k.thread, shared))
	assert.Empty(t, f.requests)
	require.Equal(t, ddi.StatusSuccess, k.table.DestroyContext(k.thread, ctx))
	assert.Equal(t, []request{{opQueueDestroy, []uint32{1}}}, f.requests)
}

// Work that is submitted during the load waits for its end.
func TestQueuesWorkDuringLoad(t *testing.T) {
	k, f, _, ctx := idleQueues(t)
	k.gpu.hang(8)
	require.True(t, k.interrupt(1))
	f.bells = nil
	k.hook = func(write bool, off uint32) {
		if write && off == mcuLoadAddr {
			k.hook = nil
			k.work(t, ctx, 0, 1, 2, false)
			k.table.DpcRoutine(k.thread, k.adapter)
		}
	}
	require.Equal(t, ddi.StatusSuccess, k.table.Patch(k.thread, k.adapter, kmddi.Patch{}))
	assert.Empty(t, f.bells)
	k.table.DpcRoutine(k.thread, k.adapter)
	assert.Equal(t, []uint32{1 << 17}, f.bells)
}

// After a second hang work is not executed, and no reset helps.
func TestQueuesHangTwiceWithoutWork(t *testing.T) {
	k, f, dev, _ := idleQueues(t)
	for range 2 {
		k.gpu.hang(8)
		k.gpu.loaded = nil
		k.context(t, dev, 0)
	}
	assert.Nil(t, k.gpu.loaded)
	f.bells = nil
	k.work(t, k.context(t, dev, 0), 0, 1, 2, false)
	assert.Equal(t, []uint32{1 << 16}, f.bells, "a time-out follows")
	assert.Contains(t, k.debug(t), "miniport: firmware not running: miniport: firmware hangs again at pc 0x8")
	require.Equal(t, ddi.StatusSuccess, k.table.ResetFromTimeout(k.thread, k.adapter))
	assert.Equal(t, ddi.StatusDeviceNotReady, k.table.RestartFromTimeout(k.thread, k.adapter))
}

// A context whose firmware does not answer, or hangs with work in its queues, shares the queue of the system, and
// its work is not executed. The reset begins again. A context from before is refused.
func TestQueuesWithoutAnswer(t *testing.T) {
	for _, tt := range []struct {
		name, says string
		bells      []uint32
		spoil      func(k *kernel, f *fakeFirmware, old kmddi.HContext)
	}{
		{"silent", "miniport: messages to the firmware fail: message: no answer", []uint32{1 << 16}, func(_ *kernel, f *fakeFirmware, _ kmddi.HContext) { f.silent = true }},
		{"work", "CP0: the work has failed: miniport: firmware hung", nil, func(k *kernel, _ *fakeFirmware, old kmddi.HContext) {
			k.work(t, old, 0, 1, 2, false)
			k.gpu.hang(8)
		}},
		{"lost submission", "CP0: the work has failed: ring: bad submission", nil, func(k *kernel, _ *fakeFirmware, old kmddi.HContext) {
			k.work(t, old, 0, 1, 1, false)
			k.gpu.hang(8)
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k, f, dev, old := idleQueues(t)
			tt.spoil(k, f, old)
			ctx := k.context(t, dev, 0)
			f.bells = nil
			k.work(t, ctx, 0, 1, 3, false)
			assert.Equal(t, tt.bells, f.bells)
			assert.Contains(t, k.debug(t), tt.says)
			require.Equal(t, ddi.StatusSuccess, k.table.DestroyContext(k.thread, ctx))
			require.Equal(t, ddi.StatusSuccess, k.table.ResetFromTimeout(k.thread, k.adapter))
			f.silent = false
			require.Equal(t, ddi.StatusSuccess, k.table.RestartFromTimeout(k.thread, k.adapter))
			k.gpu.regs[intcStatus], f.bells = 0, nil
			k.work(t, k.context(t, dev, 0), 0, 1, 4, false)
			assert.Equal(t, []uint32{1 << 17}, f.bells)
			k.work(t, old, 0, 1, 5, false)
			assert.Contains(t, k.debug(t), "miniport: bad argument: a context from before a reset")
		})
	}
}

// The status of a device that is lost is that of CreateContext.
func TestQueuesOfALostDevice(t *testing.T) {
	k, _, dev, _ := idleQueues(t)
	k.dead = true
	_, s := k.table.CreateContext(k.thread, dev, kmddi.HContext{Root: &ddi.Root{}}, kmddi.CreateContext{})
	assert.Equal(t, ddi.StatusIODeviceError, s)
}

// The text of CollectDbgInfo has the last lines of the log, if it has their formats. It leaves them in the ring. The DPC, each
// request and the end of the program take them, so the ring has room for later ones. Lines that are lost are an event.
func TestQueuesLog(t *testing.T) {
	k, f := withQueues(t, 1)
	assert.Contains(t, k.debug(t), "miniport: the log of the firmware is not read: log: formats of another build")
	require.Equal(t, ddi.StatusSuccess, k.table.ResetFromTimeout(k.thread, k.adapter))
	k.hook = func(write bool, off uint32) {
		if !write && off == mcuBuild {
			k.gpu.regs[mcuBuild] = binary.LittleEndian.Uint32(firmware.LogTable())
		}
	}
	require.Equal(t, ddi.StatusSuccess, k.table.RestartFromTimeout(k.thread, k.adapter))
	lines := func(from, to uint32) {
		for i := from; i < to; i++ {
			at := 0x3000 + 32*(i%128)
			f.set(at, i)
			f.set(at+4, 0xffff) // a format that does not exist
			f.set(at+8, 100+i)
		}
		f.set(0x48, to)
	}
	says := func(taken, lost, first int) {
		t.Helper()
		assert.Contains(t, k.debug(t), fmt.Sprintf("miniport: the log of the firmware, the last 16 of %d lines; %d more are lost\n   at %d: format 0xffff, arguments [0x0 0x0 0x0]\n   at %d: ",
			taken, lost, first, first+1))
		assert.Contains(t, k.debug(t), fmt.Sprintf("   at %d: ", first+15))
	}
	lines(0, 18)
	says(18, 0, 102)
	assert.Zero(t, f.word(0x28))
	k.gpu.regs[intcStatus] = 1
	k.interrupted(t)
	assert.EqualValues(t, 18, f.word(0x28), "the DPC takes the lines")
	lines(18, 18+128)
	says(146, 0, 230)
	k.logged = nil
	f.set(0x4c, 7)
	k.context(t, k.device(t), 0)
	assert.EqualValues(t, 146, f.word(0x28), "a request takes the lines")
	assert.Equal(t, []string{"miniport: the firmware writes more lines than its log has room for, and some are lost"}, k.logged)
	says(146, 7, 230)
	lines(146, 150)
	f.set(0x4c, 9)
	require.Equal(t, ddi.StatusSuccess, k.table.ResetFromTimeout(k.thread, k.adapter))
	require.Equal(t, ddi.StatusSuccess, k.table.RestartFromTimeout(k.thread, k.adapter))
	says(150, 9, 234)
	assert.Len(t, k.logged, 1, "lines that are lost are one event of each program")
	f.set(0x48, 129)
	assert.Contains(t, k.debug(t), "miniport: the log of the firmware is not read: log: bad ring: head 0, tail 129")
}
