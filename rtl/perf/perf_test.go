package perf_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/perfreg"
	"github.com/hilgpu/hilgpu/rtl/abi/regmap"
	"github.com/hilgpu/hilgpu/rtl/hdl"
	"github.com/hilgpu/hilgpu/rtl/perf"
	"github.com/hilgpu/hilgpu/rtl/regbus"
)

func access(m *perf.Module, op regbus.Op, off uint16, v uint32) regbus.Rsp {
	m.Tick(perf.Levels{}, perf.Levels{}, perf.Moves{}, perf.Moves{}, regbus.Req{Op: op, Off: perfreg.Base + off, Data: v}, false)
	return m.Rsp()
}

// memory collects the words of memories.
type memory struct {
	hdl.Scratch
	words []uint64
}

func (v *memory) Words(p []uint64) { v.words = append(v.words, p...) }

// state returns all registers and the words of the RAM.
func state(m *perf.Module) []uint64 {
	v := memory{words: make([]uint64, perf.ModuleWords)}
	m.Snapshot(v.words)
	m.Memories(&v)
	return v.words
}

// clone returns a copy with a RAM of its own.
func clone(m *perf.Module) *perf.Module {
	out, regs := perf.New(2), make([]uint64, perf.ModuleWords)
	m.Snapshot(regs)
	out.Restore(regs)
	var c hdl.Copier
	m.Memories(&c)
	c.Back()
	out.Memories(&c)
	return &out
}

// wide reads both halves of a counter.
func wide(m *perf.Module, off uint16) uint64 {
	low := access(m, regbus.Read, off, 0).Data
	return uint64(access(m, regbus.Read, off+4, 0).Data)<<32 | uint64(low)
}

const (
	run      = 1
	clearAll = 2
	snapshot = 4
)

// TestCounts counts one clock of each kind.
func TestCounts(t *testing.T) {
	for _, tt := range []struct {
		name   string
		level  perf.Levels
		move   perf.Moves
		off    uint16 // of the counter, from the node's first register
		counts uint64
	}{
		{"busy", perf.Levels{Busy: true}, perf.Moves{}, 0x00, 1},
		{"stalled on a read", perf.Levels{Read: true}, perf.Moves{}, 0x08, 1},
		{"stalled on a write", perf.Levels{Write: true}, perf.Moves{}, 0x10, 1},
		{"stalled on the ring", perf.Levels{Ring: true}, perf.Moves{}, 0x18, 1},
		{"bytes", perf.Levels{}, perf.Moves{Bytes: 5}, 0x20, 5},
		{"a packet", perf.Levels{}, perf.Moves{Retired: true}, 0x28, 1},
		{"a dword", perf.Levels{}, perf.Moves{Took: true}, 0x28, 0},
	} {
		for node := range uint16(2) {
			t.Run(tt.name, func(t *testing.T) {
				m := perf.New(2)
				access(&m, regbus.Write, 0, run|clearAll)
				var l [2]perf.Levels
				var v [2]perf.Moves
				l[node], v[node] = tt.level, tt.move
				m.Tick(l[0], l[1], v[0], v[1], regbus.Req{}, false)
				access(&m, regbus.Write, 0, snapshot)
				m.Tick(l[0], l[1], v[0], v[1], regbus.Req{}, false)
				require.Equal(t, uint64(2), wide(&m, 0x08), "CYCLES: the clock of CLEAR and the one after it")
				for n := range uint16(2) {
					for off := uint16(0); off < 0x30; off += 8 {
						want := uint64(0)
						if n == node && off == tt.off {
							want = tt.counts
						}
						assert.Equal(t, want, wide(&m, 0x20+0x40*n+off), "node %d, %#x", n, off)
					}
				}
			})
		}
	}
}

// A snapshot stays, in both halves, while the counters continue.
func TestSnapshot(t *testing.T) {
	m := perf.New(2)
	busy := perf.Levels{Busy: true}
	access(&m, regbus.Write, 0, run)
	m.Skip(1<<32-3, busy, perf.Levels{})
	access(&m, regbus.Write, 0, run|snapshot)
	low := access(&m, regbus.Read, 0x08, 0).Data
	m.Skip(100, busy, busy)
	assert.Zero(t, access(&m, regbus.Read, 0x0c, 0).Data)
	assert.Equal(t, uint32(1<<32-2), low)
	assert.Equal(t, uint64(1<<32-3), wide(&m, 0x20))
	assert.Equal(t, regbus.Rsp{Hit: true, Data: run}, access(&m, regbus.Read, 0, 0))
	access(&m, regbus.Write, 0, snapshot|clearAll)
	assert.Equal(t, uint64(1<<32-3+100), wide(&m, 0x20))
	assert.Equal(t, uint64(100), wide(&m, 0x60))
	assert.Equal(t, regbus.Rsp{Hit: true}, access(&m, regbus.Read, 0, 0))
	m.Skip(7, busy, busy)
	access(&m, regbus.Write, 0, snapshot)
	assert.Zero(t, wide(&m, 0x08), "cleared and frozen")
	assert.Zero(t, wide(&m, 0x20))
}

