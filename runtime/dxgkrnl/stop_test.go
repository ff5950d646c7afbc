package dxgkrnl

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// works are the functions of the miniport that give the GPU something to do, or that end that.
var works = map[string]bool{
	"BuildPagingBuffer": true, "Patch": true, "Submit": true, "Preempt": true, "Cancel": true, "Render": true, "ResetEngine": true,
}

// busy renders in scarce memory, locks and destroys, until something fails, and returns why.
func (r *rig) busy(n int) ddi.Status {
	fixed := r.allocOf(64, system)
	for i := range n {
		a := r.allocOf(3000, local)
		if a == 0 {
			return r.thunks.WaitForIdle(r.thread, r.dev)
		}
		if s := r.submit(&r.ctx, fill(a, 0, 64, byte(i)), fill(fixed, 0, 64, byte(i)), copyTo(a, 64, fixed, 0, 64)); s.Failed() {
			return s
		}
		arg := &umddi.Lock{Allocation: a, IgnoreSync: i%3 == 0}
		if s := r.lock(arg); s.Failed() {
			return s
		}
		if s := r.thunks.Unlock(r.thread, r.dev, &umddi.Unlock{Allocations: []ddi.KMHandle{a}}); s.Failed() {
			return s
		}
		if i%2 == 1 {
			if s := r.destroy(a); s.Failed() {
				return s
			}
		}
	}
	return r.thunks.WaitForIdle(r.thread, r.dev)
}

// stopsAt makes the adapter stop in call n of the miniport or in wait n: since the link fails, or
// since the GPU completes nothing more.
func (r *rig) stopsAt(n int, inWait, hangs bool) (down error) {
	down = errors.New("link down")
	count := func(counts bool) {
		if !counts {
			return
		}
		if n--; n != 0 {
			return
		}
		if hangs {
			r.gpu.auto = false
			return
		}
		r.gpu.linkErr = down
	}
	r.gpu.onWait = func() { count(inWait) }
	stopped := false
	r.mini.every = func(name string) {
		if stopped && works[name] {
			assert.Fail(r, name+" after the stop")
		}
		if name == "BuildPagingBuffer" {
			assert.True(r, r.kernel.moving, "others may place meanwhile")
		}
		count(!inWait)
	}
	r.kernel.observer = func(_ *ddi.Thread, e Event) { stopped = stopped || e.Kind == EventStop }
	return down
}

// From the moment at which the adapter stops, the kernel gives the miniport nothing to do, and each
// thread that waits ends with the reason.
//
// docs/properties.md: T8.
func TestNothingAfterTheStop(t *testing.T) {
	stops := map[string]int{}
	for seed := range uint64(180) {
		r := newRig(t, options{
			nodes: 1 + int(seed/3%2), capacity: 1 + int(seed/6%2), vram: 8192, hiddenVRAM: seed%4 == 1, pagingBytes: 96,
			aperture: []int{0, 4}[seed/7%2], preempts: seed/5%2 == 0, quantum: 20,
		})
		if seed%2 == 0 {
			r.mini.piece, r.kernel.paging.size = 150, opBytes // more paging buffers than there are
		}
		name := []string{"call", "wait", "hang"}[seed%3]
		at := 1 + int(seed/3)/2
		if name == "call" {
			at *= 8
		}
		down := r.stopsAt(at, name != "call", name == "hang")
		var tasks []Task
		answers := make([]ddi.Status, 3)
		for i := range answers {
			p := r.process(uint32(i + 2))
			p.open(uint32(i % len(r.kernel.nodes)))
			tasks = append(tasks, Task{p.thread, func(*ddi.Thread) { answers[i] = p.busy(5) }})
		}
		r.kernel.Run(seed, tasks)
		assert.Equal(t, []any{0, false, false}, []any{r.kernel.visits, r.kernel.moving, r.kernel.scheduling}, "seed %d", seed)
		var e *DeviceError
		if !errors.As(r.kernel.Err(), &e) {
			assert.Equal(t, make([]ddi.Status, 3), answers, "seed %d", seed)
			continue
		}
		stops[name]++
		want, kind := ddi.StatusIODeviceError, Link
		if name == "hang" {
			want, kind = ddi.StatusDeviceRemoved, Timeout
		} else {
			assert.ErrorIs(t, e, down)
		}
		assert.Equal(t, kind, e.Kind, "seed %d", seed)
		assert.Contains(t, answers, want, "seed %d", seed)
		for _, s := range answers {
			assert.Contains(t, []ddi.Status{ddi.StatusSuccess, want}, s, "seed %d", seed)
		}
	}
	for _, name := range []string{"call", "wait", "hang"} {
		assert.Greater(t, stops[name], 15, name)
	}
}

// Each error of a stopped adapter is that of every device.
func TestLostOfAStoppedAdapter(t *testing.T) {
	r := newRig(t, options{})
	assert.NoError(t, r.kernel.Lost(r.dev))
	r.kernel.stopLink(r.thread, errors.New("down"))
	assert.Equal(t, r.kernel.Err(), r.kernel.Lost(r.dev))
	assert.Equal(t, r.kernel.Err(), r.kernel.Lost(0xffff), "of no device")
}
