package kmcheck

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

// timeout reports that a node has timed out.
func (r *rig) timeout(reason uint32) {
	r.funcs.CollectDbgInfo(r.th, r.adapter, kmddi.CollectDbgInfo{Reason: reason})
}

// calls makes a function of the driver run code.
func (r *rig) calls(code func(t *ddi.Thread)) {
	r.on["QueryAdapterInfo"] = code
	r.funcs.QueryAdapterInfo(r.th, r.adapter, kmddi.QueryAdapterInfo{})
}

// rings makes the driver write a register.
func (r *rig) rings() {
	r.calls(func(t *ddi.Thread) { r.cb.WriteRegister(t, r.h, kmddi.HMapping{}, 0, 1) })
}

// maps makes the driver map registers, for which the kernel returns a status.
func (r *rig) maps(s ddi.Status) {
	r.status["MapMemory"] = s
	r.begin()
	r.calls(func(t *ddi.Thread) { r.cb.MapMemory(t, r.h, 0, 0, 4) })
}

func ignoredCases() []ruleCase {
	return []ruleCase{
		{rule: "submit-ignored", breaks: func(r *rig) {
			r.begin()
			r.rings()
			r.submit(1, 7, 4)
			r.timeout(engineTimeout)
		}, keeps: func(r *rig) {
			r.begin()
			r.timeout(engineTimeout) // nothing was submitted
			r.submit(1, 9, 0)        // empty
			r.timeout(engineTimeout)
			r.submit(0, 7, 4)
			r.timeout(0x117) // the adapter, not a node
			r.rings()
			r.timeout(engineTimeout)
			r.submit(2, 11, 4)
			r.interrupt(func(t *ddi.Thread) {
				r.cb.NotifyInterrupt(t, r.h, kmddi.NotifyInterrupt{InterruptType: kmddi.InterruptDMAFaulted, NodeOrdinal: 2, FenceID: 11})
				r.cb.QueueDpc(t, r.h)
			})
			r.timeout(engineTimeout) // it was reported
		}},
		{rule: "callback-argument", breaks: func(r *rig) { r.maps(ddi.StatusInvalidHandle) },
			keeps: func(r *rig) { r.maps(ddi.StatusInvalidParameter) }}, // a range that may not exist
	}
}

// If several nodes got no submission, the lowest is reported.
func TestIgnoredNodeIsTheLowest(t *testing.T) {
	r := newRig(t)
	r.begin()
	for node := uint32(9); node > 0; node-- {
		r.submit(node, 7, 4)
	}
	r.timeout(engineTimeout)
	require.Len(t, r.m.Violations(), 1)
	assert.Contains(t, r.m.Violations()[0].Text, "node 1: fence 7 timed out")
}
