package miniport_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

const exception = "0xc01e0200" // STATUS_GRAPHICS_GPU_EXCEPTION_ON_DEVICE

func TestInterruptRoutine(t *testing.T) {
	const queue = "QueueDpc"
	completed := func(node, fence uint32) string {
		return fmt.Sprintf("completed node %d fence %#x status 0x0", node, fence)
	}
	faulted := func(node, fence uint32) string {
		return fmt.Sprintf("faulted node %d fence %#x status %s", node, fence, exception)
	}
	for _, tt := range []struct {
		name   string
		before func(k *kernel) // runs after ids 1 to 3 were submitted to both nodes
		ours   bool
		events []string
		status uint32 // INTC.STATUS afterwards
	}{
		{"nothing", func(*kernel) {}, false, nil, 0},
		{"a fence", func(k *kernel) { k.gpu.complete(0, 1) }, true, []string{completed(0, 1), queue}, 0},
		{"several fences at once", func(k *kernel) { k.gpu.complete(0, 3) }, true, []string{completed(0, 3), queue}, 0},
		{"the other node", func(k *kernel) { k.gpu.complete(1, 2) }, true, []string{completed(1, 2), queue}, 0},
		{"both nodes", func(k *kernel) { k.gpu.complete(0, 2); k.gpu.complete(1, 1) }, true,
			[]string{completed(0, 2), completed(1, 1), queue}, 0},
		{"a node without an event is not read", func(k *kernel) { k.gpu.complete(0, 1); k.gpu.regs[cp1Fence] = 1 }, true,
			[]string{completed(0, 1), queue}, 0},
		{"an event without a fence", func(k *kernel) { k.gpu.regs[intcStatus] = 1 }, true, []string{queue}, 0},
		{"an event of something else", func(k *kernel) { k.gpu.regs[intcStatus] = 1 << 4 }, false, nil, 1 << 4},
		{"one of ours and one of something else", func(k *kernel) { k.gpu.complete(0, 1); k.gpu.regs[intcStatus] |= 1 << 4 }, true,
			[]string{completed(0, 1), queue}, 1 << 4},
		{"a fence beyond the last submission", func(k *kernel) { k.gpu.complete(0, 4) }, true, []string{queue}, 0},
		{"a fence of all ones", func(k *kernel) { k.gpu.complete(0, 0xffffffff) }, true, []string{queue}, 0},
		{"a fault in the first", func(k *kernel) { k.gpu.fault(0, 1) }, true, []string{faulted(0, 1), queue}, 0},
		{"a fault after a fence", func(k *kernel) { k.gpu.complete(1, 2); k.gpu.fault(1, 5) }, true,
			[]string{completed(1, 2), faulted(1, 3), queue}, 0},
		{"a fault event without a cause", func(k *kernel) { k.gpu.regs[intcStatus] = 0x100 }, true, []string{queue}, 0},
		{"a fault with nothing submitted", func(k *kernel) { k.gpu.complete(0, 3); k.gpu.fault(0, 11) }, true,
			[]string{completed(0, 3), queue}, 0},
		{"a fault with an impossible fence", func(k *kernel) { k.gpu.complete(0, 9); k.gpu.fault(0, 1) }, true, []string{queue}, 0},
		{"the status cannot be read", func(k *kernel) { k.gpu.complete(0, 1); k.failAt = k.calls + 1 }, false, nil, 1},
		{"the acknowledge is lost", func(k *kernel) { k.gpu.complete(0, 1); k.failAt = k.calls + 2 }, true,
			[]string{completed(0, 1), queue}, 1},
		{"the fence cannot be read", func(k *kernel) { k.gpu.complete(0, 1); k.failAt = k.calls + 3 }, true, []string{queue}, 0},
		{"a fault whose fence cannot be read", func(k *kernel) { k.gpu.fault(0, 1); k.failAt = k.calls + 3 }, true, []string{queue}, 0},
		{"the cause cannot be read", func(k *kernel) { k.gpu.fault(0, 1); k.failAt = k.calls + 4 }, true, []string{queue}, 0},
		{"a dead link", func(k *kernel) { k.gpu.complete(0, 1); k.dead = true }, false, nil, 1},
	} {
		for message := range uint32(2) {
			t.Run(fmt.Sprintf("%s, message %d", tt.name, message), func(t *testing.T) {
				k := started(t, 2)
				for id := uint32(1); id <= 3; id++ {
					k.submit(t, 0, 0, 4, id)
					k.submit(t, 1, 0, 4, id)
				}
				tt.before(k)
				assert.Equal(t, tt.ours, k.interrupt(message))
				assert.Equal(t, tt.events, k.drain())
				assert.Equal(t, tt.status, k.gpu.regs[intcStatus])
			})
		}
	}
}

