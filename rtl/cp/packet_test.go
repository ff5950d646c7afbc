package cp

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/rtl/dma"
	"github.com/hilgpu/hilgpu/rtl/regbus"
	"github.com/hilgpu/hilgpu/rtl/regram"
)

// hi is the high dword of a host address below 4 GiB.
const hi = 0x80000000

func TestPackets(t *testing.T) {
	setSource := []uint32{0x03000007, 0, 0x1000, 0, 64, 1, 0x00000000, 0x00080008}
	setDest := []uint32{0x03000007, 1, 0x2000, 0, 32, 1, 0x00010001, 0x00040004}
	join := func(ps ...[]uint32) []uint32 {
		var all []uint32
		for _, p := range ps {
			all = append(all, p...)
		}
		return all
	}
	for _, tt := range []struct {
		name    string
		dwords  []uint32
		packets uint32
		descs   []dma.Desc
		scratch []regram.Scratch
	}{
		{"NOP", []uint32{0x01000000}, 1, nil, nil},
		{"NOP with a body that looks like a fault", []uint32{0x01000003, 0xffffffff, 0, 0xffffffff}, 1, nil, nil},
		{"COPY", []uint32{0x04000005, 0x11, 0, 0x3003, hi, 0x25}, 1,
			[]dma.Desc{{Op: dma.Copy, Len: 0x25, Src: 0x11, Dst: host | 0x3003}}, nil},
		{"COPY of 0 bytes at any address", []uint32{0x04000005, 0xffffffff, 0x7fffffff, 0, 0, 0}, 1, nil, nil},
		{"FILL", []uint32{0x06000005, 0x7001, 0, 9, 0x44332211, 0x88776655}, 1,
			[]dma.Desc{{Op: dma.Fill, Len: 9, Src: 0x8877665544332211, Dst: 0x7001}}, nil},
		{"FILL of 0 bytes", []uint32{0x06000005, 0xffffffff, 0, 0, 1, 2}, 1, nil, nil},
		{"SET_STATE touches nothing", setSource, 1, nil, nil},
		{"COPY2D clips at the destination", join(setSource, setDest,
			[]uint32{0x05000003, 0x00000000, 0x00000000, 0x00030003}), 3, []dma.Desc{
			{Op: dma.Copy, Len: 4, Src: 0x1000 + 64 + 2, Dst: 0x2000 + 32 + 2},
			{Op: dma.Copy, Len: 4, Src: 0x1000 + 128 + 2, Dst: 0x2000 + 64 + 2},
		}, nil},
		{"COPY2D entirely clipped", join(setSource, setDest,
			[]uint32{0x05000003, 0x00000000, 0x00040000, 0x00030003}), 3, nil, nil},
		{"COPY2D of no rows", join(setSource, setDest,
			[]uint32{0x05000003, 0x00000000, 0x00010001, 0x00000003}), 3, nil, nil},
		{"FILL2D", join(setDest, []uint32{0x07000004, 0x00030002, 0x00040001, 0xbbaa, 0xddcc}), 2, []dma.Desc{
			{Op: dma.Fill, Len: 2, Src: 0xddcc0000bbaa, Dst: 0x2000 + 96 + 4},
		}, nil},
		{"WRITE_REG", []uint32{0x08000002, 0x20, 7, 0x08000002, 0x2c, 8}, 2, nil,
			[]regram.Scratch{{Valid: true, Index: 0, Data: 7}, {Valid: true, Index: 3, Data: 8}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t)
			b.check = true
			b.start(ringAt, 12)
			b.run(tt.dwords...)
			assert.Equal(t, tt.descs, b.descs)
			assert.Equal(t, tt.scratch, b.scratch)
			assert.Equal(t, tt.packets, b.read(cpreg.Packets))
			assert.Equal(t, uint32(len(tt.dwords)), b.read(cpreg.Rptr))
			assert.Equal(t, "NONE at 0x0 op 0x00000000 bad 0x0", b.fault())
			assert.Zero(t, b.faults)
			widths(t, reflect.ValueOf(b.cp))
		})
	}
}

