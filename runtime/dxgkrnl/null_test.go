package dxgkrnl

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// null is a command with a patch location whose element of the allocation list is NULL, which is
// legal (D3DDDI_ALLOCATIONLIST).
func null(write bool) command { return command{op: opNop, uses: []use{{dstAt, 0, 0, write}}} }

// Work with patches of NULL is ordered, split, stopped and goes on like other work.
func TestNullInTheAllocationList(t *testing.T) {
	q := newQueues(t, 2, options{preempts: true, vram: 8192})
	q.priority(1, 1)
	low, high := q.devices[0], q.devices[1]
	a, b, whole, c := low.alloc(8192, local), low.alloc(8192, local), high.alloc(8192, local), low.alloc(64, system)
	low.render(null(false), fill(a, 0, 64, 1), null(true), fill(b, 0, 64, 2), null(false)) // in two parts
	second := low.context(0)
	low.ok(low.submit(second, null(true), copyTo(c, 0, a, 0, 64), null(true)))
	high.render(null(true), fill(whole, 0, 64, 9), null(false))
	q.gpu.auto = true
	assert.Equal(t, repeat(9, 64), high.read(whole)[:64])
	low.wait()
	assert.Equal(t, repeat(1, 64), low.read(c))
	assert.Equal(t, repeat(2, 64), low.read(b)[:64])
	q.finish()
}

// Stopped work with patches of NULL finds its places again.
func TestStoppedWorkWithNull(t *testing.T) {
	q := newQueues(t, 2, options{preempts: true, vram: 8192})
	q.priority(1, 1)
	low, high := q.devices[0], q.devices[1]
	a, whole := low.alloc(8192, local), high.alloc(8192, local)
	q.gpu.auto = true
	low.render(fill(a, 0, 64, 1))
	low.wait()
	q.gpu.auto = false
	low.render(append([]command{null(true), null(false)}, halves(a, 3)...)...)
	high.render(fill(whole, 0, 64, 9))
	require.EqualValues(t, 1, q.kernel.Stats().Preemptions)
	q.gpu.auto = true
	assert.Equal(t, repeat(3, 64), low.read(a)[:64])
	q.end()
}

// A device is lost with work that has patches of NULL at every stage.
func TestLostWithNull(t *testing.T) {
	q := newQueues(t, 1, options{preempts: true, resets: true})
	p := q.devices[0]
	p.render(null(true), command{op: opFault}, fill(q.targets[0], 0, 64, 1))
	p.render(null(true), fill(q.targets[0], 0, 64, 1), null(false))
	q.gpu.auto = true
	assert.Equal(t, ddi.StatusDeviceRemoved, p.thunks.WaitForIdle(p.thread, p.dev))
	q.lost(0, Fault)
	q.finish()
}

// A lock with IgnoreSync does not wait for work that finds its places again, if it is stopped.
func TestIgnoreSyncOfRunningWork(t *testing.T) {
	for _, o := range []options{{preempts: true}, {resets: true}, {}} {
		q := newQueues(t, 1, o)
		p := q.devices[0]
		a, b := p.alloc(4096, local), p.alloc(4096, local)
		q.gpu.auto = true
		p.render(fill(a, 0, 64, 1), fill(b, 0, 64, 2))
		p.wait()
		q.gpu.auto = false
		p.render(fill(b, 0, 64, 3))
		lock := &umddi.Lock{Allocation: a, IgnoreSync: true, DoNotWait: true}
		p.ok(p.thunks.Lock(p.thread, p.dev, lock))
		p.unlock(a)
		q.end()
	}
}

// A fault of another node stops the adapter while a node is asked for its fence: the miniport
// is then not called to stop the node.
func TestStoppedWhileANodeIsPolled(t *testing.T) {
	q := newQueues(t, 1, options{preempts: true, nodes: 2})
	p := q.devices[0]
	other := p.context(1)
	p.ok(p.submit(q.contexts[0], command{op: opHang}))
	q.gpu.now += 1000
	p.ok(p.submit(other, command{op: opFault}))
	q.mini.at = map[string]func(){"QueryCurrentFence": func() { q.gpu.complete(1) }}
	q.mini.log = nil
	assert.Equal(t, ddi.StatusDeviceRemoved, p.thunks.WaitForIdle(p.thread, p.dev))
	var e *DeviceError
	require.ErrorAs(t, q.kernel.Err(), &e)
	assert.Equal(t, Fault, e.Kind)
	assert.Empty(t, q.logged("Preempt", "Reset"))
}
