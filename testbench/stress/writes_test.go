package stress

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
	"github.com/hilgpu/hilgpu/testbench/eventlog"
	"github.com/hilgpu/hilgpu/testbench/why"
)

// A span is what a descriptor writes.
type span struct{ at, bytes uint64 }

// written are the writes of the nodes in a log, as the descriptors of the DMA engine say: what has each packet that was executed, by the number of
// that event, and what has each that was not.
type written struct {
	executed, stopped map[uint64][]span
	aborted, taken    int // submissions that left the hardware before their end
}

// writesIn reads the writes of a log. It knows nothing of packets and surfaces.
func writesIn(t *testing.T, log []byte) (*why.Run, written) {
	t.Helper()
	type place struct{ submission, offset uint64 }
	w := written{executed: map[uint64][]span{}, stopped: map[uint64][]span{}}
	packets, events, again := map[uint64]place{}, map[place]uint64{}, map[uint64]uint64{}
	r := readLog(t, log, func(e *eventlog.Event) {
		switch e.Kind {
		case eventlog.Packet:
			at := place{e.Fields[0], e.Fields[1]}
			packets[e.ID], events[at] = at, e.ID
		case eventlog.Continue:
			again[e.Fields[0]] = e.Fields[1]
		case eventlog.Descriptor:
			w.stopped[e.Cause] = append(w.stopped[e.Cause], span{e.Fields[2], e.Fields[4]})
		case eventlog.Executed:
			at := packets[e.Cause]
			all := w.stopped[e.Cause]
			delete(w.stopped, e.Cause)
			for before := again[at.submission]; before != 0; before = again[before] { // what a packet did before it was stopped
				all = append(all, w.stopped[events[place{before, at.offset}]]...)
			}
			w.executed[e.ID] = all
		case eventlog.Reset:
			w.aborted++
		case eventlog.Preempted:
			w.taken++
		default:
		}
	})
	return r, w
}

// at returns the events that wrote an address, in order.
func at(writes map[uint64][]span, addr uint64) (all []uint64) {
	for event, spans := range writes {
		if slices.ContainsFunc(spans, func(s span) bool { return addr-s.at < s.bytes }) {
			all = append(all, event)
		}
	}
	slices.Sort(all)
	return all
}

// The answer about an address names each write of it, and no other, also where nodes were preempted and reset.
func TestEveryWriteIsNamed(t *testing.T) {
	tooltest.Long(t)
	aborted, taken, stopped := 0, 0, 0
	for seed := range uint64(2) {
		o := small(t, "emu?vram=64KiB")
		o.Rounds, o.Frames, o.Hang, o.Seed, o.System.Sanitize = 1, 2, 0.04, 18+seed, false
		_, log := logged(t, o)
		r, w := writesIn(t, log)
		aborted, taken, stopped = aborted+w.aborted, taken+w.taken, stopped+len(w.stopped)
		rng := rand.New(rand.NewPCG(seed, 1))
		var all []span
		for _, writes := range []map[uint64][]span{w.executed, w.stopped} {
			for _, event := range slices.Sorted(maps.Keys(writes)) {
				all = append(all, writes[event]...)
			}
		}
		for range 60 {
			s := all[rng.IntN(len(all))]
			checkWrites(t, r, w, s.at+rng.Uint64N(s.bytes))
		}
		for _, spans := range w.stopped { // of packets in which a node stopped
			for _, s := range spans {
				checkWrites(t, r, w, s.at+rng.Uint64N(s.bytes))
			}
		}
	}
	for _, n := range []int{aborted, taken, stopped} {
		assert.Positive(t, n, "submissions that were aborted and preempted, and packets in which a node stopped")
	}
}

// checkWrites compares the answer about an address with the writes of the log. An answer has the last 20.
func checkWrites(t *testing.T, r *why.Run, w written, addr uint64) {
	t.Helper()
	a, err := r.Address(addr)
	require.NoError(t, err, "%#x", addr)
	var named []uint64
	perhaps, first := 0, uint64(0)
	for _, s := range a.Chain {
		switch {
		case strings.HasPrefix(s.What, "written by the fence"):
		case strings.HasPrefix(s.What, "written by "):
			named = append(named, s.Event)
		case strings.HasPrefix(s.What, "perhaps written by a part of "):
			perhaps++
		}
		if first == 0 && (strings.HasPrefix(s.What, "written by ") || strings.HasPrefix(s.What, "the CPU may write")) {
			first = s.Event
		}
	}
	want := at(w.executed, addr)
	if slices.ContainsFunc(a.Notes, func(note string) bool { return strings.HasPrefix(note, "earlier writes that are left out: ") }) {
		want = slices.DeleteFunc(want, func(event uint64) bool { return event < first })
	}
	assert.Equal(t, want, named, "%#x:\n%s", addr, a.Text())
	assert.Len(t, at(w.stopped, addr), perhaps, "%#x:\n%s", addr, a.Text())
}
