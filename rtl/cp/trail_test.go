package cp

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/rtl/abi/tracereg"
	"github.com/hilgpu/hilgpu/rtl/regbus"
)

// overlapping returns a bench whose node overlaps packets if on is set.
func overlapping(t *testing.T, on bool) *bench {
	p := everything
	p.Withdraws = on
	b := newBenchOf(t, p)
	b.start(ringAt, 12)
	return b
}

func copyOf(src, dst uint64, n uint32) []uint32 {
	return pkt.Dwords(pkt.OpCopy, uint32(src), uint32(src>>32), uint32(dst), uint32(dst>>32), n)
}

func fillOf(dst, n uint32) []uint32 { return pkt.Dwords(pkt.OpFill, dst, 0, n, 0x01020304, 0x05060708) }

// TestOverlap gives the engine a packet that takes long. The descriptor of the packet after
// it is sent before the end, unless that could change the result.
func TestOverlap(t *testing.T) {
	long := copyOf(0x1000, 0x2000, 64)
	for _, tt := range []struct {
		name   string
		first  []uint32
		second []uint32
		want   bool
	}{
		{"copies", long, copyOf(0x1100, 0x2100, 64), true},
		{"fills", fillOf(0x1000, 8), fillOf(0x1000, 8), true},
		{"reads what is written", long, copyOf(0x2000, 0x3000, 64), false},
		{"reads the first byte", long, copyOf(0x1fff, 0x3000, 2), false},
		{"reads up to the first byte", long, copyOf(0x1fff, 0x3000, 1), true},
		{"reads the last byte", long, copyOf(0x203f, 0x3000, 1), false},
		{"reads after the last byte", long, copyOf(0x2040, 0x3000, 1), true},
		{"reads more than is written", long, copyOf(0x1ff0, 0x3000, 200), false},
		{"reads what a fill writes", fillOf(0x2000, 9), copyOf(0x2008, 0x3000, 1), false},
		{"writes what is read", long, copyOf(0x3000, 0x1000, 64), true},
		{"writes what is written", long, copyOf(0x3000, 0x2000, 64), true},
		{"fills what is written", long, fillOf(0x2000, 64), true},
		{"the longest that trails", copyOf(0x4000, 0x6000, 4095), copyOf(0x1000, 0x2000, 4095), true},
		{"a longer one", copyOf(0x4000, 0x6000, 4096), copyOf(0x1000, 0x2000, 64), false},
		{"a longer one after it", long, copyOf(0x4000, 0x6000, 4096), false},
		{"a longer FILL after it", long, fillOf(0x4000, 5000), true},
		{"64 KiB apart", copyOf(0x1000, 0x2000, 64), copyOf(host|0x12000, 0x3000, 64), false},
		{"across 64 KiB", copyOf(0x1000, 0xfff0, 16), copyOf(host|0x10000, 0x3000, 64), true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, on := range []bool{true, false} {
				b := overlapping(t, on)
				b.host = make([]byte, 0x20000)
				b.dmaTime = 300
				b.check = true
				b.push(tt.first...)
				b.push(tt.second...)
				b.doorbell()
				for range 200 {
					b.tick(regbus.Req{})
				}
				assert.Equal(t, tt.want && on, len(b.descs) >= 2)
				assert.Zero(t, b.read(cpreg.Packets), "no packet has retired")
				assert.Zero(t, b.read(cpreg.Rptr))
				assert.Zero(t, b.read(cpreg.Status)&cpreg.StatusIdle)
				b.idle()
				assert.Equal(t, []uint32{2, 12, 0}, []uint32{b.read(cpreg.Packets), b.read(cpreg.Rptr), uint32(b.faults)})
			}
		})
	}
}

// TestOthersDoNotOverlap follows a COPY by packets that must wait for its end.
func TestOthersDoNotOverlap(t *testing.T) {
	for _, second := range [][]uint32{
		pkt.Dwords(pkt.OpNOP), pkt.Dwords(pkt.OpWriteReg, 0x20, 1), pkt.Dwords(pkt.OpFence, 0x3000, 0, 7, 1),
		pkt.Dwords(pkt.OpTimestamp, 0x3000, 0), pkt.Dwords(pkt.OpIndirect, 0x4000, 0, 6), copyOf(0, 0, 0),
		pkt.Dwords(pkt.OpPredicate, 0x3000, 0, 0), pkt.Dwords(pkt.OpSaveState, 0x3000, 0),
	} {
		b := overlapping(t, true)
		b.dmaTime = 300
		b.check = true
		b.push(copyOf(0x1000, 0x2000, 64)...)
		b.push(second...)
		b.doorbell()
		for range 200 {
			b.tick(regbus.Req{})
		}
		assert.Len(t, b.descs, 1, "%#x", second[0])
		assert.Empty(t, b.scratch)
		assert.Zero(t, b.read(cpreg.Fence))
		assert.Zero(t, b.read(cpreg.Packets))
		for _, f := range b.fetches {
			assert.EqualValues(t, tagRing, f.Tag&3, "%#x", second[0])
		}
	}
}

