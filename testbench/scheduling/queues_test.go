package scheduling

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/hostdriver/miniport"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/rtl/gpu"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

// withQueues returns a GPU with a microcontroller, and the settings for queues whose turns are
// short.
func withQueues(t testing.TB) (*gpu.GPU, []kmddi.Setting) {
	t.Helper()
	c := gpu.Full()
	c.VRAMBytes = vramBytes
	dev, err := gpu.New(c)
	require.NoError(t, err)
	return dev, []kmddi.Setting{{Name: miniport.SettingQueues, Value: 1}, {Name: miniport.SettingQuantum, Value: 2000}}
}

// completes handles interrupts until a fence of node 0 is complete.
func (r *rig) completes(fence uint32) {
	r.t.Helper()
	for done := false; !done; {
		for _, n := range r.await(kmddi.InterruptDMACompleted) {
			require.Equal(r.t, kmddi.InterruptDMACompleted, n.InterruptType)
			done = done || n.FenceID == fence
		}
	}
}

// sibling returns another context of a client's device.
func (c *client) sibling(node uint32) *client {
	o := *c
	o.ctx = kmddi.HContext{Root: &ddi.Root{}}
	_, s := c.r.table.CreateContext(c.r.thread, c.dev, o.ctx, kmddi.CreateContext{NodeOrdinal: node, EngineAffinity: 1})
	require.Equal(c.r.t, ddi.StatusSuccess, s)
	return &o
}

// TestQueuesPreempt preempts contexts whose work takes turns in the queues of the firmware. The
// second one waits for the first, since they share a device, and the third does not. What
// was not reported is submitted again, after a move, and all bytes are right.
func TestQueuesPreempt(t *testing.T) {
	tooltest.Long(t)
	want, otherWant, _ := undisturbed(t, device(t))
	copy(want[2][9000:], bytes.Repeat([]byte{0x5a}, 64))
	dev, settings := withQueues(t)
	counts := map[uint32]int{}
	ended := 0
	for after := 0; after < 27000; after += 3000 {
		r := newRig(t, dev, settings...)
		rng := rand.New(rand.NewPCG(3, 4))
		a, b := r.guilty(rng), r.victim(rng)
		fill := &command{}
		fill.add(pkt.Fill{Bytes: 64, Value: 0x5a5a5a5a5a5a5a5a}, use{2, 9000})
		jobs := []*job{a.render(long(), 0), a.sibling(0).render(fill, 0), b.render(other(), 0)}
		for i, j := range jobs {
			j.submit(uint32(i+1), false)
		}
		for range 2 {
			r.step(after)
			r.interrupts()
		}
		r.preempt(0, 4)
		notes := r.await(kmddi.InterruptDMAPreempted)
		last := notes[len(notes)-1].LastCompletedFenceID
		counts[last]++
		a.move(true)
		b.move(true)
		for i := last; i < 3; i++ {
			if jobs[i].where().stopped {
				ended++
			}
			jobs[i].submit(4+i, true)
		}
		if last < 3 {
			r.completes(6)
		}
		require.Equal(t, want, a.contents(), "after %d clocks", after)
		require.Equal(t, otherWant, b.contents(), "after %d clocks", after)
	}
	t.Logf("last completed fences: %v; %d complete before an earlier one", counts, ended)
	assert.Positive(t, counts[1])
	assert.Positive(t, counts[3])
	assert.Positive(t, ended)
}

// TestQueuesReset resets a node whose queues take turns. The guilty work is lost, that of the
// other contexts is complete, and the node takes work again.
func TestQueuesReset(t *testing.T) {
	tooltest.Long(t)
	want, otherWant, _ := undisturbed(t, device(t))
	dev, settings := withQueues(t)
	lost := map[uint32]int{}
	for after := 0; after < 24000; after += 3000 {
		r := newRig(t, dev, settings...)
		rng := rand.New(rand.NewPCG(3, 4))
		a, b := r.guilty(rng), r.victim(rng)
		c := r.guilty(rand.New(rand.NewPCG(3, 4)))
		clients := []*client{a, c}
		jobs := []*job{a.render(long(), 0), c.render(long(), 0)}
		for i, j := range jobs {
			j.submit(uint32(i+1), false)
		}
		r.step(after)
		r.interrupts()
		out, s := r.table.ResetEngine(r.thread, r.adapter, kmddi.ResetEngine{})
		require.Equal(t, ddi.StatusSuccess, s, r.text())
		last := out.LastAbortedFenceID
		r.notes = nil
		lost[last]++
		for i, j := range jobs {
			if w := j.where(); uint32(i+1) < last || w.stopped {
				require.Equal(t, want, clients[i].contents(), "fence %d after %d clocks", i+1, after)
				require.True(t, !w.stopped || w.at == w.end)
			}
		}
		b.render(other(), 0).submit(last+1, false)
		c.render(other(), 0).submit(last+2, false)
		a.render(other(), 0).submit(last+3, false)
		r.completes(last + 3)
		require.Equal(t, otherWant, b.contents(), "after %d clocks", after)
	}
	t.Logf("last aborted fences: %v", lost)
	assert.Positive(t, lost[1])
	assert.Positive(t, lost[2])
}
