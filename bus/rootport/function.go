package rootport

import (
	"fmt"

	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/bus/bars"
	"github.com/hilgpu/hilgpu/rtl/abi/pcicfg"
)

// A function is the cached part of configuration space. It is read at the first
// use after a session began or one of its registers was written, so that it has
// the values the function accepted.
type function struct {
	known   bool
	bar     [6]bars.BAR
	payload int // largest payload of a packet to the device, in bytes
}

// forgets reports whether a write at an offset invalidates the cache.
func forgets(off int) bool {
	return off >= pcicfg.BAR0 && off <= pcicfg.BAR5 || off == pcicfg.Command || off == pcicfg.DevCtl
}

func (r *RootPort) learnFunction() error {
	if r.function.known {
		return nil
	}
	f := function{known: true}
	var err error
	if f.bar, err = bars.Read(r.readConfig); err != nil {
		return err
	}
	if f.payload, err = r.readPayload(); err != nil {
		return err
	}
	r.function = f
	return nil
}

// minPayload is the payload that every function accepts, in bytes (PCIe 3.0
// §7.8.4).
const minPayload = 128

// readPayload returns the payload size set in the function, limited to the root
// port's own.
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

// MaxPayload implements bus.PayloadLink.
func (r *RootPort) MaxPayload() int {
	r.enter()
	defer r.leave()
	return min(r.opt.MaxPayload, r.cut)
}

// resolve checks the arguments of a memory access and returns its address. It
// returns 0 and no error if there is nothing to move.
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
	addr, ok := b.Address(off, n)
	if !ok {
		return 0, fmt.Errorf("%w: %s of %d bytes at BAR %d offset %#x: %s", bus.ErrArgument, what, n, bar, off, b)
	}
	return addr, nil
}
