package why_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/testbench/eventlog"
	"github.com/hilgpu/hilgpu/testbench/why"
)

// Events of a run with injected faults.
var (
	opened      = eventlog.New(eventlog.Open, 1e9, 1).WithText("emu")
	hang        = eventlog.New(eventlog.Inject, 0x200002, 1, 0, 0).WithText("hang")
	bad         = eventlog.New(eventlog.Inject, 0x200002, 0, 1, 0).WithText("bad-packet")
	unplug      = eventlog.New(eventlog.Inject, 0, 0, 0, 1).WithText("unplug")
	faulted     = eventlog.New(eventlog.Fault, 1, 0, uint64(cpreg.CauseOpcode), 0x2400)
	firmware    = eventlog.New(eventlog.Inject, 0, 0, 0, 1).WithText("firmware")
	lostReset   = eventlog.New(eventlog.Inject, 0x200002, 0, 1, 1).WithText("ignore-reset")
	lostPreempt = eventlog.New(eventlog.Inject, 0, 1, 0, 1).WithText("ignore-preempt")
	pulled      = eventlog.New(eventlog.Stop, 0, 0).WithText("dxgkrnl: link failure: the board was unplugged")
)

// queued gives a submission its fence, on node 1.
func queued(serial, fence uint64) eventlog.Event {
	return eventlog.New(eventlog.Queue, serial, 1, fence, 0x100005, 0x1000*serial, 0, 0x10).WithText("DxgkDdiRender")
}

// stop stops the adapter, because of fence 3 of node 1.
func stop(reason string) eventlog.Event {
	return eventlog.New(eventlog.Stop, 1, 3).WithText("dxgkrnl: " + reason)
}

// reset resets node 1, which has a submission of a device.
func reset(serial, fence, device uint64, kind string) eventlog.Event {
	return eventlog.New(eventlog.Reset, serial, 1, fence, device).WithText("dxgkrnl: GPU " + kind + ": node 1")
}

// why fault passes over a reset or a stop that an injected fault explains, and over the faults of the nodes that led to it.
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
		{"a time-out after an unplug", "GPU time-out", why.MissingUnknown, []eventlog.Event{unplug, stop("GPU time-out: node 1, fence 3")}},
		{"firmware", "no fault but those injected by the bench is in the log", "", []eventlog.Event{firmware, stop("GPU time-out: node 1, fence 3")}},
		{"a fault of firmware", "no fault but those injected by the bench is in the log", "", []eventlog.Event{firmware, stop("GPU fault: node 1, fence 3")}},
		{"a link failure after firmware", "link failure", why.MissingUnknown, []eventlog.Event{firmware, pulled}},
		{"a link failure after a lost reset", "link failure", why.MissingUnknown, []eventlog.Event{lostReset, pulled}},
		{"a broken contract after firmware", "broken contract", why.MissingUnknown, []eventlog.Event{firmware, stop("broken contract: bugcheck 0x119/0x1: no fence")}},
		{"idle, then a time-out", "GPU time-out: node 1, fence 4", why.MissingUnknown, []eventlog.Event{lostPreempt, reset(0, 3, 0, "time-out"), stop("GPU time-out: node 1, fence 4")}},
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

// A reset that ended no work is in the verdict, unless an injected fault explains it: each fault for all explains one.
func TestIdleResets(t *testing.T) {
	idle := func(clock uint64) eventlog.Event {
		e := reset(0, 3, 0, "time-out")
		e.Time = clock
		return e
	}
	const one = "1 reset of a node ended no work, and no injected fault explains it: at clock 40, GPU time-out: node 1"
	const two = "2 resets of a node ended no work, and no injected fault explains them: the first at clock 40, GPU time-out: node 1"
	for _, tt := range []struct {
		name, verdict string
		notes         []string
		all           []eventlog.Event
	}{
		{"injected", "nothing stopped the run; no fault but those injected by the bench is in the log",
			[]string{"injected by the bench: 1 ignore-preempt; 1 reset of a node ended no work"}, []eventlog.Event{lostPreempt, idle(40)}},
		{"one more", "nothing stopped the run; " + one,
			[]string{"injected by the bench: 1 ignore-preempt; 2 resets of a node ended no work"}, []eventlog.Event{lostPreempt, idle(20), idle(40)}},
		{"none injected", "nothing stopped the run; " + two, nil, []eventlog.Event{idle(40), idle(50)}},
		{"with a stop", "link failure: the board was unplugged", []string{one}, []eventlog.Event{idle(40), pulled}},
		{"of another kind", "nothing stopped the run; " + one,
			[]string{"injected by the bench: 1 unplug; they explain 1 of 1 stop or reset that ended work; 1 reset of a node ended no work"}, []eventlog.Event{unplug, pulled, idle(40)}},
	} {
		a := runOf(t, append(append([]eventlog.Event{opened}, tt.all...), eventlog.New(eventlog.End))...).Fault()
		assert.Equal(t, tt.verdict, a.Verdict, tt.name)
		assert.Equal(t, tt.notes, a.Notes, tt.name)
	}
}

// A log that lacks its beginning has resets of submissions that it does not have.
func TestResetOfAnEarlierSubmission(t *testing.T) {
	for name, e := range map[string]eventlog.Event{"reset": reset(7, 3, 0x200002, "time-out"), "stop": stop("GPU time-out: node 1")} {
		ring := eventlog.NewRing(100_000, eventlog.Header{Observed: true})
		for i := range uint64(40_000) {
			call := eventlog.New(eventlog.Call, i+1).WithText("Flush")
			call.Time = 1000 * i
			ring.Add(call)
		}
		ring.Add(eventlog.New(eventlog.Pending, 5, 1, 0x100005, 16).WithText("DxgkDdiRender"))
		ring.Add(e)
		a := runOfRing(t, ring).Fault()
		assert.Equal(t, "GPU time-out: node 1", a.Verdict, name)
		assert.Equal(t, why.MissingUnknown, a.Missing, name)
		assert.Equal(t, "GPU time-out: node 1; the log has no submission of node 1 with fence 3", a.Cause, name)
	}
}

// Of a broken rule and the reset that aborted a submission, the one that came first ends it.
func TestTheFirstEnd(t *testing.T) {
	rule := eventlog.New(eventlog.Broken, 1).WithText("verifier: fence-order: fence 3")
	aborts := reset(7, 3, 0x200002, "time-out")
	for _, tt := range []struct {
		all  []eventlog.Event
		want string
	}{
		{[]eventlog.Event{aborts, rule}, "; the kernel resets node 1 and takes device 0x200002 away: fence 3 of node 1 at clock 0"},
		{[]eventlog.Event{rule, aborts}, "; a rule was broken at clock 0: verifier: fence-order: fence 3"},
		{[]eventlog.Event{rule}, "; a rule was broken at clock 0: verifier: fence-order: fence 3"},
		{nil, "; the log ends at clock 0"},
	} {
		a, err := runOf(t, append([]eventlog.Event{opened, queued(7, 3)}, tt.all...)...).Fence(1, 3)
		require.NoError(t, err)
		assert.True(t, strings.HasSuffix(a.Cause, tt.want), "%s: want %s", a.Cause, tt.want)
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
