package stress

import (
	"cmp"
	"encoding/binary"
	"errors"

	"github.com/hilgpu/hilgpu/runtime/d3d11"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

// drawEvery is how many frames there are for each drawing of the kernel, on average.
const drawEvery = 3

// kernelDraws makes the kernel fill or copy a rectangle of a texture, at random. All earlier work of
// the device must be submitted. A preemption that is lost may cost the kernel its work, and no
// device tells, so the kernel does not draw in runs with such faults.
func (d *device) kernelDraws() error {
	r := d.spread.rand
	if !d.bench.KernelDraws || d.bench.spoil.injects(IgnorePreempt) || r.IntN(drawEvery) > 0 {
		return nil
	}
	targets := d.textures[:len(d.textures)-1] // the last one is dynamic, and gets new memory
	dst, src := targets[r.IntN(len(targets))], targets[r.IntN(len(targets))]
	b := box(r, dst)
	to := rectOf(b)
	if dst.Resource == src.Resource {
		color := r.Uint32()
		err := d.process.FillRectangle(dst.allocation, to, color)
		if err == nil {
			dst.fill(b, color)
		}
		return d.drawn(err)
	}
	err := d.process.CopyRectangle(dst.allocation, to, src.allocation, to) // all textures have one size
	if err == nil {
		d.immediate.CopyRegion(dst.Resource, 0, int(b.Left), int(b.Top), src.Resource, 0, &b)
	}
	return d.drawn(err)
}

// upload makes the driver write the initial contents of the textures, which it may put off until
// their first use. The kernel must not draw before that.
func (d *device) upload() {
	if d.bench.KernelDraws {
		for _, x := range d.textures {
			d.immediate.api.CopyResource(d.readTexture, x.api)
		}
		d.immediate.api.Flush()
	}
}

// drawn returns the error of a drawing, unless the kernel had no memory for it and a fault explains
// that. Nothing is drawn then, and the device goes on. If the device is lost, the runtime learns of
// it in the next call, whose error is returned.
func (d *device) drawn(err error) error {
	if err == nil {
		d.bench.totals.Drawn++
	}
	if p := d.bench.process(d.process.ID()); errors.Is(err, ddi.StatusNoMemory) && p.refused > 0 {
		p.refused--
		return nil
	}
	if errors.Is(err, ddi.StatusDeviceRemoved) || errors.Is(err, ddi.StatusIODeviceError) {
		return cmp.Or(d.same(d.buffers[0]), err)
	}
	return err
}

// rectOf returns the rectangle of a box.
func rectOf(b d3d11.Box) kmddi.Rect {
	return kmddi.Rect{Left: int32(b.Left), Top: int32(b.Top), Right: int32(b.Right), Bottom: int32(b.Bottom)}
}

// fill fills a box of a texture in the model.
func (x resource) fill(b d3d11.Box, color uint32) {
	for row := int(b.Top); row < int(b.Bottom); row++ {
		for col := int(b.Left); col < int(b.Right); col++ {
			binary.LittleEndian.PutUint32(x.Subs[0][texelBytes*(row*x.Width+col):], color)
		}
	}
}
