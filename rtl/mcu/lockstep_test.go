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
	last   regbus.Req   // its last access
	pause  int          // clocks until its next access
	debugs bool         // it debugs the program
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

// aligned returns an address, aligned to a word in three of four cases.
func (s *traffic) aligned(a uint32) uint32 { return a &^ (3 * min(1, s.r.Uint32N(4))) }

// address returns an address that a program may reach, or nearly.
func (s *traffic) address() uint32 {
	switch s.r.IntN(10) {
	case 0:
		return s.r.Uint32()
	case 9: // one bit more is set, which may lead to no register
		a := []uint32{mcureg.Bus + s.aligned(s.r.Uint32N(0x2000)), mcureg.Local + s.aligned(s.r.Uint32N(0x70))}
		return a[s.r.IntN(2)] | 0x80<<s.r.IntN(21)
	case 8:
		return 0x600 + s.r.Uint32N(0x20)&^(3*s.r.Uint32N(2))
	case 1, 7:
		return mcureg.Bus + s.aligned(s.r.Uint32N(0x4000))
	case 2, 3, 5:
		return mcureg.Local + s.aligned(s.r.Uint32N(0x70))
	case 4:
		return mcureg.Through + 7*mcureg.WindowMax + s.r.Uint32N(0x100)
	default:
		return mcureg.Through + s.r.Uint32N(8)*mcureg.WindowMax + s.aligned(s.r.Uint32N(0x140))
	}
}

// program queues a program of accesses, with a handler that returns after the instruction. x1 and x2 are for the
// addresses, x30 and x31 for the handler.
func (s *traffic) program() {
	words := []uint32{rv32test.I(0x13, 0, 31, 0, 0x700), rv32test.I(0x73, 1, 0, 31, 0x305)}
	words = append(words, rv32test.I(0x13, 0, 1, 0, s.r.Uint32N(1<<12)|0x808), rv32test.I(0x73, 1, 0, 1, 0x304))
	if s.one(2) {
		words = append(words, rv32test.I(0x73, 6, 0, 8, 0x300))
	}
	start := len(words)
	count, stop := 20+s.r.IntN(80), uint32(0)
	if s.one(5) {
		count, stop = 0, 0x500+4*s.r.Uint32N(0x40)
		words = append(words, s.leaves(stop)...)
	}
	for range count {
		a, d := s.address(), 3+s.r.Uint32N(27)
		words = append(words, (a+0x800)&0xffff_f000|2<<7|0x37, rv32test.I(0x13, 0, 2, 2, a&0xfff))
		switch s.r.IntN(7) {
		case 0, 1:
			words = append(words, rv32test.I(0x03, []uint32{0, 1, 2, 2, 2, 4, 5}[s.r.IntN(7)], d, 2, 0))
		case 2, 3, 4:
			words = append(words, rv32test.S(0x23, []uint32{0, 1, 2, 2, 2}[s.r.IntN(5)], 2, d, 0))
		default:
			words = append(words, []uint32{
				rv32test.WFI, rv32test.EBREAK, rv32test.I(0x13, 0, d, d, s.r.Uint32N(1<<12)), rv32test.I(0x73, 6, 0, 8, 0x300),
				rv32test.I(0x73, 2, 0, 1, 0x304), s.r.Uint32()&^0xfff | d<<7 | 0x37, s.r.Uint32()&^0xfff | d<<7 | 0x37, s.r.Uint32()&^0xfff | d<<7 | 0x37,
			}[s.r.IntN(8)])
		}
	}
	words = append(words, rv32test.J(0, uint32(4*(start-len(words)))&0x1ffffe))
	if s.debugs = s.one(3); !s.debugs {
		s.write(mcureg.DebugBase+mcureg.DebugCtl, mcureg.CtlResume)
	}
	s.write(mcureg.Base+mcureg.Ctl, 0)
	s.write(mcureg.Base+mcureg.LoadAddr, []uint32{s.r.Uint32(), 4<<s.r.IntN(15) - 4}[s.r.IntN(2)])
	for range 2 {
		s.write(mcureg.Base+mcureg.LoadData, s.r.Uint32())
	}
	if stop != 0 {
		s.write(mcureg.DebugBase+mcureg.Break+4*uint32(s.r.UintN(4)), stop|1)
	}
	s.write(mcureg.Base+mcureg.LoadAddr, 0)
	for _, w := range words {
		s.write(mcureg.Base+mcureg.LoadData, w)
	}
	s.write(mcureg.Base+mcureg.LoadAddr, 0x700)
	for _, w := range returns {
		s.write(mcureg.Base+mcureg.LoadData, w)
	}
	s.start()
}

