package kmcheck

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
	"github.com/hilgpu/hilgpu/runtime/verifier"
)

// hz is the clock of the rig: 100 clocks are a microsecond.
const hz = 100_000_000

// takes makes each register access take clocks.
func (r *rig) takes(clocks uint64) {
	r.during["ReadRegister"] = func(*ddi.Thread) { r.clock += clocks }
}

// reads reads a register n times.
func (r *rig) reads(t *ddi.Thread, n int) {
	for range n {
		r.read(t, 0)
	}
}

func budgetCases() []ruleCase {
	submits := func(r *rig, n int) {
		r.takes(50)
		r.on["SubmitCommand"] = func(t *ddi.Thread) { r.reads(t, n) }
		r.begin()
		r.submit(0, 1, 4)
	}
	return []ruleCase{
		{rule: "call-budget", breaks: func(r *rig) {
			r.takes(50)
			r.begin()
			r.interrupt(func(t *ddi.Thread) { r.reads(t, 51) })
		}, keeps: func(r *rig) {
			r.takes(50)
			r.begin()
			r.interrupt(func(t *ddi.Thread) { r.reads(t, 50) })
			r.interrupt(func(t *ddi.Thread) { r.reads(t, 50) }) // each call has its own budget
		}},
		{rule: "call-budget", breaks: func(r *rig) { submits(r, 201) }, keeps: func(r *rig) { submits(r, 200) }},
		{rule: "call-budget", breaks: func(r *rig) { // a loop that waits for ever
			r.begin()
			r.query(func(t *ddi.Thread) { r.reads(t, maxAccesses+1) })
		}, keeps: func(r *rig) {
			r.begin()
			r.query(func(t *ddi.Thread) { r.reads(t, maxAccesses) })
		}},
		{rule: "call-budget", breaks: func(r *rig) { // the function of SynchronizeExecution counts too
			r.takes(100)
			r.begin()
			r.dpc(func(t *ddi.Thread) {
				for range 5 {
					r.cb.SynchronizeExecution(t, r.h, 0, func(t *ddi.Thread) bool { r.reads(t, 21); return true })
				}
			})
		}, keeps: func(r *rig) {
			r.takes(100)
			r.begin()
			r.dpc(func(t *ddi.Thread) {
				for range 4 {
					r.cb.SynchronizeExecution(t, r.h, 0, func(t *ddi.Thread) bool { r.reads(t, 25); return true })
				}
			})
		}},
		{rule: "call-budget", breaks: func(r *rig) { // it has a budget of its own
			r.takes(100)
			r.begin()
			r.synchronized(func(t *ddi.Thread) { r.reads(t, 200) })
		}, keeps: func(r *rig) { r.takes(100); r.begin(); r.synchronized(func(t *ddi.Thread) { r.reads(t, 25) }) }},
		{rule: "call-budget", breaks: func(r *rig) { submits(r, 201) }, keeps: func(r *rig) { // a slow link is not the driver's fault
			r.takes(1_000_000)
			r.begin()
			r.interrupt(func(t *ddi.Thread) { r.reads(t, 25) })
		}},
	}
}

// A loop without end is stopped at a callback: the call unwinds.
func TestEndlessLoopIsStopped(t *testing.T) {
	m, err := verifier.NewMonitor(verifier.Options{})
	require.NoError(t, err)
	r := newRig(t)
	r.m, r.k = m, New(m, r.options())
	r.funcs = verifier.WrapKernelMode(r.table, m, verifier.Hooks(m, r.k))()
	r.on["StartDevice"] = func(t *ddi.Thread) {
		for {
			r.cb.ReadRegister(t, r.h, kmddi.HMapping{}, 0)
		}
	}
	assert.ErrorContains(t, m.Guard(r.th, func() error { r.begin(); return nil }), "call-budget")
	require.NotNil(t, m.Err())
	assert.Equal(t, "call-budget", m.Err().Rule.Name)
	assert.Equal(t, "DxgkDdiStartDevice", m.Err().Function)
}
