package why

import (
	"encoding/binary"

	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/testbench/eventlog"
)

// pageBytes is the size of a page of host memory.
const pageBytes = 4096

// addHomes adds the host memory of an allocation, in one place or page by page.
func (b *builder) addHomes(e *eventlog.Event, at Point) {
	a, size := e.Fields[0], e.Fields[2]
	home := func(address, within, size uint64) {
		p := &place{allocation: a, address: pkt.Host | address, within: within, size: size, from: at, memory: true}
		b.homes[a] = append(b.homes[a], b.place(p))
	}
	if len(e.Data) == 0 {
		home(e.Fields[3], 0, size)
	}
	for i := uint64(0); i+8 <= uint64(len(e.Data)) && i/8*pageBytes < size; i += 8 {
		within := i / 8 * pageBytes
		home(binary.LittleEndian.Uint64(e.Data[i:]), within, min(pageBytes, size-within))
	}
}

// endHomes ends the host memory of an allocation.
func (b *builder) endHomes(a uint64, at Point) {
	for _, p := range b.homes[a] {
		p.to = at
	}
	delete(b.homes, a)
}
