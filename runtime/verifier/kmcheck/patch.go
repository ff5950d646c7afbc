package kmcheck

import (
	"fmt"
	"slices"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
	"github.com/hilgpu/hilgpu/runtime/verifier"
)

const (
	patchFunction = "DxgkDdiPatch"
	addressBytes  = 8 // of a PHYSICAL_ADDRESS
	pageBytes     = 4096
)

// A patcher is what the Checker needs to call DxgkDdiPatch twice. One thread at a
// time patches.
type patcher struct {
	segments []kmddi.SegmentDescriptor // of the adapter, by ID - 1
	moved    []kmddi.AllocationList
	first    []byte // the part after the first call

	offsets []uint32 // PatchOffset of the locations, in ascending order
	written []bool   // by allocation: a location changed, or the address is the same
}

// Driver returns a driver entry like entry, for verifier.WrapKernelMode. Each
// DxgkDdiPatch calls the function of the driver twice, as the scheduler does for a
// buffer whose allocations were moved before it was submitted: first with other
// addresses of the allocations, then with the right ones.
func (k *Checker) Driver(entry kmddi.DriverEntry) kmddi.DriverEntry {
	return func() kmddi.DriverInitializationData {
		d := entry()
		if patch := d.Patch; patch != nil {
			d.Patch = func(t *ddi.Thread, h kmddi.HAdapter, arg kmddi.Patch) ddi.Status {
				if k.m.Stopped() || !k.move(arg) {
					return patch(t, h, arg)
				}
				other := arg
				other.AllocationList = k.patch.moved
				if s := patch(t, h, other); s != ddi.StatusSuccess {
					return s
				}
				k.patch.first = append(k.patch.first[:0], partOf(arg)...)
				s := patch(t, h, arg)
				if s == ddi.StatusSuccess {
					k.comparePatches(t, arg)
				}
				return s
			}
		}
		return d
	}
}

// partOf returns the part of a DMA buffer that is submitted.
func partOf(arg kmddi.Patch) []byte {
	return arg.DmaBuffer[arg.DmaBufferSubmissionStartOffset:arg.DmaBufferSubmissionEndOffset]
}

// locationsOf returns the patch locations of the part.
func locationsOf(arg kmddi.Patch) []kmddi.PatchLocation {
	first := arg.PatchLocationListSubmissionStart
	return arg.PatchLocationList[first : first+arg.PatchLocationListSubmissionLength]
}

// note remembers the segments and the sizes of allocations.
func (k *Checker) note(fr *frame, results []any) {
	switch out := results[0].(type) {
	case kmddi.QueryAdapterInfoOut:
		if fr.args[1].(kmddi.QueryAdapterInfo).Type == kmddi.InfoQuerySegment {
			k.patch.segments = slices.Clone(out.Segments.Segments)
		}
	case kmddi.AllocationInfo:
		if fr.created != nil {
			fr.created.info = out
		}
	}
}

// move fills in k.patch.moved, the allocation list with each allocation at another
// place of its segment, by different distances. It reports whether one has another
// place.
func (k *Checker) move(arg kmddi.Patch) (any bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.patch.moved = append(k.patch.moved[:0], arg.AllocationList...)
	for i := range k.patch.moved {
		e := &k.patch.moved[i]
		if to, ok := k.otherPlace(i, *e); ok {
			e.PhysicalAddress, any = to, true
		}
	}
	return any
}

// otherPlace returns an address at which element i of an allocation list could be
// instead.
func (k *Checker) otherPlace(i int, e kmddi.AllocationList) (uint64, bool) {
	o := k.objects[e.DeviceSpecificAllocation.Root]
	if o == nil || o.kind != openedKind || len(o.parents) < 2 || e.SegmentID == 0 || uint64(e.SegmentID) > uint64(len(k.patch.segments)) {
		return 0, false
	}
	seg, info := k.patch.segments[e.SegmentID-1], o.parents[1].info
	step := uint64(max(info.Alignment, 4))
	if seg.Flags.System {
		step = max(step, pageBytes)
	}
	size := (info.Size + 3) &^ 3
	at := e.PhysicalAddress - seg.BaseAddress
	if e.PhysicalAddress < seg.BaseAddress || size > seg.Size || at > seg.Size-size {
		return 0, false
	}
	first := at % step
	places := (seg.Size-size-first)/step + 1
	if places < 2 {
		return 0, false
	}
	place := (at/step + 1 + uint64(i)%(places-1)) % places
	return seg.BaseAddress + first + place*step, true
}

