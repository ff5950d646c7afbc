package testbench

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/testbench/eventlog"
	"github.com/hilgpu/hilgpu/testbench/why"
)

// regionCopy is a line of the trace of pfnResourceCopyRegion.
type regionCopy struct {
	Context int
	Name    string
	Args    struct {
		X, Y int
		Box  struct{ Left, Top, Right, Bottom int }
	}
}

// Each copy that a deferred context recorded leads to the packet with its rectangles.
func TestRecordedCopies(t *testing.T) {
	all, _ := logOf(t, "emu", Queues{})
	r := rerun(t, all)
	copies := 0
	for _, e := range all {
		var line regionCopy
		if e.Kind != eventlog.DDI || json.Unmarshal([]byte(e.Text()), &line) != nil || line.Context == 0 || line.Name != "pfnResourceCopyRegion" {
			continue
		}
		call := all[e.Cause-1]
		require.Equal(t, eventlog.Call, call.Kind)
		a, err := r.Call(call.Fields[0])
		require.NoError(t, err)
		b := line.Args.Box
		want := fmt.Sprintf("its packet is COPY_2D srcx=%d srcy=%d dstx=%d dsty=%d w=%d h=%d at IB+", b.Left, b.Top, line.Args.X, line.Args.Y, b.Right-b.Left, b.Bottom-b.Top)
		assert.Contains(t, a.Text(), want)
		assert.Equal(t, 1, strings.Count(a.Text(), "its packet is"))
		assert.Equal(t, "it was recorded, and its work has ended", a.Verdict)
		copies++
	}
	assert.Greater(t, copies, 40)
}

// rerun reads events as a log.
func rerun(t *testing.T, all []eventlog.Event) *why.Run {
	t.Helper()
	ring := eventlog.NewRing(64<<20, eventlog.Header{})
	for _, e := range all {
		ring.Add(e.WithText(e.Text()))
	}
	return runOf(t, ring)
}
