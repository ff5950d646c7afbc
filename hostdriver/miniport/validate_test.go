package miniport_test

import (
	"bytes"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/hostdriver/privdata"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

// The allocation list of the tests.
const (
	none    = 0 // no allocation
	source  = 1 // 4096 bytes at VRAM+0x1000, read
	target  = 2 // 4096 bytes at HOST+0x40000, written
	canvas  = 3 // 16 x 16 elements of 4 bytes at VRAM+0x3000, written
	foreign = 4 // of another device
	outside = 5 // 4096 bytes, written, paged out
	closed  = 6 // closed again
	image   = 7 // 16 x 16 elements of 4 bytes at VRAM+0x4000, read
	alias   = 8 // target, but read
	large   = 9 // 131072 bytes at VRAM+0x8000, written: more than a packet can move
	listed  = 10
)

// fixture is a client with the allocation list.
type fixture struct {
	*client
	list []kmddi.AllocationList
}

func newFixture(t testing.TB) *fixture {
	k := started(t, 2)
	c := k.client(t)
	flat := privdata.Allocation{Place: privdata.Either, Bytes: 4096}
	closedOne := c.open(t, flat)
	require.Equal(t, ddi.StatusSuccess, k.table.CloseAllocation(k.thread, c.dev, closedOne))
	list := []kmddi.AllocationList{
		source:  {DeviceSpecificAllocation: c.open(t, flat), SegmentID: 1, PhysicalAddress: 0x1000},
		target:  {DeviceSpecificAllocation: c.open(t, flat), WriteOperation: true, SegmentID: 2, PhysicalAddress: 1<<63 | 0x40000},
		canvas:  {DeviceSpecificAllocation: c.open(t, surface32(privdata.Local, 16, 16)), WriteOperation: true, SegmentID: 1, PhysicalAddress: 0x3000},
		foreign: {DeviceSpecificAllocation: k.client(t).open(t, flat), WriteOperation: true, SegmentID: 1, PhysicalAddress: 0x7000},
		outside: {DeviceSpecificAllocation: c.open(t, flat), WriteOperation: true, PhysicalAddress: 0xbad},
		closed:  {DeviceSpecificAllocation: closedOne, WriteOperation: true, SegmentID: 1},
		image:   {DeviceSpecificAllocation: c.open(t, surface32(privdata.Local, 16, 16)), SegmentID: 1, PhysicalAddress: 0x4000},
		alias:   {},
		large:   {DeviceSpecificAllocation: c.open(t, privdata.Allocation{Place: privdata.Either, Bytes: 1 << 17}), WriteOperation: true, SegmentID: 1, PhysicalAddress: 0x8000},
	}
	list[alias] = list[target]
	list[alias].WriteOperation = false
	return &fixture{client: c, list: list}
}

// guard fills memory that a refused Render must not touch, and the memory after
// the output of an accepted one.
const guard = 0xa5

// render calls Render with a DMA buffer and a patch list of the given sizes,
// each followed by guard bytes.
func (f *fixture) render(t testing.TB, cmd ddi.UserMemory, patches kmddi.UserPatchList, size, entries int, multipass uint32) (kmddi.RenderOut, []byte, []kmddi.PatchLocation, ddi.Status) {
	const tail = 16
	dma := bytes.Repeat([]byte{guard}, size+tail)
	list := slices.Repeat([]kmddi.PatchLocation{{AllocationIndex: guard}}, entries+tail)
	private := bytes.Repeat([]byte{guard}, 80)
	out, s := f.k.table.Render(f.k.thread, f.ctx, kmddi.Render{
		Command: cmd, PatchLocationListIn: patches, AllocationList: f.list,
		DmaBuffer: dma[:size:size], DmaBufferPrivateData: private, PatchLocationListOut: list[:entries:entries], MultipassOffset: multipass,
	})
	require.LessOrEqual(t, int(out.DmaBufferUsed), size)
	require.LessOrEqual(t, int(out.PatchesUsed), entries)
	for _, b := range dma[out.DmaBufferUsed:] {
		require.Equal(t, byte(guard), b, "written past DmaBufferUsed")
	}
	for _, p := range list[out.PatchesUsed:] {
		require.Equal(t, kmddi.PatchLocation{AllocationIndex: guard}, p, "written past PatchesUsed")
	}
	if s != ddi.StatusSuccess && s != ddi.StatusInsufficientDMABuffer {
		require.Equal(t, kmddi.RenderOut{}, out)
		require.Equal(t, bytes.Repeat([]byte{guard}, len(private)), private, "a refused command changes nothing")
	}
	return out, dma[:out.DmaBufferUsed], list[:out.PatchesUsed], s
}

// at returns a patch; omitted fields are 0.
func at(alloc, off, patch, split uint32) kmddi.PatchLocation {
	return kmddi.PatchLocation{AllocationIndex: alloc, AllocationOffset: off, PatchOffset: patch, SplitOffset: split}
}

// Packets with zero address fields.
func copyOf(n uint32) []uint32     { return []uint32{0x04000005, 0, 0, 0, 0, n} }
func fillOf(n uint32) []uint32     { return []uint32{0x06000005, 0, 0, n, 0x11, 0x22} }
func writeReg(off uint32) []uint32 { return []uint32{0x08000002, off, 7} }
func stamp() []uint32              { return []uint32{0x09000002, 0, 0} }
func fill2D() []uint32             { return []uint32{0x07000004, 0, 4 | 4<<16, 1, 0} }
func copy2D() []uint32             { return []uint32{0x05000003, 0, 0, 4 | 4<<16} }

// surface is SET_STATE of a surface with rows of 64 bytes and elements of 4
// bytes.
func surface(i, x1, y1 uint32) []uint32 { return set(i, 64, 2, x1, y1) }

func set(i, pitch, format, x1, y1 uint32) []uint32 {
	return []uint32{0x03000007, i, 0, 0, pitch, format, 0, x1 | y1<<16}
}

func join(packets ...[]uint32) []uint32 { return slices.Concat(packets...) }

type patches = []kmddi.PatchLocation

const (
	illegal    = ddi.StatusIllegalInstruction
	privileged = ddi.StatusPrivilegedInstruction
	userBuffer = ddi.StatusInvalidUserBuffer
	parameter  = ddi.StatusInvalidParameter
	handle     = ddi.StatusInvalidHandle
	success    = ddi.StatusSuccess
)

type rule struct {
	name    string
	cmd     []uint32
	patches patches
	want    ddi.Status
}

func checkRules(t *testing.T, rules []rule) {
	f := newFixture(t)
	for _, tt := range rules {
		t.Run(tt.name, func(t *testing.T) {
			_, _, _, s := f.render(t, &userMemory{b: words(tt.cmd...)}, &userPatches{list: slices.Clone(tt.patches)}, 4096, 64, 0)
			assert.Equal(t, tt.want, s)
		})
	}
}

// docs/validator.md: V05.
func TestFraming(t *testing.T) {
	ok := patches{at(source, 0, 4, 0), at(target, 0, 12, 0)}
	checkRules(t, []rule{
		{"an empty command", nil, nil, success},
		{"a NOP", []uint32{0x01000000}, nil, success},
		{"a NOP with any body", []uint32{0x01000002, 0xffffffff, 0x02000003}, nil, success},
		{"a NOP that runs past the end", []uint32{0x01000002, 0}, nil, userBuffer},
		{"the longest NOP runs past the end", []uint32{0x0100ffff, 0}, nil, userBuffer},
		{"a copy", copyOf(64), ok, success},
		{"a copy that runs past the end", copyOf(64)[:5], ok, userBuffer},
		{"a copy without body", []uint32{0x04000005}, nil, userBuffer},
		{"a copy that is too short", join([]uint32{0x04000004}, copyOf(64)[1:]), ok, illegal},
		{"a copy that is too long", join([]uint32{0x04000006}, copyOf(64)[1:], []uint32{0}), ok, illegal},
		{"opcode 0", []uint32{0}, nil, illegal},
		{"an opcode in a hole of the table", []uint32{0x0c000000}, nil, illegal},
		{"an opcode past the table", []uint32{0x7f000000}, nil, illegal},
		{"opcode 0xff", []uint32{0xffffffff}, nil, illegal},
		{"a reserved bit of the header", join([]uint32{0x04010005}, copyOf(64)[1:]), ok, illegal},
		{"a reserved bit of a NOP's header", []uint32{0x01800000}, nil, illegal},
		{"a reserved bit of the body", join(surface(2, 4, 4)), patches{at(canvas, 0, 8, 0)}, illegal},
		{"a reserved bit above the pitch", set(1, 1<<20, 2, 4, 4), patches{at(canvas, 0, 8, 0)}, illegal},
		{"a bad packet after a good one", join(copyOf(64), []uint32{0x0c000000}), ok, illegal},
		{"INDIRECT", []uint32{0x02000003, 0, 0, 1}, nil, privileged},
		{"INDIRECT with a patch", []uint32{0x02000003, 0, 0, 1}, patches{at(source, 0, 4, 0)}, privileged},
		{"FENCE", []uint32{0x10000004, 0, 0, 1, 1}, nil, privileged},
		{"SET_WINDOW", []uint32{0x11000005, 0, 0, 0, 0, 0}, nil, privileged},
		{"INDIRECT inside a NOP is not executed", []uint32{0x01000004, 0x02000003, 0, 0, 1}, nil, success},
	})
}

// docs/validator.md: V17.
func TestRegisters(t *testing.T) {
	var rules []rule
	for off := uint32(0); off < 0x60; off += 4 {
		want := privileged
		if off >= 0x20 && off <= 0x2c {
			want = success
		}
		rules = append(rules, rule{"ID", writeReg(off), nil, want})
	}
	checkRules(t, append(rules,
		rule{"INTC.MASK", writeReg(0x104), nil, privileged},
		rule{"CP0.FENCE", writeReg(0x101c), nil, privileged},
		rule{"the MSI-X table", writeReg(0x8000), nil, privileged},
		rule{"the end of the range", writeReg(0xfffc), nil, privileged},
		rule{"misaligned by 1", writeReg(0x21), nil, parameter},
		rule{"misaligned by 2", writeReg(0x22), nil, parameter},
		rule{"above 16 bits", writeReg(0x10020), nil, illegal},
	))
}

// docs/validator.md: V12.
func TestRanges(t *testing.T) {
	fill := func(alloc, off uint32) patches { return patches{at(alloc, off, 4, 0)} }
	cp := func(src, dst uint32) patches { return patches{at(source, src, 4, 0), at(target, dst, 12, 0)} }
	checkRules(t, []rule{
		{"the entire allocation", fillOf(4096), fill(target, 0), success},
		{"one byte more", fillOf(4097), fill(target, 0), parameter},
		{"the last byte", fillOf(1), fill(target, 4095), success},
		{"one past the last byte", fillOf(2), fill(target, 4095), parameter},
		{"begins at the end", fillOf(1), fill(target, 4096), parameter},
		{"nothing at the last byte", fillOf(0), fill(target, 4095), success},
		{"nothing at the end", fillOf(0), fill(target, 4096), parameter},
		{"the largest offset", fillOf(1), fill(target, 0xffffffff), parameter},
		{"offset and length wrap around 2^32", fillOf(0x8000), fill(target, 0xffff8001), parameter},
		{"longer than the hardware counts", fillOf(1 << 16), fill(target, 0), parameter},
		{"the longest that 32 bits hold", fillOf(0xffffffff), fill(target, 0), parameter},
		{"source ends with the allocation", copyOf(96), cp(4000, 0), success},
		{"source ends past it", copyOf(97), cp(4000, 0), parameter},
		{"destination ends with the allocation", copyOf(96), cp(0, 4000), success},
		{"destination ends past it", copyOf(97), cp(0, 4000), parameter},
		{"timestamp at the end", stamp(), fill(target, 4088), success},
		{"timestamp past it", stamp(), fill(target, 4096), parameter},
		{"timestamp aligned to 4", stamp(), fill(target, 4084), parameter},
		{"timestamp to a read-only allocation", stamp(), fill(source, 0), parameter},
		{"fill of a read-only allocation", fillOf(8), fill(source, 0), parameter},
		{"copy to a read-only allocation", copyOf(8), patches{at(target, 0, 4, 0), at(source, 0, 12, 0)}, parameter},
		{"copy within a written allocation", copyOf(8), patches{at(target, 0, 4, 0), at(target, 8, 12, 0)}, success},
		{"no allocation", fillOf(8), fill(none, 0), handle},
		{"another device's allocation", fillOf(8), fill(foreign, 0), handle},
		{"a closed allocation", fillOf(8), fill(closed, 0), handle},
		{"a paged-out allocation", fillOf(8), fill(outside, 0), success},
		{"the last of the list", surface(0, 4, 4), patches{at(image, 0, 8, 0)}, success},
		{"past the list", fillOf(8), fill(listed, 0), parameter},
		{"index -1", fillOf(8), fill(0xffffffff, 0), parameter},
	})
}

// docs/validator.md: V08, V15.
func TestPatches(t *testing.T) {
	a, b := at(source, 0, 4, 0), at(target, 0, 12, 0)
	two := join(fillOf(8), fillOf(8)) // 24 bytes each
	checkRules(t, []rule{
		{"in the order of the fields", copyOf(8), patches{a, b}, success},
		{"in the other order", copyOf(8), patches{b, a}, success},
		{"one is missing", copyOf(8), patches{a}, parameter},
		{"all are missing", copyOf(8), nil, parameter},
		{"a field twice", copyOf(8), patches{a, b, b}, parameter},
		{"one in a header", copyOf(8), patches{a, b, at(source, 0, 0, 0)}, parameter},
		{"one in an operand", fillOf(8), patches{at(target, 0, 4, 0), at(target, 0, 16, 0)}, parameter},
		{"one in the high half of a field", copyOf(8), patches{a, b, at(source, 0, 8, 0)}, parameter},
		{"one in the high half instead", copyOf(8), patches{at(source, 0, 8, 0), b}, parameter},
		{"one in a NOP", []uint32{0x01000002, 0, 0}, patches{at(target, 0, 4, 0)}, parameter},
		{"misaligned", copyOf(8), patches{at(source, 0, 6, 0), b}, parameter},
		{"the last dword", copyOf(8), patches{a, b, at(source, 0, 20, 0)}, parameter},
		{"past the end", copyOf(8), patches{a, b, at(source, 0, 24, 0)}, parameter},
		{"offset near 2^32", copyOf(8), patches{a, b, at(source, 0, 0xfffffffc, 0)}, parameter},
		{"one in an empty command", nil, patches{a}, parameter},
		{"one in a command of a dword", []uint32{0x01000000}, patches{at(source, 0, 0, 0)}, parameter},

		{"a split at each packet", two, patches{at(target, 0, 4, 0), at(target, 0, 28, 24)}, success},
		{"one split for both", two, patches{at(target, 0, 28, 0), at(target, 0, 4, 0)}, success},
		{"splits that decrease", two, patches{at(target, 0, 28, 24), at(target, 0, 4, 0)}, parameter},
		{"a split inside a packet", two, patches{at(target, 0, 4, 0), at(target, 0, 28, 20)}, parameter},
		{"a split after the use", two, patches{at(target, 0, 4, 24), at(target, 0, 28, 24)}, parameter},
		{"a split at the end", fillOf(8), patches{at(target, 0, 4, 24)}, parameter},
		{"a split past the end", fillOf(8), patches{at(target, 0, 4, 28)}, parameter},
		{"a split near 2^32", fillOf(8), patches{at(target, 0, 4, 0xfffffffc)}, parameter},
		{"the first split after a packet without addresses", join(writeReg(0x20), fillOf(8)), patches{at(target, 0, 16, 12)}, success},
		{"a use after the next split", join(fillOf(8), fillOf(8), fillOf(8)),
			patches{at(target, 0, 4, 0), at(target, 0, 52, 0), at(target, 0, 28, 24)}, parameter},
	})
}

// docs/validator.md: V11, V13, V30.
func TestSurfaces(t *testing.T) {
	onCanvas := func(off uint32) patches { return patches{at(canvas, off, 8, 0)} }
	both := patches{at(image, 0, 8, 0), at(canvas, 0, 40, 0)}
	checkRules(t, []rule{
		{"the entire surface", surface(1, 16, 16), onCanvas(0), success},
		{"one element to the right", surface(1, 17, 16), onCanvas(0), parameter},
		{"one row more", surface(1, 1, 17), onCanvas(0), parameter},
		{"one row less and one byte in", surface(1, 16, 15), onCanvas(1), success},
		{"one byte in", surface(1, 16, 16), onCanvas(1), parameter},
		{"the last row ends with the allocation", set(1, 68, 2, 1, 16), onCanvas(0), success},
		{"the last row ends past it", set(1, 68, 2, 2, 16), onCanvas(0), parameter},
		{"a larger element", set(1, 64, 3, 9, 16), onCanvas(0), parameter},
		{"the largest element", set(1, 64, 4, 4, 16), onCanvas(0), success},
		{"no pitch", set(1, 0, 2, 256, 16384), onCanvas(0), success},
		{"no pitch, one element more", set(1, 0, 2, 257, 1), onCanvas(0), parameter},
		{"the maximum of everything", set(1, 1<<20-1, 4, 16384, 16384), onCanvas(0), parameter},
		{"an empty clip", set(1, 1<<20-1, 4, 16384, 0), onCanvas(0), success},
		{"an empty clip at the end of the allocation", set(1, 64, 2, 0, 0), onCanvas(1024), parameter},
		{"an unknown format", set(1, 64, 5, 1, 1), onCanvas(0), parameter},
		{"a coordinate above the largest", set(1, 0, 2, 1, 16385), onCanvas(0), parameter},
		{"a source need not be writable", surface(0, 16, 16), patches{at(image, 0, 8, 0)}, success},
		{"an unused destination need not be writable", surface(1, 16, 16), patches{at(image, 0, 8, 0)}, success},

		{"fill", join(surface(1, 16, 16), fill2D()), onCanvas(0), success},
		{"fill before SET_STATE", join(fill2D(), surface(1, 16, 16)), patches{at(canvas, 0, 28, 0)}, illegal},
		{"fill with only the source set", join(surface(0, 16, 16), fill2D()), onCanvas(0), illegal},
		{"2D fill of a read-only allocation", join(surface(1, 16, 16), fill2D()), patches{at(image, 0, 8, 0)}, parameter},
		{"fill of the largest elements", join(set(1, 64, 4, 4, 16), fill2D()), onCanvas(0), parameter},
		{"fill of elements of 8 bytes", join(set(1, 64, 3, 8, 16), fill2D()), onCanvas(0), success},
		{"fill at the largest coordinates is clipped", join(surface(1, 16, 16), []uint32{0x07000004, 0x40004000, 0x40004000, 0, 0}), onCanvas(0), success},
		{"fill above the largest coordinate", join(surface(1, 16, 16), []uint32{0x07000004, 0x40014000, 0, 0, 0}), onCanvas(0), parameter},
		{"fill of two surfaces, the first only read", join(surface(1, 16, 16), surface(1, 16, 16), fill2D()), both, success},

		{"copy", join(surface(0, 16, 16), surface(1, 16, 16), copy2D()), both, success},
		{"copy without source", join(surface(1, 16, 16), surface(1, 16, 16), copy2D()), both, illegal},
		{"copy without destination", join(surface(0, 16, 16), surface(0, 16, 16), copy2D()), both, illegal},
		{"copy between formats", join(surface(0, 16, 16), set(1, 64, 1, 16, 16), copy2D()), both, parameter},
		{"2D copy to a read-only allocation", join(surface(0, 16, 16), surface(1, 16, 16), copy2D()),
			patches{at(canvas, 0, 8, 0), at(image, 0, 40, 0)}, parameter},

		{"state set again after a split", join(surface(1, 16, 16), fill2D(), surface(1, 16, 16), fill2D()),
			patches{at(canvas, 0, 8, 0), at(canvas, 0, 60, 52)}, success},
		{"state set before a split", join(surface(1, 16, 16), fillOf(8), fill2D()),
			patches{at(canvas, 0, 8, 0), at(target, 0, 36, 32)}, parameter},
		{"the same without a split", join(surface(1, 16, 16), fillOf(8), fill2D()),
			patches{at(canvas, 0, 8, 0), at(target, 0, 36, 0)}, success},
		{"one of two surfaces set again", join(surface(0, 16, 16), surface(1, 16, 16), surface(1, 16, 16), copy2D()),
			patches{at(image, 0, 8, 0), at(canvas, 0, 40, 0), at(canvas, 0, 72, 64)}, parameter},
	})
}

// TestPredicates has a value in the source and predicated work on the target.
//
// docs/validator.md: V20.
func TestPredicates(t *testing.T) {
	skip := func(dwords uint32) []uint32 { return []uint32{0x0a000003, 0, 0, dwords} }
	value := at(source, 0, 4, 0)
	fill := patches{value, at(target, 0, 20, 0)}
	two := patches{value, at(target, 0, 20, 0), at(target, 0, 44, 0)}
	afterSplit := patches{value, at(target, 0, 20, 0), at(target, 0, 44, 40)}
	checkRules(t, []rule{
		{"nothing", skip(0), patches{value}, success},
		{"a packet", join(skip(6), fillOf(8)), fill, success},
		{"a packet, if the value is not 0", join(skip(6|1<<16), fillOf(8)), fill, success},
		{"two packets", join(skip(12), fillOf(8), fillOf(8)), two, success},
		{"the first of two packets", join(skip(6), fillOf(8), fillOf(8)), two, success},
		{"a packet before a split", join(skip(6), fillOf(8), fillOf(8)), afterSplit, success},
		{"a packet after a split", join(skip(12), fillOf(8), fillOf(8)), afterSplit, parameter},
		{"one dword less than a packet", join(skip(5), fillOf(8)), fill, parameter},
		{"one dword more than a packet", join(skip(7), fillOf(8)), fill, parameter},
		{"a packet and a header", join(skip(7), fillOf(8), []uint32{0x01000000}), fill, success},
		{"a part of the second packet", join(skip(7), fillOf(8), fillOf(8)), two, parameter},
		{"a reserved bit", skip(1 << 17), patches{value}, illegal},
		{"without a patch", skip(0), nil, parameter},
		{"at the end of the allocation", skip(0), patches{at(source, 4088, 4, 0)}, success},
		{"past the allocation", skip(0), patches{at(source, 4096, 4, 0)}, parameter},
		{"aligned to 4", skip(0), patches{at(source, 4, 4, 0)}, parameter},
		{"another device's value", skip(0), patches{at(foreign, 0, 4, 0)}, handle},
		{"a SET_STATE", join(skip(8), surface(1, 16, 16)), patches{value, at(canvas, 0, 24, 0)}, parameter},
		{"a SET_STATE after it", join(skip(0), surface(1, 16, 16)), patches{value, at(canvas, 0, 24, 0)}, success},
		{"a PREDICATE", join(skip(4), skip(0)), patches{value, at(source, 0, 20, 0)}, parameter},
		{"a PREDICATE after it", join(skip(0), skip(0)), patches{value, at(source, 0, 20, 0)}, success},
		{"INDIRECT", join(skip(4), []uint32{0x02000003, 0, 0, 1}), patches{value}, privileged},
	})
}

// TestEveryOpcode checks the validator against the packet table and all headers
// that the table does not contain.
//
// docs/validator.md: V18, V19.
func TestEveryOpcode(t *testing.T) {
	f := newFixture(t)
	allowed := map[uint32]uint32{0x01: 1, 0x03: 7, 0x04: 5, 0x05: 3, 0x06: 5, 0x07: 4, 0x08: 2, 0x09: 2, 0x0a: 3} // to a body
	known := map[uint32]bool{}
	for _, l := range pkt.Table {
		known[uint32(l.Op)] = true
	}
	verdict := func(cmd []uint32, list patches) ddi.Status { // with a DMA buffer and a patch list that just fit
		_, _, _, s := f.render(t, &userMemory{b: words(cmd...)}, &userPatches{list: list}, 4*len(cmd), len(list), 0)
		return s
	}
	t.Run("V09/refused", func(t *testing.T) {
		for op := range uint32(256) {
			body, ok := allowed[op]
			want := illegal
			switch {
			case ok:
				want = userBuffer // the body is missing
			case known[op]:
				want = privileged
			}
			assert.Equal(t, want, verdict([]uint32{op<<24 | body}, nil), "opcode %#x", op)
		}
	})
	t.Run("V09/accepted", func(t *testing.T) {
		for op, body := range allowed {
			assert.Equal(t, success, verdict(leastOf(op, body)), "opcode %#x", op)
		}
	})
}
