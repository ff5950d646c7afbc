package dxgkrnl

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

// A reset aborts one fence, and the device of that work is lost. Earlier work has completed, and later work
// goes on. If the node has no such fence in the hardware, the reset aborts nothing. This may happen once for
// the first submission of the node.
//
// docs/properties.md: T5.
func TestWhatAResetAborts(t *testing.T) {
	for _, tt := range []struct {
		name   string
		last   uint64
		noted  bool // the node has reported the completion of it
		before bool // a reset has aborted nothing before
		done   bool
		lost   []bool // of the devices of the two submissions
		fences uint64 // that have completed
	}{
		{"the first", 1, false, false, true, []bool{true, false}, 0},
		{"the second", 2, false, false, true, []bool{false, true}, 1},
		{"none", 0, false, false, true, []bool{false, false}, 0},
		{"none, again", 0, false, true, false, []bool{false, false}, 0},
		{"the first has completed", 1, true, false, true, []bool{false, false}, 1},
		{"both have completed", 2, true, false, true, []bool{false, false}, 2},
		{"the first, of which a reset has aborted nothing", 1, false, true, true, []bool{true, false}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			q := newQueues(t, 2, options{resets: true})
			q.kernel.caps.HwQueuePacketCap, q.gpu.capacity = 2, 2
			q.work(0)
			q.work(1)
			k, n := q.kernel, &q.kernel.nodes[0]
			require.Len(t, n.hardware, 2)
			n.hardware[0].fruitless = tt.before
			n.faulted = &fault{}
			if tt.noted {
				n.noted = []kmddi.NotifyInterrupt{{InterruptType: kmddi.InterruptDMACompleted, FenceID: uint32(tt.last)}}
			}
			e := &DeviceError{Kind: Timeout, Fence: 1, Cause: ddi.StatusIOTimeout}
			before, resets := k.Stats().Fences, k.Stats().NodeResets
			q.gpu.queues[0] = nil
			assert.Equal(t, tt.done, k.abort(q.thread, n, tt.last, e))
			assert.Equal(t, before+tt.fences, k.Stats().Fences)
			var lost []bool
			for _, p := range q.devices {
				err := k.Lost(p.dev)
				lost = append(lost, err != nil)
				if err != nil {
					assert.Same(t, e, err)
					assert.EqualValues(t, tt.last, e.Fence)
				}
			}
			assert.Equal(t, tt.lost, lost)
			if !tt.done {
				assert.NotEmpty(t, n.hardware)
				assert.Equal(t, resets, k.Stats().NodeResets)
				return
			}
			assert.Equal(t, resets+1, k.Stats().NodeResets)
			assert.Empty(t, n.hardware)
			assert.Equal(t, []any{tt.last, tt.last, (*fault)(nil)}, []any{n.completed, n.reported, n.faulted})
			if tt.last == 0 {
				c := k.handles.get(q.contexts[0].Context).(*context)
				assert.True(t, c.pending[0].fruitless)
			}
			q.mini.last[0], n.noted = uint32(tt.last), nil
			le.PutUint32(q.gpu.bar0[regFence:], uint32(tt.last))
			q.gpu.auto = true
			for i, p := range q.devices {
				if !lost[i] {
					p.wait()
				}
			}
			q.finish()
		})
	}
}

// A paging buffer that a reset aborts stops the adapter.
func TestAbortedPagingBuffer(t *testing.T) {
	q := newQueues(t, 1, options{resets: true})
	p := q.devices[0]
	p.render(fill(p.alloc(64, local), 0, 64, 1))
	n := &q.kernel.nodes[0]
	require.NotNil(t, n.hardware[0].paging)
	assert.False(t, q.kernel.abort(q.thread, n, 1, &DeviceError{}))
	assert.Zero(t, q.kernel.Stats().NodeResets)
}

// The time that lost work has taken is charged, and the time of the next one begins.
func TestTimeOfAbortedWork(t *testing.T) {
	q := newQueues(t, 2, options{resets: true})
	q.kernel.caps.HwQueuePacketCap, q.gpu.capacity = 2, 2
	q.work(0)
	q.work(1)
	k, n := q.kernel, &q.kernel.nodes[0]
	c := k.handles.get(q.contexts[0].Context).(*context)
	used, next := c.used, n.hardware[1]
	n.hardware[0].began = q.gpu.now
	q.gpu.now += 70
	k.abortWork(n, &DeviceError{Kind: Timeout, Cause: ddi.StatusIOTimeout})
	assert.Equal(t, used+70, c.used)
	assert.Equal(t, q.gpu.now, next.began)
	assert.Equal(t, []*submission{next}, n.hardware)
	assert.Equal(t, ddi.StatusDeviceRemoved, c.device.removed)
	assert.True(t, c.idle())
}
