package bare

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
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

// A Host is the memory that the device may access, and the message window. Its
// methods are safe for concurrent use.
type Host struct {
	Mem []byte // memory at HostBase; see bus.Host for the time when the device owns a part of it

	mu       sync.Mutex // held during an access of the device; guards the fields below
	messages []Message
	refused  []Refusal
	watch    func(addr uint64)

	mover []byte // memory at moverBase, set before the device is started
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

// Messages returns the messages since New or ForgetMessages.
func (h *Host) Messages() []Message {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.messages[:len(h.messages):len(h.messages)]
}

// ForgetMessages forgets the messages that have arrived.
func (h *Host) ForgetMessages() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.messages = nil
}

// Refused returns the accesses outside memory and the message window since New or
// ForgetRefused.
func (h *Host) Refused() []Refusal {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.refused[:len(h.refused):len(h.refused)]
}

// ForgetRefused forgets the refused accesses.
func (h *Host) ForgetRefused() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.refused = nil
}

// Watch makes the host call f after every write to memory, until the next Watch. f
// must not call the host. A nil f is not called.
func (h *Host) Watch(f func(addr uint64)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.watch = f
}

// Uint64 returns the value at an offset of Mem, which the device may write meanwhile.
func (h *Host) Uint64(off uint64) uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return binary.LittleEndian.Uint64(h.Mem[off:])
}

func (h *Host) at(addr uint64, n int, write bool) ([]byte, error) {
	mem, off := h.Mem, addr-HostBase
	if addr >= moverBase && addr-moverBase < uint64(len(h.mover)) {
		mem, off = h.mover, addr-moverBase
	}
	size := uint64(len(mem))
	if off > size || uint64(n) > size-off {
		r := Refusal{Addr: addr, Bytes: n, Write: write}
		h.refused = append(h.refused, r)
		return nil, r
	}
	return mem[off : off+uint64(n)], nil
}

// ReadMem implements bus.Host.
func (h *Host) ReadMem(addr uint64, p []byte) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	b, err := h.at(addr, len(p), false)
	copy(p, b)
	return err
}

// WriteMem implements bus.Host.
func (h *Host) WriteMem(addr uint64, p []byte) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if addr >= MessageBase && addr < messageEnd {
		m := Message{Addr: addr, Size: len(p)}
		if len(p) == 4 {
			m.Data = binary.LittleEndian.Uint32(p)
		}
		h.messages = append(h.messages, m)
		return nil
	}
	b, err := h.at(addr, len(p), true)
	copy(b, p)
	if err == nil && h.watch != nil && addr < moverBase {
		h.watch(addr)
	}
	return err
}

// A Part is the memory from an offset in bytes on. It implements the Memory of package message.
type Part struct {
	Host *Host
	Off  uint64
}

// Base returns the host address of the part.
func (p Part) Base() uint64 { return HostBase + p.Off }

// ReadHost reads at an offset in bytes.
func (p Part) ReadHost(off uint32, b []byte) error { return p.Host.ReadMem(p.Base()+uint64(off), b) }

// WriteHost writes at an offset in bytes.
func (p Part) WriteHost(off uint32, b []byte) error { return p.Host.WriteMem(p.Base()+uint64(off), b) }
