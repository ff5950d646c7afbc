package miniport_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/hostdriver/miniport"
	"github.com/hilgpu/hilgpu/rtl/abi/intcreg"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

func TestSchedulingCaps(t *testing.T) {
	for caps, want := range map[uint32]kmddi.DriverCaps{
		0:       {SupportPerEngineTDR: true},
		1 << 25: {SupportPerEngineTDR: true},
		1 << 26: {SupportPerEngineTDR: true},
		capsPreempt: {
			PreemptionAware: true, CancelCommandAware: true, SupportPerEngineTDR: true,
			PreemptionCaps: kmddi.PreemptionCaps{GraphicsPreemptionGranularity: kmddi.GraphicsPreemptionPrimitiveBoundary},
		},
	} {
		k := newKernel(1)
		k.gpu.regs[idCaps] |= caps
		require.Equal(t, success, k.table.AddDevice(k.thread, k.adapter))
		_, s := k.start()
		require.Equal(t, success, s)
		assert.Equal(t, want, miniport.SchedulingCaps(k.adapter), "%#x", caps)
	}
}

// responsive calls QueryEngineStatus for node 1.
func (k *kernel) responsive(t testing.TB) bool {
	t.Helper()
	out, s := k.table.QueryEngineStatus(k.thread, k.adapter, kmddi.QueryEngineStatus{NodeOrdinal: 1})
	require.Equal(t, success, s)
	return out.Responsive
}

func TestQueryEngineStatus(t *testing.T) {
	k := started(t, 2)
	assert.True(t, k.responsive(t), "nothing is outstanding")
	k.submit(t, 1, 0, 4, 1)
	k.gpu.regs[cp0Rptr+cpStride] = 1
	assert.True(t, k.responsive(t), "it has moved")
	assert.False(t, k.responsive(t))
	k.gpu.regs[cp0Rptr] = 7
	assert.False(t, k.responsive(t), "the other node has moved")
	k.gpu.regs[cp0IBLo+cpStride] = 4
	assert.True(t, k.responsive(t), "it is further in its buffer")
	assert.False(t, k.responsive(t))
	k.gpu.complete(1, 1)
	assert.True(t, k.responsive(t))
	k.answered(t)
	assert.True(t, k.responsive(t), "nothing is outstanding")
	k.dead = true
	_, s := k.table.QueryEngineStatus(k.thread, k.adapter, kmddi.QueryEngineStatus{})
	assert.Equal(t, ddi.StatusIODeviceError, s)
}

func TestQueryDependentEngineGroup(t *testing.T) {
	k := started(t, 2)
	for node, want := range []uint64{1, 2} {
		out, s := k.table.QueryDependentEngineGroup(k.thread, k.adapter, kmddi.QueryDependentEngineGroup{NodeOrdinal: uint32(node)})
		assert.Equal(t, success, s)
		assert.Equal(t, want, out.DependentNodeOrdinalMask)
	}
}

func TestEngineArguments(t *testing.T) {
	k := started(t, 2)
	for _, tt := range []struct {
		h            kmddi.HAdapter
		node, engine uint32
		want         ddi.Status
	}{
		{k.adapter, 1, 0, success},
		{k.adapter, 2, 0, ddi.StatusInvalidParameter},
		{k.adapter, 0, 1, ddi.StatusInvalidParameter},
		{kmddi.HAdapter{}, 0, 0, ddi.StatusInvalidHandle},
		{kmddi.HAdapter{Root: &ddi.Root{}}, 0, 0, ddi.StatusInvalidHandle},
	} {
		_, s := k.table.QueryEngineStatus(k.thread, tt.h, kmddi.QueryEngineStatus{NodeOrdinal: tt.node, EngineOrdinal: tt.engine})
		assert.Equal(t, tt.want, s)
		_, s = k.table.QueryDependentEngineGroup(k.thread, tt.h, kmddi.QueryDependentEngineGroup{NodeOrdinal: tt.node, EngineOrdinal: tt.engine})
		assert.Equal(t, tt.want, s)
		_, s = k.table.ResetEngine(k.thread, tt.h, kmddi.ResetEngine{NodeOrdinal: tt.node, EngineOrdinal: tt.engine})
		assert.Equal(t, tt.want, s)
	}
}

// resetNode calls ResetEngine for a node.
func (k *kernel) resetNode(node uint32) (uint32, ddi.Status) {
	k.drain()
	out, s := k.table.ResetEngine(k.thread, k.adapter, kmddi.ResetEngine{NodeOrdinal: node})
	return out.LastAbortedFenceID, s
}

