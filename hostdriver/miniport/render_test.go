package miniport_test

import (
	"encoding/binary"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hilgpu/hilgpu/hostdriver/privdata"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

func TestRenderFillsInAddresses(t *testing.T) {
	f := newFixture(t)
	cmd := words(0x04000005, 0x11111111, 0x22222222, 0x33333333, 0x44444444, 16, 0x09000002, 0x55555555, 0x66666666)
	list := patches{
		{AllocationIndex: source, AllocationOffset: 0x10, PatchOffset: 4, SlotID: 3, DriverID: 9},
		{AllocationIndex: target, AllocationOffset: 0x20, PatchOffset: 12},
		{AllocationIndex: outside, AllocationOffset: 8, PatchOffset: 28, SplitOffset: 24},
	}
	out, dma, got, s := f.render(t, &userMemory{b: cmd}, &userPatches{list: list}, 4096, 64, 0)
	require.Equal(t, success, s)
	assert.Equal(t, kmddi.RenderOut{DmaBufferUsed: 36, PatchesUsed: 3}, out)
	assert.Equal(t, words(0x04000005, 0x1010, 0, 0x40020, 0x80000000, 16, 0x09000002, 0, 0x7fffffff), dma,
		"addresses replace the user's bytes; an unknown one faults")
	list[0].SlotID = 0
	assert.Equal(t, list, got)
}

// docs/validator.md: V03, V22.
func TestRenderUserMemory(t *testing.T) {
	good := func() (*userMemory, *userPatches) {
		return &userMemory{b: words(fillOf(8)...)}, &userPatches{list: patches{at(target, 0, 4, 0)}}
	}
	for _, tt := range []struct {
		name string
		edit func(m *userMemory, p *userPatches)
		want ddi.Status
	}{
		{"good", func(*userMemory, *userPatches) {}, success},
		{"not a multiple of 4", func(m *userMemory, _ *userPatches) { m.b = append(m.b, 0) }, userBuffer},
		{"two bytes", func(m *userMemory, p *userPatches) { m.b, p.list = m.b[:2], nil }, userBuffer},
		{"the largest command", func(m *userMemory, _ *userPatches) { m.b = padded(m.b, 1<<20) }, ddi.StatusInsufficientDMABuffer},
		{"a larger one", func(m *userMemory, _ *userPatches) { m.b = padded(m.b, 1<<20+4) }, parameter},
		{"the command cannot be read", func(m *userMemory, _ *userPatches) { m.status = ddi.StatusUnsuccessful }, userBuffer},
		{"the patch list cannot be read", func(_ *userMemory, p *userPatches) { p.failAt = 1 }, userBuffer},
		{"more patches than dwords are not even read", func(_ *userMemory, p *userPatches) { p.list, p.failAt = make(patches, 7), 1 }, parameter},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newFixture(t)
			m, p := good()
			tt.edit(m, p)
			_, _, _, s := f.render(t, m, p, 4096, 64, 0)
			assert.Equal(t, tt.want, s)
		})
	}
}

// padded returns b followed by NOPs of one dword.
func padded(b []byte, n int) []byte {
	for len(b) < n {
		b = binary.LittleEndian.AppendUint32(b, 0x01000000)
	}
	return b
}

// TestRenderReadsOnce turns the command into a privileged one, and the patches
// into invalid ones, as soon as they have been read.
//
// docs/validator.md: V01.
func TestRenderReadsOnce(t *testing.T) {
	f := newFixture(t)
	m := &userMemory{b: words(fillOf(8)...), change: func(b []byte) { copy(b, words(0x10000004, 0, 0, 1, 1)) }}
	_, dma, list, s := f.render(t, m, &userPatches{list: patches{at(target, 16, 4, 0)}, spoil: true}, 4096, 64, 0)
	require.Equal(t, success, s)
	assert.Equal(t, []int{0, 24}, m.reads, "offset and length of the only read")
	assert.Equal(t, words(0x06000005, 0x40010, 0x80000000, 8, 0x11, 0x22), dma)
	assert.Equal(t, patches{at(target, 16, 4, 0)}, list)

	_, _, _, s = f.render(t, m, &userPatches{}, 4096, 64, 0)
	assert.Equal(t, privileged, s, "the changed command is refused")
}

