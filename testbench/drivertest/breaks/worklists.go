package breaks

import (
	"errors"
	"fmt"

	"github.com/hilgpu/hilgpu/runtime/d3d11"
	"github.com/hilgpu/hilgpu/runtime/ddi"
)

// lists is the workload Lists. It records with two deferred contexts, in turn on
// one goroutine, so that each run makes the same calls.
func (p *program) lists() error {
	r, err := p.recorder()
	if err != nil {
		return err
	}
	second, err := p.dev.CreateDeferredContext(0)
	if err != nil {
		return err
	}
	p.end = append(p.end, func() { second.Release() })
	for range 3 {
		for _, dc := range []*d3d11.Context{r.dc, second} {
			if err := r.round(p, dc); err != nil {
				return err
			}
		}
	}
	// Releasing a context with a recording abandons it.
	bind(r.dc, r.vertices, r.constants)
	r.dc.CopyResource(r.to, r.vertices)
	return p.want(r.to, pattern(bytesOf))
}

// A recorder is a deferred context and its objects.
type recorder struct {
	dc                                   *d3d11.Context
	vertices, constants, dynamic, to, up *d3d11.Buffer
	view                                 *d3d11.RenderTargetView
	query                                *d3d11.Query
}

// recorder creates a recorder.
func (p *program) recorder() (*recorder, error) {
	r := new(recorder)
	err := errorsOf(
		func() (err error) {
			r.vertices, err = p.buffer(d3d11.UsageDefault, d3d11.BindVertexBuffer|d3d11.BindIndexBuffer)
			return err
		},
		func() (err error) {
			r.constants, err = p.buffer(d3d11.UsageDefault, d3d11.BindConstantBuffer)
			return err
		},
		func() (err error) {
			r.dynamic, err = p.buffer(d3d11.UsageDynamic, d3d11.BindVertexBuffer)
			return err
		},
		func() (err error) { r.to, err = p.buffer(d3d11.UsageDefault, d3d11.BindVertexBuffer); return err },
		func() (err error) { r.up, err = p.buffer(d3d11.UsageDefault, d3d11.BindVertexBuffer); return err },
		func() (err error) { _, r.view, err = p.texture(8); return err },
		func() (err error) {
			r.query, err = p.dev.CreateQuery(&d3d11.QueryDesc{Query: d3d11.QueryEvent})
			return err
		},
		func() (err error) { r.dc, err = p.dev.CreateDeferredContext(0); return err },
	)
	if err != nil {
		return nil, err
	}
	p.end = append(p.end, func() { r.query.Release() }, func() { r.dc.Release() })
	return r, nil
}

// round records a list with each kind of command, executes it from another list and
// on its own, and releases both.
func (r *recorder) round(p *program, dc *d3d11.Context) error {
	bind(dc, r.vertices, r.constants)
	dc.OMSetRenderTargets([]*d3d11.RenderTargetView{r.view})
	dc.ClearRenderTargetView(r.view, [4]float32{0, 1, 0, 1})
	if err := p.write(dc, r.dynamic, d3d11.MapWriteDiscard, pattern(bytesOf)); err != nil {
		return err
	}
	dc.CopyResource(r.to, r.dynamic)
	dc.CopySubresourceRegion(r.to, 0, 16, 0, 0, r.vertices, 0, &d3d11.Box{Left: 16, Right: 48, Bottom: 1, Back: 1})
	dc.UpdateSubresource(r.up, 0, nil, pattern(bytesOf), 0, 0)
	dc.End(r.query)
	inner, err := dc.FinishCommandList(true)
	if err != nil {
		return err
	}
	dc.ExecuteCommandList(inner, false)
	dc.CopyResource(r.up, r.to)
	outer, err := dc.FinishCommandList(false)
	if err != nil {
		return errors.Join(err, fmt.Errorf("references left: %d", inner.Release()))
	}
	p.ctx.ExecuteCommandList(outer, false)
	if err := p.write(p.ctx, r.dynamic, d3d11.MapWriteDiscard, pattern(2 * bytesOf)[bytesOf:]); err != nil {
		return errors.Join(err, fmt.Errorf("references left: %d", outer.Release()+inner.Release()))
	}
	p.ctx.ExecuteCommandList(inner, true)
	p.ctx.Flush()
	outer.Release()
	inner.Release()
	if _, err := p.contents(r.to); err != nil {
		return err
	}
	return p.want(r.up, pattern(bytesOf))
}

// abandoned is the workload Abandoned. The first list is never executed, whether it was finished or
// not. The second one copies the resource that the first one updates.
func (p *program) abandoned() error {
	r, err := p.recorder()
	if err != nil {
		return err
	}
	r.dc.UpdateSubresource(r.up, 0, nil, pattern(2 * bytesOf)[bytesOf:], 0, 0)
	first, err := r.dc.FinishCommandList(false)
	switch {
	case err == nil:
		first.Release()
	case !errors.Is(err, ddi.EOutOfMemory):
		return err
	}
	r.dc.CopyResource(r.to, r.up)
	second, err := r.dc.FinishCommandList(false)
	if err != nil {
		return err
	}
	p.ctx.ExecuteCommandList(second, false)
	second.Release()
	return p.want(r.to, pattern(bytesOf))
}