// comparePatches checks that the two calls wrote different addresses, and nothing
// else that differs.
func (k *Checker) comparePatches(t *ddi.Thread, arg kmddi.Patch) {
	k.mu.Lock()
	defer k.mu.Unlock()
	th := k.threads[t]
	if k.m.Stopped() || th == nil || th.top() == nil || th.top().f.Name != patchFunction {
		return
	}
	locations := locationsOf(arg)
	if slices.ContainsFunc(locations, func(p kmddi.PatchLocation) bool { return int(p.AllocationIndex) >= len(arg.AllocationList) }) {
		return // the driver has changed the list, which the kernel reports
	}
	if !k.checkWritten(th.top(), arg, locations) {
		return
	}
	start, first, second := arg.DmaBufferSubmissionStartOffset, k.patch.first, partOf(arg)
	for _, p := range locations {
		from, to := windowOf(p, start, len(second))
		copy(first[from:to], second[from:to])
	}
	for i := range first {
		if first[i] != second[i] {
			k.fail(th.top(), "patch-repeat", "byte %#x of the buffer is %#02x after the call and %#02x after a second one with other addresses, want the same, since no patch of the submission is there",
				int(start)+i, first[i], second[i])
			return
		}
	}
}

// checkWritten checks that each allocation with another address has a location that
// changed. Some locations need not change: a driver may write the two halves of an
// address at two locations.
func (k *Checker) checkWritten(fr *frame, arg kmddi.Patch, locations []kmddi.PatchLocation) bool {
	written := k.patch.written[:0]
	for i, e := range arg.AllocationList {
		written = append(written, e.PhysicalAddress == k.patch.moved[i].PhysicalAddress)
	}
	k.patch.written = written
	offsets := k.patch.offsets[:0]
	for _, p := range locations {
		offsets = append(offsets, p.PatchOffset)
	}
	slices.Sort(offsets)
	k.patch.offsets = offsets
	first, second := k.patch.first, partOf(arg)
	for _, p := range locations {
		from, to := windowOf(p, arg.DmaBufferSubmissionStartOffset, len(second))
		if next, _ := slices.BinarySearch(offsets, p.PatchOffset+1); next < len(offsets) {
			to = min(to, from+int(offsets[next]-p.PatchOffset))
		}
		if !slices.Equal(first[from:to], second[from:to]) {
			written[p.AllocationIndex] = true
		}
	}
	for i, p := range locations {
		if !written[p.AllocationIndex] {
			k.failBy(fr, k.listedBy(arg, locations), "patch-ignored", "patch %d of %s, PatchOffset %#x, AllocationIndex %d: the bytes of each location of the allocation are the same for its addresses %#x and %#x",
				int(arg.PatchLocationListSubmissionStart)+i, writerOf(k.evidence.writer, arg.Flags), p.PatchOffset, p.AllocationIndex,
				k.patch.moved[p.AllocationIndex].PhysicalAddress, arg.AllocationList[p.AllocationIndex].PhysicalAddress)
			return false
		}
	}
	return true
}

// listedBy returns the culprit for an allocation whose locations do not hold its
// address, if other allocations have theirs or have no location: the function that
// listed the locations.
func (k *Checker) listedBy(arg kmddi.Patch, locations []kmddi.PatchLocation) *verifier.Culprit {
	for i, e := range arg.AllocationList {
		if e.PhysicalAddress == k.patch.moved[i].PhysicalAddress {
			continue
		}
		why := ""
		switch listed := slices.ContainsFunc(locations, func(p kmddi.PatchLocation) bool { return int(p.AllocationIndex) == i }); {
		case !listed:
			why = fmt.Sprintf("has no location of allocation %d", i)
		case k.patch.written[i]:
			why = fmt.Sprintf("has the location, and %s writes those of allocation %d", patchFunction, i)
		default:
			continue
		}
		return &verifier.Culprit{Function: writerOf(k.evidence.writer, arg.Flags), Call: k.evidence.writer.call, Argument: "argument PatchLocationListOut", Why: why}
	}
	return nil
}

// windowOf returns the bytes that an address at a patch location can have in a part
// of n bytes that begins at start.
func windowOf(p kmddi.PatchLocation, start uint32, n int) (from, to int) {
	from = int(int64(p.PatchOffset) - int64(start))
	return min(max(from, 0), n), min(max(from+addressBytes, 0), n)
}
