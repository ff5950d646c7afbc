package events

import (
	"encoding/binary"

	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/dxgkrnl"
	"github.com/hilgpu/hilgpu/testbench/doorbell"
	"github.com/hilgpu/hilgpu/testbench/eventlog"
)

// pendingJobs is the number of DMA buffers in software queues that are remembered.
const pendingJobs = 1 << 10

// pending is the event of a DMA buffer that entered its software queue.
type pending struct{ job, id uint64 }

// Kernel notes a step of the graphics kernel, for dxgkrnl.Config.Observe.
func (r *Recorder) Kernel(t *ddi.Thread, e dxgkrnl.Event) {
	now := r.now()
	r.mu.Lock()
	defer r.mu.Unlock()
	switch e.Kind {
	case dxgkrnl.EventWait:
		r.wait = r.add(t, now, eventlog.New(eventlog.Wait).WithText(e.Text))
	case dxgkrnl.EventWaitEnd:
		end := eventlog.New(eventlog.WaitEnd)
		end.Cause, r.wait = r.wait, 0
		r.add(t, now, end)
	case dxgkrnl.EventPending:
		r.pending[e.Job%pendingJobs] = pending{e.Job, r.add(t, now, fromKernel(e))}
	case dxgkrnl.EventSubmit:
		r.fetches.kernel(e, r.add(t, now, eventlog.New(eventlog.Submit, e.Submission, flag(r.fetches.watches(e.Submission)))))
	case dxgkrnl.EventQueue:
		q := fromKernel(e)
		if p := r.pending[e.Job%pendingJobs]; p.job == e.Job {
			q.Cause = p.id // the buffer may be queued in another call
		}
		r.add(t, now, q)
	default:
		r.add(t, now, fromKernel(e))
	}
	if e.Kind != dxgkrnl.EventSubmit {
		r.fetches.kernel(e, 0)
	}
	if e.Kind == dxgkrnl.EventQueue {
		r.contents(t, now, e)
	}
	if e.Kind == dxgkrnl.EventWait || e.Kind == dxgkrnl.EventStop || e.Kind == dxgkrnl.EventReset {
		r.sink.Flush() // the writer keeps its error
	}
}

// fromKernel returns the event for a step of the kernel.
func fromKernel(e dxgkrnl.Event) eventlog.Event {
	allocation, write := uint64(e.Allocation), flag(e.Write)
	node, fence := uint64(e.Node), uint64(e.Fence)
	switch e.Kind {
	case dxgkrnl.EventAllocate:
		a := eventlog.New(eventlog.Allocate, allocation, uint64(e.Device), e.Bytes, e.Address)
		for _, page := range e.Pages {
			a.Data = binary.LittleEndian.AppendUint64(a.Data, page)
		}
		return a
	case dxgkrnl.EventFree:
		return eventlog.New(eventlog.Free, allocation)
	case dxgkrnl.EventPlace:
		return eventlog.New(eventlog.Place, allocation, uint64(e.Segment), e.Address, e.Bytes)
	case dxgkrnl.EventEvict:
		return eventlog.New(eventlog.Evict, allocation, uint64(e.Segment), e.Address)
	case dxgkrnl.EventLock:
		return eventlog.New(eventlog.Lock, allocation, write)
	case dxgkrnl.EventUnlock:
		return eventlog.New(eventlog.Unlock, allocation)
	case dxgkrnl.EventQueue:
		return eventlog.New(eventlog.Queue, e.Submission, node, fence, uint64(e.Context), e.Address, uint64(e.Start), uint64(e.End), e.Job).WithText(e.Text)
	case dxgkrnl.EventPending:
		return eventlog.New(eventlog.Pending, e.Job, node, uint64(e.Context), uint64(e.End)).WithText(e.Text)
	case dxgkrnl.EventDriverMemory:
		return eventlog.New(eventlog.DriverMemory, e.Address, e.Bytes)
	case dxgkrnl.EventDriverFree:
		return eventlog.New(eventlog.DriverFree, e.Address)
	case dxgkrnl.EventReport:
		return eventlog.New(eventlog.Report, e.Submission, node, fence)
	case dxgkrnl.EventRetire:
		return eventlog.New(eventlog.Retire, e.Submission)
	case dxgkrnl.EventPreempt:
		return eventlog.New(eventlog.Preempt, node, fence)
	case dxgkrnl.EventPreempted:
		return eventlog.New(eventlog.Preempted, e.Submission)
	case dxgkrnl.EventCancelled:
		return eventlog.New(eventlog.Cancelled, e.Submission)
	case dxgkrnl.EventReset:
		return eventlog.New(eventlog.Reset, e.Submission, node, fence, uint64(e.Device)).WithText(e.Text)
	case dxgkrnl.EventDestroy:
		return eventlog.New(eventlog.Destroy, allocation)
	case dxgkrnl.EventOffer:
		return eventlog.New(eventlog.Offer, allocation, fence)
	case dxgkrnl.EventReclaim:
		return eventlog.New(eventlog.Reclaim, allocation, write)
	case dxgkrnl.EventRestart:
		return eventlog.New(eventlog.Restart)
	case dxgkrnl.EventFault:
		return eventlog.New(eventlog.Fault, node, fence).WithText(e.Text)
	default:
		return eventlog.New(eventlog.Stop, node, fence).WithText(e.Text)
	}
}

// maxPacket is the number of bytes of a packet that are noted. Only a NOP may be longer.
const maxPacket = doorbell.MaxPacket

func flag(on bool) uint64 {
	if on {
		return 1
	}
	return 0
}

// contents notes what is in a submission, and what it waits for.
func (r *Recorder) contents(t *ddi.Thread, now uint64, e dxgkrnl.Event) {
	if e.Again != 0 {
		r.add(t, now, eventlog.New(eventlog.Continue, e.Submission, e.Again))
	}
	for _, on := range e.On {
		r.add(t, now, eventlog.New(eventlog.Depend, e.Submission, on))
	}
	for _, o := range e.Operations {
		r.add(t, now, eventlog.New(eventlog.Paging, e.Submission, uint64(o.Allocation), uint64(o.From.SegmentID), o.From.Address,
			uint64(o.To.SegmentID), o.To.Address, o.Bytes).WithText(o.Name))
	}
	for _, u := range e.Uses {
		r.add(t, now, eventlog.New(eventlog.Use, e.Submission, uint64(u.At), uint64(u.Allocation), u.Offset, flag(u.Write)))
	}
	r.commands(t, now, e)
}

// commands notes the packets of a submission.
func (r *Recorder) commands(t *ddi.Thread, now uint64, e dxgkrnl.Event) {
	for at := 0; at+4 <= len(e.Commands); {
		body := binary.LittleEndian.Uint32(e.Commands[at:]) & pkt.HeaderBody
		end := min(at+4+4*int(body), len(e.Commands))
		p := eventlog.New(eventlog.Packet, e.Submission, uint64(e.Start)+uint64(at))
		p.Data = e.Commands[at:min(end, at+maxPacket)]
		r.packets[pkt.Host|e.Address+uint64(e.Start)+uint64(at)] = r.add(t, now, p)
		at = end
	}
}
