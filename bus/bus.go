// Package bus declares what crosses between the host and one PCIe device: all
// that the driver stack knows of a board.
package bus

import (
	"errors"
	"fmt"
)

// A Link is the host's side of a connection to one device. Its methods may be
// called from several goroutines; operations reach the device in call order.
// An error is sticky if it wraps ErrLinkDown: every later call returns the
// first cause. Nothing returns data that did not come from the device.
type Link interface {
	// ReadConfig and WriteConfig access one dword of configuration space. Off
	// is in bytes, a multiple of 4, 0 to 0xffc.
	ReadConfig(off int) (uint32, error)
	WriteConfig(off int, v uint32) error

	// Read fills p from a BAR. Off and len(p) are in bytes, multiples of 4.
	// It returns when the data has arrived; p is unspecified on error.
	Read(bar int, off uint64, p []byte) error

	// Write sends p to a BAR, off and len(p) as in Read. Writes are posted: a
	// nil error means accepted, not done. A later Read on the same Link sees
	// the write.
	Write(bar int, off uint64, p []byte) error

	// Close releases the link. Close is idempotent.
	Close() error
}

// A Host is what the device can reach through the link. An interrupt is a
// write to the message window. Its methods are called only on the goroutine
// that is inside a Link or Clock call. An error answers the device with
// unsupported request, or drops its write.
type Host interface {
	ReadMem(addr uint64, p []byte) error

	// WriteMem writes the bytes of p at addr.
	WriteMem(addr uint64, p []byte) error
}

// A Clock is the device's time.
type Clock interface {
	// Now returns the time in ticks since the board was opened.
	Now() uint64

	// Hz returns the number of ticks in a second.
	Hz() uint64

	// Wait lets time pass until the device has written to the message window,
	// or until Now is at least deadline. It may return early with event false.
	Wait(deadline uint64) (event bool, err error)
}

// The kinds of error of a Link; each is wrapped with what was asked for.
var (
	ErrTimeout     = errors.New("bus: completion time-out")
	ErrCRC         = errors.New("bus: CRC error")
	ErrUnsupported = errors.New("bus: unsupported request")
	ErrAbort       = errors.New("bus: completer abort")
	ErrLinkDown    = errors.New("bus: link down")
	ErrStale       = errors.New("bus: stale epoch")
	ErrClosed      = errors.New("bus: closed")
	ErrArgument    = errors.New("bus: bad argument")
)

// ErrRecorded is an ErrUnsupported of a link that answers from a file: it does
// not have what was asked for.
var ErrRecorded = fmt.Errorf("%w of a recording", ErrUnsupported)
