package why_test

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
	"github.com/hilgpu/hilgpu/testbench"
	"github.com/hilgpu/hilgpu/testbench/eventlog"
	"github.com/hilgpu/hilgpu/testbench/events"
	"github.com/hilgpu/hilgpu/testbench/stress"
	"github.com/hilgpu/hilgpu/testbench/why"
)

// stressLog runs processes whose submissions hang and fault, and returns the log and its events.
func stressLog(t *testing.T, seed uint64) (*why.Run, []eventlog.Event) {
	t.Helper()
	return stressed(t, stress.Options{
		Board: "emu?vram=64KiB", Processes: 3, Contexts: 2, Seed: seed, Rounds: 2, Frames: 2, Hang: 0.025, Pressure: 1.5,
		Faults:      []stress.Injection{{Fault: stress.BadPacket, Rate: 0.1}},
		KernelDraws: true,
	})
}

// stressed returns the log and the events of a run.
func stressed(t *testing.T, o stress.Options) (*why.Run, []eventlog.Event) {
	t.Helper()
	ring := eventlog.NewRing(256<<20, eventlog.Header{Observed: true})
	o.Drivers, o.System.Record = testbench.HostDrivers(), func(eventlog.Header) (events.Sink, error) { return ring, nil }
	_, err := stress.Run(o)
	require.NoError(t, err)
	var log bytes.Buffer
	_, err = ring.WriteTo(&log)
	require.NoError(t, err)
	l, err := eventlog.NewReader(bytes.NewReader(log.Bytes()))
	require.NoError(t, err)
	var all []eventlog.Event
	var e eventlog.Event
	for err = l.Next(&e); err == nil; err = l.Next(&e) {
		all = append(all, e.Clone())
	}
	require.Equal(t, io.EOF, err)
	l, err = eventlog.NewReader(&log)
	require.NoError(t, err)
	r, err := why.Read(l)
	require.NoError(t, err)
	return r, all
}

// freed returns how many submissions went to the hardware after a reset had aborted one that they wait for.
func freed(all []eventlog.Event) (n int) {
	aborted, waits := map[uint64]bool{}, map[uint64][]uint64{}
	for _, e := range all {
		switch e.Kind {
		case eventlog.Reset:
			aborted[e.Fields[0]] = true
		case eventlog.Depend:
			waits[e.Fields[0]] = append(waits[e.Fields[0]], e.Fields[1])
		case eventlog.Submit:
			if slices.ContainsFunc(waits[e.Fields[0]], func(on uint64) bool { return aborted[on] }) {
				n++
			}
		default:
		}
	}
	return n
}

// A reset of a node ends the submission that it aborts: the answer about it is the fault that led to the reset. No answer says that the
// kernel did not wait.
func TestResetsOfNodes(t *testing.T) {
	r, all := stressLog(t, 4)
	require.NotZero(t, freed(all), "no submission waits for an aborted one")
	first := slices.IndexFunc(all, func(e eventlog.Event) bool { return e.Kind == eventlog.Fault && e.Fields[2] != 0 })
	reset := slices.IndexFunc(all, func(e eventlog.Event) bool { return e.Kind == eventlog.Reset })
	require.Greater(t, reset, first)
	require.EqualValues(t, cpreg.CauseOpcode, all[first].Fields[2])

	a := r.Fault()
	assert.Empty(t, a.Missing, "%s", a.Text())
	a, err := r.Fence(int(all[reset].Fields[1]), uint32(all[reset].Fields[2]))
	require.NoError(t, err)
	assert.Equal(t, why.MissingPacket, a.Missing, "%s", a.Text())
	for _, event := range []uint64{all[first].ID, all[reset].ID} {
		assert.True(t, slices.ContainsFunc(a.Chain, func(s why.Step) bool { return s.Event == event }), "event %d is in\n%s", event, a.Text())
	}
}

// given returns the call of DxgkDdiSubmitCommand for a submission, and the write of its doorbell.
func given(node, fence, buffer uint64) []eventlog.Event {
	call := eventlog.New(eventlog.DDI).WithText(fmt.Sprintf(`{"name":"DxgkDdiSubmitCommand","args":{"arg":{"DmaBufferPhysicalAddress":"%#x","DmaBufferSubmissionStartOffset":0,`+
		`"DmaBufferSubmissionEndOffset":16,"SubmissionFenceID":%d,"NodeOrdinal":%d}}}`, buffer, fence, node))
	return []eventlog.Event{call, eventlog.New(eventlog.Write, 0, cpreg.Base+node*cpreg.Stride+cpreg.Wptr, 4, 4*fence)}
}

