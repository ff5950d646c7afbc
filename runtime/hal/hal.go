// Package hal is the PC under the graphics kernel: host memory, enumeration of
// a PCIe device, delivery of its interrupts, and the clock.
//
// # Interrupts
//
// A message of the device is latched when it arrives and delivered when a
// method of Device returns and the caller's IRQL allows, never inside a Link
// call. So an interrupt service routine (ISR) may use the link, and it may run
// in the middle of any function that touches the device, as on hardware. Each
// message is delivered, in order of arrival. A deferred procedure call (DPC) is
// queued at most once and runs after all messages, when the IRQL is below
// DISPATCH_LEVEL.
//
// The ISR and the DPC are each run by one thread at a time; what another thread
// latches meanwhile is delivered by the one that is at it. Raising the IRQL
// holds off interrupts of the calling thread only: whoever drives one device
// from several goroutines serialises them, as the graphics kernel does with its
// lock.
//
// # A link that goes down
//
// A device whose link is down stays as it is, and each access returns the cause,
// until Restore has the link begin again and enumerates the device a second
// time, at the addresses that it had. Memory, vectors and Info stay: whoever
// holds them need not know. What the device has kept meanwhile, whether it lost
// power or not, is its driver's affair.
package hal

import (
	"errors"
	"fmt"
	"sync"
)

// PageSize is the granularity of Alloc and of what the device can reach, in
// bytes.
const PageSize = 4096

// The layout of the physical address space, in bytes. Memory starts at MemBase
// and leaves out the hole [HoleBase, HoleEnd), in which 32-bit BARs and the
// message window [MessageBase, MessageEnd) lie.
const (
	MemBase     = 1 << 20
	HoleBase    = 0xe0000000
	HoleEnd     = 1 << 32
	MessageBase = 0xfee00000
	MessageEnd  = 0xfef00000
)

// The kinds of error of this package; each is wrapped with what was found.
var (
	ErrMemory    = errors.New("hal: out of memory")
	ErrNotPinned = errors.New("hal: address not pinned")
	ErrMessage   = errors.New("hal: bad message write")
	ErrEnumerate = errors.New("hal: enumeration failed")
	ErrNoDevice  = fmt.Errorf("%w: no device", ErrEnumerate) // nothing answers, or another device
)

// A Machine is the host: its memory, as the device reaches it through bus.Host,
// and its interrupt controller. Its methods may be called from several
// goroutines.
type Machine struct {
	memBytes uint64

	mu      sync.Mutex
	blocks  []block // by address
	devices []*Device
	mmio32  uint64 // next free address for a 32-bit BAR
	mmio64  uint64 // next free address for a 64-bit BAR
}

// New returns a machine with memBytes bytes of memory, rounded down to whole
// pages. Memory takes no space before it is allocated.
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
