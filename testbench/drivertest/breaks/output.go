package breaks

import (
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

// rendering is a miniport whose results of DxgkDdiRender are changed.
func rendering(edit func(arg kmddi.Render, out *kmddi.RenderOut, s *ddi.Status)) change {
	return miniport(func(d *kmddi.DriverInitializationData) {
		f := d.Render
		d.Render = func(t *ddi.Thread, h kmddi.HContext, arg kmddi.Render) (kmddi.RenderOut, ddi.Status) {
			out, s := f(t, h, arg)
			edit(arg, &out, &s)
			return out, s
		}
	})
}

// drawing is rendering for DxgkDdiRenderKm.
func drawing(edit func(arg kmddi.Render, out *kmddi.RenderOut)) change {
	return miniport(func(d *kmddi.DriverInitializationData) {
		f := d.RenderKm
		d.RenderKm = func(t *ddi.Thread, h kmddi.HContext, arg kmddi.Render) (kmddi.RenderOut, ddi.Status) {
			out, s := f(t, h, arg)
			edit(arg, &out)
			return out, s
		}
	})
}

// presenting is rendering for DxgkDdiPresent.
func presenting(edit func(arg kmddi.Present, out *kmddi.RenderOut, s *ddi.Status)) change {
	return miniport(func(d *kmddi.DriverInitializationData) {
		f := d.Present
		d.Present = func(t *ddi.Thread, h kmddi.HContext, arg kmddi.Present) (kmddi.RenderOut, ddi.Status) {
			out, s := f(t, h, arg)
			edit(arg, &out, &s)
			return out, s
		}
	})
}

// paging is rendering for DxgkDdiBuildPagingBuffer.
func paging(edit func(arg kmddi.BuildPagingBuffer, out *kmddi.BuildPagingBufferOut, s *ddi.Status)) change {
	return miniport(func(d *kmddi.DriverInitializationData) {
		f := d.BuildPagingBuffer
		d.BuildPagingBuffer = func(t *ddi.Thread, h kmddi.HAdapter, arg kmddi.BuildPagingBuffer) (kmddi.BuildPagingBufferOut, ddi.Status) {
			out, s := f(t, h, arg)
			edit(arg, &out, &s)
			return out, s
		}
	})
}

// statusBreaks are statuses that a function may not return.
func statusBreaks() []Break {
	submits := func(s ddi.Status, paging bool) change {
		return miniport(func(d *kmddi.DriverInitializationData) {
			f := d.SubmitCommand
			d.SubmitCommand = func(t *ddi.Thread, h kmddi.HAdapter, arg kmddi.SubmitCommand) ddi.Status {
				if arg.Flags.Paging == paging {
					return s
				}
				return f(t, h, arg)
			}
		})
	}
	render := func(s ddi.Status, name, rule, function string) Break {
		return Break{
			Name: name, Doc: "DxgkDdiRender returns " + s.Error() + ".", Rule: rule, Function: function,
			Drivers: rendering(func(_ kmddi.Render, _ *kmddi.RenderOut, st *ddi.Status) { *st = s }),
		}
	}
	build := func(name string, s ddi.Status) Break {
		return Break{
			Name: name, Pitfall: 23, Mistake: pagingStatus, Doc: "DxgkDdiBuildPagingBuffer returns " + s.Error() + ".", Rule: "paging-result", Function: "DxgkDdiBuildPagingBuffer", Work: Big,
			Drivers: miniport(func(d *kmddi.DriverInitializationData) {
				d.BuildPagingBuffer = func(*ddi.Thread, kmddi.HAdapter, kmddi.BuildPagingBuffer) (kmddi.BuildPagingBufferOut, ddi.Status) {
					return kmddi.BuildPagingBufferOut{}, s
				}
			}),
		}
	}
	return drawn(
		Break{
			Name: "submission not supported", Pitfall: 6, Doc: "DxgkDdiSubmitCommand returns STATUS_NOT_SUPPORTED.",
			Rule: "submit-result", Function: "DxgkDdiSubmitCommand", Drivers: submits(ddi.StatusNotSupported, false),
		},
		Break{
			Name: "queue full", Pitfall: 6, Doc: "DxgkDdiSubmitCommand returns STATUS_INSUFFICIENT_RESOURCES.",
			Rule: "submit-result", Function: "DxgkDdiSubmitCommand", Drivers: submits(ddi.StatusInsufficientResources, false),
		},
		Break{
			Name: "paging buffer refused", Pitfall: 6, Doc: "DxgkDdiSubmitCommand refuses a paging buffer.",
			Rule: "submit-paging-result", Function: "DxgkDdiSubmitCommand", Work: Big, Drivers: submits(ddi.StatusNoMemory, true),
		},
		Break{
			Name: "patch refused", Doc: "DxgkDdiPatch returns STATUS_INVALID_PARAMETER.",
			Rule: "patch-result", Function: "DxgkDdiPatch", Drivers: miniport(func(d *kmddi.DriverInitializationData) {
				d.Patch = func(*ddi.Thread, kmddi.HAdapter, kmddi.Patch) ddi.Status { return ddi.StatusInvalidParameter }
			}),
		},
		render(ddi.StatusUnsuccessful, "render unsuccessful", "return-status", "DxgkDdiRender"),
		render(ddi.StatusNotSupported, "render not supported", "return-status", "DxgkDdiRender"),
		render(ddi.StatusInvalidParameter, "render refused", "callback-refused", "pfnRenderCb"),
		render(ddi.StatusPrivilegedInstruction, "render of a privileged instruction", "callback-refused", "pfnRenderCb"),
		render(ddi.StatusInsufficientDMABuffer, "render without progress", "render-progress", "DxgkDdiRender"),
		Break{
			Name: "present without progress", Doc: "DxgkDdiPresent returns STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER for ever.",
			Rule: "render-progress", Function: "DxgkDdiPresent",
			Drivers: presenting(func(arg kmddi.Present, out *kmddi.RenderOut, s *ddi.Status) {
				*s, out.MultipassOffset = ddi.StatusInsufficientDMABuffer, arg.MultipassOffset
			}),
		},
		Break{
			Name: "present refused", Doc: "DxgkDdiPresent returns STATUS_INVALID_PARAMETER.", Rule: "callback-refused", Function: "pfnPresentCb",
			Drivers: presenting(func(_ kmddi.Present, _ *kmddi.RenderOut, s *ddi.Status) { *s = ddi.StatusInvalidParameter }),
		},
		build("paging without memory", ddi.StatusNoMemory), build("paging not supported", ddi.StatusNotSupported),
		build("paging with insufficient resources", ddi.StatusInsufficientResources), build("paging always busy", ddi.StatusAllocationBusy),
		build("paging without progress", ddi.StatusInsufficientDMABuffer),
		Break{
			Name: "device not created", Doc: "DxgkDdiCreateDevice returns STATUS_INVALID_PARAMETER.", Rule: "return-status", Function: "DxgkDdiCreateDevice",
			Drivers: miniport(func(d *kmddi.DriverInitializationData) {
				d.CreateDevice = func(*ddi.Thread, kmddi.HAdapter, kmddi.HDevice, kmddi.CreateDevice) ddi.Status {
					return ddi.StatusInvalidParameter
				}
			}),
		},
		Break{
			Name: "allocation not opened", Doc: "DxgkDdiOpenAllocation returns STATUS_UNSUCCESSFUL.", Rule: "return-status", Function: "DxgkDdiOpenAllocation",
			Drivers: miniport(func(d *kmddi.DriverInitializationData) {
				d.OpenAllocation = func(*ddi.Thread, kmddi.HDevice, kmddi.HDeviceAllocation, kmddi.OpenAllocation) ddi.Status {
					return ddi.StatusUnsuccessful
				}
			}),
		},
	)
}

// outputBreaks are wrong outputs of the functions that write DMA buffers.
func outputBreaks() []Break {
	render := func(name string, pitfall int, doc, rule string, edit func(arg kmddi.Render, out *kmddi.RenderOut)) Break {
		return Break{
			Name: name, Pitfall: pitfall, Doc: doc, Rule: rule, Function: "DxgkDdiRender",
			Drivers: rendering(func(arg kmddi.Render, out *kmddi.RenderOut, _ *ddi.Status) { edit(arg, out) }),
		}
	}
	present := func(name, doc, rule string, edit func(arg kmddi.Present, out *kmddi.RenderOut)) Break {
		return Break{
			Name: name, Pitfall: 9, Doc: doc, Rule: rule, Function: "DxgkDdiPresent",
			Drivers: presenting(func(arg kmddi.Present, out *kmddi.RenderOut, _ *ddi.Status) { edit(arg, out) }),
		}
	}
	build := func(name, doc, rule string, edit func(arg kmddi.BuildPagingBuffer, out *kmddi.BuildPagingBufferOut)) Break {
		return Break{
			Name: name, Pitfall: 9, Doc: doc, Rule: rule, Function: "DxgkDdiBuildPagingBuffer", Work: Big,
			Drivers: paging(func(arg kmddi.BuildPagingBuffer, out *kmddi.BuildPagingBufferOut, _ *ddi.Status) { edit(arg, out) }),
		}
	}
	last := func(arg kmddi.Render, out *kmddi.RenderOut) *kmddi.PatchLocation {
		return &arg.PatchLocationListOut[out.PatchesUsed-1]
	}
	return drawn(
		render("render of 3 bytes more", 9, "DxgkDdiRender moves pDmaBuffer 3 bytes too far.", "buffer-align", func(_ kmddi.Render, out *kmddi.RenderOut) { out.DmaBufferUsed += 3 }),
		render("render past the buffer", 9, "DxgkDdiRender moves pDmaBuffer past the end of the buffer.", "buffer-overflow", func(arg kmddi.Render, out *kmddi.RenderOut) {
			out.DmaBufferUsed = uint32(len(arg.DmaBuffer)) + 4
		}),
		render("render past the patch list", 9, "DxgkDdiRender moves pPatchLocationListOut past the end of the list.", "buffer-overflow", func(arg kmddi.Render, out *kmddi.RenderOut) {
			out.PatchesUsed = uint32(len(arg.PatchLocationListOut)) + 1
		}),
		render("pDmaBuffer not advanced", 9, "DxgkDdiRender does not advance pDmaBuffer.", "patch-list", func(_ kmddi.Render, out *kmddi.RenderOut) { out.DmaBufferUsed = 0 }),
		render("patch of an unlisted allocation", 10, "DxgkDdiRender copies an AllocationIndex that it has not checked.", "patch-list", func(arg kmddi.Render, out *kmddi.RenderOut) {
			last(arg, out).AllocationIndex = 1000
		}),
		render("patch past the used bytes", 10, "DxgkDdiRender copies a PatchOffset that it has not checked.", "patch-list", func(arg kmddi.Render, out *kmddi.RenderOut) {
			last(arg, out).PatchOffset = out.DmaBufferUsed
		}),
		render("split offset goes back", 7, "A split offset is before that of the patch before.", "patch-list", func(arg kmddi.Render, out *kmddi.RenderOut) {
			arg.PatchLocationListOut[0].SplitOffset, arg.PatchLocationListOut[1].SplitOffset = 4, 0
		}),
		render("split offset after the patch", 7, "A split offset is after its patch.", "patch-list", func(arg kmddi.Render, out *kmddi.RenderOut) {
			last(arg, out).SplitOffset = last(arg, out).PatchOffset + 4
		}),
		render("split offset of 2", 7, "A split offset is no multiple of 4.", "patch-list", func(arg kmddi.Render, out *kmddi.RenderOut) { last(arg, out).SplitOffset += 2 }),
		present("present of 1 byte more", "DxgkDdiPresent moves pDmaBuffer 1 byte too far.", "buffer-align", func(_ kmddi.Present, out *kmddi.RenderOut) { out.DmaBufferUsed++ }),
		present("present past the buffer", "DxgkDdiPresent moves pDmaBuffer past the end of the buffer.", "buffer-overflow", func(arg kmddi.Present, out *kmddi.RenderOut) {
			out.DmaBufferUsed = uint32(len(arg.DmaBuffer)) + 4
		}),
		present("present past the patch list", "DxgkDdiPresent uses more patch locations than the list has.", "buffer-overflow", func(arg kmddi.Present, out *kmddi.RenderOut) {
			out.PatchesUsed = uint32(len(arg.PatchLocationListOut)) + 1
		}),
		present("present patches another index", "DxgkDdiPresent patches allocation 3.", "patch-list", func(arg kmddi.Present, _ *kmddi.RenderOut) {
			arg.PatchLocationListOut[0].AllocationIndex = 3
		}),
		build("paging of 2 bytes more", "DxgkDdiBuildPagingBuffer moves pDmaBuffer 2 bytes too far.", "buffer-align", func(_ kmddi.BuildPagingBuffer, out *kmddi.BuildPagingBufferOut) {
			out.DmaBufferUsed += 2
		}),
		build("paging past the buffer", "DxgkDdiBuildPagingBuffer moves pDmaBuffer past the end of the buffer.", "buffer-overflow",
			func(arg kmddi.BuildPagingBuffer, out *kmddi.BuildPagingBufferOut) {
				out.DmaBufferUsed = uint32(len(arg.DmaBuffer)) + 4
			}),
		Break{
			Name: "patch function does nothing", Pitfall: 7, Doc: "DxgkDdiPatch does nothing, so the GPU uses the addresses 0.",
			Rule: "patch-ignored", Function: "DxgkDdiPatch",
			Drivers: miniport(func(d *kmddi.DriverInitializationData) {
				d.Patch = func(*ddi.Thread, kmddi.HAdapter, kmddi.Patch) ddi.Status { return ddi.StatusSuccess }
			}),
		},
		Break{
			Name: "patch range starts at 0", Pitfall: 7, Doc: "DxgkDdiPatch patches the elements [0, Length) in place of [Start, Start+Length).",
			Rule: "patch-ignored", Function: "DxgkDdiPatch", Work: Split, Drivers: miniport(func(d *kmddi.DriverInitializationData) {
				f := d.Patch
				d.Patch = func(t *ddi.Thread, h kmddi.HAdapter, arg kmddi.Patch) ddi.Status {
					arg.PatchLocationListSubmissionStart = 0
					return f(t, h, arg)
				}
			}),
		},
		Break{
			Name: "patch range is the whole list", Pitfall: 7, Doc: "DxgkDdiPatch patches all elements of the list.",
			Rule: "patch-range", Function: "DxgkDdiPatch", Work: Split, Drivers: miniport(func(d *kmddi.DriverInitializationData) {
				f := d.Patch
				d.Patch = func(t *ddi.Thread, h kmddi.HAdapter, arg kmddi.Patch) ddi.Status {
					arg.PatchLocationListSubmissionStart, arg.PatchLocationListSubmissionLength = 0, uint32(len(arg.PatchLocationList))
					return f(t, h, arg)
				}
			}),
		},
		Break{
			Name: "PatchOffset is relative to the part", Pitfall: 7, Doc: "DxgkDdiPatch adds the start of the submission to PatchOffset.",
			Rule: "patch-ignored", Function: "DxgkDdiPatch", Work: Split, Drivers: patching(func(arg kmddi.Patch, list []kmddi.PatchLocation) {
				for i := range list {
					list[i].PatchOffset += arg.DmaBufferSubmissionStartOffset
				}
			}),
		},
	)
}

// patching is a miniport whose DxgkDdiPatch reads a changed patch list.
func patching(edit func(arg kmddi.Patch, list []kmddi.PatchLocation)) change {
	return miniport(func(d *kmddi.DriverInitializationData) {
		f := d.Patch
		d.Patch = func(t *ddi.Thread, h kmddi.HAdapter, arg kmddi.Patch) ddi.Status {
			list := append([]kmddi.PatchLocation(nil), arg.PatchLocationList...)
			edit(arg, list[arg.PatchLocationListSubmissionStart:][:arg.PatchLocationListSubmissionLength])
			arg.PatchLocationList = list
			return f(t, h, arg)
		}
	})
}
