// Package scoreboard is what memory ought to hold after work of the device: the
// memory of the reference model, filled at random, and the comparison with that of
// a board.
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

// ErrDiffers is wrapped by what Check finds.
var ErrDiffers = errors.New("scoreboard: memory differs")

// A Memory is what the device is expected to leave, and where it is on a board.
// VRAM is its beginning, as much of it as is looked after.
type Memory struct {
	refmodel.Memory
}

// New returns memory with random contents; its sizes are multiples of 8.
func New(vram, host int, rng *rand.Rand) *Memory {
	m := &Memory{refmodel.Memory{VRAM: make([]byte, vram), Host: make([]byte, host), HostBase: bare.HostBase}}
	for _, p := range [][]byte{m.VRAM, m.Host} {
		for i := 0; i+8 <= len(p); i += 8 {
			binary.LittleEndian.PutUint64(p[i:], rng.Uint64())
		}
	}
	return m
}

// Store puts bytes into the memory and into that of the board.
func (m *Memory) Store(a *bare.Access, addr uint64, p []byte) {
	m.Memory.Store(addr, p)
	if addr&pkt.Host != 0 {
		copy(a.Host.Mem[addr&^pkt.Host-bare.HostBase:], p)
	} else {
		a.WriteVRAM(addr, p)
	}
}

// Load gives the board this memory.
func (m *Memory) Load(a *bare.Access) {
	copy(a.Host.Mem, m.Host)
	a.WriteVRAM(0, m.VRAM)
}

// Check compares the board's memory with this one. Its error is ErrDiffers with
// the first byte that is wrong, or that of the access.
func (m *Memory) Check(a *bare.Access) error {
	vram := make([]byte, len(m.VRAM))
	a.ReadVRAM(0, vram)
	if a.Err != nil {
		return a.Err
	}
	return errors.Join(differ("VRAM", 0, m.VRAM, vram), differ("host memory", bare.HostBase, m.Host, a.Host.Mem))
}

// Clone returns a copy.
func (m *Memory) Clone() *Memory {
	return &Memory{*m.Memory.Clone()}
}

// Take takes n bytes at a GPU address over from the board, where work was given
// up: each of them has to be as here or as in before. It says whether all of them
// are as here. Its error is ErrDiffers with the first byte that is neither, or
// that of the access.
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

// differ reports how much is wrong, and where the first byte is.
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
