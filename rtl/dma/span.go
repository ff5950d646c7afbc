package dma

import "github.com/hilgpu/hilgpu/rtl/abi/port"

const (
	chunk = 4 * port.MaxLen // bytes of the largest request; no request crosses a multiple
	beats = chunk / 8       // of one tag in the reorder memory
)

// A span is the part of a range of memory that is still to be requested. Each
// request except the last ends at the end of its chunk, so the next one starts a
// chunk.
type span struct {
	addr uint64 // address of the next request
	left uint32 `w:"26"` // requests
	end  uint8  `w:"7"`  // offset of the last byte in its chunk
}

// requests returns the number of requests for n bytes from an offset in a chunk
// on, and the offset of the last byte in its chunk.
func requests(from uint8, n uint32) (left uint32, end uint8) {
	before := uint64(from-1) & (chunk - 1)
	if from != 0 {
		before |= chunk
	}
	last := before + uint64(n)
	return uint32(last/chunk) & 0x3ffffff, uint8(last) & (chunk - 1)
}

// last reports whether one request is left.
func (s span) last() bool { return s.left == 1 }

// request returns the next request, without its kind.
func (s span) request(tag uint8) port.Request {
	end := uint8(chunk - 1)
	if s.last() {
		end = s.end
	}
	rest := end>>2 - uint8(s.addr)&(chunk-1)>>2
	return port.Request{Tag: tag, Len: rest&(port.MaxLen-1) + 1, Addr: s.addr &^ 3}
}

// advance returns s after its next request if step is set, or to if load is set.
//
// Design note: an FPGA cell computes one bit of a sum and has two more inputs,
// one of them the second operand. So the choice between the sum and to is free if
// that operand makes the choice: with load set, the sum is unused.
func (m *Module) advance(s span, step, load bool, to span) span {
	up, down := uint64(1), uint32(0)
	if load {
		up = ^uint64(0)
	}
	if step {
		down = ^uint32(0)
	}
	addr := s.addr&host | ((s.addr/chunk+up)*chunk)&(m.addrMask&^host)
	left, end := to.left, to.end
	if step {
		left, end = s.left+down, s.end
	}
	if load {
		addr = to.addr
	}
	return span{addr: addr, left: left & m.leftMask, end: end & (chunk - 1)}
}
