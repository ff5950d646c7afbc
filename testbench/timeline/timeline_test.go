package timeline_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/testbench"
	"github.com/hilgpu/hilgpu/testbench/compose"
	"github.com/hilgpu/hilgpu/testbench/eventlog"
	"github.com/hilgpu/hilgpu/testbench/events"
	"github.com/hilgpu/hilgpu/testbench/session"
	"github.com/hilgpu/hilgpu/testbench/timeline"
)

// An entry is an event of the Trace Event Format.
type entry struct {
	Ph, Name, Cat, Bp string
	Pid, Tid          int
	ID                int
	Ts, Dur           json.Number
	Args              map[string]any
}

// nanos returns a time of the format in nanoseconds.
func nanos(t *testing.T, n json.Number) (ns int64) {
	t.Helper()
	var us int64
	_, err := fmt.Sscanf(n.String(), "%d.%03d", &us, &ns)
	require.NoError(t, err)
	return us*1000 + ns
}

// parsed returns the entries of a document.
func parsed(t *testing.T, text []byte) []entry {
	t.Helper()
	var doc struct{ TraceEvents []entry }
	require.NoError(t, json.Unmarshal(text, &doc))
	return doc.TraceEvents
}

type track struct{ pid, tid int }

type span struct {
	name       string
	start, end int64
}

// check checks the nesting and the flows of a document. It returns the slices of each track, by the
// names of its process and of itself, and the steps of each flow.
func check(t *testing.T, text []byte) (slicesOf map[string][]span, flows map[int][]entry) {
	t.Helper()
	tracks, flows := map[track][]span{}, map[int][]entry{}
	processes, names := map[int]string{}, map[track]string{}
	for _, e := range parsed(t, text) {
		at := track{e.Pid, e.Tid}
		switch e.Ph {
		case "M":
			if name, ok := e.Args["name"].(string); ok && e.Name == "process_name" {
				processes[e.Pid] = name
			} else if ok {
				require.NotContains(t, names, at, "a track has one name")
				names[at] = name
			}
		case "X":
			require.Contains(t, names, at, "a track has a name before its first slice")
			require.NotEmpty(t, e.Name)
			start := nanos(t, e.Ts)
			tracks[at] = append(tracks[at], span{e.Name, start, start + nanos(t, e.Dur)})
		case "s", "t", "f":
			require.Equal(t, "e", e.Bp)
			flows[e.ID] = append(flows[e.ID], e)
		case "C", "i":
		default:
			t.Fatalf("ph %q", e.Ph)
		}
	}
	checkNesting(t, tracks)
	checkFlows(t, tracks, flows)
	slicesOf = map[string][]span{}
	for at, all := range tracks {
		name := processes[at.pid] + "/" + names[at] // several tracks may have it
		slicesOf[name] = append(slicesOf[name], all...)
	}
	for _, all := range slicesOf {
		slices.SortFunc(all, func(a, b span) int { return int(a.start - b.start) })
	}
	return slicesOf, flows
}

// checkNesting: a slice is in the one around it.
func checkNesting(t *testing.T, tracks map[track][]span) {
	t.Helper()
	for at, all := range tracks {
		slices.SortFunc(all, func(a, b span) int {
			if a.start != b.start {
				return int(a.start - b.start)
			}
			return int(b.end - a.end)
		})
		var around []span
		for _, s := range all {
			require.Less(t, s.start, s.end, "%v %s", at, s.name)
			for len(around) > 0 && around[len(around)-1].end <= s.start {
				around = around[:len(around)-1]
			}
			if n := len(around); n > 0 {
				require.LessOrEqual(t, s.end, around[n-1].end, "%v: %s leaves %s", at, s.name, around[n-1].name)
			}
			around = append(around, s)
		}
	}
}

// checkFlows: each flow has a start and an end, in the order of time, within slices.
func checkFlows(t *testing.T, tracks map[track][]span, flows map[int][]entry) {
	t.Helper()
	for id, steps := range flows {
		last := int64(-1)
		for i, e := range steps {
			want := "t"
			if i == 0 {
				want = "s"
			} else if i == len(steps)-1 {
				want = "f"
			}
			require.Equal(t, want, e.Ph, "flow %d, step %d of %d", id, i, len(steps))
			ts := nanos(t, e.Ts)
			require.LessOrEqual(t, last, ts, "flow %d, step %d", id, i)
			last = ts
			require.True(t, slices.ContainsFunc(tracks[track{e.Pid, e.Tid}], func(s span) bool { return s.start <= ts && ts < s.end }),
				"flow %d: step %v is in no slice", id, e)
		}
		require.Greater(t, len(steps), 1, "flow %d", id)
	}
}

