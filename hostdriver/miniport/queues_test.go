package miniport_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

// StartDevice gives the firmware windows, blocks and nodes, and creates a queue of the highest priority for the
// work of the system on each node. VRAM has 12 KiB less. StopDevice takes the nodes back.
func TestQueuesStart(t *testing.T) {
	k, f := withQueues(t, 2)
	g := k.gpu
	assert.EqualValues(t, 1<<1|1<<4|1<<16|1<<17, g.regs[mcuBlocks])
	assert.Equal(t, [3]uint32{1<<20 - 3*4096, 0, 2*4096 | 1}, [3]uint32{g.regs[0x680], g.regs[0x684], g.regs[0x688]}, "window 0")
	assert.Equal(t, [2]uint32{1 << 31, 28<<10 | 1}, [2]uint32{g.regs[0x694], g.regs[0x698]}, "window 1")
	assert.Equal(t, [3]uint32{1<<20 - 4096, 0, 4096 | 1}, [3]uint32{g.regs[0x6a0], g.regs[0x6a4], g.regs[0x6a8]}, "window 2")
	assert.EqualValues(t, 3, g.regs[arbOwner])
	assert.EqualValues(t, 1|2|4|1<<7, g.regs[intcMask], "DONE, FIRMWARE and HUNG; the firmware handles faults")
	require.Len(t, f.requests, 5)
	assert.Equal(t, []request{
		{opHello, []uint32{1, 1}}, {opNodeTake, []uint32{0, 0, 12}}, {opNodeTake, []uint32{1, 4096, 12}},
	}, f.requests[:3])
	for node := range uint32(2) {
		assert.Equal(t, []uint32{node, node, 3, 100_000}, f.created[node][:4])
	}
	out, s := k.table.QueryAdapterInfo(k.thread, k.adapter, kmddi.QueryAdapterInfo{Type: kmddi.InfoQuerySegment})
	require.Equal(t, ddi.StatusSuccess, s)
	assert.EqualValues(t, 1<<20-3*4096, out.Segments.Segments[0].Size)
	require.Equal(t, ddi.StatusSuccess, k.table.StopDevice(k.thread, k.adapter))
	assert.Zero(t, g.regs[arbOwner])
	assert.Zero(t, g.regs[mcuCtl])
	assert.Empty(t, k.memory)
}

// StartDevice fails if the device cannot do what the settings ask for. It frees all that it has allocated.
func TestQueuesNotPossible(t *testing.T) {
	for _, tt := range []struct {
		name string
		edit func(k *kernel, f *fakeFirmware)
		want ddi.Status
		says string
	}{
		{"no microcontroller", func(k *kernel, _ *fakeFirmware) { k.gpu.regs[idCaps2] = 0 }, ddi.StatusNotSupported, "queues: the GPU lacks signal,mcu"},
		{"no preemption", func(k *kernel, _ *fakeFirmware) { k.gpu.regs[idCaps] &^= 1 << 26 }, ddi.StatusNotSupported, "queues: the GPU lacks preemption"},
		{"small VRAM", func(k *kernel, _ *fakeFirmware) { k.gpu.regs[idVRAM] = 32 << 10 }, ddi.StatusNotSupported, "32768 bytes of VRAM, want at least 65536"},
		{"boot fails", func(k *kernel, _ *fakeFirmware) { k.gpu.boot = 10 }, ddi.StatusDeviceNotReady, "self-test failed"},
		{"no messages", func(k *kernel, _ *fakeFirmware) { k.gpu.bell = nil }, ddi.StatusDeviceNotReady, "no message area"},
		{"no answer", func(_ *kernel, f *fakeFirmware) { f.silent = true }, ddi.StatusDeviceNotReady, "no answer"},
		{"node refused", func(_ *kernel, f *fakeFirmware) { f.statuses[opNodeTake] = []uint32{0, 8} }, ddi.StatusDeviceNotReady, "NODE_TAKE: REFUSED"},
		{"short quantum", func(k *kernel, _ *fakeFirmware) {
			k.info.Settings = append(k.info.Settings, kmddi.Setting{Name: "FirmwareQuantum", Value: 999})
		}, ddi.StatusInvalidParameter, "quantum of 999 clocks"},
		{"short period", func(k *kernel, _ *fakeFirmware) {
			k.info.Settings = append(k.info.Settings, kmddi.Setting{Name: "FirmwareTelemetry", Value: 1023})
		}, ddi.StatusInvalidParameter, "samples each 1023 clocks, want at least 1024"},
		{"lost device", func(k *kernel, _ *fakeFirmware) { k.gpu.bell = func(uint32) { k.dead = true } }, ddi.StatusIODeviceError, "STATUS_IO_DEVICE_ERROR"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k, f := unstarted(t, 2)
			tt.edit(k, f)
			_, s := k.start()
			assert.Equal(t, tt.want, s)
			require.Len(t, k.logged, 1)
			assert.Contains(t, k.logged[0], tt.says)
			assert.Empty(t, k.memory)
			assert.Zero(t, k.mapped)
		})
	}
}

