package dxgkrnl

import (
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

// An EventKind is a step of the kernel's work.
type EventKind uint8

// The kinds, with the fields of Event that they use.
const (
	EventAllocate EventKind = iota // Allocation, Device, Bytes, Address of its host memory
	EventFree                      // Allocation
	EventPlace                     // Allocation, Segment, Address, Bytes
	EventEvict                     // Allocation, Segment, Address
	EventLock                      // Allocation, Write
	EventUnlock                    // Allocation
	EventQueue                     // Submission, Node, Fence, Context, Address of the buffer, Start, End, Text, Commands
	EventPaging                    // Submission, Allocation, Source, Destination, Bytes, Text
	EventUse                       // Submission, Start: offset in the buffer, Allocation, Offset, Write
	EventDepend                    // Submission, On
	EventSubmit                    // Submission
	EventReport                    // Submission, Node, Fence
	EventRetire                    // Submission
	EventWait                      // Text
	EventWaitEnd                   // none
	EventFault                     // Node, Fence, Text: the status
	EventStop                      // Node, Fence, Text: the error, and the dump from the next line on
)

// An Event is a step of the kernel's work. Submissions are numbered from 1, across all
// nodes, in the order in which they get their fences.
type Event struct {
	Kind        EventKind
	Submission  uint64
	On          uint64 // submission that it waits for
	Node        uint32
	Fence       uint32
	Device      ddi.KMHandle
	Context     ddi.KMHandle
	Allocation  ddi.KMHandle
	Segment     uint32 // identifier
	Address     uint64
	Bytes       uint64
	Start, End  uint32 // in bytes from the beginning of the buffer
	Offset      uint64 // in the allocation
	Write       bool
	Source      kmddi.PagingLocation
	Destination kmddi.PagingLocation
	Text        string
	Commands    []byte // from Start to End, valid during the call
}

// observe reports an event on the thread that is in the kernel.
func (k *Kernel) observe(e Event) {
	if k.observer != nil {
		k.observer(k.thread, e)
	}
}

// observeQueue reports a submission that enters its queue, with all that is in it.
func (k *Kernel) observeQueue(s *submission) {
	if k.observer == nil {
		return
	}
	e := Event{
		Kind: EventQueue, Submission: s.serial, Node: s.node.ordinal, Fence: s.arg.SubmissionFenceID, Text: "paging buffer",
		Address: s.arg.DmaBufferPhysicalAddress, Start: s.arg.DmaBufferSubmissionStartOffset, End: s.arg.DmaBufferSubmissionEndOffset,
	}
	bytes := []byte(nil)
	if s.paging != nil {
		bytes = s.paging.pages.Bytes
	} else {
		bytes = s.dma.pages.Bytes
		e.Text, e.Context = s.dma.function(), s.dma.context.handle
	}
	e.Commands = bytes[e.Start:e.End]
	k.observe(e)
	for node, number := range s.waits {
		if n := &k.nodes[node]; number > n.completed {
			k.observe(Event{Kind: EventDepend, Submission: s.serial, On: k.serialOf(n, number)})
		}
	}
	if s.paging != nil {
		k.observePaging(s)
	}
}

// observePaging reports the operations of a paging buffer.
func (k *Kernel) observePaging(s *submission) {
	for _, o := range s.paging.ops {
		k.observe(Event{
			Kind: EventPaging, Submission: s.serial, Allocation: o.allocation, Source: o.source, Destination: o.destination,
			Bytes: o.size, Text: o.name(),
		})
	}
}

// observeUses reports the allocations that a part of a DMA buffer has the addresses of.
func (k *Kernel) observeUses(s *submission, d *dmaBuffer, p part) {
	if k.observer == nil {
		return
	}
	for _, at := range d.patches[p.start:p.end] {
		if a := d.objects[at.AllocationIndex]; a != nil {
			k.observe(Event{
				Kind: EventUse, Submission: s.serial, Start: at.PatchOffset, Allocation: a.handle, Offset: uint64(at.AllocationOffset),
				Write: d.list[at.AllocationIndex].WriteOperation,
			})
		}
	}
}

// serialOf returns the serial number of a submission that has not retired, or 0.
func (k *Kernel) serialOf(n *node, number uint64) uint64 {
	for _, queue := range [...][]*submission{n.hardware, n.waiting} {
		for _, s := range queue {
			if s.number == number {
				return s.serial
			}
		}
	}
	return 0
}

// observePlace reports the place of an allocation in its segment.
func (k *Kernel) observePlace(a *allocation) {
	if k.observer != nil {
		k.observe(Event{Kind: EventPlace, Allocation: a.handle, Segment: a.segment.id, Address: a.address(), Bytes: a.span})
	}
}
