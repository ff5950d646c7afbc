package dxgkrnl

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

// remembers makes Render keep what it is lent, and returns the latest.
func remembers(r *rig) *kmddi.Render {
	last := new(kmddi.Render)
	r.mini.render = func(arg kmddi.Render) (o kmddi.RenderOut, s ddi.Status, done bool) {
		*last = arg
		return o, s, false
	}
	return last
}

// A buffer that was given back holds a pattern, and another one is lent next. A
// write to it, by the CPU or the GPU, is found when it is lent again.
func TestUseAfterGivenBack(t *testing.T) {
	for _, tt := range []struct {
		name  string
		write func(r *rig, kept kmddi.Render)
		code  uint32 // 0: allowed
	}{
		{"nothing", func(*rig, kmddi.Render) {}, 0},
		{"the buffer", func(_ *rig, kept kmddi.Render) { kept.DmaBuffer[len(kept.DmaBuffer)-1] = 0 }, VerifierKept},
		{"the private data", func(_ *rig, kept kmddi.Render) { kept.DmaBufferPrivateData[0] = 0 }, VerifierKept},
		{"by the GPU", func(r *rig, _ kmddi.Render) { r.gpu.write(r.kernel.devices[1].contexts[0].dma[1].pages.Phys, 7) }, VerifierKept},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, options{})
			a := r.alloc(64, system)
			r.render(fill(a, 0, 64, 1))
			r.wait()
			last := remembers(r)
			r.render(fill(a, 0, 64, 2))
			r.wait()
			kept := *last
			assert.Equal(t, repeat(poison, len(kept.DmaBuffer)), kept.DmaBuffer)
			assert.Equal(t, poisoned, kept.PatchLocationListOut[0])
			assert.Equal(t, uint32(0xa5a5a5a5), kept.AllocationList[0].SegmentID)
			tt.write(r, kept)
			b := crash(func() {
				for range 4 {
					r.render(fill(a, 0, 64, 3))
					assert.NotSame(t, &kept.DmaBuffer[0], &last.DmaBuffer[0], "not twice in a row")
					kept = *last
					r.wait()
				}
			})
			if tt.code == 0 {
				require.Nil(t, b)
				r.finish()
				return
			}
			require.NotNil(t, b)
			assert.Equal(t, []uint32{CodeVerifier, tt.code}, []uint32{b.Code, b.P1}, b.Error())
		})
	}
}

// The GPU may write to its own DMA buffer while it executes it, and Patch may
// write to it and to the private data.
func TestTheGPUMayWriteItsBuffer(t *testing.T) {
	r := newRig(t, options{})
	a := r.alloc(64, system)
	last := remembers(r)
	r.render(fill(a, 0, 64, 1))
	d := r.kernel.devices[1].contexts[0].dma[0]
	r.gpu.onComplete = func() { r.gpu.write(d.pages.Phys+opBytes, last.DmaBuffer[opBytes]^1) }
	r.wait()
	r.finish()
}

// Private data are zero when a context is created.
//
// docs/validator.md: V02.
func TestPrivateDataAreZeroAtFirst(t *testing.T) {
	r := newRig(t, options{})
	a := r.alloc(64, system)
	r.mini.render = func(arg kmddi.Render) (o kmddi.RenderOut, s ddi.Status, done bool) {
		assert.Equal(t, repeat(0, 16), arg.DmaBufferPrivateData)
		arg.DmaBufferPrivateData[0] = 1
		return o, s, false
	}
	r.render(fill(a, 0, 64, 1))
	r.wait()
	r.finish()
}

// The command buffer that a driver gets has nothing of what it wrote before.
func TestCommandBuffersAreSpoiled(t *testing.T) {
	r := newRig(t, options{})
	a := r.alloc(64, system)
	c := r.kernel.devices[1].contexts[0]
	for i := range 2 * len(c.users) {
		command := c.users[c.current].command
		assert.Equal(t, repeat(poison, len(command)), command)
		r.render(fill(a, 0, 64, byte(i)))
		assert.NotEqual(t, byte(poison), command[0])
	}
	r.wait()
	r.finish()
}
