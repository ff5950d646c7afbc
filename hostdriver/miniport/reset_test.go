package miniport_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/regmap"
	"github.com/hilgpu/hilgpu/runtime/ddi"
)

func (k *kernel) reset() ddi.Status   { return k.table.ResetFromTimeout(k.thread, k.adapter) }
func (k *kernel) restart() ddi.Status { return k.table.RestartFromTimeout(k.thread, k.adapter) }

// stopped returns a kernel whose adapter has work on both nodes. Node 0 has
// stopped on a fault.
func stopped(t *testing.T) *kernel {
	k := started(t, 2)
	k.submit(t, 0, 0, 64, 100)
	k.submit(t, 0, 64, 128, 101)
	k.submit(t, 1, 0, 64, 7)
	k.gpu.complete(0, 100)
	k.gpu.fault(0, 1)
	require.True(t, k.interrupt(0))
	require.Equal(t, []string{
		"completed node 0 fence 0x64 status 0x0", "faulted node 0 fence 0x65 status 0xc01e0200", "QueueDpc",
	}, k.drain())
	return k
}

// After a reset no node runs and no interrupt is expected. After the restart
// the rings are empty and accept any fence, and earlier submissions are
// dropped.
func TestResetAndRestart(t *testing.T) {
	for _, tt := range []struct {
		name string
		edit func(k *kernel)
	}{
		{"the device is unchanged", func(*kernel) {}},
		{"it was powered off", func(k *kernel) { k.gpu = newGPU(2); k.command = 0x00100002 }},
		{"old events", func(k *kernel) { k.gpu.complete(1, 7); k.gpu.fault(1, 2) }},
		{"the nodes do not leave their resets", func(k *kernel) { k.gpu.resetReads = 2 << 12 }},
		{"node 0 ignores its reset", func(k *kernel) { k.gpu.ignores = 1 }},
		{"both nodes ignore their resets", func(k *kernel) { k.gpu.ignores = 2 }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k := stopped(t)
			tt.edit(k)
			memory := len(k.memory)
			require.Equal(t, ddi.StatusSuccess, k.reset())
			assert.Zero(t, k.gpu.regs[cp0Ctl]|k.gpu.regs[cp1Ctl]|k.gpu.regs[intcMask])
			k.gpu.complete(1, 7) // too late
			assert.False(t, k.interrupt(0))
			k.table.DpcRoutine(k.thread, k.adapter)
			assert.Empty(t, k.drain())

			for _, page := range k.memory {
				page[0], page[64] = 0xff, 0xff
			}
			require.Equal(t, ddi.StatusSuccess, k.restart())
			assert.Equal(t, uint32(0x00100006), k.command)
			assert.Equal(t, []uint32{1, 1, 0x303, 0}, []uint32{k.gpu.regs[cp0Ctl], k.gpu.regs[cp1Ctl], k.gpu.regs[intcMask], k.gpu.regs[intcStatus]})
			assert.Equal(t, []byte{0, 0}, []byte{k.memory[0x10000][0], k.memory[0x10000][64]}, "fence words")
			assert.Len(t, k.memory, memory)
			assert.NotContains(t, k.debug(t), "the ring has failed")
			assert.False(t, k.interrupt(0), "nothing is pending")

			k.submit(t, 0, 0, 64, 5)
			k.submit(t, 1, 0, 64, 8)
			assert.Equal(t, []uint32{4, 7}, []uint32{k.gpu.regs[cp0Fence], k.gpu.regs[cp1Fence]}, "the fence before the first")
			assert.Len(t, k.ringDwords(0), 9, "an INDIRECT and a FENCE")
			k.gpu.complete(0, 5)
			k.gpu.complete(1, 8)
			require.True(t, k.interrupt(0))
			assert.Equal(t, []string{"completed node 0 fence 0x5 status 0x0", "completed node 1 fence 0x8 status 0x0", "QueueDpc"}, k.drain())
			assert.Equal(t, ddi.StatusSuccess, k.table.StopDevice(k.thread, k.adapter))
			assert.Empty(t, k.memory)
		})
	}
}

