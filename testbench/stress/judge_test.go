package stress

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
	"github.com/hilgpu/hilgpu/runtime/dxgkrnl"
	"github.com/hilgpu/hilgpu/testbench/inject"
)

// scripted returns a bench without a system, and the functions of a miniport that only asks nodes to stop and
// resets them. A reset ends fence 9, and returns st.
func scripted(t *testing.T, st *ddi.Status) (*bench, kmddi.DriverInitializationData) {
	b := &bench{injector: new(inject.Injector), round: 1}
	b.judge = newJudge(b)
	link := b.injector.Link(nil) // no write gets through
	write := func(node uint32, off uint64) {
		require.NoError(t, link.Write(0, registers(node)+off, []byte{1, 1, 1, 1}))
	}
	table := kmddi.DriverInitializationData{
		SubmitCommand: func(*ddi.Thread, kmddi.HAdapter, kmddi.SubmitCommand) ddi.Status { return ddi.StatusSuccess },
		PreemptCommand: func(_ *ddi.Thread, _ kmddi.HAdapter, arg kmddi.PreemptCommand) ddi.Status {
			if arg.PreemptionFenceID == 0 { // the others arrive
				b.injector.LoseWrites(1, registers(arg.NodeOrdinal)+cpreg.Preempt, 0)
				write(arg.NodeOrdinal, cpreg.Preempt)
			}
			return ddi.StatusSuccess
		},
		ResetEngine: func(_ *ddi.Thread, _ kmddi.HAdapter, arg kmddi.ResetEngine) (kmddi.ResetEngineOut, ddi.Status) {
			if st.Failed() {
				b.injector.LoseWrites(1, registers(arg.NodeOrdinal)+cpreg.Ctl, 0)
				write(arg.NodeOrdinal, cpreg.Ctl)
			}
			return kmddi.ResetEngineOut{LastAbortedFenceID: 9}, *st
		},
		ResetFromTimeout:   func(*ddi.Thread, kmddi.HAdapter) ddi.Status { return ddi.StatusSuccess },
		RestartFromTimeout: func(*ddi.Thread, kmddi.HAdapter) ddi.Status { return ddi.StatusSuccess },
	}
	b.judge.watch(&table)
	return b, table
}

// A PREEMPT that was lost explains one time-out: of the work that its node executed, when that was reset.
func TestLostPreemptExplainsOneTimeOut(t *testing.T) {
	late := func(node, fence uint32) *dxgkrnl.DeviceError {
		return &dxgkrnl.DeviceError{Kind: dxgkrnl.Timeout, Node: node, Fence: fence}
	}
	ask := func(_ *bench, table kmddi.DriverInitializationData) {
		table.PreemptCommand(nil, kmddi.HAdapter{}, kmddi.PreemptCommand{NodeOrdinal: 1})
	}
	arrives := func(_ *bench, table kmddi.DriverInitializationData) {
		table.PreemptCommand(nil, kmddi.HAdapter{}, kmddi.PreemptCommand{NodeOrdinal: 1, PreemptionFenceID: 1})
	}
	reset := func(_ *bench, table kmddi.DriverInitializationData) {
		table.ResetEngine(nil, kmddi.HAdapter{}, kmddi.ResetEngine{NodeOrdinal: 1})
	}
	submit := func(paging bool) func(*bench, kmddi.DriverInitializationData) {
		return func(_ *bench, table kmddi.DriverInitializationData) {
			table.SubmitCommand(nil, kmddi.HAdapter{}, kmddi.SubmitCommand{NodeOrdinal: 1, SubmissionFenceID: 9, Flags: kmddi.SubmitFlags{Paging: paging}})
		}
	}
	for name, tt := range map[string]struct {
		steps []func(*bench, kmddi.DriverInitializationData)
		loss  *dxgkrnl.DeviceError
		want  bool
		stop  bool // it explains a stop of the adapter
	}{
		"its work":             {[]func(*bench, kmddi.DriverInitializationData){ask, reset}, late(1, 9), true, false},
		"none was lost":        {[]func(*bench, kmddi.DriverInitializationData){reset}, late(1, 9), false, false},
		"the next one arrives": {[]func(*bench, kmddi.DriverInitializationData){ask, arrives, reset}, late(1, 9), false, false},
		"another node":         {[]func(*bench, kmddi.DriverInitializationData){ask, reset}, late(0, 9), false, false},
		"later work":           {[]func(*bench, kmddi.DriverInitializationData){ask, reset}, late(1, 10), false, false},
		"a fault":              {[]func(*bench, kmddi.DriverInitializationData){ask, reset}, &dxgkrnl.DeviceError{Kind: dxgkrnl.Fault, Node: 1, Fence: 9}, false, false},
		"after an answer":      {[]func(*bench, kmddi.DriverInitializationData){ask, submit(false), reset}, late(1, 9), false, false},
		"the reset after that": {[]func(*bench, kmddi.DriverInitializationData){ask, reset, func(b *bench, _ kmddi.DriverInitializationData) { b.judge.late = map[mark]int{} }, reset}, late(1, 9), false, false},
		"two rounds later":     {[]func(*bench, kmddi.DriverInitializationData){ask, reset, func(b *bench, _ kmddi.DriverInitializationData) { b.round += 2 }}, late(1, 9), false, false},
		"a paging buffer":      {[]func(*bench, kmddi.DriverInitializationData){submit(true), ask, reset}, late(1, 9), false, true},
	} {
		st := ddi.StatusSuccess
		b, table := scripted(t, &st)
		for _, step := range tt.steps {
			step(b, table)
		}
		assert.Equal(t, tt.want, b.judge.timedOut(tt.loss), name)
		assert.False(t, b.judge.timedOut(tt.loss), "%s: it is used up", name)
		assert.Equal(t, tt.stop, explainsStop(b.judge.active(), tt.loss), name)
	}
}

