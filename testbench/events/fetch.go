package events

import (
	"slices"

	"github.com/hilgpu/hilgpu/runtime/dxgkrnl"
	"github.com/hilgpu/hilgpu/testbench/eventlog"
)

// A buffer is what the GPU must read of a submission.
type buffer struct {
	submission uint64
	from, to   uint64 // addresses in host memory
	submit     uint64 // event
}

// fetches finds the first read of each submission. The host serves the reads of the GPU, so it sees them on each link.
type fetches struct {
	on       bool
	queued   map[uint64]buffer // by submission
	hardware []buffer          // in the hardware, and not read
}

// Fetches makes the log tell which submissions the GPU has begun to read. Then Read must be told each read of host memory by the GPU. An
// emulated GPU that tells its packets does not need it. It must be called before the first submission.
func (r *Recorder) Fetches() { r.fetches = fetches{on: true, queued: map[uint64]buffer{}} }

// kernel follows the submissions. id is the number of the event of a step.
func (f *fetches) kernel(e dxgkrnl.Event, id uint64) {
	if !f.on {
		return
	}
	switch e.Kind {
	case dxgkrnl.EventQueue:
		f.queued[e.Submission] = buffer{submission: e.Submission, from: e.Address + uint64(e.Start), to: e.Address + uint64(e.End)}
	case dxgkrnl.EventSubmit: // an empty one is not read
		if b, ok := f.queued[e.Submission]; ok {
			b.submit = id
			f.hardware = append(f.hardware, b)
		}
	case dxgkrnl.EventRetire, dxgkrnl.EventPreempted, dxgkrnl.EventCancelled, dxgkrnl.EventReset:
		delete(f.queued, e.Submission)
		f.hardware = slices.DeleteFunc(f.hardware, func(b buffer) bool { return b.submission == e.Submission })
	case dxgkrnl.EventStop:
		clear(f.queued)
		f.hardware = nil
	default:
	}
}

// watches reports whether the first read of a submission will be found: it is not empty.
func (f *fetches) watches(submission uint64) bool {
	b := f.queued[submission]
	return b.from < b.to
}

// Read notes that the GPU reads host memory, if it is the first read of a submission.
func (r *Recorder) Read(addr uint64, p []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f := &r.fetches
	i := slices.IndexFunc(f.hardware, func(b buffer) bool { return addr < b.to && b.from < addr+uint64(len(p)) })
	if i < 0 {
		return
	}
	b := f.hardware[i]
	f.hardware = slices.Delete(f.hardware, i, i+1)
	e := eventlog.New(eventlog.Fetched, b.submission, addr, uint64(len(p)))
	e.Cause = b.submit
	r.add(nil, 0, e)
}