// TestInterruptOfOneNode has an event of a node that does not exist.
func TestInterruptOfOneNode(t *testing.T) {
	k := started(t, 1)
	k.submit(t, 0, 0, 4, 1)
	k.gpu.regs[intcStatus] = 0x202
	k.hook = func(_ bool, off uint32) { assert.Less(t, off, uint32(cp1Ctl)) }
	assert.False(t, k.interrupt(0))
}

// TestEventDuringInterrupt raises an event at each register access of the
// routine: this call must report it, or it must stay pending for the next
// message.
func TestEventDuringInterrupt(t *testing.T) {
	for n := range 3 { // status, acknowledge, fence
		k := started(t, 1)
		k.submit(t, 0, 0, 4, 1)
		k.submit(t, 0, 0, 4, 2)
		k.gpu.complete(0, 1)
		access := 0
		k.hook = func(bool, uint32) {
			if access == n {
				k.gpu.complete(0, 2)
			}
			access++
		}
		require.True(t, k.interrupt(0))
		require.Equal(t, 3, access)
		k.hook = nil
		k.interrupt(0)
		events := strings.Join(k.drain(), ", ")
		assert.Equal(t, 1, strings.Count(events, "fence 0x2 "), "access %d: %s", n, events)
		assert.LessOrEqual(t, strings.Count(events, "fence 0x1 "), 1)
	}
}

func TestInterruptsReportOnce(t *testing.T) {
	k := started(t, 1)
	for id := uint32(0xfffffffe); id != 2; id++ {
		k.submit(t, 0, 0, 4, id)
	}
	for _, id := range []uint32{0xfffffffe, 0xfffffffe, 0, 0, 1} {
		k.gpu.complete(0, id)
		k.interrupt(0)
	}
	assert.Equal(t, []string{
		"completed node 0 fence 0xfffffffe status 0x0", "QueueDpc", "QueueDpc",
		"completed node 0 fence 0x0 status 0x0", "QueueDpc", "QueueDpc",
		"completed node 0 fence 0x1 status 0x0", "QueueDpc",
	}, k.drain())
}

// TestInterruptInsideSubmit delivers the interrupt of a submission during its
// doorbell write.
func TestInterruptInsideSubmit(t *testing.T) {
	k := started(t, 1)
	k.submit(t, 0, 0, 4, 1)
	k.hook = func(write bool, off uint32) {
		if write && off == cp0Wptr {
			k.hook = nil
			k.gpu.complete(0, 2)
			assert.True(t, k.interrupt(0))
		}
	}
	k.submit(t, 0, 0, 4, 2)
	assert.Equal(t, []string{"completed node 0 fence 0x2 status 0x0", "QueueDpc"}, k.drain())
	k.submit(t, 0, 0, 4, 3)
	assert.NotContains(t, k.debug(t), "the ring has failed")
}

func TestFaultStopsSubmissions(t *testing.T) {
	k := started(t, 2)
	k.submit(t, 0, 0, 4, 1)
	k.gpu.fault(0, 9)
	require.True(t, k.interrupt(1))
	before := k.gpu.regs[cp0Wptr]
	k.submit(t, 0, 0, 4, 2)
	assert.Equal(t, before, k.gpu.regs[cp0Wptr])
	k.submit(t, 1, 0, 4, 1)
	assert.Equal(t, uint32(9), k.gpu.regs[cp0Wptr+cpStride], "the other node continues")
}

// docs/properties.md: F1.
// docs/validator.md: V24.
func TestImpossibleFenceStopsSubmissions(t *testing.T) {
	k := started(t, 1)
	k.submit(t, 0, 0, 4, 1)
	k.gpu.complete(0, 2)
	require.True(t, k.interrupt(0))
	before := k.gpu.regs[cp0Wptr]
	k.submit(t, 0, 0, 4, 2)
	assert.Equal(t, before, k.gpu.regs[cp0Wptr])
	assert.Contains(t, k.debug(t), "the ring has failed: ring: impossible fence: CP0.FENCE 2, want 0 to 1\n")
}

