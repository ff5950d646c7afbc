package cp

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/reg"
	"github.com/hilgpu/hilgpu/rtl/regbus"
)

func TestRingFaults(t *testing.T) {
	for _, tt := range []struct {
		name string
		base uint64
		log2 uint32
		wptr uint32
		bad  uint64
		ok   bool
	}{
		{"base 4 KiB aligned", host | 0x1000, 12, 0, 0, true},
		{"base not aligned", host | 0x1800, 12, 0, host | 0x1800, false},
		{"largest ring", host, 20, 0, 0, true},
		{"ring out of reach", host | 0x1000, 20, 0, host | 0x1000, false},
		{"ring at the end of VRAM", 0xf000, 12, 0, 0, true},
		{"ring beyond VRAM", 0xf000, 13, 0, 0xf000, false},
		{"smallest ring", 0, 8, 0, 0, true},
		{"ring too small", 0, 7, 0, 7, false},
		{"ring too large", host, 21, 0, 21, false},
		{"WPTR the last dword", 0, 8, 63, 0, true},
		{"WPTR outside", 0, 8, 64, 64, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBenchOf(t, everything)
			if tt.base < vramSize {
				b.put(tt.base, 0x010000ff)
			}
			b.write(cpreg.Wptr, tt.wptr)
			b.start(tt.base, tt.log2)
			for range 40 {
				b.tick(regbus.Req{})
			}
			if tt.ok {
				assert.Zero(t, b.faults)
				assert.Equal(t, uint32(1), b.read(cpreg.Ctl))
				return
			}
			assert.Equal(t, faultText("RING", tt.base, 0, tt.bad), b.fault())
			assert.Equal(t, 1, b.faults)
			assert.Zero(t, b.read(cpreg.Ctl))
		})
	}
	t.Run("a doorbell in the middle of a packet", func(t *testing.T) {
		b := faultBench(t)
		b.push(0x04000005, 0)
		b.doorbell()
		for range 40 {
			b.tick(regbus.Req{})
		}
		b.write(cpreg.Wptr, 1024)
		b.idle()
		assert.Equal(t, faultText("RING", ringAt, 0, 1024), b.fault())
	})
}

// A packet whose tail the host has not written is finished from the ring that
// was checked, whatever the host writes to the ring's registers meanwhile.
func TestRingRegistersInsideAPacket(t *testing.T) {
	for _, tt := range []struct {
		name string
		off  uint16
		data uint32
	}{
		{"a misaligned base", cpreg.RingLo, 0x1004},
		{"a base beyond VRAM", cpreg.RingLo, vramSize},
		{"a base in the host", cpreg.RingHi, 1 << 31},
		{"another size", cpreg.RingSize, 3},
	} {
		b := faultBench(t)
		b.push(0x08000002, 0x20)
		b.doorbell()
		for range 40 {
			b.tick(regbus.Req{})
		}
		base := b.ringBase()
		b.write(cpreg.Ctl, 0)
		b.write(tt.off, tt.data)
		b.put(base+8, 7)
		b.write(cpreg.Wptr, 3)
		b.idle()
		require.Len(t, b.scratch, 1, tt.name)
		require.Equal(t, uint32(7), b.scratch[0].Data, tt.name)
		require.Equal(t, uint32(3), b.read(cpreg.Rptr), tt.name)
	}
}

// A ring that is refused for its size is smaller than the read pointer. A node that later
// returns to it does nothing while it sleeps.
func TestRefusedSizeBelowRptr(t *testing.T) {
	b := newBench(t)
	b.check = true
	b.start(ringAt, 10)
	b.run(append([]uint32{0x01000000 | 72}, make([]uint32, 72)...)...)
	require.Equal(t, uint32(73), b.read(cpreg.Rptr))
	b.write(cpreg.Ctl, 0)
	b.write(cpreg.RingSize, 5)
	b.write(cpreg.Ctl, cpreg.CtlRun)
	for b.faults == 0 {
		b.tick(regbus.Req{})
	}
	b.write(cpreg.FaultInfo, 0)
	for range 10 {
		b.tick(regbus.Req{})
	}
	assert.Equal(t, uint32(cpreg.StatusIdle), b.read(cpreg.Status))
	b.write(cpreg.RingSize, 10)
	b.write(cpreg.Ctl, cpreg.CtlRun)
	b.run(0x08000002, 0x20, 5)
	assert.Len(t, b.scratch, 1)
	assert.Equal(t, uint32(76), b.read(cpreg.Rptr))
}

