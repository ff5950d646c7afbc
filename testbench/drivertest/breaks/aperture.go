package breaks

import (
	"github.com/hilgpu/hilgpu/rtl/abi/gartreg"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

// mapping is a miniport whose MAP_APERTURE_SEGMENT is changed, or left out if edit returns
// false.
func mapping(edit func(arg *kmddi.BuildPagingBuffer) bool) change {
	return miniport(func(d *kmddi.DriverInitializationData) {
		f := d.BuildPagingBuffer
		d.BuildPagingBuffer = func(t *ddi.Thread, h kmddi.HAdapter, arg kmddi.BuildPagingBuffer) (kmddi.BuildPagingBufferOut, ddi.Status) {
			if arg.Operation == kmddi.PagingMapApertureSegment && !edit(&arg) {
				return kmddi.BuildPagingBufferOut{}, ddi.StatusSuccess
			}
			return f(t, h, arg)
		}
	})
}

// unmapping is a miniport whose UNMAP_APERTURE_SEGMENT is changed, or left out if edit returns
// false.
func unmapping(edit func(arg *kmddi.BuildPagingBuffer) bool) change {
	return miniport(func(d *kmddi.DriverInitializationData) {
		f := d.BuildPagingBuffer
		d.BuildPagingBuffer = func(t *ddi.Thread, h kmddi.HAdapter, arg kmddi.BuildPagingBuffer) (kmddi.BuildPagingBufferOut, ddi.Status) {
			if arg.Operation == kmddi.PagingUnmapApertureSegment && !edit(&arg) {
				return kmddi.BuildPagingBufferOut{}, ddi.StatusSuccess
			}
			return f(t, h, arg)
		}
	})
}

// unmapsUnflushed makes a miniport change the table for an UNMAP without a flush.
func unmapsUnflushed(d *kmddi.DriverInitializationData) {
	unmaps := false
	build := d.BuildPagingBuffer
	d.BuildPagingBuffer = func(t *ddi.Thread, h kmddi.HAdapter, arg kmddi.BuildPagingBuffer) (kmddi.BuildPagingBufferOut, ddi.Status) {
		unmaps = arg.Operation == kmddi.PagingUnmapApertureSegment
		defer func() { unmaps = false }()
		return build(t, h, arg)
	}
	kernelTable(d, func(cb *kmddi.DxgkrnlInterface) {
		write := cb.WriteRegister
		cb.WriteRegister = func(t *ddi.Thread, h kmddi.HDxgkrnl, m kmddi.HMapping, off, v uint32) ddi.Status {
			if unmaps && off == gartreg.Base+gartreg.Flush && v == gartreg.FlushBusy {
				return ddi.StatusSuccess
			}
			return write(t, h, m, off, v)
		}
	})
}

// unmapBreaks are mistakes in UNMAP_APERTURE_SEGMENT.
func unmapBreaks() []Break {
	broken := func(name, mistake, doc string, drivers change) Break {
		return Break{
			Name: name, Pitfall: 24, Mistake: mistake, Doc: "DxgkDdiBuildPagingBuffer " + doc, Rule: "aperture-unmap", Function: "DxgkDdiBuildPagingBuffer",
			Own: true, Work: Mapped, Drivers: drivers,
		}
	}
	dummy := func(page func(dummy uint64) uint64) change {
		return unmapping(func(arg *kmddi.BuildPagingBuffer) bool {
			arg.DummyPage = page(arg.DummyPage)
			return true
		})
	}
	refused := func(name, rule, doc string, op kmddi.PagingOperation) Break {
		b := broken(name, "", doc, paging(func(arg kmddi.BuildPagingBuffer, _ *kmddi.BuildPagingBufferOut, s *ddi.Status) {
			if arg.Operation == op {
				*s = ddi.StatusInvalidParameter
			}
		}))
		b.Pitfall, b.Rule = 0, rule
		return b
	}
	return []Break{
		refused("MAP fails", "aperture-map-result", "refuses MAP_APERTURE_SEGMENT.", kmddi.PagingMapApertureSegment),
		refused("UNMAP fails", "aperture-unmap-result", "refuses UNMAP_APERTURE_SEGMENT.", kmddi.PagingUnmapApertureSegment),
		broken("UNMAP ignored", unmapNothing, "succeeds for UNMAP_APERTURE_SEGMENT and does nothing.", unmapping(func(*kmddi.BuildPagingBuffer) bool { return false })),
		broken("page after the dummy page", unmapOther, "maps the page after the dummy page.", dummy(func(dummy uint64) uint64 { return dummy + gartreg.PageBytes })),
		broken("page 0 unmapped to", unmapOther, "maps the page 0 of host memory in place of the dummy page.", dummy(func(uint64) uint64 { return 0 })),
		broken("UNMAP without a flush", unmapStale, "writes the dummy page to the table and does not flush the entries that the GPU has kept.", miniport(unmapsUnflushed)),
	}
}

// mapsOnce leaves out a MAP of pages that were mapped before.
func mapsOnce() func(arg *kmddi.BuildPagingBuffer) bool {
	var end uint64
	return func(arg *kmddi.BuildPagingBuffer) bool {
		again := arg.OffsetInPages < end
		end = max(end, arg.OffsetInPages+arg.NumberOfPages)
		return !again
	}
}

// mapsBefore maps the first page of the MDL before.
func mapsBefore() func(arg *kmddi.BuildPagingBuffer) bool {
	var before uint64
	return func(arg *kmddi.BuildPagingBuffer) bool {
		pages := append(kmddi.MDL(nil), arg.MDL...)
		if before != 0 {
			pages[0] = before
		}
		before, arg.MDL = arg.MDL[0], pages
		return true
	}
}

// apertureBreaks are mistakes in the operations on an aperture segment. The small drivers have
// none.
func apertureBreaks() []Break {
	const build, submit = "DxgkDdiBuildPagingBuffer", "DxgkDdiSubmitCommand"
	broken := func(name, doc, rule, function string, drivers change) Break {
		return Break{Name: name, Doc: doc, Rule: rule, Function: function, Own: true, Work: Mapped, Drivers: drivers}
	}
	return []Break{
		broken("MAP ignored", "DxgkDdiBuildPagingBuffer ignores MAP_APERTURE_SEGMENT.", "gpu-fault", submit,
			mapping(func(*kmddi.BuildPagingBuffer) bool { return false })),
		broken("pages mapped once", "DxgkDdiBuildPagingBuffer takes pages that it has mapped before for mapped, although they were unmapped.", "aperture-write", build,
			mapping(mapsOnce())),
		broken("pages next to those of the MDL", "DxgkDdiBuildPagingBuffer maps the page before each page of the MDL.", "access-pinned", build,
			mapping(func(arg *kmddi.BuildPagingBuffer) bool {
				pages := make(kmddi.MDL, len(arg.MDL))
				for i, page := range arg.MDL {
					pages[i] = page - gartreg.PageBytes
				}
				arg.MDL = pages
				return true
			})),
		broken("MDL taken for contiguous", "DxgkDdiBuildPagingBuffer maps the pages that follow the first one of the MDL.", "access-pinned", build,
			mapping(func(arg *kmddi.BuildPagingBuffer) bool {
				pages := make(kmddi.MDL, len(arg.MDL))
				for i := range pages {
					pages[i] = arg.MDL[0] + uint64(i)*gartreg.PageBytes
				}
				arg.MDL = pages
				return true
			})),
		broken("pages of another allocation", "DxgkDdiBuildPagingBuffer maps the first page of the MDL before.", "access-pinned", build, mapping(mapsBefore())),
		broken("no flush", "DxgkDdiBuildPagingBuffer changes the table of the aperture, and does not flush the entries that the GPU has kept.", "gpu-fault", submit,
			kernelCallbacks(func(cb *kmddi.DxgkrnlInterface) {
				write := cb.WriteRegister
				cb.WriteRegister = func(t *ddi.Thread, h kmddi.HDxgkrnl, m kmddi.HMapping, off, v uint32) ddi.Status {
					if off == gartreg.Base+gartreg.Flush && v == gartreg.FlushBusy {
						return ddi.StatusSuccess
					}
					return write(t, h, m, off, v)
				}
			})),
	}
}