// A scratch write is offered unchanged until it is accepted, and the packet and a reset wait
// for it.
func TestScratchWaits(t *testing.T) {
	for _, reset := range []bool{false, true} {
		b := newBench(t)
		b.check, b.full = true, 60
		b.start(ringAt, 12)
		b.push(0x08000002, 0x20, 7, 0x08000002, 0x2c, 8)
		b.doorbell()
		for !b.cp.Scratch().Valid {
			b.tick(regbus.Req{})
		}
		if reset {
			b.write(cpreg.Ctl, cpreg.CtlReset)
		}
		for b.clock < b.full {
			assert.Equal(t, regram.Scratch{Valid: true, Index: 0, Data: 7}, b.cp.Scratch())
			assert.Equal(t, reset, b.cp.Resetting())
			assert.Zero(t, b.cp.Packets())
			b.tick(regbus.Req{})
		}
		b.idle()
		want := []regram.Scratch{{Valid: true, Index: 0, Data: 7}, {Valid: true, Index: 3, Data: 8}}
		if reset {
			want = want[:1]
		}
		assert.Equal(t, want, b.scratch)
		assert.False(t, b.cp.Resetting())
	}
}

func TestFence(t *testing.T) {
	b := newBench(t)
	b.start(ringAt, 8)
	copy(b.host[0x3000:], bytes.Repeat([]byte{0xaa}, 8))
	b.run(0x10000004, 0x3000, hi, 7, 1)
	assert.Equal(t, uint64(7), binary.LittleEndian.Uint64(b.host[0x3000:]))
	assert.Equal(t, uint32(7), b.read(cpreg.Fence))
	assert.Equal(t, 1, b.events)
	b.run(0x10000004, 0x3008, 0, 9, 0)
	assert.Equal(t, uint64(9), binary.LittleEndian.Uint64(b.vram[0x3008:]))
	assert.Equal(t, uint32(9), b.read(cpreg.Fence))
	assert.Equal(t, 1, b.events, "no IRQ requested")

	before := b.clock
	b.run(0x09000002, 0x3010, 0)
	stamp := binary.LittleEndian.Uint64(b.vram[0x3010:])
	assert.True(t, before < stamp && stamp < b.clock, "%d in (%d, %d)", stamp, before, b.clock)
	assert.Equal(t, uint32(9), b.read(cpreg.Fence))
}

// TestPredicate executes a PREDICATE and a fill of 8 bytes that it may skip, in the ring and
// in an indirect buffer, with the value in either memory.
func TestPredicate(t *testing.T) {
	for _, at := range []uint64{0x3008, host | 0x3008} {
		for _, tt := range []struct {
			value, how uint32
			skips      bool
		}{
			{0, 0, true}, {1, 0, false}, {0x80000000, 0, false},
			{0, 1 << 16, false}, {1, 1 << 16, true}, {0x80000000, 1 << 16, true},
		} {
			for _, upper := range []uint64{0, 4} { // offset of the half that is not 0
				for _, indirect := range []bool{false, true} {
					b := newBench(t)
					b.check = true
					b.start(ringAt, 9)
					b.put(at+upper, tt.value)
					fill := []uint32{0x06000005, 0x40, 0, 8, 5, 6}
					work := append([]uint32{0x0a000003, uint32(at), uint32(at >> 32), tt.how | 6}, fill...)
					packets := uint32(len(work)/10) + 1
					if indirect {
						b.put(0x1004, work...)
						work = []uint32{0x02000003, 0x1004, 0, 10}
						packets++
					}
					b.run(append(work, 0x06000005, 0x80, 0, 8, 7, 8)...)
					want := []dma.Desc{{Op: dma.Fill, Len: 8, Src: 8<<32 | 7, Dst: 0x80}}
					if !tt.skips {
						want = append([]dma.Desc{{Op: dma.Fill, Len: 8, Src: 6<<32 | 5, Dst: 0x40}}, want...)
						packets++
					}
					assert.Equal(t, want, b.descs, "%#x %v upper %d indirect %v", at, tt, upper, indirect)
					assert.Equal(t, packets, b.read(cpreg.Packets))
					assert.Equal(t, b.wptr, b.read(cpreg.Rptr))
				}
			}
		}
	}
}

