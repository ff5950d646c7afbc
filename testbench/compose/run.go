package compose

import (
	"errors"
	"fmt"
	"image"
	"slices"
	"sync"

	"github.com/hilgpu/hilgpu/runtime/d3d11"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/dxgi"
)

// A System creates devices and returns why the GPU stopped.
type System interface {
	CreateDevice() (*d3d11.Device, *d3d11.Context, error)

	// Err returns nil while the GPU works.
	Err() error
}

// run is one composition in progress.
type run struct {
	plan  *Plan
	dev   *d3d11.Device
	ctx   *d3d11.Context
	chain *d3d11.SwapChain
	tex   []*d3d11.Texture2D // a texture for each source

	releases []func()
}

// Run composes the plan on sys, presents the frame and returns what the primary then
// holds. An error of the device, also while it is closed, is the one of sys.Err; an image too large for the GPU's memory is an
// error that wraps ErrInput. When a Bugcheck or a Violation unwinds, Run makes no
// further call to the device, because the driver is still inside one.
func Run(sys System, p *Plan) (*image.NRGBA, error) {
	dev, ctx, err := sys.CreateDevice()
	if err != nil {
		return nil, stopped(sys, err)
	}
	r := &run{plan: p, dev: dev, ctx: ctx}
	frame, err := r.compose()
	for _, release := range slices.Backward(r.releases) {
		release()
	}
	dev.Close()
	if err := stopped(sys, err); err != nil {
		return nil, err
	}
	return frame, nil
}

// compose performs the steps of Run.
func (r *run) compose() (*image.NRGBA, error) {
	for _, step := range []func() error{r.target, r.upload, r.draw} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return r.readBack()
}

// atEnd registers a function that Run calls when it ends.
func (r *run) atEnd(release func()) { r.releases = append(r.releases, release) }

// stopped returns the reason why the GPU stopped if it has, and err otherwise.
func stopped(sys System, err error) error {
	if cause := sys.Err(); cause != nil {
		return cause
	}
	return err
}

// desc describes an RGBA texture with one subresource.
func desc(size image.Point, usage d3d11.Usage, bind, cpu uint32) d3d11.Texture2DDesc {
	return d3d11.Texture2DDesc{
		Width: uint32(size.X), Height: uint32(size.Y), MipLevels: 1, ArraySize: 1, Format: dxgi.R8G8B8A8UNorm,
		SampleDesc: dxgi.SampleDesc{Count: 1}, Usage: usage, BindFlags: bind, CPUAccessFlags: cpu,
	}
}

// memory returns the error of a failed creation; if memory ran out, it includes the
// size that was needed.
func memory(what string, size image.Point, err error) error {
	if errors.Is(err, ddi.EOutOfMemory) {
		return fmt.Errorf("%w: %s: %d x %d pixels need %d bytes, more than the GPU's memory",
			ErrInput, what, size.X, size.Y, 4*size.X*size.Y)
	}
	return fmt.Errorf("compose: %s: %w", what, err)
}

func (r *run) target() error {
	var err error
	size := image.Pt(r.plan.Width, r.plan.Height)
	r.chain, err = r.dev.CreateSwapChain(d3d11.SwapChainDesc{
		Width: uint32(size.X), Height: uint32(size.Y), Format: dxgi.R8G8B8A8UNorm, BufferCount: 1,
	})
	if err != nil {
		return memory("frame", size, err)
	}
	return nil
}

// upload creates a texture of each source: even ones through a staging texture, odd
// ones through a dynamic one.
func (r *run) upload() error {
	for i, s := range r.plan.Sources {
		size := s.Image.Rect.Size()
		tex, err := r.dev.CreateTexture2D(desc(size, d3d11.UsageDefault, d3d11.BindShaderResource, 0), nil)
		if err != nil {
			return memory(s.Name, size, err)
		}
		r.tex = append(r.tex, tex)
		d, how := desc(size, d3d11.UsageStaging, 0, d3d11.CPUAccessWrite), d3d11.MapWrite
		if i%2 == 1 {
			d, how = desc(size, d3d11.UsageDynamic, d3d11.BindShaderResource, d3d11.CPUAccessWrite), d3d11.MapWriteDiscard
		}
		from, err := r.dev.CreateTexture2D(d, nil)
		if err != nil {
			return memory(s.Name, size, err)
		}
		if err := r.write(from, how, s.Image); err != nil {
			return fmt.Errorf("compose: %s: %w", s.Name, err)
		}
		r.ctx.CopyResource(tex, from)
		from.Release()
		r.think()
	}
	return nil
}

