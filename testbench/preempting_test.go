package testbench

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
	"github.com/hilgpu/hilgpu/testbench/events/eventstest"
)

// preempting is a miniport that goes through the stages of a time-out as Windows does: it asks
// node 0 to stop at a packet before it resets anything.
type preempting struct {
	stages []string
	cb     *kmddi.DxgkrnlInterface
	asked  uint32
}

// preemptPolls bounds the wait for a node to stop.
const preemptPolls = 1000

func (p *preempting) drivers() Drivers {
	return withKernel(func(d *kmddi.DriverInitializationData) {
		start, reset := d.StartDevice, d.ResetFromTimeout
		d.StartDevice = func(t *ddi.Thread, h kmddi.HAdapter, info kmddi.StartInfo, cb *kmddi.DxgkrnlInterface) (kmddi.StartDeviceOut, ddi.Status) {
			p.cb = cb
			for range 3 { // as many as the resets of StartDevice, for the option after=
				p.preempt(t)
			}
			return start(t, h, info, cb)
		}
		d.ResetFromTimeout = func(t *ddi.Thread, h kmddi.HAdapter) ddi.Status {
			p.stages = append(p.stages, map[bool]string{true: "preempted", false: "not preempted"}[p.preempt(t)])
			s := reset(t, h)
			kept := map[bool]string{true: "FENCE is kept", false: "FENCE is 0"}[p.fence(t) != 0]
			p.stages = append(p.stages, fmt.Sprintf("%v, %s", s, kept))
			return s
		}
	}).WithoutNodeRecovery()
}

// mapped calls f with the registers of node 0.
func (p *preempting) mapped(t *ddi.Thread, f func(h kmddi.HDxgkrnl, node kmddi.HMapping)) {
	h := p.cb.DeviceHandle
	node, s := p.cb.MapMemory(t, h, 0, cpreg.Base, cpreg.Stride)
	if s.Failed() {
		panic(s)
	}
	f(h, node)
	p.cb.UnmapMemory(t, h, node)
}

// fence reads FENCE of node 0.
func (p *preempting) fence(t *ddi.Thread) (v uint32) {
	p.mapped(t, func(h kmddi.HDxgkrnl, node kmddi.HMapping) { v, _ = p.cb.ReadRegister(t, h, node, cpreg.Fence) })
	return v
}

// preempt asks node 0 to stop and reports whether it did.
func (p *preempting) preempt(t *ddi.Thread) (done bool) {
	p.asked++
	p.mapped(t, func(h kmddi.HDxgkrnl, node kmddi.HMapping) {
		s := p.cb.WriteRegister(t, h, node, cpreg.Preempt, p.asked)
		for i := 0; i < preemptPolls && !s.Failed() && !done; i++ {
			var v uint32
			v, s = p.cb.ReadRegister(t, h, node, cpreg.Preempted)
			done = v == p.asked
		}
	})
	return done
}

// The stages of a time-out when the GPU does not obey. A node that ignores PREEMPT is reset,
// which keeps FENCE. The device is reset, which clears it, if a node ignores that too. If it
// ignores that as well, the recovery fails. Every stage ends in bounded time.
func TestStagesOfATimeout(t *testing.T) {
	for _, tt := range []struct {
		name, faults string
		stages       []string
	}{
		{"the node obeys", "", []string{"preempted", "STATUS_SUCCESS, FENCE is kept"}},
		{"PREEMPT is ignored", "&fault=ignore-preempt&after=3", []string{"not preempted", "STATUS_SUCCESS, FENCE is kept"}},
		{"the node ignores its reset too", "&fault=ignore-preempt,ignore-reset&after=3&count=1", []string{"not preempted", "STATUS_SUCCESS, FENCE is 0"}},
		{"both nodes do", "&fault=ignore-preempt,ignore-reset&after=3&count=2", []string{"not preempted", "STATUS_SUCCESS, FENCE is 0"}},
		{"the device does", "&fault=ignore-preempt,ignore-reset&after=3&count=3", []string{
			"not preempted", "STATUS_IO_TIMEOUT, FENCE is kept", "not preempted", "STATUS_SUCCESS, FENCE is kept",
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := new(preempting)
			s, err := Open("emu?vram=64KiB"+tt.faults, p.drivers(), Options{Record: eventstest.Record(t)})
			require.NoError(t, err)
			composes(t, s, smallPlan(t, 0))
			hang(t, s)
			began := s.clock.Now()
			for i := 1; i < len(tt.stages)/2; i++ {
				assert.ErrorIs(t, s.Recover(), ddi.StatusIOTimeout)
			}
			require.NoError(t, s.Recover())
			assert.Less(t, s.clock.Now()-began, s.clock.Hz())
			assert.Equal(t, tt.stages, p.stages)
			composes(t, s, smallPlan(t, 1))
			require.NoError(t, s.Close())
		})
	}
}
