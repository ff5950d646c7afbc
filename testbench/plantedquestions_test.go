package testbench

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
	"github.com/hilgpu/hilgpu/testbench/eventlog"
	"github.com/hilgpu/hilgpu/testbench/why"
)

// facts are what a log of one board says, read without package why.
type facts struct {
	events   []eventlog.Event          // by number, from 1
	calls    map[uint64]eventlog.Event // by number of the call
	queued   []eventlog.Event
	in       map[uint64][2]uint64 // by submission: when it was in the hardware
	retired  map[uint64]bool
	places   []eventlog.Event // allocations, the miniport's memory and places in segments
	presents int              // that were retired
	aborts   []uint64         // times at which work may have ended otherwise
	stops    []eventlog.Event // stops and broken rules
}

// read takes an event of the log.
func (f *facts) read(e eventlog.Event) {
	f.events = append(f.events, e)
	n := e.Fields[0]
	switch e.Kind {
	case eventlog.Call:
		f.calls[n] = e
	case eventlog.Queue:
		f.queued = append(f.queued, e)
	case eventlog.Submit:
		f.in[n] = [2]uint64{e.Time, 1<<64 - 1}
	case eventlog.Retire:
		f.retired[n], f.in[n] = true, [2]uint64{f.in[n][0], e.Time}
		for _, q := range f.queued {
			if q.Fields[0] == n && q.Text() == "DxgkDdiPresent" {
				f.presents++
			}
		}
	case eventlog.Allocate, eventlog.DriverMemory, eventlog.Place:
		f.places = append(f.places, e)
	case eventlog.Reset, eventlog.Stop, eventlog.Preempted, eventlog.Cancelled:
		f.aborts = append(f.aborts, e.Time)
	}
	if e.Kind == eventlog.Stop || e.Kind == eventlog.Broken {
		f.stops = append(f.stops, e)
	}
}

// factsOf reads a log.
func factsOf(t *testing.T, log []byte) *facts {
	t.Helper()
	f := &facts{events: make([]eventlog.Event, 1), calls: map[uint64]eventlog.Event{}, in: map[uint64][2]uint64{}, retired: map[uint64]bool{}}
	r, err := eventlog.NewReader(bytes.NewReader(log))
	require.NoError(t, err)
	for {
		var e eventlog.Event
		if err := r.Next(&e); err == io.EOF {
			return f
		} else {
			require.NoError(t, err)
		}
		require.EqualValues(t, len(f.events), e.ID, "the log has all events")
		f.read(e.Clone())
	}
}

// last returns the last event.
func (f *facts) last() eventlog.Event { return f.events[len(f.events)-1] }

// An inquiry asks a log ten questions of each kind and holds the answers against the facts.
type inquiry struct {
	*facts
	t     *testing.T
	run   *why.Run
	rng   *rand.Rand
	told  map[string]string // the answer to each question
	sound bool              // the run has no fault
}

// perKind is the number of questions of a kind: half of them about what the log has, if it has such a thing.
const perKind = 10

// inquire asks each kind of question of a log, of a run without a fault if it is sound.
func inquire(t *testing.T, log []byte, seed uint64, sound bool) {
	t.Helper()
	q := &inquiry{factsOf(t, log), t, runIn(t, bytes.NewReader(log)), rand.New(rand.NewPCG(seed, 22)), map[string]string{}, sound}
	for i := range perKind {
		there := i%2 == 0
		q.fault()
		q.fence(there)
		q.pixel(there)
		q.cycle(there)
		q.call(there)
		q.address(there)
	}
}

// answer checks what every answer has: a text, the events of the log with their times, and the same words each time. It
// returns nil for a question about something that the log does not have, which is an error of one line.
func (q *inquiry) answer(a *why.Answer, err error, there bool, what string) *why.Answer {
	q.t.Helper()
	if !there {
		require.ErrorIs(q.t, err, why.ErrQuestion, what)
		require.Nil(q.t, a, what)
		require.NotContains(q.t, err.Error(), "\n", what)
		return nil
	}
	require.NoError(q.t, err, what)
	q.run.Annotate(a, q.run)
	require.NotEmpty(q.t, a.Verdict, what)
	require.NotEmpty(q.t, a.Question, what)
	require.Equal(q.t, a.Missing == "", !slices.Contains(strings.Fields(a.Text()), "missing:"), "%s: %s", what, a.Text())
	for _, s := range a.Chain {
		require.NotEmpty(q.t, s.What, what)
		require.LessOrEqual(q.t, s.Time, q.last().Time, what)
		if s.Event != 0 {
			require.Less(q.t, s.Event, uint64(len(q.events)), what)
			require.Equal(q.t, q.events[s.Event].Time, s.Time, "%s: event %d", what, s.Event)
		}
	}
	if before := q.told[what]; before != "" {
		require.Equal(q.t, before, a.Text(), "%s again", what)
	}
	q.told[what] = a.Text()
	return a
}

