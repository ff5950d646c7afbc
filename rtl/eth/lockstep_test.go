package eth

import (
	"flag"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/eth/mac"
	"github.com/hilgpu/hilgpu/rtl/hdl"
	"github.com/hilgpu/hilgpu/rtl/lockstep"
	"github.com/hilgpu/hilgpu/rtl/verilog"
	"github.com/hilgpu/hilgpu/rtl/verilog/simtest"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

var clocksFlag = flag.Int("eth.clocks", 0, "clocks of TestLockstep in Verilator; a hundredth of them with the cells of an iCE40")

// A random is a source of inputs for a station.
type random struct {
	g      traffic
	in     []mac.Byte
	left   int // bytes of the datagram of the link
	slow   int // a PHY takes a symbol in one of this number of clocks
	stalls int // the link takes a byte in one of this number of clocks
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
	return b, r.IntN(max(1, s.slow)) == 0, l, uint8(r.IntN(NumCounters))
}

// A circuit is a station as a lockstep.Circuit.
type circuit struct{ m *Module }

func (c circuit) Root() any { return c.m }

func (c circuit) Clock(rst bool, in []uint64) {
	if rst {
		c.m.Reset()
		return
	}
	b := func(i int) bool { return in[i] != 0 }
	l := Link{Ready: b(5), Valid: b(6), Last: b(7), Data: uint8(in[8]), Keep: b(9), Release: b(10)}
	c.m.Tick(mac.Byte{Valid: b(0), End: b(1), Error: b(2), Data: uint8(in[3])}, b(4), l, uint8(in[11]))
}

func (c circuit) Outputs(out []uint64) {
	valid, s := c.m.Symbol()
	d := c.m.Datagram()
	fresh, n := c.m.Count()
	copy(out, []uint64{
		hdl.Bit(valid), hdl.Bit(s.Enable), hdl.Bit(s.Last), uint64(s.Data),
		hdl.Bit(d.Valid), hdl.Bit(d.First), hdl.Bit(d.Last), hdl.Bit(d.Host), uint64(d.Data),
		hdl.Bit(c.m.Ready()), hdl.Bit(fresh), uint64(n),
	})
}

// inputs are those of a clock, in the order of the ports.
func inputs(rx mac.Byte, ready bool, l Link, counter uint8) []uint64 {
	return []uint64{
		hdl.Bit(rx.Valid), hdl.Bit(rx.End), hdl.Bit(rx.Error), uint64(rx.Data), hdl.Bit(ready),
		hdl.Bit(l.Ready), hdl.Bit(l.Valid), hdl.Bit(l.Last), uint64(l.Data), hdl.Bit(l.Keep), hdl.Bit(l.Release), uint64(counter),
	}
}

// TestLockstep compares the station with its Verilog in every clock, all registers and each
// write of a RAM, while it gets frames of all kinds. In the second half there are resets.
func TestLockstep(t *testing.T) {
	for sim, clocks := range map[lockstep.Sim]int{lockstep.Icarus: 15_000, lockstep.Verilator: *clocksFlag, lockstep.Netlist: *clocksFlag / 100} {
		if clocks == 0 {
			continue
		}
		t.Run(string(sim), func(t *testing.T) {
			t.Parallel()
			tooltest.Need(t, lockstep.Tools(sim)...)
			m := New(board)
			d, err := verilog.TranslateModule("../..", m, Outputs...)
			require.NoError(t, err)
			both, err := lockstep.New(d, circuit{m}, lockstep.Options{Sim: sim, Cache: simtest.Cache()})
			require.NoError(t, err)
			s := random{g: traffic{rand.New(rand.NewPCG(1, 2)), true}}
			var seen [NumCounters]uint32
			sent, arrived := 0, 0
			for i := range clocks {
				rx, ready, link, counter := s.next(m)
				valid, symbol := m.Symbol()
				if valid && ready && symbol.Last {
					sent++
				}
				if d := m.Datagram(); d.Valid && link.Ready && d.Last {
					arrived++
				}
				rst := i == 0 || i > clocks/2 && s.g.r.IntN(3000) == 0
				require.NoError(t, both.Clock(rst, inputs(rx, ready, link, counter)))
				if rst {
					s.left = 0
				}
				if valid, n := m.Count(); valid {
					seen[counter] = max(n, seen[counter])
				}
			}
			require.NoError(t, both.Close())
			t.Logf("%d frames sent, %d datagrams arrived, counters %d", sent, arrived, seen)
			assert.Greater(t, sent, 20)
			assert.Greater(t, arrived, 20)
			for i, n := range seen {
				assert.True(t, n > 0 || (i == NoRoom || i == Oversized) && sim != lockstep.Verilator, "counter %d", i)
			}
		})
	}
}
