package breaks

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/hilgpu/hilgpu/runtime/d3d11"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/dxgi"
	"github.com/hilgpu/hilgpu/testbench"
)

// The workloads.
const (
	Start     = "start"     // starts and stops the system
	Draw      = "draw"      // calls each function of an immediate context
	Big       = "big"       // copies between more memory than VRAM has
	Split     = "split"     // the same without memory in other segments, so that DMA buffers are split
	Lists     = "lists"     // records, executes, recycles and abandons command lists
	Abandoned = "abandoned" // records a list for which memory may be missing, and then another one
	Mapped    = "mapped"    // copies between more host memory than the aperture has, several times
	Offers    = "offers"    // gives resources priorities, offers and reclaims them
	Late      = "late"      // gets on after a node was asked to stop
	Preempted = "preempted" // stops a buffer of many packets for one of a higher priority
	Reset     = "reset"     // loses a device to a time-out, while the adapter goes on
	Recover   = "recover"   // loses all devices to a time-out, with a miniport that claims neither preemption nor the reset of a node
)

// boards are the boards of the workloads.
var boards = map[string]string{
	Start: "emu?vram=64KiB", Draw: "emu?vram=64KiB", Offers: "emu?vram=64KiB", Big: "emu?vram=8KiB", Split: "emu?vram=8KiB", Lists: "emu?vram=64KiB",
	Abandoned: "emu?vram=64KiB",
	Mapped:    "emu?vram=64KiB&gart=1",
	Preempted: "emu?preemption=1&contexts=1&vram=256KiB",
	Late:      "emu?vram=64KiB&fault=lost-doorbell&after=12&count=4",
	Reset:     "emu?vram=64KiB&fault=lost-doorbell&after=12&count=9",
	Recover:   "emu?vram=64KiB&fault=lost-doorbell&after=9&count=1",
}

// errWrong is wrapped by the error of a workload whose results are wrong.
var errWrong = errors.New("breaks: wrong result")

// run runs a workload and returns its first error.
func run(s *testbench.System, work string) error {
	switch work {
	case Draw:
		return withDevice(s, (*program).draw)
	case Big, Split:
		return withDevice(s, (*program).big)
	case Mapped:
		return withDevice(s, (*program).mapped)
	case Lists:
		return withDevice(s, (*program).lists)
	case Abandoned:
		return withDevice(s, (*program).abandoned)
	case Offers:
		return withDevice(s, (*program).offers)
	case Preempted:
		return preempted(s)
	case Late:
		return withDevice(s, (*program).flushes)
	case Reset:
		lost := errors.New("")
		err := withDevice(s, func(p *program) error {
			if err := p.flushes(); err == nil {
				return fmt.Errorf("%w: no work was lost", errWrong)
			}
			return lost
		})
		if !errors.Is(err, lost) || s.Err() != nil {
			return err
		}
		return withDevice(s, (*program).draw)
	case Recover:
		recovered := errors.New("")
		err := withDevice(s, func(p *program) error {
			if err := p.draw(); err == nil {
				return fmt.Errorf("%w: no work was lost", errWrong)
			}
			s.WaitForIdle()                            // until the time-out
			return errors.Join(recovered, s.Recover()) // while the device has memory in VRAM
		})
		if !errors.Is(err, recovered) || s.Err() != nil {
			return err
		}
		return withDevice(s, (*program).draw)
	}
	return nil
}

// A program uses a device and releases everything in the end.
type program struct {
	sys *testbench.System
	dev *d3d11.Device
	ctx *d3d11.Context
	end []func()
}

// withDevice runs f with a device, closes the device and waits for the GPU.
func withDevice(s *testbench.System, f func(p *program) error) error {
	dev, ctx, err := s.CreateDevice()
	if err != nil {
		return err
	}
	p := &program{sys: s, dev: dev, ctx: ctx}
	err = f(p)
	for i := len(p.end) - 1; i >= 0; i-- {
		p.end[i]()
	}
	removed := dev.GetDeviceRemovedReason()
	dev.Close()
	return errors.Join(err, removed, s.WaitForIdle())
}

const bytesOf = 256 // of the buffers

func (p *program) buffer(usage d3d11.Usage, bind uint32) (*d3d11.Buffer, error) {
	return p.sized(usage, bind, bytesOf, pattern(bytesOf))
}