// leaves returns a program that jumps to an address but for one bit, which is after all programs or outside of the memory.
func (s *traffic) leaves(at uint32) []uint32 {
	return []uint32{0x1000<<[]int{0, 1, s.r.IntN(20)}[s.r.IntN(3)] | 2<<7 | 0x37, rv32test.I(0x67, 0, 0, 2, at)}
}

// returns is at 0x700. It continues after the instruction of an exception, and disables interrupts after one.
var returns = []uint32{
	rv32test.I(0x73, 2, 30, 0, 0x342), rv32test.B(4, 30, 0, 20),
	rv32test.I(0x73, 2, 30, 0, 0x341), rv32test.I(0x13, 0, 30, 30, 4), rv32test.I(0x73, 1, 0, 30, 0x341), rv32test.MRET,
	rv32test.I(0x73, 1, 0, 0, 0x304), rv32test.MRET,
}

// start queues what starts the program in the memory.
func (s *traffic) start() {
	s.write(mcureg.Base+mcureg.Blocks, s.r.Uint32())
	for i := range uint32(8) {
		at := mcureg.Base + mcureg.Window + mcureg.Stride*i
		s.write(at+mcureg.BaseLo, []uint32{s.r.Uint32() >> s.r.IntN(24), 0xffff_ff00}[s.r.IntN(5)/4])
		s.write(at+mcureg.BaseHi, []uint32{0, 1 << 31, 1<<31 | s.r.Uint32N(300), s.r.Uint32()}[s.r.IntN(4)])
		s.write(at+mcureg.WindowSize, []uint32{0x101, 0x101, 0x100, s.r.Uint32(), 1}[s.r.IntN(5)])
	}
	s.write(mcureg.Base+mcureg.Limit, []uint32{0, 300, 5000}[s.r.IntN(3)])
	s.write(mcureg.Base+mcureg.Ctl, 1)
}

// host returns the access of the host. One that is answered with a retry is repeated.
func (s *traffic) host(m *mcu.Module) regbus.Req {
	if s.asks && s.one(200) { // the access goes on without its program
		s.write(mcureg.Base+mcureg.Ctl, 0)
		s.write(mcureg.Base+mcureg.Ctl, 1)
	}
	if m.Rsp().Retry {
		s.queue = append([]regbus.Req{s.last}, s.queue...)
	}
	if s.pause--; s.pause > 0 {
		return regbus.Req{}
	}
	s.last = s.access()
	return s.last
}