// TestPredicateAfterData first fills the value, with a slow DMA engine.
func TestPredicateAfterData(t *testing.T) {
	b := newBench(t)
	b.dmaTime = 80
	b.start(ringAt, 9)
	b.run(0x06000005, 0x100, 0, 8, 1, 0, 0x0a000003, 0x100, 0, 1<<16|2, 0xdeadbeef, 0xdeadbeef)
	assert.Equal(t, "NONE at 0x0 op 0x00000000 bad 0x0", b.fault())
	assert.Equal(t, uint32(2), b.read(cpreg.Packets))
}

func TestFenceAfterData(t *testing.T) {
	for seed := range uint64(10) {
		b := newBench(t)
		b.rng = rand.New(rand.NewPCG(seed, 3))
		b.dmaTime = 50
		b.start(ringAt, 8)
		b.push(0x06000005, 0x100, 0, 8, 1, 0, 0x10000004, 0x3000, hi, 1, 1)
		b.doorbell()
		for b.events == 0 {
			b.tick(regbus.Req{})
			if b.host[0x3000] != 0 || uint32(b.fence.Timeline()) != 0 {
				require.Equal(t, byte(1), b.vram[0x100], "the fence precedes its data, seed %d", seed)
			}
		}
		b.idle()
	}
}

func TestRingWraps(t *testing.T) {
	b := newBench(t)
	b.check = true
	b.start(0x1000, cpreg.MinRingLog2)
	for i := range uint32(200) {
		n := i % 7
		b.run(append([]uint32{0x01000000 | n}, make([]uint32, n)...)...)
		b.run(0x08000002, 0x20, i)
	}
	require.Len(t, b.scratch, 200)
	for i, s := range b.scratch {
		require.Equal(t, uint32(i), s.Data)
	}
	assert.Equal(t, b.wptr, b.read(cpreg.Rptr))
	assert.Equal(t, uint32(400), b.read(cpreg.Packets))
}

func TestPrefetchStopsAtWptr(t *testing.T) {
	b := newBench(t)
	b.start(ringAt, 8)
	b.push(0x01000000, 0x01000000, 0x01000000)
	b.push(0xffffffff)
	b.wptr = 3
	b.doorbell()
	b.idle()
	assert.Zero(t, b.faults)
	b.push(0x01000000)
	b.run()
	assert.Zero(t, b.faults, "the dword at WPTR was not read early")
	assert.Equal(t, uint32(4), b.read(cpreg.Rptr))
}

func TestRowsLongerThanADescriptor(t *testing.T) {
	b := newBenchOf(t, Params{HostBits: 40, VRAMBytes: 1 << 20, LengthBits: 16})
	b.vram = make([]byte, 1<<20)
	b.start(ringAt, 8)
	b.push(0x03000007, 1, 0x100, 0, 0x40000, 3, 0, 0x40004000)
	b.run(0x07000004, 0x00000001, 0x00022001, 0x11, 0x22)
	row := uint64(0x100 + 8)
	want := []dma.Desc{
		{Op: dma.Fill, Len: 0x8000, Src: 0x2200000011, Dst: row},
		{Op: dma.Fill, Len: 0x8000, Src: 0x2200000011, Dst: row + 0x8000},
		{Op: dma.Fill, Len: 8, Src: 0x2200000011, Dst: row + 0x10000},
		{Op: dma.Fill, Len: 0x8000, Src: 0x2200000011, Dst: row + 0x40000},
		{Op: dma.Fill, Len: 0x8000, Src: 0x2200000011, Dst: row + 0x48000},
		{Op: dma.Fill, Len: 8, Src: 0x2200000011, Dst: row + 0x50000},
	}
	assert.Equal(t, want, b.descs)
}

