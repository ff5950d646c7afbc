package inproc

import (
	"fmt"

	"github.com/hilgpu/hilgpu/rtl/abi/pcicfg"
)

// A bar is where the function decodes one BAR.
type bar struct {
	memory bool
	upper  bool // the high half of the one before
	base   uint64
}

func (b bar) String() string {
	switch {
	case b.upper:
		return "it is the high half of the one before"
	case !b.memory:
		return "it is not memory"
	}
	return fmt.Sprintf("it ends above the address space, its base is %#x", b.base)
}

// bars are the BARs as the function has them. They are read back when they are
// used first after a configuration write to one of them, so that what the
// function made of the write counts.
type bars struct {
	known bool
	bar   [6]bar
}

// The low bits of a BAR (PCI 3.0 §6.2.5.1).
const (
	barIO   = 1 << 0
	barType = 3 << 1
)

func (l *Link) learnBARs() error {
	if l.bars.known {
		return nil
	}
	var b [6]bar
	for i := 0; i < len(b); i++ {
		lo, err := l.readConfig(pcicfg.BAR0 + 4*i)
		if err != nil {
			return err
		}
		b[i] = bar{memory: lo&barIO == 0, base: uint64(lo &^ pcicfg.BARFlags)}
		if lo&(barIO|barType) != pcicfg.BARMem64 || i == len(b)-1 {
			continue
		}
		hi, err := l.readConfig(pcicfg.BAR0 + 4*i + 4)
		if err != nil {
			return err
		}
		b[i].base |= uint64(hi) << 32
		i++
		b[i].upper = true
	}
	l.bars = bars{known: true, bar: b}
	return nil
}
