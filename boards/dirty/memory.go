package dirty

import (
	"fmt"

	"github.com/hilgpu/hilgpu/bus"
)

// memoryBytes is the size of the earlier host's memory, a power of two.
const memoryBytes = 64 << 10

// A memory is the host memory that the device may access. It refuses everything
// else, including messages.
type memory struct {
	base  uint64
	bytes [memoryBytes]byte
}

func (m *memory) at(addr uint64, n int) ([]byte, error) {
	off := addr - m.base
	if off > memoryBytes || uint64(n) > memoryBytes-off {
		return nil, fmt.Errorf("%w: %d bytes at %#x", bus.ErrUnsupported, n, addr)
	}
	return m.bytes[off : off+uint64(n)], nil
}

// ReadMem implements bus.Host.
func (m *memory) ReadMem(addr uint64, p []byte) error {
	b, err := m.at(addr, len(p))
	copy(p, b)
	return err
}

// WriteMem implements bus.Host.
func (m *memory) WriteMem(addr uint64, p []byte) error {
	b, err := m.at(addr, len(p))
	copy(b, p)
	return err
}