// TestRenderMultipass renders three portions of 24, 24 and 52 bytes, with one
// patch each, to buffers of different sizes.
//
// docs/validator.md: V04.
func TestRenderMultipass(t *testing.T) {
	cmd := words(join(fillOf(8), fillOf(9), surface(1, 16, 16), fill2D())...)
	list := patches{at(target, 0, 4, 0), at(target, 8, 28, 24), at(canvas, 0, 56, 48)}
	type pass struct {
		size, entries int
		in            uint32
		out           kmddi.RenderOut
		status        ddi.Status
	}
	more := ddi.StatusInsufficientDMABuffer
	for _, tt := range []struct {
		name   string
		passes []pass
	}{
		{"exactly", []pass{{100, 3, 0, kmddi.RenderOut{DmaBufferUsed: 100, PatchesUsed: 3}, success}}},
		{"one byte short", []pass{
			{99, 3, 0, kmddi.RenderOut{DmaBufferUsed: 48, PatchesUsed: 2, MultipassOffset: 48}, more},
			{99, 3, 48, kmddi.RenderOut{DmaBufferUsed: 52, PatchesUsed: 1}, success},
		}},
		{"one patch short", []pass{
			{100, 2, 0, kmddi.RenderOut{DmaBufferUsed: 48, PatchesUsed: 2, MultipassOffset: 48}, more},
			{100, 2, 48, kmddi.RenderOut{DmaBufferUsed: 52, PatchesUsed: 1}, success},
		}},
		{"one portion at a time", []pass{
			{47, 9, 0, kmddi.RenderOut{DmaBufferUsed: 24, PatchesUsed: 1, MultipassOffset: 24}, more},
			{60, 9, 24, kmddi.RenderOut{DmaBufferUsed: 24, PatchesUsed: 1, MultipassOffset: 48}, more},
			{52, 9, 48, kmddi.RenderOut{DmaBufferUsed: 52, PatchesUsed: 1}, success},
		}},
		{"the rest of a buffer is too small, an empty one is not", []pass{
			{23, 9, 0, kmddi.RenderOut{MultipassOffset: 1}, more},
			{24, 9, 1, kmddi.RenderOut{DmaBufferUsed: 24, PatchesUsed: 1, MultipassOffset: 24}, more},
			{0, 0, 24, kmddi.RenderOut{MultipassOffset: 25}, more},
			{76, 2, 25, kmddi.RenderOut{DmaBufferUsed: 76, PatchesUsed: 2}, success},
		}},
		{"an empty buffer is too small", []pass{
			{51, 9, 48, kmddi.RenderOut{MultipassOffset: 49}, more},
			{51, 9, 49, kmddi.RenderOut{}, parameter},
		}},
		{"no patch fits", []pass{
			{100, 0, 0, kmddi.RenderOut{MultipassOffset: 1}, more},
			{100, 0, 1, kmddi.RenderOut{}, parameter},
		}},
		{"an offset that is not the start of a portion", []pass{{100, 3, 32, kmddi.RenderOut{}, parameter}}},
		{"the offset of the end", []pass{{100, 3, 100, kmddi.RenderOut{}, parameter}}},
		{"an offset past the end", []pass{{100, 3, 0xfffffffe, kmddi.RenderOut{}, parameter}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newFixture(t)
			_, whole, _, _ := f.render(t, &userMemory{b: cmd}, &userPatches{list: list}, 4096, 64, 0)
			for _, p := range tt.passes {
				out, dma, got, s := f.render(t, &userMemory{b: cmd}, &userPatches{list: list}, p.size, p.entries, p.in)
				require.Equal(t, p.status, s)
				require.Equal(t, p.out, out)
				from := int(p.in &^ 1)
				if s != parameter {
					assert.Equal(t, whole[from:from+len(dma)], dma, "the same bytes as in one pass")
				}
				for i, g := range got {
					in := list[from/24+i]
					assert.Equal(t, at(in.AllocationIndex, in.AllocationOffset, in.PatchOffset-uint32(from), in.SplitOffset-uint32(from)), g)
				}
			}
		})
	}
}

func TestRenderWithoutContext(t *testing.T) {
	f := newFixture(t)
	arg := kmddi.Render{Command: &userMemory{}, PatchLocationListIn: &userPatches{}}
	for name, h := range map[string]kmddi.HContext{"nil": {}, "a device": {Root: f.dev.Root}, "nothing": {Root: &ddi.Root{}}} {
		_, s := f.k.table.Render(f.k.thread, h, arg)
		assert.Equal(t, handle, s, name)
	}
}