// resets returns the events of a reset that aborts submission 1 of node 0, and of submission 2 of a node, which waits for it. The fault
// of the node comes after them.
func resets(node uint64, aborted bool) []eventlog.Event {
	all := append([]eventlog.Event{
		eventlog.New(eventlog.Open, 1e8, 1).WithText("emu"),
		eventlog.New(eventlog.Queue, 1, 0, 1, 9, 0x1000, 0, 16, 0).WithText("DxgkDdiRender"),
		eventlog.New(eventlog.Submit, 1),
	}, given(0, 1, 0x1000)...)
	all = append(all, eventlog.New(eventlog.Queue, 2, node, 2, 9, 0x2000, 0, 16, 0).WithText("DxgkDdiRender"), eventlog.New(eventlog.Depend, 2, 1))
	if aborted {
		all = append(all, eventlog.New(eventlog.Reset, 1, 0, 1, 8).WithText("dxgkrnl: GPU time-out: node 0, fence 1: STATUS_IO_TIMEOUT"))
	}
	all = append(append(all, eventlog.New(eventlog.Submit, 2)), given(node, 2, 0x2000)...)
	all = append(all, eventlog.New(eventlog.Fault, node, 0, uint64(cpreg.CauseOpcode), 1<<63|0x2000))
	for i := range all {
		all[i].Time = uint64(10 * i)
	}
	return all
}

// A submission that waits for an aborted one goes to the hardware rightly, and one whose work has not ended wrongly. A fault after a reset is
// not that of the work before it.
func TestAborted(t *testing.T) {
	a := runOf(t, resets(1, false)...).Fault()
	assert.Contains(t, a.Cause, "while submission 1 (fence 1 of node 0), for which it waits, had not ended")
	a = runOf(t, resets(1, true)...).Fault()
	assert.NotContains(t, a.Cause, "for which it waits")
	assert.Equal(t, "GPU time-out: node 0, fence 1: STATUS_IO_TIMEOUT", a.Verdict)

	r := runOf(t, resets(0, true)...)
	for fence, want := range map[uint32]bool{1: false, 2: true} {
		a, err := r.Fence(0, fence)
		require.NoError(t, err)
		assert.Equal(t, want, strings.Contains(a.Cause, "OPCODE"), "fence %d: %s", fence, a.Text())
	}
	for clock, want := range map[uint64]int{60: 2, 110: 1} {
		a, err := r.Cycle(clock)
		require.NoError(t, err)
		assert.Len(t, a.Chain, want, "clock %d: %s", clock, a.Text())
	}
}

// Queues of the firmware: each has its own fence memory, DxgkDdiSubmitCommand may hold work back without a doorbell, and the kernel
// takes no report in a reset. The answers fit the log.
func TestQueuesOfTheFirmware(t *testing.T) {
	tooltest.Long(t)
	r, all := stressed(t, stress.Options{
		Board: "emu?config=full&vram=64KiB", Processes: 2, Contexts: 2, Seed: 3, Rounds: 1, Frames: 3, Hang: 0.05, Pressure: 1.5, KernelDraws: true,
		Faults: []stress.Injection{{Fault: stress.Firmware, Rate: 0.02}}, System: testbench.Options{Queues: testbench.Queues{Use: true}},
	})
	untaken, ended := 0, 0
	for _, e := range all {
		if e.Kind != eventlog.Queue {
			continue
		}
		a, err := r.Fence(int(e.Fields[1]), uint32(e.Fields[2]))
		require.NoError(t, err)
		text := a.Text()
		assert.NotContains(t, text, "wrote no register", "the driver holds it back")
		assert.NotContains(t, text, "no DxgkCbNotifyInterrupt with this fence", "it always reports it")
		untaken += strings.Count(text, "the kernel did not take it")
		if strings.Contains(text, "executes the packet of its fence") && strings.Contains(text, "it has ended") {
			ended++
			assert.Contains(t, text, "the fence is in host memory")
		}
	}
	assert.Positive(t, untaken)
	assert.Greater(t, ended, 100)
}
