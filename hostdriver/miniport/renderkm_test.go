package miniport_test

import (
	"encoding/binary"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hilgpu/hilgpu/hostdriver/privdata"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

// A box is a RECT: left, top, right, bottom.
type box [4]uint32

// fillKm is a COLORFILL in the layout of d3dkmddi.h for 64-bit code: op, size, DstRect, index, number,
// pSubRects, color, and Rop with Rop3. The sub-rectangles follow.
func fillKm(to box, index uint32, rects ...box) []uint32 {
	w := []uint32{2, 48 + 16*uint32(len(rects)), to[0], to[1], to[2], to[3], index, uint32(len(rects)), 48, 0, 0xc0ffee11, 1}
	for _, r := range rects {
		w = append(w, r[:]...)
	}
	return w
}

// blitKm is a BITBLT in that layout: SrcRect, DstRect, indices, number, padding, pSubRects, Rop with
// Rop3, pitches, padding.
func blitKm(from, to box, src, dst uint32, rects ...box) []uint32 {
	w := []uint32{1, 80 + 16*uint32(len(rects))}
	w = append(append(w, from[:]...), to[:]...)
	w = append(w, src, dst, uint32(len(rects)), 0xdead, 80, 0, 1, 999, 999, 0xdead)
	for _, r := range rects {
		w = append(w, r[:]...)
	}
	return w
}

// with returns the words with one changed.
func with(w []uint32, at int, v uint32) []uint32 {
	w = slices.Clone(w)
	w[at] = v
	return w
}

// renderKm calls RenderKm, like render of the fixture.
func (f *fixture) renderKm(t require.TestingT, cmd []byte, size, entries int, multipass uint32) (kmddi.RenderOut, []byte, patches, ddi.Status) {
	dma, list := slices.Repeat([]byte{guard}, size+16), slices.Repeat(patches{{AllocationIndex: guard}}, entries+16)
	out, s := f.k.table.RenderKm(f.k.thread, f.ctx, kmddi.Render{
		Command: &userMemory{b: cmd}, PatchLocationListIn: &userPatches{}, AllocationList: f.list,
		DmaBuffer: dma[:size:size], PatchLocationListOut: list[:entries:entries], MultipassOffset: multipass,
	})
	require.LessOrEqual(t, int(out.DmaBufferUsed), size)
	require.LessOrEqual(t, int(out.PatchesUsed), entries)
	if s != success && s != ddi.StatusInsufficientDMABuffer {
		require.Equal(t, kmddi.RenderOut{}, out)
		require.Equal(t, slices.Repeat([]byte{guard}, size+16), dma, "a refused command changes nothing")
	}
	require.Equal(t, slices.Repeat([]byte{guard}, 16), dma[size:])
	return out, dma[:out.DmaBufferUsed], list[:out.PatchesUsed], s
}

func TestRenderKmPackets(t *testing.T) {
	f := newFixture(t)
	f.list[canvas].SegmentID = 0
	cmd := slices.Concat(
		fillKm(box{0, 0, 16, 16}, canvas, box{1, 2, 4, 6}, box{5, 5, 5, 9}, box{15, 15, 16, 16}),
		[]uint32{5, 16, 1, 2},
		blitKm(box{2, 3, 6, 6}, box{8, 9, 12, 12}, image, canvas, box{8, 9, 12, 12}, box{9, 10, 11, 11}),
		fillKm(box{0, 0, 16, 16}, canvas))
	out, dma, list, s := f.renderKm(t, words(cmd...), 4096, 64, 0)
	require.Equal(t, success, s)
	assert.Equal(t, words(join(
		[]uint32{0x03000007, 1, 0, 0x7fffffff, 64, 2, 0, 16 | 16<<16}, // paged out
		[]uint32{0x07000004, 1 | 2<<16, 3 | 4<<16, 0xc0ffee11, 0xc0ffee11},
		[]uint32{0x07000004, 15 | 15<<16, 1 | 1<<16, 0xc0ffee11, 0xc0ffee11},
		[]uint32{0x03000007, 0, 0x4000, 0, 64, 2, 0, 16 | 16<<16},
		[]uint32{0x03000007, 1, 0, 0x7fffffff, 64, 2, 0, 16 | 16<<16},
		[]uint32{0x05000003, 2 | 3<<16, 8 | 9<<16, 4 | 3<<16},
		[]uint32{0x05000003, 3 | 4<<16, 9 | 10<<16, 2 | 1<<16})...), dma)
	assert.Equal(t, patches{at(canvas, 0, 8, 0), at(image, 0, 80, 72), at(canvas, 0, 112, 72)}, list)
	assert.Equal(t, kmddi.RenderOut{DmaBufferUsed: 168, PatchesUsed: 3}, out)
}

// A copy inside of a surface is one packet if it does not read what it writes, and else as few strips
// as its distance allows.
func TestRenderKmStrips(t *testing.T) {
	f := newFixture(t)
	for _, tt := range []struct {
		name     string
		from, to box
		packets  [][]uint32
	}{
		{"beside", box{0, 1, 8, 9}, box{8, 0, 16, 8}, [][]uint32{{0 | 1<<16, 8, 8 | 8<<16}}},
		{"below", box{0, 0, 8, 8}, box{1, 8, 9, 16}, [][]uint32{{0, 1 | 8<<16, 8 | 8<<16}}},
		{"up by 3", box{0, 3, 8, 11}, box{1, 0, 9, 8}, [][]uint32{{3 << 16, 1, 8 | 3<<16}, {6 << 16, 1 | 3<<16, 8 | 3<<16}, {9 << 16, 1 | 6<<16, 8 | 2<<16}}},
		{"right by 5", box{0, 0, 8, 8}, box{5, 0, 13, 8}, [][]uint32{{3, 8, 5 | 8<<16}, {0, 5, 3 | 8<<16}}},
		{"nowhere", box{0, 0, 8, 8}, box{0, 0, 8, 8}, nil},
	} {
		_, dma, _, s := f.renderKm(t, words(blitKm(tt.from, tt.to, canvas, canvas, tt.to)...), 4096, 64, 0)
		require.Equal(t, success, s)
		var want []uint32
		for _, p := range tt.packets {
			want = append(append(want, 0x05000003), p...)
		}
		assert.Equal(t, string(words(want...)), string(dma[min(64, len(dma)):]), tt.name)
	}
}

// The pattern of a fill is the color in each element.
func TestRenderKmFormats(t *testing.T) {
	for format, want := range map[pkt.Format][]uint32{
		pkt.Format8: {0x11111111, 0x11111111}, pkt.Format16: {0xee11ee11, 0xee11ee11}, pkt.Format32: {0xc0ffee11, 0xc0ffee11}, pkt.Format64: {0xc0ffee11, 0},
		pkt.Format128: nil,
	} {
		f := newFixture(t)
		d := privdata.Allocation{Place: privdata.Local, Bytes: 4096, Width: 4, Height: 4, Pitch: 64, Format: format}
		f.list[canvas].DeviceSpecificAllocation = f.open(t, d)
		_, dma, _, s := f.renderKm(t, words(fillKm(box{0, 0, 4, 4}, canvas, box{0, 0, 4, 4})...), 4096, 64, 0)
		if want == nil {
			assert.Equal(t, parameter, s)
			continue
		}
		require.Equal(t, success, s)
		assert.Equal(t, words(want...), dma[44:52], "format %d", format)
	}
}

// Each row breaks one rule, or is at its boundary.
func TestRenderKmRefuses(t *testing.T) {
	all := box{0, 0, 16, 16}
	fill, blit := fillKm(all, canvas, all), blitKm(all, all, image, canvas, all)
	minus := ^uint32(0)
	for _, tt := range []struct {
		name string
		cmd  []uint32
		want ddi.Status
	}{
		{"a fill", fill, success},
		{"a blit", blit, success},
		{"nothing", nil, success},
		{"an escape", []uint32{5, 8}, success},
		{"operation 0", []uint32{0, 8}, illegal},
		{"ALPHABLEND", with(blit, 0, 3), illegal},
		{"STRETCHBLT", with(blit, 0, 4), illegal},
		{"TRANSPARENTBLT", with(blit, 0, 6), illegal},
		{"CLEARTYPEBLEND", with(blit, 0, 7), illegal},
		{"operation 8", with(blit, 0, 8), illegal},
		{"half a header", []uint32{5}, userBuffer},
		{"a command of 0 bytes", []uint32{5, 0}, userBuffer},
		{"a command of 12 bytes", []uint32{5, 12, 0}, userBuffer},
		{"a command that runs past the end", []uint32{5, 16, 0}, userBuffer},
		{"a command near 2^32", with(fill, 1, 0xfffffff8), userBuffer},
		{"a fill without all of its argument", []uint32{2, 40, 0, 0, 16, 16, canvas, 0, 0, 0}, userBuffer},
		{"a blit without all of its argument", append([]uint32{1, 72}, make([]uint32, 16)...), userBuffer},
		{"a rectangle too many", with(fill, 7, 2), userBuffer},
		{"rectangles near 2^32", with(fill, 7, minus), userBuffer},
		{"2^28 rectangles", with(fill, 7, 1<<28), userBuffer},
		{"rectangles in the argument", with(fill, 8, 32), userBuffer},
		{"rectangles at 2^32", with(fill, 9, 1), userBuffer},
		{"rectangles past the end", with(fill, 8, 52), userBuffer},
		{"rectangles at an odd byte", with(append(slices.Clone(with(fill, 1, 72)), 0, 0), 8, 49), userBuffer},
		{"rectangles later", append(with(with(fill, 1, 72), 8, 56), 16, 16), success},
		{"no rectangles, at no place", with(fillKm(all, canvas), 8, 7), success},
		{"PATINVERT", with(fill, 11, 2), parameter},
		{"ROP3", with(fill, 11, 7|0xf0<<16), parameter},
		{"SRCINVERT", with(blit, 16, 2), parameter},
		{"ROP 0", with(blit, 16, 0), parameter},
		{"an index past the list", with(fill, 6, listed), parameter},
		{"an index near 2^32", with(fill, 6, minus), parameter},
		{"a source past the list", with(blit, 10, listed), parameter},
		{"no allocation", with(fill, 6, none), handle},
		{"another device's allocation", with(fill, 6, foreign), handle},
		{"a closed allocation", with(fill, 6, closed), handle},
		{"another device's source", with(blit, 10, foreign), handle},
		{"no surface", with(fill, 6, target), parameter},
		{"no surface as the source", with(blit, 10, source), parameter},
		{"a destination that is listed as read", with(fill, 6, image), parameter},
		{"a copy to one that is listed as read", with(blit, 11, image), parameter},
		{"a rectangle of the destination beyond the surface", fillKm(box{minus, minus, 99, 99}, canvas, all), success},
		{"one upside down", fillKm(box{0, 9, 16, 8}, canvas), parameter},
		{"right of the surface", fillKm(box{0, 0, 99, 99}, canvas, box{0, 0, 17, 16}), parameter},
		{"below the surface", fillKm(box{0, 0, 99, 99}, canvas, box{0, 0, 16, 17}), parameter},
		{"left of the surface", fillKm(box{minus, 0, 99, 99}, canvas, box{minus, 0, 1, 1}), parameter},
		{"above the surface", fillKm(box{0, minus, 99, 99}, canvas, box{0, minus, 1, 1}), parameter},
		{"a sub-rectangle upside down", fillKm(all, canvas, box{0, 9, 16, 8}), parameter},
		{"right of the rectangle", fillKm(box{1, 1, 5, 5}, canvas, box{1, 1, 6, 5}), parameter},
		{"left of the rectangle", fillKm(box{1, 1, 5, 5}, canvas, box{0, 1, 5, 5}), parameter},
		{"above the rectangle", fillKm(box{1, 1, 5, 5}, canvas, box{1, 0, 5, 5}), parameter},
		{"below the rectangle", fillKm(box{1, 1, 5, 5}, canvas, box{1, 1, 5, 6}), parameter},
		{"a wider source", with(blit, 4, 17), parameter},
		{"a higher source", with(blit, 5, 17), parameter},
		{"a source beyond its surface", blitKm(box{1, 0, 17, 16}, all, image, canvas, all), parameter},
		{"only the part of it inside", blitKm(box{1, 0, 17, 16}, all, image, canvas, box{0, 0, 15, 16}), success},
		{"a source left of its surface", blitKm(box{minus, 0, 15, 16}, all, image, canvas, all), parameter},
		{"a source above its surface", blitKm(box{0, minus, 16, 15}, all, image, canvas, all), parameter},
		{"a source below its surface", blitKm(box{0, 1, 16, 17}, all, image, canvas, all), parameter},
		{"a source 2^32 away", blitKm(box{1<<31 - 1, 0, 1<<31 - 1, 16}, box{1 << 31, 0, 1 << 31, 16}, image, canvas), success},
		{"a size of 2^32", blitKm(box{1<<31 - 1, 0, 1<<31 - 2, 16}, box{1 << 31, 0, 1<<31 - 1, 16}, image, canvas, box{1, 0, 2, 1}), parameter},
		{"the second command", slices.Concat(fill, with(fill, 6, none)), handle},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, _, _, s := newFixture(t).renderKm(t, words(tt.cmd...), 4096, 64, 0)
			assert.Equal(t, tt.want, s)
		})
	}
	f := newFixture(t)
	_, _, _, s := f.renderKm(t, words(fill...)[:62], 4096, 64, 0)
	assert.Equal(t, userBuffer, s, "2 bytes less")
	_, _, _, s = f.renderKm(t, words(slices.Repeat([]uint32{5, 8}, 1<<17)...), 4096, 64, 0)
	assert.Equal(t, success, s, "the largest command")
	_, _, _, s = f.renderKm(t, words(slices.Repeat([]uint32{5, 8}, 1<<17+1)...), 4096, 64, 0)
	assert.Equal(t, parameter, s, "a larger one")
	for _, bad := range []uint32{2, 3, 1 << 31} {
		_, _, _, s = f.renderKm(t, words(fill...), 4096, 64, bad)
		assert.Equal(t, parameter, s, "MultipassOffset %d, of one packet", bad)
	}
	f.ctx = kmddi.HContext{}
	_, s = f.k.table.RenderKm(f.k.thread, f.ctx, kmddi.Render{})
	assert.Equal(t, handle, s, "no context")
}