// checkExecutable checks the guarantees of the validator from the packet
// layouts alone: the content of the DMA buffer may execute.
func checkExecutable(t testing.TB, f *fixture, dma []byte, list patches) {
	w := make([]uint32, len(dma)/4)
	for i := range w {
		w[i] = binary.LittleEndian.Uint32(dma[4*i:])
	}
	fields := map[uint32]uint64{} // offset of an address field to the number of bytes it covers
	for i := 0; i < len(w); {
		body := int(w[i] & 0xffff)
		require.Zero(t, w[i]>>16&0xff)
		require.LessOrEqual(t, i+1+body, len(w))
		o := uint32(4 * i)
		switch w[i] >> 24 {
		case 0x01, 0x05, 0x07:
		case 0x03:
			x1, y1 := uint64(w[i+7]&0xffff), uint64(w[i+7]>>16)
			fields[o+8] = 0
			if x1 > 0 && y1 > 0 {
				fields[o+8] = (y1-1)*uint64(w[i+4]) + x1<<w[i+5]
			}
		case 0x04:
			fields[o+4], fields[o+12] = uint64(w[i+5]), uint64(w[i+5])
		case 0x06:
			fields[o+4] = uint64(w[i+3])
		case 0x08:
			require.Contains(t, []uint32{0x20, 0x24, 0x28, 0x2c}, w[i+1])
		case 0x09:
			fields[o+4] = 8
		default:
			t.Fatalf("opcode %#x in a DMA buffer", w[i]>>24)
		}
		i += 1 + body
	}
	require.Len(t, list, len(fields))
	for _, p := range list {
		n, ok := fields[p.PatchOffset]
		require.True(t, ok, "patch at %d", p.PatchOffset)
		size := uint64(4096)
		if p.AllocationIndex == canvas || p.AllocationIndex == image {
			size = 1024
		}
		require.LessOrEqual(t, uint64(p.AllocationOffset)+n, size)
		want := uint64(0x7fffffff00000000)
		if al := f.list[p.AllocationIndex]; al.SegmentID != 0 {
			want = al.PhysicalAddress + uint64(p.AllocationOffset)
		}
		require.Equal(t, want, binary.LittleEndian.Uint64(dma[p.PatchOffset:]))
		delete(fields, p.PatchOffset)
	}
}

// TestRenderRandom creates commands that are mostly valid and checks that
// accepted commands may execute, in any number of passes.
func TestRenderRandom(t *testing.T) {
	f := newFixture(t)
	accepted, refused := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		cmd, list := randomCommand(rt)
		size, entries := rapid.IntRange(0, 256).Draw(rt, "size"), rapid.IntRange(0, 12).Draw(rt, "entries")
		offset := uint32(0)
		for {
			out, dma, got, s := f.render(t, &userMemory{b: words(cmd...)}, &userPatches{list: slices.Clone(list)}, size, entries, offset)
			if s != success && s != ddi.StatusInsufficientDMABuffer {
				refused++
				return
			}
			checkExecutable(t, f, dma, got)
			if s == success {
				accepted++
				return
			}
			require.Greater(t, out.MultipassOffset, offset, "each pass makes progress or is retried once")
			offset = out.MultipassOffset
		}
	})
	assert.Greater(t, accepted, 5)
	assert.Greater(t, refused, 5)
}

// randomCommand draws packets with their patches. One in eight has a mistake.
func randomCommand(t *rapid.T) ([]uint32, patches) {
	var cmd []uint32
	var list patches
	split := uint32(0)
	for range rapid.IntRange(0, 8).Draw(t, "packets") {
		o := uint32(4 * len(cmd))
		if rapid.Bool().Draw(t, "split") {
			split = o
		}
		n, off := rapid.Uint32Range(0, 64).Draw(t, "bytes"), rapid.Uint32Range(0, 128).Draw(t, "offset")*8
		switch rapid.IntRange(0, 5).Draw(t, "kind") {
		case 0:
			cmd = append(cmd, copyOf(n)...)
			list = append(list, at(source, off, o+4, split), at(target, off, o+12, split))
		case 1:
			cmd = append(cmd, fillOf(n)...)
			list = append(list, at(outside, off, o+4, split))
		case 2:
			cmd = append(cmd, join(surface(1, 16, 16), fill2D())...)
			list = append(list, at(canvas, 0, o+8, split))
		case 3:
			cmd = append(cmd, stamp()...)
			list = append(list, at(target, off, o+4, split))
		case 4:
			cmd = append(cmd, writeReg(0x20+4*(n%4))...)
		case 5:
			cmd = append(cmd, 0x01000001, n)
		}
	}
	if len(cmd) > 0 && rapid.IntRange(0, 7).Draw(t, "mistake") == 0 {
		cmd[rapid.IntRange(0, len(cmd)-1).Draw(t, "where")] ^= 1 << rapid.IntRange(0, 31).Draw(t, "bit")
	}
	if len(list) > 0 && rapid.IntRange(0, 7).Draw(t, "mistake") == 0 {
		p := &list[rapid.IntRange(0, len(list)-1).Draw(t, "where")]
		bit := uint32(1) << rapid.IntRange(0, 31).Draw(t, "bit")
		fields := []*uint32{&p.AllocationIndex, &p.AllocationOffset, &p.PatchOffset, &p.SplitOffset}
		*fields[rapid.IntRange(0, 3).Draw(t, "field")] ^= bit
	}
	return cmd, list
}

