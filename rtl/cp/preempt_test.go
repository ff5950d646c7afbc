package cp

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/rtl/regbus"
)

// preempt asks the node to stop and waits until it has stopped.
func (b *bench) preempt(id uint32) {
	b.write(cpreg.Preempt, id)
	for b.read(cpreg.Preempted) != id {
		b.tick(regbus.Req{})
	}
}

// resume sets the INDIRECT at RPTR to continue where the node stopped, if it stopped in an
// indirect buffer, and sets RUN.
func (b *bench) resume() {
	if left := b.read(cpreg.IBLeft); left != 0 {
		at := b.read(cpreg.Rptr)
		for i, v := range []uint32{b.read(cpreg.IBLo), b.read(cpreg.IBHi), left | 1<<20} {
			b.put(b.ringBase()+4*uint64((at+1+uint32(i))%b.slots), v)
		}
	}
	b.write(cpreg.Ctl, cpreg.CtlRun)
}

func TestPreempt(t *testing.T) {
	for _, tt := range []struct {
		name     string
		dwords   []uint32 // contents of the indirect buffer
		descs    int      // descriptors accepted before the preemption
		left     uint32
		progress uint32
	}{
		{"a COPY of four pieces and a byte", []uint32{0x01000000, 0x04000005, 0x1000, 0, 0x7000, 0, 0x4001}, 1, 6, 3},
		{"a FILL", []uint32{0x06000005, 0x1000, 0, 0x5000, 1, 2}, 1, 6, 3},
		{"a FILL_2D", append(surfaces(0, 0x1000), 0x07000004, 0, 0x00090010, 3, 4), 4, 5, 6},
		{"a COPY_2D", append(surfaces(0x1000, 0x4000), 0x05000003, 0, 0, 0x00070010), 2, 4, 4},
	} {
		t.Run(tt.name, func(t *testing.T) {
			whole := newBenchOf(t, everything)
			for i := range whole.vram {
				whole.vram[i] = byte(i * 7 >> 3)
			}
			b := newBenchOf(t, everything)
			copy(b.vram, whole.vram)
			for _, x := range []*bench{whole, b} {
				x.check = true
				x.dmaTime = 100
				x.start(ringAt, 12)
				x.put(0xc000, tt.dwords...)
				x.push(0x02000003, 0xc000, 0, uint32(len(tt.dwords)), 0x10000004, 0x6000, hi, 5, 0)
				x.doorbell()
			}
			whole.idle()
			for len(b.descs) < tt.descs {
				b.tick(regbus.Req{})
			}
			b.preempt(77)
			assert.Empty(t, b.moves, "all sent descriptors are complete")
			assert.Equal(t, 1, b.yields)
			assert.Equal(t, uint32(77), b.read(cpreg.Preempt))
			assert.Zero(t, b.read(cpreg.Ctl))
			assert.Equal(t, uint32(cpreg.StatusIdle), b.read(cpreg.Status))
			assert.Zero(t, b.read(cpreg.Rptr))
			assert.Equal(t, tt.left, b.read(cpreg.IBLeft))
			assert.Equal(t, 0xc000+4*(uint32(len(tt.dwords))-tt.left), b.read(cpreg.IBLo))
			assert.Equal(t, tt.progress, b.read(cpreg.Progress))
			assert.Zero(t, b.read(cpreg.Fence))
			require.Len(t, b.descs, int(tt.progress))
			for range 100 {
				b.tick(regbus.Req{})
			}
			require.Len(t, b.descs, int(tt.progress), "the node has stopped")
			b.preempt(80)
			assert.Equal(t, tt.left, b.read(cpreg.IBLeft), "a stopped node keeps its position")
			assert.Equal(t, 0xc000+4*(uint32(len(tt.dwords))-tt.left), b.read(cpreg.IBLo))
			assert.Equal(t, tt.progress, b.read(cpreg.Progress))
			b.resume()
			b.preempt(78)
			assert.Zero(t, b.read(cpreg.IBLeft), "stopped before INDIRECT")
			assert.Equal(t, tt.progress, b.read(cpreg.Progress), "PROGRESS still applies to it")
			b.resume()
			b.idle()
			assert.Equal(t, whole.vram, b.vram)
			assert.Equal(t, whole.descs, b.descs, "each piece once")
			assert.Equal(t, uint32(5), b.read(cpreg.Fence))
			assert.Zero(t, b.faults)
		})
	}
}

