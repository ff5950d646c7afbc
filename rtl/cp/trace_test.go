package cp

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/tracereg"
	"github.com/hilgpu/hilgpu/rtl/regbus"
)

// A traced is an entry of the trace as the host reads it.
type traced struct {
	header uint32
	time   uint32
	addr   uint64
}

// traced returns entry i of the trace.
func (b *bench) traced(i uint16) traced {
	reg := func(off uint16) uint32 { return b.read(tracereg.Base - cpreg.Base + i*tracereg.Entry + off) }
	return traced{reg(tracereg.Header), reg(tracereg.Time), uint64(reg(tracereg.AddrHi))<<32 | uint64(reg(tracereg.AddrLo))}
}

// retire ticks until the node is idle, and returns the clocks in which it counted a packet.
func (b *bench) retire() (clocks []uint32) {
	for !b.cp.idle() {
		now, n := b.clock, b.cp.Packets()
		b.tick(regbus.Req{})
		if b.cp.Packets() != n {
			clocks = append(clocks, uint32(now))
		}
	}
	return clocks
}

// The trace has the packets of the ring and of an indirect buffer, the newest first, with
// the clocks in which they retired.
func TestTrace(t *testing.T) {
	b := newBench(t)
	b.check = true
	b.start(ringAt, 12)
	for i := range uint16(tracereg.Entries) {
		require.Equal(t, traced{}, b.traced(i), "an empty trace")
	}
	b.put(0xc000, 0x01000001, 7, 0x08000002, 0x20, 9)
	b.push(0x01000000, 0x02000003, 0xc000, 0, 5, 0x10000004, 0x6000, hi, 5, 0, 0x01000000)
	b.doorbell()
	clocks := b.retire()
	require.Len(t, clocks, 6, "NOP, NOP, WRITE_REG, INDIRECT, FENCE, NOP")
	for i, want := range []traced{
		{0x01000000, clocks[5], ringAt + 40 + 1},
		{0x10000004, clocks[4], ringAt + 20 + 1},
		{0x08000002, clocks[2], 0xc008 + 1},
		{0x01000001, clocks[1], 0xc000 + 1},
		{0x02000003, 0, ringAt + 4 + 1},
		{0x01000000, clocks[0], ringAt + 1},
		{},
	} {
		got := b.traced(uint16(i))
		if want.header == 0x02000003 {
			assert.Greater(t, got.time, clocks[0], "an INDIRECT is in the trace when its buffer begins")
			assert.Less(t, got.time, clocks[1])
			want.time = got.time
		}
		assert.Equal(t, want, got, "entry %d", i)
	}
}

// The trace has 16 packets, and keeps them in a reset of the node. A device reset clears it.
func TestTraceIsKept(t *testing.T) {
	b := newBench(t)
	b.start(ringAt, 12)
	for range 100 {
		b.push(0x01000000)
	}
	b.doorbell()
	b.idle()
	want := func(why string) {
		for i := range uint16(tracereg.Entries) {
			require.Equal(t, ringAt+4*uint64(99-i)+1, b.traced(i).addr, why)
		}
	}
	want("the last of 100")
	b.write(cpreg.Ctl, cpreg.CtlReset)
	for b.read(cpreg.Ctl)&cpreg.CtlReset != 0 {
		b.tick(regbus.Req{})
	}
	assert.Zero(t, b.read(cpreg.Packets))
	want("after a reset of the node")
	b.write(tracereg.Base-cpreg.Base, 1)
	want("after a write")
	b.cp.Tick(Mem{}, DMA{}, Fence{}, 0, regbus.Req{}, true)
	for range 20 {
		b.tick(regbus.Req{})
	}
	for i := range uint16(tracereg.Entries) {
		require.Equal(t, traced{}, b.traced(i), "after a device reset")
	}
}

// A packet that is refused, skipped or interrupted is not in the trace.
func TestTraceLeavesOut(t *testing.T) {
	b := newBench(t)
	b.dmaTime = 100
	b.start(ringAt, 12)
	b.put(0x6000, 0, 0)
	b.put(0xc000, 0x04000005, 0x1000, 0, 0x7000, 0, 0x4001)
	b.push(0x0a000003, 0x6000, 0, 1, 0x01000000, 0x02000003, 0xc000, 0, 6, 0x7f000000)
	b.doorbell()
	for len(b.descs) < 1 {
		b.tick(regbus.Req{})
	}
	b.preempt(1)
	headers := func() (all []uint32) {
		for i := range uint16(tracereg.Entries) {
			if e := b.traced(i); e.addr != 0 {
				all = append(all, e.header)
			}
		}
		return all
	}
	assert.Equal(t, []uint32{0x02000003, 0x0a000003}, headers(), "a NOP is skipped, a COPY interrupted")
	b.resume()
	b.idle()
	assert.Equal(t, uint32(cpreg.CauseOpcode), b.read(cpreg.FaultInfo))
	assert.Equal(t, []uint32{0x04000005, 0x02000003, 0x02000003, 0x0a000003}, headers(), "the INDIRECT began twice")
}

// A node without a trace does not answer.
func TestNoTrace(t *testing.T) {
	p := Params{HostBits: 40, VRAMBytes: vramSize, LengthBits: 32, Nodes: 2, Caps: caps.All() &^ caps.Trace}
	b := newBenchOf(t, p)
	b.tick(regbus.Req{Op: regbus.Read, Off: tracereg.Base})
	assert.False(t, b.cp.Rsp().Hit)
}

// The current packet is the one that the offered descriptor belongs to, also while another one
// trails.
func TestCurrent(t *testing.T) {
	for _, on := range []bool{true, false} {
		b := overlapping(t, on)
		b.dmaTime = 300
		const packets = 5
		for i := range uint64(packets) {
			b.push(copyOf(0x1000+0x200*i, 0x8000+0x200*i, 64)...)
		}
		b.doorbell()
		var got []uint64
		for !b.cp.idle() || len(got) == 0 {
			before := len(b.descs)
			at := b.cp.Current()
			b.tick(regbus.Req{})
			if len(b.descs) > before {
				got = append(got, at)
			}
		}
		var want []uint64
		for i := range uint64(packets) {
			want = append(want, ringAt+24*i)
		}
		assert.Equal(t, want, got, "overlaps: %v", on)
	}
}
