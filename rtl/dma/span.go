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

// chunkBehind returns the start of the chunk behind the one of addr.
func (m *Module) chunkBehind(addr uint64) uint64 {
	return addr&host | ((addr/chunk+1)*chunk)&(m.addrMask&^host)
}
