package stress

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
	"github.com/hilgpu/hilgpu/runtime/dxgkrnl"
	"github.com/hilgpu/hilgpu/testbench"
)

// A scripted device has one context and one DMA buffer, in a bench whose miniport only clears what it
// patches.
type scriptedDevice struct {
	*device
	bench  *bench
	table  kmddi.DriverInitializationData
	thread ddi.Thread
	buffer []byte
}

func newScriptedDevice(t *testing.T) *scriptedDevice {
	b, err := open(small(t, "emu?vram=64KiB"))
	require.NoError(t, err)
	t.Cleanup(func() {
		b.processes[0].device = nil
		require.NoError(t, b.sys.Close())
	})
	b.calm, b.round = false, 1
	d := &device{bench: b, spread: new(spreader)}
	b.processes[0].device = d
	s := &scriptedDevice{device: d, bench: b, buffer: make([]byte, 64)}
	s.thread.Process = b.processes[0].system.ID()
	s.table = b.spoil.drivers(testbench.Drivers{KernelMode: func() kmddi.DriverInitializationData {
		return kmddi.DriverInitializationData{
			CreateContext: func(*ddi.Thread, kmddi.HDevice, kmddi.HContext, kmddi.CreateContext) (kmddi.ContextInfo, ddi.Status) {
				return kmddi.ContextInfo{}, ddi.StatusSuccess
			},
			Render: func(*ddi.Thread, kmddi.HContext, kmddi.Render) (kmddi.RenderOut, ddi.Status) {
				return kmddi.RenderOut{}, ddi.StatusSuccess
			},
			Patch: func(_ *ddi.Thread, _ kmddi.HAdapter, arg kmddi.Patch) ddi.Status {
				clear(arg.DmaBuffer[arg.DmaBufferSubmissionStartOffset:arg.DmaBufferSubmissionEndOffset])
				return ddi.StatusSuccess
			},
		}
	}}).KernelMode()
	s.table.CreateContext(&s.thread, kmddi.HDevice{}, kmddi.HContext{}, kmddi.CreateContext{NodeOrdinal: 1})
	return s
}

// render writes new commands to the buffer.
func (s *scriptedDevice) render() {
	s.table.Render(&s.thread, kmddi.HContext{}, kmddi.Render{DmaBuffer: s.buffer})
}

// patch has the part of the buffer from start on patched, for a fence.
func (s *scriptedDevice) patch(fence, start uint32, preempted bool) {
	s.table.Patch(&s.thread, kmddi.HAdapter{}, kmddi.Patch{
		DmaBuffer: s.buffer, DmaBufferPhysicalAddress: 0x10000, DmaBufferSubmissionStartOffset: start, DmaBufferSubmissionEndOffset: start + 32,
		NodeOrdinal: 1, SubmissionFenceID: fence, Flags: kmddi.SubmitFlags{Resubmission: preempted},
	})
}

// explained reports whether a loss with the work of a fence is explained.
func (s *scriptedDevice) explained(fence uint32) bool {
	return s.explains(&dxgkrnl.DeviceError{Kind: dxgkrnl.Fault, Node: 1, Fence: fence})
}

// A submission that is patched again keeps its faults under its last fence, and gets no others. The kernel patches it again
// without Resubmission if its node faults before it is submitted.
func TestPatchedAgain(t *testing.T) {
	for name, again := range map[string]struct {
		fence     uint32
		preempted bool
	}{
		"put back":     {5, false},
		"preempted":    {5, true},
		"by a checker": {4, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScriptedDevice(t)
			s.bench.Hang, s.bench.Faults = 1, []Injection{{BadPacket, 1}, {HostRead, 1}}
			s.render()
			s.patch(4, 0, false)
			assert.True(t, s.explained(4))
			assert.True(t, s.hangs)
			s.hangs = false
			s.patch(again.fence, 0, again.preempted)
			assert.True(t, s.explained(again.fence))
			assert.Equal(t, again.fence == 4, s.explained(4))
			assert.True(t, bytes.HasPrefix(s.buffer, unknownPacket[:]))
			assert.EqualValues(t, 1, s.bench.judge.hits[BadPacket])
			assert.EqualValues(t, 1, s.bench.spoil.armedReads())
			assert.False(t, s.hangs, "it got its chance before")
		})
	}
}

// Another part of a buffer, and new commands in it, are other submissions: each gets its own faults.
func TestOthersInTheBuffer(t *testing.T) {
	s := newScriptedDevice(t)
	s.bench.Faults = []Injection{{BadPacket, 1}}
	s.render()
	s.patch(4, 0, false)
	s.bench.Faults = nil
	s.patch(5, 32, false)
	assert.Equal(t, []bool{true, false}, []bool{s.explained(4), s.explained(5)}, "another part")
	assert.Equal(t, make([]byte, 32), s.buffer[32:], "no packet of it was changed")
	s.render()
	s.patch(6, 0, false)
	assert.Equal(t, []bool{true, false}, []bool{s.explained(4), s.explained(6)}, "new commands")
	assert.Equal(t, make([]byte, 64), s.buffer)
	s.bench.Faults = []Injection{{BadPacket, 1}}
	s.render()
	s.patch(7, 0, false)
	assert.True(t, s.explained(7))
	assert.EqualValues(t, 2, s.bench.judge.hits[BadPacket])
}
