// Package bars reads a function's base address registers, for links whose
// callers name a BAR and an offset.
package bars

import (
	"fmt"

	"github.com/hilgpu/hilgpu/rtl/abi/pcicfg"
)

// A BAR is one base address register.
type BAR struct {
	Memory bool
	Upper  bool // high half of the BAR before it
	Base   uint64
}

// The low bits of a BAR (PCI 3.0 §6.2.5.1).
const (
	barIO   = 1 << 0
	barType = 3 << 1
)

// Read reads the BARs from a function's configuration space. It fails with the
// first error of readConfig.
func Read(readConfig func(off int) (uint32, error)) ([6]BAR, error) {
	var b [6]BAR
	for i := 0; i < len(b); i++ {
		lo, err := readConfig(pcicfg.BAR0 + 4*i)
		if err != nil {
			return b, err
		}
		b[i] = BAR{Memory: lo&barIO == 0, Base: uint64(lo &^ pcicfg.BARFlags)}
		if lo&(barIO|barType) != pcicfg.BARMem64 || i == len(b)-1 {
			continue
		}
		hi, err := readConfig(pcicfg.BAR0 + 4*i + 4)
		if err != nil {
			return b, err
		}
		b[i].Base |= uint64(hi) << 32
		i++
		b[i].Upper = true
	}
	return b, nil
}

// Address returns the bus address of n bytes at an offset. It reports false if
// the BAR is not memory or the range exceeds the address space; String gives
// the reason.
func (b BAR) Address(off uint64, n int) (uint64, bool) {
	at := b.Base + off
	return at, b.Memory && at >= b.Base && at+uint64(n) >= at
}

// String returns the reason why the BAR has no address for a range.
func (b BAR) String() string {
	switch {
	case b.Upper:
		return "it is the high half of the BAR before it"
	case !b.Memory:
		return "it is not memory"
	}
	return fmt.Sprintf("it ends above the address space, with base %#x", b.Base)
}
