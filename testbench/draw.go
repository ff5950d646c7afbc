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
	return s.drawing(s.thread, func(t *ddi.Thread) ddi.Status { return s.kernel.FillRectangle(t, dst, to, color, parts...) })
}

// CopyRectangle copies a rectangle of an allocation to a rectangle of another or of the same
// one, or to parts of it, by the graphics kernel. See FillRectangle.
func (s *System) CopyRectangle(dst ddi.KMHandle, to kmddi.Rect, src ddi.KMHandle, from kmddi.Rect, parts ...kmddi.Rect) error {
	return s.drawing(s.thread, func(t *ddi.Thread) ddi.Status { return s.kernel.CopyRectangle(t, dst, to, src, from, parts...) })
}

// FillRectangle is System.FillRectangle on a thread of the process, for a task of Run.
func (p *Process) FillRectangle(dst ddi.KMHandle, to kmddi.Rect, color uint32, parts ...kmddi.Rect) error {
	return p.system.drawing(&ddi.Thread{Process: p.id}, func(t *ddi.Thread) ddi.Status {
		return p.system.kernel.FillRectangle(t, dst, to, color, parts...)
	})
}

// CopyRectangle is System.CopyRectangle on a thread of the process, for a task of Run.
func (p *Process) CopyRectangle(dst ddi.KMHandle, to kmddi.Rect, src ddi.KMHandle, from kmddi.Rect, parts ...kmddi.Rect) error {
	return p.system.drawing(&ddi.Thread{Process: p.id}, func(t *ddi.Thread) ddi.Status {
		return p.system.kernel.CopyRectangle(t, dst, to, src, from, parts...)
	})
}

func (s *System) drawing(t *ddi.Thread, draw func(t *ddi.Thread) ddi.Status) error {
	if s.contents != nil {
		s.contents.KernelDraws(true)
		defer s.contents.KernelDraws(false)
	}
	return s.guardOn(t, func() error {
		if st := draw(t); st != ddi.StatusSuccess {
			return fmt.Errorf("testbench: drawing of the kernel: %w", st)
		}
		return nil
	})
}
