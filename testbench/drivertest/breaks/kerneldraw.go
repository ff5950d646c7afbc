package breaks

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/hilgpu/hilgpu/hostdriver/privdata"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// drawBreaks are mistakes in DxgkDdiRenderKm.
func drawBreaks() []Break {
	draw := func(name string, pitfall int, doc, rule string, edit func(arg kmddi.Render, out *kmddi.RenderOut)) Break {
		return Break{Name: name, Pitfall: pitfall, Doc: doc, Rule: rule, Function: "DxgkDdiRenderKm", Own: true, Work: Draw, Drivers: drawing(edit)}
	}
	return []Break{
		draw("drawing of 2 bytes more", 9, "DxgkDdiRenderKm moves pDmaBuffer 2 bytes too far.", "buffer-align", func(_ kmddi.Render, out *kmddi.RenderOut) { out.DmaBufferUsed += 2 }),
		draw("drawing past the patch list", 9, "DxgkDdiRenderKm moves pPatchLocationListOut past the end of the list.", "buffer-overflow", func(arg kmddi.Render, out *kmddi.RenderOut) {
			out.PatchesUsed = uint32(len(arg.PatchLocationListOut)) + 1
		}),
		draw("drawing without its patches", 8, "DxgkDdiRenderKm emits no patch location.", "access-unpatched", func(_ kmddi.Render, out *kmddi.RenderOut) { out.PatchesUsed = 0 }),
		draw("drawing past its allocation", 8, "DxgkDdiRenderKm makes a clip larger than its allocation.", "access-bounds", func(arg kmddi.Render, _ *kmddi.RenderOut) {
			binary.LittleEndian.PutUint32(arg.DmaBuffer[28:], 8<<16|8) // the clip of SET_STATE
			binary.LittleEndian.PutUint32(arg.DmaBuffer[40:], 8<<16|8) // the size of FILL_2D
		}),
	}
}

// kernelDraws makes the kernel fill and copy surfaces of 4 x 4 elements, if the miniport has
// DxgkDdiRenderKm.
func (p *program) kernelDraws() error {
	if err := p.sys.FillRectangle(0, kmddi.Rect{}, 0); errors.Is(err, ddi.StatusNotSupported) {
		return nil
	}
	k, t := p.sys.Thunks(), new(ddi.Thread)
	dev, s := k.CreateDevice(t)
	if s != ddi.StatusSuccess {
		return s
	}
	var handles [2]ddi.KMHandle
	for i, place := range [...]privdata.Place{privdata.Local, privdata.System} {
		a := privdata.Allocation{Place: place, Bytes: 64, Width: 4, Height: 4, Pitch: 16, Format: pkt.Format32}
		arg := &umddi.Allocate{AllocationInfo: []umddi.AllocationInfo{{PrivateDriverData: a.Append(nil)}}}
		if s = k.CreateAllocation(t, dev, arg); s != ddi.StatusSuccess {
			return s
		}
		handles[i] = arg.AllocationInfo[0].Allocation
	}
	all := kmddi.Rect{Right: 4, Bottom: 4}
	if err := errors.Join(p.sys.FillRectangle(handles[0], all, 0x04030201), p.sys.CopyRectangle(handles[1], all, handles[0], all)); err != nil {
		return err
	}
	lock := &umddi.Lock{Allocation: handles[1], ReadOnly: true}
	if s = k.Lock(t, dev, lock); s != ddi.StatusSuccess {
		return s
	}
	if want := bytes.Repeat([]byte{1, 2, 3, 4}, 16); !bytes.Equal(lock.Data, want) {
		return fmt.Errorf("%w: surface has % x, want % x", errWrong, lock.Data, want)
	}
	if s = k.DestroyDevice(t, dev); s != ddi.StatusSuccess {
		return s
	}
	return nil
}
