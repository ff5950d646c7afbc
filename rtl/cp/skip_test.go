package cp

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/dma"
	"github.com/hilgpu/hilgpu/rtl/regbus"
)

// skipLengths are numbers of dwords to skip around the limits of the stream.
var skipLengths = []int{1, 2, 31, 32, 33, 63, 64, 65, 66, 95, 96, 97, 127, 128, 129, 1000, 12001}

// skip returns a NOP or a taken PREDICATE over n illegal headers, and then a FILL.
func skip(predicate bool, n int) []uint32 {
	p := []uint32{0x01000000 | uint32(n)}
	if predicate {
		p = []uint32{0x0a000003, 8, 0, uint32(n)}
	}
	for range n {
		p = append(p, 0xffffffff)
	}
	return append(p, 0x06000005, 0x10, 0, 4, 5, 6)
}

// TestSkip skips dwords of an indirect buffer. The node reads only the first ones, and what
// follows them is executed.
func TestSkip(t *testing.T) {
	want := []dma.Desc{{Op: dma.Fill, Len: 4, Src: 6<<32 | 5, Dst: 0x10}}
	for _, predicate := range []bool{false, true} {
		for _, n := range skipLengths {
			for _, at := range []uint64{0x100, 0x104, 0x17c} {
				for _, latency := range []int{1, 4, 40} {
					name := fmt.Sprintf("predicate %t, %d dwords at %#x, latency %d", predicate, n, at, latency)
					b := newBench(t)
					b.check, b.latency = true, latency
					b.start(ringAt, 12)
					ib := skip(predicate, n)
					b.put(at, ib...)
					b.push(0x02000003, uint32(at), 0, uint32(len(ib)))
					begun := b.clock
					b.doorbell()
					for !b.cp.idle() {
						b.tick(regbus.Req{})
					}
					require.Equal(t, want, b.descs, name)
					require.Zero(t, b.faults, name)
					require.LessOrEqual(t, b.clock-begun, uint64(180+5*latency), name)
					dwords := 0
					for _, f := range b.fetches[1:] {
						dwords += int(f.Len)
					}
					require.LessOrEqual(t, dwords, 2*depth+64+2, name)
				}
			}
		}
	}
}

// TestSkipUnderAccesses skips dwords while memory stalls and the host reads registers, stops
// the node and preempts it. Each packet is executed once.
func TestSkipUnderAccesses(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 3))
		b := newBenchOf(t, everything)
		b.rng, b.check, b.latency = rng, true, 1+rng.IntN(30)
		b.start(ringAt, 12)
		var ib []uint32
		for range 4 {
			ib = append(ib, skip(rng.IntN(2) == 0, skipLengths[rng.IntN(len(skipLengths)-1)])...)
		}
		at := 0x100 + 4*uint32(rng.IntN(32))
		b.put(uint64(at), ib...)
		b.push(0x02000003, at, 0, uint32(len(ib)))
		b.doorbell()
		for id := uint32(1); !b.cp.idle(); id++ {
			for range rng.IntN(150) {
				regs := regbus.Req{}
				if rng.IntN(3) == 0 {
					regs = regbus.Req{Op: regbus.Read, Off: cpreg.Base + cpreg.IBLeft}
				}
				b.tick(regs)
			}
			switch rng.IntN(4) {
			case 0:
				b.preempt(id)
				b.resume()
			case 1:
				b.write(cpreg.Ctl, 0)
				b.write(cpreg.Ctl, cpreg.CtlRun)
			default:
			}
		}
		require.Len(t, b.descs, 4, "seed %d", seed)
		require.Zero(t, b.faults, "seed %d", seed)
		require.Equal(t, uint32(4), b.read(cpreg.Rptr), "seed %d", seed)
	}
}

// TestSkipWhileStopped clears RUN while the dwords before those to skip arrive. The node ends
// the packet and continues when RUN is set.
func TestSkipWhileStopped(t *testing.T) {
	for _, predicate := range []bool{false, true} {
		for clocks := range 80 {
			b := newBench(t)
			b.check = true
			b.start(ringAt, 12)
			ib := skip(predicate, 1000)
			b.put(0x1f0, ib...)
			b.push(0x02000003, 0x1f0, 0, uint32(len(ib)))
			b.doorbell()
			for range clocks {
				b.tick(regbus.Req{})
			}
			b.write(cpreg.Ctl, 0)
			for range 200 {
				b.tick(regbus.Req{})
			}
			assert.NotZero(t, b.read(cpreg.Status)&cpreg.StatusIdle, "cleared after %d clocks", clocks)
			b.write(cpreg.Ctl, cpreg.CtlRun)
			b.idle()
			require.Len(t, b.descs, 1, "cleared after %d clocks", clocks)
		}
	}
}

// TestSkipUnreadable skips dwords whose reads are answered with an error, which is no fault. If
// the next header is one of them, it is.
func TestSkipUnreadable(t *testing.T) {
	for _, predicate := range []bool{false, true} {
		for _, n := range skipLengths {
			ib := skip(predicate, n)
			for hole := uint64(0x280); hole < 0x480; hole += 128 {
				b := faultBench(t)
				b.hole = hole
				b.put(8, 0, 0)
				b.put(0x200, ib...)
				next := 0x200 + 4*uint64(len(ib)-6)
				b.run(0x02000003, 0x200, 0, uint32(len(ib)))
				if next/128 == hole/128 {
					assert.Equal(t, faultText("READ_ERROR", next, 0, next), b.fault(), "%d dwords", n)
				} else {
					assert.Zero(t, b.faults, "%d dwords, %#x: %s", n, hole, b.fault())
				}
			}
		}
	}
}

// TestSkipWithABadRing makes the ring unreadable while dwords of an indirect buffer are
// skipped.
func TestSkipWithABadRing(t *testing.T) {
	for clocks := range 140 {
		b := newBench(t)
		b.start(ringAt, 12)
		ib := skip(false, 12001)
		b.put(0x100, ib...)
		b.push(0x02000003, 0x100, 0, uint32(len(ib)))
		b.doorbell()
		for range clocks {
			b.tick(regbus.Req{})
		}
		b.write(cpreg.Wptr, 0x1000)
		b.idle()
		require.Equal(t, "RING", cpreg.Causes[b.read(cpreg.FaultInfo)], "after %d clocks", clocks)
	}
}
