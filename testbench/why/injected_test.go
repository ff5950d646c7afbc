package why_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/testbench/eventlog"
	"github.com/hilgpu/hilgpu/testbench/why"
)

// Events of a run with injected faults.
var (
	opened  = eventlog.New(eventlog.Open, 1e9, 1).WithText("emu")
	hang    = eventlog.New(eventlog.Inject, 0x200002, 1, 0, 0).WithText("hang")
	bad     = eventlog.New(eventlog.Inject, 0x200002, 0, 1, 0).WithText("bad-packet")
	unplug  = eventlog.New(eventlog.Inject, 0, 0, 0, 1).WithText("unplug")
	faulted = eventlog.New(eventlog.Fault, 1, 0, uint64(cpreg.CauseOpcode), 0x2400)
	pulled  = eventlog.New(eventlog.Stop, 0, 0).WithText("dxgkrnl: link failure: the board was unplugged")
)

// queued gives a submission its fence, on node 1.
func queued(serial, fence uint64) eventlog.Event {
	return eventlog.New(eventlog.Queue, serial, 1, fence, 0x100005, 0x1000*serial, 0, 0x10).WithText("DxgkDdiRender")
}

// reset resets node 1, which has a submission of a device.
func reset(serial, fence, device uint64, kind string) eventlog.Event {
	return eventlog.New(eventlog.Reset, serial, 1, fence, device).WithText("dxgkrnl: GPU " + kind + ": node 1")
}

// A reset or a stop that an injected fault explains is none of interest, and neither are the faults of the nodes that led to it.
func TestInjectedFaults(t *testing.T) {
	end := eventlog.New(eventlog.End)
	for _, tt := range []struct {
		name, verdict, missing string
		all                    []eventlog.Event
	}{
		{"hang", "no fault but those injected by the bench is in the log", "", []eventlog.Event{hang, queued(7, 3), reset(7, 3, 0x200002, "time-out")}},
		{"bad packet", "no fault but those injected by the bench is in the log", "", []eventlog.Event{bad, queued(7, 3), faulted, reset(7, 3, 0x200002, "fault")}},
		{"of another kind", "GPU fault: node 1", why.MissingSubmit, []eventlog.Event{hang, queued(7, 3), reset(7, 3, 0x200002, "fault")}},
		{"of another device", "GPU time-out: node 1", why.MissingSubmit, []eventlog.Event{hang, queued(7, 3), reset(7, 3, 0x200003, "time-out")}},
		{"after it", "GPU time-out: node 1", why.MissingSubmit, []eventlog.Event{queued(7, 3), reset(7, 3, 0x200002, "time-out"), hang}},
		{"the second", "GPU time-out: node 1, fence 4", why.MissingSubmit, []eventlog.Event{
			hang, queued(7, 3), reset(7, 3, 0x200002, "time-out"), queued(8, 4),
			eventlog.New(eventlog.Reset, 8, 1, 4, 0x200003).WithText("dxgkrnl: GPU time-out: node 1, fence 4"),
		}},
		{"a fault without a reset", "stopped on a fault", why.MissingPacket, []eventlog.Event{bad, queued(7, 3), faulted}},
		{"unplug", "no fault but those injected by the bench is in the log", "", []eventlog.Event{unplug, pulled, faulted, eventlog.New(eventlog.Restart)}},
		{"a fault after it", "stopped on a fault", why.MissingPacket, []eventlog.Event{unplug, pulled, eventlog.New(eventlog.Restart), faulted}},
		{"stopped twice", "link failure", why.MissingUnknown, []eventlog.Event{unplug, pulled, eventlog.New(eventlog.Restart), pulled}},
	} {
		a := runOf(t, append(append([]eventlog.Event{opened}, tt.all...), end)...).Fault()
		assert.Contains(t, a.Verdict, tt.verdict, tt.name)
		assert.Equal(t, tt.missing, a.Missing, tt.name)
		if tt.missing == "" {
			assert.Contains(t, a.Chain[0].What, "injected by the bench: ", tt.name)
		}
		assert.Contains(t, a.Notes[0], "injected by the bench: 1 ", tt.name)
	}
}

// The answer about a submission names the reset that aborted it, not a later one.
func TestEachReset(t *testing.T) {
	r := runOf(t, opened, hang, queued(7, 3), reset(7, 3, 0x200002, "time-out"), queued(8, 4), reset(8, 4, 0x200003, "fault"),
		queued(9, 5), eventlog.New(eventlog.Stop, 1, 5).WithText("dxgkrnl: GPU time-out"), eventlog.New(eventlog.Restart), queued(10, 6), eventlog.New(eventlog.End))
	for fence, want := range map[uint32]string{
		3: "the kernel resets node 1 and takes device 0x200002 away: fence 3 of node 1", 4: "the kernel resets node 1 and takes device 0x200003 away: fence 4 of node 1",
		5: "the kernel stops the adapter: fence 5 of node 1", 6: "the log ends at clock 0",
	} {
		a, err := r.Fence(1, fence)
		assert.NoError(t, err)
		assert.Contains(t, a.Cause, want)
		last := a.Chain[len(a.Chain)-1].What
		assert.Equal(t, fence != 6, last == want, last)
		assert.Equal(t, fence == 3, a.Chain[0].What == "injected by the bench: hang, in the work of device 0x200002")
	}
}

// A submission that is cancelled since its device is lost names the reset before it.
func TestCancelledByAReset(t *testing.T) {
	r := runOf(t, opened, queued(7, 3), queued(8, 4), reset(7, 3, 0x200002, "time-out"), eventlog.New(eventlog.Preempted, 8), eventlog.New(eventlog.Cancelled, 8),
		queued(9, 5), reset(9, 5, 0x200003, "fault"), eventlog.New(eventlog.End))
	a, err := r.Fence(1, 4)
	assert.NoError(t, err)
	assert.Equal(t, "it was cancelled, since its device is lost; the kernel resets node 1 and takes device 0x200002 away: fence 3 of node 1 at clock 0", a.Verdict)
	assert.NotContains(t, a.Text(), "for other work")
}