// FuzzRender uses its arguments as the command and the patch list, 16 bytes per
// patch.
func FuzzRender(f *testing.F) {
	f.Add(words(fillOf(8)...), words(target, 0, 4, 0), uint32(0), uint16(4096), uint8(8))
	f.Add(words(join(surface(1, 16, 16), fill2D())...), words(canvas, 0, 8, 0), uint32(0), uint16(52), uint8(1))
	f.Add(words(copyOf(64)...), words(source, 0, 4, 0, target, 0, 12, 0), uint32(1), uint16(3), uint8(0))
	f.Add(words(0x10000004, 0, 0, 1, 1), []byte{}, uint32(0), uint16(64), uint8(1))
	f.Add(words(join(fillOf(8), fillOf(8))...), words(target, 0, 4, 0, target, 4095, 28, 24), uint32(24), uint16(24), uint8(1))
	fx := newFixture(f)
	f.Fuzz(func(t *testing.T, cmd, list []byte, multipass uint32, size uint16, entries uint8) {
		var in patches
		for ; len(list) >= 16; list = list[16:] {
			in = append(in, at(binary.LittleEndian.Uint32(list), binary.LittleEndian.Uint32(list[4:]),
				binary.LittleEndian.Uint32(list[8:]), binary.LittleEndian.Uint32(list[12:])))
		}
		_, dma, got, s := fx.render(t, &userMemory{b: cmd}, &userPatches{list: in}, int(size), int(entries), multipass)
		if s == success || s == ddi.StatusInsufficientDMABuffer {
			checkExecutable(t, fx, dma, got)
		}
	})
}

