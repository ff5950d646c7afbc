package hal

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// Pages is pinned memory. Phys is its physical address, a multiple of PageSize. Bytes is
// the memory itself, with the requested length. The device can access all of the last
// page too. List has the physical address of each page in the order of Bytes, and Phys is
// that of the first one; if it is nil, the memory is contiguous.
type Pages struct {
	Phys  uint64
	Bytes []byte
	List  []uint64
}

// A block is one allocation; the length of mem is a multiple of PageSize.
type block struct {
	phys uint64
	mem  []byte
}

func (b block) end() uint64 { return b.phys + uint64(len(b.mem)) }

// Alloc allocates size bytes of zeroed memory, rounded up to pages, at the
// lowest free address that is a multiple of align, a power of two. An align
// below PageSize means PageSize. It fails with ErrMemory if there is no such
// gap, size is not positive or align is not a power of two.
func (m *Machine) Alloc(size int, align uint64) (Pages, error) {
	align = max(align, PageSize)
	if size <= 0 || align&(align-1) != 0 || uint64(size) > m.memBytes {
		return Pages{}, fmt.Errorf("%w: %d bytes at a multiple of %#x, with %#x bytes in total", ErrMemory, size, align, m.memBytes)
	}
	n := (uint64(size) + PageSize - 1) &^ (PageSize - 1)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.refuse != nil && m.refuse(size) {
		return Pages{}, fmt.Errorf("%w: %d bytes were refused", ErrMemory, size)
	}
	phys, i, ok := m.findGap(n, align)
	if !ok {
		return Pages{}, fmt.Errorf("%w: no gap of %#x bytes at a multiple of %#x", ErrMemory, n, align)
	}
	mem := make([]byte, n)
	m.blocks = slices.Insert(m.blocks, i, block{phys, mem})
	return Pages{Phys: phys, Bytes: mem[:size]}, nil
}

// AllocList allocates size bytes of zeroed memory, rounded up to pages, of which each is the
// highest free one that ends at most at top. So two pages that follow each other are never
// contiguous, and a driver that takes them for it is found. It fails with ErrMemory if there
// are too few, or size is not positive.
func (m *Machine) AllocList(size int, top uint64) (Pages, error) {
	if size <= 0 || uint64(size) > m.memBytes {
		return Pages{}, fmt.Errorf("%w: %d bytes, with %#x bytes in total", ErrMemory, size, m.memBytes)
	}
	n := (size + PageSize - 1) / PageSize
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.refuse != nil && m.refuse(size) {
		return Pages{}, fmt.Errorf("%w: %d bytes were refused", ErrMemory, size)
	}
	list := m.freePages(n, top)
	if len(list) < n {
		return Pages{}, fmt.Errorf("%w: %d free pages below %#x, want %d", ErrMemory, len(list), top, n)
	}
	mem := make([]byte, n*PageSize)
	blocks := make([]block, 0, len(m.blocks)+n)
	rest := m.blocks
	for i := n - 1; i >= 0; i-- {
		for len(rest) > 0 && rest[0].phys < list[i] {
			blocks, rest = append(blocks, rest[0]), rest[1:]
		}
		blocks = append(blocks, block{list[i], mem[i*PageSize : (i+1)*PageSize : (i+1)*PageSize]})
	}
	m.blocks = append(blocks, rest...)
	return Pages{Phys: list[0], Bytes: mem[:size], List: list}, nil
}

// freePages returns the addresses of the n highest free pages that end at most at top, from
// the highest one on, or of all if they are fewer.
func (m *Machine) freePages(n int, top uint64) []uint64 {
	list := make([]uint64, 0, n)
	low := (max(MemBase, m.lowest) + PageSize - 1) &^ (PageSize - 1)
	at := min(m.end(), top) &^ (PageSize - 1)
	for i := len(m.blocks) - 1; ; i-- {
		from := low
		if i >= 0 {
			from = max(low, m.blocks[i].end())
		}
		for ; at >= from+PageSize && len(list) < n; at -= PageSize {
			if at > HoleBase && at <= HoleEnd {
				at = HoleBase + PageSize
				continue
			}
			list = append(list, at-PageSize)
		}
		if i < 0 || len(list) == n {
			return list
		}
		at = min(at, m.blocks[i].phys)
	}
}

// AllocFrom makes Alloc and AllocList return memory at addr or above only, for tests of a device's
// address width.
func (m *Machine) AllocFrom(addr uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lowest = addr
}

// Refuse makes refuse decide about each Alloc and AllocList, of the given bytes: they fail with
// ErrMemory if it returns true. It must not call the machine. nil: none fails for that.
func (m *Machine) Refuse(refuse func(bytes int) bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.refuse = refuse
}

// findGap returns the lowest free address for n bytes and its index in blocks.
func (m *Machine) findGap(n, align uint64) (phys uint64, i int, ok bool) {
	at := max(MemBase, m.lowest)
	for i := 0; ; i++ {
		at = (at + align - 1) &^ (align - 1)
		if at < HoleEnd && at+n > HoleBase {
			at = (HoleEnd + align - 1) &^ (align - 1)
		}
		for i < len(m.blocks) && m.blocks[i].end() <= at {
			i++
		}
		if i == len(m.blocks) {
			return at, i, at+n <= m.end() && at+n > at
		}
		if at+n <= m.blocks[i].phys {
			return at, i, true
		}
		at = m.blocks[i].end()
	}
}

