package gpu

import (
	"fmt"

	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/arbiter"
	"github.com/hilgpu/hilgpu/rtl/hdl"
	"github.com/hilgpu/hilgpu/rtl/pcie"
	"github.com/hilgpu/hilgpu/rtl/regbus"
)

// Shared is a GPU whose second master of the register bus is outside: it has a port
// for it, beside the two of port.Device. Its configuration has caps.Master.
type Shared struct {
	gpu GPU
}

// NewShared builds a GPU in its state after power on. It fails with ErrConfig.
func NewShared(c Config) (*Shared, error) {
	if !c.Caps.Has(caps.Master) {
		return nil, fmt.Errorf("%w: no second master", ErrConfig)
	}
	if c.Caps.Has(caps.MCU) {
		return nil, fmt.Errorf("%w: the second master is the microcontroller", ErrConfig)
	}
	g, err := New(c)
	if err != nil {
		return nil, err
	}
	return &Shared{gpu: *g}, nil
}

// GPU returns the GPU. Its own Tick is a clock in which the second master asks for
// nothing.
func (s *Shared) GPU() *GPU { return &s.gpu }

// Target returns the outputs of the target port.
func (s *Shared) Target() (cpl port.Completion, reqReady, dataReady bool) { return s.gpu.Target() }

// Initiator returns the outputs of the initiator port.
func (s *Shared) Initiator() (req port.Request, beat port.Beat) { return s.gpu.Initiator() }

// Answer returns the answer to the second master, which is valid for one clock.
func (s *Shared) Answer() arbiter.Answer {
	return arbiter.AnswerOf(s.gpu.arbiter.Awaits(), s.gpu.arbiter.Refused(), s.gpu.answer())
}

// Tick advances one clock. ask is the next access of the second master, in one
// clock, at the earliest that of the answer to the last one.
func (s *Shared) Tick(req port.Request, beat port.Beat, cplReady bool, cpl port.Completion, reqReady, dataReady bool, ask regbus.Req) {
	s.gpu.ask = ask
	s.gpu.Tick(req, beat, cplReady, cpl, reqReady, dataReady)
	s.gpu.ask = regbus.Req{}
}

// Reset is a fundamental reset. It drops the access of the second master.
func (s *Shared) Reset() {
	s.gpu.Reset()
	s.gpu.ask = regbus.Req{}
}

// answer returns the answer of the block that has the register.
func (g *GPU) answer() regbus.Rsp {
	rsp := g.rsp()
	if g.hasMaster() {
		rsp = or(rsp, g.arbiter.Registers())
	}
	if g.hasGART() {
		rsp = or(rsp, g.gart.Registers())
	}
	return rsp
}

// granted reports whether the second master has the register bus in this clock.
func (g *GPU) granted() bool {
	if !g.hasMaster() {
		return false
	}
	captures := g.pcie.Err().Cause != idreg.ErrNone || g.regram.Owes()
	return arbiter.Grant(g.arbiter.Waits(), g.pcie.Awaits(), captures)
}

// blocked reports whether the host must not have the register bus in this clock,
// because of an access of the second master in a clock before.
func (g *GPU) blocked() bool {
	if !g.hasMaster() {
		return false
	}
	return g.arbiter.Awaits() || g.arbiter.Ends() && g.regram.Owes()
}

// accesses reports whether a master has the register bus in this clock.
func (g *GPU) accesses() bool {
	if g.blocked() {
		return false
	}
	return g.granted() || g.pcie.Regs().Op != regbus.None
}

// access returns the access that the blocks see in this clock, and whose it is. beat
// has the data of a write by the host.
func (g *GPU) access(beat port.Beat) (regs regbus.Req, turn arbiter.Turn) {
	regs = pcie.Carry(g.pcie.Regs(), beat)
	if g.hasMaster() && !hdl.Asleep(bool(g.controlIdle)) {
		turn.Second = g.granted()
		if turn.Second {
			regs = g.arbiter.Req()
		} else if g.blocked() {
			regs.Op = regbus.None
		}
		if arbiter.Refuses(g.arbiter.Owner(), regs, turn.Second) {
			turn.Refused = true
			regs.Op = regbus.None
		}
	}
	return regs, turn
}

// share returns the host's part in the register bus.
func (g *GPU) share(turn arbiter.Turn) pcie.Share {
	return pcie.Share{Held: turn.Second || g.blocked(), Owned: g.arbiter.Refused()}
}