func TestPresent(t *testing.T) {
	f := newFixture(t)
	wide := privdata.Allocation{Place: privdata.Local, Bytes: 4096, Width: 8, Height: 4, Pitch: 256, Format: 2}
	narrow := wide
	narrow.Format = 1
	open := func(d privdata.Allocation, write bool) kmddi.AllocationList {
		return kmddi.AllocationList{DeviceSpecificAllocation: f.open(t, d), WriteOperation: write, SegmentID: 1, PhysicalAddress: 0x8000}
	}
	dst := open(wide, true)
	rect := func(l, tp, r, b int32) kmddi.Rect { return kmddi.Rect{Left: l, Top: tp, Right: r, Bottom: b} }
	for _, tt := range []struct {
		name     string
		src, dst kmddi.AllocationList
		from, to kmddi.Rect
		size     int
		entries  int
		want     ddi.Status
	}{
		{"entire surfaces", f.list[image], dst, kmddi.Rect{}, kmddi.Rect{}, 80, 2, success},
		{"rectangles at the edges", f.list[image], dst, rect(8, 12, 16, 16), rect(0, 0, 8, 4), 80, 2, success},
		{"source beyond the right edge", f.list[image], dst, rect(9, 12, 17, 16), rect(0, 0, 8, 4), 80, 2, parameter},
		{"source beyond the bottom", f.list[image], dst, rect(8, 13, 16, 17), rect(0, 0, 8, 4), 80, 2, parameter},
		{"source before the left edge", f.list[image], dst, rect(-1, 0, 7, 4), rect(0, 0, 8, 4), 80, 2, parameter},
		{"source upside down", f.list[image], dst, rect(0, 4, 8, 0), rect(0, 4, 8, 0), 80, 2, parameter},
		{"destination beyond the right edge", f.list[image], dst, rect(0, 0, 8, 4), rect(1, 0, 9, 4), 80, 2, parameter},
		{"a stretch", f.list[image], dst, rect(0, 0, 7, 4), rect(0, 0, 8, 4), 80, 2, parameter},
		{"one byte short", f.list[image], dst, kmddi.Rect{}, kmddi.Rect{}, 79, 2, ddi.StatusInsufficientDMABuffer},
		{"one patch short", f.list[image], dst, kmddi.Rect{}, kmddi.Rect{}, 80, 1, ddi.StatusInsufficientDMABuffer},
		{"formats differ", f.list[image], open(narrow, true), kmddi.Rect{}, kmddi.Rect{}, 80, 2, parameter},
		{"destination is listed as read", f.list[image], open(wide, false), kmddi.Rect{}, kmddi.Rect{}, 80, 2, parameter},
		{"source is not a surface", f.list[source], dst, kmddi.Rect{}, kmddi.Rect{}, 80, 2, parameter},
		{"no source", kmddi.AllocationList{}, dst, kmddi.Rect{}, kmddi.Rect{}, 80, 2, handle},
		{"another device's destination", f.list[image], f.list[foreign], kmddi.Rect{}, kmddi.Rect{}, 80, 2, handle},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dma := words(slices.Repeat([]uint32{0xa5a5a5a5}, 20)...)[:tt.size]
			list := slices.Repeat(patches{{AllocationIndex: guard}}, tt.entries)
			arg := kmddi.Present{
				DmaBuffer: dma, PatchLocationListOut: list, SrcRect: tt.from, DstRect: tt.to,
				AllocationList: []kmddi.AllocationList{{}, tt.src, tt.dst},
			}
			out, s := f.k.table.Present(f.k.thread, f.ctx, arg)
			assert.Equal(t, tt.want, s)
			if s == success {
				assert.Equal(t, kmddi.RenderOut{DmaBufferUsed: 80, PatchesUsed: 2}, out)
				return
			}
			assert.Zero(t, out.DmaBufferUsed+out.PatchesUsed)
			assert.Equal(t, words(slices.Repeat([]uint32{0xa5a5a5a5}, 20)...)[:tt.size], dma)
			assert.Equal(t, uint32(guard), list[0].AllocationIndex)
			if s == ddi.StatusInsufficientDMABuffer {
				arg.MultipassOffset = out.MultipassOffset
				_, s = f.k.table.Present(f.k.thread, f.ctx, arg)
				assert.Equal(t, parameter, s, "an empty buffer is too small")
			}
		})
	}
}

// TestPresentPackets compares the packets with their layouts.
func TestPresentPackets(t *testing.T) {
	f := newFixture(t)
	dst := f.open(t, privdata.Allocation{Place: privdata.Local, Bytes: 4096, Width: 8, Height: 4, Pitch: 256, Format: 2})
	for _, tt := range []struct {
		name     string
		from, to kmddi.Rect
		copy     []uint32
	}{
		{"entire surface", kmddi.Rect{}, kmddi.Rect{}, []uint32{0x05000003, 0, 0, 16 | 16<<16}},
		{"part", kmddi.Rect{Left: 2, Top: 3, Right: 5, Bottom: 5}, kmddi.Rect{Left: 4, Top: 1, Right: 7, Bottom: 3},
			[]uint32{0x05000003, 2 | 3<<16, 4 | 1<<16, 3 | 2<<16}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dma, list := make([]byte, 100), make(patches, 3)
			_, s := f.k.table.Present(f.k.thread, f.ctx, kmddi.Present{
				DmaBuffer: dma, PatchLocationListOut: list, SrcRect: tt.from, DstRect: tt.to,
				AllocationList: []kmddi.AllocationList{{}, f.list[image], {DeviceSpecificAllocation: dst, WriteOperation: true}},
			})
			require.Equal(t, success, s)
			assert.Equal(t, words(join(
				[]uint32{0x03000007, 0, 0x4000, 0, 64, 2, 0, 16 | 16<<16},
				[]uint32{0x03000007, 1, 0, 0x7fffffff, 256, 2, 0, 8 | 4<<16}, // paged out
				tt.copy, make([]uint32, 5))...), dma)
			assert.Equal(t, patches{at(1, 0, 8, 0), at(2, 0, 40, 0), {}}, list)
		})
	}
}
