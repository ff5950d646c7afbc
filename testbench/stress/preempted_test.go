package stress

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/testbench/eventlog"
)

// The answer about a fence names the call that the log has as the cause of the buffer, also after the kernel took the buffer
// back from a node, often and together with others of its context.
func TestCallsOfPreemptedWork(t *testing.T) {
	o := small(t, "emu?vram=32KiB")
	o.Processes, o.Contexts, o.Rounds, o.Seed, o.System.Sanitize = 4, 1, 1, 5, false
	_, log := logged(t, o)
	type fence struct{ node, number uint32 }
	causes, calls := map[uint64]uint64{}, map[uint64]string{} // by event
	jobs, subs := map[uint64]string{}, map[uint64]string{}    // calls by DMA buffer and by submission
	want, twice := map[fence]string{}, 0
	fences, onward := map[uint64]fence{}, map[uint64]bool{}
	callOf := func(e uint64) string {
		for ; e != 0; e = causes[e] {
			if calls[e] != "" {
				return calls[e]
			}
		}
		return ""
	}
	run := readLog(t, log, func(e *eventlog.Event) {
		causes[e.ID] = e.Cause
		switch e.Kind {
		case eventlog.Call:
			calls[e.ID] = fmt.Sprintf("call %d, %s", e.Fields[0], e.Text())
		case eventlog.Pending:
			jobs[e.Fields[0]] = callOf(e.ID)
		case eventlog.Queue:
			call, of := jobs[e.Fields[7]], fence{uint32(e.Fields[1]), uint32(e.Fields[2])}
			if e.Fields[7] == 0 {
				call = callOf(e.ID)
			}
			subs[e.Fields[0]], fences[e.Fields[0]], want[of] = call, of, call
		case eventlog.Continue:
			again := e.Fields[1]
			subs[e.Fields[0]], want[fences[e.Fields[0]]] = subs[again], subs[again]
			if onward[e.Fields[0]] = true; onward[again] {
				twice++
			}
		}
	})
	assert.Positive(t, twice, "submissions that were preempted more than once")
	asked := 0
	for of, call := range want {
		if call == "" {
			continue
		}
		asked++
		a, err := run.Fence(int(of.node), of.number)
		require.NoError(t, err)
		assert.True(t, strings.HasPrefix(a.Chain[0].What, call), "fence %v: want %s:\n%s", of, call, a.Text())
		assert.NotContains(t, a.Cause, "was lost", "no doorbell was")
	}
	assert.Greater(t, asked, 100)
}
