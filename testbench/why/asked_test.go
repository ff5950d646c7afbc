package why

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/testbench/eventlog"
)

// The fence of a preemption is no submission. A reset of the node that names it says that the node did not stop.
func TestFenceOfAPreemption(t *testing.T) {
	reset := happening{Event: eventlog.New(eventlog.Reset, 0, 0, 11).WithText("dxgkrnl: GPU time-out: node 0, fence 12: STATUS_IO_TIMEOUT")}
	reset.ID, reset.Time = 90, 900
	r := &Run{asks: []asked{{Point{50, 500}, 0, 12}, {Point{60, 600}, 1, 13}}, idle: []happening{reset}}
	a, err := r.Fence(0, 12)
	require.NoError(t, err)
	assert.Equal(t, MissingPreempt, a.Missing)
	assert.Len(t, a.Chain, 2)
	a, err = r.Fence(-1, 13)
	require.NoError(t, err)
	assert.Empty(t, a.Missing)
	assert.Equal(t, "fence 13 of node 1", a.Question)
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