func (p *program) sized(usage d3d11.Usage, bind uint32, size uint32, data []byte) (*d3d11.Buffer, error) {
	desc := d3d11.BufferDesc{ByteWidth: size, Usage: usage, BindFlags: bind}
	switch usage {
	case d3d11.UsageStaging:
		desc.CPUAccessFlags = d3d11.CPUAccessRead | d3d11.CPUAccessWrite
	case d3d11.UsageDynamic:
		desc.CPUAccessFlags = d3d11.CPUAccessWrite
	}
	b, err := p.dev.CreateBuffer(desc, &d3d11.SubresourceData{SysMem: data})
	if err == nil {
		p.end = append(p.end, func() { b.Release() })
	}
	return b, err
}

// mapped copies around between staging buffers that do not fit into the aperture of 2 MiB
// together, and checks the result.
func (p *program) mapped() error {
	const size, count = 400 << 10, 8
	small, err := p.buffer(d3d11.UsageStaging, 0)
	if err != nil {
		return err
	}
	for range 4 { // each gets the pages of the one before
		if _, err := p.contents(small); err != nil {
			return err
		}
	}
	var all []*d3d11.Buffer
	data := pattern(size)
	for i := range count {
		b, err := p.sized(d3d11.UsageStaging, 0, size, data)
		if err != nil {
			return err
		}
		all = append(all, b)
		if i == 0 {
			data = make([]byte, size)
		}
	}
	for i := range 2*count - 1 {
		p.ctx.CopyResource(all[(i+1)%count], all[i%count])
	}
	got, err := p.contents(all[count-1])
	if err == nil && !bytes.Equal(got, pattern(size)) {
		err = fmt.Errorf("%w: a copy through the aperture", errWrong)
	}
	return err
}

// pattern returns n bytes that differ.
func pattern(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*7 + i>>8 + 1)
	}
	return b
}

// contents reads a buffer through a staging buffer.
func (p *program) contents(b *d3d11.Buffer) ([]byte, error) {
	to, err := p.sized(d3d11.UsageStaging, 0, b.GetDesc().ByteWidth, make([]byte, b.GetDesc().ByteWidth))
	if err != nil {
		return nil, err
	}
	p.ctx.CopyResource(to, b)
	var m d3d11.MappedSubresource
	for wait := d3d11.MapDoNotWait; ; wait = 0 {
		err := p.ctx.Map(to, 0, d3d11.MapRead, wait, &m)
		if wait != 0 && errors.Is(err, ddi.DXGIStillDrawing) {
			continue
		}
		if err != nil {
			return nil, err
		}
		data := bytes.Clone(m.Data)
		p.ctx.Unmap(to, 0)
		return data, nil
	}
}

// want compares the contents of a buffer.
func (p *program) want(b *d3d11.Buffer, want []byte) error {
	got, err := p.contents(b)
	if err == nil && !bytes.Equal(got[:len(want)], want) {
		err = fmt.Errorf("%w: buffer has % x, want % x", errWrong, got[:16], want[:16])
	}
	return err
}

