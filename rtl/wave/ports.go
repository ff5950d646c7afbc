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

// inputs are the inputs of the GPU.
type inputs struct {
	req       port.Request
	beat      port.Beat
	cplReady  bool
	cpl       port.Completion
	reqReady  bool
	dataReady bool
}

// target is the output of the GPU's target port.
type target struct {
	cpl       port.Completion
	reqReady  bool
	dataReady bool
}

// initiator is the output of the GPU's initiator port.
type initiator struct {
	req  port.Request
	beat port.Beat
}

// sample samples the target port of g.
func (t *target) sample(g *gpu.GPU) { t.cpl, t.reqReady, t.dataReady = g.Target() }

// sample samples the initiator port of g.
func (i *initiator) sample(g *gpu.GPU) { i.req, i.beat = g.Initiator() }
