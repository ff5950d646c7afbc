package stress

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/hilgpu/hilgpu/runtime/d3d11"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/dxgi"
	"github.com/hilgpu/hilgpu/testbench"
	"github.com/hilgpu/hilgpu/testbench/model"
)

// Families of the model.
const rgba8 model.Family = 1

// texelBytes is the size of a texel of R8G8B8A8_UNORM.
const texelBytes = 4

// A device is a Direct3D device of a process with its model.
type device struct {
	bench   *bench
	api     *d3d11.Device
	spread  *spreader // between the API and the kernel
	process *testbench.Process

	immediate, deferred context
	textures, buffers   []resource
	readTexture         *d3d11.Texture2D // to read a texture
	readBuffer          *d3d11.Buffer    // to read a buffer
	chain               *d3d11.SwapChain
	back                resource
	query               *d3d11.Query

	resets   int            // of the adapter, when it was opened
	spoiled  []*spoiled     // submissions with a fault of their own
	bad      map[place]bool // of each submission: it got a packet that does not exist
	hangs    bool           // it is to submit work that hangs
	hanging  bool           // what it submits hangs
	kinds    []Fault        // of its submissions that end in the loss of the device
	offended int            // round of the first of them; 0: none
	cancels  []func()       // take back faults that have not hit yet
}

// A context is one of the API with its model.
type context struct {
	*model.Context
	api *d3d11.Context
}

// A resource is one of the API with its model.
type resource struct {
	*model.Resource
	api  d3d11.Resource
	view *d3d11.RenderTargetView // or nil
	of   *model.View

	allocation ddi.KMHandle // of a texture
}

// hang is the kind of a submission that the process itself makes too long.
const hang Fault = "hang"

// offend notes a fault of a submission that ends in the loss of the device.
func (d *device) offend(f Fault) {
	if d.kinds = append(d.kinds, f); d.offended == 0 {
		d.offended = d.bench.round
	}
}

// sound returns an error if the runtime has told that it dropped a call, or anything else.
func (d *device) sound() error {
	q := d.api.InfoQueue()
	if q.NumStoredMessages() == 0 {
		return nil
	}
	m, err := q.GetMessage(0)
	if err != nil {
		return err
	}
	return fmt.Errorf("%w: %s", errTold, m.Description)
}

// errTold is wrapped by the error of a device whose runtime has told something.
var errTold = errors.New("a message of the runtime")

// open opens the device and creates its resources.
func (d *device) open(p *testbench.Process, r *rand.Rand) (err error) {
	var ctx *d3d11.Context
	d.process = p
	if d.api, ctx, err = p.CreateDeviceOn(d.spread.thunks()); err != nil {
		return err
	}
	m := new(model.Device)
	d.immediate = context{m.Immediate(), ctx}
	dc, err := d.api.CreateDeferredContext(0)
	if err != nil {
		return err
	}
	d.deferred = context{m.NewDeferred(), dc}
	if d.query, err = d.api.CreateQuery(&d3d11.QueryDesc{}); err != nil {
		return err
	}
	if err = d.api.SetGPUThreadPriority(r.IntN(15) - 7); err != nil {
		return err
	}
	return d.create(r)
}

// create creates the resources: textures and buffers, of which the last one is dynamic, and a
// swap chain, whose two textures count.
func (d *device) create(r *rand.Rand) error {
	piece, each := d.bench.piece, (d.bench.pieces-2)/2
	shape := model.Shape{Family: rgba8, Bytes: texelBytes, Width: 16, Mips: 1, Layers: 1}
	for shape.Width < 1024 && shape.Width*shape.Width*texelBytes < piece {
		shape.Width *= 2
	}
	shape.Height = max(1, piece/(texelBytes*shape.Width))
	for i := range each {
		u := d3d11.UsageDefault
		if i == each-1 {
			u = d3d11.UsageDynamic
		}
		if err := d.texture(r, shape, u); err != nil {
			return err
		}
		if err := d.buffer(r, piece&^15, u); err != nil {
			return err
		}
	}
	if err := d.present(shape); err != nil {
		return err
	}
	d.upload()
	return nil
}

// describe describes a texture of the API.
func describe(s model.Shape, u d3d11.Usage, bind, access uint32) d3d11.Texture2DDesc {
	return d3d11.Texture2DDesc{
		Width: uint32(s.Width), Height: uint32(s.Height), MipLevels: 1, ArraySize: 1, Format: dxgi.R8G8B8A8UNorm,
		SampleDesc: dxgi.SampleDesc{Count: 1}, Usage: u, BindFlags: bind, CPUAccessFlags: access,
	}
}

// access returns the CPU access of a usage.
func access(u d3d11.Usage) uint32 {
	if u == d3d11.UsageDynamic {
		return d3d11.CPUAccessWrite
	}
	return 0
}

