package hostile

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"reflect"

	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/rtl/refmodel"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

// A picture is the private data of an allocation as the model reads it: the table in the
// comment of privdata.Allocation.
type picture struct {
	place, width, height, pitch, format uint32
	bytes                               uint64
}

// decode reads private data. It reports false if it is not legal.
func decode(b []byte) (picture, bool) {
	if len(b) != 40 {
		return picture{}, false
	}
	w := func(i int) uint32 { return binary.LittleEndian.Uint32(b[4*i:]) }
	d := picture{place: w(1), bytes: binary.LittleEndian.Uint64(b[8:]), width: w(4), height: w(5), pitch: w(6), format: w(7)}
	legal := w(0) == 0x31524748 && d.place <= 3 && d.bytes >= 1 && d.bytes <= 1<<40 &&
		d.width <= maxCoord && d.height <= maxCoord && d.pitch <= maxPitch && d.format <= 4 && w(8) == 0 && w(9) == 0
	return d, legal && d.end() <= d.bytes
}

// end returns the end of the surface's last element.
func (d picture) end() uint64 {
	if d.width == 0 || d.height == 0 {
		return 0
	}
	return uint64(d.height-1)*uint64(d.pitch) + uint64(d.width)<<d.format
}

// block returns legal private data, mutated in up to three places.
func block(r *rand.Rand) []byte {
	w, h, f := r.Uint32N(40), r.Uint32N(40), r.Uint32N(5)
	if r.IntN(8) == 0 {
		h = 1 + r.Uint32N(1<<r.IntN(15))
	}
	pitch := w<<f + r.Uint32N(2)*r.Uint32N(100)
	end := picture{width: w, height: h, pitch: pitch, format: f}.end()
	size := max(1, end) + r.Uint64N(2)*r.Uint64N(1<<r.IntN(40))
	var b []byte
	for _, v := range []uint32{0x31524748, r.Uint32N(4), uint32(size), uint32(size >> 32), w, h, pitch, f, 0, 0} {
		b = binary.LittleEndian.AppendUint32(b, v)
	}
	for range max(0, r.IntN(5)-1) {
		switch i := 4 * r.IntN(10); r.IntN(7) {
		case 0:
			b[r.IntN(len(b))] ^= 1 << r.IntN(8)
		case 1:
			binary.LittleEndian.PutUint32(b[i:40], edges[r.IntN(len(edges))])
		case 2:
			binary.LittleEndian.PutUint32(b[i:40], binary.LittleEndian.Uint32(b[i:])+r.Uint32N(9)-4)
		case 5:
			limits := []uint32{4: maxCoord, 5: maxCoord, 6: maxPitch, 7: 4}
			i = 4 + r.IntN(4)
			binary.LittleEndian.PutUint32(b[4*i:40], limits[i]+r.Uint32N(2))
		case 3:
			if r.IntN(4) == 0 {
				b = append(b[:r.IntN(len(b)+1):40], make([]byte, 44)...)[:40]
			}
		case 4:
			if r.IntN(4) == 0 {
				return append(b, make([]byte, r.IntN(9))...)[r.IntN(3):]
			}
		}
	}
	return b
}

// blocks gives the miniport private data and adapter queries.
type blocks struct {
	*commands

	surfaces [2]surface // the last two that were opened
	accepted int        // allocations
	denied   int
	presents int // accepted
	dropped  int
	want     [3]kmddi.QueryAdapterInfoOut // the answers, by type
}

// A surface is an allocation with a surface, opened by the device.
type surface struct {
	open kmddi.HDeviceAllocation
	picture
}

func newBlocks() (*blocks, error) {
	c, err := newCommands(false)
	if err != nil {
		return nil, err
	}
	b := &blocks{commands: c}
	for i := range b.want {
		var s ddi.Status
		b.want[i], s = c.table.QueryAdapterInfo(c.thread, c.adapter, kmddi.QueryAdapterInfo{Type: kmddi.InfoType(i)})
		if s != ddi.StatusSuccess {
			return nil, fmt.Errorf("hostile: QueryAdapterInfo %d: %w", i, s)
		}
	}
	// Presents may be in VRAM of the size of an allocation.
	b.device = refmodel.New(refmodel.Config{Nodes: 1, HostBits: hostBits + 3, LengthBits: lengthBits, VRAM: 1 << 43}, b.device.Mem)
	return b, nil
}

