package cp

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/dma"
	"github.com/hilgpu/hilgpu/rtl/regbus"
)

func TestIndirect(t *testing.T) {
	for _, tt := range []struct {
		name string
		addr uint64
		nops int // bodies before the copy, to move it around in the beats
	}{
		{"VRAM, aligned", 0x1000, 0},
		{"VRAM, 4 modulo 8", 0x1004, 0},
		{"host, before a 128-byte boundary", host | 0x107c, 3},
		{"host, many requests", host | 0x1014, 200},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t)
			b.check = true
			b.start(ringAt, 9)
			ib := append([]uint32{0x01000000 | uint32(tt.nops)}, make([]uint32, tt.nops)...)
			ib = append(ib, 0x04000005, 0x11, 0, 0x22, 0, 3)
			b.put(tt.addr, ib...)
			b.push(0x02000003, uint32(tt.addr), uint32(tt.addr>>32), uint32(len(ib)))
			b.run(0x06000005, 0x33, 0, 4, 5, 6)
			want := []dma.Desc{{Op: dma.Copy, Len: 3, Src: 0x11, Dst: 0x22}, {Op: dma.Fill, Len: 4, Src: 6<<32 | 5, Dst: 0x33}}
			assert.Equal(t, want, b.descs)
			assert.Equal(t, uint32(4), b.read(cpreg.Packets), "NOP, COPY, INDIRECT, FILL")
			assert.Equal(t, uint32(10), b.read(cpreg.Rptr))
			assert.Zero(t, b.read(cpreg.IBLeft))
			assert.Equal(t, uint32(ringAt&0xffffffff+40), b.read(cpreg.IBLo), "of the ring again")
			assert.Equal(t, uint32(ringAt>>32), b.read(cpreg.IBHi))
			end := tt.addr + 4*uint64(len(ib))
			for _, f := range b.fetches {
				top := f.Addr + 4*uint64(f.Len)
				inRing := f.Addr >= ringAt && top <= ringAt+40
				assert.True(t, inRing || f.Addr >= tt.addr && top <= end, "%#x..%#x", f.Addr, top)
			}
		})
	}
}

// The dwords prefetched from the ring are still there after an indirect buffer.
func TestRingIsKeptThroughAnIndirectBuffer(t *testing.T) {
	b := newBench(t)
	b.start(ringAt, 9)
	b.put(0x1000, 0x01000000, 0x06000005, 0x33, 0, 4, 5, 6)
	b.run(0x02000003, 0x1000, 0, 7, 0x01000000, 0x06000005, 0x44, 0, 4, 5, 6)
	require.Len(t, b.descs, 2)
	assert.Equal(t, uint64(0x44), b.descs[1].Dst)
	require.Len(t, b.fetches, 2)
	assert.Equal(t, ringAt, b.fetches[0].Addr)
	assert.Equal(t, uint64(0x1000), b.fetches[1].Addr)
}

// RUN is cleared and set with another ring while the body of an INDIRECT is awaited. The
// dwords prefetched from the former ring are not executed after the buffer.
func TestRingMovesBeforeAnIndirectBuffer(t *testing.T) {
	b := newBench(t)
	b.latency = 200
	b.start(ringAt, 12)
	b.put(0x1000, 0x01000000)
	old := []uint32{0x02000003, 0x1000, 0, 1, 0x06000005, 0x2000, 0, 4, 5, 6}
	other := []uint32{0x02000003, 0x1000, 0, 1, 0x06000005, 0x3000, 0, 4, 5, 6}
	b.put(ringAt, old...)
	b.put(ringAt+0x2000, other...)
	b.write(cpreg.Wptr, 1)
	for b.cp.decode.state != decodeBody {
		b.tick(regbus.Req{})
	}
	b.write(cpreg.Wptr, 10)
	for range 50 {
		b.tick(regbus.Req{})
	}
	require.Equal(t, decodeBody, b.cp.decode.state)
	b.write(cpreg.Ctl, 0)
	b.write(cpreg.RingLo, uint32(ringAt&0xffffffff)+0x2000)
	b.write(cpreg.Ctl, cpreg.CtlRun)
	require.Equal(t, decodeBody, b.cp.decode.state)
	b.idle()
	require.Len(t, b.descs, 1)
	assert.Equal(t, uint64(0x3000), b.descs[0].Dst)
}

func TestIndirectRetiresWithItsBuffer(t *testing.T) {
	b := newBench(t)
	b.dmaTime = 100
	b.start(ringAt, 8)
	b.put(0x1000, 0x06000005, 0x33, 0, 4, 5, 6, 0x01000000)
	b.push(0x02000003, 0x1000, 0, 7)
	b.doorbell()
	for range 60 {
		b.tick(regbus.Req{})
	}
	assert.Equal(t, uint32(0), b.read(cpreg.Rptr))
	assert.Equal(t, uint32(7), b.read(cpreg.IBLeft), "nothing has retired")
	assert.Equal(t, cpreg.StatusInIB|uint32(decodeExec)<<4|uint32(issueDrain)<<17, b.read(cpreg.Status))
	b.idle()
	assert.Equal(t, uint32(4), b.read(cpreg.Rptr))
	assert.Equal(t, uint32(cpreg.StatusIdle), b.read(cpreg.Status))
}