// Each reset of the adapter needs a fault that has hit since the last one.
func TestEachStopNeedsItsFault(t *testing.T) {
	st := ddi.StatusIOTimeout
	b, table := scripted(t, &st)
	again := func() {
		table.ResetFromTimeout(nil, kmddi.HAdapter{})
		table.RestartFromTimeout(nil, kmddi.HAdapter{})
	}
	table.ResetEngine(nil, kmddi.HAdapter{}, kmddi.ResetEngine{NodeOrdinal: 1})
	assert.EqualValues(t, 1, b.judge.hits[IgnoreReset])
	fault := &dxgkrnl.DeviceError{Kind: dxgkrnl.Fault, Node: 1}
	assert.True(t, explainsStop(b.judge.active(), fault))
	assert.False(t, explainsStop(b.judge.active(), &dxgkrnl.DeviceError{Kind: dxgkrnl.Fault}), "of another node")
	assert.False(t, explainsStop(b.judge.active(), &dxgkrnl.DeviceError{Kind: dxgkrnl.Link}))
	again()
	require.NoError(t, b.failed)
	require.Len(t, b.judge.resets, 1)
	assert.True(t, explainsStop(b.judge.resets[0], fault))
	again()
	require.ErrorIs(t, b.failed, errStopped)

	b.judge.stops(Unplug, 1)
	assert.False(t, explainsStop(b.judge.active(), fault), "the link is down")
	hit := false
	read := &spoiled{hit: func() bool { return hit }}
	b.judge.causes = []cause{{HostRead, 1, b.round, read}}
	assert.False(t, explainsStop(b.judge.active(), fault), "it was answered")
	hit = true
	assert.True(t, explainsStop(b.judge.active(), fault))
	b.round += 2
	assert.False(t, explainsStop(b.judge.active(), fault), "it is too long ago")
}

// A fault of a submission explains the loss of that one, also when it is patched again, and no later one.
func TestFaultExplainsItsSubmission(t *testing.T) {
	buffer := make([]byte, 64)
	patch := func(fence, start uint32, again bool) *kmddi.Patch {
		return &kmddi.Patch{DmaBuffer: buffer, NodeOrdinal: 1, SubmissionFenceID: fence, DmaBufferSubmissionStartOffset: start, Flags: kmddi.SubmitFlags{Resubmission: again}}
	}
	for name, tt := range map[string]struct {
		fault   Fault
		hit     func() bool
		patched []*kmddi.Patch
		loss    dxgkrnl.DeviceError
		want    bool
	}{
		"it":                       {BadPacket, hits, nil, dxgkrnl.DeviceError{Kind: dxgkrnl.Fault, Node: 1, Fence: 5}, true},
		"another kind":             {BadPacket, hits, nil, dxgkrnl.DeviceError{Kind: dxgkrnl.Timeout, Node: 1, Fence: 5}, false},
		"a hang":                   {hang, hits, nil, dxgkrnl.DeviceError{Kind: dxgkrnl.Timeout, Node: 1, Fence: 5}, true},
		"another node":             {BadPacket, hits, nil, dxgkrnl.DeviceError{Kind: dxgkrnl.Fault, Fence: 5}, false},
		"a later fence":            {BadPacket, hits, nil, dxgkrnl.DeviceError{Kind: dxgkrnl.Fault, Node: 1, Fence: 6}, false},
		"after a preemption":       {BadPacket, hits, []*kmddi.Patch{patch(7, 8, true)}, dxgkrnl.DeviceError{Kind: dxgkrnl.Fault, Node: 1, Fence: 7}, true},
		"the former fence":         {BadPacket, hits, []*kmddi.Patch{patch(7, 8, true)}, dxgkrnl.DeviceError{Kind: dxgkrnl.Fault, Node: 1, Fence: 5}, false},
		"another part":             {BadPacket, hits, []*kmddi.Patch{patch(7, 0, true)}, dxgkrnl.DeviceError{Kind: dxgkrnl.Fault, Node: 1, Fence: 7}, false},
		"after it was put back":    {BadPacket, hits, []*kmddi.Patch{patch(7, 8, false)}, dxgkrnl.DeviceError{Kind: dxgkrnl.Fault, Node: 1, Fence: 7}, true},
		"a read that was answered": {HostRead, func() bool { return false }, nil, dxgkrnl.DeviceError{Kind: dxgkrnl.Fault, Node: 1, Fence: 5}, false},
	} {
		d := new(device)
		d.spoil(tt.fault, patch(5, 8, false), tt.hit)
		for _, p := range tt.patched {
			d.patched(p)
		}
		assert.Equal(t, tt.want, d.explains(&tt.loss), name)
	}
}

