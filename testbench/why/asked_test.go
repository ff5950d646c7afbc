package why

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/testbench/eventlog"
)

// The fence of a preemption is no submission. A reset of the node that names it says that the node did not stop.
func TestFenceOfAPreemption(t *testing.T) {
	reset := happening{Event: eventlog.New(eventlog.Reset, 0, 0, 11).WithText("dxgkrnl: GPU time-out: node 0, fence 12: STATUS_IO_TIMEOUT")}
	reset.ID, reset.Time = 90, 900
	r := &Run{asks: []asked{{Point: Point{50, 500}, fence: 12}, {Point: Point{60, 600}, node: 1, fence: 13, stopped: Point{70, 700}}}, idle: []happening{reset}}
	a, err := r.Fence(0, 12)
	require.NoError(t, err)
	assert.Equal(t, MissingPreempt, a.Missing)
	assert.Len(t, a.Chain, 2)
	a, err = r.Fence(-1, 13)
	require.NoError(t, err)
	assert.Empty(t, a.Missing)
	assert.Equal(t, "fence 13 of node 1", a.Question)
	assert.Contains(t, a.Verdict, "and the node stopped for it")
	_, err = r.Fence(1, 12)
	assert.ErrorIs(t, err, ErrQuestion)
}

// The doorbell is the write of WPTR, also if the driver writes other registers before it in the same call.
func TestDoorbellAmongWrites(t *testing.T) {
	b := newBuilder(eventlog.Header{}, nil)
	add := func(e eventlog.Event) {
		e.ID, e.Time = b.last.Event+1, 10*(b.last.Event+1)
		b.last = Point{e.ID, e.Time}
		b.add(&e)
	}
	add(eventlog.New(eventlog.Queue, 1, 1, 7, 0, 0x1000, 0, 0x40, 0).WithText(pagingKind))
	add(eventlog.New(eventlog.Submit, 1, 0))
	add(eventlog.New(eventlog.DDI, 1).WithText(`{"at":"enter","seq":1,"name":"DxgkDdiSubmitCommand"}`))
	for _, w := range [][2]uint64{{0x1100, 0}, {0x111c, 6}, {0x1100, 1}, {0x1118, 9}, {0x100, 3}} {
		add(eventlog.New(eventlog.Write, 0, w[0], 4, w[1]))
	}
	assert.Equal(t, write{0x1118, 9}, b.order[0].rungBy)
}

// The miniport's report of a preemption is that of the node and the fence that it names.
func TestAnswerOfAPreemption(t *testing.T) {
	b := newBuilder(eventlog.Header{}, nil)
	b.asks = []asked{{node: 0, fence: 2}, {node: 1, fence: 2}, {node: 1, fence: 3}}
	e := eventlog.New(eventlog.DDI, 1).WithText(`{"name":"DxgkCbNotifyInterrupt","args":{"arg":{"InterruptType":"InterruptDMAPreempted","FenceID":2,"NodeOrdinal":1}}}`)
	b.answered(&e, Point{9, 90})
	other := eventlog.New(eventlog.DDI, 1).WithText(`{"name":"DxgkCbNotifyInterrupt","args":{"arg":{"InterruptType":"InterruptDMACompleted","FenceID":3,"NodeOrdinal":1}}}`)
	b.answered(&other, Point{10, 100})
	assert.Equal(t, []bool{false, true, false}, []bool{b.asks[0].stopped.In(), b.asks[1].stopped.In(), b.asks[2].stopped.In()})
}

// A fault without its message is told if the driver learned of it late, and if the message of a later fault does not count for it.
func TestToldFaults(t *testing.T) {
	b := newBuilder(eventlog.Header{}, nil)
	b.faults = make([]happening, 3)
	b.faults[0].told = Point{1, 1}
	b.toldFaults(Point{5, 50})
	assert.Equal(t, []uint64{1, 5, 5}, []uint64{b.faults[0].told.Event, b.faults[1].told.Event, b.faults[2].told.Event})
}

// Work that a queue of the firmware holds back has no doorbell. If the firmware hangs, that is the reason.
func TestHeldBack(t *testing.T) {
	for _, hangs := range []bool{false, true} {
		s := &submission{queued: Point{10, 0}, submitted: Point{20, 0}, given: Point{21, 0}}
		r := &Run{rings: true, order: []*submission{s}, subs: map[uint64]*submission{}}
		want := MissingDoorbell
		if hangs {
			r.hung, want = []access{{Point{30, 300}, 6, ""}}, MissingFetch
		}
		a := r.missing(&Answer{}, s, map[*submission]bool{})
		assert.Equal(t, want, a.Missing, a.Cause)
		assert.Equal(t, hangs, strings.Contains(a.Cause, "hung: MCU.STATUS was 0x6"), a.Cause)
	}
}

// Firmware that hangs is the reason only for work that its node has neither begun nor fetched, while it was in the hardware.
func TestStuckFirmware(t *testing.T) {
	for name, tt := range map[string]struct {
		edit func(r *Run, s *submission)
		says bool
	}{
		"it hangs":                {func(*Run, *submission) {}, true},
		"the node has begun":      {func(_ *Run, s *submission) { s.begun = Point{25, 0} }, false},
		"the node has fetched it": {func(_ *Run, s *submission) { s.fetched = Point{25, 0} }, false},
		"before it":               {func(r *Run, _ *submission) { r.hung[0].Event = 5 }, false},
		"after a stop": {func(r *Run, _ *submission) {
			stop := happening{Event: eventlog.New(eventlog.Stop)}
			stop.ID = 28
			r.stops = append(r.stops, stop)
		}, false},
		"no queues of the firmware": {func(r *Run, _ *submission) { r.rings = false }, false},
	} {
		s := &submission{queued: Point{10, 0}, submitted: Point{20, 0}}
		r := &Run{rings: true, hung: []access{{Point{30, 300}, 6, ""}}}
		tt.edit(r, s)
		assert.Equal(t, tt.says, r.stuckFirmware(s) != "", name)
	}
}