// A command that finds no room is continued in the next buffer, and sets its surfaces there.
func TestRenderKmMultipass(t *testing.T) {
	f := newFixture(t)
	cmd := words(fillKm(box{0, 0, 16, 16}, canvas, box{0, 0, 1, 1}, box{1, 0, 2, 1}, box{2, 0, 3, 1})...)
	for _, tt := range []struct {
		size, entries int
		in            uint32
		out           kmddi.RenderOut
		want          ddi.Status
	}{
		{92, 1, 0, kmddi.RenderOut{DmaBufferUsed: 92, PatchesUsed: 1}, success},
		{91, 1, 0, kmddi.RenderOut{DmaBufferUsed: 72, PatchesUsed: 1, MultipassOffset: 4}, ddi.StatusInsufficientDMABuffer},
		{91, 1, 4, kmddi.RenderOut{DmaBufferUsed: 52, PatchesUsed: 1}, success},
		{51, 1, 4, kmddi.RenderOut{MultipassOffset: 5}, ddi.StatusInsufficientDMABuffer},
		{52, 0, 4, kmddi.RenderOut{MultipassOffset: 5}, ddi.StatusInsufficientDMABuffer},
		{52, 1, 5, kmddi.RenderOut{DmaBufferUsed: 52, PatchesUsed: 1}, success},
		{51, 1, 5, kmddi.RenderOut{}, parameter},
	} {
		out, dma, _, s := f.renderKm(t, cmd, tt.size, tt.entries, tt.in)
		assert.Equal(t, tt.want, s, "%+v", tt)
		assert.Equal(t, tt.out, out, "%+v", tt)
		if len(dma) > 0 {
			assert.Equal(t, words(0x03000007, 1, 0x3000, 0, 64, 2, 0, 16|16<<16, 0x07000004, tt.in/2), dma[:40])
		}
	}
}

