package breaks

import (
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

// mapsLater makes a miniport keep each MAP_APERTURE_SEGMENT, with its MDL, and perform it in
// DxgkDdiPatch.
func mapsLater(d *kmddi.DriverInitializationData) {
	var kept []kmddi.BuildPagingBuffer
	build, patch := d.BuildPagingBuffer, d.Patch
	d.BuildPagingBuffer = func(t *ddi.Thread, h kmddi.HAdapter, arg kmddi.BuildPagingBuffer) (kmddi.BuildPagingBufferOut, ddi.Status) {
		if arg.Operation == kmddi.PagingMapApertureSegment {
			kept = append(kept, arg)
			return kmddi.BuildPagingBufferOut{}, ddi.StatusSuccess
		}
		return build(t, h, arg)
	}
	d.Patch = func(t *ddi.Thread, h kmddi.HAdapter, arg kmddi.Patch) ddi.Status {
		for _, op := range kept {
			build(t, h, op)
		}
		kept = nil
		return patch(t, h, arg)
	}
}

// stopsAtPackets is a miniport that claims to stop between DMA buffers.
func stopsAtPackets(d *kmddi.DriverInitializationData) {
	query := d.QueryAdapterInfo
	d.QueryAdapterInfo = func(t *ddi.Thread, h kmddi.HAdapter, arg kmddi.QueryAdapterInfo) (kmddi.QueryAdapterInfoOut, ddi.Status) {
		out, s := query(t, h, arg)
		if arg.Type == kmddi.InfoDriverCaps {
			out.DriverCaps.PreemptionCaps.GraphicsPreemptionGranularity = kmddi.GraphicsPreemptionDMABufferBoundary
		}
		return out, s
	}
}

// capabilityBreaks are miniports that keep an MDL or stop elsewhere than they claim. Only a check of
// the GPU tells.
func capabilityBreaks() []Break {
	return []Break{
		{
			Name: "MDL kept", Pitfall: 23, Mistake: pagingMDL, Doc: "DxgkDdiBuildPagingBuffer keeps the MDL of MAP_APERTURE_SEGMENT, and DxgkDdiPatch maps its pages.",
			Rule: "access-mdl", Function: "DxgkDdiBuildPagingBuffer", Own: true, Work: Mapped, Drivers: miniport(mapsLater),
		},
		{
			Name: "stops between buffers claimed", Pitfall: 30, Mistake: capsStop, Doc: "The miniport claims that nodes stop between DMA buffers, and stops them at a packet.",
			Rule: "access-stopped", Function: "DxgkDdiPreemptCommand", Own: true, Work: Preempted, Drivers: miniport(stopsAtPackets),
		},
	}
}