// written returns the document of a log.
func written(t *testing.T, log []byte) []byte {
	t.Helper()
	l, err := eventlog.NewReader(bytes.NewReader(log))
	require.NoError(t, err)
	var b bytes.Buffer
	require.NoError(t, timeline.Write(&b, l))
	return b.Bytes()
}

// composed returns the log of a small frame on a board.
func composed(t *testing.T, selector string, q testbench.Queues) []byte {
	t.Helper()
	plan, err := compose.PlanOf(compose.Options{Width: 64, Height: 48, Contexts: 2, Seed: 1}, nil)
	require.NoError(t, err)
	var log bytes.Buffer
	_, err = session.OnBoard(selector, testbench.HostDrivers(), testbench.Options{Queues: q, Record: func(h eventlog.Header) (events.Sink, error) {
		return eventlog.NewWriter(&log, h)
	}}, plan)
	require.NoError(t, err)
	return log.Bytes()
}

// The timeline of a run has each track, and each submission goes from the call to the end.
func TestRun(t *testing.T) {
	for _, tt := range []struct {
		selector string
		queues   testbench.Queues
	}{
		{"emu", testbench.Queues{}},
		{"emu?config=full", testbench.Queues{Use: true}},
	} {
		t.Run(tt.selector, func(t *testing.T) { checkRun(t, composed(t, tt.selector, tt.queues)) })
	}
}

func checkRun(t *testing.T, log []byte) {
	t.Helper()
	all, flows := check(t, written(t, log))
	for _, name := range []string{
		"application 1/thread 1", "system/system", "queues/paging, node 1: software", "queues/paging, node 1: hardware",
		"nodes/node 0", "nodes/node 1", "DMA/DMA of node 0", "DMA/DMA of node 1", "interrupts/message 0", "interrupts/interrupt routine", "interrupts/DPC",
	} {
		assert.NotEmpty(t, all[name], name)
	}
	require.NotEmpty(t, flows)
	reported := 0
	for id, steps := range flows {
		var names []string
		for _, s := range steps {
			names = append(names, s.Args["step"].(string))
		}
		want := []string{"call", "queue", "submit", "executed", "message", "report", "retire"}
		if slices.Contains(names, "report") {
			reported++
		} else {
			want = slices.Delete(want, 5, 6) // the report of a later fence retires it
		}
		assert.Equal(t, want, names, "flow %d", id)
	}
	assert.Greater(t, 2*reported, len(flows))
}

// logOf returns a log of events.
func logOf(t *testing.T, h eventlog.Header, all ...eventlog.Event) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := eventlog.NewWriter(&b, h)
	require.NoError(t, err)
	for _, e := range all {
		w.Add(e)
	}
	require.NoError(t, w.Flush())
	return b.Bytes()
}

// at returns an event of a thread with a time and a cause.
func at(e eventlog.Event, time uint64, thread uint32, cause uint64) eventlog.Event {
	e.Time, e.Thread, e.Cause = time, thread, cause
	if thread != 0 {
		e.Process = 1
	}
	return e
}

// Any part of a log gives a document with whole slices and flows, as that of a run that
// crashed, or of a ring.
func TestParts(t *testing.T) {
	l, err := eventlog.NewReader(bytes.NewReader(composed(t, "emu", testbench.Queues{})))
	require.NoError(t, err)
	var all []eventlog.Event
	var e eventlog.Event
	for err = l.Next(&e); err == nil; err = l.Next(&e) {
		c := e.Clone()
		all = append(all, c.WithText(c.Text()))
	}
	part := func(from, to int) []eventlog.Event {
		some := slices.Clone(all[from:to])
		for i := range some {
			some[i].Cause -= min(some[i].Cause, uint64(from))
		}
		return some
	}
	require.True(t, errors.Is(err, io.EOF))
	const parts = 16
	for n := range parts {
		from, to := n*len(all)/parts, min(len(all), (n+3)*len(all)/parts)
		h := eventlog.Header{Hz: 100e6, Observed: n%2 == 0}
		check(t, written(t, logOf(t, h, part(from, to)...)))
		check(t, written(t, logOf(t, h, part(0, to)...)))
		check(t, written(t, logOf(t, h, part(from, len(all))...)))
	}
}

