package dxgkrnl

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi"
)

// A fault and a time-out name the calls that made the submission, in the error of the
// kernel and as a counted rule.
//
// docs/properties.md: T7.
func TestWorkThatTheGPUDoesNotDo(t *testing.T) {
	for _, tt := range []struct {
		name string
		work func(r *rig)
		want string // after the name of the function
	}{
		{"a fault of a DMA buffer", func(r *rig) {
			r.render(fill(r.alloc(64, system), 0, 64, 1), command{op: opFault})
		}, "gpu-fault: DxgkDdiSubmitCommand: node 0: fence 1 faulted with STATUS_GRAPHICS_GPU_EXCEPTION_ON_DEVICE: its DMA buffer of 64 bytes was written by DxgkDdiRender, patched by DxgkDdiPatch (1 of 1 locations), submitted by DxgkDdiSubmitCommand from 0x0 to 0x40, which wrote a register, 0x8 = 0x1 (WRITE_REGISTER_ULONG); since then the driver wrote a register, 0x0 = 0x1 (WRITE_REGISTER_ULONG)"},
		{"a time-out of the second fence", func(r *rig) {
			a := r.alloc(64, system)
			r.render(fill(a, 0, 64, 1))
			r.wait()
			r.gpu.auto = false
			r.render(fill(a, 0, 64, 1), fill(a, 0, 64, 2))
		}, "gpu-time-out: DxgkDdiSubmitCommand: node 0: fence 2 made no progress in 2000 clocks: its DMA buffer of 64 bytes was written by DxgkDdiRender, patched by DxgkDdiPatch (2 of 2 locations), submitted by DxgkDdiSubmitCommand from 0x0 to 0x40, which wrote a register, 0x8 = 0x1 (WRITE_REGISTER_ULONG); since then the driver wrote no register"},
		{"a time-out of a paging buffer", func(r *rig) {
			a, b := r.alloc(4096, local), r.alloc(100, local)
			r.write(b, repeat(7, 100))
			r.gpu.auto = false
			r.render(fill(a, 0, 64, 1), fill(b, 0, 64, 1))
		}, "gpu-time-out: DxgkDdiSubmitCommand: node 0: fence 1 made no progress in 2000 clocks: its paging buffer of 64 bytes was written by DxgkDdiBuildPagingBuffer (FILL of 4096 bytes of allocation 0x100003 to 0x100000 in segment 1; TRANSFER of 100 bytes of allocation 0x100004 to 0x101000 in segment 1 from host memory 0x104000), submitted by DxgkDdiSubmitCommand from 0x0 to 0x40, which wrote a register, 0x8 = 0x1 (WRITE_REGISTER_ULONG); since then the driver wrote a register, 0x8 = 0x1 (WRITE_REGISTER_ULONG)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, options{})
			tt.work(r)
			assert.Equal(t, ddi.StatusDeviceRemoved, r.thunks.WaitForIdle(r.thread, r.dev))
			require.Len(t, r.reports, 1)
			assert.Equal(t, tt.want, r.reports[0])
			var e *DeviceError
			require.ErrorAs(t, r.kernel.Err(), &e)
			assert.Contains(t, tt.want, e.Work)
			assert.Contains(t, e.Error(), ": "+e.Work)
		})
	}
}

// A description lists the first operations of a paging buffer.
func TestManyPagingOperations(t *testing.T) {
	r := newRig(t, options{pagingBytes: 1024})
	var all []command
	for range maxOps + 2 {
		all = append(all, fill(r.alloc(64, local), 0, 64, 1))
	}
	r.gpu.auto = false
	r.render(all...)
	r.thunks.WaitForIdle(r.thread, r.dev)
	require.Len(t, r.reports, 1)
	assert.Contains(t, r.reports[0], "0x100300 in segment 1; 2 more), submitted")
}

// A link that fails is no work of the GPU.
func TestLinkFailureIsNoRule(t *testing.T) {
	r := newRig(t, options{})
	r.render(fill(r.alloc(64, local), 0, 64, 1))
	r.gpu.linkErr = assert.AnError
	require.ErrorIs(t, r.kernel.WaitForIdle(r.thread), assert.AnError)
	assert.Empty(t, r.reports)
}
