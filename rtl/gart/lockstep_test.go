package gart_test

import (
	"flag"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/gartreg"
	"github.com/hilgpu/hilgpu/rtl/dma"
	"github.com/hilgpu/hilgpu/rtl/gart"
	"github.com/hilgpu/hilgpu/rtl/lockstep"
	"github.com/hilgpu/hilgpu/rtl/lockstep/mutant"
	"github.com/hilgpu/hilgpu/rtl/regbus"
	"github.com/hilgpu/hilgpu/rtl/verilog/simtest"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

var (
	clocksFlag  = flag.Uint64("gart.clocks", 100_000, "clocks of TestLockstep and of the traffic of TestMutants")
	mutantsFlag = flag.Int("gart.mutants", 3, "mistakes planted by TestMutants")
	seedFlag    = flag.Uint64("gart.seed", 1, "seed of TestLockstep and TestMutants")
)

// wide are parameters with host addresses that have the bit of the aperture.
var wide = gart.Params{HostBits: 48, VRAMBytes: 1 << 20, LengthBits: 32}

// shuffled returns a number that depends on an address.
func shuffled(addr uint64) uint64 {
	addr *= 0x9e3779b97f4a7c15
	return addr ^ addr>>29
}

// register returns an access to a register, usually one that exists.
func (r *rig) register() regbus.Req {
	q := regbus.Req{Op: regbus.Read + regbus.Op(r.rng.IntN(2)), Off: gartreg.Base + 4*uint16(r.rng.UintN(8)), Data: r.rng.Uint32()}
	switch q.Off - gartreg.Base {
	case gartreg.Ctl:
		q.Data |= uint32(min(1, r.rng.UintN(4)))
	case gartreg.TableLo:
		q.Data >>= r.rng.IntN(32)
	case gartreg.TableHi:
		q.Data = []uint32{0, 0, 1 << 31, 1<<31 | 0x12, 0xff | 1<<31, q.Data}[r.rng.IntN(6)]
	case gartreg.Pages:
		q.Data = []uint32{q.Data, q.Data >> 26, 1 << 19, 64}[r.rng.IntN(4)]
	default:
	}
	if r.rng.IntN(20) == 0 {
		q.Off = uint16(r.rng.UintN(1<<16)) &^ 3
	}
	return q
}

// near returns an address of a descriptor, often in a part of the aperture or near the bounds of
// pages of tables.
func (r *rig) near() uint64 {
	switch r.rng.IntN(8) {
	case 0:
		return r.rng.Uint64() &^ host >> (23 + r.rng.IntN(20))
	case 1:
		return host | r.rng.Uint64()>>(16+r.rng.IntN(28))
	case 2:
		return start + r.rng.Uint64N(1<<gartreg.SizeLog2)
	}
	return start + r.rng.Uint64N(80)*page - r.rng.Uint64N(20) + 30
}

// traffic runs an aperture and its Verilog for a number of clocks, with everything that may
// happen in any order.
func traffic(t *testing.T, m *gart.Module, both *lockstep.Module, seed, clocks uint64) {
	r := newRig(t, seed)
	r.m = m
	r.rng = rand.New(rand.NewPCG(seed, 6))
	r.room = 8
	r.run = func(desc dma.Desc, owner uint8, in gart.In, done dma.Result, of, cancel uint8, regs regbus.Req, rst bool) {
		both.Tick(desc, owner, in, done, of, cancel, regs, rst)
	}
	r.bad = func(addr uint64) bool { return shuffled(addr+3)%300 == 0 }
	r.memory = func(addr uint64) uint64 {
		v := shuffled(addr)
		e := valid(v % 1000)
		if v%40 == 0 {
			e ^= 1 << (v >> 32 % 64)
		}
		return e
	}
	r.fails = func(part, int) dma.Result {
		return [...]dma.Result{dma.ResultDone, dma.ResultReadError, dma.ResultWriteError}[max(0, r.rng.IntN(40)-37)]
	}
	quiet := 0
	for both.Clocks() < clocks && both.Err() == nil {
		var regs regbus.Req
		if quiet--; quiet < 0 {
			regs, quiet = r.register(), 1+r.rng.IntN(200)
		} else if quiet > 0 && r.rng.IntN(3) == 0 {
			regs = regbus.Req{Op: regbus.Read, Off: gartreg.Base + gartreg.Fault + 4*uint16(r.rng.UintN(3))}
			quiet = max(quiet, 1)
		} else if misses, _ := m.Missing(); misses && r.rng.IntN(12) == 0 {
			regs = regbus.Req{Op: regbus.Write, Off: gartreg.Base + gartreg.Flush, Data: gartreg.FlushBusy}
		}
		r.vary()
		rst := regs.Op == regbus.None && r.rng.IntN(4000) == 0
		if r.rng.IntN(30_000) == 0 {
			both.Reset()
			r.forget()
		}
		r.tick(regs, rst)
		if rst {
			r.forget()
		}
		r.got, r.sent, r.asked = nil, nil, nil
	}
}

// vary changes the times, what the nodes offer and what they cancel.
func (r *rig) vary() {
	if len(r.queue) < 3 && r.rng.IntN(3) == 0 {
		d := part{r.random(), uint8(r.rng.UintN(2))}
		if r.rng.IntN(2) == 0 {
			d.Dst = r.near()
		}
		if d.Op == dma.Copy && r.rng.IntN(2) == 0 {
			d.Src = r.near()
		}
		if r.rng.IntN(50) == 0 {
			d.Len = 1<<31 | r.rng.Uint32()
			if r.rng.IntN(2) == 0 {
				d.Len = 1 + r.rng.Uint32()>>r.rng.IntN(31)
			}
		}
		r.queue = append(r.queue, d)
	}
	switch r.rng.IntN(1000) {
	case 0, 1:
		r.cancel = uint8(r.rng.UintN(4))
	case 2, 3, 4, 5, 6, 7, 8, 9, 10, 11:
		r.cancel = 0
	case 12:
		r.stall, r.moves, r.latency = r.rng.IntN(3)*r.rng.IntN(45), r.rng.IntN(60), r.rng.IntN(40)
	case 13:
		r.frozen = true
	case 14, 15, 16, 17, 18:
		r.frozen = false
	default:
	}
}

// forget forgets everything in flight, after a reset.
func (r *rig) forget() {
	r.reads, r.flight, r.ends, r.offered, r.header.Kind, r.broken = nil, nil, nil, part{}, 0, [2]bool{}
}

// The Verilog of an aperture does the same as the Go, register by register.
func TestLockstep(t *testing.T) {
	tooltest.Need(t, lockstep.Tools(lockstep.Verilator)...)
	m := gart.New(wide)
	both, err := lockstep.NewModule("../..", &m, lockstep.Options{Sim: lockstep.Verilator, Cache: simtest.Cache()}, gart.Outputs...)
	require.NoError(t, err)
	traffic(t, &m, both, *seedFlag, *clocksFlag)
	assert.NoError(t, both.Close())
	t.Logf("%d clocks", both.Clocks())
}

// Lockstep detects mistakes in the Verilog of an aperture.
func TestMutants(t *testing.T) {
	tooltest.Long(t)
	tooltest.Need(t, append(lockstep.Tools(lockstep.Verilator), "yosys", "yosys-abc")...)
	fresh := func() any {
		m := gart.New(wide)
		return &m
	}
	run := func(top any, both *lockstep.Module, first bool) {
		clocks := 10 * *clocksFlag
		if first {
			clocks = *clocksFlag
		}
		traffic(t, top.(*gart.Module), both, *seedFlag, clocks)
	}
	s, err := mutant.OfModule("../..", fresh, run, simtest.Cache(), gart.Outputs...)
	require.NoError(t, err)
	r, err := mutant.Plant(s, mutant.Options{Name: "gart", Modules: []string{"gart"}, Seed: *seedFlag, Count: *mutantsFlag, Progress: func(line string) { t.Log(line) }})
	require.NoError(t, err)
	require.NoError(t, r.Print(os.Stdout))
	assert.GreaterOrEqual(t, r.Rate(), 0.98)
}