// query sends a query with random input. The answer depends only on the type.
func (b *blocks) query(r *rand.Rand) error {
	typ := r.Uint32N(5)
	if r.IntN(4) == 0 {
		typ = edges[r.IntN(len(edges))] ^ r.Uint32()>>r.IntN(32)
	}
	in := make([]byte, r.IntN(64))
	for i := range in {
		in[i] = byte(r.Uint32())
	}
	before := bytes.Clone(in)
	out, s := b.table.QueryAdapterInfo(b.thread, b.adapter, kmddi.QueryAdapterInfo{Type: kmddi.InfoType(typ), InputData: in})
	switch {
	case !bytes.Equal(in, before):
		return fmt.Errorf("query %#x changed its input", typ)
	case typ >= uint32(len(b.want)) && s == ddi.StatusNotSupported:
		return nil
	case typ < uint32(len(b.want)) && s == ddi.StatusSuccess && reflect.DeepEqual(out, b.want[typ]):
		// The caller owns the answer.
		for i := range out.UMDriverPrivate {
			out.UMDriverPrivate[i] ^= 0xff
		}
		return nil
	}
	return fmt.Errorf("query %#x with %d bytes: %w", typ, len(in), s)
}

// context gives private data of a context. Only none is legal.
func (b *blocks) context(r *rand.Rand) error {
	ctx, data := kmddi.HContext{Root: &ddi.Root{}}, block(r)[:0]
	arg := kmddi.CreateContext{NodeOrdinal: r.Uint32N(4) &^ r.Uint32N(2), EngineAffinity: r.Uint32N(3), PrivateDriverData: data}
	if r.IntN(2) == 0 {
		arg.PrivateDriverData = block(r)
	}
	legal := arg.NodeOrdinal < 2 && arg.EngineAffinity <= 1 && len(arg.PrivateDriverData) == 0
	_, s := b.table.CreateContext(b.thread, b.dev, ctx, arg)
	if (s == ddi.StatusSuccess) != legal {
		return fmt.Errorf("CreateContext with node %d, engines %#x and %d bytes: %w", arg.NodeOrdinal, arg.EngineAffinity, len(arg.PrivateDriverData), s)
	}
	if legal {
		s = b.table.DestroyContext(b.thread, ctx)
	}
	if legal && s != ddi.StatusSuccess {
		return fmt.Errorf("DestroyContext: %w", s)
	}
	return nil
}

// allocate gives mutated private data to CreateAllocation. An accepted allocation becomes
// one of the surfaces of later presents.
func (b *blocks) allocate(r *rand.Rand) error {
	data := block(r)
	d, legal := decode(data)
	al, open := kmddi.HAllocation{Root: &ddi.Root{}}, kmddi.HDeviceAllocation{Root: &ddi.Root{}}
	info, s := b.table.CreateAllocation(b.thread, b.adapter, al, kmddi.CreateAllocation{PrivateDriverData: data})
	switch {
	case legal != (s == ddi.StatusSuccess):
		return fmt.Errorf("private data %x, legal %t: %w", data, legal, s)
	case !legal:
		b.denied++
		return nil
	}
	b.accepted++
	sets := []uint32{0: 1, 1: 3, 2: 2, 3: 2} // VRAM, both, host memory, results without an aperture
	if info.Size != d.bytes || info.SupportedSegmentSet != sets[d.place] || info.CPUVisible != (d.place >= 2) {
		return fmt.Errorf("private data %x: %+v", data, info)
	}
	clear(data) // the miniport may not keep it
	junk := block(r)
	if s := b.table.OpenAllocation(b.thread, b.dev, open, kmddi.OpenAllocation{Allocation: al, PrivateDriverData: junk}); s != ddi.StatusSuccess {
		return fmt.Errorf("OpenAllocation: %w", s)
	}
	i := r.IntN(2)
	if old := b.surfaces[i].open; old.Root != nil {
		if s := b.table.CloseAllocation(b.thread, b.dev, old); s != ddi.StatusSuccess {
			return fmt.Errorf("CloseAllocation: %w", s)
		}
	}
	b.surfaces[i] = surface{open, d}
	return nil
}

