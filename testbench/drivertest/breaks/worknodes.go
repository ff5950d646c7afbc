package breaks

import (
	"errors"
	"fmt"

	"github.com/hilgpu/hilgpu/hostdriver/privdata"
	"github.com/hilgpu/hilgpu/runtime/d3d11"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/testbench"
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

// preempted submits many short copies in one buffer, and then work of another device with a higher priority.
func preempted(s *testbench.System) error {
	const size, copies = 4 << 10, 40
	return withDevice(s, func(low *program) error {
		data := pattern(size)
		from, err := low.sized(d3d11.UsageDefault, d3d11.BindVertexBuffer, size, data)
		if err != nil {
			return err
		}
		to, err := low.sized(d3d11.UsageDefault, d3d11.BindVertexBuffer, size, make([]byte, size))
		if err != nil {
			return err
		}
		if err := low.want(from, data); err != nil { // both are in VRAM
			return err
		}
		err = withDevice(s, func(high *program) error {
			if err := errors.Join(high.dev.SetGPUThreadPriority(7), high.flushes()); err != nil {
				return err
			}
			for range copies {
				low.ctx.CopyResource(to, from)
			}
			low.ctx.Flush()
			return high.flushes()
		})
		return errors.Join(err, low.want(to, data))
	})
}

// offers offers a buffer that has content, and reclaims it.
func (p *program) offers() error {
	b, err := p.buffer(d3d11.UsageDefault, d3d11.BindVertexBuffer)
	if err != nil {
		return err
	}
	lost := make([]bool, 1)
	err = errors.Join(b.SetEvictionPriority(d3d11.ResourcePriorityHigh), p.dev.OfferResources([]d3d11.Resource{b}, d3d11.OfferPriorityLow),
		p.dev.ReclaimResources([]d3d11.Resource{b}, lost))
	if err == nil && lost[0] {
		return fmt.Errorf("%w: content is discarded while there is memory", errWrong)
	}
	return err
}
