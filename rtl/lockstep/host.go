package lockstep

import (
	"errors"
	"fmt"

	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/verilog/sim"
)

// ErrHost is wrapped by the error of a Device whose inputs break a rule of package port.
// The proofs of package mutant assume that no host breaks one.
var ErrHost = errors.New("lockstep: the host broke the protocol")

// hostRules checks the inputs of a GPU.
type hostRules struct {
	reads [256]bool // unanswered reads of the GPU, by tag
}

// check checks the inputs of a clock. dev is the GPU before it. During a reset they may be
// anything.
func (h *hostRules) check(rst bool, p sim.Inputs, dev interface {
	Initiator() (port.Request, port.Beat)
}) error {
	if rst {
		*h = hostRules{}
		return nil
	}
	err := checkHeader(p.Req)
	if c := p.Cpl; c.Status != port.CplNone {
		if !h.reads[c.Tag] {
			err = errors.Join(err, fmt.Errorf("%w: a completion with tag %d, which no read has", ErrHost, c.Tag))
		}
		h.reads[c.Tag] = h.reads[c.Tag] && !c.Last
	}
	if r, _ := dev.Initiator(); r.Kind == port.MemRead && p.ReqReady {
		h.reads[r.Tag] = true
	}
	return err
}

// checkHeader checks a header of the host.
func checkHeader(r port.Request) error {
	switch last := r.Addr%(4*port.MaxLen)/4 + uint64(r.Len); {
	case r.Kind == port.None:
	case r.Kind > port.CfgWrite:
		return fmt.Errorf("%w: a header of kind %d", ErrHost, r.Kind)
	case r.Addr%4 != 0 || r.Len == 0 || last > port.MaxLen:
		return fmt.Errorf("%w: a header of %d dwords at %#x", ErrHost, r.Len, r.Addr)
	case r.Kind >= port.CfgRead && (r.Len != 1 || r.Addr >= 1<<12):
		return fmt.Errorf("%w: a configuration request of %d dwords at %#x", ErrHost, r.Len, r.Addr)
	}
	return nil
}
