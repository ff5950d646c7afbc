package hostbfm

import (
	"math/rand/v2"

	"github.com/hilgpu/hilgpu/rtl/abi/arbreg"
	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pcicfg"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/abi/regmap"
	"github.com/hilgpu/hilgpu/rtl/arbiter"
	"github.com/hilgpu/hilgpu/rtl/gpu"
	"github.com/hilgpu/hilgpu/rtl/regbus"
)

// Second is the port of the second master of a register bus.
type Second interface {
	// Ask gives the next Tick an access. There must be no access without an answer.
	Ask(r regbus.Req)

	// Answer returns the answer to the access, which is valid for one clock.
	Answer() arbiter.Answer
}

// Shared is a GPU with a second master, as a Device and a Second.
type Shared struct {
	*gpu.GPU
	shared *gpu.Shared
	ask    regbus.Req
}

var (
	_ Device = (*Shared)(nil)
	_ Second = (*Shared)(nil)
)

// NewShared builds a GPU with caps.Master. It fails with gpu.ErrConfig.
func NewShared(c gpu.Config) (*Shared, error) {
	c.Caps |= caps.Master
	s, err := gpu.NewShared(c)
	if err != nil {
		return nil, err
	}
	return &Shared{GPU: s.GPU(), shared: s}, nil
}

// Ask implements Second.
func (s *Shared) Ask(r regbus.Req) { s.ask = r }

// Answer implements Second.
func (s *Shared) Answer() arbiter.Answer { return s.shared.Answer() }

// Tick is one clock.
func (s *Shared) Tick(req port.Request, beat port.Beat, cplReady bool, cpl port.Completion, reqReady, dataReady bool) {
	s.shared.Tick(req, beat, cplReady, cpl, reqReady, dataReady, s.ask)
	s.ask = regbus.Req{}
}

// Reset is a fundamental reset.
func (s *Shared) Reset() {
	s.shared.Reset()
	s.ask = regbus.Req{}
}

// IdleFor returns the number of clocks in which the GPU only counts.
func (s *Shared) IdleFor() uint64 {
	if s.ask.Op != regbus.None {
		return 0
	}
	return s.GPU.IdleFor()
}

// second is a second master that accesses registers at random.
type second struct {
	port  Second // nil: the device has none
	rng   *rand.Rand
	regs  []regmap.Entry
	waits bool   // for an answer
	pause uint64 // clocks until the next access
	rests int    // percentage of accesses after a pause
}

// newSecond returns the second master of a device, which does nothing if the device
// has none.
func newSecond(dev Device, seed uint64) second {
	s := second{rng: rand.New(rand.NewPCG(seed, 0x7365636f6e64)), regs: regmap.New().Entries()}
	if have := dev.Config().Caps; have.Has(caps.Master) && !have.Has(caps.MCU) {
		s.port, _ = dev.(Second)
	}
	return s
}

// step makes an access, or waits for its answer.
func (s *second) step(saw *Coverage) {
	if s.port == nil {
		return
	}
	if a := s.port.Answer(); a.Done {
		saw.Answers++
		if a.Refused {
			saw.Refused++
		}
		s.waits = false
		if s.rng.IntN(1000) == 0 {
			s.rests = []int{0, 30, 95}[s.rng.IntN(3)]
		}
		if s.rng.IntN(100) < s.rests {
			s.pause = s.rng.Uint64N(40)
		}
	}
	if s.waits || s.pause > 0 {
		s.pause = max(s.pause, 1) - 1
		return
	}
	s.waits = true
	s.port.Ask(s.access())
}

// access returns a random access.
func (s *second) access() regbus.Req {
	r := regbus.Req{Op: regbus.Read, Off: uint16(s.regs[s.rng.IntN(len(s.regs))].Off()), Data: s.rng.Uint32()}
	switch p := s.rng.IntN(100); {
	case p < 20:
		r.Off = idreg.TimeLo + uint16(s.rng.IntN(2))*4
	case p < 30:
		r.Off = cpreg.Base + uint16(s.rng.IntN(cpreg.Nodes))*cpreg.Stride + cpreg.LineLo + uint16(s.rng.IntN(2))*4
	case p < 35:
		r.Off = uint16(s.rng.IntN(pcicfg.BAR0Size)) &^ 3
	case p < 50:
		r.Op, r.Off = regbus.Write, idreg.Scratch0+uint16(s.rng.IntN(4))*4
	case p < 53:
		r.Op = regbus.Write
	case p < 60:
		r.Op, r.Off = regbus.Write, cpreg.Base+uint16(s.rng.IntN(2*cpreg.Stride/4))*4
		r.Data &= 1<<s.rng.IntN(32) - 1
	case p < 65:
		r.Op, r.Off = regbus.Op(1+s.rng.IntN(2)), arbreg.Base+uint16(s.rng.IntN(2))*4
	default:
	}
	if r.Off == idreg.Reset && s.rng.IntN(20) != 0 {
		r.Op = regbus.Read
	}
	return r
}
