package gpu_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/intcreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/rtl/dma"
	"github.com/hilgpu/hilgpu/rtl/gpu"
)

// A node that is preempted withdraws a descriptor that the DMA engine has not taken. In the clock in
// which it still holds the grant there is none, also if the other node offers one.
func TestWithdrawnDescriptor(t *testing.T) {
	copies := pkt.Dwords(pkt.OpCopy, 0, 0, 0x400000, 0, 0x3fffff)
	fills := pkt.Dwords(pkt.OpFill, 1<<23, 0, 0x5fffff, 1, 2)
	m := &stopwatch{machine: boot(t, gpu.Default(), 1), works: [2]work{{"COPY", copies}, {"FILL", fills}}}
	m.latency = 1
	for n := range m.works {
		m.g.PokeVRAM(uint64(n)<<23+workAt, pkt.Bytes(m.works[n].dwords))
	}
	var taken [2]int
	look := func() {
		if node, desc, _, ok := m.g.Descriptor(); ok {
			require.NotEqual(t, dma.None, desc.Op, "clock %d, node %d", m.clock, node)
			require.Equal(t, node == 1, desc.Op == dma.Fill, "clock %d", m.clock)
			taken[node]++
		}
	}
	for id := range uint32(100) {
		m.fillRing(0)
		m.fillRing(1)
		for range 600 + m.rng.Uint64N(4000) {
			look()
			m.tick()
		}
		messages := len(m.msgs)
		m.bus.SetReg(cpreg.Base+cpreg.Preempt, id+1)
		m.run(100_000, func() bool {
			look()
			return len(m.msgs) > messages
		})
		m.writeReg(intcreg.Base+intcreg.Status, intcreg.All)
		m.writeReg(cpreg.Base+cpreg.Ctl, cpreg.CtlRun)
	}
	assert.Positive(t, taken[0])
	assert.Positive(t, taken[1])
}
