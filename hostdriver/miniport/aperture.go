package miniport

import (
	"fmt"

	"github.com/hilgpu/hilgpu/hostdriver/privdata"
	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/gartreg"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

// The table of the aperture is the part 1/tableShare of VRAM, so the aperture has 32 times
// the size of VRAM, and at most the largest size. A GPU with less than leastTranslated
// bytes of VRAM has no aperture.
const (
	tableShare      = 16
	leastTranslated = 64 << 10
)

// An aperture is the aperture segment. The CPU writes its table through the BAR of VRAM, and
// flushes the GPU's copies of its entries, when the kernel asks for an operation: in its
// pages no work runs then.
type aperture struct {
	table registers // the table, by offset
	at    uint64    // its GPU address; 0: there is no aperture
	bytes uint64    // its size
	pages uint64    // from the first one, those that were mapped since the last reset
}

// translates reports whether host memory has addresses in the aperture.
func (a *adapter) translates() bool { return a.tableBytes() > 0 }

// mapped reports whether an allocation may be in the aperture, if there is one.
func (al *allocation) mapped() bool {
	return al.desc.Place == privdata.Either || al.desc.Place == privdata.System
}

// tableBytes returns the size of the table, or 0 without an aperture.
func (a *adapter) tableBytes() uint64 {
	if !a.caps.have.Has(caps.GART) || !a.caps.aperture || a.caps.vramBytes < leastTranslated {
		return 0
	}
	return min(a.caps.vramBytes/tableShare, gartreg.MaxPages*gartreg.EntryBytes)
}

// videoMemory returns the bytes of VRAM that allocations may have. The table and what the
// firmware uses follow.
func (a *adapter) videoMemory() uint64 { return a.caps.vramBytes - a.reserved() - a.tableBytes() }

// startAperture enables the aperture after a reset of the device. None of its pages can be
// accessed.
func (a *adapter) startAperture(t *ddi.Thread) ddi.Status {
	if !a.translates() {
		return ddi.StatusSuccess
	}
	if a.aperture.table.cb == nil {
		at := a.videoMemory()
		m, s := a.cb.MapMemory(t, a.cb.DeviceHandle, vramBAR, at, a.tableBytes())
		if s != ddi.StatusSuccess {
			return s
		}
		a.aperture = aperture{table: registers{cb: a.cb, mapping: m}, at: at, bytes: a.tableBytes()}
	}
	a.aperture.pages = 0
	for _, w := range [...]struct{ off, v uint32 }{
		{gartreg.TableLo, uint32(a.aperture.at)}, {gartreg.TableHi, uint32(a.aperture.at >> 32)},
		{gartreg.Pages, 0}, {gartreg.Ctl, gartreg.CtlEnable},
	} {
		if s := a.regs.WriteRegister(t, gartreg.Base+w.off, w.v); s != ddi.StatusSuccess {
			return s
		}
	}
	return ddi.StatusSuccess
}

// forgetPageFault clears the record of a page fault of a node that will be reset. GART.FAULT keeps
// the first fault until then, and one of the other node is left for its own reset.
func (a *adapter) forgetPageFault(t *ddi.Thread, node uint32) ddi.Status {
	if !a.translates() {
		return ddi.StatusSuccess
	}
	v, s := a.regs.ReadRegister(t, gartreg.Base+gartreg.Fault)
	if s != ddi.StatusSuccess || v&gartreg.FaultValid == 0 || v&gartreg.FaultNode != 0 != (node != 0) {
		return s
	}
	return a.regs.WriteRegister(t, gartreg.Base+gartreg.Fault, 0)
}

// releaseAperture unmaps the table.
func (a *adapter) releaseAperture(t *ddi.Thread) {
	if a.aperture.table.cb != nil {
		a.cb.UnmapMemory(t, a.cb.DeviceHandle, a.aperture.table.mapping)
	}
}

// translate performs MAP_APERTURE_SEGMENT or UNMAP_APERTURE_SEGMENT, and returns when the
// GPU uses no older entry.
func (a *adapter) translate(t *ddi.Thread, arg kmddi.BuildPagingBuffer) error {
	end := arg.OffsetInPages + arg.NumberOfPages
	maps := arg.Operation == kmddi.PagingMapApertureSegment
	entries := a.aperture.bytes / gartreg.EntryBytes
	switch {
	case arg.SegmentID != segmentHost || arg.NumberOfPages > entries || arg.OffsetInPages > entries-arg.NumberOfPages:
		return fmt.Errorf("%w: pages [%#x, %#x) of segment %d, with %#x pages in segment %d", ErrArgument, arg.OffsetInPages, end, arg.SegmentID, entries, segmentHost)
	case maps && uint64(len(arg.MDL)) != arg.NumberOfPages:
		return fmt.Errorf("%w: %d pages of host memory for %d", ErrArgument, len(arg.MDL), arg.NumberOfPages)
	case !maps && end > a.aperture.pages:
		return fmt.Errorf("%w: pages [%#x, %#x) were not mapped", ErrArgument, arg.OffsetInPages, end)
	}
	for i := range arg.NumberOfPages {
		page := arg.DummyPage
		if maps {
			page = arg.MDL[i]
		}
		if err := a.writeEntry(t, arg.OffsetInPages+i, page); err != nil {
			return err
		}
	}
	return a.publish(t, arg.OffsetInPages, end)
}

// writeEntry gives a page of the aperture a page of host memory.
func (a *adapter) writeEntry(t *ddi.Thread, index, page uint64) error {
	if page%gartreg.PageBytes != 0 || !a.caps.reachable(page, gartreg.PageBytes) {
		return fmt.Errorf("%w: a page of host memory at %#x", ErrArgument, page)
	}
	return a.setEntry(t, index, page|gartreg.EntryValid|gartreg.EntryWritable)
}

// setEntry writes an entry of the table.
func (a *adapter) setEntry(t *ddi.Thread, index, entry uint64) error {
	off := uint32(index * gartreg.EntryBytes)
	for i, v := range [...]uint32{uint32(entry), uint32(entry >> 32)} {
		if s := a.aperture.table.WriteRegister(t, off+4*uint32(i), v); s != ddi.StatusSuccess {
			return fmt.Errorf("miniport: entry %#x of the aperture's table: %w", index, s)
		}
	}
	return nil
}

// publish makes the GPU use the entries [start, end). Pages before them that were never
// mapped cannot be accessed.
func (a *adapter) publish(t *ddi.Thread, start, end uint64) error {
	for i := a.aperture.pages; i < start; i++ {
		if err := a.setEntry(t, i, 0); err != nil {
			return err
		}
	}
	// The answer of VRAM follows the writes of entries.
	if _, s := a.aperture.table.ReadRegister(t, uint32(start*gartreg.EntryBytes)); s != ddi.StatusSuccess {
		return fmt.Errorf("miniport: the aperture's table: %w", s)
	}
	if end > a.aperture.pages {
		a.aperture.pages = end
		if s := a.regs.WriteRegister(t, gartreg.Base+gartreg.Pages, uint32(end)); s != ddi.StatusSuccess {
			return fmt.Errorf("miniport: GART.PAGES: %w", s)
		}
	}
	return a.flushAperture(t)
}

// flushPolls bounds the number of reads of GART.FLUSH. A flush takes the time of a few pieces.
const flushPolls = 1 << 16

// flushAperture drops the GPU's copies of entries, and waits until no access uses one.
func (a *adapter) flushAperture(t *ddi.Thread) error {
	if s := a.regs.WriteRegister(t, gartreg.Base+gartreg.Flush, gartreg.FlushBusy); s != ddi.StatusSuccess {
		return fmt.Errorf("miniport: GART.FLUSH: %w", s)
	}
	for range flushPolls {
		switch v, s := a.regs.ReadRegister(t, gartreg.Base+gartreg.Flush); {
		case s != ddi.StatusSuccess:
			return fmt.Errorf("miniport: GART.FLUSH: %w", s)
		case v&gartreg.FlushBusy == 0:
			return nil
		}
	}
	return fmt.Errorf("miniport: the aperture is not flushed: %w", ddi.StatusIOTimeout)
}
