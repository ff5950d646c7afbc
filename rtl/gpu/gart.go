package gpu

import (
	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/cp"
	"github.com/hilgpu/hilgpu/rtl/dma"
	"github.com/hilgpu/hilgpu/rtl/gart"
	"github.com/hilgpu/hilgpu/rtl/hdl"
	"github.com/hilgpu/hilgpu/rtl/noc"
	"github.com/hilgpu/hilgpu/rtl/regbus"
)

// The aperture is between the arbiter of the descriptors and the DMA engine. It reads its table as
// the DMA engine reads, in a clock in which the engine offers nothing that stays offered, with a
// tag of node 0's reader that the node does not use. So it needs no place of its own in the
// network.

// tickGART ticks the aperture. It returns the descriptor for the DMA engine and its node: that of
// the nodes if there is no aperture. read is set if the header of a read in the place of the DMA
// engine is taken.
func (g *GPU) tickGART(regs regbus.Req, desc dma.Desc, node uint8, read bool, cpl port.Completion, cancel uint8, rst bool) (dma.Desc, uint8) {
	if !g.hasGART() {
		return desc, node
	}
	part, owner := g.gart.Desc()
	in := gart.In{
		Taken: part.Op != dma.None && g.dma.Ready(), Free: g.dma.Read().Kind == port.None || read,
		ReadReady: read && g.gart.Reading(), Cpl: cpl,
	}
	done, of := g.dma.Result()
	g.gartSlept = hdl.Nap(hdl.Asleep(g.gart.Sleeps(desc, in, done, regs, rst)))
	if !hdl.Asleep(bool(g.gartSlept)) {
		g.gart.Tick(desc, node, in, done, of, cancel, regs, rst)
	}
	return part, owner
}

// takesDesc reports whether a descriptor of a node is taken.
func (g *GPU) takesDesc() bool {
	if g.hasGART() {
		return g.gart.Ready()
	}
	return g.dma.Ready()
}

// sendsPart reports whether a part of a descriptor changes the DMA engine.
func (g *GPU) sendsPart() bool {
	if !g.hasGART() {
		return false
	}
	part, _ := g.gart.Desc()
	return part.Op != dma.None && g.dma.Wakes()
}

// readsTable reports whether the aperture has the place of the DMA engine's reads.
func (g *GPU) readsTable() bool { return g.hasGART() && g.gart.Reading() }

// engineRead returns the header in the place of the DMA engine's reads, and its tag.
func (g *GPU) engineRead() (req port.Request, tag uint8) {
	req = g.dma.Read()
	tag = noc.Tag(req, noc.ReadDMA)
	if g.readsTable() {
		req, tag = g.gart.Read(), noc.TagGART
	}
	return req, tag
}

// ended returns the DMA engine's inputs of a node, without Ready.
func (g *GPU) ended(node uint8) cp.DMA {
	if !g.hasGART() {
		r, owner := g.dma.Result()
		mine := owner == node
		return cp.DMA{
			Done: mine && r == dma.ResultDone, Err: mine && r == dma.ResultReadError, WriteErr: mine && r == dma.ResultWriteError,
		}
	}
	r, owner := g.gart.Result()
	mine := owner == node
	pages := r == gart.ResultReadPage || r == gart.ResultWritePage
	return cp.DMA{
		Done:     mine && (r == gart.ResultDone || pages),
		Err:      mine && (r == gart.ResultReadError || r == gart.ResultReadPage),
		WriteErr: mine && (r == gart.ResultWriteError || r == gart.ResultWritePage),
	}
}

// missing reports whether a node waits for a read of the aperture's table.
func (g *GPU) missing(node uint8) bool {
	if !g.hasGART() {
		return false
	}
	misses, of := g.gart.Missing()
	return misses && of == node
}
