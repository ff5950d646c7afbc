package ring_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/hostdriver/ring"
	"github.com/hilgpu/hilgpu/runtime/ddi"
)

// Registers of node 0.
const (
	ctl, rptr, wptr, fence           = 0x1000, 0x1014, 0x1018, 0x101c
	ibLo, ibHi, ibLeft               = 0x103c, 0x1040, 0x1044
	preempt, preempted, progressDone = 0x1050, 0x1054, 0x1058
)

// TestResume compares the packets with their layouts, dword by dword.
func TestResume(t *testing.T) {
	r, f, mem := newRing(t, 0, 4096)
	r.Submit(nil, 4, 1, 1)
	assert.Equal(t, uint32(1), r.Slot())
	r.Resume(nil, 0x8000000000030480, 0x8000000000045678, 0x10, 2)
	require.NoError(t, r.Err())
	from := uint32(9)
	assert.Equal(t, []uint32{
		0x14000002, 0x00030480, 0x80000000, // RESTORE_STATE
		0x02000003, 0x00045678, 0x80000000, 1<<20 | 0x10, // INDIRECT with Resume
		0x10000004, 0x00034040, 0x80000000, 2, 1, // FENCE
	}, take(mem, &from, f.values[wptr]))
	r.Resume(nil, 0x8000000000030440, 4, 1, 3)
	assert.ErrorIs(t, r.Err(), ring.ErrSubmission, "a state that is not aligned")
}

// TestResumeNeverFills keeps eight resumed submissions in the smallest ring.
func TestResumeNeverFills(t *testing.T) {
	r, f, mem := newRing(t, 0, 512)
	at := uint32(0)
	for id := uint32(1); id <= 100; id++ {
		r.Resume(nil, 128, 4, 1, id)
		require.NoError(t, r.Err())
		got := take(mem, &at, f.values[wptr])
		require.Equal(t, []uint32{0x14000002, 128, 0, 0x02000003, 4, 0, 1<<20 | 1, 0x10000004, 0x34040, 0x80000000, id, 1}, got)
		if id >= 8 {
			_, err := r.Complete(id - 7)
			require.NoError(t, err)
		}
	}
}

func TestPreempt(t *testing.T) {
	r, f, mem := newRing(t, 0, 4096)
	for id := uint32(1); id <= 3; id++ {
		r.Submit(nil, 64*uint64(id), 8, id)
	}
	f.writes = nil
	answered, s := r.Answered(nil)
	assert.Equal(t, ddi.StatusSuccess, s)
	assert.True(t, answered, "nothing was asked")
	assert.False(t, r.Preempting())
	r.Preempt(nil)
	assert.True(t, r.Preempting())
	answered, _ = r.Answered(nil)
	assert.False(t, answered)
	f.values[preempted], f.values[rptr], f.values[ibLo], f.values[ibHi], f.values[ibLeft], f.values[progressDone] = 1, 9, 132, 7, 5, 3
	answered, _ = r.Answered(nil)
	assert.True(t, answered)
	_, err := r.Complete(1)
	require.NoError(t, err)
	p, busy, err := r.Place(nil)
	require.NoError(t, err)
	assert.True(t, busy)
	assert.Equal(t, ring.Place{Rptr: 9, ID: 2, Began: true, Addr: 7<<32 | 132, Left: 5, Progress: 3}, p)
	r.Yield(nil, p.Rptr)
	assert.Equal(t, []string{"0x1050=0x1", "0x1018=0x9", "0x1000=0x1"}, f.writes, "PREEMPT, then WPTR before CTL.RUN")
	_, busy = r.Executing()
	assert.False(t, busy)
	assert.Equal(t, uint32(1), r.Submitted())
	assert.Len(t, r.Recent(), 1)
	newer, err := r.Complete(1)
	assert.NoError(t, err)
	assert.False(t, newer)
	_, err = r.Complete(2)
	assert.ErrorIs(t, err, ring.ErrFence, "a dropped fence cannot complete")
	r.Submit(nil, 4, 1, 2)
	require.NoError(t, r.Err())
	from := uint32(9)
	assert.Equal(t, []uint32{0x02000003, 4, 0, 1, 0x10000004, 0x34040, 0x80000000, 2, 1}, take(mem, &from, f.values[wptr]))
}