// The fault of a submission explains its loss also when the buffer has other commands by the time that the loss is seen, and
// not the loss of those.
func TestFaultExplainsAfterTheBuffer(t *testing.T) {
	b, err := open(small(t, "emu?vram=64KiB"))
	require.NoError(t, err)
	buffer := make([]byte, 64)
	p := b.processes[0]
	p.device = new(device)
	p.device.spoil(BadPacket, &kmddi.Patch{DmaBuffer: buffer, NodeOrdinal: 1, SubmissionFenceID: 5}, hits)
	b.spoil.written(b.processes[1].system.ID(), buffer)
	p.device.patched(&kmddi.Patch{DmaBuffer: buffer, NodeOrdinal: 1, SubmissionFenceID: 6, Flags: kmddi.SubmitFlags{Resubmission: true}})
	loss := func(fence uint32) *dxgkrnl.DeviceError {
		return &dxgkrnl.DeviceError{Kind: dxgkrnl.Fault, Node: 1, Fence: fence}
	}
	assert.True(t, p.device.explains(loss(5)))
	assert.False(t, p.device.explains(loss(6)))
	p.device = nil
	require.NoError(t, b.sys.Close())
}

// A refused allocation explains one error of the process that it has hit, and none after a frame. A device
// that was opened after a reset is not lost by it. A fault that has not hit counts as none.
func TestEachErrorNeedsItsFault(t *testing.T) {
	b, err := open(small(t, "emu?vram=64KiB"))
	require.NoError(t, err)
	b.calm, b.round, b.Frames = false, 1, 1
	require.NoError(t, b.next())
	p, other := b.processes[0], b.processes[1]
	told := fmt.Errorf("%w: of no memory", errTold)
	b.Faults = []Injection{{NoMemory, 1}}
	require.True(t, b.refuses(p.system.ID()))
	assert.ErrorContains(t, other.lost(told), "no fault of its own explains it", "of another process")
	require.NoError(t, p.lost(told))
	b.Faults = nil
	require.NoError(t, p.open())
	assert.ErrorContains(t, p.lost(told), "no fault of its own explains it", "it is used up")
	p.refused = 1
	require.NoError(t, p.frame())
	assert.ErrorContains(t, p.lost(told), "no fault of its own explains it", "the frame went well")
	assert.Equal(t, map[Fault]uint64{NoMemory: 1}, b.judge.injected())

	b.injector.LoseRead(0, 8)
	b.injector.LoseMessages(1)
	b.injector.LoseWrites(1, registers(0)+cpreg.Preempt, 0)
	assert.Equal(t, map[Fault]uint64{NoMemory: 1}, b.judge.injected(), "none of them has hit")
	b.injector.Disarm()

	before := len(b.judge.resets)
	b.judge.stops(Unplug, 0)
	b.injector.Unplug()
	require.NoError(t, b.next())
	require.NoError(t, b.next(), "the devices are open again")
	require.Len(t, b.judge.resets, before+1)
	link := &dxgkrnl.DeviceError{Kind: dxgkrnl.Link}
	assert.False(t, p.stopped(link), "it was opened after the reset")
	p.device.resets--
	assert.True(t, p.stopped(link))
	b.injector.Unplug()
	assert.ErrorIs(t, b.next(), errStopped, "the first one is used up")
	b.failed = nil
	require.Error(t, b.sys.Err())
	require.NoError(t, b.sys.Recover())
	require.NoError(t, b.sys.Close())
}

// A driver that cannot reset a node is found, although requests to preempt are lost too.
func TestFailedResetIsFound(t *testing.T) {
	o := small(t, "emu?vram=64KiB")
	entry := o.Drivers.KernelMode
	o.Drivers.KernelMode = func() kmddi.DriverInitializationData {
		table := entry()
		table.ResetEngine = func(*ddi.Thread, kmddi.HAdapter, kmddi.ResetEngine) (kmddi.ResetEngineOut, ddi.Status) {
			return kmddi.ResetEngineOut{}, ddi.StatusIOTimeout
		}
		return table
	}
	fault(IgnorePreempt, 0.2)(&o)
	fault(BadPacket, 0.01)(&o)
	r, err := Run(o)
	require.ErrorIs(t, err, errStopped)
	assert.Positive(t, r.Injected[IgnorePreempt])
}
