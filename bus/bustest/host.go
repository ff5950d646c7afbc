package bustest

import (
	"errors"
	"fmt"
	"slices"
	"sync"
)

// MessageBase is the first address of the message window of 1 MiB.
const MessageBase = 0xfee00000

// ErrHost is returned by Host for accesses outside its memory.
var ErrHost = errors.New("bustest: no memory")

// Host is a bus.Host for tests: len(Mem) bytes of memory from Base on, and a
// message window that records its messages. Its methods are safe for concurrent use.
type Host struct {
	Base  uint64
	Mem   []byte // see bus.Host for the time when the device owns a part of it
	Probe func() // called when a message arrives, must not call the Host; may be nil

	mu       sync.Mutex // held during an access of the device
	messages []Message
}

// Message is one write to the message window.
type Message struct {
	Addr uint64
	Data []byte
}

// NewHost returns a host with n bytes of memory at 1 MiB.
func NewHost(n int) *Host { return &Host{Base: 1 << 20, Mem: make([]byte, n)} }

// Messages returns the messages that have arrived since New or ForgetMessages.
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

// ReadMem implements bus.Host.
func (h *Host) ReadMem(addr uint64, p []byte) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	at, err := h.at(addr, len(p))
	if err == nil {
		copy(p, at)
	}
	return err
}

// WriteMem implements bus.Host.
func (h *Host) WriteMem(addr uint64, p []byte) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if addr >= MessageBase && addr < MessageBase+1<<20 {
		h.messages = append(h.messages, Message{addr, slices.Clone(p)})
		if h.Probe != nil {
			h.Probe()
		}
		return nil
	}
	at, err := h.at(addr, len(p))
	if err == nil {
		copy(at, p)
	}
	return err
}

func (h *Host) at(addr uint64, n int) ([]byte, error) {
	off := addr - h.Base
	if off > uint64(len(h.Mem)) || uint64(n) > uint64(len(h.Mem))-off {
		return nil, fmt.Errorf("%w: %d bytes at %#x", ErrHost, n, addr)
	}
	return h.Mem[off : off+uint64(n)], nil
}