// TestPreemptForever stops the node again and again, with submissions around the ring that
// do not complete: no space is lost, and no id.
func TestPreemptForever(t *testing.T) {
	r, f, _ := newRing(t, 0, 512)
	id, stop := uint32(0xffffff00), uint32(0)
	for i := range uint32(500) {
		for j := range uint32(8) {
			r.Submit(nil, 4, 1, id+j)
		}
		require.NoError(t, r.Err())
		r.Preempt(nil)
		done := i % 8
		_, err := r.Complete(id + done - 1)
		require.NoError(t, err)
		stop = (stop + 9*done) % 128
		f.values[rptr], f.values[preempted] = stop, i+1
		answered, _ := r.Answered(nil)
		require.True(t, answered)
		p, busy, err := r.Place(nil)
		require.NoError(t, err)
		require.True(t, busy)
		require.Equal(t, id+done, p.ID)
		r.Yield(nil, p.Rptr)
		id += done
	}
}

func TestPlace(t *testing.T) {
	for _, tt := range []struct {
		name       string
		rptr, left uint32
		want       ring.Place // without the address
		ok         bool
	}{
		{"before all", 5, 0, ring.Place{Rptr: 5, ID: 2}, true},
		{"between RESTORE_STATE and INDIRECT", 8, 0, ring.Place{Rptr: 8, ID: 2}, true},
		{"in the buffer", 8, 1, ring.Place{Rptr: 8, ID: 2, Began: true, Left: 1}, true},
		{"before the fence", 12, 0, ring.Place{Rptr: 12, ID: 2, Ended: true}, true},
		{"in the buffer, before RESTORE_STATE", 5, 1, ring.Place{}, false},
		{"in the buffer, at the fence", 12, 1, ring.Place{}, false},
		{"inside RESTORE_STATE", 6, 0, ring.Place{}, false},
		{"at the next submission", 17, 0, ring.Place{}, false},
		{"at the one before", 0, 0, ring.Place{}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, f, _ := newRing(t, 0, 4096)
			r.Submit(nil, 0, 0, 1)
			r.Resume(nil, 128, 64, 8, 2)
			r.Submit(nil, 0, 0, 3)
			_, err := r.Complete(1)
			require.NoError(t, err)
			f.values[rptr], f.values[ibLeft] = tt.rptr, tt.left
			p, busy, err := r.Place(nil)
			if !tt.ok {
				assert.ErrorIs(t, err, ring.ErrPlace)
				assert.ErrorIs(t, r.Err(), ring.ErrPlace)
				return
			}
			require.NoError(t, err)
			assert.True(t, busy)
			assert.Equal(t, tt.want, p)
		})
	}
	r, f, _ := newRing(t, 0, 4096)
	r.Submit(nil, 0, 0, 1)
	f.values[rptr], f.values[ibLeft] = 0, 0
	p, _, err := r.Place(nil)
	require.NoError(t, err)
	assert.Equal(t, ring.Place{ID: 1}, p, "an empty submission has begun nothing")
	_, err = r.Complete(1)
	require.NoError(t, err)
	_, busy, err := r.Place(nil)
	assert.False(t, busy)
	assert.ErrorIs(t, err, ring.ErrPlace, "RPTR is before a fence that has completed")
}

// TestPlaceNotRead fails each read: nothing changes, and a later call has the place.
func TestPlaceNotRead(t *testing.T) {
	for i := 1; i <= 5; i++ {
		r, f, _ := newRing(t, 0, 4096)
		r.Submit(nil, 4, 1, 1)
		r.Preempt(nil)
		f.values[rptr], f.values[ibLeft] = 0, 0
		f.failAt = f.accesses + i
		_, _, err := r.Place(nil)
		assert.ErrorIs(t, err, ring.ErrRegister)
		assert.NoError(t, r.Err())
		_, busy, err := r.Place(nil)
		assert.NoError(t, err)
		assert.True(t, busy)
	}
}

