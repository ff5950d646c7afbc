package gpu

import (
	"math/bits"

	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/noc"
	"github.com/hilgpu/hilgpu/rtl/perf"
	"github.com/hilgpu/hilgpu/rtl/watchdog"
)

// levels returns the states of a node for the counters and the watchdog. They do
// not change while the device sleeps.
func (g *GPU) levels(node uint8) perf.Levels {
	owner, starved := g.dma.Work()
	l := perf.Levels{Busy: g.cp0.Busy(), Ring: g.cp0.Starved(), Read: g.cp0.Looking()}
	if node != 0 {
		l = perf.Levels{Busy: g.cp1.Busy(), Ring: g.cp1.Starved(), Read: g.cp1.Looking()}
	}
	l.Read = l.Read || starved && owner == node || g.missing(node)
	return l
}

// stalls reports whether a node offers a write of which nothing is taken. Bit i
// of taken is set if a header or a beat of writer i is taken.
func (g *GPU) stalls(node, taken uint8) bool {
	owner, _ := g.dma.Work()
	req, beat := g.fence0.Write()
	fenced := has(taken, noc.WriteFence0)
	if node != 0 {
		req, beat = g.fence1.Write()
		fenced = has(taken, noc.WriteFence1)
	}
	moves := (g.dma.Header().Kind != port.None || g.dma.Offers()) && owner == node
	return (req.Kind != port.None || beat.Valid) && !fenced || moves && !has(taken, noc.WriteDMA)
}

// moves returns the progress of a node in a clock in which the given number of
// the DMA engine's bytes is written.
func (g *GPU) moves(node, bytes uint8) perf.Moves {
	owner, _ := g.dma.Work()
	m := perf.Moves{Retired: g.cp0.Retired(), Took: g.cp0.Took()}
	if node != 0 {
		m = perf.Moves{Retired: g.cp1.Retired(), Took: g.cp1.Took()}
	}
	if owner == node {
		m.Bytes = bytes & 0xf
	}
	return m
}

// written returns the number of bytes of the DMA engine's beat, if it is taken
// and not dropped.
func written(taken uint8, dropped bool, beat port.Beat) uint8 {
	if has(taken, noc.WriteDMA) && !dropped {
		return uint8(bits.OnesCount8(beat.Enable))
	}
	return 0
}

// watched returns the watchdog's view of a node.
func watched(l perf.Levels, m perf.Moves) watchdog.Node {
	return watchdog.Node{Busy: l.Busy, Moved: m.Retired || m.Took || m.Bytes != 0}
}
