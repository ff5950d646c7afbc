package gpu

import (
	"math/bits"

	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/noc"
	"github.com/hilgpu/hilgpu/rtl/perf"
	"github.com/hilgpu/hilgpu/rtl/watchdog"
)

// levels returns what a node does that lasts while the device sleeps.
func (g *GPU) levels(node uint8) perf.Levels {
	owner, starved := g.dma.Work()
	l := perf.Levels{Busy: g.cp0.Busy(), Ring: g.cp0.Starved(), Read: g.cp0.Looking()}
	if node != 0 {
		l = perf.Levels{Busy: g.cp1.Busy(), Ring: g.cp1.Starved(), Read: g.cp1.Looking()}
	}
	l.Read = l.Read || starved && owner == node
	return l
}

// stalls returns whether a node offers a write of which nothing is taken; host
// and vram are the writers of which a header or a beat is, bit i writer i.
func (g *GPU) stalls(node, host, vram uint8) bool {
	owner, _ := g.dma.Work()
	req, beat := g.fence0.Write()
	taken := has(host, noc.HostWriteFence0) || has(vram, noc.VRAMWriteFence0)
	if node != 0 {
		req, beat = g.fence1.Write()
		taken = has(host, noc.HostWriteFence1) || has(vram, noc.VRAMWriteFence1)
	}
	moves := (g.dma.Header().Kind != port.None || g.dma.Beat().Valid) && owner == node
	moved := has(host, noc.HostWriteDMA) || has(vram, noc.VRAMWriteDMA)
	return (req.Kind != port.None || beat.Valid) && !taken || moves && !moved
}

// moves returns what a node gets done, if so many bytes of the DMA engine's are
// taken.
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

// written returns the bytes of the DMA engine's beats that are taken.
func written(host uint8, owner noc.Owner, hostBeat port.Beat, vram uint8, vramBeat port.Beat) uint8 {
	var n uint8
	if has(host, noc.HostWriteDMA) && !owner.Drop {
		n = uint8(bits.OnesCount8(hostBeat.Enable))
	}
	if has(vram, noc.VRAMWriteDMA) {
		n += uint8(bits.OnesCount8(vramBeat.Enable))
	}
	return n
}

// watched returns what the watchdog sees of a node.
func watched(l perf.Levels, m perf.Moves) watchdog.Node {
	return watchdog.Node{Busy: l.Busy, Moved: m.Retired || m.Took || m.Bytes != 0}
}
