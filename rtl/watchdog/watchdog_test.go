package watchdog_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/wdogreg"
	"github.com/hilgpu/hilgpu/rtl/regbus"
	"github.com/hilgpu/hilgpu/rtl/watchdog"
)

func access(m *watchdog.Module, op regbus.Op, off uint16, v uint32) regbus.Rsp {
	m.Tick(watchdog.Node{}, watchdog.Node{}, regbus.Req{Op: op, Off: wdogreg.Base + off, Data: v}, false)
	return m.Rsp()
}

// limited returns a watchdog with a limit.
func limited(n uint32) watchdog.Module {
	var m watchdog.Module
	access(&m, regbus.Write, wdogreg.Limit, n)
	return m
}

// TestHang drives node 0 with the letters of clocks (b busy, m busy and moving, i
// idle) and checks the pulses.
func TestHang(t *testing.T) {
	for _, tt := range []struct {
		name   string
		limit  uint32
		clocks string
		want   []int // clocks after which the pulse is set
	}{
		{"off", 0, "bbbbbbbbbb", nil},
		{"the limit", 4, "bbbbbbbbbb", []int{3}},
		{"one clock", 1, "bbbb", []int{0}},
		{"moves in time", 4, "bbbmbbbmbbb", nil},
		{"idle in time", 4, "bbbibbbbb", []int{7}},
		{"once until it moves", 3, "bbbbbbbmbbbbb", []int{2, 10}},
		{"once until it is idle", 3, "bbbbbbbibbbbb", []int{2, 10}},
		{"idle", 2, "iiiiiii", nil},
	} {
		for node := range 2 {
			t.Run(tt.name, func(t *testing.T) {
				m := limited(tt.limit)
				var got []int
				for clock, c := range tt.clocks {
					var n [2]watchdog.Node
					n[node] = watchdog.Node{Busy: c != 'i', Moved: c == 'm'}
					m.Tick(n[0], n[1], regbus.Req{}, false)
					h0, h1 := m.Hang()
					require.False(t, [2]bool{h1, h0}[node], "the other node")
					if [2]bool{h0, h1}[node] {
						got = append(got, clock)
						assert.Zero(t, m.IdleFor(true, true))
					}
				}
				assert.Equal(t, tt.want, got)
				status := uint32(0)
				if tt.want != nil {
					status = 1 << node
				}
				assert.Equal(t, status, access(&m, regbus.Read, wdogreg.Status, 0).Data)
				access(&m, regbus.Write, wdogreg.Status, 1<<node)
				assert.Zero(t, access(&m, regbus.Read, wdogreg.Status, 0).Data)
			})
		}
	}
}

// TestMeets has accesses and a reset in the clock in which the limit is reached.
func TestMeets(t *testing.T) {
	busy := watchdog.Node{Busy: true}
	for _, tt := range []struct {
		name   string
		regs   regbus.Req
		rst    bool
		hang   bool
		status uint32
	}{
		{"nothing", regbus.Req{}, false, true, 1},
		{"the acknowledge", regbus.Req{Op: regbus.Write, Off: wdogreg.Base + wdogreg.Status, Data: 3}, false, true, 1},
		{"a limit", regbus.Req{Op: regbus.Write, Off: wdogreg.Base + wdogreg.Limit, Data: 9}, false, false, 0},
		{"the same limit", regbus.Req{Op: regbus.Write, Off: wdogreg.Base + wdogreg.Limit, Data: 3}, false, false, 0},
		{"a reset", regbus.Req{}, true, false, 0},
	} {
		m := limited(3)
		m.Tick(busy, watchdog.Node{}, regbus.Req{}, false)
		m.Tick(busy, watchdog.Node{}, regbus.Req{}, false)
		m.Tick(busy, watchdog.Node{}, tt.regs, tt.rst)
		h0, h1 := m.Hang()
		assert.Equal(t, tt.hang, h0, tt.name)
		assert.False(t, h1)
		assert.Equal(t, tt.status, access(&m, regbus.Read, wdogreg.Status, 0).Data, tt.name)
	}
}

// Skipping to the clock before the pulse must equal ticking.
func TestSkip(t *testing.T) {
	for _, busy := range [][2]bool{{true, false}, {false, true}, {true, true}, {false, false}} {
		m := limited(20)
		n0, n1 := watchdog.Node{Busy: busy[0]}, watchdog.Node{Busy: busy[1]}
		m.Tick(n0, watchdog.Node{}, regbus.Req{}, false)
		m.Tick(n0, n1, regbus.Req{}, false)
		left := m.IdleFor(busy[0], busy[1])
		want := map[[2]bool]uint64{{true, false}: 17, {false, true}: 18, {true, true}: 17, {false, false}: math.MaxUint64}
		require.Equal(t, want[busy], left)
		for n := range min(left, 30) + 1 {
			slept, ticked := m, m
			slept.Skip(n, busy[0], busy[1])
			for range n {
				ticked.Tick(n0, n1, regbus.Req{}, false)
			}
			require.Equal(t, ticked, slept)
		}
	}
	m := limited(3)
	for range 5 {
		m.Tick(watchdog.Node{Busy: true}, watchdog.Node{}, regbus.Req{}, false)
	}
	assert.Equal(t, uint64(math.MaxUint64), m.IdleFor(true, false), "it hangs")
	assert.Zero(t, m.IdleFor(false, false), "it is idle again, and its clocks will be forgotten")
}

func TestRegisters(t *testing.T) {
	var m watchdog.Module
	for off := uint16(0); off < 0x200; off += 4 {
		for _, op := range []regbus.Op{regbus.Read, regbus.Write} {
			require.Equal(t, regbus.Rsp{Hit: off < 8}, access(&m, op, off, 0), "%#x", off)
		}
	}
	access(&m, regbus.Write, wdogreg.Limit, 0xfedcba98)
	assert.Equal(t, uint32(0xfedcba98), access(&m, regbus.Read, wdogreg.Limit, 0).Data)
	m.Reset()
	assert.Equal(t, watchdog.Module{}, m)
}

// A clock in which the watchdog sleeps changes nothing, whatever the nodes do.
func TestSleeps(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	var m watchdog.Module
	slept := 0
	const clocks = 20000
	for range clocks {
		var regs regbus.Req
		if rng.IntN(8) == 0 {
			regs = regbus.Req{Op: regbus.Op(1 + rng.IntN(2)), Off: wdogreg.Base + 4*uint16(rng.IntN(3)), Data: rng.Uint32N(4)}
		}
		rst := rng.IntN(50) == 0
		was, sleeps := m, m.Sleeps(regs, rst)
		m.Tick(watchdog.Node{Busy: true}, watchdog.Node{Busy: rng.IntN(2) == 0, Moved: rng.IntN(3) == 0}, regs, rst)
		if sleeps {
			require.Equal(t, was, m)
			slept++
		}
	}
	assert.Greater(t, slept, clocks/20)
	assert.Less(t, slept, clocks*19/20)
}