func TestDpcRoutine(t *testing.T) {
	k := started(t, 1)
	k.table.DpcRoutine(k.thread, k.adapter)
	assert.Equal(t, []string{"NotifyDpc"}, k.drain())
}

func TestQueryCurrentFence(t *testing.T) {
	for _, tt := range []struct {
		name   string
		arg    kmddi.QueryCurrentFence
		before func(k *kernel)
		fence  uint32
		want   ddi.Status
		events []string
	}{
		{"nothing completed", kmddi.QueryCurrentFence{}, func(*kernel) {}, 0, success, nil},
		{"a lost interrupt", kmddi.QueryCurrentFence{}, func(k *kernel) { k.gpu.regs[cp0Fence] = 2 }, 2, success,
			[]string{"completed node 0 fence 0x2 status 0x0", "QueueDpc"}},
		{"on the other node", kmddi.QueryCurrentFence{NodeOrdinal: 1}, func(k *kernel) { k.gpu.regs[cp1Fence] = 1 }, 1, success,
			[]string{"completed node 1 fence 0x1 status 0x0", "QueueDpc"}},
		{"already reported", kmddi.QueryCurrentFence{}, func(k *kernel) { k.gpu.complete(0, 2); k.interrupt(0); k.drain() }, 2, success, nil},
		{"no such node", kmddi.QueryCurrentFence{NodeOrdinal: 2}, func(*kernel) {}, 0, parameter, nil},
		{"no such engine", kmddi.QueryCurrentFence{EngineOrdinal: 1}, func(*kernel) {}, 0, parameter, nil},
		{"an impossible fence", kmddi.QueryCurrentFence{}, func(k *kernel) { k.gpu.regs[cp0Fence] = 3 }, 0, success, nil},
		{"a dead link after an impossible fence", kmddi.QueryCurrentFence{}, func(k *kernel) {
			k.gpu.regs[cp0Fence] = 3
			k.table.QueryCurrentFence(k.thread, k.adapter, kmddi.QueryCurrentFence{})
			k.dead = true
		}, 0, ddi.StatusIODeviceError, nil},
		{"a dead link", kmddi.QueryCurrentFence{}, func(k *kernel) { k.dead = true }, 0, ddi.StatusIODeviceError, nil},
		{"SynchronizeExecution fails", kmddi.QueryCurrentFence{}, func(k *kernel) { k.failAt = k.calls + 1 }, 0, ddi.StatusUnsuccessful, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k := started(t, 2)
			for id := uint32(1); id <= 2; id++ {
				k.submit(t, 0, 0, 4, id)
				k.submit(t, 1, 0, 4, id)
			}
			tt.before(k)
			out, s := k.table.QueryCurrentFence(k.thread, k.adapter, tt.arg)
			assert.Equal(t, tt.want, s)
			assert.Equal(t, tt.fence, out.CurrentFence)
			assert.Equal(t, tt.events, k.drain())
		})
	}
	t.Run("a fence that could not be reported is not lost", func(t *testing.T) {
		k := started(t, 1)
		k.submit(t, 0, 0, 4, 1)
		k.gpu.complete(0, 1)
		k.failAt = k.calls + 3
		require.True(t, k.interrupt(0))
		k.drain()
		out, s := k.table.QueryCurrentFence(k.thread, k.adapter, kmddi.QueryCurrentFence{})
		assert.Equal(t, success, s)
		assert.Equal(t, uint32(1), out.CurrentFence)
		assert.Equal(t, []string{"completed node 0 fence 0x1 status 0x0", "QueueDpc"}, k.drain())
	})
}