func TestSubmitDuringPreemption(t *testing.T) {
	r, _, _ := newRing(t, 0, 4096)
	r.Submit(nil, 4, 1, 1)
	r.Preempt(nil)
	r.Submit(nil, 4, 1, 2)
	assert.ErrorIs(t, r.Err(), ring.ErrSubmission)
}

func TestRestart(t *testing.T) {
	for _, tt := range []struct {
		name string
		do   func(r *ring.Ring)
		done uint32 // FENCE
		last uint32
	}{
		{"the second executes", func(*ring.Ring) {}, 7, 8},
		{"the first executes", func(*ring.Ring) {}, 6, 7},
		{"all have completed", func(*ring.Ring) {}, 9, 9},
		{"a fence that the node cannot have reached", func(*ring.Ring) {}, 12, 7},
		{"during a preemption", func(r *ring.Ring) { r.Preempt(nil) }, 7, 8},
		{"a ring that has failed", func(r *ring.Ring) { r.Fail(ring.ErrFull) }, 7, 8},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, f, mem := newRing(t, 0, 4096)
			for id := uint32(7); id <= 9; id++ {
				r.Submit(nil, 4, 1, id)
			}
			tt.do(r)
			f.values[fence] = tt.done
			last, newer, s := r.Abort(nil)
			require.Equal(t, ddi.StatusSuccess, s)
			assert.Equal(t, tt.last, last)
			assert.Equal(t, tt.done >= 7 && tt.done <= 9, newer)
			f.writes = nil
			require.Equal(t, ddi.StatusSuccess, r.Restart(nil, last))
			assert.NoError(t, r.Err())
			assert.Equal(t, "0x1000=0x2", f.writes[0])
			assert.Equal(t, tt.last, f.values[fence])
			assert.Equal(t, tt.last, r.Completed())
			_, busy := r.Executing()
			assert.False(t, busy)
			assert.False(t, r.Preempting())
			f.writes = nil
			r.Submit(nil, 4, 1, last+1)
			require.NoError(t, r.Err())
			assert.Equal(t, []string{"0x1018=0x9"}, f.writes, "no preset: ids continue")
			from := uint32(0)
			assert.Len(t, take(mem, &from, f.values[wptr]), 9)
			newer, err := r.Complete(last + 1)
			assert.NoError(t, err)
			assert.True(t, newer)
		})
	}
}

func TestRestartFails(t *testing.T) {
	r, f, _ := newRing(t, 0, 4096)
	r.Submit(nil, 4, 1, 7)
	f.ignores = true
	assert.Equal(t, ddi.StatusIOTimeout, r.Restart(nil, 7))
	assert.ErrorIs(t, r.Err(), ring.ErrRegister)
	f.ignores = false
	require.Equal(t, ddi.StatusSuccess, r.Start(nil))
	assert.NoError(t, r.Err())
	f.failAt = f.accesses + 1
	_, _, s := r.Abort(nil)
	assert.Equal(t, ddi.StatusIODeviceError, s)

	fresh, f, _ := newRing(t, 0, 4096)
	last, newer, s := fresh.Abort(nil)
	assert.False(t, newer)
	assert.Equal(t, ddi.StatusSuccess, s)
	assert.Zero(t, last)
	require.Equal(t, ddi.StatusSuccess, fresh.Restart(nil, last))
	f.writes = nil
	fresh.Submit(nil, 0, 0, 100)
	assert.Contains(t, f.writes, "0x101c=0x63", "the first id may still be any")
}

func TestReadProgress(t *testing.T) {
	r, f, _ := newRing(t, 0, 4096)
	before, s := r.ReadProgress(nil)
	require.Equal(t, ddi.StatusSuccess, s)
	for _, off := range []uint32{rptr, fence, ibLo, ibHi, ibLeft, progressDone, 0x1038} {
		f.values[off]++
		now, _ := r.ReadProgress(nil)
		assert.NotEqual(t, before, now, "%#x", off)
		before = now
	}
	now, _ := r.ReadProgress(nil)
	assert.Equal(t, before, now)
	f.failAt = f.accesses + 3
	_, s = r.ReadProgress(nil)
	assert.Equal(t, ddi.StatusIODeviceError, s)
}