// If ResetFromTimeout cannot identify the device, it does not touch it, and the
// device cannot access memory.
func TestResetRefuses(t *testing.T) {
	reg := func(off, v uint32) func(*kernel) { return func(k *kernel) { k.gpu.regs[off] = v } }
	for _, tt := range []struct {
		name string
		edit func(k *kernel)
		want ddi.Status
	}{
		{"another map", reg(idHash, regmap.Hash()^1), ddi.StatusRevisionMismatch},
		{"another magic", reg(idMagic, 0), ddi.StatusNoSuchDevice},
		{"one node fewer", reg(idCaps, 1|16<<8|16<<16|1<<29), ddi.StatusDeviceConfiguration},
		{"less VRAM", reg(idVRAM, 1<<19), ddi.StatusDeviceConfiguration},
		{"another clock", reg(idClock, 50_000_000), ddi.StatusDeviceConfiguration},
		{"no reset is ever done", func(k *kernel) { k.gpu.resetReads, k.gpu.wholeReads = 1<<30, 1<<30 }, ddi.StatusIOTimeout},
		{"all resets are ignored", func(k *kernel) { k.gpu.ignores = 3 }, ddi.StatusIOTimeout},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k := stopped(t)
			was := k.gpu.regs[intcMask]
			tt.edit(k)
			wrote := false
			k.hook = func(write bool, _ uint32) { wrote = wrote || write }
			assert.Equal(t, tt.want, k.reset())
			assert.Equal(t, uint32(0x00100002), k.command, "no bus master")
			if tt.want != ddi.StatusIOTimeout {
				assert.False(t, wrote)
				assert.Equal(t, was, k.gpu.regs[intcMask])
			}
			k.hook, k.gpu = nil, newGPU(2)
			require.Equal(t, ddi.StatusSuccess, k.reset())
			require.Equal(t, ddi.StatusSuccess, k.restart())
			k.submit(t, 0, 0, 64, 5)
			assert.NotContains(t, k.debug(t), "the ring has failed")
		})
	}
}

// A device whose reads have no time-out restarts when the host has answered all of them,
// which Transactions Pending shows. A device with it has other tags.
func TestRestartAwaitsReads(t *testing.T) {
	const caps2 = 0x48
	for _, tt := range []struct {
		caps2   uint32
		pending int
		want    ddi.Status
	}{
		{0, 100, ddi.StatusSuccess}, {0, 1 << 30, ddi.StatusIOTimeout}, {1, 1 << 30, ddi.StatusSuccess},
	} {
		k := newKernel(2)
		k.gpu.regs[caps2] = tt.caps2
		require.Equal(t, ddi.StatusSuccess, k.table.AddDevice(k.thread, k.adapter))
		_, s := k.start()
		require.Equal(t, ddi.StatusSuccess, s)
		require.Equal(t, ddi.StatusSuccess, k.reset())
		k.pending = tt.pending
		assert.Equal(t, tt.want, k.restart(), "%+v", tt)
		if tt.want != ddi.StatusSuccess {
			assert.Zero(t, k.gpu.regs[cp0Ctl]|k.gpu.regs[cp1Ctl], "no node runs")
			k.pending = 0
			require.Equal(t, ddi.StatusSuccess, k.reset())
			assert.Equal(t, ddi.StatusSuccess, k.restart())
		}
	}
}

// Each callback fails once. The functions return the failure and work the next
// time.
func TestResetFails(t *testing.T) {
	for n := 1; ; n++ {
		k := stopped(t)
		k.calls, k.failAt = 0, n
		s := k.reset()
		if s == ddi.StatusSuccess {
			s = k.restart()
		}
		if s == ddi.StatusSuccess {
			require.Less(t, k.calls, n, "the failure of a callback was not reported")
			assert.Greater(t, n, 25, "all callbacks have failed once")
			return
		}
		assert.Equal(t, ddi.StatusIODeviceError, s, "callback %d", n)
		k.gpu.regs[intcStatus] |= 1
		assert.False(t, k.interrupt(0), "callback %d: no interrupt is expected", n)
		require.Equal(t, ddi.StatusSuccess, k.reset(), "callback %d", n)
		require.Equal(t, ddi.StatusSuccess, k.restart(), "callback %d", n)
		k.submit(t, 1, 0, 64, 5)
		k.gpu.complete(1, 5)
		assert.True(t, k.interrupt(0), "callback %d", n)
	}
}

func TestResetOrder(t *testing.T) {
	k := newKernel(2)
	assert.Equal(t, []ddi.Status{ddi.StatusInvalidHandle, ddi.StatusInvalidHandle}, []ddi.Status{k.reset(), k.restart()}, "no adapter")
	require.Equal(t, ddi.StatusSuccess, k.table.AddDevice(k.thread, k.adapter))
	assert.Equal(t, []ddi.Status{ddi.StatusInvalidHandle, ddi.StatusInvalidHandle}, []ddi.Status{k.reset(), k.restart()}, "not started")
	_, s := k.start()
	require.Equal(t, ddi.StatusSuccess, s)
	assert.Equal(t, ddi.StatusInvalidParameter, k.restart(), "not reset")
	require.Equal(t, ddi.StatusSuccess, k.reset())
	assert.Equal(t, ddi.StatusSuccess, k.table.StopDevice(k.thread, k.adapter), "in between")
	assert.Empty(t, k.memory)
}