// access returns the next access of the host, and sets when the one after it may follow.
func (s *traffic) access() regbus.Req {
	s.pause = 2 + s.r.IntN(3)
	if len(s.queue) != 0 {
		q := s.queue[0]
		if s.one(20) {
			q.Op = regbus.Read
			return q
		}
		s.queue = s.queue[1:]
		if q.Off == mcureg.Base+mcureg.LoadData {
			s.pause = 10 - s.r.IntN(9)*s.r.IntN(2)*s.r.IntN(2)
		}
		return q
	}
	s.pause = s.r.IntN(40)
	q := regbus.Req{Op: regbus.Read + regbus.Op(s.r.IntN(2)), Off: mcureg.Base + uint16(s.r.UintN(0x200))&^3, Data: s.r.Uint32()}
	if s.one(300) {
		s.program()
	} else if s.one(80) {
		s.write(mcureg.Base+mcureg.Ctl, 0)
		s.start()
	}
	kind := s.r.IntN(12)
	if !s.debugs && kind >= 2 && kind <= 5 {
		kind = 8
	}
	switch kind {
	case 0:
		q = regbus.Req{Op: regbus.Write, Off: mcureg.Base + mcureg.Mail + uint16(s.r.UintN(8))*4, Data: s.r.Uint32()}
	case 1:
		q = regbus.Req{Op: regbus.Write, Off: mcureg.Base + mcureg.Doorbell, Data: 1 << s.r.IntN(32)}
	case 2, 3:
		q = regbus.Req{Op: regbus.Write, Off: mcureg.DebugBase + mcureg.DebugCtl, Data: s.r.Uint32N(16) &^ (mcureg.CtlHalt * s.r.Uint32N(2))}
	case 4:
		point := uint16(s.r.UintN(6))
		q = regbus.Req{Op: regbus.Write, Off: mcureg.DebugBase + mcureg.Break + point*4, Data: s.r.Uint32N(0x100<<s.r.IntN(24)) | s.r.Uint32N(2)}
		if s.one(2) {
			q.Data = 4*s.r.Uint32N(0x100) | 1
		}
		if point >= 4 {
			q.Off, q.Data = mcureg.DebugBase+mcureg.Watch, 0x600+s.r.Uint32N(0x20)|1
		}
	case 5:
		q = regbus.Req{Op: regbus.Write, Off: mcureg.DebugBase + mcureg.Exec, Data: rv32test.I(0x73, 1+s.r.Uint32N(2), s.r.Uint32N(4), s.r.Uint32N(4), mcureg.Scratch)}
		if s.one(3) {
			q.Data = s.r.Uint32()
		}
	case 6:
		q.Off = uint16(s.r.UintN(1<<16)) &^ 3
	case 7:
		if s.one(10) {
			q = regbus.Req{Op: regbus.Write, Off: mcureg.Base + mcureg.Ctl, Data: s.r.Uint32() | 3*s.r.Uint32N(2)}
		}
	case 8, 9:
		q = regbus.Req{Op: regbus.Read, Off: []uint16{
			mcureg.Base + mcureg.Ctl, mcureg.Base + mcureg.Status, mcureg.Base + mcureg.Doorbell, mcureg.Base + mcureg.CRC,
			mcureg.DebugBase + mcureg.DebugCtl, mcureg.DebugBase + mcureg.DebugStatus, mcureg.DebugBase + mcureg.PC, mcureg.DebugBase + mcureg.Data,
		}[s.r.IntN(8)]}
	default:
		q.Op = regbus.Read
	}
	return q
}

// next returns the inputs of a clock.
func (s *traffic) next(m *mcu.Module) (regbus.Req, arbiter.Answer, mcu.Mem, uint64, uint16, reset.Signals) {
	var bus arbiter.Answer
	if s.asks && s.one([]int{4, 4, 4, 60}[s.now>>8&3]) {
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
	if m.AtLimit() && s.one(4) { // the program is started or stopped in the clock in which it hangs
		regs = regbus.Req{Op: regbus.Write, Off: mcureg.Base + mcureg.Ctl, Data: s.r.Uint32N(2)}
		s.last = regs
	}
	var rst reset.Signals
	debugs := regs.Op == regbus.Write && regs.Off&^(mcureg.DebugSize-1) == mcureg.DebugBase
	resets := s.one(10_000) || (debugs || regs.Op == regbus.Read) && s.one(500) || m.Ask().Op != regbus.None && s.one(20) || m.AtLimit() && s.one(3)
	if q.Kind == port.None && !s.beat && resets {
		rst, s.reads, s.queue = reset.Signals{Pending: true, Whole: true}, false, nil
		s.start()
	}
	s.now += 1 + s.r.Uint64N(2)*s.r.Uint64N(3)
	if s.one(5000) {
		s.now = s.r.Uint64() >> s.r.IntN(40)
	} else if s.one(500) {
		s.now = m.Compare() - s.r.Uint64N(20)
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
		regs, bus, mem, now, events, rst := s.next(m)
		both.Tick(regs, bus, mem, now, events, rst)
		if s.one(8_000) || regs.Op != regbus.None && s.one(1000) || m.AtLimit() && s.one(4) {
			both.Reset()
			s.asks, s.reads, s.beat, s.queue = false, false, false, nil
			s.start()
		}
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