// A program is a sequence of packets, one of whose descriptors may fail.
type program struct {
	seed    uint64
	packets [][]uint32
	fails   int
	preempt bool
}

// randomProgram returns copies and fills of a small area, many of which overlap, other packets,
// and mistakes.
func randomProgram(seed uint64) program {
	rng := rand.New(rand.NewPCG(seed, 11))
	p := program{seed: seed, preempt: rng.IntN(2) == 0}
	for range 1 + rng.IntN(30) {
		span := uint32(rng.IntN(0x200))
		at := func() uint64 { return 0x2000 + uint64(rng.IntN(0x400)) }
		n := uint32(rng.IntN(int(1 + span)))
		packet := copyOf(at(), at(), n)
		switch rng.IntN(12) {
		case 0, 1, 2, 3:
			packet = fillOf(uint32(at()), n)
		case 4:
			packet = pkt.Dwords(pkt.OpWriteReg, 0x20, rng.Uint32())
		case 5:
			packet = copyOf(host|at(), at(), n)
		case 6:
			packet = copyOf(at()-0x1c00, at(), 4000+n)
		case 7:
			packet = fillOf(uint32(at()), 0x1000+16*n)
		default:
		}
		p.packets = append(p.packets, packet)
	}
	if last := p.packets[len(p.packets)-1]; rng.IntN(2) == 0 {
		switch rng.IntN(6) {
		case 0:
			last[0] |= 1 << 20 // a reserved bit
		case 1:
			last[0]++ // a body that is too long
		case 2:
			last[2] = 1 << 20 // an address
		case 3:
			last[len(last)-1] = 1 << 20 // a length, of a COPY
		default:
			p.fails = 1 + rng.IntN(len(p.packets))
			p.shorten(p.fails)
		}
	}
	return p
}

// shorten makes the packets of the first descriptors shorter than a piece: how much of a longer
// one is done when one of its pieces fails is not defined.
func (p program) shorten(descs int) {
	for _, packet := range p.packets {
		place := map[uint32]int{pkt.OpCopy: 5, pkt.OpFill: 3}[packet[0]>>24]
		if place == 0 || descs == 0 {
			continue
		}
		if packet[place] &= 0x1ff; packet[place] != 0 {
			descs--
		}
	}
}

// run executes the program in the ring or, if it is to be preempted, in an indirect buffer. It
// returns all that the host can see.
func (p program) run(t *testing.T, on bool) (visible string, sent bool) {
	rng := rand.New(rand.NewPCG(p.seed, 12))
	b := overlapping(t, on)
	b.rng, b.check, b.fails = rng, true, p.fails
	b.latency, b.dmaTime = rng.IntN(20), rng.IntN(100)
	for i := range b.vram[:0x8000] {
		b.vram[i], b.host[i] = byte(i*7), byte(i*11)
	}
	var all []uint32
	for _, packet := range p.packets {
		all = append(all, packet...)
	}
	if p.preempt {
		b.put(0x9000, all...)
		all = pkt.Dwords(pkt.OpIndirect, 0x9000, 0, uint32(len(all)))
	}
	b.push(all...)
	b.doorbell()
	for id := uint32(1); p.preempt && id < 8 && b.faults == 0; id++ {
		for range rng.IntN(200) {
			b.tick(regbus.Req{})
			sent = sent || len(b.moves) > 1
		}
		b.preempt(id)
		b.resume()
	}
	for !b.cp.idle() {
		b.tick(regbus.Req{})
		sent = sent || len(b.moves) > 1
		if b.clock%64 == 0 {
			widths(t, reflect.ValueOf(b.cp))
		}
	}
	var regs []uint32
	for _, off := range []uint16{cpreg.Rptr, cpreg.IBLeft, cpreg.Packets, cpreg.Ctl} {
		regs = append(regs, b.read(off))
	}
	for i := uint16(0); i < tracereg.Entries && !p.preempt; i++ {
		e := b.traced(i)
		regs = append(regs, e.header, uint32(e.addr))
	}
	return fmt.Sprintf("%s, registers %x, scratch %v, memory %x", b.fault(), regs, b.scratch, b.vram[0x2000:0x4000]), sent
}

// TestOverlapIsInvisible runs random programs with and without overlapping packets. Data,
// position and fault are the same, with mistakes, failing descriptors and preemptions.
func TestOverlapIsInvisible(t *testing.T) {
	overlaps, faults := 0, 0
	for seed := range uint64(200) {
		p := randomProgram(seed)
		got, sent := p.run(t, true)
		want, _ := p.run(t, false)
		require.Equal(t, want, got, "seed %d: %d packets, preempted %v", seed, len(p.packets), p.preempt)
		if sent {
			overlaps++
		}
		if got[:4] != "NONE" {
			faults++
		}
	}
	assert.Greater(t, overlaps, 100)
	assert.Greater(t, faults, 50)
}

