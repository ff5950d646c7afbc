package fwtest

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/arbreg"
	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/fwabi"
	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/abi/mcureg"
	"github.com/hilgpu/hilgpu/rtl/abi/pcicfg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/rtl/gpu"
)

// until lets clocks pass until done returns true.
func (r *queueRig) until(done func() bool) {
	r.t.Helper()
	for n := 0; !done(); n++ {
		require.Less(r.t, n, 1000)
		r.step(100)
	}
}

// A GPU that lacks what queues need refuses NODE_TAKE. It may lack the others.
func TestQueueNodeOfOtherGPUs(t *testing.T) {
	for _, tt := range []struct {
		without caps.Set
		want    uint32
	}{
		{caps.Contexts, fwabi.StatusRefused},
		{caps.Preemption, fwabi.StatusRefused},
		{caps.Signal, fwabi.StatusRefused},
		{caps.Timeline | caps.Trace | caps.Watchdog | caps.Protection | caps.Counters | caps.GART, fwabi.StatusOK},
	} {
		c := gpu.Full()
		c.MCUBytes = 32 << 10
		c.Caps &^= tt.without
		r := newIdleRig(t, newConfigured(t, c, 1))
		r.load()
		got, _ := r.request(fwabi.OpNodeTake, 0, 0, 10)
		assert.Equal(t, tt.want, got, "without %v", tt.without)
	}
}

// The host takes a node that does not run, because its queue is held, resets it and gives it back. The queue stops when it must continue, nothing is
// executed, and the other node continues.
func TestQueueNodeIsResetAtRest(t *testing.T) {
	r := newQueueRig(t)
	r.guardVRAM()
	r.create(neighbour, 1, 1, 20_000)
	r.create(stranger, 0, 1, 20_000)
	r.post(4, neighbour, stranger)
	r.step(10_000)
	r.must(fwabi.OpPreempt, neighbour)
	r.q[neighbour].held = true
	done := 4 - uint32(len(r.q[neighbour].values))
	require.Less(t, done, uint32(4))
	require.NoError(t, r.Write(arbreg.Base+arbreg.Owner, 1))
	require.NoError(t, r.Write(cpreg.Base+cpreg.Stride+cpreg.Ctl, cpreg.CtlReset))
	require.NoError(t, r.Write(arbreg.Base+arbreg.Owner, 3))
	r.quiesce()
	assert.Empty(t, r.notices)
	r.q[neighbour].fails, r.q[neighbour].held, r.q[neighbour].values = true, false, nil
	r.must(fwabi.OpResume, neighbour)
	r.quiesce()
	assert.Equal(t, [][4]uint32{{fwabi.OpFault, 1, neighbour, fwabi.CauseLost}}, r.notices)
	assert.LessOrEqual(t, r.word(fwabi.AreaQueueHeads+4*neighbour), done)
	assert.EqualValues(t, 4, r.word(fwabi.AreaQueueHeads+4*stranger))
}

// A reset of the device or of the function ends the firmware, the nodes and the queues. Nothing is written after it, and
// all works again after the next boot.
func TestQueueDeviceIsReset(t *testing.T) {
	for name, reset := range map[string]func(r *queueRig){
		"device": func(r *queueRig) {
			require.NoError(r.t, r.Write(idreg.Base+idreg.Reset, idreg.ResetWhole))
			r.until(func() bool {
				v, err := r.Read(idreg.Base + idreg.Reset)
				require.NoError(r.t, err)
				return v == 0
			})
		},
		"function": func(r *queueRig) {
			r.SetConfig(pcicfg.DevCtl, pcicfg.DevCtlReset)
			r.until(func() bool {
				command := uint32(pcicfg.CommandMemory)
				r.GetConfig(pcicfg.Command, func(v uint32) { command = v })
				r.end()
				return command&pcicfg.CommandMemory == 0
			})
			r.SetConfig(pcicfg.BAR0, bar0)
			r.SetConfig(pcicfg.Command, pcicfg.CommandMemory|pcicfg.CommandBusMaster)
			r.end()
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newQueueRig(t)
			r.guardVRAM()
			for i := range uint32(3) {
				r.create(victim+i, int(1-i/2), 1, 2000)
			}
			r.post(4, victim, neighbour, stranger)
			r.until(func() bool { return r.progress > 1 })
			require.Less(t, r.progress, 10)
			reset(r)
			before := string(r.Mem)
			r.ring(victim)
			r.step(100_000)
			assert.True(t, before == string(r.Mem), "a write after the reset")
			v, err := r.Read(mcureg.Base + mcureg.Ctl)
			require.NoError(t, err)
			assert.Zero(t, v&mcureg.CtlRun)
			r.restart()
			progress := r.progress
			r.post(3, victim, neighbour, stranger)
			r.quiesce()
			assert.Equal(t, progress+9, r.progress)
			assert.Empty(t, r.notices)
		})
	}
}

// The doorbells of queues that do not exist do nothing, also with a tail. A queue that is created later does not execute them.
func TestQueueDoorbellOfNoQueue(t *testing.T) {
	r := newQueueRig(t)
	r.guardVRAM()
	r.create(neighbour, 1, 1, 20_000)
	for i := range uint32(fwabi.Queues) {
		if i != neighbour {
			r.set(fwabi.AreaQueueTails+4*i, 3)
		}
	}
	r.post(2, neighbour)
	require.NoError(t, r.Write(mcureg.Base+mcureg.Doorbell, fwabi.BellQueue*(1<<fwabi.Queues-1)))
	r.quiesce()
	assert.Equal(t, 2, r.progress)
	assert.Empty(t, r.notices)
	assert.Equal(t, make([]uint32, 5), r.must(fwabi.OpQueueState, victim))
	r.create(victim, 1, 1, 20_000)
	r.post(2, victim, neighbour)
	r.quiesce()
	assert.Equal(t, 6, r.progress)
	assert.Empty(t, r.notices)
}

// A save area outside of VRAM and of host memory is a fault of its queue. The other queue of the node completes, and
// nothing is written outside.
func TestQueueSaveAreaIsOutside(t *testing.T) {
	for name, tt := range map[string]struct {
		save  uint64
		cause uint32
	}{
		"after VRAM":             {16 << 20, cpreg.CauseAddress},
		"below host memory":      {pkt.Host - fwabi.SaveBytes, cpreg.CauseAddress},
		"more than 48 bits":      {pkt.Host | 1<<48, cpreg.CauseAddress},
		"the host has no memory": {pkt.Host | memBase + 1<<30, cpreg.CauseReadError},
	} {
		t.Run(name, func(t *testing.T) {
			r := newQueueRig(t)
			r.guardVRAM()
			r.create(neighbour, 1, 1, 20_000)
			r.createAt(victim, 1, 1, 20_000, tt.save)
			r.post(3, neighbour)
			r.post(2, victim)
			r.q[victim].fails, r.q[victim].values = true, nil
			r.post(1, neighbour)
			r.quiesce()
			assert.Equal(t, [][4]uint32{{fwabi.OpFault, 1, victim, tt.cause}}, r.notices)
			assert.Equal(t, 4, r.progress)
			assert.EqualValues(t, 4, r.word(fwabi.AreaQueueHeads+4*neighbour))
			assert.Zero(t, r.word(fwabi.AreaQueueHeads+4*victim))
		})
	}
}
