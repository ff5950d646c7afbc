package refmodel

import (
	"slices"

	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
)

// A Memory is VRAM and host memory as plain bytes. VRAM may be the beginning of
// the device's; host memory is all that answers there.
type Memory struct {
	VRAM     []byte // from 0 on
	Host     []byte // from HostBase on
	HostBase uint64 // bus address
}

// Bytes returns n bytes at a GPU address, nil if they are not all there.
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

// Copy does what a COPY does whose ranges do not overlap. A range that is not
// all there is left alone.
func (m *Memory) Copy(dst, src, n uint64) { copy(m.Bytes(dst, n), m.Bytes(src, n)) }

// Fill does what a FILL does, as far as there is memory.
func (m *Memory) Fill(dst, n, value uint64) {
	for i, p := range m.each(dst, n) {
		*p = byte(value >> (8 * (i % 8)))
	}
}

// Store puts bytes at a GPU address, where there is memory.
func (m *Memory) Store(addr uint64, b []byte) {
	for i, p := range m.each(addr, uint64(len(b))) {
		*p = b[i]
	}
}

// each goes through those of n bytes that are there.
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
