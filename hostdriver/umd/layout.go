package umd

import (
	"math/bits"
	"slices"

	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/dxgi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

const (
	subresourceAlign = 256     // bytes; alignment of subresource offsets
	pitchAlign       = 16      // bytes; alignment of row pitches of textures
	maxBytes         = 1 << 32 // per allocation: patch locations have 32-bit offsets
)

// A subresource is a surface in an allocation. A buffer has one, with a single
// row of bytes.
type subresource struct {
	offset        uint32 // in bytes, from the start of the allocation
	pitch         uint32 // bytes
	width, height uint32 // elements
}

// size returns the size in bytes, including the padding of the last row. It is
// the depth pitch.
func (s subresource) size() uint64 { return uint64(s.pitch) * uint64(s.height) }

// A layout is the placement of the subresources of a resource in an allocation.
// Resources of equal sizes and element size have the same layout.
type layout struct {
	dim    umddi.Dimension
	format pkt.Format // size of an element; Format8 for a buffer
	bytes  uint64
	mips   uint32
	subs   []subresource // i%mips is the mip level, i/mips the array slice
}

func align(v, to uint64) uint64 { return (v + to - 1) / to * to }

// newLayout returns the layout of the resource that arg describes. It returns
// EOutOfMemory if the resource does not fit in the largest allocation, and
// EFail if the GPU does not support it, which the runtime must not request.
func newLayout(arg *umddi.CreateResource) (layout, ddi.HRESULT) {
	if arg.MipLevels == 0 || arg.ArraySize == 0 || uint64(len(arg.MipInfoList)) != uint64(arg.MipLevels) {
		return layout{}, ddi.EFail
	}
	switch arg.ResourceDimension {
	case umddi.Buffer:
		return bufferLayout(arg)
	case umddi.Texture2D:
		return textureLayout(arg)
	}
	return layout{}, ddi.EFail
}

func bufferLayout(arg *umddi.CreateResource) (layout, ddi.HRESULT) {
	n := arg.MipInfoList[0].TexelWidth
	if n == 0 || arg.MipLevels != 1 || arg.ArraySize != 1 {
		return layout{}, ddi.EFail
	}
	return layout{
		dim: umddi.Buffer, format: pkt.Format8, bytes: uint64(n), mips: 1,
		subs: []subresource{{pitch: n, width: n, height: 1}},
	}, ddi.OK
}

func textureLayout(arg *umddi.CreateResource) (layout, ddi.HRESULT) {
	info, ok := arg.Format.Info()
	if !ok || arg.SampleDesc.Count > 1 {
		return layout{}, ddi.EFail
	}
	l := layout{dim: umddi.Texture2D, format: elementFormat(info), mips: arg.MipLevels}
	for range arg.ArraySize {
		for _, m := range arg.MipInfoList {
			if m.TexelWidth-1 >= pkt.MaxCoord || m.TexelHeight-1 >= pkt.MaxCoord {
				return layout{}, ddi.EFail
			}
			at := align(l.bytes, subresourceAlign)
			s := subresource{
				pitch: uint32(align(uint64(m.TexelWidth)<<l.format, pitchAlign)),
				width: m.TexelWidth, height: m.TexelHeight,
			}
			l.bytes = at + s.size()
			if l.bytes > maxBytes {
				return layout{}, ddi.EOutOfMemory
			}
			s.offset = uint32(at)
			l.subs = append(l.subs, s)
		}
	}
	return l, ddi.OK
}

// elementFormat returns the packet format for elements of info.
func elementFormat(info dxgi.Info) pkt.Format {
	return pkt.Format(bits.TrailingZeros(uint(info.Bytes)))
}

// same reports whether copying all bytes copies all subresources.
func (l *layout) same(o *layout) bool {
	return l.dim == o.dim && l.format == o.format && l.bytes == o.bytes && slices.Equal(l.subs, o.subs)
}

// A region is a rectangle of a subresource, in elements, half-open. For a
// buffer it is a range of bytes, with y of [0, 1).
type region struct {
	x0, y0, x1, y1 uint32
}

func (r region) width() uint32  { return r.x1 - r.x0 }
func (r region) height() uint32 { return r.y1 - r.y0 }

// region returns the region of s that box selects; a nil box selects all of it.
// It reports false if the region is empty or not contained in s: Direct3D
// ignores both.
func (s subresource) region(box *umddi.Box) (region, bool) {
	if box == nil {
		return region{x1: s.width, y1: s.height}, true
	}
	r := region{box.Left, box.Top, box.Right, box.Bottom}
	return r, r.x0 < r.x1 && r.y0 < r.y1 && r.x1 <= s.width && r.y1 <= s.height && box.Front == 0 && box.Back == 1
}

// fits reports whether a rectangle of w x h elements at (x, y) is contained in
// s.
func (s subresource) fits(x, y, w, h uint32) bool {
	return w <= s.width && x <= s.width-w && h <= s.height && y <= s.height-h
}
