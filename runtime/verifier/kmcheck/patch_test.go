package kmcheck

import (
	"encoding/binary"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

// patchedBytes is the size of the DMA buffer of patches.
const patchedBytes = 40

// writeAddresses is a DxgkDdiPatch without mistakes.
func writeAddresses(arg kmddi.Patch) {
	for _, p := range locationsOf(arg) {
		at := arg.AllocationList[p.AllocationIndex].PhysicalAddress + uint64(p.AllocationOffset)
		binary.LittleEndian.PutUint64(arg.DmaBuffer[p.PatchOffset:], at)
	}
}

// patches submits a DMA buffer whose last two of three locations are in the part
// that is submitted. The driver patches with code.
func (r *rig) patches(code func(arg kmddi.Patch)) kmddi.Patch {
	r.segments = []kmddi.SegmentDescriptor{{BaseAddress: 0x10000, Size: 0x1000}, {Size: 1 << 20, Flags: kmddi.SegmentFlags{System: true}}}
	r.info = kmddi.AllocationInfo{Size: 0xffe, Alignment: 4}
	r.begin()
	r.funcs.QueryAdapterInfo(r.th, r.adapter, kmddi.QueryAdapterInfo{Type: kmddi.InfoQuerySegment})
	d := r.device()
	fills := r.open(d, r.allocation()) // its whole segment
	r.info = kmddi.AllocationInfo{Size: 0x100, Alignment: 0x100}
	small, host := r.open(d, r.allocation()), r.open(d, r.allocation())
	r.patch = code
	arg := kmddi.Patch{
		Device: d, Context: r.context(d), DmaBuffer: make([]byte, patchedBytes), DmaBufferSubmissionStartOffset: 8, DmaBufferSubmissionEndOffset: patchedBytes,
		AllocationList: []kmddi.AllocationList{
			{DeviceSpecificAllocation: fills, SegmentID: 1, PhysicalAddress: 0x10000},
			{DeviceSpecificAllocation: small, SegmentID: 1, PhysicalAddress: 0x10f00},
			{DeviceSpecificAllocation: host, SegmentID: 2, PhysicalAddress: 0x2000},
			{}, // no allocation
		},
		PatchLocationList: []kmddi.PatchLocation{
			{AllocationIndex: 1}, {AllocationIndex: 0, PatchOffset: 8}, {AllocationIndex: 1, PatchOffset: 20}, {AllocationIndex: 2, PatchOffset: 32, AllocationOffset: 4},
		},
		PatchLocationListSubmissionStart: 1, PatchLocationListSubmissionLength: 3,
	}
	r.funcs.Patch(r.th, r.adapter, arg)
	return arg
}

func patchCases() []ruleCase {
	keeps := func(r *rig) { r.patches(writeAddresses) }
	return []ruleCase{
		{rule: "patch-ignored", breaks: func(r *rig) { r.patches(func(kmddi.Patch) {}) }, keeps: keeps},
		{rule: "patch-ignored", breaks: func(r *rig) { // one too few
			r.patches(func(arg kmddi.Patch) { arg.PatchLocationListSubmissionLength--; writeAddresses(arg) })
		}, keeps: func(r *rig) { // the allocation has one place only
			r.patches(func(arg kmddi.Patch) {
				arg.PatchLocationListSubmissionStart++
				arg.PatchLocationListSubmissionLength--
				writeAddresses(arg)
			})
		}},
		{rule: "patch-ignored", breaks: func(r *rig) { // the address of another allocation
			r.patches(func(arg kmddi.Patch) {
				arg.AllocationList = slices.Clone(arg.AllocationList)
				arg.AllocationList[2] = arg.AllocationList[0]
				writeAddresses(arg)
			})
		}, keeps: func(r *rig) { // the address in units of 256 bytes, in 4 bytes
			r.patches(func(arg kmddi.Patch) {
				for _, p := range locationsOf(arg) {
					binary.LittleEndian.PutUint32(arg.DmaBuffer[p.PatchOffset:], uint32(arg.AllocationList[p.AllocationIndex].PhysicalAddress>>8))
				}
			})
		}},
		{rule: "patch-ignored", breaks: func(r *rig) { r.halves(1) }, keeps: func(r *rig) { r.halves(2) }},
		{rule: "patch-repeat", breaks: func(r *rig) {
			r.patches(func(arg kmddi.Patch) { arg.DmaBuffer[19]++; writeAddresses(arg) })
		}, keeps: func(r *rig) { // a fence elsewhere in the part, and a change outside it, which the kernel judges
			r.patches(func(arg kmddi.Patch) { arg.DmaBuffer[0]++; arg.DmaBuffer[19] = 7; writeAddresses(arg) })
		}},
		{rule: "patch-repeat", breaks: func(r *rig) { // an address in the next field
			r.patches(func(arg kmddi.Patch) {
				writeAddresses(arg)
				copy(arg.DmaBuffer[28:32], arg.DmaBuffer[20:24])
			})
		}, keeps: keeps},
	}
}

// halves submits a DMA buffer with two locations for the address of each allocation,
// the low and the high 4 bytes. The driver patches the first n allocations.
func (r *rig) halves(n uint32) {
	r.segments = []kmddi.SegmentDescriptor{{BaseAddress: 0x10000, Size: 0x1000}}
	r.info = kmddi.AllocationInfo{Size: 0x100, Alignment: 4}
	r.begin()
	r.funcs.QueryAdapterInfo(r.th, r.adapter, kmddi.QueryAdapterInfo{Type: kmddi.InfoQuerySegment})
	d := r.device()
	arg := kmddi.Patch{
		Device: d, Context: r.context(d), DmaBuffer: make([]byte, 16), DmaBufferSubmissionEndOffset: 16,
		PatchLocationListSubmissionLength: 4,
	}
	for i := range uint32(2) {
		arg.AllocationList = append(arg.AllocationList, kmddi.AllocationList{
			DeviceSpecificAllocation: r.open(d, r.allocation()), SegmentID: 1, PhysicalAddress: 0x10000 + uint64(i)*0x100,
		})
		arg.PatchLocationList = append(arg.PatchLocationList,
			kmddi.PatchLocation{AllocationIndex: i, PatchOffset: 8 * i}, kmddi.PatchLocation{AllocationIndex: i, PatchOffset: 8*i + 4})
	}
	r.patch = func(arg kmddi.Patch) {
		for _, p := range locationsOf(arg) {
			if p.AllocationIndex < n {
				at := arg.AllocationList[p.AllocationIndex].PhysicalAddress >> (p.PatchOffset % 8 * 8)
				binary.LittleEndian.PutUint32(arg.DmaBuffer[p.PatchOffset:], uint32(at))
			}
		}
	}
	r.funcs.Patch(r.th, r.adapter, arg)
}

// The driver is called with other addresses first, inside the segments, and the
// buffer then has the right ones.
func TestPatchIsCalledTwice(t *testing.T) {
	r := newRig(t)
	var lists [][]kmddi.AllocationList
	arg := r.patches(func(arg kmddi.Patch) {
		lists = append(lists, append([]kmddi.AllocationList(nil), arg.AllocationList...))
		writeAddresses(arg)
	})
	require.Len(t, lists, 2)
	assert.Equal(t, arg.AllocationList, lists[1])
	var first []uint64
	for _, e := range lists[0] {
		first = append(first, e.PhysicalAddress)
	}
	// Element 1 has 16 places of which it is in the last; element 2 is moved by 3 pages.
	assert.Equal(t, []uint64{0x10000, 0x10100, 0x5000, 0}, first)
	le := binary.LittleEndian
	assert.Equal(t, []uint64{0x10000, 0x10f00, 0x2004}, []uint64{le.Uint64(arg.DmaBuffer[8:]), le.Uint64(arg.DmaBuffer[20:]), le.Uint64(arg.DmaBuffer[32:])})
	assert.Empty(t, r.m.Violations())
}

// A failure of the first call is the result, and nothing is compared.
func TestPatchThatFails(t *testing.T) {
	r := newRig(t)
	calls := 0
	r.status["Patch"] = ddi.StatusUnsuccessful
	r.patches(func(kmddi.Patch) { calls++ })
	assert.Equal(t, 1, calls)
	assert.Empty(t, r.m.Violations())
}

// A finding about a patch names the function that wrote the buffer, by its first byte.
func TestPatchNamesTheWriter(t *testing.T) {
	for name, write := range map[string]func(r *rig, ctx kmddi.HContext, buffer []byte){
		"DxgkDdiRender": func(r *rig, ctx kmddi.HContext, buffer []byte) {
			r.funcs.Render(r.th, ctx, kmddi.Render{DmaBuffer: buffer})
		},
		"DxgkDdiRenderKm": func(r *rig, ctx kmddi.HContext, buffer []byte) {
			r.funcs.RenderKm(r.th, ctx, kmddi.Render{DmaBuffer: buffer})
		},
	} {
		r := newRig(t)
		arg := r.patches(writeAddresses)
		write(r, arg.Context, arg.DmaBuffer)
		r.patch = func(kmddi.Patch) {}
		r.funcs.Patch(r.th, r.adapter, arg)
		if all := r.m.Violations(); assert.Len(t, all, 1) {
			assert.Contains(t, all[0].Text, "of "+name+", PatchOffset")
		}
	}
}
