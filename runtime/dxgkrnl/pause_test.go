package dxgkrnl

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// After a pause of the application that is longer than the time-out, the kernel takes
// the messages that have arrived before it judges the time, whatever the application
// calls next.
func TestPause(t *testing.T) {
	const pause = 3000 // ticks; the time-out is 2000
	for _, next := range []struct {
		name string
		call func(r *rig, a ddi.KMHandle) ddi.Status
	}{
		{"wait", func(r *rig, _ ddi.KMHandle) ddi.Status { return r.thunks.WaitForIdle(r.thread, r.dev) }},
		{"lock", func(r *rig, a ddi.KMHandle) ddi.Status { return r.lock(&umddi.Lock{Allocation: a}) }},
		{"poll", func(r *rig, a ddi.KMHandle) ddi.Status { return r.lock(&umddi.Lock{Allocation: a, DoNotWait: true}) }},
	} {
		for _, tt := range []struct {
			name   string
			arrive func(r *rig)
		}{
			{"during the pause", func(r *rig) { r.gpu.step(); r.gpu.now += pause }},
			{"after the pause, when the time is read", func(r *rig) {
				r.gpu.now += pause
				r.gpu.onNow = func() { r.gpu.onNow = nil; r.gpu.step() }
			}},
		} {
			t.Run(next.name+", the message arrives "+tt.name, func(t *testing.T) {
				r := newRig(t, options{})
				a := r.alloc(64, system)
				r.gpu.auto = false
				r.render(fill(a, 0, 64, 1))
				r.mini.query = func(*ddi.Thread, uint32) (uint32, ddi.Status) { return r.mini.last[0], ddi.StatusSuccess } // without an access
				tt.arrive(r)
				require.Equal(t, ddi.StatusSuccess, next.call(r, a))
				assert.Zero(t, r.kernel.Stats().LostInterrupts)
				if next.name != "wait" {
					r.unlock(a)
				}
				r.finish()
			})
		}
	}
}

// Work that begins to count when the message before it is delivered has its own time.
func TestPauseWithMoreWork(t *testing.T) {
	r := newRig(t, options{capacity: 2})
	a := r.alloc(64, system)
	r.gpu.auto = false
	r.render(fill(a, 0, 64, 1))
	r.render(fill(a, 0, 64, 2))
	r.gpu.step()
	r.gpu.now += 3000
	r.gpu.auto, r.gpu.latency = true, 1900
	r.wait()
	assert.Equal(t, repeat(2, 64), r.read(a))
	r.finish()
}

// A message that arrives just when a time-out has passed ends the wait, or makes room for work that
// waits. No node counts as hung, also if the wait has begun longer ago than a time-out.
func TestMessageAtTheTimeOut(t *testing.T) {
	for jobs := 2; jobs <= 3; jobs++ {
		r := newRig(t, options{capacity: 1})
		k, a, done := r.kernel, r.alloc(64, system), 0
		complete := func() bool {
			done++
			r.gpu.complete(0)
			return true
		}
		r.gpu.auto = false
		for i := range jobs {
			r.render(fill(a, 0, 64, byte(i)))
		}
		r.gpu.acts = func() bool { return done != 1 && complete() }
		r.gpu.onNow = func() {
			if done == 1 && r.gpu.now >= k.nodes[0].progressAt+k.tdrDelay() {
				complete()
			}
		}
		r.wait()
		assert.Equal(t, jobs, done)
		assert.Equal(t, repeat(byte(jobs-1), 64), r.read(a))
		r.finish()
	}
}
