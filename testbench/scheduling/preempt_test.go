package scheduling

import (
	"encoding/binary"
	"flag"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/rtl/gpu"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

var stride = flag.Int("scheduling.stride", 31, "clocks between two preemptions that are tried")

// device returns a GPU with little VRAM.
func device(t testing.TB) *gpu.GPU {
	t.Helper()
	c := gpu.Default()
	c.VRAMBytes = vramBytes
	dev, err := gpu.New(c)
	require.NoError(t, err)
	return dev
}

// surface sets a surface of 32-bit elements, all of which is in the clip.
func surface(i pkt.Surface, pitch uint32, w, h uint16) pkt.SetState {
	return pkt.SetState{Surface: i, Pitch: pitch, Format: pkt.Format32, X1: w, Y1: h}
}

// long is work of all kinds of data packets: rows of more than a piece, linear packets of
// several pieces, and packets that read what earlier ones have written.
func long() *command {
	m := &command{}
	m.add(surface(pkt.Source, 4864, 1200, 4), use{0, 0})
	m.add(surface(pkt.Dest, 4800, 1200, 3), use{1, 0})
	m.add(pkt.Copy2D{SrcX: 20, SrcY: 1, DstX: 3, W: 1150, H: 3})
	m.add(pkt.Copy{Bytes: 9001}, use{1, 7}, use{2, 1})
	m.add(pkt.Fill{Bytes: 4999, Value: 0x1122334455667788}, use{3, 3})
	m.add(pkt.NOP{Skip: 5})
	m.add(surface(pkt.Dest, 512, 128, 30), use{3, 0})
	m.add(pkt.Fill2D{X: 5, Y: 2, W: 90, H: 9, Value: 0xa1b2c3d4})
	m.add(pkt.Copy2D{SrcX: 0, SrcY: 0, DstX: 40, DstY: 4, W: 60, H: 4})
	m.add(surface(pkt.Source, 512, 128, 30), use{3, 0})
	m.add(surface(pkt.Dest, 1024, 200, 10), use{0, 0})
	m.add(pkt.Copy2D{SrcX: 3, SrcY: 2, DstX: 9, DstY: 1, W: 100, H: 8})
	m.add(pkt.Copy{Bytes: 100}, use{2, 0}, use{3, 9000})
	m.add(pkt.Copy{Bytes: 100}, use{3, 9000}, use{3, 10000})
	return m
}

// other is work that changes both surfaces.
func other() *command {
	m := &command{}
	m.add(surface(pkt.Source, 128, 32, 8), use{0, 0})
	m.add(surface(pkt.Dest, 64, 16, 8), use{1, 0})
	m.add(pkt.Copy2D{W: 16, H: 8})
	return m
}

// guilty creates the client of long work, and victim that of other work.
func (r *rig) guilty(rng *rand.Rand) *client {
	c := r.client(0)
	for i, n := range []int{19456, 14400, 9104, 15360} {
		c.add(n, i%2 == 0, rng)
	}
	return c
}

func (r *rig) victim(rng *rand.Rand) *client {
	c := r.client(0)
	c.add(1024, true, rng)
	c.add(512, false, rng)
	return c
}

// undisturbed returns the contents after long and other work, and the clocks of the long one.
func undisturbed(t testing.TB, dev *gpu.GPU) (want, otherWant [][]byte, clocks int) {
	t.Helper()
	r := newRig(t, dev)
	rng := rand.New(rand.NewPCG(3, 4))
	a, b := r.guilty(rng), r.victim(rng)
	began := r.Clocks
	before := a.contents()
	a.render(long(), 0).submit(1, false)
	r.await(kmddi.InterruptDMACompleted)
	clocks = int(r.Clocks - began)
	b.render(other(), 0).submit(2, false)
	r.await(kmddi.InterruptDMACompleted)
	want = a.contents()
	for i := range want {
		require.NotEqual(t, before[i], want[i], "allocation %d", i)
	}
	return want, b.contents(), clocks
}

// where is the place in the private data of a buffer.
type where struct {
	stopped           bool
	at, end, progress uint32
}

func (j *job) where() where {
	word := func(i int) uint32 { return binary.LittleEndian.Uint32(j.private[4*i:]) }
	return where{word(1)&1 != 0, word(4), word(3), word(5)}
}

// A meeting is a preemption some clocks after a submission.
type meeting struct {
	name         string
	moves, swaps bool
	bins         map[string]int
	slowest      uint64 // clocks from the request to its report
}

// run preempts long work after some clocks, lets other work run, and continues it.
func (m *meeting) run(t testing.TB, dev *gpu.GPU, after int) (got, otherGot [][]byte) {
	t.Helper()
	r := newRig(t, dev)
	rng := rand.New(rand.NewPCG(3, 4))
	a, b := r.guilty(rng), r.victim(rng)
	j, k := a.render(long(), 0), b.render(other(), 0)
	j.submit(1, false)
	r.step(after)
	r.preempt(0, 2)
	began := r.Clocks
	notes := r.await(kmddi.InterruptDMAPreempted)
	m.slowest = max(m.slowest, r.Clocks-began)
	last := notes[len(notes)-1]
	done := last.LastCompletedFenceID == 1
	require.Equal(t, kmddi.NotifyInterrupt{InterruptType: kmddi.InterruptDMAPreempted, FenceID: 2, LastCompletedFenceID: last.LastCompletedFenceID}, last)
	require.Equal(t, done, len(notes) == 2, "a fence that counts is reported")
	m.count(j.where(), done)
	if m.moves {
		a.move(m.swaps)
	}
	k.submit(2, false)
	if !done {
		j.submit(3, true)
	}
	for fence := uint32(0); fence < 2 || !done && fence < 3; {
		for _, n := range r.await(kmddi.InterruptDMACompleted) {
			require.Equal(t, kmddi.InterruptDMACompleted, n.InterruptType)
			fence = n.FenceID
		}
	}
	require.NotContains(t, r.text(), "failed:")
	return a.contents(), b.contents()
}

// count counts where a preemption stopped the node.
func (m *meeting) count(w where, done bool) {
	switch {
	case done:
		m.bins["complete"]++
	case !w.stopped:
		m.bins["not begun"]++
	case w.at == w.end:
		m.bins["only the fence left"]++
	case w.progress>>pkt.RowBits != 0:
		m.bins["inside a row"]++
	case w.progress != 0:
		m.bins["between rows or pieces"]++
	default:
		m.bins["between packets"]++
	}
}

// TestPreemptAtEachClock preempts long work at each distance in clocks from its submission,
// lets other work change the surfaces, and continues it. All bytes are those of a run
// without preemption, also if all allocations have moved in between, to the same memory
// or to the other one, and nothing is written where they were.
func TestPreemptAtEachClock(t *testing.T) {
	tooltest.Long(t)
	dev := device(t)
	want, otherWant, clocks := undisturbed(t, dev)
	for _, m := range []*meeting{{name: "in place"}, {name: "moved", moves: true}, {name: "moved to other memory", moves: true, swaps: true}} {
		t.Run(m.name, func(t *testing.T) {
			m.bins = map[string]int{}
			for after := 0; after < clocks+200; after += *stride {
				got, otherGot := m.run(t, dev, after)
				require.Equal(t, want, got, "after %d clocks", after)
				require.Equal(t, otherWant, otherGot, "after %d clocks", after)
			}
			t.Logf("%d clocks of work; %v; at most %d clocks to the report", clocks, m.bins, m.slowest)
			for _, bin := range []string{"complete", "inside a row", "between rows or pieces", "between packets"} {
				assert.Positive(t, m.bins[bin], bin)
			}
		})
	}
}

// TestPreemptQueue preempts a node that has long work and other work after it. Work
// that has not begun is submitted as if new.
func TestPreemptQueue(t *testing.T) {
	dev := device(t)
	want, otherWant, clocks := undisturbed(t, dev)
	notBegun := 0
	for after := 0; after < clocks+400; after += 10 * *stride {
		r := newRig(t, dev)
		rng := rand.New(rand.NewPCG(3, 4))
		a, b := r.guilty(rng), r.victim(rng)
		j, k := a.render(long(), 0), b.render(other(), 0)
		j.submit(1, false)
		k.submit(2, false)
		r.step(after)
		r.preempt(0, 3)
		notes := r.await(kmddi.InterruptDMAPreempted)
		last := notes[len(notes)-1].LastCompletedFenceID
		if last < 2 && !k.where().stopped {
			notBegun++
		}
		a.move(true)
		b.move(true)
		if last < 1 {
			j.submit(3, true)
		}
		if last < 2 {
			k.submit(4, true)
			for fence := uint32(0); fence != 4; {
				notes = r.await(kmddi.InterruptDMACompleted)
				fence = notes[len(notes)-1].FenceID
			}
		}
		require.NotContains(t, r.text(), "failed:")
		require.Equal(t, want, a.contents(), "after %d clocks", after)
		require.Equal(t, otherWant, b.contents(), "after %d clocks", after)
	}
	assert.Positive(t, notBegun)
}

// TestPreemptAgainAndAgain preempts work that continues, until it is complete. Its allocations
// move each time.
func TestPreemptAgainAndAgain(t *testing.T) {
	dev := device(t)
	want, _, _ := undisturbed(t, dev)
	for every := 300; every < 1500; every += 37 {
		r := newRig(t, dev)
		a := r.guilty(rand.New(rand.NewPCG(3, 4)))
		j := a.render(long(), 0)
		stops, fence := 0, uint32(0xfffffffe)
		for done := false; !done; stops++ {
			require.Less(t, stops, 30, "every %d clocks", every)
			j.submit(fence, stops > 0)
			r.step(every)
			r.preempt(0, fence+1)
			notes := r.await(kmddi.InterruptDMAPreempted)
			done = notes[len(notes)-1].LastCompletedFenceID == fence
			a.move(stops%2 == 0)
			fence++
		}
		require.Greater(t, stops, 1)
		require.Equal(t, want, a.contents(), "every %d clocks", every)
	}
}