// paint executes the packets of a buffer on surfaces of 16 x 16 elements, by their base address. An
// element that a copy reads and writes is a failure.
func paint(t *rapid.T, dma []byte, memory map[uint32]*[16][16]uint32) {
	var bases [2]uint32
	for len(dma) > 0 {
		d := make([]uint32, len(dma)/4)
		for i := range d {
			d[i] = binary.LittleEndian.Uint32(dma[4*i:])
		}
		half := func(i int) (int, int) { return int(d[i] & 0xffff), int(d[i] >> 16) }
		switch d[0] >> 24 {
		case 3:
			bases[d[1]] = d[2]
		case 7:
			x, y := half(1)
			w, h := half(2)
			for i := range w * h {
				memory[bases[1]][y+i/w][x+i%w] = d[3]
			}
		case 5:
			sx, sy := half(1)
			x, y := half(2)
			w, h := half(3)
			apart := bases[0] != bases[1] || sx+w <= x || x+w <= sx || sy+h <= y || y+h <= sy
			require.True(t, apart, "a copy of %d x %d from %d, %d to %d, %d", w, h, sx, sy, x, y)
			for i := range w * h {
				memory[bases[1]][y+i/w][x+i%w] = memory[bases[0]][sy+i/w][sx+i%w]
			}
		default:
			t.Fatalf("packet %#x", d[0])
		}
		dma = dma[4*(1+d[0]&0xffff):]
	}
}

