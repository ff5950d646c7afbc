package vsec

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/linkreg"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/link/linkport"
	"github.com/hilgpu/hilgpu/rtl/lockstep"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

// A target is a GPU at its target port, which answers each read after a few clocks: of the
// register Command with a value, of others with 0.
type target struct {
	r    *rand.Rand
	req  port.Request // present one
	wait int
}

const command = 0x00100006

// complete returns the completion that the target offers.
func (g *target) complete() port.Completion {
	if g.req.Kind == port.None || g.wait > 0 {
		return port.Completion{}
	}
	c := port.Completion{Status: port.CplSuccess, Last: true}
	if g.req.Addr == 4 {
		c.Data = command << 32
	}
	return c
}

// A bench is the registers between a link and a target, with lines that count at random. The
// counts are kept apart.
type bench struct {
	t      *testing.T
	m      *Module
	tick   func(args ...any)
	r      *rand.Rand
	gpu    target
	status linkport.Status
	period uint16
	every  int // least clocks between two events of a kind

	counts [numCounters]uint16 // that the link and the UART have reported
	since  [numCounters]int
	macs   [linkreg.NumMAC]uint16
	chosen uint8
}

func newBench(t *testing.T, c Config, seed uint64) *bench {
	m := New(c)
	r := rand.New(rand.NewPCG(seed, 3))
	b := &bench{t: t, m: &m, r: r, gpu: target{r: r}, period: uint16(r.Uint32())}
	b.tick = func(args ...any) {
		m.Tick(args[0].(linkport.Status), args[1].(Line), args[2].(uint16), args[3].(Asked))
	}
	b.every = numCounters
	if !c.UART {
		b.every = numCounters / 2
	}
	for i := range b.macs {
		b.macs[i] = uint16(r.Uint32())
	}
	return b
}

// event chooses whether an event happens, and counts it.
func (b *bench) event(i int) bool {
	b.since[i]++
	if b.since[i] < b.every || b.r.IntN(4) != 0 {
		return false
	}
	b.since[i] = 0
	b.counts[i]++
	return true
}

// clock is a clock with a header and with room for a completion. It returns the completion
// that is taken.
func (b *bench) clock(req port.Request, takes, events bool) (cpl port.Completion, taken bool) {
	s, l := b.status, Line{}
	if events {
		s.Began, s.Received, s.Refused, s.Repeated, s.Nak, s.Packet = b.event(0), b.event(1), b.event(2), b.event(3), b.event(4), b.event(5)
		l.Framing, l.Glitch, l.Break = b.event(8), b.event(9), b.event(10)
	}
	if l.Valid = b.r.IntN(3) != 0; l.Valid {
		l.Count = b.macs[b.chosen]
	} else {
		l.Count = uint16(b.r.Uint32())
	}
	b.chosen = b.m.Select()
	cpl = Complete(b.gpu.complete(), b.m.Answer())
	waits := b.m.Answer().Waits
	free := b.gpu.req.Kind == port.None
	b.tick(s, l, b.period, Asked{Req: req, Taken: free})
	if takes && !waits && b.gpu.complete().Status != port.CplNone {
		b.gpu.req = port.Request{}
	} else if b.gpu.wait > 0 {
		b.gpu.wait--
	}
	if !takes {
		cpl = port.Completion{}
	}
	if free && req.Kind != port.None {
		b.gpu.req, b.gpu.wait = req, 1+b.r.IntN(4)
		return cpl, true
	}
	return cpl, false
}

// read reads a dword of configuration space, with events or without.
func (b *bench) read(off uint64, events bool) uint32 {
	req := port.Request{Kind: port.CfgRead, Len: 1, Addr: off}
	for {
		if _, taken := b.clock(req, true, events); taken {
			break
		}
	}
	for n := 0; ; n++ {
		require.Less(b.t, n, 100)
		if cpl, _ := b.clock(port.Request{}, b.r.IntN(3) == 0, events); cpl.Status != port.CplNone {
			require.True(b.t, cpl.Last)
			require.Equal(b.t, port.CplSuccess, cpl.Status)
			return uint32(cpl.Data >> (off & 4 * 8))
		}
	}
}

