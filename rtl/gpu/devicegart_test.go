package gpu_test

import (
	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/gartreg"
	"github.com/hilgpu/hilgpu/rtl/refmodel"
)

// The table of the aperture is in node 0's half of VRAM, or in host memory, where no node writes.
// Each node has mappedPages pages of the aperture.
const (
	tableOff     = ibOff + 0x800
	hostTable    = 0x60000
	mappedPages  = 20
	tableEntries = 2 * mappedPages
)

// mapAperture sets the registers of the aperture and its whole table.
func (g *rig) mapAperture() {
	if !g.g.Config().Caps.Has(caps.GART) {
		return
	}
	table := uint64(tableOff)
	if g.rng.IntN(2) == 0 {
		table = at(hostTable + 64*g.rng.Uint64N(8))
	}
	pages := uint64(tableEntries) - g.rng.Uint64N(3)
	g.model.Aperture = refmodel.Aperture{Enable: true, Table: table, Pages: pages}
	for page := range uint64(tableEntries) {
		g.mapPage(page)
	}
	g.writeReg(gartreg.Base+gartreg.TableLo, uint32(table))
	g.writeReg(gartreg.Base+gartreg.TableHi, uint32(table>>32))
	g.writeReg(gartreg.Base+gartreg.Pages, uint32(pages))
	g.writeReg(gartreg.Base+gartreg.Ctl, gartreg.CtlEnable)
}

// mapPage writes a random entry, usually a valid one of a page of the node's memory. Several
// pages may have the same memory.
func (g *rig) mapPage(page uint64) {
	n := g.nodes[min(int(page/mappedPages), len(g.nodes)-1)]
	first := (n.hostOwn.At&^host + gartreg.PageBytes - 1) / gartreg.PageBytes
	last := (n.hostOwn.At&^host + n.hostOwn.N) / gartreg.PageBytes
	e := (first+g.rng.Uint64N(last-first))*gartreg.PageBytes | gartreg.EntryValid | gartreg.EntryWritable
	switch g.rng.IntN(24) {
	case 0:
		e &^= gartreg.EntryWritable
	case 1:
		e &^= gartreg.EntryValid
	case 2:
		e |= 1 << (2 + g.rng.IntN(10))
	case 3:
		e |= 1 << (52 + g.rng.IntN(12))
	case 4:
		e |= 1 << 51 >> g.rng.IntN(10) // outside of memory, or of host addresses
	}
	g.store(g.model.Aperture.Table+page*gartreg.EntryBytes, put64(nil, e))
}

// remap changes some entries while nothing runs, and flushes.
func (g *rig) remap() {
	if !g.model.Aperture.Enable || g.rng.IntN(3) != 0 {
		return
	}
	for range 1 + g.rng.IntN(8) {
		g.mapPage(g.rng.Uint64N(tableEntries))
	}
	g.writeReg(gartreg.Base+gartreg.Flush, gartreg.FlushBusy)
	g.run(1000, func() bool { return g.readReg(gartreg.Base+gartreg.Flush) == 0 })
}

// mapped returns the part of the aperture that a node may use.
func (g *rig) mapped(n *rigNode) refmodel.Range {
	return span(gartreg.Start+uint64(n.ID)*mappedPages*gartreg.PageBytes, mappedPages*gartreg.PageBytes)
}
