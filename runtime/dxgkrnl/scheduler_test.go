package dxgkrnl

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

// A DPC that runs inside BuildPagingBuffer does not call SubmitCommand, which is
// of the same synchronization class. The work that became ready is submitted
// later.
func TestNoSubmitInsideTheSchedulerClass(t *testing.T) {
	r := newRig(t, options{nodes: 2, capacity: 1})
	a, b, c := r.alloc(64, system), r.alloc(64, local), r.alloc(64, local)
	r.gpu.auto = false
	r.ok(r.submit(r.context(1), fill(a, 0, 64, 2))) // in the hardware of the paging node
	r.render(fill(b, 0, 64, 3))                     // its paging buffer waits for room
	inside := -1
	r.mini.build = func(kmddi.BuildPagingBuffer) (out kmddi.BuildPagingBufferOut, s ddi.Status, done bool) {
		before := len(r.mini.log)
		r.gpu.complete(1)
		r.mini.read(r.thread, regStatus)
		r.mini.build = nil
		inside = count(r.mini.log[before:], "Submit")
		assert.Equal(t, 1, count(r.mini.log[before:], "NotifyDpc"), "the first buffer has completed")
		return out, s, false
	}
	r.ok(r.submit(r.context(0), fill(c, 0, 64, 4)))
	assert.Zero(t, inside)
	r.gpu.auto = true
	r.wait()
	assert.Equal(t, repeat(2, 64), r.read(a))
	assert.Equal(t, repeat(3, 64), r.read(b))
	assert.Equal(t, repeat(4, 64), r.read(c))
	r.finish()
}

// count returns the number of lines that start with a word.
func count(lines []string, word string) (n int) {
	for _, l := range lines {
		if strings.HasPrefix(l, word) {
			n++
		}
	}
	return n
}

// Each node has its own first fence, and the fences wrap around.
func TestFirstFences(t *testing.T) {
	r := newRig(t, options{nodes: 2, first: 0xffffffff, step: 1 << 30})
	a, b := r.alloc(64, system), r.alloc(64, system)
	other := r.context(1)
	for range 2 {
		r.render(fill(a, 0, 64, 1))
		r.ok(r.submit(other, fill(b, 0, 64, 2)))
	}
	r.wait()
	assert.Equal(t, []string{
		"Submit buffer fence=4294967295 node=0", "Submit buffer fence=1073741823 node=1",
		"Submit buffer fence=0 node=0", "Submit buffer fence=1073741824 node=1",
	}, r.logged("Submit"))
	r.finish()
}

// A miniport on which no fence has completed returns 0, although the fences start
// elsewhere, or were elsewhere before a reset. The kernel then finds a hang.
func TestNoFenceHasCompleted(t *testing.T) {
	r := newRig(t, options{first: 0xfffffff0})
	a := r.alloc(64, system)
	r.mini.query = func(*ddi.Thread, uint32) (uint32, ddi.Status) { return 0, ddi.StatusSuccess }
	hang := func() {
		r.gpu.auto = false
		r.render(fill(a, 0, 64, 1))
		assert.Equal(t, ddi.StatusDeviceRemoved, r.thunks.WaitForIdle(r.thread, r.dev))
		var e *DeviceError
		require.ErrorAs(t, r.kernel.Err(), &e)
		assert.Equal(t, Timeout, e.Kind)
	}
	hang()
	require.NoError(t, r.kernel.Recover(r.thread))
	r.another()
	a = r.alloc(64, system)
	hang()
}