func (d *device) texture(r *rand.Rand, s model.Shape, u d3d11.Usage) error {
	x := resource{Resource: &model.Resource{Shape: s, Usage: u, Bind: d3d11.BindShaderResource, Access: access(u)}}
	if u == d3d11.UsageDefault {
		x.Bind |= d3d11.BindRenderTarget
	}
	x.Fill(func(n int) []byte { return random(r, n) })
	tex, err := d.api.CreateTexture2D(describe(s, u, x.Bind, x.Access), []d3d11.SubresourceData{{SysMem: x.Subs[0], SysMemPitch: uint32(texelBytes * s.Width)}})
	if err != nil {
		return err
	}
	x.api, x.allocation = tex, d.spread.made
	if u == d3d11.UsageDefault {
		if err := d.target(&x, tex); err != nil {
			return err
		}
	}
	d.textures = append(d.textures, x)
	return nil
}

// target creates a render-target view of a texture.
func (d *device) target(x *resource, tex *d3d11.Texture2D) (err error) {
	x.of = &model.View{Of: x.Resource, Slices: 1, Refs: 1, Element: func(c [4]float32) []byte {
		b := make([]byte, texelBytes)
		for i := range b {
			b[i] = uint8(c[i]*255 + 0.5)
		}
		return b
	}}
	x.view, err = d.api.CreateRenderTargetView(tex, nil)
	return err
}

func (d *device) buffer(r *rand.Rand, n int, u d3d11.Usage) error {
	x := resource{Resource: &model.Resource{
		Shape: model.Shape{Bytes: 1, Width: n, Height: 1, Mips: 1, Layers: 1}, Usage: u, Bind: d3d11.BindVertexBuffer, Access: access(u),
	}}
	x.Fill(func(n int) []byte { return random(r, n) })
	buf, err := d.api.CreateBuffer(d3d11.BufferDesc{
		ByteWidth: uint32(n), Usage: u, BindFlags: x.Bind, CPUAccessFlags: x.Access,
	}, &d3d11.SubresourceData{SysMem: x.Subs[0]})
	if err != nil {
		return err
	}
	x.api = buf
	d.buffers = append(d.buffers, x)
	return nil
}

// present creates the swap chain and what reads from the GPU.
func (d *device) present(s model.Shape) (err error) {
	if d.chain, err = d.api.CreateSwapChain(d3d11.SwapChainDesc{
		Width: uint32(s.Width), Height: uint32(s.Height), Format: dxgi.R8G8B8A8UNorm, BufferCount: 1,
	}); err != nil {
		return err
	}
	back, err := d.chain.GetBuffer(0)
	if err != nil {
		return err
	}
	d.back = resource{Resource: &model.Resource{Shape: s, Bind: d3d11.BindRenderTarget}, api: back}
	d.back.Fill(func(n int) []byte { return make([]byte, n) })
	if err = d.target(&d.back, back); err != nil {
		return err
	}
	if d.readTexture, err = d.api.CreateTexture2D(describe(s, d3d11.UsageStaging, 0, d3d11.CPUAccessRead), nil); err != nil {
		return err
	}
	d.readBuffer, err = d.api.CreateBuffer(d3d11.BufferDesc{
		ByteWidth: uint32(d.buffers[0].Width), Usage: d3d11.UsageStaging, CPUAccessFlags: d3d11.CPUAccessRead,
	}, nil)
	return err
}

// close closes the device, which may be open in part.
func (d *device) close() {
	for _, cancel := range d.cancels {
		cancel()
	}
	if d.api != nil {
		d.api.Close()
	}
}

// same compares a resource with its model.
func (d *device) same(x resource) error {
	if x.Family == 0 {
		d.immediate.api.CopyResource(d.readBuffer, x.api)
		return d.mapped(d.readBuffer, x, "a buffer")
	}
	d.immediate.api.CopyResource(d.readTexture, x.api)
	return d.mapped(d.readTexture, x, "a texture")
}

// mapped compares what the GPU has copied for the CPU with the model.
func (d *device) mapped(from d3d11.Resource, x resource, what string) error {
	var m d3d11.MappedSubresource
	if err := d.immediate.api.Map(from, 0, d3d11.MapRead, 0, &m); err != nil {
		return err
	}
	defer d.immediate.api.Unmap(from, 0)
	if err := d.sound(); err != nil {
		return err // the copy may have been dropped
	}
	row := x.Bytes * x.Width
	for y := range x.Height {
		want, got := x.Subs[0][y*row:][:row], m.Data[y*int(m.RowPitch):][:row]
		if !bytes.Equal(want, got) {
			i := 0
			for want[i] == got[i] {
				i++
			}
			return fmt.Errorf("%w: byte %d of row %d of %s is %#02x, want %#02x as in the model", errDiffers, i, y, what, got[i], want[i])
		}
	}
	d.bench.totals.Checked += uint64(row * x.Height)
	return nil
}

// errDiffers is wrapped by the error of contents that differ from the model. No loss of the
// device explains it.
var errDiffers = errors.New("wrong contents")

// polled calls f until it is done, which takes the GPU some time each.
func polled(f func() error) error {
	for range 10_000_000 {
		if err := f(); !errors.Is(err, ddi.False) {
			return err
		}
	}
	return errors.New("a query is never done")
}
