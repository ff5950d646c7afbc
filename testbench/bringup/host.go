package bringup

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Host memory: hostBytes from hostBase on. The pieces are at offsets.
const (
	hostBase  = 1 << 20
	hostBytes = 1 << 20

	ringAt  = 0
	fenceAt = 64 << 10
	dataAt  = 128 << 10
	copyAt  = 512 << 10

	messageBase = 0xfee00000
	messageEnd  = 0xfef00000
)

var errHost = errors.New("bringup: the device reached for memory that it was not given")

// host is the memory that the device may use, and the message window.
type host struct {
	mem      [hostBytes]byte
	messages []message
	refused  []string          // accesses elsewhere
	watch    func(addr uint64) // told of every write of memory that was done; may be nil
}

// A message is one write to the message window.
type message struct {
	addr uint64
	data uint32
	size int // bytes
}

func newHost() *host { return new(host) }

func (h *host) at(what string, addr uint64, n int) ([]byte, error) {
	off := addr - hostBase
	if off > hostBytes || uint64(n) > hostBytes-off {
		err := fmt.Errorf("%w: %s of %d bytes at %#x", errHost, what, n, addr)
		h.refused = append(h.refused, err.Error())
		return nil, err
	}
	return h.mem[off : off+uint64(n)], nil
}

// ReadMem implements bus.Host.
func (h *host) ReadMem(addr uint64, p []byte) error {
	b, err := h.at("read", addr, len(p))
	copy(p, b)
	return err
}

// WriteMem implements bus.Host.
func (h *host) WriteMem(addr uint64, p []byte) error {
	if addr >= messageBase && addr < messageEnd {
		m := message{addr: addr, size: len(p)}
		if len(p) == 4 {
			m.data = binary.LittleEndian.Uint32(p)
		}
		h.messages = append(h.messages, m)
		return nil
	}
	b, err := h.at("write", addr, len(p))
	copy(b, p)
	if err == nil && h.watch != nil {
		h.watch(addr)
	}
	return err
}
