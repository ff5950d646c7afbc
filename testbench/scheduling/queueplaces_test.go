package scheduling

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/rtl/gpu"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

// Rounds are preemptions one after the other on one GPU, since the boot of the firmware takes longer than a round.
type rounds struct {
	*rig
	freeHost, freeVRAM uint64
	fence              uint32 // the next one of each node
	clients            []*client
}

func newRounds(t testing.TB, dev *gpu.GPU, settings []kmddi.Setting) *rounds {
	r := &rounds{rig: newRig(t, dev, settings...), fence: 1}
	r.freeHost, r.freeVRAM = r.host, r.vram
	return r
}

// begin frees what the round before has used, and returns the owner of long work for each of n devices, and one of other work.
func (r *rounds) begin(n int) (owners []*client, other *client) {
	for _, c := range r.clients {
		require.Equal(r.t, ddi.StatusSuccess, r.table.DestroyContext(r.thread, c.ctx))
		require.Equal(r.t, ddi.StatusSuccess, r.table.DestroyDevice(r.thread, c.dev))
	}
	r.interrupts()
	r.host, r.vram, r.notes = r.freeHost, r.freeVRAM, nil
	rng := rand.New(rand.NewPCG(3, 4))
	owners = append(owners, r.guilty(rng))
	other = r.victim(rng)
	for len(owners) < n {
		owners = append(owners, r.guilty(rand.New(rand.NewPCG(3, 4))))
	}
	r.clients = append([]*client{other}, owners...)
	return owners, other
}

// next returns the next fence.
func (r *rounds) next() uint32 {
	r.fence++
	return r.fence - 1
}

// stop preempts a node, and returns the last completed fence and the clocks until the report.
func (r *rounds) stop(node uint32) (last uint32, clocks uint64) {
	id := r.next()
	began := r.Clocks
	r.preempt(node, id)
	notes := r.await(kmddi.InterruptDMAPreempted)
	n := notes[len(notes)-1]
	require.Equal(r.t, id, n.FenceID)
	return n.LastCompletedFenceID, r.Clocks - began
}

// longer is long work with the same result, which begins with copies. While they are executed the firmware, which has given
// them to the node, falls asleep: before it stops the node only where it looks at its doorbells.
func longer() *command {
	m := &command{}
	m.add(surface(pkt.Source, 4864, 1200, 4), use{0, 0})
	for range 4 {
		m.add(pkt.Copy{Bytes: 9000}, use{1, 7}, use{2, 1})
	}
	m.add(surface(pkt.Dest, 4800, 1200, 3), use{1, 0})
	for range 3 {
		m.add(pkt.Copy2D{SrcX: 20, SrcY: 1, DstX: 3, W: 1150, H: 3})
	}
	l, at := long(), uint32(len(m.b))
	for _, p := range l.list {
		p.PatchOffset += at
		m.list = append(m.list, p)
	}
	m.b = append(m.b, l.b...)
	return m
}

// TestQueuesPreemptAtEachClock is TestPreemptAtEachClock with the queues of the firmware: of one context, and of two that
// take turns of 2000 clocks, so that a queue may have stopped before, at the end of its turn.
//
// docs/properties.md: S5.
func TestQueuesPreemptAtEachClock(t *testing.T) {
	tooltest.Long(t)
	want, otherWant, _ := undisturbed(t, device(t))
	dev, settings := withQueues(t)
	all := map[string]int{}
	for _, tt := range []struct {
		meeting
		contexts, from, until, strides int
	}{
		{meeting{name: "one context, in place"}, 1, 9000, 22000, 15},
		{meeting{name: "one context, moved", moves: true}, 1, 9100, 22000, 11},
		{meeting{name: "one context, moved to other memory", moves: true, swaps: true}, 1, 9200, 22000, 14},
		{meeting{name: "two contexts, moved to other memory", moves: true, swaps: true}, 2, 2000, 50000, 50},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := &tt.meeting
			m.bins = all
			r := newRounds(t, dev, settings)
			for after := tt.from; after < tt.until; after += tt.strides * *stride {
				owners, victim := r.begin(tt.contexts)
				m.queues(r, owners, victim, after)
				for _, a := range owners {
					require.Equal(t, want, a.contents(), "after %d clocks", after)
				}
				require.Equal(t, otherWant, victim.contents(), "after %d clocks", after)
			}
			require.NotContains(t, r.text(), "failed:")
			t.Logf("at most %d clocks to the report", m.slowest)
		})
	}
	t.Logf("%v", all)
	for _, bin := range []string{"complete", "not begun", "inside a row", "between rows or pieces", "between packets"} {
		assert.Positive(t, all[bin], bin)
	}
}

