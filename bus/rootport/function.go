package rootport

import (
	"fmt"

	"github.com/hilgpu/hilgpu/bus"
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

// A function is what the root port knows of configuration space. It is read
// when it is used first after a session began or one of its registers was
// written, so that what the function made of the write counts.
type function struct {
	known   bool
	bar     [6]bar
	payload int // most data of a packet to the device, in bytes
}

// The low bits of a BAR (PCI 3.0 §6.2.5.1).
const (
	barIO   = 1 << 0
	barType = 3 << 1
)

// forgets reports whether a write at an offset changes what is known.
func forgets(off int) bool {
	return off >= pcicfg.BAR0 && off <= pcicfg.BAR5 || off == pcicfg.Command || off == pcicfg.DevCtl
}

func (r *RootPort) learnFunction() error {
	if r.function.known {
		return nil
	}
	f := function{known: true}
	var err error
	if f.bar, err = r.readBARs(); err != nil {
		return err
	}
	if f.payload, err = r.readPayload(); err != nil {
		return err
	}
	r.function = f
	return nil
}

func (r *RootPort) readBARs() (b [6]bar, err error) {
	for i := 0; i < len(b); i++ {
		lo, err := r.readConfig(pcicfg.BAR0 + 4*i)
		if err != nil {
			return b, err
		}
		b[i] = bar{memory: lo&barIO == 0, base: uint64(lo &^ pcicfg.BARFlags)}
		if lo&(barIO|barType) != pcicfg.BARMem64 || i == len(b)-1 {
			continue
		}
		hi, err := r.readConfig(pcicfg.BAR0 + 4*i + 4)
		if err != nil {
			return b, err
		}
		b[i].base |= uint64(hi) << 32
		i++
		b[i].upper = true
	}
	return b, nil
}

// minPayload is what every function accepts, in bytes (PCIe 3.0 §7.8.4).
const minPayload = 128

// readPayload returns the size of payload that the function is set to, at most
// the root port's own.
func (r *RootPort) readPayload() (int, error) {
	if r.opt.MaxPayload == minPayload {
		return minPayload, nil
	}
	head, err := r.readConfig(pcicfg.PCIe)
	if err != nil || head&0xff != pcicfg.PCIeCapID {
		return minPayload, err
	}
	ctl, err := r.readConfig(pcicfg.DevCtl)
	if err != nil {
		return 0, err
	}
	return min(r.opt.MaxPayload, minPayload<<(ctl&pcicfg.DevCtlMaxPayload>>5)), nil
}

// resolve checks the arguments of a memory access and returns its address; 0
// and no error if there is nothing to move.
func (r *RootPort) resolve(what string, bar int, off uint64, n int) (uint64, error) {
	if err := r.usable(); err != nil {
		return 0, err
	}
	if bar < 0 || bar > 5 || off%4 != 0 || n%4 != 0 || off+uint64(n) < off {
		return 0, fmt.Errorf("%w: %s of %d bytes at BAR %d offset %#x, want multiples of 4", bus.ErrArgument, what, n, bar, off)
	}
	if n == 0 {
		return 0, nil
	}
	if err := r.learnFunction(); err != nil {
		return 0, fmt.Errorf("rootport: %s of %d bytes at BAR %d offset %#x: %w", what, n, bar, off, err)
	}
	b := r.function.bar[bar]
	if !b.memory || b.base+off+uint64(n) < b.base+off || b.base+off < b.base {
		return 0, fmt.Errorf("%w: %s of %d bytes at BAR %d offset %#x: %s", bus.ErrArgument, what, n, bar, off, b)
	}
	return b.base + off, nil
}