func TestTiming(t *testing.T) {
	t.Run("NOP", func(t *testing.T) {
		b := newBench(t)
		b.start(ringAt, 12)
		for range 500 {
			b.push(0x01000000)
		}
		b.doorbell()
		for b.cp.Packets() == 0 {
			b.tick(regbus.Req{})
		}
		first := b.clock
		for b.cp.Packets() < 500 {
			b.tick(regbus.Req{})
		}
		assert.LessOrEqual(t, b.clock-first, uint64(2*499))
	})
	t.Run("fence", func(t *testing.T) {
		b := newBench(t)
		b.start(ringAt, 8)
		b.run()
		b.push(0x10000004, 0x3000, hi, 1, 1)
		before := b.clock
		b.doorbell()
		b.idle()
		assert.LessOrEqual(t, b.event-before-uint64(b.latency), uint64(20))
	})
	t.Run("copy of 64 bytes", func(t *testing.T) {
		b := newBench(t)
		b.dmaTime = 20
		b.start(0x1000, 8)
		b.run()
		b.push(0x04000005, 0x2000, 0, 0x3000, 0, 64)
		before := b.clock
		b.doorbell()
		b.idle()
		assert.LessOrEqual(t, b.clock-before, uint64(42), "with a memory of %d clocks and a DMA of 20", b.latency)
	})
	t.Run("after an indirect buffer", func(t *testing.T) {
		b := newBench(t)
		b.start(ringAt, 9)
		b.put(0x1000, 0x01000000)
		b.push(0x02000003, 0x1000, 0, 1, 0x06000005, 0x2000, 0, 8, 1, 2)
		b.doorbell()
		for !b.cp.ring.ended() {
			b.tick(regbus.Req{})
		}
		from := b.clock
		for b.cp.decode.op() != pkt.OpFill {
			b.tick(regbus.Req{})
		}
		assert.LessOrEqual(t, b.clock-from, uint64(8))
	})
	for _, tt := range []struct {
		name        string
		before      []uint32
		packet      []uint32
		least, most uint64 // clocks from the last dword to the descriptor
	}{
		{"FILL", nil, []uint32{0x06000005, 0x2000, 0, 8, 1, 2}, 4, 7},
		{"COPY", nil, []uint32{0x04000005, 0x2000, 0, 0x3000, 0, 8}, 4, 7},
		{"COPY_2D with the longest products", []uint32{
			0x03000007, 0, 0x2000, 0, 0, 4, 0, 0x40004000, 0x03000007, 1, 0x4000, 0, 0, 4, 0, 0x40004000,
		}, []uint32{0x05000003, 0x3fff0000, 0x3fff0000, 0x00010001}, 4, 7 + 112},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t)
			b.start(ringAt, 9)
			if tt.before != nil {
				b.run(tt.before...)
			}
			b.push(tt.packet...)
			b.doorbell()
			for b.cp.decode.state != decodeCheck {
				b.tick(regbus.Req{})
			}
			from := b.clock
			for b.cp.Desc().Op == dma.None {
				b.tick(regbus.Req{})
			}
			assert.GreaterOrEqual(t, b.clock-from, tt.least)
			assert.LessOrEqual(t, b.clock-from, tt.most)
		})
	}
	t.Run("rows back to back", func(t *testing.T) {
		b := newBench(t)
		b.dmaTime = 0
		b.start(0x1000, 8)
		b.run(0x03000007, 1, 0x2000, 0, 16, 0, 0, 0x01000100)
		before := b.clock
		b.run(0x07000004, 0, 0x00640008, 1, 2)
		assert.Len(t, b.descs, 100)
		assert.LessOrEqual(t, b.clock-before, uint64(100+60))
	})
}