// TestFaultOfTheTrailingPacket fails the first of several copies, whose successors are
// already with the engine. It is the one in the registers, and they do nothing.
func TestFaultOfTheTrailingPacket(t *testing.T) {
	b := overlapping(t, true)
	b.dmaTime, b.fails = 100, 2
	b.vram[0x1100], b.vram[0x1200] = 1, 2
	b.push(fillOf(0x2000, 8)...)
	b.push(copyOf(0x1100, 0x2100, 64)...)
	b.push(fillOf(0x2200, 8)...)
	b.push(copyOf(0x1200, 0x2300, 64)...)
	b.doorbell()
	for !b.cp.idle() {
		b.tick(regbus.Req{})
		if b.cp.issue.readErr {
			require.False(t, b.cp.trail.active, "nothing trails after a failure")
			require.NotEqual(t, decodeBody, b.cp.decode.state, "no packet is taken after a failure")
		}
	}
	assert.Equal(t, faultText("READ_ERROR", ringAt+6*4, 0x04000005, 0x1100), b.fault())
	assert.Equal(t, []uint32{1, 6}, []uint32{b.read(cpreg.Packets), b.read(cpreg.Rptr)})
	assert.EqualValues(t, 4, b.vram[0x2000])
	assert.Zero(t, b.vram[0x2200], "cancelled")
	assert.GreaterOrEqual(t, len(b.descs), 3, "it was with the engine")
	b.write(cpreg.FaultInfo, 0)
	b.write(cpreg.Ctl, cpreg.CtlRun)
	b.idle()
	assert.Equal(t, []uint32{4, 24, 1}, []uint32{b.read(cpreg.Packets), b.read(cpreg.Rptr), uint32(b.faults)})
	assert.EqualValues(t, []byte{1, 4, 2}, []byte{b.vram[0x2100], b.vram[0x2200], b.vram[0x2300]})
}

// TestResetOfTrailingPackets resets the node in each clock of a stream of short copies.
func TestResetOfTrailingPackets(t *testing.T) {
	for at := range 150 {
		b := overlapping(t, true)
		b.dmaTime = 20
		for i := range uint32(8) {
			b.push(copyOf(0x1000, 0x2000+64*uint64(i), 64)...)
		}
		b.doorbell()
		for range at {
			b.tick(regbus.Req{})
		}
		b.write(cpreg.Ctl, cpreg.CtlReset)
		for b.read(cpreg.Ctl) != 0 {
			require.Less(t, b.clock, uint64(2000))
		}
		require.Empty(t, b.moves, "after %d clocks", at)
		b.wptr = 0
		b.start(ringAt, 12)
		b.run(copyOf(0x1000, 0x4000, 64)...)
		require.Equal(t, []uint32{1, 6, 0}, []uint32{b.read(cpreg.Packets), b.read(cpreg.Rptr), uint32(b.faults)}, "after %d clocks", at)
	}
}

// TestTraceOfOverlappingPackets: the trace has the clock in which each packet retired, which is
// after the header of the next one.
func TestTraceOfOverlappingPackets(t *testing.T) {
	b := overlapping(t, true)
	b.check = true
	for i := range uint64(8) {
		b.push(copyOf(0x1000, 0x2000+64*i, 64)...)
	}
	b.doorbell()
	clocks := b.retire()
	require.Len(t, clocks, 8)
	for i, clock := range clocks {
		want := traced{0x04000005, clock, ringAt + 24*uint64(i) + 1}
		require.Equal(t, want, b.traced(uint16(7-i)), "packet %d", i)
	}
}

// TestBadRingAfterAPacket makes the ring unreadable while a packet trails and the one after it
// is incomplete. The trailing packet retires, or its fault comes first.
func TestBadRingAfterAPacket(t *testing.T) {
	for _, fails := range []int{0, 1} {
		for at := range 60 {
			b := overlapping(t, true)
			b.check = true
			b.dmaTime, b.fails = 40, fails
			b.push(copyOf(0x1000, 0x2000, 64)...)
			b.push(copyOf(0x1000, 0x3000, 64)[:3]...)
			b.doorbell()
			for range at {
				b.tick(regbus.Req{})
			}
			b.write(cpreg.Wptr, 0x20000)
			b.idle()
			begun, done := b.read(cpreg.Packets) == 1, len(b.descs) == 1
			switch {
			case done && fails == 1:
				require.Equal(t, faultText("READ_ERROR", ringAt, 0x04000005, 0x1000), b.fault(), "after %d clocks", at)
			case done:
				require.True(t, begun, "after %d clocks", at)
				fallthrough
			default:
				require.Equal(t, faultText("RING", ringAt, 0, 0x20000), b.fault(), "after %d clocks", at)
			}
		}
	}
}

// TestTrailIsNotStarved: a node whose last packet trails does not wait for a dword.
func TestTrailIsNotStarved(t *testing.T) {
	b := overlapping(t, true)
	b.dmaTime = 100
	b.push(copyOf(0x1000, 0x2000, 64)...)
	b.doorbell()
	for len(b.descs) == 0 {
		b.tick(regbus.Req{})
	}
	for !b.cp.idle() {
		require.False(t, b.cp.Starved())
		b.tick(regbus.Req{})
	}
}