// Skipping clocks counts like ticking them.
func TestSkip(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	bit := func() bool { return rng.IntN(2) == 0 }
	for i := range 4000 {
		m := perf.New(1 + rng.IntN(2))
		for range rng.IntN(4) {
			access(&m, regbus.Write, 0, rng.Uint32N(8))
			for range rng.IntN(40) {
				m.Tick(perf.Levels{Busy: bit(), Read: bit()}, perf.Levels{}, perf.Moves{Retired: bit()}, perf.Moves{Bytes: 8}, regbus.Req{}, false)
			}
		}
		access(&m, regbus.Write, 0, rng.Uint32N(8))
		m.Tick(perf.Levels{}, perf.Levels{}, perf.Moves{}, perf.Moves{}, regbus.Req{}, false)
		require.Equal(t, uint64(math.MaxUint64), m.IdleFor())
		l0, l1 := perf.Levels{Busy: bit(), Read: bit(), Ring: bit()}, perf.Levels{Busy: bit(), Write: bit()}
		slept, n := clone(&m), rng.Uint64N(20<<(i%5))
		slept.Skip(n, l0, l1)
		for range n {
			m.Tick(l0, l1, perf.Moves{}, perf.Moves{}, regbus.Req{}, false)
		}
		require.Equal(t, state(&m), state(slept))
	}
}

func TestRegisters(t *testing.T) {
	for nodes := 1; nodes <= 2; nodes++ {
		m := perf.New(nodes)
		mapped := map[uint16]bool{}
		for _, e := range regmap.New().Entries() {
			if e.Block.Name == "PERF" && e.In(caps.Of(uint32(nodes), 0)|caps.Counters) {
				mapped[uint16(e.Reg.Off)] = true
			}
		}
		assert.Len(t, mapped, 1+2+12*nodes)
		for off := uint16(0); off < 0x200; off += 4 {
			for _, op := range []regbus.Op{regbus.Read, regbus.Write} {
				require.Equal(t, regbus.Rsp{Hit: mapped[off]}, access(&m, op, off, 0), "%#x", off)
			}
		}
		access(&m, regbus.Read, 0, 0)
		assert.Zero(t, m.IdleFor())
		access(&m, regbus.Write, 0, run|snapshot)
		m.Tick(perf.Levels{}, perf.Levels{}, perf.Moves{}, perf.Moves{}, regbus.Req{}, true)
		off := perf.New(nodes)
		was, is := make([]uint64, perf.ModuleWords), make([]uint64, perf.ModuleWords)
		off.Snapshot(was)
		m.Snapshot(is)
		assert.Equal(t, was[:len(was)-hdl.RAMWords], is[:len(is)-hdl.RAMWords], "all but the RAM")
		for off := range mapped {
			assert.Zero(t, access(&m, regbus.Read, off, 0).Data, "%#x", off)
		}
	}
}

// A clock in which the counters sleep changes nothing, whatever the nodes do.
func TestSleeps(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	m := perf.New(2)
	slept := 0
	const clocks = 20000
	for range clocks {
		var regs regbus.Req
		if rng.IntN(8) == 0 {
			regs = regbus.Req{Op: regbus.Op(1 + rng.IntN(2)), Off: perfreg.Base + 4*uint16(rng.IntN(4)), Data: rng.Uint32N(8)}
		}
		rst := rng.IntN(200) == 0
		was, sleeps := state(&m), m.Sleeps(regs, rst)
		m.Tick(perf.Levels{Busy: true, Read: rng.IntN(2) == 0}, perf.Levels{}, perf.Moves{Bytes: 8}, perf.Moves{Retired: true}, regs, rst)
		if sleeps {
			require.Equal(t, was, state(&m))
			slept++
		}
	}
	assert.Greater(t, slept, clocks/20)
	assert.Less(t, slept, clocks*19/20)
}
