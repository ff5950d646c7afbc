package breaks

import (
	"errors"

	"github.com/hilgpu/hilgpu/hostdriver/privdata"
	"github.com/hilgpu/hilgpu/runtime/d3d11"
	"github.com/hilgpu/hilgpu/runtime/ddi"
)

// flushes submits more copies than the hardware takes at a time.
func (p *program) flushes() error {
	from, err := p.buffer(d3d11.UsageDefault, d3d11.BindVertexBuffer)
	if err != nil {
		return err
	}
	to, err := p.buffer(d3d11.UsageDefault, d3d11.BindVertexBuffer)
	if err != nil {
		return err
	}
	for range 30 {
		p.ctx.CopyResource(to, from)
		p.ctx.Flush()
	}
	return p.want(to, pattern(bytesOf))
}

// escape asks the miniport for the state of a node, if it has DxgkDdiEscape.
func (p *program) escape() error {
	err := p.sys.Escape(privdata.Escape{Op: privdata.ReadNode}.Append(nil))
	if errors.Is(err, ddi.StatusNotSupported) {
		return nil
	}
	return err
}
