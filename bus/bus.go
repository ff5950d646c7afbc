// Package bus declares the interface between the host and one PCIe device. It
// is the only interface through which the driver stack uses a board.
//
// [Link] carries the host's accesses, [Host] serves those of the device, and [Clock]
// is the device's time. Package [github.com/hilgpu/hilgpu/bus/inproc] implements them
// in one process, [github.com/hilgpu/hilgpu/bus/rootport] over frames, and
// [github.com/hilgpu/hilgpu/bus/bustest] checks an implementation.
package bus

import (
	"errors"
	"fmt"
)

// A Link is the host's side of a connection to one device. Its methods are safe
// for concurrent use; operations reach the device in call order. An error that
// wraps ErrLinkDown is sticky: every later call returns the first cause. No
// method returns data that did not come from the device.
type Link interface {
	// ReadConfig and WriteConfig access one dword of configuration space. Off
	// is in bytes, a multiple of 4 from 0 to 0xffc.
	ReadConfig(off int) (uint32, error)
	WriteConfig(off int, v uint32) error

	// Read fills p from a BAR. Off and len(p) are in bytes, multiples of 4.
	// Read returns when the data has arrived; p is unspecified on error.
	Read(bar int, off uint64, p []byte) error

	// Write sends p to a BAR, with off and len(p) as in Read. Writes are
	// posted: a nil error means accepted, not completed. A later Read on the
	// same Link sees the write.
	Write(bar int, off uint64, p []byte) error

	// Close releases the link. Close is idempotent.
	Close() error
}

// A Host serves the device's accesses to host memory. An interrupt is a write
// to the message window. An error completes a read as an unsupported request, or
// drops a write. A read that fails with ErrNoAnswer is never completed.
//
// The methods are safe for concurrent use. A link to a device in this process calls
// them only on the goroutine that is inside a Link or Clock call. A link with its own
// clock calls them at any time from its opening to the return of Close, one call at a
// time. A method must call neither the Link nor Clock.Wait, and must not wait for a
// goroutine that does.
//
// # Ownership of memory
//
// Memory that a command names belongs to the device from the doorbell, the Link.Write
// that hands the command over, to the interrupt or the Link.Read that reports its end.
// Meanwhile the host does not write to memory that the device reads, and does not
// access memory that the device writes. Calls of Link and Clock.Wait order the
// accesses of both sides, and so does an interrupt: each side sees what the other
// wrote before. Now orders nothing. An access that breaks these rules is a data race,
// which go test -race can show.
//
// Memory that both sides use at the same time, such as a ring or a fence in memory, is
// shared in words. The host writes a word before the doorbell, and reads it after a
// Link.Read or an interrupt that follows the device's write. A word that the device
// may write at any time is read by ReadMem.
type Host interface {
	ReadMem(addr uint64, p []byte) error

	// WriteMem writes the bytes of p at addr.
	WriteMem(addr uint64, p []byte) error
}

// A PayloadLink is a Link that carries larger packets than every device accepts. The
// host sets the size in the Device Control register of the device (PCIe 3.0 §7.8.4).
type PayloadLink interface {
	Link

	// MaxPayload returns the largest payload of a packet in both directions, in bytes, a
	// power of two from 128 to 4096, or less if the link carries less.
	MaxPayload() int
}

// A Clock is the device's clock.
type Clock interface {
	// Now returns the time in ticks since the board was opened.
	Now() uint64

	// Hz returns the number of ticks in a second.
	Hz() uint64

	// Wait lets time pass until the device writes to the message window or Now
	// reaches the deadline. It may return early with event false.
	Wait(deadline uint64) (event bool, err error)
}

// Error kinds of a Link. Each is wrapped with a description of the access. ErrNoAnswer is of a
// Host alone.
var (
	ErrTimeout     = errors.New("bus: completion time-out")
	ErrCRC         = errors.New("bus: CRC error")
	ErrUnsupported = errors.New("bus: unsupported request")
	ErrAbort       = errors.New("bus: completer abort")
	ErrLinkDown    = errors.New("bus: link down")
	ErrStale       = errors.New("bus: stale epoch")
	ErrClosed      = errors.New("bus: closed")
	ErrArgument    = errors.New("bus: bad argument")
	ErrNoAnswer    = errors.New("bus: no answer")
)

// ErrRecorded is an ErrUnsupported of a link that plays back a file: the file
// does not contain the requested data.
var ErrRecorded = fmt.Errorf("%w on a recording", ErrUnsupported)
