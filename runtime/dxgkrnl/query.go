package dxgkrnl

import (
	"cmp"
	"fmt"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

// queryInfo is the function of the miniport that describes the adapter.
const queryInfo = "DxgkDdiQueryAdapterInfo"

// query reads and checks the capabilities of the adapter.
func (k *Kernel) query(t *ddi.Thread) error {
	out, s := k.driver.QueryAdapterInfo(t, k.adapter, kmddi.QueryAdapterInfo{Type: kmddi.InfoDriverCaps})
	if s.Failed() {
		return fmt.Errorf("dxgkrnl: DxgkDdiQueryAdapterInfo of DRIVERCAPS: %w", s)
	}
	k.caps = out.DriverCaps
	if found := cmp.Or(checkCaps(k.caps), checkClaims(k.caps, &k.driver)); k.broken(t, "adapter-info", queryInfo, found) {
		return fmt.Errorf("%w: DRIVERCAPS: %s", ErrStart, found)
	}
	out, s = k.driver.QueryAdapterInfo(t, k.adapter, kmddi.QueryAdapterInfo{Type: kmddi.InfoQuerySegment})
	if s.Failed() {
		return fmt.Errorf("dxgkrnl: DxgkDdiQueryAdapterInfo of QUERYSEGMENT: %w", s)
	}
	if found := checkSegments(out.Segments, k.dev.Info().BARs); k.broken(t, "adapter-info", queryInfo, found) {
		return fmt.Errorf("%w: QUERYSEGMENT: %s", ErrStart, found)
	}
	for i, d := range out.Segments.Segments {
		k.segments = append(k.segments, &segment{id: uint32(i + 1), desc: d})
	}
	if !k.makeDummy() {
		return fmt.Errorf("%w: no memory for the dummy page", ErrStart)
	}
	n := int(k.caps.NumberOfNodes)
	k.paging = pager{
		size: out.Segments.PagingBufferSize, private: out.Segments.PagingBufferPrivateDataSize,
	}
	k.nodes = make([]node, n)
	k.paging.line.node = k.pagingNode()
	for i := range k.nodes {
		k.nodes[i].ordinal, k.nodes[i].first = uint32(i), k.firstFence+uint32(i)*k.fenceStep
	}
	return nil
}

// checkTable returns what is wrong with the table of the miniport, or "": it needs
// every required function, and either both reset functions or none.
func checkTable(d *kmddi.DriverInitializationData) string {
	if d.Version != kmddi.InterfaceVersion {
		return fmt.Sprintf("Version is %#x, want %#x", d.Version, kmddi.InterfaceVersion)
	}
	for _, f := range []struct {
		name string
		is   bool
	}{
		{"AddDevice", d.AddDevice != nil}, {"StartDevice", d.StartDevice != nil},
		{"StopDevice", d.StopDevice != nil}, {"RemoveDevice", d.RemoveDevice != nil},
		{"InterruptRoutine", d.InterruptRoutine != nil}, {"DpcRoutine", d.DpcRoutine != nil},
		{"QueryAdapterInfo", d.QueryAdapterInfo != nil},
		{"CreateDevice", d.CreateDevice != nil}, {"DestroyDevice", d.DestroyDevice != nil},
		{"CreateContext", d.CreateContext != nil}, {"DestroyContext", d.DestroyContext != nil},
		{"CreateAllocation", d.CreateAllocation != nil}, {"DestroyAllocation", d.DestroyAllocation != nil},
		{"OpenAllocation", d.OpenAllocation != nil}, {"CloseAllocation", d.CloseAllocation != nil},
		{"Render", d.Render != nil}, {"Present", d.Present != nil},
		{"BuildPagingBuffer", d.BuildPagingBuffer != nil}, {"Patch", d.Patch != nil},
		{"SubmitCommand", d.SubmitCommand != nil}, {"QueryCurrentFence", d.QueryCurrentFence != nil},
		{"CollectDbgInfo", d.CollectDbgInfo != nil},
		{"ResetFromTimeout", d.ResetFromTimeout != nil || d.RestartFromTimeout == nil},
		{"RestartFromTimeout", d.RestartFromTimeout != nil || d.ResetFromTimeout == nil},
	} {
		if !f.is {
			return "the miniport has no DxgkDdi" + f.name
		}
	}
	return ""
}

// PreemptionCaps returns where the miniport claims that nodes stop.
func (k *Kernel) PreemptionCaps() kmddi.PreemptionCaps { return k.caps.PreemptionCaps }
