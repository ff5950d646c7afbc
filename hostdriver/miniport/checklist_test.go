package miniport_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

// A check is an item of docs/validator.md: commands that the validator refuses, and commands at
// the boundary that it accepts.
type check struct {
	number            int
	refused, accepted []rule
}

// TestChecklist runs the items of docs/validator.md that a command shows. The names of the
// subtests begin with their numbers.
func TestChecklist(t *testing.T) {
	for _, c := range slices.Concat(framingChecks(), addressChecks(), patchChecks(), privilegeChecks(), flowChecks()) {
		require.NotEmpty(t, c.refused, c.number)
		require.NotEmpty(t, c.accepted, c.number)
		t.Run(fmt.Sprintf("V%02d/refused", c.number), func(t *testing.T) {
			for _, r := range c.refused {
				require.NotEqual(t, success, r.want, r.name)
			}
			checkRules(t, c.refused)
		})
		t.Run(fmt.Sprintf("V%02d/accepted", c.number), func(t *testing.T) {
			for i := range c.accepted {
				c.accepted[i].want = success
			}
			checkRules(t, c.accepted)
		})
	}
}

func onTarget(off uint32) patches { return patches{at(target, off, 4, 0)} }

func framingChecks() []check {
	nop := []uint32{0x01000000}
	return []check{
		{5, []rule{
			{"a copy without its last dword", copyOf(8)[:5], patches{at(source, 0, 4, 0), at(target, 0, 12, 0)}, userBuffer},
			{"a length that wraps", []uint32{0x0100ffff}, nil, userBuffer},
		}, []rule{{"no packet", nil, nil, 0}, {"a header alone", nop, nil, 0}}},
		{6, []rule{
			{"a hole in the table", []uint32{0x0c000000}, nil, illegal},
			{"each bit of the header is compared", []uint32{0x01010000}, nil, illegal},
		}, []rule{{"the first opcode", nop, nil, 0}, {"the last one of an application", []uint32{0x0a000003, 0, 0, 0}, patches{at(source, 0, 4, 0)}, 0}}},
		{7, []rule{
			{"too short for the operands", join([]uint32{0x06000004}, fillOf(8)[1:]), onTarget(0), illegal},
			{"too long", join([]uint32{0x06000006}, fillOf(8)[1:], nop), onTarget(0), illegal},
			{"length 0", []uint32{0x06000000}, nil, illegal},
			{"past the command", []uint32{0x01000001}, nil, userBuffer},
		}, []rule{{"a NOP to the end", []uint32{0x01000002, 0, 0}, nil, 0}}},
		{8, []rule{{"a split inside a packet", join(fillOf(8), fillOf(8)), patches{at(target, 0, 4, 0), at(target, 0, 28, 20)}, parameter}},
			[]rule{{"a split between two", join(fillOf(8), fillOf(8)), patches{at(target, 0, 4, 0), at(target, 0, 28, 24)}, 0}}},
	}
}

func addressChecks() []check {
	return []check{
		{10, []rule{
			{"the number of the allocations", fillOf(8), patches{at(listed, 0, 4, 0)}, parameter},
			{"index -1", fillOf(8), patches{at(0xffffffff, 0, 4, 0)}, parameter},
			{"no allocation", fillOf(8), patches{at(none, 0, 4, 0)}, handle},
			{"that of another device", fillOf(8), patches{at(foreign, 0, 4, 0)}, handle},
			{"a closed one", fillOf(8), patches{at(closed, 0, 4, 0)}, handle},
		}, []rule{{"the last", fillOf(8), patches{at(large, 0, 4, 0)}, 0}}},
		{11, []rule{
			{"one byte past the size", fillOf(4096), onTarget(1), parameter},
			{"at the size", fillOf(1), onTarget(4096), parameter},
			{"offset 2^32-1", fillOf(1), onTarget(0xffffffff), parameter},
			{"offset and length wrap", fillOf(2), onTarget(0xffffffff), parameter},
			{"rows that overflow", set(1, 1<<20-1, 4, 16384, 16384), patches{at(canvas, 0, 8, 0)}, parameter},
			{"rows of 2^32 bytes and 16", set(1, 1<<19, 2, 4, 1<<13+1), patches{at(canvas, 0, 8, 0)}, parameter},
		}, []rule{
			{"all of it", fillOf(4096), onTarget(0), 0},
			{"the last byte", fillOf(1), onTarget(4095), 0},
			{"pitch 0", set(1, 0, 2, 256, 16384), patches{at(canvas, 0, 8, 0)}, 0},
		}},
		{12, []rule{{"begins inside and ends outside", fillOf(97), onTarget(4000), parameter}}, []rule{{"ends with it", fillOf(96), onTarget(4000), 0}}},
		{13, []rule{
			{"a write of what is read-only", fillOf(8), patches{at(source, 0, 4, 0)}, parameter},
			{"a write through an alias that is read-only", copyOf(8), patches{at(target, 0, 4, 0), at(alias, 8, 12, 0)}, parameter},
			{"a surface of what is read-only", join(surface(1, 16, 16), fill2D()), patches{at(image, 0, 8, 0)}, parameter},
		}, []rule{
			{"a read of what is writable", copyOf(8), patches{at(target, 0, 4, 0), at(target, 8, 12, 0)}, 0},
			{"a read through an alias that is read-only", copyOf(8), patches{at(alias, 0, 4, 0), at(target, 8, 12, 0)}, 0},
		}},
		{14, []rule{{"a timestamp at a multiple of 4", stamp(), onTarget(4), parameter}}, []rule{{"at a multiple of 8", stamp(), onTarget(4088), 0}}},
	}
}

