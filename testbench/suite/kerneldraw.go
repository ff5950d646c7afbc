package suite

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/hostdriver/privdata"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
	"github.com/hilgpu/hilgpu/testbench"
)

// The size of a surface that the kernel draws to, in elements of 4 bytes. There are 4 bytes more
// in a row.
const (
	paperWidth  = 16
	paperHeight = 12
	paperPitch  = 4*paperWidth + 4
)

// wholePaper is the rectangle of all elements of a surface.
var wholePaper = kmddi.Rect{Right: paperWidth, Bottom: paperHeight}

// A painter draws to surfaces of an application by the graphics kernel, and as the application.
type painter struct {
	*submitter
	sys      *testbench.System
	rand     *rand.Rand
	surfaces []ddi.KMHandle
	readable ddi.KMHandle                      // a surface in host memory
	want     [][paperHeight][paperWidth]uint32 // by surface
}

// kernelDraws fills and copies rectangles of surfaces by the kernel, between the work of the
// application that owns them.
func kernelDraws(t *T) {
	sys := t.Open(testbench.Options{})
	if err := sys.FillRectangle(0, kmddi.Rect{}, 0); errors.Is(err, ddi.StatusNotSupported) {
		t.Skipf("the miniport has no DxgkDdiRenderKm; this case needs it")
		return
	}
	p := &painter{submitter: t.newSubmitter(sys.Thunks()), sys: sys, rand: rand.New(rand.NewPCG(t.Seed, 0))}
	p.want = make([][paperHeight][paperWidth]uint32, 3)
	for i := range p.want {
		p.surfaces = append(p.surfaces, p.surface(privdata.Local))
		p.fillAll(i, p.rand.Uint32(), wholePaper)
	}
	p.readable = p.surface(privdata.System)
	for range 6 {
		p.fill()
		p.render()
		p.copy()
	}
	for i := range p.surfaces {
		assert.Equal(t, p.want[i], p.read(i), "surface %d has what kernel and application have drawn, in the order of the calls", i)
	}
	wide := kmddi.Rect{Right: paperWidth + 1, Bottom: 1}
	assert.ErrorIs(t, sys.FillRectangle(p.surfaces[0], wide, 1), ddi.StatusInvalidParameter, "a rectangle outside of the surface is refused")
	t.succeeds(p.k.DestroyDevice(p.th, p.dev), "D3DKMTDestroyDevice")
}

// surface creates a surface.
func (p *painter) surface(place privdata.Place) ddi.KMHandle {
	a := privdata.Allocation{
		Place: place, Bytes: paperPitch * paperHeight, Width: paperWidth, Height: paperHeight, Pitch: paperPitch, Format: pkt.Format32,
	}
	arg := &umddi.Allocate{AllocationInfo: []umddi.AllocationInfo{{PrivateDriverData: a.Append(nil)}}}
	p.t.succeeds(p.k.CreateAllocation(p.th, p.dev, arg), "D3DKMTCreateAllocation of a surface")
	return arg.AllocationInfo[0].Allocation
}

// rect returns a random rectangle of a size.
func (p *painter) rect(w, h int32) kmddi.Rect {
	x, y := p.rand.Int32N(paperWidth-w+1), p.rand.Int32N(paperHeight-h+1)
	return kmddi.Rect{Left: x, Top: y, Right: x + w, Bottom: y + h}
}

// size returns a random size of a rectangle.
func (p *painter) size() (w, h int32) {
	return 1 + p.rand.Int32N(paperWidth), 1 + p.rand.Int32N(paperHeight)
}

// elements calls do for the elements of a rectangle.
func elements(r kmddi.Rect, do func(x, y int32)) {
	for y := r.Top; y < r.Bottom; y++ {
		for x := r.Left; x < r.Right; x++ {
			do(x, y)
		}
	}
}

// fill fills the first and the last column of a rectangle by the kernel.
func (p *painter) fill() {
	to := p.rect(p.size())
	first, last := to, to
	first.Right, last.Left = to.Left+1, to.Right-1
	p.fillAll(p.rand.IntN(len(p.surfaces)), p.rand.Uint32(), to, first, last)
}

// fillAll fills parts of a rectangle of surface i by the kernel, or all of it without parts.
func (p *painter) fillAll(i int, v uint32, to kmddi.Rect, parts ...kmddi.Rect) {
	require.NoError(p.t, p.sys.FillRectangle(p.surfaces[i], to, v, parts...), "the kernel fills parts of %v", to)
	if len(parts) == 0 {
		parts = []kmddi.Rect{to}
	}
	for _, part := range parts {
		elements(part, func(x, y int32) { p.want[i][y][x] = v })
	}
}

// copy copies a rectangle by the kernel, between surfaces or inside of one.
func (p *painter) copy() {
	src, dst := p.rand.IntN(len(p.surfaces)), p.rand.IntN(len(p.surfaces))
	w, h := p.size()
	from, to := p.rect(w, h), p.rect(w, h)
	require.NoError(p.t, p.sys.CopyRectangle(p.surfaces[dst], to, p.surfaces[src], from), "the kernel copies %v to %v", from, to)
	before := p.want[src]
	elements(to, func(x, y int32) { p.want[dst][y][x] = before[y-to.Top+from.Top][x-to.Left+from.Left] })
}

// render fills a row of a surface, as the application does.
func (p *painter) render() {
	i, y, v := p.rand.IntN(len(p.surfaces)), p.rand.IntN(paperHeight), p.rand.Uint32()
	cmd, err := pkt.Fill{Bytes: 4 * paperWidth, Value: uint64(v)<<32 | uint64(v)}.Append(nil)
	require.NoError(p.t, err, "the packet can be encoded")
	patch := umddi.PatchLocation{PatchOffset: 4, AllocationOffset: uint32(y * paperPitch)}
	p.t.succeeds(p.submitter.render(cmd, patch, p.surfaces[i], 1), "D3DKMTRender of a Fill")
	for x := range paperWidth {
		p.want[i][y][x] = v
	}
}

// read returns the elements of a surface, which the kernel copies to host memory.
func (p *painter) read(i int) (got [paperHeight][paperWidth]uint32) {
	require.NoError(p.t, p.sys.CopyRectangle(p.readable, wholePaper, p.surfaces[i], wholePaper), "the kernel copies a surface to host memory")
	lock := &umddi.Lock{Allocation: p.readable, ReadOnly: true}
	p.t.succeeds(p.k.Lock(p.th, p.dev, lock), "D3DKMTLock")
	elements(wholePaper, func(x, y int32) { got[y][x] = binary.LittleEndian.Uint32(lock.Data[paperPitch*y+4*x:]) })
	p.t.succeeds(p.k.Unlock(p.th, p.dev, &umddi.Unlock{Allocations: []ddi.KMHandle{p.readable}}), "D3DKMTUnlock")
	return got
}
