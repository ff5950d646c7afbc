package gpu_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/gartreg"
	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/abi/intcreg"
	"github.com/hilgpu/hilgpu/rtl/abi/perfreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/rtl/gpu"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
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

// repeat returns n times the dwords of a packet.
func repeat(n int, dwords []uint32) []uint32 { return slices.Repeat(dwords, n) }

// works returns packets of each kind that take long, or many of them, for a node, in VRAM.
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
	skipped := repeat(pkt.MaxNOP, pkt.Dwords(pkt.OpNOP))
	skips := slices.Concat(pkt.Dwords(pkt.OpPredicate, base+8, 0, pkt.MaxNOP), skipped)
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
		{"NOP of 65,535 dwords", repeat(8, pkt.Dwords(pkt.OpNOP, skipped...))},
		{"PREDICATE over 65,535 dwords", repeat(7, skips)},
		{"PREDICATE over 90 dwords", repeat(500, slices.Concat(pkt.Dwords(pkt.OpPredicate, base+8, 0, 90), skipped[:90]))},
		{"PREDICATE, not taken", repeat(1000, pkt.Dwords(pkt.OpPredicate, base+8, 0, 1<<16))},
		{"NOP of 7 dwords", repeat(1000, pkt.Dwords(pkt.OpNOP, skipped[:7]...))},
		{"SET_STATE", repeat(500, surfacesOf(node, 64, 2))},
		{"WRITE_REG", repeat(1000, pkt.Dwords(pkt.OpWriteReg, idreg.Base+idreg.Scratch0+4*node, 5))},
		{"TIMESTAMP", repeat(1000, pkt.Dwords(pkt.OpTimestamp, base+0x400000, 0))},
		{"SIGNAL", repeat(1000, pkt.Dwords(pkt.OpSignal, base+0x400000, 0, 6, 7, 0))},
	}
}

// TestWorksCoverTheTable checks that works has every packet that is legal in an indirect
// buffer.
func TestWorksCoverTheTable(t *testing.T) {
	has := map[string]bool{}
	for _, w := range works(0) {
		for at := uint32(0); at < uint32(len(w.dwords)); at += 1 + w.dwords[at]&pkt.HeaderBody {
			l, known := pkt.Lookup(uint8(w.dwords[at] >> 24))
			require.True(t, known && !l.Privileged, w.name)
			has[l.Name] = true
		}
	}
	for _, l := range pkt.Table {
		assert.Equal(t, !l.Privileged, has[l.Name], l.Name)
	}
}

// A stopwatch preempts node 0 while both nodes execute indirect buffers.
type stopwatch struct {
	*machine
	works  [2]work
	clocks uint64 // most clocks from PREEMPT to the message
	bytes  uint64 // most bytes that the engine wrote for node 0 from PREEMPT on
	inside int    // preemptions inside a buffer
}

// workAt is the offset of a node's indirect buffer in its half of VRAM. No work gets so far in
// the time between two preemptions.
const workAt = 0x600000

// fillRing makes a node's ring execute its buffer at least 20 times.
func (m *stopwatch) fillRing(n int) {
	indirect := pkt.Dwords(pkt.OpIndirect, uint32(n)<<23+workAt, 0, uint32(len(m.works[n].dwords)))
	queued := (m.wptr[n] - m.node(n, cpreg.Rptr)) % (1 << ringLog2 / 4)
	for ; queued < 20*uint32(len(indirect)); queued += uint32(len(indirect)) {
		m.submitBytes(n, pkt.Bytes(indirect))
	}
}

// sample preempts node 0 once.
func (m *stopwatch) sample(id uint32) {
	m.fillRing(0)
	m.fillRing(1)
	m.ticks(600 + m.rng.Uint64N(4000))
	messages := len(m.msgs)
	m.bus.SetReg(perfreg.Base+perfreg.Ctl, perfreg.CtlRun|perfreg.CtlClear)
	begun := m.clock
	m.bus.SetReg(cpreg.Base+cpreg.Preempt, id)
	m.run(100_000, func() bool { return len(m.msgs) > messages })
	m.clocks = max(m.clocks, m.clock-begun)
	m.perf(perfreg.CtlRun | perfreg.CtlSnapshot)
	m.bytes = max(m.bytes, m.counter(perfreg.Node+perfreg.Bytes))
	require.Equal(m.t, id, m.node(0, cpreg.Preempted))
	if m.node(0, cpreg.IBLeft) != 0 {
		m.inside++
	}
	m.writeReg(intcreg.Base+intcreg.Status, intcreg.All)
	m.writeReg(cpreg.Base+cpreg.Ctl, cpreg.CtlRun)
}

