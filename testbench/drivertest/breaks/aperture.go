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

// mapsOnce leaves out a MAP of pages that were mapped before.
func mapsOnce() func(arg *kmddi.BuildPagingBuffer) bool {
	var end uint64
	return func(arg *kmddi.BuildPagingBuffer) bool {
		again := arg.OffsetInPages < end
		end = max(end, arg.OffsetInPages+arg.NumberOfPages)
		return !again
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
		broken("pages next to those of the MDL", "DxgkDdiBuildPagingBuffer maps the page before each page of the MDL.", "access-outside", submit,
			mapping(func(arg *kmddi.BuildPagingBuffer) bool {
				pages := make(kmddi.MDL, len(arg.MDL))
				for i, page := range arg.MDL {
					pages[i] = page - gartreg.PageBytes
				}
				arg.MDL = pages
				return true
			})),
		broken("MDL taken for contiguous", "DxgkDdiBuildPagingBuffer maps the pages that follow the first one of the MDL.", "access-outside", submit,
			mapping(func(arg *kmddi.BuildPagingBuffer) bool {
				pages := make(kmddi.MDL, len(arg.MDL))
				for i := range pages {
					pages[i] = arg.MDL[0] + uint64(i)*gartreg.PageBytes
				}
				arg.MDL = pages
				return true
			})),
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
