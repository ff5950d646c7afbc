// Package ring implements the host side of the ring of one command processor:
// it queues submissions, writes the doorbell and tracks fences.
//
// A ring is contiguous host memory that the device reads. A packet may wrap
// around its end: the command processor fetches modulo the ring. Free space is
// computed from the fences of submissions, which only the host stores. The
// ring, which the device can access, and the read pointer are never used for
// it.
package ring

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"

	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

// Slots is the maximum number of outstanding submissions in a ring.
const Slots = 8

// Size is the recommended memory size of a ring in bytes: more than Slots
// submissions need. It is also the alignment of the base.
const Size = 4096

// History is the number of recent submissions that a ring remembers.
const History = 2 * Slots

const (
	submissionDwords = (1 + pkt.RestoreStateBody) + (1 + pkt.IndirectBody) + (1 + pkt.FenceBody)
	baseAlign        = 4096
)

// Errors, wrapped. A ring keeps its first error.
var (
	ErrMemory     = errors.New("ring: unusable memory")
	ErrFull       = errors.New("ring: full")
	ErrSubmission = errors.New("ring: bad submission")
	ErrFence      = errors.New("ring: impossible fence")
	ErrRegister   = errors.New("ring: register access failed")
	ErrPlace      = errors.New("ring: impossible place")
)

var le = binary.LittleEndian

// Registers accesses the device's registers. off is an offset in BAR0, in
// bytes. The value of a failed read is not from the device.
type Registers interface {
	ReadRegister(t *ddi.Thread, off uint32) (uint32, ddi.Status)
	WriteRegister(t *ddi.Thread, off, v uint32) ddi.Status
}

// A Submission is one use of the ring: the dwords [Start, End), modulo the
// ring. The last packet is the fence ID.
type Submission struct {
	ID         uint32
	Start, End uint32 // in dwords from the start of the ring
}

// A Ring is the ring of one node. Submit, Resume and Retire must be used by one
// thread at a time; Complete and Yield may interrupt them, as an interrupt routine does.
type Ring struct {
	node      int
	mem       kmddi.ContiguousMemory
	fenceAddr uint64 // GPU address of the node's fence word
	regs      Registers

	head      uint32              // next dword to write
	began     bool                // there was a submission since Start
	next      uint32              // number of submissions since Start that Yield has not dropped
	retired   uint32              // number of submissions whose space is free again
	records   [History]Submission // submission i is at i modulo History
	submitted uint32              // fence id of the last submission
	completed uint32              // last fence id accepted by Complete
	err       error

	preempting bool   // the node was asked to stop, and Yield has not run
	asked      uint32 // last value written to PREEMPT

	mask uint32 // size of the ring in dwords - 1
}

// New returns the ring of a node in mem, which the ring then owns. fenceAddr is
// the GPU address of the fence word, a multiple of 8. New fails with ErrMemory
// if mem is not at a multiple of 4096 bytes, its size is not a power of two
// within the limits of the register RING_SIZE, or Slots submissions do not fit.
func New(node int, mem kmddi.ContiguousMemory, fenceAddr uint64, regs Registers) (*Ring, error) {
	n := len(mem.Bytes)
	switch {
	case bits.OnesCount(uint(n)) != 1 || n < 1<<cpreg.MinRingLog2 || n > 1<<cpreg.MaxRingLog2:
		return nil, fmt.Errorf("%w: ring of %d bytes, want a power of two, %d to %d", ErrMemory, n, 1<<cpreg.MinRingLog2, 1<<cpreg.MaxRingLog2)
	case n/4 <= Slots*submissionDwords:
		return nil, fmt.Errorf("%w: ring of %d dwords, want more than %d", ErrMemory, n/4, Slots*submissionDwords)
	case mem.PhysicalAddress%baseAlign != 0 || mem.PhysicalAddress >= pkt.Host:
		return nil, fmt.Errorf("%w: ring at %#x, want a multiple of %d below 2^63", ErrMemory, mem.PhysicalAddress, baseAlign)
	case fenceAddr%8 != 0:
		return nil, fmt.Errorf("%w: fence at %#x, want a multiple of 8", ErrMemory, fenceAddr)
	}
	return &Ring{node: node, mem: mem, fenceAddr: fenceAddr, regs: regs, mask: uint32(n/4) - 1}, nil
}

// Memory returns the memory passed to New.
func (r *Ring) Memory() kmddi.ContiguousMemory { return r.mem }

// Addr returns the GPU address of dword i, modulo the ring.
func (r *Ring) Addr(i uint32) uint64 { return pkt.Host | r.mem.PhysicalAddress + uint64(i&r.mask)*4 }

// Dwords returns the size of the ring in dwords.
func (r *Ring) Dwords() uint32 { return r.mask + 1 }

// Fail makes the ring refuse all later submissions. The first error is kept.
func (r *Ring) Fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

// Forgive makes a ring that has failed accept submissions again. Its user knows that the node is
// in order.
func (r *Ring) Forgive() { r.err = nil }

// Err returns the error of a failed ring, or nil.
func (r *Ring) Err() error { return r.err }