// A node without observations works from the submission, or from the end of the work before it,
// to the report.
func TestUnobserved(t *testing.T) {
	queue := func(n uint64) eventlog.Event {
		return eventlog.New(eventlog.Queue, n, 0, n, 0x10, 0x1000*n, 0, 0x20).WithText("render")
	}
	all, _ := check(t, written(t, logOf(t, eventlog.Header{Hz: 1e9},
		at(eventlog.New(eventlog.Call, 1).WithText("Draw"), 100, 1, 0),
		at(queue(1), 200, 1, 1),
		at(eventlog.New(eventlog.Submit, 1), 300, 1, 1),
		at(queue(2), 400, 1, 1),
		at(eventlog.New(eventlog.Submit, 2), 500, 1, 1),
		at(eventlog.New(eventlog.CallEnd), 600, 1, 1),
		at(eventlog.New(eventlog.Report, 1, 0, 1), 700, 0, 0),
		at(eventlog.New(eventlog.Report, 2, 0, 2), 900, 0, 0),
		at(eventlog.New(eventlog.Retire, 1), 1000, 0, 0),
		at(eventlog.New(eventlog.Retire, 2), 1100, 0, 0),
	)))
	assert.Equal(t, map[string][]span{
		"application 1/thread 1":                {{"Draw", 100, 600}},
		"queues/context 0x10, node 0: software": {{"1 render", 200, 300}, {"2 render", 400, 500}},
		"queues/context 0x10, node 0: hardware": {{"1 render", 300, 1001}, {"2 render", 500, 1101}},
		"nodes/node 0":                          {{"1 render", 300, 700}, {"2 render", 700, 900}},
	}, all)
}

// Without observations a write of a fence ends the work, unless two nodes have that fence. A fence
// ends the work before it too.
func TestFences(t *testing.T) {
	queue := func(n, node, fence uint64) eventlog.Event {
		return eventlog.New(eventlog.Queue, n, node, fence, 0x10, 0x1000*n, 0, 0x20).WithText("render")
	}
	submit := func(n uint64) eventlog.Event { return eventlog.New(eventlog.Submit, n) }
	fence := func(value uint64) eventlog.Event { return eventlog.New(eventlog.Memory, 0x100, 8, value) }
	all, flows := check(t, written(t, logOf(t, eventlog.Header{Hz: 1e9},
		at(queue(1, 0, 6), 100, 0, 0), at(submit(1), 110, 0, 0), at(queue(2, 0, 7), 120, 0, 0), at(submit(2), 130, 0, 0),
		at(queue(3, 0, 8), 140, 0, 0), at(submit(3), 150, 0, 0), at(queue(4, 1, 8), 160, 0, 0), at(submit(4), 170, 0, 0),
		at(fence(7), 200, 0, 0), at(eventlog.New(eventlog.Message, 0), 210, 0, 0),
		at(fence(8), 300, 0, 0), at(fence(99), 310, 0, 0),
		at(eventlog.New(eventlog.Report, 3, 0, 8), 400, 0, 0), at(eventlog.New(eventlog.Retire, 4), 500, 0, 0),
	)))
	assert.Equal(t, []span{{"2 submissions, the last 2 render", 110, 200}, {"3 render", 200, 400}}, all["nodes/node 0"])
	assert.Equal(t, []span{{"4 render", 170, 500}}, all["nodes/node 1"])
	var second []string
	for _, s := range flows[2] {
		second = append(second, s.Args["step"].(string)+" "+s.Ts.String())
	}
	require.Len(t, second, 5)
	assert.Equal(t, []string{"queue 0.120", "submit 0.130", "executed 0.130", "message 0.210"}, second[:4])
}