func TestCollectDbgInfo(t *testing.T) {
	stuck := func(t *testing.T) *kernel {
		k := started(t, 2)
		for id := uint32(1); id <= 2; id++ {
			k.submit(t, 0, 0, 8, id)
		}
		k.gpu.complete(0, 1)
		k.interrupt(0)
		k.gpu.regs[cp0Rptr] = 9
		k.gpu.regs[0x1024], k.gpu.regs[0x1028] = 0x20004, 0x80000000 // FAULT_ADDR
		k.gpu.fault(0, 5)
		k.interrupt(1)
		return k
	}
	line := func(text, prefix string) string {
		for _, l := range strings.Split(text, "\n") {
			if strings.HasPrefix(l, prefix) {
				return l
			}
		}
		return ""
	}
	t.Run("a fault", func(t *testing.T) {
		text := stuck(t).debug(t)
		assert.Contains(t, text, "reason 0x117\n")
		assert.Contains(t, text, "CP0: last submitted fence 2, last reported 1, fence register 1, fence word 0\n")
		assert.Contains(t, text, "CP0: fault ADDRESS at HOST+0x20004\n")
		assert.Contains(t, text, "CP0: the ring has failed: miniport: node stopped: CP0: ADDRESS\n")
		assert.Contains(t, text, "\n   0x8000000000020010 FENCE addr=HOST+0x10000 id=1 irq=1\n")
		assert.Equal(t, "=> 0x8000000000020024 INDIRECT addr=HOST+0x20000 dwords=2 resume=0", line(text, "=>"))
		assert.Equal(t, 1, strings.Count(text, "=>"))
		assert.Contains(t, text, "CP0.FAULT_INFO=0x5 (CAUSE=ADDRESS)\n")
		assert.Contains(t, text, "ID.MAGIC=0x47504c48\n")
		assert.Contains(t, text, "CP1.CTL=0x1 (RUN=1 RESET=0 ")
		assert.Contains(t, text, "CP1: all submissions have completed\n")
		assert.Contains(t, text, "\n0 of ")
	})
	t.Run("a dead link", func(t *testing.T) {
		k := stuck(t)
		k.dead = true
		before := k.calls
		text := k.debug(t)
		assert.Equal(t, 2, k.calls-before, "each read may wait for a time-out")
		assert.Contains(t, text, "last submitted fence 2, last reported 1, fence register not read")
		assert.Contains(t, text, "CP0: fault cause unknown, FAULT_INFO not read\n")
		assert.Contains(t, text, "CP0: RPTR not read, the stop is a guess from the fences\n")
		assert.Equal(t, "=> 0x8000000000020024 INDIRECT addr=HOST+0x20000 dwords=2 resume=0", line(text, "=>"))
		assert.Contains(t, text, "ID.MAGIC: not read: STATUS_IO_DEVICE_ERROR\n")
		assert.Contains(t, text, "CP0.RPTR: not read: not tried\n")
		assert.NotContains(t, text, "0xffffffff")
	})
	t.Run("one register cannot be read", func(t *testing.T) {
		k := stuck(t)
		k.failAt = k.calls + 1
		text := k.debug(t)
		assert.Contains(t, text, "ID.MAGIC: not read: STATUS_IO_DEVICE_ERROR\n")
		assert.Contains(t, text, "\n1 of ")
	})
	t.Run("a read pointer outside the ring", func(t *testing.T) {
		k := stuck(t)
		k.gpu.regs[cp0Rptr] = 1024
		text := k.debug(t)
		assert.Contains(t, text, "CP0: RPTR 1024 is outside the ring of 1024 dwords, the stop is a guess from the fences\n")
		assert.Contains(t, text, "=> 0x8000000000020024 INDIRECT")
	})
	t.Run("a read pointer inside a packet", func(t *testing.T) {
		k := stuck(t)
		k.gpu.regs[cp0Rptr] = 17
		assert.Contains(t, line(k.debug(t), "=>"), "0x8000000000020034 FENCE")
	})
	t.Run("a ring that was overwritten", func(t *testing.T) {
		k := stuck(t)
		copy(k.memory[0x20000][4*9:], words(0xdeadbeef))
		assert.Contains(t, line(k.debug(t), "=>"), "0x8000000000020024 .word 0xdeadbeef ; ")
	})
	t.Run("a cause without a name", func(t *testing.T) {
		k := stuck(t)
		k.gpu.regs[cp0FaultInfo] = 15
		assert.Contains(t, k.debug(t), "CP0: fault cause 15 at HOST+0x20004\n")
	})
	t.Run("a small buffer", func(t *testing.T) {
		k := stuck(t)
		b := make([]byte, 10)
		out, s := k.table.CollectDbgInfo(k.thread, k.adapter, kmddi.CollectDbgInfo{Buffer: b})
		assert.Equal(t, success, s)
		assert.Equal(t, 10, out.Length)
		assert.Equal(t, "miniport: ", string(b))
	})
}