// within reports whether a rectangle is in the surface.
func (s surface) within(r kmddi.Rect) bool {
	return 0 <= r.Left && r.Left <= r.Right && int64(r.Right) <= int64(s.width) &&
		0 <= r.Top && r.Top <= r.Bottom && int64(r.Bottom) <= int64(s.height)
}

// present gives Present two surfaces and mutated rectangles.
func (b *blocks) present(r *rand.Rand) error {
	src, dst := b.surfaces[r.IntN(2)], b.surfaces[r.IntN(2)]
	writable := r.IntN(8) > 0
	// Far from each other, the second in host memory or VRAM.
	base := [3]uint64{0, 1 << 41, 1 << 42}
	if r.IntN(2) == 0 {
		base[2] |= pkt.Host
	}
	list := []kmddi.AllocationList{{},
		{DeviceSpecificAllocation: src.open, SegmentID: 1, PhysicalAddress: base[1]},
		{DeviceSpecificAllocation: dst.open, SegmentID: 1, PhysicalAddress: base[2], WriteOperation: writable},
	}
	from, to := rectangles(r, src, dst)
	legal := src.width > 0 && src.height > 0 && dst.width > 0 && dst.height > 0 && src.format == dst.format && writable
	if from != to || from != (kmddi.Rect{}) {
		legal = legal && src.within(from) && dst.within(to) &&
			from.Right-from.Left == to.Right-to.Left && from.Bottom-from.Top == to.Bottom-to.Top
	}
	dma, patches := make([]byte, 80), make([]kmddi.PatchLocation, 2)
	out, s := b.table.Present(b.thread, b.ctx, kmddi.Present{
		DmaBuffer: dma, AllocationList: list, PatchLocationListOut: patches, SrcRect: from, DstRect: to,
	})
	switch {
	case legal != (s == ddi.StatusSuccess):
		return fmt.Errorf("a present from %v of %+v to %v of %+v, legal %t: %w", from, src.picture, to, dst.picture, legal, s)
	case !legal:
		b.dropped++
		return nil
	}
	b.presents++
	return b.run(dma[:out.DmaBufferUsed], func(a refmodel.Range, write bool) bool {
		if (refmodel.Range{At: base[2], N: dst.bytes}).Holds(a.At, a.N) {
			return true
		}
		return !write && (refmodel.Range{At: base[1], N: src.bytes}).Holds(a.At, a.N)
	})
}

// rectangles returns two that are often legal, with the same size.
func rectangles(r *rand.Rand, src, dst surface) (from, to kmddi.Rect) {
	if r.IntN(4) == 0 {
		return from, to
	}
	w, h := int32(r.Uint32N(min(src.width, dst.width)+1)), int32(r.Uint32N(min(src.height, dst.height)+1))
	place := func(s surface) kmddi.Rect {
		x, y := int32(r.Uint32N(max(1, s.width-uint32(w)+1))), int32(r.Uint32N(max(1, s.height-uint32(h)+1)))
		return kmddi.Rect{Left: x, Top: y, Right: x + w, Bottom: y + h}
	}
	from, to = place(src), place(dst)
	for range max(0, r.IntN(5)-2) {
		if r.IntN(2) == 0 { // over an edge, perhaps
			dx, dy := int32(r.IntN(5)-2), int32(r.IntN(5)-2)
			v := []*kmddi.Rect{&from, &to}[r.IntN(2)]
			*v = kmddi.Rect{Left: v.Left + dx, Top: v.Top + dy, Right: v.Right + dx, Bottom: v.Bottom + dy}
			continue
		}
		all := []*int32{&from.Left, &from.Top, &from.Right, &from.Bottom, &to.Left, &to.Top, &to.Right, &to.Bottom}
		switch v := all[r.IntN(len(all))]; r.IntN(3) {
		case 0:
			*v ^= 1 << r.IntN(32)
		case 1:
			*v += int32(r.IntN(5)) - 2
		case 2:
			*v = int32(edges[r.IntN(len(edges))])
		}
	}
	return from, to
}
