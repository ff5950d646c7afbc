package dma

import "github.com/hilgpu/hilgpu/rtl/abi/port"

const (
	chunk = 4 * port.MaxLen // bytes of the largest request; none crosses a multiple
	beats = chunk / 8       // of one tag in the reorder memory
)

// A span is what is left to ask for of a range of memory. Each request but the
// last ends with its chunk, so the next one is at the start of one.
type span struct {
	addr uint64 // of the next request
	left uint32 `w:"26"` // requests
	end  uint8  `w:"7"`  // offset of the last byte in its chunk
}

// requests returns the requests for n bytes from an offset in a chunk on, and the
// offset of the last byte in its chunk.
func requests(from uint8, n uint32) (left uint32, end uint8) {
	before := uint64(from-1) & (chunk - 1)
	if from != 0 {
		before |= chunk
	}
	last := before + uint64(n)
	return uint32(last/chunk) & 0x3ffffff, uint8(last) & (chunk - 1)
}

// last returns whether there is one request left.
func (s span) last() bool { return s.left == 1 }

// request returns the next request, but for its kind.
func (s span) request(tag uint8) port.Request {
	end := uint8(chunk - 1)
	if s.last() {
		end = s.end
	}
	behind := end>>2 - uint8(s.addr)&(chunk-1)>>2
	return port.Request{Tag: tag, Len: behind&(port.MaxLen-1) + 1, Addr: s.addr &^ 3}
}

// behind returns s behind its next request, if step is set, or to, if load is.
//
// Design note. A cell of an FPGA has one bit of a sum and room for two inputs more,
// and the second operand is one of them. So the choice between the sum and to costs
// nothing where that operand is the choice: with load set the sum does not matter.
func (m *Module) behind(s span, step, load bool, to span) span {
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
