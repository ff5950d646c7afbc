package dxgkrnl

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

// returns makes the miniport return a status for an operation.
func (r *rig) returns(op kmddi.PagingOperation, s ddi.Status) {
	r.mini.build = func(arg kmddi.BuildPagingBuffer) (kmddi.BuildPagingBufferOut, ddi.Status, bool) {
		return kmddi.BuildPagingBufferOut{}, s, arg.Operation == op
	}
}

// A MAP and an UNMAP that fail have their own codes, also after a reset. One that is busy, or makes no
// progress, does not.
func TestMappingFails(t *testing.T) {
	const maps, unmaps = kmddi.PagingMapApertureSegment, kmddi.PagingUnmapApertureSegment
	for _, tt := range []struct {
		name   string
		op     kmddi.PagingOperation
		status ddi.Status
		p1     uint32
		rule   string
	}{
		{"MAP", maps, ddi.StatusNoMemory, 0xe, "aperture-map-result"},
		{"UNMAP", unmaps, ddi.StatusInvalidParameter, 0x3, "aperture-unmap-result"},
		{"MAP is busy for an idle GPU", maps, ddi.StatusAllocationBusy, 0xb, "paging-result"},
		{"UNMAP without progress", unmaps, ddi.StatusInsufficientDMABuffer, 0xb, "paging-result"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, options{aperture: 8})
			a := r.alloc(4096, system)
			if tt.op == unmaps {
				r.render(fill(a, 0, 64, 1))
				r.wait()
			}
			r.returns(tt.op, tt.status)
			got := crash(func() {
				if tt.op == unmaps {
					r.destroy(a)
					return
				}
				r.submit(&r.ctx, fill(a, 0, 64, 1))
			})
			require.NotNil(t, got)
			name, function, _ := got.BrokenRule()
			assert.Equal(t, []any{uint32(0x10e), tt.p1, tt.rule, buildPaging}, []any{got.Code, got.P1, name, function})
		})
	}
}

// An UNMAP that fails after a reset is told as one before.
func TestUnmapFailsAfterAReset(t *testing.T) {
	r := newRig(t, options{aperture: 8})
	r.render(fill(r.alloc(4096, system), 0, 64, 1))
	r.wait()
	r.faults = true
	r.render(command{op: opFault})
	require.True(t, r.thunks.WaitForIdle(r.thread, r.dev).Failed())
	r.returns(kmddi.PagingUnmapApertureSegment, ddi.StatusInvalidParameter)
	got := crash(func() { r.kernel.Recover(r.thread) })
	require.NotNil(t, got)
	assert.Equal(t, []uint32{0x10e, 0x3}, []uint32{got.Code, got.P1})
}

// A byte next to the private data of a DMA buffer that is written has its own code. One of the private
// data is the miniport's.
func TestPrivateDataOverflow(t *testing.T) {
	for _, tt := range []struct {
		name string
		at   func(l *lent) *byte
		want string
	}{
		{"before", func(l *lent) *byte { return &l.wholePrivate[guardPrivate-1] }, "memory before the private data was written, at byte 0x3f of the guard"},
		{"the first byte", func(l *lent) *byte { return &l.private[0] }, ""},
		{"the last byte", func(l *lent) *byte { return &l.private[len(l.private)-1] }, ""},
		{"after", func(l *lent) *byte { return &l.wholePrivate[guardPrivate+len(l.private)] }, "memory after the private data was written, at byte 0x0 of the guard"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, options{})
			a := r.alloc(64, system)
			r.mini.render = func(kmddi.Render) (o kmddi.RenderOut, s ddi.Status, done bool) {
				*tt.at(&r.kernel.devices[1].contexts[0].dma[0].lent) ^= 1
				return o, s, false
			}
			got := crash(func() {
				r.submit(&r.ctx, fill(a, 0, 64, 1))
				r.wait()
			})
			if tt.want == "" {
				require.Nil(t, got)
				r.finish()
				return
			}
			require.NotNil(t, got)
			assert.Equal(t, []any{uint32(0x10e), uint32(0x13), "DxgkDdiRender", tt.want}, []any{got.Code, got.P1, got.Function, got.Text})
		})
	}
}