// A write of RUN in the clock in which the node stops starts it at RPTR, as a later write
// does.
func TestRunWithPreempt(t *testing.T) {
	met := 0
	for at := range 250 {
		b := newBenchOf(t, everything)
		b.dmaTime = 20
		b.start(ringAt, 12)
		b.put(0xc000, 0x04000005, 0x1000, 0, 0x7000, 0, 0x4001, 0x08000002, 0x20, 9)
		b.push(0x02000003, 0xc000, 0, 9, 0x10000004, 0x6000, hi, 5, 0)
		b.doorbell()
		for len(b.descs) < 1 {
			b.tick(regbus.Req{})
		}
		b.write(cpreg.Preempt, 7)
		for range at {
			b.tick(regbus.Req{})
		}
		was := b.yields
		b.write(cpreg.Ctl, cpreg.CtlRun)
		if was == 0 && b.yields == 1 {
			met++
			require.Equal(t, uint32(cpreg.CtlRun), b.read(cpreg.Ctl))
		}
		for b.read(cpreg.Preempted) != 7 {
			b.tick(regbus.Req{})
		}
		b.write(cpreg.Ctl, cpreg.CtlRun)
		b.idle()
		require.Equal(t, uint32(5), b.read(cpreg.Fence))
		require.Len(t, b.scratch, 1, "%d clocks after PREEMPT", at)
	}
	require.NotZero(t, met)
}

// TestPreemptAnywhere stops and resumes a stream of packets many times. The final memory is
// the same as without preemption.
func TestPreemptAnywhere(t *testing.T) {
	for seed := range uint64(30) {
		rng := rand.New(rand.NewPCG(seed, 9))
		params := everything
		params.Withdraws = seed%2 == 1
		b := newBenchOf(t, params)
		b.rng = rng
		b.check = true
		b.latency, b.dmaTime = rng.IntN(30), rng.IntN(200)
		b.start(ringAt, 10)
		b.run(surfaces(0, 0x4000)...)
		want := append([]byte(nil), b.vram...)
		id := uint32(0)
		ids := uint32(0)
		for range 12 {
			p := randomPacket(rng, want, &ids)
			p = append(p, 0x06000005, 0x4000, 0, 0x3456, rng.Uint32(), 0, 0x07000004, 0, 0x00200010, 0xff00ff, 0)
			fillModel(want, p[len(p)-11:])
			p = append(p, 0x08000002, 0x20, uint32(len(b.scratch)))
			if p[0]>>24 != 0x10 {
				p = indirect(b, rng, p)
			}
			scratch := len(b.scratch)
			b.push(p...)
			b.doorbell()
			for range 1 + rng.IntN(4) {
				for range rng.IntN(300) {
					b.tick(regbus.Req{})
				}
				id++
				b.preempt(id)
				b.resume()
			}
			b.idle()
			require.Len(t, b.scratch, scratch+1, "each packet once, seed %d", seed)
		}
		require.Zero(t, b.faults, "seed %d: %s", seed, b.fault())
		require.Equal(t, want[:0x8000], b.vram[:0x8000], "seed %d", seed)
		require.Equal(t, ids, b.read(cpreg.Fence), "seed %d", seed)
	}
}

// fillModel applies the FILL of a dword at 0x4000 and the FILL_2D after it.
func fillModel(mem []byte, p []uint32) {
	for i := range p[3] {
		v := uint64(p[4]) | uint64(p[5])<<32
		mem[0x4000+i] = byte(v >> (8 * (i % 8)))
	}
	for i := range 0x200 {
		mem[0x4000+i] = byte(uint64(0xff00ff) >> (8 * (i % 8)))
	}
}

// TestPreemptIdle preempts a node without work.
func TestPreemptIdle(t *testing.T) {
	for _, tt := range []struct {
		name  string
		setup func(b *bench)
		rptr  uint32
		fault string
	}{
		{"stopped", func(*bench) {}, 0, "NONE"},
		{"idle", func(b *bench) { b.start(ringAt, 12); b.run(0x01000000) }, 1, "NONE"},
		{"faulted", func(b *bench) { b.start(ringAt, 12); b.run(0x01000000, 0) }, 1, "OPCODE"},
		{"waiting for a fence", func(b *bench) {
			b.start(ringAt, 12)
			b.push(0x01000000, 0x12000003, 1, 9, 0)
			b.doorbell()
			for range 60 {
				b.tick(regbus.Req{})
			}
		}, 1, "NONE"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBenchOf(t, everything)
			b.check = true
			tt.setup(b)
			b.preempt(3)
			assert.Zero(t, b.read(cpreg.Ctl))
			assert.Equal(t, tt.rptr, b.read(cpreg.Rptr))
			assert.Equal(t, tt.fault, cpreg.Causes[b.read(cpreg.FaultInfo)])
			assert.Equal(t, 1, b.yields)
			assert.Zero(t, b.read(cpreg.Progress))
			b.other = 9
			if tt.rptr != 0 && tt.fault == "NONE" {
				b.resume()
				b.idle()
				assert.Equal(t, b.wptr, b.read(cpreg.Rptr))
			}
		})
	}
}

// TestPreemptKeepsRingPackets checks that a packet of the ring itself is completed.
func TestPreemptKeepsRingPackets(t *testing.T) {
	b := newBenchOf(t, everything)
	b.dmaTime = 300
	b.start(ringAt, 12)
	b.push(0x06000005, 0x1000, 0, 0x4000, 0, 0, 0x01000000)
	b.doorbell()
	for len(b.descs) == 0 {
		b.tick(regbus.Req{})
	}
	b.preempt(9)
	assert.Len(t, b.descs, 4)
	assert.Equal(t, uint32(6), b.read(cpreg.Rptr), "after the FILL")
	assert.Zero(t, b.read(cpreg.Progress))
}

