package dxgkrnl

import (
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

// An EventKind is a step of the kernel's work.
type EventKind uint8

// The kinds, with the fields of Event that they use.
const (
	EventAllocate     EventKind = iota // Allocation, Device, Bytes, Address of its host memory, Pages
	EventFree                          // Allocation
	EventPlace                         // Allocation, Segment, Address, Bytes, Aperture
	EventEvict                         // Allocation, Segment, Address
	EventLock                          // Allocation, Write, IgnoreSync
	EventUnlock                        // Allocation
	EventDriverMemory                  // Address, Bytes of contiguous memory that the miniport has allocated
	EventDriverFree                    // Address
	EventQueue                         // Submission, Job, Node, Fence, Again, Context, Device, Address of the buffer, Start, End, Text, and the lists
	EventSubmit                        // Submission
	EventReport                        // Submission, Node, Fence
	EventRetire                        // Submission
	EventWait                          // Text
	EventWaitEnd                       // none
	EventFault                         // Node, Fence, Text: the status
	EventStop                          // Node, Fence, Text: the error, and the dump from the next line on
	EventPreempt                       // Node, Fence of the preemption
	EventPreempted                     // Submission, which is taken back; it goes on as another one, or is cancelled
	EventCancelled                     // Submission, which was preempted and does not go on
	EventPending                       // Job, Node, Context, Device, End, Text, Commands, Uses: a DMA buffer enters its software queue
	EventReset                         // Submission that is aborted, or 0; Node; Fence, the last aborted one; Device that is lost; Text: the error, and the dump from the next line on
	EventRestart                       // none: the adapter works again after a reset
	EventDestroy                       // Allocation: no work may use it any more
	EventOffer                         // Allocation, Fence: the priority of the offer
	EventReclaim                       // Allocation, Write: its content is lost
)

// An Event is a step of the kernel's work. Submissions are numbered from 1, across all
// nodes, in the order in which they get their fences.
type Event struct {
	Kind       EventKind
	Submission uint64
	Again      uint64 // the preempted submission that this one continues; 0: none
	Job        uint64 // the DMA buffer in a software queue, from 1; 0: of a paging buffer
	Node       uint32
	Fence      uint32
	Device     ddi.KMHandle // of an allocation; 0: the kernel's own
	Context    ddi.KMHandle
	Allocation ddi.KMHandle
	Segment    uint32 // identifier
	Address    uint64
	Bytes      uint64
	Start, End uint32 // in bytes from the beginning of the buffer
	Write      bool
	IgnoreSync bool // the lock has not waited for the GPU
	Aperture   bool // the segment is an aperture segment
	Text       string

	Pages []uint64 // addresses of host memory that need not be contiguous, valid during the call
	// Of a submission that gets its fence, valid during the call.
	Commands   []byte      // from Start to End
	Uses       []Use       // of a DMA buffer
	Operations []Operation // of a paging buffer
	On         []uint64    // submissions that it has waited for
}

// A Use is an address of an allocation in a DMA buffer.
type Use struct {
	At         uint32 // in bytes from the beginning of the buffer
	Allocation ddi.KMHandle
	Offset     uint64 // in the allocation
	Write      bool   // the allocation list says that it is written
}

// An Operation is a paging operation.
type Operation struct {
	Name       string // TRANSFER, FILL, DISCARD_CONTENT, MAP_APERTURE_SEGMENT or UNMAP_APERTURE_SEGMENT
	Allocation ddi.KMHandle
	From, To   kmddi.PagingLocation
	Bytes      uint64
}

// observe reports an event on the thread that is in the kernel.
func (k *Kernel) observe(e Event) {
	if k.observer != nil {
		k.observer(k.thread, e)
	}
}

// observeQueue reports a submission that has got its fence, with all that is in it.
func (k *Kernel) observeQueue(s *submission) {
	if k.observer == nil {
		return
	}
	e := Event{
		Kind: EventQueue, Submission: s.serial, Again: s.again, Node: s.line.node.ordinal, Fence: s.arg.SubmissionFenceID, Text: "paging buffer",
		Address: s.arg.DmaBufferPhysicalAddress, Start: s.arg.DmaBufferSubmissionStartOffset, End: s.arg.DmaBufferSubmissionEndOffset,
	}
	if s.paging != nil {
		e.Commands, e.Operations = s.paging.pages.Bytes[e.Start:e.End], s.paging.operations()
	} else {
		d := s.dma
		e.Commands, e.Uses = d.pages.Bytes[e.Start:e.End], d.uses(s.part.start, s.part.end)
		e.Text, e.Context, e.Device, e.Job = d.function(), d.context.handle, d.context.device.handle, s.job.id
	}
	e.On = s.on
	k.observe(e)
}

// operations returns the operations of a paging buffer.
func (b *pagingBuffer) operations() (all []Operation) {
	for _, o := range b.ops {
		all = append(all, Operation{o.name(), o.allocation, o.source, o.destination, o.size})
	}
	return all
}

// uses returns the allocations that the patch locations [start, end) of a DMA buffer name.
func (d *dmaBuffer) uses(start, end int) (all []Use) {
	for _, p := range d.patches[start:end] {
		if a := d.objects[p.AllocationIndex]; a != nil {
			all = append(all, Use{p.PatchOffset, a.handle, uint64(p.AllocationOffset), d.list[p.AllocationIndex].WriteOperation})
		}
	}
	return all
}

// serialOf returns the serial number of a submission in the hardware, or 0.
func (k *Kernel) serialOf(m mark) uint64 {
	for _, s := range m.line.node.hardware {
		if s.mark == m {
			return s.serial
		}
	}
	return 0
}

// observePlace reports the place of an allocation in its segment.
func (k *Kernel) observePlace(a *allocation) {
	if k.observer != nil {
		k.observe(Event{Kind: EventPlace, Allocation: a.handle, Segment: a.segment.id, Address: a.address(), Bytes: a.span, Aperture: a.inAperture()})
	}
}