// A ring that is smaller than the read pointer has it modulo its size.
func TestSmallerRing(t *testing.T) {
	b := faultBench(t)
	b.start(0x1000, 10)
	b.run(append([]uint32{0x01000000 | 199}, make([]uint32, 199)...)...)
	require.Equal(t, uint32(200), b.read(cpreg.Rptr))
	b.write(cpreg.Ctl, 0)
	b.put(vramSize-0x1000+8*4, 0x08000002, 0x20, 5)
	b.write(cpreg.Wptr, 11)
	b.start(vramSize-0x1000, 8)
	b.idle()
	require.Len(t, b.scratch, 1)
	require.Equal(t, uint32(11), b.read(cpreg.Rptr))
}

// TestMovedRing moves the ring while RUN is 0 and a read of the old one is in
// flight or has arrived: neither its dwords nor its error matter.
func TestMovedRing(t *testing.T) {
	for _, old := range []uint64{0x3000, host | 0x80000} {
		for at := range 60 {
			b := newBenchOf(t, everything)
			b.latency = 30
			if old < vramSize {
				b.put(old, 0, 0, 0, 0)
			}
			b.write(cpreg.Wptr, 3)
			b.write(cpreg.RingLo, uint32(old))
			b.write(cpreg.RingHi, uint32(old>>32))
			b.write(cpreg.RingSize, 8)
			b.write(cpreg.Ctl, cpreg.CtlRun)
			for range at {
				b.tick(regbus.Req{})
			}
			b.write(cpreg.Ctl, 0)
			if b.read(cpreg.Status)&cpreg.StatusFault != 0 {
				require.Greater(t, at, 30)
				continue
			}
			b.start(0x1000, 8)
			b.put(0x1000, 0x08000002, 0x20, 9)
			b.idle()
			require.Zero(t, b.faults, "moved after %d clocks: %s", at, cpreg.Causes[b.cp.decode.cause])
			require.Len(t, b.scratch, 1)
			require.Equal(t, uint32(3), b.read(cpreg.Rptr))
		}
	}
}

func TestRegisters(t *testing.T) {
	b := newBench(t)
	for _, r := range cpreg.Block(0).Regs {
		assert.Equal(t, r.Reset, b.read(uint16(r.Off)), r.Name)
	}
	for off := uint16(0); off < cpreg.Stride; off += 4 {
		mapped := false
		for _, r := range cpreg.Block(0).Regs {
			mapped = mapped || uint16(r.Off) == off
		}
		b.tick(regbus.Req{Op: regbus.Read, Off: cpreg.Base + off})
		assert.Equal(t, mapped, b.cp.Rsp().Hit != b.fence.Rsp().Hit, "offset %#x", off)
	}
	b.tick(regbus.Req{Op: regbus.Read, Off: cpreg.Base + cpreg.Stride})
	assert.False(t, b.cp.Rsp().Hit, "node 1")

	for _, r := range cpreg.Block(0).Regs {
		if r.Access == reg.RO {
			b.write(uint16(r.Off), 0xffffffff)
			assert.Equal(t, r.Reset, b.read(uint16(r.Off)), r.Name)
		}
	}
	b.write(cpreg.RingLo, 0x12345678)
	b.write(cpreg.RingHi, 0x9abcdef0)
	b.write(cpreg.RingSize, 0xffffffff)
	b.write(cpreg.Wptr, 0x55555555)
	assert.Equal(t, uint32(0x12345678), b.read(cpreg.RingLo))
	assert.Equal(t, uint32(0x9abcdef0), b.read(cpreg.RingHi))
	assert.Equal(t, uint32(0x1f), b.read(cpreg.RingSize))
	assert.Equal(t, uint32(0x55555555), b.read(cpreg.Wptr))

	b = newBench(t)
	b.start(0x1000, 9)
	b.write(cpreg.RingLo, 0x2000)
	b.write(cpreg.RingHi, 1)
	b.write(cpreg.RingSize, 10)
	assert.Equal(t, uint32(0x1000), b.read(cpreg.RingLo), "written while RUN is 1")
	assert.Zero(t, b.read(cpreg.RingHi))
	assert.Equal(t, uint32(9), b.read(cpreg.RingSize))
}