// want returns the value of a dword by docs/registers.md.
func (b *bench) want(c Config, off uint64) uint32 {
	i := off - 0x100
	switch {
	case off == 4:
		return command
	case i == 0:
		return 0x0001000b // PCIe 3.0 §7.19.1: ID 0x000b, version 1, no next one
	case i == 4:
		return 0x08014c4b // 128 bytes, revision 1
	case i == 8:
		v := uint32(b.status.Cause) << 4
		for bit, on := range map[int]bool{0: b.status.Up, 8: c.UART, 9: c.MAC} {
			if on {
				v |= 1 << bit
			}
		}
		return v
	case i == 0xc:
		return uint32(b.period)
	case i == 0x10:
		return c.Hz
	case i >= 0x20 && i < 0x40 && c.MAC:
		return uint32(b.macs[(i-0x20)/4])
	case i >= 0x40 && i < 0x60 || i >= 0x60 && i < 0x80 && c.UART:
		return uint32(b.counts[(i-0x40)/4])
	}
	return 0
}

func configs() map[string]Config {
	return map[string]Config{"uart": {Hz: 25_000_000, UART: true}, "ethernet": {Hz: 125_000_001, MAC: true}}
}

// Each register has its value, while all counters count as fast as they may. Everything else
// of configuration space is the target's. A reset clears the counters.
func TestRegisters(t *testing.T) {
	for name, c := range configs() {
		b := newBench(t, c, 1)
		for range 2 {
			b.quiet()
			for range 3000 {
				off := uint64(0x100 + 4*b.r.IntN(32))
				switch b.r.IntN(4) {
				case 0:
					off = uint64(4 * b.r.IntN(1024))
				case 1:
					b.status.Up, b.status.Cause = b.r.IntN(2) == 0, linkport.Cause(b.r.IntN(int(linkport.NewSession)+1))
				default:
				}
				counter := off >= 0x140 && off < 0x180
				for range b.r.IntN(40) {
					b.clock(port.Request{}, false, true)
				}
				if counter {
					b.quiet()
				}
				require.Equal(t, b.want(c, off), b.read(off, !counter), "%s: %#x", name, off)
			}
			assert.Greater(t, b.counts[linkreg.Received], uint16(1000))
			b.m.Reset()
			b.counts, b.since, b.gpu.req = [numCounters]uint16{}, [numCounters]int{}, port.Request{}
		}
	}
}

// quiet lets all events be counted.
func (b *bench) quiet() {
	for range 2*numCounters + 1 {
		b.clock(port.Request{}, false, false)
	}
}

// A counter wraps after 2^16 events.
func TestWrap(t *testing.T) {
	b := newBench(t, configs()["uart"], 2)
	b.quiet()
	for n := 1; n <= 1<<16+3; n++ {
		b.tick(linkport.Status{Refused: true}, Line{}, uint16(0), Asked{})
		for range numCounters - 1 {
			b.tick(linkport.Status{}, Line{}, uint16(0), Asked{})
		}
	}
	require.Equal(t, uint32(3), b.read(linkreg.Base+linkreg.Counters+4*linkreg.Refused, false))
	require.Zero(t, b.read(linkreg.Base+linkreg.Counters+4*linkreg.Received, false))
}

// Other requests leave completions alone, and a write to the registers changes nothing.
func TestOthers(t *testing.T) {
	c := configs()["uart"]
	b := newBench(t, c, 4)
	b.quiet()
	for _, kind := range []port.Kind{port.MemRead, port.CfgWrite} {
		for off := uint64(0x100); off < 0x180; off += 4 {
			_, taken := b.clock(port.Request{Kind: kind, Len: 1, Addr: off}, false, false)
			require.True(t, taken)
			for b.gpu.wait > 0 {
				b.clock(port.Request{}, false, false)
			}
			cpl, _ := b.clock(port.Request{}, true, false)
			require.Equal(t, port.Completion{Status: port.CplSuccess, Last: true}, cpl, "%d %#x", kind, off)
		}
	}
	for off := uint64(0x100); off < 0x180; off += 4 {
		require.Equal(t, b.want(c, off), b.read(off, false), "%#x", off)
	}
}

// TestLockstep compares the registers with their Verilog in every clock of random work.
func TestLockstep(t *testing.T) {
	tooltest.Need(t, lockstep.Tools(lockstep.Icarus)...)
	for name, c := range configs() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, c, 5)
			both, err := lockstep.NewModule("../../..", b.m, lockstep.Options{Sim: lockstep.Icarus, Cache: t.TempDir()}, Outputs...)
			require.NoError(t, err)
			b.tick = func(args ...any) { both.Tick(args...) }
			b.quiet()
			for range 1000 {
				b.read(uint64(4*b.r.IntN(128)), true)
				require.NoError(t, both.Err())
			}
			require.NoError(t, both.Close())
			assert.Greater(t, both.Clocks(), uint64(5000))
		})
	}
}
