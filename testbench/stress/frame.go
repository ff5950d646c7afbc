package stress

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/hilgpu/hilgpu/runtime/d3d11"
)

// maxCalls is the most calls before a flush.
const maxCalls = 5

// random returns n random bytes.
func random(r *rand.Rand, n int) []byte {
	p := make([]byte, n)
	for i := 0; i < n; {
		for v := r.Uint64(); i < n && v != 0; i, v = i+1, v>>8 {
			p[i] = byte(v)
		}
	}
	return p
}

// frame makes random calls, draws and presents. It compares the frame and one resource with
// the model, and returns the frame.
func (d *device) frame(r *rand.Rand) ([]byte, error) {
	for range 1 + r.IntN(maxCalls) {
		d.call(r, d.immediate)
	}
	if err := d.submit(); err != nil {
		return nil, err
	}
	if err := d.kernelDraws(); err != nil {
		return nil, err
	}
	if r.IntN(2) == 0 {
		if err := d.list(r); err != nil {
			return nil, err
		}
	}
	if r.IntN(8) == 0 {
		if err := d.api.SetGPUThreadPriority(r.IntN(15) - 7); err != nil {
			return nil, err
		}
	}
	d.draw(r, d.immediate)
	d.immediate.api.End(d.query)
	if err := d.chain.Present(0, 0); err != nil {
		return nil, err
	}
	return d.compare(r)
}

// compare compares the primary and one resource with the model.
func (d *device) compare(r *rand.Rand) ([]byte, error) {
	if err := polled(func() error { return d.immediate.api.GetData(d.query, nil, 0) }); err != nil {
		return nil, err
	}
	if err := d.sound(); err != nil {
		return nil, err
	}
	primary, err := d.chain.GetPrimary()
	if err != nil {
		return nil, err
	}
	defer primary.Release()
	shown := resource{Resource: d.back.Resource, api: primary}
	if err := d.same(shown); err != nil {
		return nil, fmt.Errorf("the frame: %w", err)
	}
	all := slices.Concat(d.textures, d.buffers)
	return d.back.Subs[0], d.same(all[r.IntN(len(all))])
}

// submit submits the work so far, and work that hangs if one of the submissions since the last time is to be followed by it.
func (d *device) submit() error {
	d.immediate.api.Flush()
	if d.bench.calm || !d.hangs {
		return nil
	}
	d.hangs = false
	return d.hang()
}

// list records a list and executes it.
func (d *device) list(r *rand.Rand) error {
	for range 1 + r.IntN(maxCalls) {
		d.call(r, d.deferred)
	}
	l, err := d.deferred.api.FinishCommandList(false)
	if err != nil {
		return err
	}
	m, _ := d.deferred.Finish(false)
	d.immediate.api.ExecuteCommandList(l, false)
	d.immediate.Execute(m, false)
	l.Release()
	return d.submit()
}

// draw draws textures into the back buffer.
func (d *device) draw(r *rand.Rand, c context) {
	d.clear(r, c, d.back)
	for range 1 + r.IntN(3) {
		d.region(r, c, d.back, d.textures[r.IntN(len(d.textures))])
	}
}

// call makes a random call.
func (d *device) call(r *rand.Rand, c context) {
	all := d.textures
	if r.IntN(2) == 0 {
		all = d.buffers
	}
	dst, src := all[r.IntN(len(all)-1)], all[r.IntN(len(all))] // the last one is dynamic
	switch r.IntN(5) {
	case 0:
		d.update(r, c, dst)
	case 1:
		if dst.Resource != src.Resource {
			c.api.CopyResource(dst.api, src.api)
			c.CopyResource(dst.Resource, src.Resource)
		}
	case 2:
		d.region(r, c, dst, src)
	case 3:
		d.discard(r, c, all[len(all)-1])
	case 4:
		if dst.view != nil {
			d.clear(r, c, dst)
		}
	}
}

// box returns a box in a resource.
func box(r *rand.Rand, x resource) d3d11.Box {
	w, h := 1+r.IntN(x.Width), 1+r.IntN(x.Height)
	left, top := r.IntN(x.Width-w+1), r.IntN(x.Height-h+1)
	return d3d11.Box{Left: uint32(left), Top: uint32(top), Right: uint32(left + w), Bottom: uint32(top + h), Back: 1}
}

func (d *device) update(r *rand.Rand, c context, x resource) {
	b := box(r, x)
	pitch := int(b.Right-b.Left) * x.Bytes
	data := random(r, pitch*int(b.Bottom-b.Top))
	c.api.UpdateSubresource(x.api, 0, &b, data, uint32(pitch), 0)
	c.Update(x.Resource, 0, &b, data, pitch)
}

func (d *device) region(r *rand.Rand, c context, dst, src resource) {
	if dst.Resource == src.Resource {
		return
	}
	b := box(r, src)
	x := r.IntN(dst.Width - int(b.Right-b.Left) + 1)
	y := r.IntN(dst.Height - int(b.Bottom-b.Top) + 1)
	c.api.CopySubresourceRegion(dst.api, 0, uint32(x), uint32(y), 0, src.api, 0, &b)
	c.CopyRegion(dst.Resource, 0, x, y, src.Resource, 0, &b)
}

func (d *device) clear(r *rand.Rand, c context, x resource) {
	var color [4]float32
	for i := range color {
		color[i] = float32(r.IntN(256)) / 255
	}
	c.api.ClearRenderTargetView(x.view, color)
	c.ClearTarget(x.of, color)
}

// discard maps a dynamic resource and writes all of it.
func (d *device) discard(r *rand.Rand, c context, x resource) {
	var m d3d11.MappedSubresource
	if err := c.api.Map(x.api, 0, d3d11.MapWriteDiscard, 0, &m); err != nil {
		return // the device is lost, or memory ran out: the next call that can fail tells
	}
	c.Map(x.Resource, 0, d3d11.MapWriteDiscard, 0)
	row := x.Bytes * x.Width
	data := random(r, row*x.Height)
	for y := range x.Height {
		copy(m.Data[y*int(m.RowPitch):][:row], data[y*row:])
	}
	copy(c.Memory(x.Resource, 0), data)
	c.api.Unmap(x.api, 0)
	c.Unmap(x.Resource, 0)
}
