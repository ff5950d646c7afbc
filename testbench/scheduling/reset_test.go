package scheduling

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/rtl/hostbfm"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

// reset calls ResetEngine.
func (r *rig) reset(node uint32) (uint32, ddi.Status) {
	out, s := r.table.ResetEngine(r.thread, r.adapter, kmddi.ResetEngine{NodeOrdinal: node})
	return out.LastAbortedFenceID, s
}

// TestResetAtEachClock resets a node at distances from the submission of long work, while the
// other node works. The work of the other node and of the next submission is right.
func TestResetAtEachClock(t *testing.T) {
	dev := device(t)
	want, otherWant, clocks := undisturbed(t, dev)
	aborted := 0
	for after := 0; after < clocks+200; after += 5 * *stride {
		r := newRig(t, dev)
		rng := rand.New(rand.NewPCG(3, 4))
		good, b := r.guilty(rng), r.victim(rng)
		bad := r.guilty(rng)
		work := good.render(long(), 1)
		bad.render(long(), 0).submit(7, false)
		bad.render(long(), 0).submit(8, false)
		work.submit(70, false)
		r.step(after)
		last, s := r.reset(0)
		require.Equal(t, ddi.StatusSuccess, s)
		require.Contains(t, []uint32{7, 8}, last)
		if last == 7 {
			aborted++
		}
		r.notes = nil
		b.render(other(), 0).submit(9, false)
		seen := map[uint32]uint32{}
		for seen[0] != 9 || seen[1] != 70 {
			for _, n := range r.await(kmddi.InterruptDMACompleted) {
				require.Equal(t, kmddi.InterruptDMACompleted, n.InterruptType)
				seen[n.NodeOrdinal] = n.FenceID
			}
		}
		require.Equal(t, want, good.contents(), "after %d clocks", after)
		require.Equal(t, otherWant, b.contents(), "after %d clocks", after)
	}
	assert.Positive(t, aborted)
}

// TestResetOfPreemptedNode resets a node that has a preemption due, and continues work that was
// stopped before.
func TestResetOfPreemptedNode(t *testing.T) {
	dev := device(t)
	want, otherWant, clocks := undisturbed(t, dev)
	for after := 500; after < clocks-500; after += 20 * *stride {
		r := newRig(t, dev)
		rng := rand.New(rand.NewPCG(3, 4))
		a, b := r.guilty(rng), r.victim(rng)
		bad := r.guilty(rng)
		j := a.render(long(), 0)
		j.submit(1, false)
		r.step(after)
		r.preempt(0, 2)
		r.await(kmddi.InterruptDMAPreempted)
		bad.render(long(), 0).submit(2, false)
		r.step(300)
		r.preempt(0, 3)
		last, s := r.reset(0)
		require.Equal(t, ddi.StatusSuccess, s)
		require.Equal(t, uint32(2), last)
		b.render(other(), 0).submit(3, false)
		j.submit(4, true)
		for fence := uint32(0); fence != 4; {
			for _, n := range r.await(kmddi.InterruptDMACompleted) {
				require.Equal(t, kmddi.InterruptDMACompleted, n.InterruptType, "the preemption was dropped")
				fence = n.FenceID
			}
		}
		require.Equal(t, want, a.contents(), "after %d clocks", after)
		require.Equal(t, otherWant, b.contents(), "after %d clocks", after)
	}
}

// TestResetOfHungNode hangs a node on a read that the host never answers. It makes no progress,
// does not answer PREEMPT and does not leave its reset, so the kernel must reset the adapter.
func TestResetOfHungNode(t *testing.T) {
	r := newRig(t, device(t))
	rng := rand.New(rand.NewPCG(3, 4))
	a, b := r.guilty(rng), r.victim(rng)
	lost := a.allocs[1].addr &^ pkt.Host
	r.Reading = func(d *hostbfm.Read) {
		if d.Req.Addr >= lost && d.Req.Addr < lost+uint64(a.allocs[1].bytes) {
			d.Due = 1 << 62
		}
	}
	m := &command{}
	m.add(pkt.Copy{Bytes: 4096}, use{1, 0}, use{0, 0})
	a.render(m, 0).submit(1, false)
	status := func() bool {
		out, s := r.table.QueryEngineStatus(r.thread, r.adapter, kmddi.QueryEngineStatus{})
		require.Equal(t, ddi.StatusSuccess, s)
		return out.Responsive
	}
	assert.True(t, status(), "it has moved since the last query")
	r.step(2000)
	status()
	r.step(2000)
	assert.False(t, status())
	r.preempt(0, 2)
	r.step(2000)
	r.interrupts()
	assert.Empty(t, r.notes)
	_, s := r.reset(0)
	assert.Equal(t, ddi.StatusIOTimeout, s)
	r.Reading = nil
	require.Equal(t, ddi.StatusSuccess, r.table.ResetFromTimeout(r.thread, r.adapter))
	for _, d := range r.Reads {
		d.Due = 0
	}
	require.Equal(t, ddi.StatusSuccess, r.table.RestartFromTimeout(r.thread, r.adapter))
	b.render(other(), 0).submit(2, false)
	assert.Equal(t, uint32(2), r.await(kmddi.InterruptDMACompleted)[0].FenceID)
}
