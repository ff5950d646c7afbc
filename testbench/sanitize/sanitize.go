// Package sanitize checks the GPU's accesses to memory, as an address sanitizer checks those
// of a program: each packet of a submission against the allocations in its list, each access of
// host memory and each executed packet against the submissions in the hardware, the order
// of nodes that share memory, what the CPU writes while the GPU owns memory, and what the
// kernel evicts and brings back. The rules are rule.Access.
//
// A [Sanitizer] listens to the graphics kernel and to the device. What a packet reads and
// writes follows from its definition (package pkt); package storm compares the GPU with that
// definition. So accesses of VRAM are checked packet by packet, and those of host memory
// request by request.
package sanitize

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/hilgpu/hilgpu/boards"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
	"github.com/hilgpu/hilgpu/runtime/dxgkrnl"
	"github.com/hilgpu/hilgpu/runtime/hal"
	"github.com/hilgpu/hilgpu/runtime/verifier"
	"github.com/hilgpu/hilgpu/testbench/cmdbuf"
	"github.com/hilgpu/hilgpu/testbench/doorbell"
)

// An allocation is one of the kernel's.
type allocation struct {
	device  ddi.KMHandle
	bytes   uint64
	memory  span     // host memory of its own
	pages   []uint64 // of that, if it need not be contiguous
	place   span     // in a segment
	placed  bool
	mapped  bool   // that is in an aperture segment
	written ranges // of offsets, by a packet or the application
	locks   int    // of the application
	locked  bool   // the application has locked it for writing
	pinned  bool   // one of the locks is IgnoreSync
	told    bool   // that a packet reads what nobody has written

	eviction
	resource cmdbuf.Resource // without a name: there is none
}

// A Sanitizer checks one system. Its methods may be called from several goroutines.
type Sanitizer struct {
	report func(r verifier.Report)
	peek   func(addr uint64, p []byte) error
	peeked []byte // for compare

	bell      sync.Mutex // is locked before mu, and not in Read and Wrote
	doorbells *doorbell.Rings

	mu          sync.Mutex
	allocations map[ddi.KMHandle]*allocation
	driver      miniport
	linear      map[uint64]uint64      // by page: the address here of memory that is not contiguous
	given       uint64                 // bytes of such addresses
	unfinished  []*submission          // with a fence and not retired, in that order
	jobs        map[uint64]*submission // DMA buffers in software queues, by job
	last        map[uint32]*submission
	counts      map[uint32]uint64 // submissions by node
	turns       uint64            // submissions
	granularity kmddi.GraphicsPreemptionGranularity
	wasReset    map[uint32]bool // nodes that were reset, and have got no work since
	on          bool            // there was an allocation, and the adapter has not stopped since
	found       []finding       // by the device, not yet reported
	renders     map[*ddi.Thread]*render
	fresh       []*owned                 // of the last submission, whose bytes are not known
	copied      copied                   // by the last COPY
	out         map[uint64][]*allocation // by the submission that copies them to host memory
	returning   []ddi.KMHandle           // evicted allocations that the last submission moves to a segment
}

// A finding is a broken rule.
type finding struct {
	rule, function, text string
	work                 *verifier.Work // that it is about, or nil
}

// New returns a sanitizer. report is called on a thread that is in the kernel. peek reads host
// memory without telling Read, and must not be called by Read and Wrote.
func New(report func(r verifier.Report), peek func(addr uint64, p []byte) error) *Sanitizer {
	return &Sanitizer{
		report: report, peek: peek, doorbells: doorbell.New(peek), allocations: map[ddi.KMHandle]*allocation{}, linear: map[uint64]uint64{},
		last: map[uint32]*submission{}, counts: map[uint32]uint64{}, jobs: map[uint64]*submission{}, renders: map[*ddi.Thread]*render{}, out: map[uint64][]*allocation{},
		wasReset: map[uint32]bool{},
	}
}

// Allocated notes the resource of an allocation, for cmdbuf.Listener.
func (s *Sanitizer) Allocated(h ddi.KMHandle, r cmdbuf.Resource) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a := s.allocations[h]; a != nil {
		a.resource = r
	}
}

