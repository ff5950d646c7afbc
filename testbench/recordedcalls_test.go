package testbench

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/d3d11"
	"github.com/hilgpu/hilgpu/testbench/eventlog"
	"github.com/hilgpu/hilgpu/testbench/events"
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

// A copy in a list that another list executes leads to its packet, after what the other list has before it. So does
// what the other list has after it.
func TestNestedLists(t *testing.T) {
	ring := eventlog.NewRing(64<<20, eventlog.Header{})
	s, err := Open("emu", HostDrivers(), Options{Record: func(eventlog.Header) (events.Sink, error) { return ring, nil }})
	require.NoError(t, err)
	dev, ctx, err := s.CreateDevice()
	require.NoError(t, err)
	var bufs []*d3d11.Buffer
	for i := range uint32(3) {
		b, err := dev.CreateBuffer(d3d11.BufferDesc{ByteWidth: 64 << i, BindFlags: d3d11.BindVertexBuffer}, nil)
		require.NoError(t, err)
		bufs = append(bufs, b)
	}
	region := func(c *d3d11.Context, from uint32) {
		c.CopySubresourceRegion(bufs[1], 0, from, 0, 0, bufs[0], 0, &d3d11.Box{Left: from, Right: from + 8, Bottom: 1, Back: 1})
	}
	inner, outer := deferred(t, dev), deferred(t, dev)
	region(inner, 16)
	region(inner, 24)
	l, err := inner.FinishCommandList(false)
	require.NoError(t, err)
	region(outer, 0)
	outer.ExecuteCommandList(l, false)
	region(outer, 40)
	l, err = outer.FinishCommandList(false)
	require.NoError(t, err)
	ctx.ExecuteCommandList(l, false)
	ctx.Flush()
	require.NoError(t, s.WaitForIdle())
	require.NoError(t, s.Close())

	r, n := runOf(t, ring), 0
	log, err := eventlog.NewReader(ringReader(t, ring))
	require.NoError(t, err)
	var e eventlog.Event
	for wants := []int{16, 24, 0, 40}; log.Next(&e) == nil; {
		if e.Kind != eventlog.Call || e.Text() != "CopySubresourceRegion" {
			continue
		}
		a, err := r.Call(e.Fields[0])
		require.NoError(t, err)
		assert.Equal(t, "it was recorded, and its work has ended", a.Verdict)
		assert.Equal(t, 1, strings.Count(a.Text(), "its packet is"), a.Text())
		assert.Regexp(t, fmt.Sprintf(`its packet is COPY src=VRAM\+0x\w*%x dst=VRAM\+0x\w*%02x bytes=8 at IB`, wants[n], wants[n]), a.Text())
		n++
	}
	assert.Equal(t, 4, n)
}

func deferred(t *testing.T, dev *d3d11.Device) *d3d11.Context {
	c, err := dev.CreateDeferredContext(0)
	require.NoError(t, err)
	return c
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
