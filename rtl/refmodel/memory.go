package refmodel

import (
	"slices"

	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
)

// A Memory is VRAM and host memory as plain bytes. VRAM may be only the first part of
// the device's VRAM. Host addresses outside Host do not answer.
type Memory struct {
	VRAM     []byte // from offset 0
	Host     []byte // from HostBase
	HostBase uint64 // bus address
}

// Bytes returns n bytes at a GPU address, or nil if any of them is missing.
func (m *Memory) Bytes(addr, n uint64) []byte {
	p, off := m.VRAM, addr
	if addr&pkt.Host != 0 {
		p, off = m.Host, addr&^pkt.Host-m.HostBase
	}
	if off > uint64(len(p)) || n > uint64(len(p))-off {
		return nil
	}
	return p[off : off+n]
}

// Copy copies n bytes between ranges that do not overlap. It does nothing if either
// range is not completely present.
func (m *Memory) Copy(dst, src, n uint64) { copy(m.Bytes(dst, n), m.Bytes(src, n)) }

// Fill does what a FILL does to the bytes that are present.
func (m *Memory) Fill(dst, n, value uint64) {
	for i, p := range m.each(dst, n) {
		*p = byte(value >> (8 * (i % 8)))
	}
}

// Store stores bytes at a GPU address and drops those that are not present.
func (m *Memory) Store(addr uint64, b []byte) {
	for i, p := range m.each(addr, uint64(len(b))) {
		*p = b[i]
	}
}

// each iterates over those of n bytes at addr that are present.
func (m *Memory) each(addr, n uint64) func(yield func(i uint64, p *byte) bool) {
	all := m.Bytes(addr, n)
	return func(yield func(i uint64, p *byte) bool) {
		for i := range all {
			if !yield(uint64(i), &all[i]) {
				return
			}
		}
		for i := uint64(0); all == nil && i < n; i++ {
			if p := m.Bytes(addr+i, 1); p != nil && !yield(i, &p[0]) {
				return
			}
		}
	}
}

// Clone returns a copy.
func (m *Memory) Clone() *Memory {
	return &Memory{VRAM: slices.Clone(m.VRAM), Host: slices.Clone(m.Host), HostBase: m.HostBase}
}