// Free frees memory returned by Alloc or AllocList. Afterwards the device cannot access it
// and the caller must not use its bytes. It panics if p is not allocated.
func (m *Machine) Free(p Pages) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if p.List == nil {
		i := m.index(p.Phys)
		m.blocks = slices.Delete(m.blocks, i, i+1)
		return
	}
	for _, phys := range p.List {
		m.blocks[m.index(phys)].mem = nil
	}
	m.blocks = slices.DeleteFunc(m.blocks, func(b block) bool { return b.mem == nil })
}

// index returns the index of the block at phys, which must be allocated.
func (m *Machine) index(phys uint64) int {
	i, ok := slices.BinarySearchFunc(m.blocks, phys, func(b block, phys uint64) int { return compare(b.phys, phys) })
	if !ok {
		panic(fmt.Sprintf("hal: free of %#x, which is not allocated", phys))
	}
	return i
}

func compare(a, b uint64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// InUse returns the number of allocated bytes, a multiple of PageSize.
func (m *Machine) InUse() uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	var n uint64
	for _, b := range m.blocks {
		n += uint64(len(b.mem))
	}
	return n
}

// ReadMem implements bus.Host: the device reads memory. It fails with
// ErrNotPinned unless all of it is allocated.
func (m *Machine) ReadMem(addr uint64, p []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	err := m.peek(addr, p)
	switch {
	case err != nil && m.refused != nil:
		m.refused(addr, len(p), false)
	case err == nil && m.read != nil:
		m.read(addr, p)
	}
	return err
}

// PeekMem is ReadMem for a reader that is not the device: the observer of reads is not told. The
// memory must belong to the device, as bus.Host describes.
func (m *Machine) PeekMem(addr uint64, p []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.peek(addr, p)
}

func (m *Machine) peek(addr uint64, p []byte) error {
	if err := m.check("read", addr, len(p)); err != nil {
		return err
	}
	m.copyRange(addr, p, func(mem, p []byte) int { return copy(p, mem) })
	return nil
}

// WriteMem implements bus.Host: the device writes memory or sends an interrupt
// message. It fails with ErrNotPinned, without writing, unless all of it is
// allocated. It fails with ErrMessage for a message that is not one dword or
// has an address of no device.
func (m *Machine) WriteMem(addr uint64, p []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if addr >= MessageBase && addr < MessageEnd {
		return m.message(addr, p)
	}
	if err := m.check("write", addr, len(p)); err != nil {
		if m.refused != nil {
			m.refused(addr, len(p), true)
		}
		return err
	}
	m.copyRange(addr, p, func(mem, p []byte) int { return copy(mem, p) })
	if m.written != nil {
		m.written(addr, p)
	}
	return nil
}

// ObserveWrites makes the machine call f after each write of a device to memory,
// in order, with the address and the bytes. Interrupt messages are no writes to
// memory. f runs on the goroutine that serves the device, one call at a time. It must
// not call the machine, access a device or keep p. There is one observer; nil removes
// it.
func (m *Machine) ObserveWrites(f func(addr uint64, p []byte)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.written = f
}

// ObserveReads is ObserveWrites for the reads of a device.
func (m *Machine) ObserveReads(f func(addr uint64, p []byte)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.read = f
}

// ObserveRefused makes the machine call f after each read or write of a device that fails because
// not all n bytes at the address are allocated. What f must not do is as for ObserveWrites.
func (m *Machine) ObserveRefused(f func(addr uint64, n int, write bool)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.refused = f
}

// message latches an interrupt message.
func (m *Machine) message(addr uint64, p []byte) error {
	i := (addr - MessageBase) / messageStride
	if len(p) != 4 || addr%messageStride != 0 || i >= uint64(len(m.devices)) || m.devices[i] == nil {
		return fmt.Errorf("%w: %d bytes at %#x", ErrMessage, len(p), addr)
	}
	m.devices[i].latch(binary.LittleEndian.Uint32(p))
	return nil
}

// find returns the index of the first block that ends after addr.
func (m *Machine) find(addr uint64) int {
	i, _ := slices.BinarySearchFunc(m.blocks, addr, func(b block, addr uint64) int {
		if b.end() <= addr {
			return -1
		}
		return 1
	})
	return i
}

// check checks that n bytes at addr are allocated, in one block or adjacent
// blocks.
func (m *Machine) check(what string, addr uint64, n int) error {
	end := addr + uint64(n)
	at := addr
	for i := m.find(addr); end >= addr && at < end; i++ {
		if i == len(m.blocks) || m.blocks[i].phys > at {
			return fmt.Errorf("%w: %s of %d bytes at %#x, %#x is not allocated", ErrNotPinned, what, n, addr, at)
		}
		at = m.blocks[i].end()
	}
	if end < addr {
		return fmt.Errorf("%w: %s of %d bytes at %#x", ErrNotPinned, what, n, addr)
	}
	return nil
}

// copyRange calls move for each block that overlaps [addr, addr+len(p)).
func (m *Machine) copyRange(addr uint64, p []byte, move func(mem, p []byte) int) {
	for i := m.find(addr); len(p) > 0; i++ {
		n := move(m.blocks[i].mem[addr-m.blocks[i].phys:], p)
		addr, p = addr+uint64(n), p[n:]
	}
}