func patchChecks() []check {
	a, b := at(source, 0, 4, 0), at(target, 0, 12, 0)
	return []check{{15, []rule{
		{"a field without a patch", copyOf(8), patches{a}, parameter},
		{"a field with two", copyOf(8), patches{a, b, b}, parameter},
		{"two that overlap", copyOf(8), patches{a, b, at(source, 0, 8, 0)}, parameter},
		{"no field", fillOf(8), patches{at(target, 0, 4, 0), at(target, 0, 16, 0)}, parameter},
		{"not a multiple of 4", copyOf(8), patches{at(source, 0, 5, 0), b}, parameter},
		{"half outside the command", copyOf(8), patches{a, b, at(source, 0, 20, 0)}, parameter},
		{"splits that decrease", join(fillOf(8), fillOf(8)), patches{at(target, 0, 28, 24), at(target, 0, 4, 0)}, parameter},
	}, []rule{{"each field once", copyOf(8), patches{b, a}, 0}, {"bytes in the field are ignored", []uint32{0x06000005, 0xffffffff, 0xffffffff, 8, 0, 0}, onTarget(0), 0}}}}
}

func privilegeChecks() []check {
	return []check{
		{17, []rule{
			{"the register before", writeReg(0x1c), nil, privileged},
			{"the register after", writeReg(0x30), nil, privileged},
			{"inside one", writeReg(0x21), nil, parameter},
			{"past BAR 0", writeReg(0x10020), nil, illegal},
		}, []rule{{"the first", writeReg(0x20), nil, 0}, {"the last", writeReg(0x2c), nil, 0}}},
		{18, []rule{
			{"INTC.MASK", writeReg(0x104), nil, privileged},
			{"CP0.CTL", writeReg(0x1000), nil, privileged},
			{"CP0.RING_SIZE", writeReg(0x1010), nil, privileged},
			{"CP0.FENCE", writeReg(0x101c), nil, privileged},
			{"FENCE", []uint32{0x10000004, 0, 0, 1, 1}, nil, privileged},
			{"SIGNAL", []uint32{0x0b000005, 0, 0, 1, 0, 1}, onTarget(0), privileged},
			{"SET_WINDOW", []uint32{0x11000005, 0, 0, 0, 0, 0}, nil, privileged},
			{"SAVE_STATE", []uint32{0x13000002, 0, 0}, onTarget(0), privileged},
		}, []rule{{"FENCE as the body of a NOP", []uint32{0x01000004, 0x10000004, 0, 0, 1}, nil, 0}}},
	}
}