// Random fills and copies, also inside of a surface, in buffers of random sizes, have the effect of
// drawing each sub-rectangle from a copy of its source.
func TestRenderKmDraws(t *testing.T) {
	f := newFixture(t)
	rapid.Check(t, func(t *rapid.T) {
		var got, want [16][16]uint32
		var other [16][16]uint32
		for i := range 256 {
			got[i/16][i%16], other[i/16][i%16] = uint32(i), uint32(1000+i)
		}
		want = got
		var cmd []uint32
		for range rapid.IntRange(1, 4).Draw(t, "commands") {
			span := func(name string) (uint32, uint32) {
				a, b := rapid.Uint32Range(0, 16).Draw(t, name), rapid.Uint32Range(0, 16).Draw(t, name)
				return min(a, b), max(a, b)
			}
			l, r := span("x")
			top, b := span("y")
			src := rapid.SampledFrom([]uint32{none, canvas, image}).Draw(t, "source")
			if src == none {
				cmd = append(cmd, fillKm(box{0, 0, 16, 16}, canvas, box{l, top, r, b})...)
			}
			sx, sy := rapid.Uint32Range(0, 16-(r-l)).Draw(t, "sx"), rapid.Uint32Range(0, 16-(b-top)).Draw(t, "sy")
			if src != none {
				cmd = append(cmd, blitKm(box{sx, sy, sx + r - l, sy + b - top}, box{l, top, r, b}, src, canvas, box{l, top, r, b})...)
			}
			before := want
			if src == image {
				before = other
			}
			for y := top; y < b; y++ {
				for x := l; x < r; x++ {
					if want[y][x] = 0xc0ffee11; src != none {
						want[y][x] = before[sy+y-top][sx+x-l]
					}
				}
			}
		}
		size, s, multipass := rapid.IntRange(84, 200).Draw(t, "size"), ddi.StatusInsufficientDMABuffer, uint32(0)
		for s != success {
			var out kmddi.RenderOut
			var dma []byte
			out, dma, _, s = f.renderKm(t, words(cmd...), size, 4, multipass)
			require.Contains(t, []ddi.Status{success, ddi.StatusInsufficientDMABuffer}, s)
			paint(t, dma, map[uint32]*[16][16]uint32{0x3000: &got, 0x4000: &other})
			multipass = out.MultipassOffset
		}
		require.Equal(t, want, got)
	})
}