// Each context has a queue of its own, until there are none. Then contexts share the queue of their node that
// has the fewest. A queue that the last context leaves is free again.
func TestQueuesOfContexts(t *testing.T) {
	k, f := withQueues(t, 2, kmddi.Setting{Name: "FirmwareQuantum", Value: 2000}, kmddi.Setting{Name: "FirmwarePreempt", Value: 1})
	dev := k.device(t)
	var all []kmddi.HContext
	for i := range uint32(14) {
		all = append(all, k.context(t, dev, i%2))
		c := f.created[2+i]
		assert.Equal(t, []uint32{2 + i, i % 2, 1, 1<<31 | 2000}, c[:4])
		assert.Equal(t, make([]byte, 128), f.memory(c[7], c[8])[:128], "the save area")
	}
	shared := k.context(t, dev, 1)
	k.work(t, shared, 1, 1, 1, false)
	assert.Equal(t, []uint32{1 << (16 + 3)}, f.bells, "the first queue of node 1")
	k.context(t, dev, 1)
	require.Len(t, f.created, 16)
	f.statuses[opQueueDestroy] = []uint32{statusBusy, statusBusy}
	require.Equal(t, ddi.StatusSuccess, k.table.DestroyContext(k.thread, all[1]))
	require.Len(t, f.created, 16, "queue 3 has another context")
	require.Equal(t, ddi.StatusSuccess, k.table.DestroyContext(k.thread, all[2]))
	require.Len(t, f.created, 15, "the request is repeated while the node is busy")
	assert.NotContains(t, f.created, uint32(4))
	k.context(t, dev, 1)
	assert.EqualValues(t, 1, f.created[4][1])
	f.statuses[opQueueCreate] = []uint32{statusState}
	require.Equal(t, ddi.StatusSuccess, k.table.DestroyContext(k.thread, all[4]))
	_, s := k.table.CreateContext(k.thread, dev, kmddi.HContext{Root: &ddi.Root{}}, kmddi.CreateContext{})
	assert.Equal(t, ddi.StatusNoMemory, s)
}

// A node that cannot stop makes each answer late: BUSY after HALT_CLOCKS. The driver waits for it and repeats the request.
// If the node never stops, it keeps the queue, and messages still work.
func TestQueueOfANodeThatCannotStop(t *testing.T) {
	const haltClocks, trip = 1 << 20, 20
	for _, stops := range []bool{true, false} {
		k, f := withQueues(t, 1)
		ctx := k.context(t, k.device(t), 0)
		k.gpu.trip = trip
		f.statuses[opQueueDestroy] = []uint32{statusBusy}
		if !stops {
			f.statuses[opQueueDestroy] = slices.Repeat([]uint32{statusBusy}, 100)
		}
		f.silent = true
		since := -1
		k.hook = func(write bool, off uint32) {
			switch now := int(k.gpu.regs[idTime]); {
			case write && off == mcuDoorbell:
				f.silent, since = true, now
			case off == mcuStatus && since >= 0 && now-since >= haltClocks:
				f.silent, since = false, -1
				f.ring(1)
			}
		}
		require.Equal(t, ddi.StatusSuccess, k.table.DestroyContext(k.thread, ctx))
		k.hook, f.silent = nil, false
		debug := k.debug(t)
		if stops {
			assert.NotContains(t, debug, "messages to the firmware fail")
			assert.NotContains(t, f.created, uint32(1))
			continue
		}
		assert.Contains(t, debug, "messages to the firmware fail: message: request refused: QUEUE_DESTROY: BUSY")
		assert.Contains(t, f.created, uint32(1))
		k.context(t, k.device(t), 0)
		assert.Contains(t, f.created, uint32(2), "messages still work")
	}
}

// A request whose answer is there at once needs no read of the time, and one that gets BUSY needs one for each BUSY.
func TestQueueReadsOfTheTime(t *testing.T) {
	for busy := range 3 {
		k, f := withQueues(t, 1)
		ctx := k.context(t, k.device(t), 0)
		f.statuses[opQueueDestroy] = slices.Repeat([]uint32{statusBusy}, busy)
		reads := 0
		k.hook = func(write bool, off uint32) {
			if !write && off == idTime {
				reads++
			}
		}
		require.Equal(t, ddi.StatusSuccess, k.table.DestroyContext(k.thread, ctx))
		assert.NotContains(t, f.created, uint32(1))
		assert.Equal(t, busy, reads)
	}
}

// A context without a queue of its node shares that of the system.
func TestQueueOfTheSystemIsShared(t *testing.T) {
	k, f := withQueues(t, 2)
	dev := k.device(t)
	for range 14 {
		k.context(t, dev, 0)
	}
	k.work(t, k.context(t, dev, 1), 1, 1, 1, false)
	assert.Equal(t, []uint32{1 << (16 + 1)}, f.bells)
}

// An entry has the address of the part, its length, and the address and the value of the progress, whose low
// half is the fence.
func TestQueueEntry(t *testing.T) {
	k, f := withQueues(t, 1)
	ctx := k.context(t, k.device(t), 0)
	for id := uint32(0xfffffffe); id != 3; id++ {
		k.work(t, ctx, 0, id&7, id, false)
		e := f.entry(1)
		if id&7 != 0 {
			assert.Equal(t, [2]uint32{0x20040, 1 << 31}, [2]uint32(e[:2]))
		}
		assert.Equal(t, []uint32{id & 7, 0}, e[2:4])
		assert.Equal(t, id, e[6])
		f.finish(1, 0)
		assert.Equal(t, []string{fmt.Sprintf("completed node 0 fence %#x status 0x0", id)}, k.interrupted(t))
	}
	assert.EqualValues(t, 5, f.word(0x84))
	assert.Equal(t, []uint32{1 << 17, 1 << 17, 1 << 17, 1 << 17, 1 << 17}, f.bells)
}
