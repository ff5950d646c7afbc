package core_test

import (
	"flag"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/lockstep"
	"github.com/hilgpu/hilgpu/rtl/lockstep/mutant"
	"github.com/hilgpu/hilgpu/rtl/mcu/core"
	"github.com/hilgpu/hilgpu/rtl/mcu/rv32/rv32test"
	"github.com/hilgpu/hilgpu/rtl/verilog/simtest"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

var (
	clocksFlag  = flag.Uint64("core.clocks", 60_000, "clocks of TestLockstep and of the traffic of TestMutants")
	mutantsFlag = flag.Int("core.mutants", 3, "mistakes planted by TestMutants")
	seedFlag    = flag.Uint64("core.seed", 1, "seed of TestLockstep and TestMutants")
)

// A traffic is the inputs of a core: it loads random programs, interrupts them, answers its
// accesses, and halts it as a debugger would. One of six starts is that of another program.
type traffic struct {
	r    *rand.Rand
	p    *rv32test.Program
	at   int  // word to be loaded
	load bool // the core is held for a load
	irq  core.Interrupts
	halt bool
	stop bool
}

// next returns the inputs of a clock. m is the core as it is.
func (s *traffic) next(m *core.Module) (core.Interrupts, core.Answer, core.Control, core.Debug, core.Load) {
	r := s.r
	one := func(n int) bool { return r.IntN(n) == 0 }
	if m.Starting() && !s.load {
		s.halt = one(8)
		if s.p == nil || one(6) {
			s.p, s.at = rv32test.NewProgram(r.Uint64(), rv32test.Full), 0
		}
		s.at = min(s.at, len(s.p.Words)-r.IntN(32))
	}
	s.load = m.Starting()
	var load core.Load
	hold := s.load && s.at < len(s.p.Words)
	if hold && !one(8) {
		load = core.Load{Valid: true, Addr: uint16(s.at), Data: s.nearly(s.p.Words[s.at], 100)}
		s.at++
	} else if one(4) {
		load = core.Load{Valid: one(2), Addr: uint16(r.UintN(1 << 14)), Data: r.Uint32()}
	}
	if one(200) {
		s.irq = core.Interrupts{Software: one(2), Timer: one(2), External: one(2)}
	}
	if one(300) {
		s.halt = !s.halt
	}
	if one(50) {
		s.stop = one(6)
	}
	a := core.Answer{Data: r.Uint32(), Fault: one(3)}
	a.Done = m.Request().Valid && one(3)
	ctl := core.Control{Hold: hold || one(5000), Halt: s.halt, Resume: one(12), Step: one(2)}
	return s.irq, a, ctl, core.Debug{Exec: one(6), Stop: s.stop, Catch: one(2), Word: s.word(), Data: r.Uint32()}, load
}

// nearly returns a word, which differs in one bit in one of n cases: an instruction and what is
// nearly one must not be confused.
func (s *traffic) nearly(word uint32, n int) uint32 {
	if s.r.IntN(n) == 0 {
		word ^= 1 << s.r.IntN(32)
	}
	return word
}

// word is an instruction of a debugger, nearly one, or any word.
func (s *traffic) word() uint32 { return s.nearly(s.instruction(), 6) }

// instruction is an instruction of a debugger, or any word.
func (s *traffic) instruction() uint32 {
	r := s.r
	d, a := r.Uint32N(32), r.Uint32N(32)
	switch r.IntN(12) {
	case 0:
		return rv32test.I(0x73, 1, 0, a, 0x7b2)
	case 1:
		return rv32test.I(0x73, 1+r.Uint32N(3), d, a, 0x7b2)
	case 2:
		return rv32test.I(0x73, r.Uint32N(8), d, a, []uint32{0x300, 0x304, 0xb00, 0xb02, 0xb80, 0xb82}[r.IntN(6)])
	case 3:
		return rv32test.I(0x13, 0, d, 0, r.Uint32N(1<<12))
	case 4:
		return rv32test.I(0x03, r.Uint32N(6), d, a, r.Uint32N(1<<12))
	case 5:
		return rv32test.S(0x23, r.Uint32N(3), a, d, r.Uint32N(1<<12))
	case 6:
		return rv32test.I(0x67, 0, d, 0, rv32test.CodeAt+4*r.Uint32N(64))
	case 7:
		return rv32test.I(0x13, 1+4*r.Uint32N(2), d, a, r.Uint32N(8)) // shifts
	case 8:
		return rv32test.B(r.Uint32N(8), a, d, 4*r.Uint32N(16))
	case 9: // the lower half of a counter is about to wrap, if x7 is not positive
		return []uint32{rv32test.I(0x13, 0, 7, 0, 0xff0+r.Uint32N(0x10)), rv32test.I(0x73, 1, 0, 7, []uint32{0xb00, 0xb02}[r.IntN(2)])}[r.IntN(2)]
	case 10:
		return []uint32{d<<7 | 0x17, rv32test.J(d, 4*r.Uint32N(16)), rv32test.MRET, rv32test.WFI, rv32test.EBREAK, rv32test.ECALL}[r.IntN(6)]
	default:
		return r.Uint32()
	}
}

// drive runs both sides for a number of clocks, with resets.
func drive(m *core.Module, both *lockstep.Module, seed, clocks uint64) {
	s := traffic{r: rand.New(rand.NewPCG(seed, 2))}
	for both.Clocks() < clocks && both.Err() == nil {
		if s.r.IntN(3_000) == 0 {
			both.Reset()
		}
		irq, a, ctl, dbg, load := s.next(m)
		both.Tick(irq, a, ctl, dbg, load)
	}
}

var all = core.Config{Bytes: rv32test.Size, Counters: true, Debug: true}

// The Verilog of a core does the same as the Go, register by register, with all options and
// with none.
func TestLockstep(t *testing.T) {
	tooltest.Need(t, lockstep.Tools(lockstep.Verilator)...)
	for name, c := range map[string]core.Config{"all": all, "none": {Bytes: rv32test.Size}} {
		m := core.New(c)
		both, err := lockstep.NewModule("../../..", &m, lockstep.Options{Sim: lockstep.Verilator, Cache: simtest.Cache()}, core.Outputs...)
		require.NoError(t, err)
		drive(&m, both, *seedFlag, *clocksFlag)
		assert.NoError(t, both.Close(), name)
		t.Logf("%s: %d clocks", name, both.Clocks())
	}
}

// Lockstep detects mistakes in the Verilog of a core.
func TestMutants(t *testing.T) {
	tooltest.Long(t)
	tooltest.Need(t, append(lockstep.Tools(lockstep.Verilator), "yosys", "yosys-abc")...)
	fresh := func() any {
		m := core.New(all)
		return &m
	}
	run := func(top any, both *lockstep.Module, first bool) {
		clocks := 10 * *clocksFlag
		if first {
			clocks = *clocksFlag
		}
		drive(top.(*core.Module), both, *seedFlag, clocks)
	}
	s, err := mutant.OfModule("../../..", fresh, run, simtest.Cache(), core.Outputs...)
	require.NoError(t, err)
	r, err := mutant.Plant(s, mutant.Options{Name: "core", Seed: *seedFlag, Count: *mutantsFlag, Progress: func(line string) { t.Log(line) }})
	require.NoError(t, err)
	require.NoError(t, r.Print(os.Stdout))
	assert.GreaterOrEqual(t, r.Rate(), 0.98)
}