func flowChecks() []check {
	skip := func(dwords uint32) []uint32 { return []uint32{0x0a000003, 0, 0, dwords} }
	value := at(source, 0, 4, 0)
	fill := patches{value, at(target, 0, 20, 0)}
	return []check{
		{20, []rule{
			{"a skip into operands", join(skip(5), fillOf(8)), fill, parameter},
			{"a skip past the command", join(skip(7), fillOf(8)), fill, parameter},
			{"a skip in a skip", join(skip(4), skip(0)), patches{value, at(source, 0, 20, 0)}, parameter},
			{"a call", []uint32{0x02000003, 0, 0, 1}, nil, privileged},
		}, []rule{{"a skip to the end", join(skip(6), fillOf(8)), fill, 0}, {"a skip of nothing", skip(0), patches{value}, 0}}},
		{21, []rule{{"WAIT_FENCE", []uint32{0x12000003, 0, 0, 0}, nil, privileged}}, []rule{{"its dwords in a NOP", []uint32{0x01000003, 0x12000003, 0, 0}, nil, 0}}},
		{22, []rule{
			{"a fill that is longer than the hardware counts", fillOf(1 << 16), patches{at(large, 0, 4, 0)}, parameter},
			{"a copy that is", copyOf(1 << 16), patches{at(large, 0, 4, 0), at(large, 1<<16, 12, 0)}, parameter},
		}, []rule{
			{"a fill of as much as it counts", fillOf(1<<16 - 1), patches{at(large, 0, 4, 0)}, 0},
			{"a copy of as much", copyOf(1<<16 - 1), patches{at(large, 0, 4, 0), at(large, 1<<16, 12, 0)}, 0},
		}},
		{30, []rule{
			{"a surface of an earlier portion", join(surface(1, 16, 16), fillOf(8), fill2D()), patches{at(canvas, 0, 8, 0), at(target, 0, 36, 32)}, parameter},
			{"a surface of an earlier buffer", fill2D(), nil, illegal},
		}, []rule{{"set again", join(surface(1, 16, 16), fill2D(), surface(1, 16, 16), fill2D()), patches{at(canvas, 0, 8, 0), at(canvas, 0, 60, 52)}, 0}}},
	}
}

// TestV03 makes each part of the application's memory unreadable: nothing is written, and the
// same command works afterwards.
//
// docs/validator.md: V03, V28.
func TestV03(t *testing.T) {
	f := newFixture(t)
	for part, name := range []string{"the command", "the first patch", "the last patch"} {
		m, p := &userMemory{b: words(copyOf(8)...)}, &userPatches{list: patches{at(source, 0, 4, 0), at(target, 0, 12, 0)}, failAt: part}
		if part == 0 {
			m.status = ddi.StatusUnsuccessful
		}
		t.Run("refused, "+name, func(t *testing.T) {
			_, _, _, s := f.render(t, m, p, 4096, 64, 0)
			assert.Equal(t, userBuffer, s)
		})
		m.status, p.failAt = success, 0
		t.Run("accepted, "+name, func(t *testing.T) {
			_, dma, _, s := f.render(t, m, p, 24, 2, 0)
			assert.Equal(t, success, s)
			assert.Equal(t, words(0x04000005, 0x1000, 0, 0x40000, 0x80000000, 8), dma)
		})
	}
}

// TestV16 patches a buffer again after its allocation has moved to and fro: equal addresses
// give equal bytes. An address that was never patched is not mapped, and a buffer whose
// allocation has no place is never submitted.
//
// docs/validator.md: V16.
func TestV16(t *testing.T) {
	f := newFixture(t)
	f.list[target].SegmentID = kmddi.SegmentNone
	_, dma, list, s := f.render(t, &userMemory{b: words(fillOf(8)...)}, &userPatches{list: onTarget(16)}, 24, 1, 0)
	require.Equal(t, success, s)
	unmapped := words(0x06000005, 0, 0x7fffffff, 8, 0x11, 0x22)
	require.Equal(t, unmapped, dma, "the address of an allocation without a place")
	patch := func(t *testing.T) []byte {
		require.Equal(t, success, f.k.table.Patch(f.k.thread, f.k.adapter, kmddi.Patch{
			DmaBuffer: dma, DmaBufferSubmissionEndOffset: 24, AllocationList: f.list,
			PatchLocationList: list, PatchLocationListSubmissionLength: 1,
		}), "any other status is a bugcheck")
		return slices.Clone(dma)
	}
	move := func(t *testing.T, address uint64) []byte {
		f.list[target].SegmentID, f.list[target].PhysicalAddress = 1, address
		return patch(t)
	}
	t.Run("accepted", func(t *testing.T) {
		first := move(t, 0x5000)
		require.Equal(t, words(0x06000005, 0x5010, 0, 8, 0x11, 0x22), first)
		require.NotEqual(t, first, move(t, 0x9000))
		require.Equal(t, first, move(t, 0x5000))
		f.k.submit(t, 0, 0, 24, 1)
		require.NotZero(t, f.k.gpu.regs[cp0Wptr])
	})
	t.Run("refused", func(t *testing.T) {
		before := f.k.gpu.regs[cp0Wptr]
		f.list[target].SegmentID = kmddi.SegmentNone
		patch(t)
		f.k.submit(t, 0, 0, 24, 2)
		require.Equal(t, before, f.k.gpu.regs[cp0Wptr])
		require.Contains(t, f.k.debug(t), "CP0: the ring has failed")
	})
}
