package testbench

import (
	"fmt"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

// FillRectangle fills a rectangle of an allocation, or parts of it, by the graphics kernel, as
// dxgkrnl.Kernel.FillRectangle does. It fails with its ddi.Status, such as StatusNotSupported if
// the miniport has no DxgkDdiRenderKm, and with the error of Err if the system has stopped.
func (s *System) FillRectangle(dst ddi.KMHandle, to kmddi.Rect, color uint32, parts ...kmddi.Rect) error {
	return s.drawing(func() ddi.Status { return s.kernel.FillRectangle(s.thread, dst, to, color, parts...) })
}

// CopyRectangle copies a rectangle of an allocation to a rectangle of another or of the same
// one, or to parts of it, by the graphics kernel. See FillRectangle.
func (s *System) CopyRectangle(dst ddi.KMHandle, to kmddi.Rect, src ddi.KMHandle, from kmddi.Rect, parts ...kmddi.Rect) error {
	return s.drawing(func() ddi.Status { return s.kernel.CopyRectangle(s.thread, dst, to, src, from, parts...) })
}

func (s *System) drawing(draw func() ddi.Status) error {
	return s.guard(func() error {
		if st := draw(); st != ddi.StatusSuccess {
			return fmt.Errorf("testbench: drawing of the kernel: %w", st)
		}
		return nil
	})
}
