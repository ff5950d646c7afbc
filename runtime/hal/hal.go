// Package hal emulates the PC below the graphics kernel: host memory,
// enumeration of a PCIe device, delivery of its interrupts, and the clock.
// [New] makes a [Machine], which is a [bus.Host]. A [Device] is a function that it has
// enumerated on a [bus.Link].
//
// # Memory
//
// A device at the end of a link with its own clock accesses memory at any time, also while
// no method runs. Memory that a command names belongs to the device from the doorbell
// to the interrupt or the read that reports its end: see [bus.Host]. Each method of
// Device that accesses the device orders the accesses to memory, and so does the
// delivery of an interrupt.
//
// # Interrupts
//
// A message of the device is latched when it arrives, which may be between two calls.
// It is delivered when a method of Device returns and the caller's IRQL allows it,
// never inside a Link call and never on a goroutine of the link. The threads of a
// driver are therefore those of its callers. An interrupt service routine (ISR) may therefore use the link, and it
// may run inside any function that accesses the device, as on hardware. All
// messages are delivered, in order of arrival. A deferred procedure call (DPC)
// is queued at most once. It runs after all messages, when the IRQL is below
// DISPATCH_LEVEL.
//
// The ISR and the DPC are each run by one thread at a time; that thread also
// delivers messages that other threads latch meanwhile. Raising the IRQL blocks
// interrupts of the calling thread only. Callers that use one device from
// several goroutines must serialize them, as the graphics kernel does with its
// lock.
//
// # Link failure
//
// If the link is down, the device's state here does not change and each access
// returns the cause, until Restore restarts the link and enumerates the device
// again at the same addresses. Memory, vectors and Info remain valid, so their
// users are not affected. The device itself may have lost power or kept its
// state; its driver must handle both. A failure between two calls is found by the
// next access.
package hal

import (
	"errors"
	"fmt"
	"sync"
)

// PageSize is the granularity of Alloc and of the device's access to memory, in
// bytes.
const PageSize = 4096

// The layout of the physical address space, in bytes. Memory starts at MemBase
// and excludes the hole [HoleBase, HoleEnd) for 32-bit BARs and the message
// window [MessageBase, MessageEnd).
const (
	MemBase     = 1 << 20
	HoleBase    = 0xe0000000
	HoleEnd     = 1 << 32
	MessageBase = 0xfee00000
	MessageEnd  = 0xfef00000
)

// The kinds of error of this package. Errors wrap them with details.
var (
	ErrMemory    = errors.New("hal: out of memory")
	ErrNotPinned = errors.New("hal: address not pinned")
	ErrMessage   = errors.New("hal: bad message write")
	ErrEnumerate = errors.New("hal: enumeration failed")
	ErrNoDevice  = fmt.Errorf("%w: no device", ErrEnumerate) // no answer, or another device
)

// A Machine is the host: its memory, which devices access through bus.Host, and
// its interrupt controller. Its methods may be called from several goroutines.
type Machine struct {
	memBytes uint64

	mu      sync.Mutex
	lowest  uint64                               // address of memory that Alloc returns
	refuse  func(bytes int) bool                 // decides about each allocation, or nil
	written func(addr uint64, p []byte)          // called with each write of a device; nil: none
	read    func(addr uint64, p []byte)          // called with each read of a device; nil: none
	refused func(addr uint64, n int, write bool) // called with each other access; nil: none
	blocks  []block                              // sorted by address
	devices []*Device
	mmio32  uint64 // next free address for a 32-bit BAR
	mmio64  uint64 // next free address for a 64-bit BAR
}

// New returns a machine with memBytes bytes of memory, rounded down to a
// multiple of PageSize. Go memory is used only for allocated pages.
func New(memBytes uint64) *Machine {
	m := &Machine{memBytes: memBytes &^ (PageSize - 1), mmio32: HoleBase}
	m.mmio64 = max(HoleEnd, m.end())
	return m
}

// MemBytes returns the size of memory in bytes.
func (m *Machine) MemBytes() uint64 { return m.memBytes }

// end returns the address after the last byte of memory.
func (m *Machine) end() uint64 {
	if e := MemBase + m.memBytes; e <= HoleBase {
		return e
	}
	return m.memBytes + MemBase - HoleBase + HoleEnd
}