// of names an allocation and its resource.
func (s *Sanitizer) of(h ddi.KMHandle) string {
	if a := s.allocations[h]; a != nil && a.resource.Name != "" {
		return fmt.Sprintf("allocation %#x (%v)", h, a.resource)
	}
	return fmt.Sprintf("allocation %#x", h)
}

// Kernel takes a step of the graphics kernel, for dxgkrnl.Config.Observe.
func (s *Sanitizer) Kernel(t *ddi.Thread, e dxgkrnl.Event) {
	switch e.Kind {
	case dxgkrnl.EventRetire:
		s.compare(e.Submission)
		s.keepEvicted(e.Submission)
	case dxgkrnl.EventQueue:
		s.compare(e.Again)
		s.made(e.Job)
	}
	s.mu.Lock()
	s.step(t, e)
	s.mu.Unlock()
	s.compareEvicted()
	s.fill()
	s.Flush(t)
}

// Flush reports what was found since the last step of the kernel, on a thread that may call it.
func (s *Sanitizer) Flush(t *ddi.Thread) {
	for _, f := range take(s, &s.found) {
		r := reportOf(t, f.rule, f.function, "%s", f.text)
		r.Work = f.work
		s.report(r)
	}
}

// take empties a list of s and returns what was in it.
func take[T any](s *Sanitizer, list *[]T) []T {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := *list
	*list = nil
	return all
}

func reportOf(t *ddi.Thread, rule, function, format string, args ...any) verifier.Report {
	return verifier.Report{Rule: rule, Thread: t, Func: &verifier.Func{Name: function}, Text: fmt.Sprintf(format, args...)}
}

// step keeps the state of the kernel.
func (s *Sanitizer) step(t *ddi.Thread, e dxgkrnl.Event) {
	a := s.allocations[e.Allocation]
	switch e.Kind {
	case dxgkrnl.EventAllocate:
		s.on = true
		n := &allocation{device: e.Device, bytes: e.Bytes}
		s.giveMemory(n, e)
		s.allocations[e.Allocation] = n
	case dxgkrnl.EventFree:
		s.freed(e.Allocation)
	case dxgkrnl.EventPlace:
		if a != nil {
			s.placed(e.Allocation, a, e)
		}
	case dxgkrnl.EventEvict:
		if a != nil {
			s.unplaced(e.Allocation, a)
			a.evict()
		}
	case dxgkrnl.EventDestroy, dxgkrnl.EventOffer, dxgkrnl.EventReclaim:
		if a != nil {
			a.destroyed = a.destroyed || e.Kind == dxgkrnl.EventDestroy
			a.offered = e.Kind == dxgkrnl.EventOffer
		}
	case dxgkrnl.EventLock:
		if a != nil {
			s.locked(a, e)
		}
	case dxgkrnl.EventUnlock:
		if a != nil {
			a.locks--
			a.pinned = a.pinned && a.locks > 0
		}
	case dxgkrnl.EventDriverMemory:
		s.driver.allocated(span{pkt.Host | e.Address, pkt.Host | e.Address + e.Bytes})
	case dxgkrnl.EventDriverFree:
		s.driver.free(pkt.Host | e.Address)
	case dxgkrnl.EventPending:
		s.pending(t, e)
	case dxgkrnl.EventQueue:
		s.queue(t, e)
	case dxgkrnl.EventSubmit:
		s.each(e.Submission, s.submitted)
	case dxgkrnl.EventPreempted:
		s.each(e.Submission, s.takenBack)
	case dxgkrnl.EventReset:
		s.wasReset[e.Node] = true
		s.retire(e.Submission)
	case dxgkrnl.EventRetire, dxgkrnl.EventCancelled:
		s.retire(e.Submission)
	case dxgkrnl.EventStop, dxgkrnl.EventRestart: // in between, work that was not submitted may get a fence
		s.drop()
	}
}

// drop forgets all work of an adapter that has stopped, and the content of its segments.
func (s *Sanitizer) drop() {
	s.on, s.unfinished = false, nil
	clear(s.jobs)
	clear(s.last)
	clear(s.out)
	for _, a := range s.allocations {
		a.eviction = eviction{}
	}
}

// each calls do with an unfinished submission.
func (s *Sanitizer) each(serial uint64, do func(u *submission)) {
	for _, u := range s.unfinished {
		if u.serial == serial {
			do(u)
			return
		}
	}
}

