package miniport

import (
	"errors"
	"fmt"

	"github.com/hilgpu/hilgpu/hostdriver/ring"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

// errPlace is why the rest of a buffer cannot be executed.
var errPlace = errors.New("miniport: no place to resume")

// placeBytes is the size of the private data of a DMA buffer:
//
//	dword   field
//	0       placeMagic
//	1       bit 0: stopped, bit 1: known, bit 2: failed
//	2       start
//	3       end
//	4       at
//	5       progress
//	6..17   the six words of surfaces
//	18, 19  0
const placeBytes = 80

// placeMagic is the first dword. It changes with the layout.
const placeMagic = 0x31504748 // "HGP1"

// A place is where a node has stopped in a submission of a DMA buffer. Offsets are in bytes
// from the start of the buffer.
//
//	stopped   the node has begun the submission, and has not completed it
//	known     surfaces are those of the last Patch
//	failed    it cannot go on, and must fail when it is submitted again
//	start     first byte of the submission
//	end       the one after its last
//	at        the next packet; end: only the fence is left
//	progress  how much of that packet is done, as in the register PROGRESS
//	surfaces  source and destination before that packet, as in RESTORE_STATE
//
// A buffer may have several submissions, which the GPU executes one after the other. The place
// is in the last one that has begun, so those before it are executed.
type place struct {
	stopped, known, failed bool
	start, end             uint32
	at, progress           uint32
	surfaces               [surfaceWords]uint64
}

// surfaceWords is the number of words that RESTORE_STATE reads for both surfaces.
const surfaceWords = 6

// put writes p to the private data of a buffer. It reports false if that is too short.
func (p place) put(b []byte) bool {
	if len(b) < placeBytes {
		return false
	}
	clear(b[:placeBytes])
	flags := uint32(0)
	if p.stopped {
		flags |= 1
	}
	if p.known {
		flags |= 2
	}
	if p.failed {
		flags |= 4
	}
	for i, v := range [...]uint32{placeMagic, flags, p.start, p.end, p.at, p.progress} {
		le.PutUint32(b[4*i:], v)
	}
	for i, v := range p.surfaces {
		le.PutUint64(b[24+8*i:], v)
	}
	return true
}

// takePlace reads the private data of a buffer. It reports false if put did not write it.
func takePlace(b []byte) (p place, ok bool) {
	if len(b) < placeBytes || le.Uint32(b) != placeMagic {
		return place{}, false
	}
	flags := le.Uint32(b[4:])
	p = place{
		stopped: flags&1 != 0, known: flags&2 != 0, failed: flags&4 != 0,
		start: le.Uint32(b[8:]), end: le.Uint32(b[12:]), at: le.Uint32(b[16:]), progress: le.Uint32(b[20:]),
	}
	for i := range p.surfaces {
		p.surfaces[i] = le.Uint64(b[24+8*i:])
	}
	return p, true
}

// in reports whether p is in the submission [start, end).
func (p place) in(start, end uint32) bool {
	return p.stopped && p.start == start && p.end == end && p.at >= start && p.at <= end && p.at%4 == 0
}

// after reports whether p is in a later submission than one that ends at end, which is executed
// then.
func (p place) after(end uint32) bool { return p.stopped && p.start >= end }

// A buffer is a submission that is in a ring.
type buffer struct {
	id         uint32 // its fence
	private    []byte
	addr       uint64 // GPU address of the start of the buffer
	start, end uint32
}

// stoppedAt returns the place of a node that has stopped at a GPU address of a submission, with some dwords left.
func (b *buffer) stoppedAt(addr uint64, left, progress uint32) (place, error) {
	off := addr - b.addr
	if off%4 != 0 || off < uint64(b.start) || off >= uint64(b.end) || (uint64(b.end)-off)/4 != uint64(left) {
		return place{}, fmt.Errorf("%w: stopped at %#x with %d dwords left, in [%#x, %#x) of the buffer at %#x", errPlace, addr, left, b.start, b.end, b.addr)
	}
	return place{stopped: true, start: b.start, end: b.end, at: uint32(off), progress: progress & pkt.MaxProgress}, nil
}

// continued returns the place from which a submission continues. Its field stopped is false if the submission begins.
func continued(arg kmddi.SubmitCommand) (place, error) {
	start, end := arg.DmaBufferSubmissionStartOffset, arg.DmaBufferSubmissionEndOffset
	p, ok := takePlace(arg.DmaBufferPrivateData)
	switch {
	case !ok && arg.Flags.Resubmission && start != end:
		return place{}, fmt.Errorf("%w: fence %d is resubmitted without its private data", errPlace, arg.SubmissionFenceID)
	case p.after(end):
		return place{stopped: true, start: start, end: end, at: end}, nil
	case !p.in(start, end):
		return place{}, nil
	case p.failed || p.at == end || p.known || arg.Flags.Paging:
		return p, nil
	}
	return place{}, fmt.Errorf("%w: fence %d was not patched again", errPlace, arg.SubmissionFenceID)
}

// keep writes the place where the node has stopped to the private data of its buffer. A
// submission that has not begun keeps the place that it may have.
func (n *node) keep(p ring.Place) error {
	if !p.Began && !p.Ended {
		return nil
	}
	for _, b := range n.buffers {
		if b.id != p.ID || b.private == nil {
			continue
		}
		stopped := place{stopped: true, start: b.start, end: b.end, at: b.end}
		if p.Began {
			var err error
			if stopped, err = b.stoppedAt(p.Addr, p.Left, p.Progress); err != nil {
				return err
			}
		}
		if stopped.put(b.private) {
			return nil
		}
	}
	return fmt.Errorf("%w: fence %d has no private data", errPlace, p.ID)
}

// locate brings the surfaces of a stopped submission up to date, after its addresses were
// patched: a node that resumes gets those that the packets before the place have set.
func locate(arg kmddi.Patch) error {
	start, end := arg.DmaBufferSubmissionStartOffset, arg.DmaBufferSubmissionEndOffset
	p, ok := takePlace(arg.DmaBufferPrivateData)
	if !ok || !p.in(start, end) {
		return nil
	}
	if uint64(p.at) > uint64(len(arg.DmaBuffer)) {
		return fmt.Errorf("%w: at %#x of %#x bytes", errPlace, p.at, len(arg.DmaBuffer))
	}
	if p.surfaces, ok = surfacesAfter(arg.DmaBuffer[start:p.at]); !ok {
		return fmt.Errorf("%w: at %#x, inside a packet", errPlace, p.at)
	}
	p.known = true
	p.put(arg.DmaBufferPrivateData)
	return nil
}

// surfacesAfter returns the surfaces that packets set. A PREDICATE skips no SET_STATE, so each
// counts. It reports false if b does not end with a packet.
func surfacesAfter(b []byte) (words [surfaceWords]uint64, ok bool) {
	for len(b) > 0 {
		head := le.Uint32(b)
		n := 4 * (1 + uint64(head&pkt.HeaderBody))
		if n > uint64(len(b)) {
			return words, false
		}
		if uint8(head>>24) == pkt.OpSetState {
			p, _, err := pkt.Decode(b[:n])
			set, isSet := p.(pkt.SetState)
			if err != nil || !isSet {
				return words, false
			}
			copy(words[surfaceWords/2*int(set.Surface):], surfaceState(set))
		}
		b = b[n:]
	}
	return words, true
}

// surfaceState returns the words of a surface, as RESTORE_STATE reads them.
func surfaceState(s pkt.SetState) []uint64 {
	return []uint64{
		s.Base,
		uint64(s.Pitch) | uint64(s.Format)<<32 | 1<<63,
		uint64(s.X0) | uint64(s.Y0)<<16 | uint64(s.X1)<<32 | uint64(s.Y1)<<48,
	}
}

// contextState is where in a context's state PROGRESS is.
const contextState = 14 * 8

// restored writes the state from which a node resumes at a place. No windows are set.
func (p place) restored(b []byte) {
	clear(b[:pkt.StateBytes])
	for i, v := range p.surfaces {
		le.PutUint64(b[8*i:], v)
	}
	le.PutUint32(b[contextState:], p.progress)
}