// write fills a mappable texture.
func (r *run) write(tex *d3d11.Texture2D, how d3d11.MapType, img *image.NRGBA) error {
	var m d3d11.MappedSubresource
	if err := r.ctx.Map(tex, 0, how, 0, &m); err != nil {
		return err
	}
	for y := range img.Rect.Dy() {
		copy(m.Data[y*int(m.RowPitch):], img.Pix[y*img.Stride:][:4*img.Rect.Dx()])
	}
	r.ctx.Unmap(tex, 0)
	return nil
}

// draw records each list in its own goroutine, executes the lists in order and
// presents.
func (r *run) draw() error {
	back, err := r.chain.GetBuffer(0)
	if err != nil {
		return err
	}
	r.atEnd(func() { back.Release() })
	view, err := r.dev.CreateRenderTargetView(back, nil)
	if err != nil {
		return err
	}
	r.atEnd(func() { view.Release() })
	lists := make([]*d3d11.CommandList, len(r.plan.lists))
	errs := make([]error, len(r.plan.lists))
	var contexts []*d3d11.Context
	for range r.plan.lists {
		dc, err := r.dev.CreateDeferredContext(0)
		if err != nil {
			return err
		}
		r.atEnd(func() { dc.Release() })
		contexts = append(contexts, dc)
	}
	var wg sync.WaitGroup
	broken := make([]any, len(contexts)) // panics of broken contracts, which Run's caller gets
	for i, dc := range contexts {
		wg.Go(func() {
			defer func() { broken[i] = recover() }()
			lists[i], errs[i] = r.record(i, dc, back, view)
		})
	}
	wg.Wait()
	for _, b := range broken {
		if b != nil {
			panic(b)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	for _, l := range lists {
		r.ctx.ExecuteCommandList(l, false)
		l.Release()
		r.think()
	}
	return r.chain.Present(0, 0)
}

// think gives the GPU the work so far and calls Options.Think.
func (r *run) think() {
	if r.plan.Think != nil {
		r.ctx.Flush()
		r.plan.Think()
	}
}

// record records list i. List 0 clears the frame first.
func (r *run) record(i int, dc *d3d11.Context, back *d3d11.Texture2D, view *d3d11.RenderTargetView) (*d3d11.CommandList, error) {
	if i == 0 {
		c := r.plan.background
		dc.ClearRenderTargetView(view, [4]float32{
			float32(c.R) / 255, float32(c.G) / 255, float32(c.B) / 255, float32(c.A) / 255,
		})
	}
	for _, pl := range r.plan.lists[i] {
		dc.CopySubresourceRegion(back, 0, uint32(pl.at.X), uint32(pl.at.Y), 0, r.tex[pl.source], 0, &d3d11.Box{
			Left: uint32(pl.part.Min.X), Top: uint32(pl.part.Min.Y), Right: uint32(pl.part.Max.X), Bottom: uint32(pl.part.Max.Y), Back: 1,
		})
	}
	return dc.FinishCommandList(false)
}

// readBack copies the primary, which holds the presented frame, to a staging texture
// and reads that.
func (r *run) readBack() (*image.NRGBA, error) {
	size := image.Pt(r.plan.Width, r.plan.Height)
	primary, err := r.chain.GetPrimary()
	if err != nil {
		return nil, err
	}
	r.atEnd(func() { primary.Release() })
	to, err := r.dev.CreateTexture2D(desc(size, d3d11.UsageStaging, 0, d3d11.CPUAccessRead), nil)
	if err != nil {
		return nil, memory("frame", size, err)
	}
	r.atEnd(func() { to.Release() })
	r.ctx.CopyResource(to, primary)
	var m d3d11.MappedSubresource
	if err := r.ctx.Map(to, 0, d3d11.MapRead, 0, &m); err != nil {
		return nil, err
	}
	img := image.NewNRGBA(image.Rect(0, 0, size.X, size.Y))
	for y := range size.Y {
		copy(img.Pix[y*img.Stride:][:4*size.X], m.Data[y*int(m.RowPitch):])
	}
	r.ctx.Unmap(to, 0)
	return img, nil
}