func (s *Sanitizer) retire(serial uint64) {
	for i, u := range s.unfinished {
		if u.serial == serial {
			s.unfinished = append(s.unfinished[:i:i], s.unfinished[i+1:]...)
			return
		}
	}
}

// freed checks that no unfinished submission uses an allocation that is freed. A DMA buffer in a
// software queue that uses one was cancelled.
func (s *Sanitizer) freed(h ddi.KMHandle) {
	for _, u := range s.unfinished {
		for _, x := range u.accesses {
			if x.allocation == h && s.on {
				s.find("access-device", u.function, "%s uses %s, which was freed", x.name(u), s.of(h))
				return
			}
		}
	}
	maps.DeleteFunc(s.jobs, func(_ uint64, u *submission) bool {
		return slices.ContainsFunc(u.owned, func(o *owned) bool { return o.allocation == h })
	})
	if a := s.allocations[h]; a != nil {
		s.takeMemory(a)
	}
	delete(s.allocations, h)
}

// find adds a finding.
func (s *Sanitizer) find(rule, function, format string, args ...any) {
	if len(s.found) < maxFound {
		f := finding{rule: rule, function: function, text: fmt.Sprintf(format, args...)}
		for _, a := range args {
			if n, ok := a.(named); ok && f.work == nil {
				f.work = n.work()
			}
		}
		s.found = append(s.found, f)
	}
}

// submitFunction is the function that gives work to the GPU.
const submitFunction = "DxgkDdiSubmitCommand"

// maxFound bounds the findings between two steps of the kernel.
const maxFound = 16

// Observe takes what an emulated GPU has done.
func (s *Sanitizer) Observe(o boards.Observation) {
	if o.Cause != 0 || o.Address&pkt.Host == 0 {
		return
	}
	at := span{o.Address, o.Address + 4}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.on || s.driver.has(at) && s.driver.allows(at, false) {
		return
	}
	for _, u := range s.unfinished {
		if u.submitted && u.node == uint32(o.Node) && u.buffer.has(at) {
			s.checkAgain(u, o.Address)
			u.done = o.Address + 4 + 4*uint64(o.Header&pkt.HeaderBody)
			return
		}
	}
	s.find("access-outside", submitFunction, "node %d executed the packet at %s, which is in no submission in the hardware%s", o.Node, pkt.FormatAddr(o.Address), s.hardware())
}

// Read takes a read of host memory by the device.
func (s *Sanitizer) Read(addr uint64, p []byte) { s.accessed(addr, p, false) }

// Wrote takes a write of host memory by the device.
func (s *Sanitizer) Wrote(addr uint64, p []byte) { s.accessed(addr, p, true) }

// accessed checks an access of host memory by the device.
func (s *Sanitizer) accessed(addr uint64, p []byte, writes bool) {
	shown := span{pkt.Host | addr, pkt.Host | addr + uint64(len(p))}
	s.mu.Lock()
	defer s.mu.Unlock()
	from := s.hostAt(addr) // a request does not pass the end of a page
	at := span{from, from + uint64(len(p))}
	if !s.on {
		return
	}
	if s.driver.has(shown) {
		s.accessedDriver(shown, writes)
		return
	}
	for _, u := range s.unfinished {
		if u.submitted && u.allows(at, writes) {
			s.moved(at, p, writes)
			return
		}
	}
	did, _ := verbs(writes)
	s.find("access-outside", submitFunction, "the GPU %s %s, which no submission in the hardware uses%s", did, shown, s.hardware())
}

// verbs returns what the GPU did, and what a packet does.
func verbs(writes bool) (did, does string) {
	if writes {
		return "wrote", "writes"
	}
	return "read", "reads"
}

// Refused takes an access of the device to n bytes of host memory that do not exist.
func (s *Sanitizer) Refused(addr uint64, n int, writes bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.on {
		at := span{pkt.Host | addr, pkt.Host | addr + uint64(n)}
		did, _ := verbs(writes)
		if addr >= dxgkrnl.EndedPage && addr < dxgkrnl.EndedPage+hal.PageSize {
			s.find("access-mdl", buildPaging, "the GPU %s %s, a page that was in no MDL when its operation was built", did, at)
			return
		}
		s.find("access-outside", submitFunction, "the GPU %s %s, where no memory is%s", did, at, s.hardware())
	}
}
