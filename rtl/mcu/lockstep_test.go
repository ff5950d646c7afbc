package mcu_test

import (
	"flag"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/mcureg"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/arbiter"
	"github.com/hilgpu/hilgpu/rtl/lockstep"
	"github.com/hilgpu/hilgpu/rtl/lockstep/mutant"
	"github.com/hilgpu/hilgpu/rtl/mcu"
	"github.com/hilgpu/hilgpu/rtl/mcu/rv32/rv32test"
	"github.com/hilgpu/hilgpu/rtl/regbus"
	"github.com/hilgpu/hilgpu/rtl/reset"
	"github.com/hilgpu/hilgpu/rtl/verilog/simtest"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

var (
	clocksFlag  = flag.Uint64("mcu.clocks", 60_000, "clocks of TestLockstep and of the traffic of TestMutants")
	mutantsFlag = flag.Int("mcu.mutants", 3, "mistakes planted by TestMutants")
	seedFlag    = flag.Uint64("mcu.seed", 1, "seed of TestLockstep and TestMutants")
)

// A traffic is the inputs of a microcontroller: a host that loads and debugs random programs,
// a register bus and memories that answer at any time.
type traffic struct {
	r      *rand.Rand
	queue  []regbus.Req // of the host
	pause  int          // clocks until its next access
	asks   bool         // an access to the register bus is not answered
	reads  bool         // a read is not answered
	beat   bool         // the header of a write is taken, its beat is not
	now    uint64
	events uint16
}

func (s *traffic) one(n int) bool { return s.r.IntN(n) == 0 }

func (s *traffic) write(off uint32, v uint32) {
	s.queue = append(s.queue, regbus.Req{Op: regbus.Write, Off: uint16(off), Data: v})
}

// address returns an address that a program may reach, or nearly.
func (s *traffic) address() uint32 {
	switch s.r.IntN(9) {
	case 0:
		return s.r.Uint32()
	case 8:
		return 0x600 + s.r.Uint32N(0x20)
	case 1:
		return mcureg.Bus + s.r.Uint32N(0x4000)&^3
	case 2, 3:
		return mcureg.Local + s.r.Uint32N(0x70)&^3
	case 4:
		return mcureg.Through + 7*mcureg.WindowMax + s.r.Uint32N(0x100)
	default:
		return mcureg.Through + s.r.Uint32N(8)*mcureg.WindowMax + s.r.Uint32N(0x140)&^(3*s.r.Uint32N(2))
	}
}

// program queues a program of accesses, with a handler that returns after the instruction.
func (s *traffic) program() {
	words := []uint32{rv32test.I(0x13, 0, 31, 0, 0x700), rv32test.I(0x73, 1, 0, 31, 0x305)}
	words = append(words, rv32test.I(0x13, 0, 1, 0, s.r.Uint32N(1<<12)), rv32test.I(0x73, 1, 0, 1, 0x304))
	if s.one(2) {
		words = append(words, rv32test.I(0x73, 6, 0, 8, 0x300))
	}
	for range 4 + s.r.IntN(12) {
		a := s.address()
		words = append(words, (a+0x800)&0xffff_f000|2<<7|0x37, rv32test.I(0x13, 0, 2, 2, a&0xfff))
		switch s.r.IntN(7) {
		case 0, 1, 2:
			words = append(words, rv32test.I(0x03, []uint32{0, 1, 2, 2, 2, 4, 5}[s.r.IntN(7)], 3, 2, 0))
		case 3, 4, 5:
			words = append(words, rv32test.S(0x23, []uint32{0, 1, 2, 2, 2}[s.r.IntN(5)], 2, 3, 0))
		default:
			words = append(words, []uint32{rv32test.WFI, rv32test.EBREAK, rv32test.I(0x13, 0, 3, 3, s.r.Uint32N(1<<12))}[s.r.IntN(3)])
		}
	}
	words = append(words, rv32test.J(0, uint32(-4*(len(words)-4))&0x1ffffe))
	s.write(mcureg.Base+mcureg.Ctl, 0)
	s.write(mcureg.Base+mcureg.LoadAddr, s.r.Uint32())
	s.write(mcureg.Base+mcureg.LoadData, s.r.Uint32())
	s.write(mcureg.Base+mcureg.LoadAddr, 0)
	for _, w := range words {
		s.write(mcureg.Base+mcureg.LoadData, w)
	}
	s.write(mcureg.Base+mcureg.LoadAddr, 0x700)
	for _, w := range []uint32{rv32test.I(0x73, 2, 30, 0, 0x341), rv32test.I(0x13, 0, 30, 30, 4), rv32test.I(0x73, 1, 0, 30, 0x341), rv32test.MRET} {
		s.write(mcureg.Base+mcureg.LoadData, w)
	}
	s.write(mcureg.Base+mcureg.Blocks, s.r.Uint32())
	for i := range uint32(8) {
		at := mcureg.Base + mcureg.Window + mcureg.Stride*i
		s.write(at+mcureg.BaseLo, s.r.Uint32()>>(s.r.IntN(24)))
		s.write(at+mcureg.BaseHi, []uint32{0, 1 << 31, 1<<31 | s.r.Uint32N(300), s.r.Uint32()}[s.r.IntN(4)])
		s.write(at+mcureg.WindowSize, []uint32{0x100, 0x101, s.r.Uint32(), 1}[s.r.IntN(4)])
	}
	s.write(mcureg.Base+mcureg.Limit, []uint32{0, 300, 5000}[s.r.IntN(3)])
	s.write(mcureg.Base+mcureg.Ctl, 1)
}

// host returns the access of the host.
func (s *traffic) host(m *mcu.Module) regbus.Req {
	if s.pause--; s.pause > 0 {
		return regbus.Req{}
	}
	s.pause = 2 + s.r.IntN(3)
	if len(s.queue) != 0 {
		q := s.queue[0]
		if s.one(20) {
			q.Op = regbus.Read
		}
		s.queue = s.queue[1:]
		if q.Off == mcureg.Base+mcureg.LoadData {
			s.pause = 10 - s.r.IntN(2)*s.r.IntN(9)
		}
		return q
	}
	s.pause = s.r.IntN(60)
	q := regbus.Req{Op: regbus.Read + regbus.Op(s.r.IntN(2)), Off: mcureg.Base + uint16(s.r.UintN(0x200))&^3, Data: s.r.Uint32()}
	switch s.r.IntN(12) {
	case 0:
		s.program()
	case 1:
		q = regbus.Req{Op: regbus.Write, Off: mcureg.Base + mcureg.Doorbell, Data: 1 << s.r.IntN(32)}
	case 2, 3:
		q = regbus.Req{Op: regbus.Write, Off: mcureg.DebugBase + mcureg.DebugCtl, Data: s.r.Uint32N(16)}
	case 4:
		point := uint16(s.r.UintN(6))
		q = regbus.Req{Op: regbus.Write, Off: mcureg.DebugBase + mcureg.Break + point*4, Data: s.r.Uint32N(0x100<<s.r.IntN(24)) | s.r.Uint32N(2)}
		if point >= 4 {
			q.Off, q.Data = mcureg.DebugBase+mcureg.Watch, 0x600+s.r.Uint32N(0x20)|1
		}
	case 5:
		q = regbus.Req{Op: regbus.Write, Off: mcureg.DebugBase + mcureg.Exec, Data: rv32test.I(0x73, 1+s.r.Uint32N(2), s.r.Uint32N(4), s.r.Uint32N(4), mcureg.Scratch)}
	case 6:
		q.Off = uint16(s.r.UintN(1<<16)) &^ 3
	case 7:
		if q.Off == mcureg.Base+mcureg.Ctl {
			q.Op = regbus.Read
		}
	default:
		q.Op = regbus.Read
	}
	return q
}

// next returns the inputs of a clock.
func (s *traffic) next(m *mcu.Module) (regbus.Req, arbiter.Answer, mcu.Mem, uint64, uint16, reset.Signals) {
	var bus arbiter.Answer
	if s.asks && s.one(4) {
		bus, s.asks = arbiter.Answer{Done: true, Hit: !s.one(4), Refused: s.one(8), Data: s.r.Uint32()}, false
	}
	if m.Ask().Op != regbus.None {
		s.asks = true
	}
	mem := mcu.Mem{Free: !s.one(3), Cpl: port.Completion{Tag: uint8(s.r.UintN(256)), Last: s.one(2), Data: s.r.Uint64()}}
	if s.reads && s.one(5) {
		mem.Cpl.Status, s.reads = []port.Status{port.CplSuccess, port.CplSuccess, port.CplUnsupported, port.CplAbort}[s.r.IntN(4)], false
	}
	if m.Read().Kind != port.None && s.one(3) {
		mem.ReadReady, s.reads = true, true
	}
	q, b := m.Write()
	if s.beat && b.Valid && s.one(3) {
		mem.BeatReady, mem.Refused, s.beat = true, s.one(6), false
	} else if q.Kind != port.None && s.one(3) {
		mem.WriteReady, s.beat = true, true
	}
	regs := s.host(m)
	var rst reset.Signals
	if regs.Op == regbus.None && q.Kind == port.None && !s.beat && (s.one(1500) || m.Ask().Op != regbus.None && s.one(40)) {
		rst, s.reads = reset.Signals{Pending: true, Whole: true}, false
	}
	s.now += 1 + s.r.Uint64N(2)*s.r.Uint64N(3)
	if s.one(5000) {
		s.now = s.r.Uint64() >> s.r.IntN(40)
	}
	if s.one(300) {
		s.events = uint16(s.r.UintN(1<<12) & s.r.UintN(1<<12))
	}
	return regs, bus, mem, s.now, s.events, rst
}

// drive runs both sides for a number of clocks, with resets.
func drive(m *mcu.Module, both *lockstep.Module, seed, clocks uint64) {
	s := traffic{r: rand.New(rand.NewPCG(seed, 3))}
	for both.Clocks() < clocks && both.Err() == nil {
		if s.one(30_000) {
			both.Reset()
			s.asks, s.reads, s.beat, s.queue = false, false, false, nil
		}
		regs, bus, mem, now, events, rst := s.next(m)
		both.Tick(regs, bus, mem, now, events, rst)
	}
}

// The Verilog of a microcontroller does the same as the Go, register by register.
func TestLockstep(t *testing.T) {
	tooltest.Need(t, lockstep.Tools(lockstep.Verilator)...)
	m := mcu.New(params)
	both, err := lockstep.NewModule("../..", &m, lockstep.Options{Sim: lockstep.Verilator, Cache: simtest.Cache()}, mcu.Outputs...)
	require.NoError(t, err)
	drive(&m, both, *seedFlag, *clocksFlag)
	assert.NoError(t, both.Close())
	t.Logf("%d clocks", both.Clocks())
}

// Lockstep detects mistakes in the Verilog of a microcontroller, without its core, whose own test
// does the same.
func TestMutants(t *testing.T) {
	tooltest.Need(t, append(lockstep.Tools(lockstep.Verilator), "yosys", "yosys-abc")...)
	fresh := func() any {
		m := mcu.New(params)
		return &m
	}
	run := func(top any, both *lockstep.Module, first bool) {
		clocks := 10 * *clocksFlag
		if first {
			clocks = *clocksFlag
		}
		drive(top.(*mcu.Module), both, *seedFlag, clocks)
	}
	s, err := mutant.OfModule("../..", fresh, run, simtest.Cache(), mcu.Outputs...)
	require.NoError(t, err)
	r, err := mutant.Plant(s, mutant.Options{Name: "mcu", Modules: []string{"mcu"}, Seed: *seedFlag, Count: *mutantsFlag, Progress: func(line string) { t.Log(line) }})
	require.NoError(t, err)
	require.NoError(t, r.Print(os.Stdout))
	assert.GreaterOrEqual(t, r.Rate(), 0.98)
}

// A Tick in a clock in which a microcontroller sleeps changes nothing.
func TestSleeps(t *testing.T) {
	m := mcu.New(params)
	s := traffic{r: rand.New(rand.NewPCG(*seedFlag, 4))}
	slept := 0
	var before, after [mcu.ModuleWords]uint64
	for range *clocksFlag {
		regs, bus, mem, now, events, rst := s.next(&m)
		sleeps := m.Sleeps(regs, now, events, rst)
		m.Snapshot(before[:])
		m.Tick(regs, bus, mem, now, events, rst)
		if m.Snapshot(after[:]); sleeps {
			slept++
			require.Equal(t, before, after)
		}
	}
	assert.Greater(t, slept, int(*clocksFlag/100))
}