// errorsOf calls steps until one fails.
func errorsOf(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// draw is the workload Draw.
func (p *program) draw() error {
	return errorsOf(p.maps, p.copies, p.clears, p.state, p.queries, p.presents, p.escape, p.kernelDraws)
}

// write maps a dynamic buffer.
func (p *program) write(ctx *d3d11.Context, b *d3d11.Buffer, typ d3d11.MapType, data []byte) error {
	var m d3d11.MappedSubresource
	if err := ctx.Map(b, 0, typ, 0, &m); err != nil {
		return err
	}
	copy(m.Data, data)
	ctx.Unmap(b, 0)
	return nil
}

// maps maps buffers of each kind.
func (p *program) maps() error {
	for _, bind := range []uint32{d3d11.BindVertexBuffer, d3d11.BindConstantBuffer, d3d11.BindShaderResource} {
		b, err := p.buffer(d3d11.UsageDynamic, bind)
		if err != nil {
			return err
		}
		data := pattern(2 * bytesOf)[bytesOf:]
		if err := p.write(p.ctx, b, d3d11.MapWriteDiscard, data); err != nil {
			return err
		}
		if bind == d3d11.BindVertexBuffer {
			if err := p.write(p.ctx, b, d3d11.MapWriteNoOverwrite, data); err != nil {
				return err
			}
		}
		if err := p.want(b, data); err != nil {
			return err
		}
	}
	return nil
}

// copies copies and updates buffers.
func (p *program) copies() error {
	from, err := p.buffer(d3d11.UsageDefault, d3d11.BindVertexBuffer)
	if err != nil {
		return err
	}
	to, err := p.sized(d3d11.UsageDefault, d3d11.BindVertexBuffer, bytesOf, make([]byte, bytesOf))
	if err != nil {
		return err
	}
	p.ctx.CopyResource(to, from)
	p.ctx.CopySubresourceRegion(to, 0, 64, 0, 0, from, 0, &d3d11.Box{Left: 0, Right: 32, Bottom: 1, Back: 1})
	p.ctx.Flush()
	want := pattern(bytesOf)
	copy(want[64:], want[:32])
	if err := p.want(to, want); err != nil {
		return err
	}
	p.ctx.UpdateSubresource(to, 0, nil, pattern(bytesOf), 0, 0)
	return p.want(to, pattern(bytesOf))
}

// texture creates a render target.
func (p *program) texture(size uint32) (*d3d11.Texture2D, *d3d11.RenderTargetView, error) {
	tex, err := p.dev.CreateTexture2D(d3d11.Texture2DDesc{
		Width: size, Height: size, MipLevels: 1, ArraySize: 1, Format: dxgi.R8G8B8A8UNorm,
		SampleDesc: dxgi.SampleDesc{Count: 1}, BindFlags: d3d11.BindRenderTarget,
	}, nil)
	if err != nil {
		return nil, nil, err
	}
	p.end = append(p.end, func() { tex.Release() })
	view, err := p.dev.CreateRenderTargetView(tex, nil)
	if err == nil {
		p.end = append(p.end, func() { view.Release() })
	}
	return tex, view, err
}

// clears clears a render target.
func (p *program) clears() error {
	_, view, err := p.texture(8)
	if err != nil {
		return err
	}
	p.ctx.ClearRenderTargetView(view, [4]float32{1, 0, 0, 1})
	p.ctx.Flush()
	p.ctx.OMSetRenderTargets([]*d3d11.RenderTargetView{view})
	if _, err := p.dev.CheckFormatSupport(dxgi.R8G8B8A8UNorm); err != nil {
		return err
	}
	_, err = p.dev.CheckMultisampleQualityLevels(dxgi.R8G8B8A8UNorm, 1)
	return err
}

// state binds a buffer to each stage.
func (p *program) state() error {
	vertices, err := p.buffer(d3d11.UsageDefault, d3d11.BindVertexBuffer|d3d11.BindIndexBuffer)
	if err != nil {
		return err
	}
	constants, err := p.buffer(d3d11.UsageDefault, d3d11.BindConstantBuffer)
	if err != nil {
		return err
	}
	bind(p.ctx, vertices, constants)
	p.ctx.ClearState()
	return nil
}

// bind binds buffers to a context.
func bind(c *d3d11.Context, vertices, constants *d3d11.Buffer) {
	c.IASetPrimitiveTopology(4)
	c.IASetVertexBuffers(0, []*d3d11.Buffer{vertices}, []uint32{16}, []uint32{0})
	c.IASetIndexBuffer(vertices, dxgi.R32UInt, 0)
	all := []*d3d11.Buffer{constants}
	c.VSSetConstantBuffers(1, all)
	c.HSSetConstantBuffers(1, all)
	c.DSSetConstantBuffers(1, all)
	c.GSSetConstantBuffers(1, all)
	c.PSSetConstantBuffers(1, all)
	c.CSSetConstantBuffers(1, all)
	c.RSSetViewports([]d3d11.Viewport{{Width: 8, Height: 8, MaxDepth: 1}})
	c.RSSetScissorRects([]d3d11.Rect{{Right: 8, Bottom: 8}})
}

// queries waits for an event.
func (p *program) queries() error {
	q, err := p.dev.CreateQuery(&d3d11.QueryDesc{Query: d3d11.QueryEvent})
	if err != nil {
		return err
	}
	p.end = append(p.end, func() { q.Release() })
	p.ctx.End(q)
	data := make([]byte, 4)
	for range 1 << 12 {
		err = p.ctx.GetData(q, data, 0)
		if err == nil {
			return nil
		}
	}
	return err
}

// presents presents a frame.
func (p *program) presents() error {
	chain, err := p.dev.CreateSwapChain(d3d11.SwapChainDesc{Width: 8, Height: 8, Format: dxgi.R8G8B8A8UNorm, BufferCount: 1})
	if err != nil {
		return err
	}
	p.end = append(p.end, func() { chain.Release() })
	return chain.Present(0, 0)
}

// big is the workload Big: pairs of buffers that fit into VRAM one at a time.
func (p *program) big() error {
	const size = 3 << 10
	var all []*d3d11.Buffer
	for range 6 {
		b, err := p.sized(d3d11.UsageDefault, d3d11.BindVertexBuffer, size, make([]byte, size))
		if err != nil {
			return err
		}
		all = append(all, b)
	}
	p.ctx.UpdateSubresource(all[0], 0, nil, pattern(size), 0, 0)
	for i := range all[1:] {
		p.ctx.CopyResource(all[i+1], all[i])
	}
	p.ctx.Flush()
	return p.want(all[5], pattern(size))
}
