package wave

import (
	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/gpu"
)

// ports are the values at the ports of the GPU in one clock.
type ports struct {
	inputs

	Target    target
	Initiator initiator
}

// inputs are what the GPU sees.
type inputs struct {
	req       port.Request
	beat      port.Beat
	cplReady  bool
	cpl       port.Completion
	reqReady  bool
	dataReady bool
}

// target is what the GPU drives at its target port.
type target struct {
	cpl       port.Completion
	reqReady  bool
	dataReady bool
}

// initiator is what the GPU drives at its initiator port.
type initiator struct {
	req  port.Request
	beat port.Beat
}

// look takes what g drives.
func (t *target) look(g *gpu.GPU) { t.cpl, t.reqReady, t.dataReady = g.Target() }

// look takes what g drives.
func (i *initiator) look(g *gpu.GPU) { i.req, i.beat = g.Initiator() }