func TestResetEngine(t *testing.T) {
	for _, tt := range []struct {
		name string
		do   func(k *kernel)
		last uint32
		says []string
	}{
		{"the second executes", func(k *kernel) { k.gpu.complete(0, 0xffffffff) }, 0, []string{"completed node 0 fence 0xffffffff status 0x0", "QueueDpc"}},
		{"the first executes", func(*kernel) {}, 0xffffffff, nil},
		{"all have completed, and were not reported", func(k *kernel) { k.gpu.complete(0, 1) }, 1, []string{"completed node 0 fence 0x1 status 0x0", "QueueDpc"}},
		{"all are reported", func(k *kernel) { k.gpu.complete(0, 1); k.interrupt(0); k.drain() }, 1, nil},
		{"after a fault", func(k *kernel) { k.gpu.complete(0, 0xffffffff); k.gpu.fault(0, 13); k.interrupt(0); k.drain() }, 0, nil},
		{"a node that does not answer PREEMPT", func(k *kernel) {
			k.gpu.complete(0, 0xffffffff)
			k.table.PreemptCommand(k.thread, k.adapter, kmddi.PreemptCommand{PreemptionFenceID: 2})
			k.drain()
		}, 0, nil},
		{"a fence that it cannot have reached", func(k *kernel) { k.gpu.complete(0, 9) }, 0xffffffff, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k := preemptible(t, 2)
			for id := range uint32(3) {
				k.submit(t, 0, 0, 4, 0xffffffff+id)
				k.submit(t, 1, 0, 4, 7+id)
			}
			k.gpu.complete(1, 7)
			k.answered(t)
			before := map[uint32]uint32{}
			for off, v := range k.gpu.regs {
				if off&^0xff == cp1Ctl {
					before[off] = v
				}
			}
			tt.do(k)
			last, s := k.resetNode(0)
			require.Equal(t, success, s)
			assert.Equal(t, tt.last, last)
			assert.Equal(t, tt.says, k.drain(), "what has completed is reported, and nothing of the reset")
			k.interrupt(0)
			assert.NotContains(t, k.drain(), "preempted node 0 fence 0x2 last 0x0")
			for off, v := range before {
				assert.Equal(t, v, k.gpu.regs[off], "the other node is untouched: %#x", off)
			}
			current, events := k.query(t)
			assert.Equal(t, last, current)
			assert.Empty(t, events)
			k.submit(t, 0, 0, 0, last+1)
			assert.Equal(t, []uint32{0x10000004, 0x10000, 0x80000000, last + 1, 1}, k.ringDwords(0))
			k.gpu.complete(0, last+1)
			k.gpu.complete(1, 9)
			assert.Equal(t, []string{event("completed node 0 fence %#x status 0x0", last+1), "completed node 1 fence 0x9 status 0x0", "QueueDpc"}, k.answered(t))
			assert.NotContains(t, k.debug(t), "the ring has failed")
		})
	}
}

// TestResetEngineInterrupts lets an interrupt arrive at each register access of a reset, in
// which a fence completes: it is reported only with what the reset finds, and then the next one is aborted.
func TestResetEngineInterrupts(t *testing.T) {
	accesses := 0
	for at := 1; at == 1 || at <= accesses; at++ {
		k := preemptible(t, 2)
		k.submit(t, 0, 0, 4, 1)
		k.submit(t, 0, 0, 4, 2)
		n := 0
		k.hook = func(bool, uint32) {
			if n++; n == at && k.thread.IRQL() < ddi.DIRQL {
				k.gpu.complete(0, 1)
				k.interrupt(0)
			}
			accesses = max(accesses, n)
		}
		last, s := k.resetNode(0)
		k.hook = nil
		require.Equal(t, success, s)
		reported := false
		for _, e := range k.drain() {
			reported = reported || e == "completed node 0 fence 0x1 status 0x0"
			assert.Contains(t, []string{"QueueDpc", "completed node 0 fence 0x1 status 0x0"}, e, "at %d", at)
		}
		assert.Equal(t, map[bool]uint32{true: 2, false: 1}[reported], last, "at %d", at)
		k.gpu.regs[cp0Fence] = last
		k.submit(t, 0, 0, 4, last+1)
		assert.NotContains(t, k.debug(t), "the ring has failed")
	}
	assert.Greater(t, accesses, 8)
}

// TestResetEngineFails leaves a node to the reset of the adapter.
func TestResetEngineFails(t *testing.T) {
	for name, tt := range map[string]struct {
		edit func(k *kernel)
		want ddi.Status
	}{
		"it ignores the reset":       {func(k *kernel) { k.gpu.ignores = 1 }, ddi.StatusIOTimeout},
		"it does not leave it":       {func(k *kernel) { k.gpu.resetReads = 1 << 30 }, ddi.StatusIOTimeout},
		"the function was reset":     {func(k *kernel) { k.gpu.regs[intcreg.Base+intcreg.Mask] = 0 }, ddi.StatusDeviceConfiguration},
		"the link is dead":           {func(k *kernel) { k.dead = true }, ddi.StatusIODeviceError},
		"no synchronized execution":  {func(k *kernel) { k.calls, k.failAt = 0, 1 }, ddi.StatusUnsuccessful},
		"the ring cannot be written": {func(k *kernel) { k.calls, k.failAt = 0, 6 }, ddi.StatusIODeviceError},
	} {
		t.Run(name, func(t *testing.T) {
			k := preemptible(t, 2)
			k.submit(t, 0, 0, 4, 1)
			tt.edit(k)
			_, s := k.resetNode(0)
			assert.Equal(t, tt.want, s)
			k.dead, k.failAt, k.gpu.resetReads, k.gpu.ignores = false, 0, 0, 0
			require.Equal(t, success, k.table.ResetFromTimeout(k.thread, k.adapter))
			require.Equal(t, success, k.table.RestartFromTimeout(k.thread, k.adapter))
			k.submit(t, 0, 0, 4, 2)
			k.gpu.complete(0, 2)
			assert.Equal(t, []string{"completed node 0 fence 0x2 status 0x0", "QueueDpc"}, k.answered(t))
		})
	}
}
