package testbench

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/boards"
	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/rtl/abi/gartreg"
	"github.com/hilgpu/hilgpu/runtime/d3d11"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
	"github.com/hilgpu/hilgpu/runtime/verifier"
	"github.com/hilgpu/hilgpu/testbench/events/eventstest"
)

// An evicting miniport notes which pages the GPU uses when UNMAP_APERTURE_SEGMENT returns.
type evicting struct {
	flushes bool // it flushes then
	unmaps  bool
	seen    func(page, dummy uint64)
	look    func(addr uint64) (entry uint64, ok bool)
}

func (e *evicting) drivers() Drivers {
	d := withKernel(func(d *kmddi.DriverInitializationData) {
		build := d.BuildPagingBuffer
		d.BuildPagingBuffer = func(t *ddi.Thread, h kmddi.HAdapter, arg kmddi.BuildPagingBuffer) (kmddi.BuildPagingBufferOut, ddi.Status) {
			e.unmaps = arg.Operation == kmddi.PagingUnmapApertureSegment
			out, s := build(t, h, arg)
			if e.unmaps {
				entry, _ := e.look(gartreg.Start + arg.OffsetInPages*gartreg.PageBytes)
				e.seen(entry&gartreg.EntryPage, arg.DummyPage)
			}
			e.unmaps = false
			return out, s
		}
		start := d.StartDevice
		d.StartDevice = func(t *ddi.Thread, h kmddi.HAdapter, info kmddi.StartInfo, cb *kmddi.DxgkrnlInterface) (kmddi.StartDeviceOut, ddi.Status) {
			mine := *cb
			mine.WriteRegister = func(t *ddi.Thread, h kmddi.HDxgkrnl, m kmddi.HMapping, off, v uint32) ddi.Status {
				if e.unmaps && !e.flushes && off == gartreg.Base+gartreg.Flush {
					return ddi.StatusSuccess
				}
				return cb.WriteRegister(t, h, m, off, v)
			}
			return start(t, h, info, &mine)
		}
	})
	return d
}

// An allocation is evicted while the GPU keeps the translation that it has just used. A miniport that
// flushes gives it the dummy page before the memory can be given away. Without the flush the translation
// is stale, and the miniport is told of it.
//
// docs/validator.md: V26.
func TestV26(t *testing.T) {
	for _, flushes := range []bool{false, true} {
		t.Run(map[bool]string{false: "refused", true: "accepted"}[flushes], func(t *testing.T) {
			var used, dummies []uint64
			e := &evicting{flushes: flushes, seen: func(page, dummy uint64) { used, dummies = append(used, page), append(dummies, dummy) }}
			s, err := Open("emu?vram=64KiB&gart=1", e.drivers(), Options{Record: eventstest.Record(t)})
			require.NoError(t, err)
			translator, ok := bus.As[boards.Translator](s.link)
			require.True(t, ok)
			e.look = translator.Translate
			copyAndRelease(t, s)
			err = s.Close()
			require.NotEmpty(t, used)
			if flushes {
				require.NoError(t, err)
				assert.Equal(t, dummies, used)
				return
			}
			assert.NotContains(t, dummies, used[0], "the translation is hot")
			var broken *verifier.Violation
			require.ErrorAs(t, err, &broken)
			assert.Equal(t, "aperture-unmap", broken.Rule.Name)
		})
	}
}

// copyAndRelease copies between two buffers in host memory, and destroys them.
func copyAndRelease(t *testing.T, s *System) {
	dev, ctx, err := s.CreateDevice()
	require.NoError(t, err)
	var all []*d3d11.Buffer
	for range 2 {
		b, err := dev.CreateBuffer(d3d11.BufferDesc{ByteWidth: 256, Usage: d3d11.UsageStaging, CPUAccessFlags: d3d11.CPUAccessRead}, &d3d11.SubresourceData{SysMem: make([]byte, 256)})
		require.NoError(t, err)
		all = append(all, b)
	}
	ctx.CopyResource(all[0], all[1])
	ctx.Flush()
	s.WaitForIdle()
	for _, b := range all {
		b.Release()
	}
	dev.Close()
	s.WaitForIdle()
}