// queues preempts long work of each owner after some clocks, lets other work run, and continues the long work.
func (m *meeting) queues(r *rounds, owners []*client, victim *client, after int) {
	var jobs []*job
	first := r.fence
	for _, a := range owners {
		j := a.render(longer(), 0)
		j.submit(r.next(), false)
		jobs = append(jobs, j)
	}
	r.step(after)
	r.interrupts()
	last, clocks := r.stop(0)
	m.slowest = max(m.slowest, clocks)
	for i, j := range jobs {
		m.count(j.where(), first+uint32(i)-last > 1<<31 || first+uint32(i) == last)
	}
	if m.moves {
		for _, a := range append(owners, victim) {
			a.move(m.swaps)
		}
	}
	victim.render(other(), 0).submit(r.next(), false)
	for i, j := range jobs {
		if id := first + uint32(i); id > last {
			j.submit(r.next(), true)
		}
	}
	r.completes(r.fence - 1)
}

// TestQueuesPreemptAgainAndAgain preempts work of two contexts that continues, until it is complete. Its allocations move each
// time. Sometimes the second one continues first.
func TestQueuesPreemptAgainAndAgain(t *testing.T) {
	want, _, _ := undisturbed(t, device(t))
	dev, settings := withQueues(t)
	r := newRounds(t, dev, settings)
	most := 0
	for every := 4600; every < 12000; every += 37 * *stride {
		owners, _ := r.begin(2)
		jobs := []*job{owners[0].render(long(), 0), owners[1].render(long(), 0)}
		stops := 0
		for again := []bool{false, false}; len(jobs) > 0; stops++ {
			require.Less(t, stops, 40, "every %d clocks", every)
			first := r.fence
			for i, j := range jobs {
				j.submit(r.next(), again[i])
			}
			r.step(every)
			r.interrupts()
			last, _ := r.stop(0)
			var left []*job
			again = nil
			for i, j := range jobs {
				if first+uint32(i) > last {
					left, again = append(left, j), append(again, true)
				}
			}
			if len(left) == 2 && stops%3 == 0 {
				left[0], left[1] = left[1], left[0]
			}
			jobs = left
			for _, a := range owners {
				a.move(stops%2 == 0)
			}
		}
		most = max(most, stops)
		for _, a := range owners {
			require.Equal(t, want, a.contents(), "every %d clocks", every)
		}
	}
	t.Logf("at most %d preemptions", most)
	assert.Greater(t, most, 4)
	require.NotContains(t, r.text(), "failed:")
}

// TestQueuesPreemptPaging is TestPreemptPaging with the queues of the firmware.
func TestQueuesPreemptPaging(t *testing.T) {
	tooltest.Long(t)
	dev, settings := withQueues(t)
	r := newRounds(t, dev, settings)
	inside := 0
	for after := 2000; after < 9000; after += 10 * *stride {
		r.begin(0)
		p := r.pager(rand.New(rand.NewPCG(5, 6)))
		id := r.next()
		p.submit(id, false)
		r.step(after)
		for n, wait := range []int{0, 5000} {
			r.step(wait)
			last, _ := r.stop(1)
			if last == id {
				break
			}
			if p.private[4]&1 != 0 {
				inside++
			}
			p.submit(id, true)
			if n == 1 {
				r.await(kmddi.InterruptDMACompleted)
			}
		}
		require.NotContains(t, r.text(), "failed:")
		require.True(t, bytes.Equal(p.old, r.load(p.out, pagedBytes)), "the evicted allocation, after %d clocks", after)
		require.True(t, bytes.Equal(p.new, r.load(p.at, pagedBytes)), "the one in its place, after %d clocks", after)
	}
	assert.Positive(t, inside)
}
