// Package scoreboard predicts the memory contents that the device's work must
// leave: the memory of the reference model, filled at random. It compares them with
// the memory of a board.
package scoreboard

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/rtl/refmodel"
	"github.com/hilgpu/hilgpu/testbench/device/bare"
)

// ErrDiffers is wrapped by errors of unexpected memory contents.
var ErrDiffers = errors.New("scoreboard: memory differs")

// A Memory is the expected contents of a board's memory. VRAM may cover only the
// beginning of the board's VRAM.
type Memory struct {
	refmodel.Memory
}

// New returns memory with random contents. The sizes are in bytes and must be
// multiples of 8.
func New(vram, host int, rng *rand.Rand) *Memory {
	m := &Memory{refmodel.Memory{VRAM: make([]byte, vram), Host: make([]byte, host), HostBase: bare.HostBase}}
	for _, p := range [][]byte{m.VRAM, m.Host} {
		for i := 0; i+8 <= len(p); i += 8 {
			binary.LittleEndian.PutUint64(p[i:], rng.Uint64())
		}
	}
	return m
}

// Store writes p to this memory and to the board's.
func (m *Memory) Store(a *bare.Access, addr uint64, p []byte) {
	m.Memory.Store(addr, p)
	if addr&pkt.Host != 0 {
		copy(a.Host.Mem[addr&^pkt.Host-bare.HostBase:], p)
	} else {
		a.WriteVRAM(addr, p)
	}
}

// part is the size of one access to VRAM in bytes. A context that is done ends them in between.
const part = 16 << 10

// parts calls do for p in parts.
func parts(p []byte, do func(off uint64, p []byte)) {
	off := uint64(0)
	for p := range slices.Chunk(p, part) {
		do(off, p)
		off += uint64(len(p))
	}
}

// Load copies this memory to the board.
func (m *Memory) Load(a *bare.Access) {
	copy(a.Host.Mem, m.Host)
	parts(m.VRAM, a.WriteVRAM)
}

// Check compares the board's memory with this one. It fails with ErrDiffers and the
// first wrong byte, or with the error of an access.
func (m *Memory) Check(a *bare.Access) error {
	vram := make([]byte, len(m.VRAM))
	parts(vram, a.ReadVRAM)
	if a.Err != nil {
		return a.Err
	}
	return errors.Join(differ("VRAM", 0, m.VRAM, vram), differ("host memory", bare.HostBase, m.Host, a.Host.Mem))
}

// Clone returns a deep copy of the memory.
func (m *Memory) Clone() *Memory {
	return &Memory{*m.Memory.Clone()}
}

// Take copies n bytes at a GPU address from the board, after aborted work. Each
// byte must have its value here or its value in before. Take reports whether all
// had their values here. It fails with ErrDiffers and the first other byte, or with
// the error of the access.
func (m *Memory) Take(a *bare.Access, before *Memory, addr, n uint64) (done bool, err error) {
	got := make([]byte, n)
	if addr&pkt.Host != 0 {
		copy(got, a.Host.Mem[addr&^pkt.Host-bare.HostBase:])
	} else {
		a.ReadVRAM(addr, got)
	}
	if a.Err != nil {
		return false, a.Err
	}
	want, was := m.Bytes(addr, n), before.Bytes(addr, n)
	for i, b := range got {
		if b != want[i] && b != was[i] {
			return false, fmt.Errorf("%w: the byte at %#x is %#02x, want %#02x, or %#02x as before", ErrDiffers, addr+uint64(i), b, want[i], was[i])
		}
	}
	done = slices.Equal(got, want)
	copy(want, got)
	return done, nil
}

// differ returns an error with the number of wrong bytes and the first one, or nil.
func differ(what string, base int, want, got []byte) error {
	wrong, first := 0, 0
	for i := range want {
		if want[i] != got[i] {
			if wrong == 0 {
				first = i
			}
			wrong++
		}
	}
	if wrong == 0 {
		return nil
	}
	return fmt.Errorf("%w: %s at %#x is %#02x, want %#02x; %d of %d bytes are wrong", ErrDiffers,
		what, base+first, got[first], want[first], wrong, len(want))
}