// Work of the host takes no time of the device: each event is a nanosecond after the one before. Times
// that go back are those of a second system.
func TestTimes(t *testing.T) {
	call := func(n uint64) eventlog.Event { return eventlog.New(eventlog.Call, n).WithText(fmt.Sprint("call ", n)) }
	all, _ := check(t, written(t, logOf(t, eventlog.Header{Hz: 50e6},
		at(call(1), 10, 1, 0), at(call(2), 10, 1, 1), at(eventlog.New(eventlog.CallEnd), 10, 1, 2), at(eventlog.New(eventlog.CallEnd), 10, 1, 1),
		at(call(3), 5, 1, 0), at(eventlog.New(eventlog.CallEnd), 10, 1, 5),
	)))
	assert.Equal(t, map[string][]span{"application 1/thread 1": {{"call 1", 200, 203}, {"call 2", 201, 202}, {"call 3", 303, 403}}}, all)
}

// Another board begins at 0 with its own clock, and its submissions and calls are others.
func TestBoards(t *testing.T) {
	open := func(hz uint64) eventlog.Event { return eventlog.New(eventlog.Open, hz, 0).WithText("emu") }
	queue := eventlog.New(eventlog.Queue, 1, 0, 1, 0x10).WithText("render")
	all, flows := check(t, written(t, logOf(t, eventlog.Header{Hz: 1e9},
		open(1e9), at(eventlog.New(eventlog.Call, 1).WithText("one"), 100, 1, 0), at(queue, 200, 1, 2),
		open(1e8), at(queue, 50, 0, 0), at(eventlog.New(eventlog.Retire, 1), 60, 0, 0),
	)))
	assert.Equal(t, []span{{"one", 100, 202}}, all["application 1/thread 1"])
	assert.Equal(t, []span{{"1 render", 200, 202}, {"1 render", 702, 803}}, all["queues/context 0x10, node 0: software"])
	assert.Len(t, flows, 2)
}

// Counters have what the log says.
func TestCounters(t *testing.T) {
	packet := eventlog.New(eventlog.Packet, 1)
	packet.Data, _ = pkt.Copy{Bytes: 48}.Append(nil)
	var got []string
	for _, e := range parsed(t, written(t, logOf(t, eventlog.Header{Hz: 1e9},
		eventlog.New(eventlog.Place, 7, 1, 0, 4096), eventlog.New(eventlog.Place, 8, 2, 0, 100),
		eventlog.New(eventlog.Queue, 1, 0, 1, 0x10), packet, eventlog.New(eventlog.Submit, 1), eventlog.New(eventlog.Retire, 1),
		eventlog.New(eventlog.Place, 9, 1, 0x1000, 512), eventlog.New(eventlog.Evict, 7, 1), eventlog.New(eventlog.Free, 9), eventlog.New(eventlog.Free, 8),
	))) {
		if e.Ph == "C" {
			got = append(got, fmt.Sprint(e.Name, " ", e.Args))
		}
	}
	assert.Equal(t, []string{
		"VRAM in use map[bytes:4096]", "queue depth, node 0 map[hardware:0 software:1]", "queue depth, node 0 map[hardware:1 software:0]",
		"queue depth, node 0 map[hardware:0 software:0]", "bytes moved map[bytes:48]",
		"VRAM in use map[bytes:4608]", "VRAM in use map[bytes:512]", "VRAM in use map[bytes:0]",
	}, got)
}

// Random events, which make no sense, give a document with whole slices and flows.
func TestRandom(t *testing.T) {
	names := []string{"DxgkDdiInterruptRoutine", "DxgkDdiDpcRoutine", "pfnFlush"}
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 0))
		var all []eventlog.Event
		var clock uint64
		for id := uint64(1); id <= 300; id++ {
			kind := eventlog.Table[r.IntN(len(eventlog.Table))].Kind
			e := eventlog.Event{Kind: kind, Cause: r.Uint64N(id), Thread: r.Uint32N(3)}
			for i := range e.Fields {
				e.Fields[i] = r.Uint64N(8)
			}
			if kind == eventlog.DDI {
				e = e.WithText(`{"name":"` + names[r.IntN(len(names))] + `"}`)
			}
			if clock += r.Uint64N(5); r.IntN(100) == 0 {
				clock = 0
			}
			e.Time = clock
			all = append(all, e)
		}
		if !t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			check(t, written(t, logOf(t, eventlog.Header{Hz: 1e8, Observed: seed%2 == 0}, all...)))
		}) {
			return
		}
	}
}
