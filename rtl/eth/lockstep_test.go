package eth

import (
	"flag"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/eth/mac"
	"github.com/hilgpu/hilgpu/rtl/lockstep"
	"github.com/hilgpu/hilgpu/rtl/verilog/simtest"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

var clocksFlag = flag.Int("eth.clocks", 0, "clocks of TestLockstep in Verilator")

// A random is a source of inputs for a station.
type random struct {
	g       traffic
	in      []mac.Byte
	left    int // bytes of the datagram of the link
	slow    int // a PHY takes a symbol in one of this number of clocks
	stalls  int // the link takes a byte in one of this number of clocks
	counter uint8
}

// next returns the inputs of a clock. m is the station as it is.
func (s *random) next(m *Module) (mac.Byte, bool, Link, uint8) {
	r := s.g.r
	if len(s.in) == 0 {
		switch r.IntN(9) {
		case 0:
			s.in, _ = s.g.damaged()
		case 1:
			s.in = carrier(sealed(s.g.other()), 1+r.IntN(20))
		case 2:
			s.in = carrier(sealed(s.g.invalid()), 1+r.IntN(20))
		case 3:
			s.in = carrier(sealed(s.g.station()), 1+r.IntN(20))
		default:
			f, _ := s.g.good()
			s.in = carrier(sealed(f), 1+r.IntN(20))
		}
		if r.IntN(40) == 0 {
			s.slow, s.stalls = 1+r.IntN(3), 1+r.IntN(4)
		}
		s.counter = uint8(r.IntN(NumCounters))
	}
	var b mac.Byte
	if r.IntN(16) != 0 {
		b, s.in = s.in[0], s.in[1:]
	}
	if s.left == 0 && r.IntN(60) == 0 {
		s.left = len(s.g.data(1472))
	}
	l := Link{Ready: r.IntN(max(1, s.stalls)) == 0, Valid: s.left > 0 && r.IntN(5) != 0, Data: uint8(r.Uint32()), Last: s.left == 1}
	if d := m.Datagram(); !d.Valid || !d.First {
		l.Keep, l.Release = r.IntN(300) == 0, r.IntN(600) == 0
	}
	if l.Valid && m.Ready() {
		s.left--
	}
	return b, r.IntN(max(1, s.slow)) == 0, l, s.counter
}

// TestLockstep compares the station with its Verilog in every clock, all registers and each
// write of a RAM, while it gets frames of all kinds.
func TestLockstep(t *testing.T) {
	for sim, clocks := range map[lockstep.Sim]int{lockstep.Icarus: 10_000, lockstep.Verilator: *clocksFlag} {
		if clocks == 0 {
			continue
		}
		t.Run(string(sim), func(t *testing.T) {
			t.Parallel()
			tooltest.Need(t, lockstep.Tools(sim)...)
			m := New(board)
			both, err := lockstep.NewModule("../..", m, lockstep.Options{Sim: sim, Cache: simtest.Cache()}, Outputs...)
			require.NoError(t, err)
			s := random{g: traffic{rand.New(rand.NewPCG(1, 2)), true}}
			var seen [NumCounters]uint32
			sent, arrived := 0, 0
			for range clocks {
				rx, ready, link, counter := s.next(m)
				valid, symbol := m.Symbol()
				if valid && ready && symbol.Last {
					sent++
				}
				if d := m.Datagram(); d.Valid && link.Ready && d.Last {
					arrived++
				}
				both.Tick(rx, ready, link, counter)
				if valid, n := m.Count(); valid {
					seen[s.counter] = n
				}
				require.NoError(t, both.Err())
			}
			require.NoError(t, both.Close())
			t.Logf("%d frames sent, %d datagrams arrived, counters %d", sent, arrived, seen)
			assert.Greater(t, sent, 20)
			assert.Greater(t, arrived, 20)
			for i, n := range seen {
				assert.True(t, n > 0 || i == NoRoom && sim == lockstep.Icarus, "counter %d", i)
			}
		})
	}
}