// names checks that an answer names an event, with some words.
func (q *inquiry) names(a *why.Answer, event uint64, words, what string) {
	q.t.Helper()
	ok := slices.ContainsFunc(a.Chain, func(s why.Step) bool { return s.Event == event && strings.Contains(s.What, words) })
	require.True(q.t, ok, "%s: want event %d with %q: %s", what, event, words, a.Text())
}

// fault: a log in which the kernel has stopped, or a rule was broken, has a missing link.
func (q *inquiry) fault() {
	a := q.answer(q.run.Fault(), nil, true, "fault")
	if q.sound {
		require.Empty(q.t, a.Missing, a.Text())
	}
	if len(q.stops) > 0 {
		require.NotEmpty(q.t, a.Missing, a.Text())
		if a.Missing != why.MissingSubmit { // a mistake of the kernel, before the stop
			q.names(a, q.stops[0].ID, "", "fault")
		}
	}
}

// fence: the last submission with a fence is in the answer, and it has a missing link unless it has ended.
func (q *inquiry) fence(there bool) {
	node, fence := q.rng.IntN(4), q.rng.Uint32()
	if there = there && len(q.queued) > 0; there {
		of := q.queued[q.rng.IntN(len(q.queued))]
		node, fence = int(of.Fields[1]), uint32(of.Fields[2])
	}
	what := fmt.Sprintf("fence %d:%d", node, fence)
	a, err := q.run.Fence(node, fence)
	var last eventlog.Event
	for _, e := range q.queued {
		if e.Fields[1] == uint64(node) && e.Fields[2] == uint64(fence) {
			last, there = e, true
		}
	}
	if a = q.answer(a, err, there, what); a != nil {
		q.names(a, last.ID, "", what)
		ended := []string{""} // the kernel polls: work may end late, or without a write or a message
		if !q.sound {
			ended = append(ended, why.MissingFence, why.MissingMessage, why.MissingReport, why.MissingRetire)
		}
		if q.retired[last.Fields[0]] {
			require.Contains(q.t, ended, a.Missing, "%s: %s", what, a.Text())
		} else {
			require.NotEmpty(q.t, a.Missing, "%s: %s", what, a.Text())
		}
		if a.Missing == why.MissingMessage {
			require.False(q.t, q.messageFor(last.Fields[0]), a.Text())
		}
		require.Equal(q.t, fmt.Sprintf("fence %d of node %d", fence, node), a.Question)
	}
}

// messageFor reports whether an interrupt message arrived between the last write of the GPU to host memory before the end
// of a submission and that end.
func (q *inquiry) messageFor(serial uint64) (arrived bool) {
	for i := range q.events {
		switch e := &q.events[i]; e.Kind {
		case eventlog.Memory:
			arrived = false
		case eventlog.Message:
			arrived = true
		case eventlog.Retire:
			if e.Fields[0] == serial {
				return arrived
			}
		}
	}
	return false
}

// pixel: each pixel of the frame of smallPlan has an origin if a present was retired; others have none.
func (q *inquiry) pixel(there bool) {
	x, y := uint16(q.rng.IntN(40)), uint16(q.rng.IntN(30))
	if !there {
		x += 40
	}
	what := fmt.Sprintf("pixel %d,%d", x, y)
	a, err := q.run.Pixel(x, y)
	if x >= 40 && q.presents > 0 {
		require.ErrorContains(q.t, err, "; the last frame has 40 x 30 pixels", what)
	}
	if there && q.presents == 0 { // one may have written its fence
		there = err == nil
	}
	if a = q.answer(a, err, there, what); a != nil {
		require.NotEmpty(q.t, a.Chain, what)
		require.Equal(q.t, what, a.Question)
	}
}

