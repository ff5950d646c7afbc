package gpu_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/intcreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/rtl/gpu"
)

// A work is the contents of an indirect buffer.
type work struct {
	name   string
	dwords []uint32
}

// surfacesOf returns SET_STATE of both surfaces of a node in VRAM, with a pitch in bytes and a
// format of elements.
func surfacesOf(node, pitch, format uint32) []uint32 {
	base := node << 23
	return slices.Concat(
		pkt.Dwords(pkt.OpSetState, 0, base, 0, pitch, format, 0, 0x40004000),
		pkt.Dwords(pkt.OpSetState, 1, base+0x400000, 0, pitch, format, 0, 0x40004000))
}

// works returns packets of each kind that take long, for a node, in VRAM.
func works(node uint32) []work {
	base := node << 23
	var short []uint32
	for i := range uint32(500) {
		short = append(short, pkt.Dwords(pkt.OpCopy, base+64*i, 0, base+0x400000+64*i, 0, 64)...)
	}
	rows := func(bytes, n uint32) []uint32 {
		return slices.Concat(surfacesOf(node, bytes, 4), pkt.Dwords(pkt.OpCopy2D, 0, 0, n<<16|bytes/16))
	}
	fills := func(bytes, n uint32) []uint32 {
		return slices.Concat(surfacesOf(node, bytes, 3), pkt.Dwords(pkt.OpFill2D, 0, n<<16|bytes/8, 1, 2))
	}
	return []work{
		{"COPY", pkt.Dwords(pkt.OpCopy, base, 0, base+0x400001, 0, 0x3fffff)},
		{"FILL", pkt.Dwords(pkt.OpFill, base+1, 0, 0x7fffff, 1, 2)},
		{"COPY of 64 bytes", short},
		{"COPY_2D, rows of 16 bytes", rows(16, 0x4000)},
		{"COPY_2D, rows of 1,008 bytes", rows(1008, 4000)},
		{"COPY_2D, rows of 16 KiB", rows(16<<10, 200)},
		{"COPY_2D, rows of 256 KiB", rows(256<<10, 16)},
		{"FILL_2D, rows of 16 bytes", fills(16, 0x4000)},
		{"FILL_2D, rows of 1,008 bytes", fills(1008, 4000)},
		{"FILL_2D, rows of 16 KiB", fills(16<<10, 200)},
		{"FILL_2D, rows of 128 KiB", fills(128<<10, 30)},
	}
}

// TestPreemptionLatency preempts node 0 in each kind of packet while node 1 does the same
// work or fills. From PREEMPT to the message it takes at most 1,500 clocks.
func TestPreemptionLatency(t *testing.T) {
	const buffer = 0x7f0000 // of the indirect buffer in the VRAM of a node
	fill := works(1)[1]
	for i, w := range works(0) {
		worst := uint64(0)
		for _, other := range []work{works(1)[i], fill} {
			m := boot(t, gpu.Default(), uint64(i))
			m.latency = 1
			for n, dwords := range [][]uint32{w.dwords, other.dwords} {
				at := uint32(n)<<23 + buffer
				m.writeBAR2(uint64(at), pkt.Bytes(dwords))
				m.submitBytes(n, pkt.Bytes(pkt.Dwords(pkt.OpIndirect, at, 0, uint32(len(dwords)))))
			}
			for sample := range uint32(100) {
				m.ticks(600 + m.rng.Uint64N(4000))
				messages, begun := len(m.msgs), m.clock
				m.bus.SetReg(cpreg.Base+cpreg.Preempt, sample+1)
				m.run(100_000, func() bool { return len(m.msgs) > messages })
				worst = max(worst, m.clock-begun)
				require.Equal(t, sample+1, m.node(0, cpreg.Preempted))
				require.NotZero(t, m.node(0, cpreg.IBLeft), "inside the buffer")
				m.writeReg(intcreg.Base+intcreg.Status, intcreg.All)
				m.writeReg(cpreg.Base+cpreg.Ctl, cpreg.CtlRun)
				if m.node(1, cpreg.Status)&cpreg.StatusIdle != 0 { // repeats its buffer
					m.submitBytes(1, pkt.Bytes(pkt.Dwords(pkt.OpIndirect, 1<<23+buffer, 0, uint32(len(other.dwords)))))
				}
			}
		}
		t.Logf("%-30s %5d clocks", w.name, worst)
		assert.LessOrEqual(t, worst, uint64(1500), w.name)
	}
}