// TestResumePastTheEnd resumes with more progress than the packet has pieces.
func TestResumePastTheEnd(t *testing.T) {
	for _, p := range [][]uint32{
		{0x06000005, 0x1000, 0, 0x2000, 1, 2},
		{0x04000005, 0x1000, 0, 0x7000, 0, 0x2000},
		{0x07000004, 0, 0x00020010, 3, 4},
	} {
		for _, progress := range []uint32{2, 3, 0xfffff} {
			b := newBenchOf(t, everything)
			b.start(ringAt, 12)
			b.run(surfaces(0, 0x1000)...)
			n := uint32(len(p))
			b.put(0xc000, p...)
			b.write(cpreg.Progress, progress)
			b.run(0x02000003, 0xc000, 0, n|1<<20)
			assert.Empty(t, b.descs, "%#x", p[0])
			assert.Zero(t, b.faults)
			b.run(0x02000003, 0xc000, 0, n)
			assert.Len(t, b.descs, 2, "without Resume the entire packet runs")
		}
	}
}

// TestResumeCountsOnce checks that the progress applies to the first packet only.
func TestResumeCountsOnce(t *testing.T) {
	b := newBenchOf(t, everything)
	b.start(ringAt, 12)
	b.put(0xc000, 0x01000000, 0x06000005, 0x1000, 0, 0x2000, 1, 2)
	b.write(cpreg.Progress, 1)
	b.run(0x02000003, 0xc000, 0, 7|1<<20)
	assert.Len(t, b.descs, 2, "the NOP was the first")
}

func TestWithoutPreemption(t *testing.T) {
	p := everything
	p.Caps &^= caps.Preemption
	b := newBenchOf(t, p)
	b.start(ringAt, 12)
	for _, off := range []uint16{cpreg.Preempt, cpreg.Preempted, cpreg.Progress} {
		b.write(off, 0xffffffff)
		assert.Zero(t, b.read(off), fmt.Sprintf("%#x", off))
	}
	b.run(0x06000005, 0x1000, 0, 0x2000, 1, 2)
	assert.Len(t, b.descs, 1, "one descriptor")
	b.run(0x02000003, 0, 0, 1<<20)
	assert.Equal(t, faultText("RESERVED", ringAt+24, 0x02000003, 1<<20), b.fault())
}

// A node can leave an indirect buffer at a position beyond the size of its ring.
func TestPreemptBeyondRingSize(t *testing.T) {
	b := newBench(t)
	b.start(ringAt, 12)
	ib := make([]uint32, 0x800)
	for i := range ib {
		ib[i] = 0x01000000
	}
	b.put(0x1000, ib...)
	b.push(0x02000003, 0x1000, 0, uint32(len(ib)))
	b.doorbell()
	for b.cp.ring.ibEnd-b.cp.ring.ibDone > 0x300 || !b.cp.ring.inIB {
		b.tick(regbus.Req{})
	}
	b.write(cpreg.Preempt, 7)
	for b.yields == 0 {
		b.tick(regbus.Req{})
	}
	left := b.read(cpreg.IBLeft)
	require.NotZero(t, left)
	assert.Equal(t, uint32(0x1000+4*(0x800-left)), b.read(cpreg.IBLo), "left %#x", left)
}

// TestResumeWithABufferInFlight preempts a node while the last dwords of its indirect buffer, which is in the other half of
// a beat than the ring, are in flight. It is resumed at each clock around their end: none of them is written where
// the node reads.
func TestResumeWithABufferInFlight(t *testing.T) {
	met := 0
	for at := range 300 {
		b := overlapping(t, true)
		b.latency, b.dmaTime = 100, 100
		p := append(make([]uint32, 25), copyOf(0x1000, 0x4000, 0x1000)...)
		for i := range 25 {
			p[i] = emptyNOP
		}
		for len(p) < 92 {
			p = append(p, emptyNOP)
		}
		p = append(p, 0x08000002, 0x20, 7)
		b.put(0x8004, p...)
		b.push(pkt.Dwords(pkt.OpIndirect, 0x8004, 0, uint32(len(p)))...)
		b.doorbell()
		for b.cp.ring.stream.have != 32 || b.cp.ring.stream.come != 32 {
			b.tick(regbus.Req{})
		}
		b.preempt(1)
		for range at {
			b.tick(regbus.Req{})
		}
		b.resume()
		for b.cp.ring.state != ringEnd {
			b.tick(regbus.Req{})
		}
		if len(b.cpls) == 1 && b.cpls[0].at == b.clock {
			met++
		}
		b.idle()
		require.Len(t, b.scratch, 1, "after %d clocks", at)
		require.Zero(t, b.faults, "after %d clocks", at)
	}
	assert.Positive(t, met, "the case that is meant")
}
