package dxgkrnl

import (
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

// resetEngine drops the jobs of a node.
func (m *miniport) resetEngine(t *ddi.Thread, _ kmddi.HAdapter, arg kmddi.ResetEngine) (kmddi.ResetEngineOut, ddi.Status) {
	n := arg.NodeOrdinal
	s := m.call(t, 0, "ResetEngine node=%d", n)
	if m.engine != nil {
		if last, s, done := m.engine(t, n); done {
			return kmddi.ResetEngineOut{LastAbortedFenceID: last}, s
		}
	}
	m.cb.SynchronizeExecution(t, m.cb.DeviceHandle, 0, func(t *ddi.Thread) bool {
		m.advance(t, n)
		return true
	})
	m.last[n] = le.Uint32(m.gpu.bar0[regFence+4*n:])
	if q := m.gpu.queues[n]; len(q) > 0 {
		m.last[n] = q[0].fence
	}
	m.gpu.queues[n], m.stopping[n] = nil, 0
	le.PutUint32(m.gpu.bar0[regFence+4*n:], m.last[n])
	for _, reg := range []int{regStatus, regStopped} {
		le.PutUint32(m.gpu.bar0[reg:], le.Uint32(m.gpu.bar0[reg:])&^(1<<n))
	}
	if le.Uint32(m.gpu.bar0[regFault:]) == n+1 {
		le.PutUint32(m.gpu.bar0[regFault:], 0)
	}
	return kmddi.ResetEngineOut{LastAbortedFenceID: m.last[n]}, s
}