// cycle: what was in the hardware at a clock is in the answer, and nothing that follows it.
func (q *inquiry) cycle(there bool) {
	at := q.events[1+q.rng.IntN(len(q.events)-1)].Time
	if q.rng.IntN(2) == 0 {
		at = q.rng.Uint64N(q.last().Time + 1)
	}
	if !there {
		at = q.last().Time + 1 + q.rng.Uint64N(1<<40)
	}
	what := fmt.Sprintf("cycle %d", at)
	a, err := q.run.Cycle(at)
	if a = q.answer(a, err, there, what); a == nil {
		return
	}
	for serial, span := range q.in {
		ended := slices.ContainsFunc(q.aborts, func(end uint64) bool { return end >= span[0] && end <= at })
		if span[0] <= at && at < span[1] && !ended {
			ok := slices.ContainsFunc(a.Chain, func(s why.Step) bool { return strings.HasPrefix(s.What, fmt.Sprintf("submission %d ", serial)) })
			require.True(q.t, ok, "%s: want submission %d: %s", what, serial, a.Text())
		}
	}
	for _, s := range a.Chain {
		require.True(q.t, s.Time <= at || len(q.queued) == 0, "%s: %s", what, a.Text())
	}
}

// call: a call of the log is found by its number.
func (q *inquiry) call(there bool) {
	all := slices.Sorted(maps.Keys(q.calls))
	n := uint64(len(all)) + 1 + q.rng.Uint64N(1000)
	if there = there && len(all) > 0; there {
		n = all[q.rng.IntN(len(all))]
	}
	what := fmt.Sprintf("call %d", n)
	a, err := q.run.Call(n)
	if a = q.answer(a, err, there, what); a != nil {
		c := q.calls[n]
		q.names(a, c.ID, "call ", what)
		require.Equal(q.t, fmt.Sprintf("call %d, %s", n, c.Text()), a.Question)
	}
}

// address: what the log has at an address is in the answer, by its event.
func (q *inquiry) address(there bool) {
	addr, of := uint64(1)<<61|q.rng.Uint64N(1<<60), eventlog.Event{} // no memory has such an address
	if there = there && len(q.places) > 0; there {
		of = q.places[q.rng.IntN(len(q.places))]
		n := sizeOf(of)
		addr = startOf(of) + [...]uint64{0, n - 1, q.rng.Uint64N(n)}[q.rng.IntN(3)]
	}
	what := "address " + pkt.FormatAddr(addr)
	a, err := q.run.Address(addr)
	if a = q.answer(a, err, there, what); a != nil {
		words := fmt.Sprintf("allocation %#x", of.Fields[0])
		if of.Kind == eventlog.DriverMemory {
			words = "memory of the miniport"
		}
		q.names(a, of.ID, words, what)
	}
}

// startOf and sizeOf return the GPU address and the bytes of memory, or of a place. Of memory that need not be contiguous
// it is the first page.
func startOf(e eventlog.Event) uint64 {
	switch e.Kind {
	case eventlog.DriverMemory:
		return pkt.Host | e.Fields[0]
	case eventlog.Allocate:
		return pkt.Host | e.Fields[3]
	}
	return e.Fields[2]
}

func sizeOf(e eventlog.Event) uint64 {
	switch {
	case e.Kind == eventlog.DriverMemory:
		return e.Fields[1]
	case e.Kind == eventlog.Allocate && len(e.Data) > 0:
		return min(e.Fields[2], 4096)
	case e.Kind == eventlog.Allocate:
		return e.Fields[2]
	}
	return e.Fields[3]
}

// Each question about the log of a planted fault has an answer that is true of the log, or an error of one line.
func TestQuestionsAboutPlantedFaults(t *testing.T) {
	tooltest.Long(t)
	all := slices.Concat(boardFaults(), linkFaults(), minidriverFaults(), droppedFaults(), hastyFaults(), otherFaults())
	require.GreaterOrEqual(t, len(all), 30)
	sound := map[string]bool{}
	for i, p := range all {
		t.Run(p.name, func(t *testing.T) { inquire(t, plantedLog(t, p), uint64(i), false) })
		board := p.sound()
		if !sound[board] {
			sound[board] = true
			t.Run("no fault, "+board, func(t *testing.T) { inquire(t, plantedLog(t, planted{board: board, verify: true}), uint64(i), true) })
		}
	}
}