// TestPreemptionLatency preempts node 0 in each kind of packet while node 1 does the same
// work or fills. From PREEMPT to the message it takes at most 1,500 clocks, and the engine
// writes at most four pieces for node 0.
func TestPreemptionLatency(t *testing.T) {
	tooltest.Long(t)
	const samples, piece = 100, 4 << 10
	others := works(1)
	for i, w := range works(0) {
		var clocks, bytes uint64
		for _, other := range []work{others[i], others[1]} {
			m := &stopwatch{machine: boot(t, gpu.Default(), uint64(i)), works: [2]work{w, other}}
			c, b := m.measure(samples)
			clocks, bytes = max(clocks, c), max(bytes, b)
		}
		t.Logf("%-30s %5d clocks %6d bytes", w.name, clocks, bytes)
		assert.LessOrEqual(t, clocks, uint64(1500), w.name)
		assert.LessOrEqual(t, bytes, uint64(4*piece), w.name)
	}
}

// measure preempts node 0 some times, and returns the most clocks to the answer and the most bytes written meanwhile.
func (m *stopwatch) measure(samples uint32) (clocks, bytes uint64) {
	m.latency = 1
	for n := range m.works {
		m.g.PokeVRAM(uint64(n)<<23+workAt, pkt.Bytes(m.works[n].dwords))
	}
	for id := range samples {
		m.sample(id + 1)
	}
	assert.Greater(m.t, uint32(m.inside), samples*3/4, "%s: preemptions inside the buffer", m.works[0].name)
	return m.clocks, m.bytes
}

// mapped returns packets that move through the aperture, from page to page, for a node.
func mapped(node uint32) []work {
	base, lo, hi := node<<23, node<<22, uint32(gartreg.Start>>32)
	surfaces := slices.Concat(
		pkt.Dwords(pkt.OpSetState, 0, lo, hi, 4080, 4, 0, 0x40004000), pkt.Dwords(pkt.OpSetState, 1, lo+0x200000, hi, 4080, 4, 0, 0x40004000))
	return []work{
		{"COPY into the aperture", pkt.Dwords(pkt.OpCopy, base, 0, lo+5, hi, 0x1ffff0)},
		{"COPY from the aperture", pkt.Dwords(pkt.OpCopy, lo+5, hi, base, 0, 0x1ffff0)},
		{"COPY in the aperture", pkt.Dwords(pkt.OpCopy, lo+5, hi, lo+0x200000, hi, 0x1ffff0)},
		{"FILL of the aperture", pkt.Dwords(pkt.OpFill, lo, hi, 0x1ffff0, 1, 2)},
		{"COPY_2D in the aperture", slices.Concat(surfaces, pkt.Dwords(pkt.OpCopy2D, 0, 0, 500<<16|255))},
	}
}

// TestPreemptionLatencyWithAnAperture is TestPreemptionLatency on a GPU whose DMA engine looks addresses up, and on one with
// all options. It takes at most the clocks of four pieces, at 8 bytes a clock, and 1,500.
func TestPreemptionLatencyWithAnAperture(t *testing.T) {
	tooltest.Long(t)
	const piece, pages = 4 << 10, 2048
	some := gpu.Default()
	some.Caps |= caps.GART | caps.ReadTimeout
	check := func(c gpu.Config, samples uint32, table uint64, all, others []work) {
		for i, w := range all {
			m := &stopwatch{machine: boot(t, c, uint64(i)), works: [2]work{w, others[i]}}
			m.mapPages(table, pages)
			clocks, bytes := m.measure(samples)
			t.Logf("%-30s %5d clocks %6d bytes, table at %#x", w.name, clocks, bytes, table)
			assert.LessOrEqual(t, clocks, uint64(4*piece/8+1500), w.name)
			assert.LessOrEqual(t, bytes, uint64(4*piece), w.name)
		}
	}
	check(some, 20, 0x7f0000, append(works(0), mapped(0)...), append(works(1), mapped(1)...))
	check(some, 20, at(0x8000), mapped(0), mapped(1))
	check(gpu.Full(), 5, 0x7f0000, append(works(0), mapped(0)...), append(works(1), mapped(1)...))
}