// Submit queues the dwords at the GPU address addr, then the fence id, and
// writes the doorbell. If dwords is 0 it queues only the fence. It neither
// waits nor fails: an invalid submission, more than Slots submissions, or a
// register that cannot be written marks the ring as failed, and a failed ring
// submits nothing. id must be greater than the previous one, modulo 2^32; the
// first may be any.
func (r *Ring) Submit(t *ddi.Thread, addr uint64, dwords, id uint32) {
	r.submit(t, work{addr: addr, dwords: dwords, id: id})
}

// work is what the node does for a submission.
type work struct {
	state   uint64 // GPU address of the context that is restored, if resumes is set
	addr    uint64
	dwords  uint32
	id      uint32
	resumes bool
}

func (r *Ring) submit(t *ddi.Thread, w work) {
	if r.err != nil {
		return
	}
	var buf [submissionDwords * 4]byte
	p, err := r.encode(buf[:0], w)
	if err == nil {
		r.Retire()
		// New has checked that the packets of Slots submissions fit.
		if r.next-r.retired == Slots {
			err = fmt.Errorf("%w: %d submissions outstanding", ErrFull, Slots)
		}
	}
	if err == nil && r.preempting {
		err = fmt.Errorf("%w: fence %d during a preemption", ErrSubmission, w.id)
	}
	if err == nil && !r.began {
		err = r.preset(t, w.id-1)
	}
	if err != nil {
		r.Fail(err)
		return
	}
	start := r.head
	r.put(p)
	r.records[r.next%History] = Submission{ID: w.id, Start: start, End: r.head}
	if !r.began {
		r.began, r.completed = true, w.id-1
	}
	r.next++
	r.submitted = w.id
	// An interrupt may arrive as soon as the doorbell is written, so everything
	// is recorded before.
	r.write(t, cpreg.Wptr, r.head)
}

// encode appends the packets of a submission to b.
func (r *Ring) encode(b []byte, w work) ([]byte, error) {
	if r.began && (w.id == r.submitted || w.id-r.submitted >= 1<<31) {
		return b, fmt.Errorf("%w: fence %d after fence %d, want a later one", ErrSubmission, w.id, r.submitted)
	}
	var err error
	if w.resumes {
		if b, err = (pkt.RestoreState{Addr: w.state}).Append(b); err != nil {
			return b, fmt.Errorf("%w: %w", ErrSubmission, err)
		}
	}
	if w.dwords > 0 {
		if b, err = (pkt.Indirect{Addr: w.addr, Dwords: w.dwords, Resume: w.resumes}).Append(b); err != nil {
			return b, fmt.Errorf("%w: %w", ErrSubmission, err)
		}
	}
	if b, err = (pkt.Fence{Addr: r.fenceAddr, ID: w.id, IRQ: true}).Append(b); err != nil {
		return b, fmt.Errorf("%w: %w", ErrSubmission, err)
	}
	return b, nil
}

// put copies the packets p to the head and wraps around the end if necessary.
func (r *Ring) put(p []byte) {
	for ; len(p) > 0; p = p[4:] {
		copy(r.mem.Bytes[r.head*4:], p[:4])
		r.head = (r.head + 1) & r.mask
	}
}

// Complete processes a value of the node's fence register. newer reports
// whether it has moved since the last call. If the ring cannot have reached the
// value, because it is before the last one or after the last submission,
// Complete fails with ErrFence and changes nothing.
func (r *Ring) Complete(id uint32) (newer bool, err error) {
	if !r.began {
		return false, nil
	}
	if id-r.completed > r.submitted-r.completed {
		return false, fmt.Errorf("%w: CP%d.FENCE %d, want %d to %d", ErrFence, r.node, id, r.completed, r.submitted)
	}
	newer = id != r.completed
	r.completed = id
	return newer, nil
}

// Retire frees the space of completed submissions.
func (r *Ring) Retire() {
	for r.retired != r.next && !r.outstanding(r.records[r.retired%History]) {
		r.retired++
	}
}

// outstanding reports whether a submission is after the last completed one.
func (r *Ring) outstanding(s Submission) bool {
	ahead := s.ID - r.completed
	return ahead != 0 && ahead < 1<<31
}

// Executing returns the submission that the node executes: the first one that
// has not completed. It reports false if all have.
func (r *Ring) Executing() (Submission, bool) {
	for i := r.retired; i != r.next; i++ {
		if s := r.records[i%History]; r.outstanding(s) {
			return s, true
		}
	}
	return Submission{}, false
}

// Submitted returns the fence id of the last submission, 0 before the first.
func (r *Ring) Submitted() uint32 { return r.submitted }

// Completed returns the last fence id accepted by Complete, 0 before the first
// submission.
func (r *Ring) Completed() uint32 { return r.completed }

// Recent returns the latest submissions, at most History, whose packets are
// still in the ring, oldest first.
func (r *Ring) Recent() []Submission {
	var out []Submission
	used := uint32(0)
	for i := r.next; i > 0 && r.next-i < History; i-- {
		s := r.records[(i-1)%History]
		if used += (s.End - s.Start) & r.mask; used > r.mask {
			break
		}
		out = append([]Submission{s}, out...)
	}
	return out
}

// Bytes returns a copy of the packets of a submission.
func (r *Ring) Bytes(s Submission) []byte {
	var out []byte
	for i := s.Start; i != s.End; i = (i + 1) & r.mask {
		out = le.AppendUint32(out, le.Uint32(r.mem.Bytes[i*4:]))
	}
	return out
}
