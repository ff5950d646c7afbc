package events

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/dxgkrnl"
	"github.com/hilgpu/hilgpu/testbench/eventlog"
)

// step is a step of the kernel with a submission.
func step(kind dxgkrnl.EventKind, submission uint64) dxgkrnl.Event {
	return dxgkrnl.Event{Kind: kind, Submission: submission}
}

// gives queues a submission of the bytes from start to end of the buffer at 0x1000, and gives it to the hardware.
func (r *rig) gives(submission uint64, start, end uint32) {
	q := step(dxgkrnl.EventQueue, submission)
	q.Address, q.Start, q.End = 0x1000, start, end
	r.Kernel(nil, q)
	r.Kernel(nil, step(dxgkrnl.EventSubmit, submission))
}

// fetched returns the submissions, addresses and sizes of the reads that the log has.
func (r *rig) fetched() (all [][3]uint64) {
	for _, e := range r.events {
		if e.Kind == eventlog.Fetched {
			all = append(all, [3]uint64(e.Fields[:3]))
		}
	}
	return all
}

// The log has the first read of each submission while it is in the hardware, with the event of its submission.
func TestFetches(t *testing.T) {
	for name, tt := range map[string]struct {
		do   func(r *rig)
		want [][3]uint64
	}{
		"a read":          {func(r *rig) { r.gives(1, 0x40, 0x80); r.Read(0x1040, make([]byte, 16)) }, [][3]uint64{{1, 0x1040, 16}}},
		"the second read": {func(r *rig) { r.gives(1, 0, 0x80); r.Read(0x1000, make([]byte, 8)); r.Read(0x1008, make([]byte, 8)) }, [][3]uint64{{1, 0x1000, 8}}},
		"its last byte":   {func(r *rig) { r.gives(1, 0x40, 0x80); r.Read(0x107f, make([]byte, 1)) }, [][3]uint64{{1, 0x107f, 1}}},
		"before it":       {func(r *rig) { r.gives(1, 0x40, 0x80); r.Read(0x1030, make([]byte, 16)) }, nil},
		"after it":        {func(r *rig) { r.gives(1, 0x40, 0x80); r.Read(0x1080, make([]byte, 16)) }, nil},
		"two in a buffer": {func(r *rig) {
			r.gives(1, 0, 0x40)
			r.gives(2, 0x40, 0x80)
			r.Read(0x1040, make([]byte, 64))
			r.Read(0x1000, make([]byte, 64))
		}, [][3]uint64{{2, 0x1040, 64}, {1, 0x1000, 64}}},
		"after its end": {func(r *rig) {
			r.gives(1, 0, 0x40)
			r.Kernel(nil, step(dxgkrnl.EventRetire, 1))
			r.Read(0x1000, make([]byte, 64))
		}, nil},
		"after its preemption": {func(r *rig) {
			r.gives(1, 0, 0x40)
			r.Kernel(nil, step(dxgkrnl.EventPreempted, 1))
			r.Read(0x1000, make([]byte, 64))
		}, nil},
		"as it continues": {func(r *rig) {
			r.gives(1, 0, 0x40)
			r.Kernel(nil, step(dxgkrnl.EventPreempted, 1))
			r.gives(2, 0, 0x40) // the same part of the buffer
			r.Read(0x1020, make([]byte, 32))
		}, [][3]uint64{{2, 0x1020, 32}}},
		"after a reset": {func(r *rig) {
			r.gives(1, 0, 0x40)
			r.Kernel(nil, step(dxgkrnl.EventReset, 1))
			r.Read(0x1000, make([]byte, 64))
		}, nil},
		"a reset of another": {func(r *rig) {
			r.gives(1, 0, 0x40)
			r.Kernel(nil, step(dxgkrnl.EventReset, 9))
			r.Read(0x1000, make([]byte, 64))
		}, [][3]uint64{{1, 0x1000, 64}}},
		"after a stop": {func(r *rig) {
			r.gives(1, 0, 0x40)
			r.Kernel(nil, step(dxgkrnl.EventStop, 0))
			r.Read(0x1000, make([]byte, 64))
		}, nil},
		"while it is in a queue": {func(r *rig) {
			q := step(dxgkrnl.EventQueue, 1)
			q.Address, q.End = 0x1000, 0x40
			r.Kernel(nil, q)
			r.Read(0x1000, make([]byte, 64))
		}, nil},
	} {
		r := newRig()
		r.Fetches()
		tt.do(r)
		assert.Equal(t, tt.want, r.fetched(), name)
		for _, e := range r.events {
			switch e.Kind {
			case eventlog.Fetched:
				require.Equal(t, eventlog.Submit, r.events[e.Cause-1].Kind, name)
				assert.Equal(t, e.Fields[0], r.events[e.Cause-1].Fields[0], name)
			case eventlog.Submit:
				assert.EqualValues(t, 1, e.Fields[1], "it is watched")
			default:
			}
		}
	}
	r := newRig()
	r.Fetches()
	r.gives(1, 0x40, 0x40)
	require.Equal(t, eventlog.Submit, r.events[len(r.events)-1].Kind)
	assert.Zero(t, r.events[len(r.events)-1].Fields[1], "there is nothing to read")
	r = newRig()
	r.gives(1, 0, 0x40)
	r.Read(0x1000, make([]byte, 64))
	assert.Empty(t, r.fetched(), "an emulated GPU tells more")
	require.Equal(t, eventlog.Submit, r.events[len(r.events)-1].Kind)
	assert.Zero(t, r.events[len(r.events)-1].Fields[1])
}
