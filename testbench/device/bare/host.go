package bare

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// HostBase is the address of host memory as seen by the device.
const HostBase = 1 << 20

// The message window: MSI-X vectors write to host addresses in [MessageBase,
// messageEnd).
const (
	MessageBase = 0xfee00000
	messageEnd  = 0xfef00000
)

// ErrHost is wrapped by the error of an access outside host memory.
var ErrHost = errors.New("bare: the device accessed memory outside its host memory")

// A Host is the memory that the device may access, and the message window.
type Host struct {
	Mem      []byte // memory at HostBase
	Messages []Message
	Refused  []Refusal // accesses outside both

	// Watch, if not nil, is called after every write to memory.
	Watch func(addr uint64)

	mover []byte // memory at moverBase
}

// A Message is one write to the message window.
type Message struct {
	Addr uint64
	Data uint32 // valid if Size is 4
	Size int    // bytes
}

// A Refusal is an access outside memory and the message window.
type Refusal struct {
	Addr  uint64
	Bytes int
	Write bool
}

// Error describes the access.
func (r Refusal) Error() string {
	return fmt.Sprintf("%v: %s of %d bytes at %#x", ErrHost, map[bool]string{false: "read", true: "write"}[r.Write], r.Bytes, r.Addr)
}

// Unwrap returns ErrHost.
func (r Refusal) Unwrap() error { return ErrHost }

// NewHost returns a zeroed host memory of the given size in bytes.
func NewHost(bytes int) *Host { return &Host{Mem: make([]byte, bytes)} }

func (h *Host) at(addr uint64, n int, write bool) ([]byte, error) {
	mem, off := h.Mem, addr-HostBase
	if addr >= moverBase && addr-moverBase < uint64(len(h.mover)) {
		mem, off = h.mover, addr-moverBase
	}
	size := uint64(len(mem))
	if off > size || uint64(n) > size-off {
		r := Refusal{Addr: addr, Bytes: n, Write: write}
		h.Refused = append(h.Refused, r)
		return nil, r
	}
	return mem[off : off+uint64(n)], nil
}

// ReadMem implements bus.Host.
func (h *Host) ReadMem(addr uint64, p []byte) error {
	b, err := h.at(addr, len(p), false)
	copy(p, b)
	return err
}

// WriteMem implements bus.Host.
func (h *Host) WriteMem(addr uint64, p []byte) error {
	if addr >= MessageBase && addr < messageEnd {
		m := Message{Addr: addr, Size: len(p)}
		if len(p) == 4 {
			m.Data = binary.LittleEndian.Uint32(p)
		}
		h.Messages = append(h.Messages, m)
		return nil
	}
	b, err := h.at(addr, len(p), true)
	copy(b, p)
	if err == nil && h.Watch != nil && addr < moverBase {
		h.Watch(addr)
	}
	return err
}
