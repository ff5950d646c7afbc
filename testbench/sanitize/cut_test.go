package sanitize_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
	"github.com/hilgpu/hilgpu/runtime/d3d11"
	"github.com/hilgpu/hilgpu/runtime/verifier"
	"github.com/hilgpu/hilgpu/testbench"
	"github.com/hilgpu/hilgpu/testbench/inject"
)

// vramBAR is the BAR of VRAM, through which the CPU writes the table of the aperture.
const vramBAR = 2

// copyPages copies between two buffers of the given number of pages of host memory, and destroys them, so that others get their
// pages of the aperture.
func copyPages(s *testbench.System, pages uint32) error {
	dev, ctx, err := s.CreateDevice()
	if err != nil {
		return err
	}
	defer dev.Close()
	var all []*d3d11.Buffer
	for range 2 {
		desc := d3d11.BufferDesc{ByteWidth: pages << 12, Usage: d3d11.UsageStaging, CPUAccessFlags: d3d11.CPUAccessRead}
		b, err := dev.CreateBuffer(desc, &d3d11.SubresourceData{SysMem: make([]byte, desc.ByteWidth)})
		if err != nil {
			return err
		}
		all = append(all, b)
	}
	ctx.CopyResource(all[0], all[1])
	ctx.Flush()
	s.WaitForIdle()
	for _, b := range all {
		b.Release()
	}
	s.WaitForIdle()
	return s.Err()
}

// copyCut copies buffers of different sizes on a board whose link is cut at write n of VRAM, recovers, and copies
// again. It reports whether the link was cut.
func copyCut(t *testing.T, board string, n int, silent bool) bool {
	t.Helper()
	what := fmt.Sprintf("%s, write %d, silent %v", board, n, silent)
	in := new(inject.Injector)
	s, err := testbench.Open(board, testbench.HostDrivers(), testbench.Options{Sanitize: true, Inject: in})
	require.NoError(t, err)
	in.CutAfter(n, vramBAR, silent)
	for _, pages := range []uint32{1, 3, 2} {
		if err == nil {
			err = copyPages(s, pages)
		}
	}
	cut := err != nil
	if cut {
		var broken *verifier.Violation
		require.False(t, errors.As(err, &broken), "%s: %v", what, err)
		require.ErrorIs(t, s.Err(), bus.ErrLinkDown, what)
		require.NoError(t, s.Recover(), what)
	}
	in.Disarm()
	assert.NoError(t, copyPages(s, 2), what)
	assert.NoError(t, s.Close(), what)
	return cut
}

// leastWrites is fewer writes of VRAM than copyCut does: two map a page, and two unmap it.
const leastWrites = 10

// A link that is cut between two writes of the table of the aperture breaks no rule: what the GPU has then is not known.
func TestLinkIsCutInATable(t *testing.T) {
	tooltest.Long(t)
	for _, board := range []string{"emu?gart=1&vram=64KiB", "line?gart=1&vram=64KiB"} {
		for _, silent := range []bool{false, true} {
			n := 0
			for copyCut(t, board, n, silent) {
				n++
			}
			require.Greater(t, n, leastWrites, "%s, silent %v: cuts", board, silent)
		}
	}
}
