package testbench

import (
	"fmt"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmt"
)

// Escape gives data of a tool to the miniport, which answers in them. For the drivers of this
// GPU they are a privdata.Escape. It fails with the ddi.Status of D3DKMTEscape, such as
// StatusNotSupported if the miniport has no DxgkDdiEscape, and with the error of Err if the system
// has stopped.
func (s *System) Escape(data []byte) error {
	return s.guard(func() error {
		if st := s.Thunks().Escape(s.thread, &kmt.Escape{PrivateDriverData: data}); st != ddi.StatusSuccess {
			return fmt.Errorf("testbench: escape: %w", st)
		}
		return nil
	})
}
