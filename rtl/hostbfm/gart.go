package hostbfm

import (
	"encoding/binary"

	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/gartreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
)

const (
	tableAt     = 0x7000 // the table of the aperture, in the low half of the host's memory
	mappedPages = 48
)

// hasGART reports whether the device has an aperture.
func (h *Stimulus) hasGART() bool { return h.config.Caps.Has(caps.GART) }

// mapAperture gives the aperture a table, sometimes in VRAM if the host can access VRAM.
func (h *Stimulus) mapAperture() {
	h.table = pkt.Host | memBase + tableAt
	if h.percent(40) && h.aperture {
		h.table = h.Rng.Uint64N(h.config.VRAM-8*mappedPages) &^ 63
	}
	for page := range uint64(mappedPages) {
		h.mapPage(page)
	}
	h.SetReg(gartreg.Base+gartreg.Ctl, 0)
	h.SetReg(gartreg.Base+gartreg.TableLo, uint32(h.table))
	h.SetReg(gartreg.Base+gartreg.TableHi, uint32(h.table>>32))
	h.SetReg(gartreg.Base+gartreg.Pages, mappedPages-h.Rng.Uint32N(3))
	h.SetReg(gartreg.Base+gartreg.Flush, gartreg.FlushBusy)
	h.SetReg(gartreg.Base+gartreg.Ctl, gartreg.CtlEnable)
}

// mapPage writes an entry, usually one of a page of the host's data.
func (h *Stimulus) mapPage(page uint64) {
	e := (memBase + dataFrom + h.Rng.Uint64N(memSize-dataFrom)) &^ (gartreg.PageBytes - 1)
	e |= gartreg.EntryValid | gartreg.EntryWritable
	switch {
	case h.percent(5):
		e ^= 1 << h.Rng.IntN(64)
	case h.percent(8):
		e &^= gartreg.EntryWritable
	}
	h.Store(h.table+8*page, binary.LittleEndian.AppendUint64(nil, e))
}

// pages does the host's next step with the aperture: it changes pages and flushes, with work in
// flight, reads the record of a fault, or accesses any register.
func (h *Stimulus) pages() {
	switch h.Rng.IntN(12) {
	case 0:
		h.mapAperture()
	case 1, 2, 3:
		h.mapPage(h.Rng.Uint64N(mappedPages))
		h.SetReg(gartreg.Base+gartreg.Flush, gartreg.FlushBusy)
		for range h.Rng.IntN(5) {
			h.Reg(gartreg.Base+gartreg.Flush, func(v uint32) { h.Saw.Flushing += int(v) })
		}
	case 4:
		h.mapPage(h.Rng.Uint64N(mappedPages))
	case 5:
		off := 4 * h.Rng.Uint64N(8)
		h.SetReg(gartreg.Base+off, h.Rng.Uint32()>>h.Rng.IntN(32))
	case 6:
		h.randomRequest(h.BAR0+gartreg.Base, 0x20)
	default:
		h.Reg(gartreg.Base+gartreg.Fault, func(v uint32) {
			if v != 0 {
				h.Saw.Pages[v&gartreg.FaultKind>>4]++
				h.Reg(gartreg.Base+gartreg.FaultLo, func(uint32) {})
				h.Reg(gartreg.Base+gartreg.FaultHi, func(uint32) {})
				h.SetReg(gartreg.Base+gartreg.Fault, 0)
			}
		})
	}
}

// mapped returns an address in the aperture, sometimes of a page that it does not have.
func (h *Stimulus) mapped() uint64 {
	switch h.Rng.IntN(40) {
	case 0:
		return gartreg.Start + h.Rng.Uint64N(gartreg.MaxPages*gartreg.PageBytes)
	case 1:
		return gartreg.Start + gartreg.MaxPages*gartreg.PageBytes - h.Rng.Uint64N(300)
	}
	if h.percent(50) {
		return gartreg.Start + (1+h.Rng.Uint64N(mappedPages))*gartreg.PageBytes - h.Rng.Uint64N(400)
	}
	return gartreg.Start + h.Rng.Uint64N(mappedPages*gartreg.PageBytes)
}
