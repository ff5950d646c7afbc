package umd

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// Contexts record on their own threads while the immediate context executes
// their lists, and other threads retire and destroy the lists.
func TestRecordOnManyThreads(t *testing.T) {
	const workers, each = 3, 300
	type made struct {
		list    umddi.HCommandList
		retired chan umddi.HCommandList // returns it to the context
	}
	r := newRig(t)
	counter := buf(64, umddi.UsageDefault)
	src, dst := r.filledBuffer(umddi.UsageDefault, 1), r.filledBuffer(umddi.UsageDefault, 2)
	lists, done := make(chan made), make(chan made, workers*each)
	var recording, destroying sync.WaitGroup
	var recorders []*recorder
	for id := range uint32(workers) {
		c := r.recorder()
		c.th = &ddi.Thread{Process: 1, ID: 10 + id}
		recorders = append(recorders, c)
		back := make(chan umddi.HCommandList, each)
		recording.Go(func() {
			for i := range each {
				for range 1 + i%15 {
					c.copy(dst, src)
				}
				c.update(src, counter, 0, box(id, 0, id+1, 1), []byte{byte(i)})
				for len(back) > 0 {
					c.retired = append(c.retired, <-back)
				}
				l, hr := c.finish()
				if !assert.Equal(t, ddi.OK, hr) {
					return
				}
				lists <- made{l, back}
			}
		})
	}
	destroying.Go(func() {
		th, n := &ddi.Thread{Process: 1, ID: 20}, 0
		for m := range done {
			if n++; n%3 == 0 {
				r.f.DestroyCommandList(th, r.h, m.list)
				continue
			}
			r.f.RecycleDestroyCommandList(th, r.h, m.list)
			m.retired <- m.list
		}
	})
	go func() {
		recording.Wait()
		close(lists)
	}()
	executed := 0
	for m := range lists {
		r.execute(m.list)
		executed++
		done <- m
	}
	close(done)
	destroying.Wait()
	assert.Equal(t, workers*each, executed)
	last := seq(1, 64)
	for id := range workers {
		last[id] = byte((each - 1) % 256)
	}
	assert.Equal(t, last, r.buffer(src), "each context's lists in their order")
	for _, c := range recorders {
		require.Empty(t, c.errors())
	}
}
