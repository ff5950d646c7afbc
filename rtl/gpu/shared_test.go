package gpu_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pcicfg"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/arbiter"
	"github.com/hilgpu/hilgpu/rtl/gpu"
	"github.com/hilgpu/hilgpu/rtl/hostbfm"
	"github.com/hilgpu/hilgpu/rtl/regbus"
)

// A pair is a machine whose GPU has a second master.
type pair struct {
	*machine
	second hostbfm.Second
	next   func() (r regbus.Req, ok bool) // the next access of the second master, if there is one; nil: none
	asked  regbus.Req                     // not answered; Op is None without one
	since  uint64                         // clock of its Ask
	done   func(r regbus.Req, a arbiter.Answer, clocks uint64)
}

// A pairDevice is the GPU of a pair, with the second master's part of each clock.
type pairDevice struct {
	*hostbfm.Shared
	p *pair
}

// Tick is one clock of both masters.
func (d pairDevice) Tick(req port.Request, beat port.Beat, cplReady bool, cpl port.Completion, reqReady, dataReady bool) {
	d.p.step(d.p.bus.Clocks)
	d.Shared.Tick(req, beat, cplReady, cpl, reqReady, dataReady)
}

// IdleFor returns 0 while the second master may ask or waits.
func (d pairDevice) IdleFor() uint64 {
	if d.p.next != nil || d.p.asked.Op != regbus.None {
		return 0
	}
	return d.Shared.IdleFor()
}

// bootPair is boot for a GPU with a second master.
func bootPair(t *testing.T, c gpu.Config, seed uint64) *pair {
	c.Caps |= caps.Master
	m := power(t, c, seed)
	s, err := hostbfm.NewShared(c)
	require.NoError(t, err)
	p := &pair{machine: m, second: s}
	m.g, m.dev = s.GPU, pairDevice{s, p}
	m.configure()
	return p
}

// step is the second master's part of a clock.
func (p *pair) step(clock uint64) {
	if a := p.second.Answer(); a.Done {
		require.NotEqual(p.t, regbus.None, p.asked.Op, "an answer without an access")
		if p.done != nil {
			p.done(p.asked, a, clock-p.since)
		}
		p.asked = regbus.Req{}
	}
	if p.asked.Op != regbus.None || p.next == nil {
		return
	}
	if r, ok := p.next(); ok {
		p.second.Ask(r)
		p.asked, p.since = r, clock
	}
}

// access performs one access of the second master.
func (p *pair) access(r regbus.Req) arbiter.Answer {
	var got arbiter.Answer
	sent, finished := false, false
	next, done := p.next, p.done
	p.next = func() (regbus.Req, bool) { ok := !sent; sent = true; return r, ok }
	p.done = func(_ regbus.Req, a arbiter.Answer, _ uint64) { got, finished = a, true }
	p.run(1000, func() bool { return finished })
	p.next, p.done = next, done
	return got
}

func (p *pair) get(off uint16) uint32 {
	a := p.access(regbus.Req{Op: regbus.Read, Off: off})
	require.True(p.t, a.Hit, "register %#x", off)
	return a.Data
}

func (p *pair) put(off uint16, v uint32) arbiter.Answer {
	return p.access(regbus.Req{Op: regbus.Write, Off: off, Data: v})
}

func TestSecondMasterAccesses(t *testing.T) {
	for name, c := range map[string]gpu.Config{"default": gpu.Default(), "small": gpu.Small()} {
		t.Run(name, func(t *testing.T) {
			p := bootPair(t, c, 1)
			assert.Equal(t, uint32(idreg.MagicValue), p.get(idreg.Magic))
			assert.Equal(t, p.readReg(idreg.Caps2), p.get(idreg.Caps2))
			assert.Equal(t, arbiter.Answer{Done: true, Hit: true}, p.put(idreg.Scratch2, 0x12345678))
			assert.Equal(t, uint32(0x12345678), p.readReg(idreg.Scratch2))
			p.writeReg(idreg.Scratch3, 0x9abcdef0)
			assert.Equal(t, uint32(0x9abcdef0), p.get(idreg.Scratch3))
			assert.Equal(t, arbiter.Answer{Done: true}, p.access(regbus.Req{Op: regbus.Read, Off: 0xf000}), "an unmapped register")
			assert.Equal(t, arbiter.Answer{Done: true}, p.put(0xf000, 1))
			assert.Zero(t, p.readReg(idreg.ErrCount), "only the second master learns of it")
		})
	}
}

// The second master's port of a GPU without one is silent.
func TestNoSecondMaster(t *testing.T) {
	_, err := gpu.NewShared(gpu.Default())
	assert.ErrorIs(t, err, gpu.ErrConfig)
	_, err = gpu.NewShared(gpu.Config{})
	assert.ErrorIs(t, err, gpu.ErrConfig)
}

// hostAccess queues an access of the host: of the kinds that begin, refuse or repeat
// accesses of the register bus.
func (p *pair) hostAccess() {
	r := port.Request{Kind: port.MemRead, Tag: uint8(p.rng.Uint32()), Len: uint8(1 + p.rng.IntN(8)), Addr: bar0 + uint64(p.rng.IntN(16))*4}
	switch p.rng.IntN(6) {
	case 0:
		r.Addr = bar0 - 128 + r.Addr%128
		r.Len = 1
	case 1:
		r.Addr += 0xf000
	}
	o := hostbfm.Op{Req: r}
	if p.rng.IntN(2) == 0 {
		o = hostbfm.Write(r.Addr, make([]byte, 4*int(r.Len)))
		if p.rng.IntN(2) == 0 {
			for i := range o.Beats {
				o.Beats[i].Enable = uint8(p.rng.Uint32())
			}
		}
	}
	p.bus.Queue(o)
}

// The bounds of the arbiter's documentation are reached, and not exceeded, while
// both masters access registers that are never retried.
func TestWaits(t *testing.T) {
	const alone = 2 // from the clock of an ask to that of its answer
	p := bootPair(t, gpu.Default(), 1)
	pause, longest := 0, uint64(0)
	p.next = func() (regbus.Req, bool) {
		if pause--; pause >= 0 {
			return regbus.Req{}, false
		}
		if p.rng.IntN(2) == 0 {
			return regbus.Req{Op: regbus.Write, Off: idreg.ErrInfo}, true // so that captures take two clocks
		}
		return regbus.Req{Op: regbus.Read, Off: idreg.TimeLo}, true
	}
	p.done = func(_ regbus.Req, _ arbiter.Answer, clocks uint64) {
		longest = max(longest, clocks-alone)
		if p.rng.IntN(3) == 0 {
			pause = p.rng.IntN(7)
		}
	}
	for range 100_000 {
		if !p.bus.Queued() && p.rng.IntN(3) != 0 {
			p.hostAccess()
		}
		p.tick()
	}
	p.settled()
	assert.Equal(t, uint64(5), longest)
}

// A second master that never pauses delays each step of the host by at most 2
// clocks: the check of a header, that of half of a beat, and an access.
func TestHostWaits(t *testing.T) {
	p := bootPair(t, gpu.Default(), 1)
	request := func(n int, write bool) uint64 {
		begin, o := p.clock, hostbfm.Write(bar0+idreg.Scratch0, make([]byte, 4*n))
		if !write {
			o = hostbfm.Op{Req: port.Request{Kind: port.MemRead, Len: uint8(n), Addr: bar0 + idreg.Scratch0}}
		}
		p.bus.Queue(o)
		p.settled()
		return p.clock - begin
	}
	for _, tt := range []struct {
		dwords int
		write  bool
		steps  uint64
	}{{1, false, 1 + 1}, {2, false, 1 + 2}, {1, true, 1 + 3}, {2, true, 1 + 4}} {
		p.next = nil
		p.idle()
		alone, longest := request(tt.dwords, tt.write), uint64(0)
		p.idle()
		p.next = func() (regbus.Req, bool) { return regbus.Req{Op: regbus.Read, Off: idreg.Magic}, true }
		for range 200 {
			p.ticks(20 + p.rng.Uint64N(7))
			longest = max(longest, request(tt.dwords, tt.write)-alone)
		}
		assert.LessOrEqual(t, longest, 2*tt.steps, "%+v", tt)
		assert.Greater(t, longest, tt.steps, "%+v", tt)
	}
}

// An answer to the second master is no part of what the host reads from
// configuration space in the same clock.
func TestConfigurationReads(t *testing.T) {
	p := bootPair(t, gpu.Default(), 1)
	want := p.readConfig(0)
	p.next = func() (regbus.Req, bool) { return regbus.Req{Op: regbus.Read, Off: idreg.Magic}, true }
	for range 50 {
		p.ticks(p.rng.Uint64N(5))
		require.Equal(t, want, p.readConfig(0))
	}
}

// Resets in any clock of accesses of both masters: each access is answered, and the
// second master's has its effect or the reset's.
func TestResetDuringAccess(t *testing.T) {
	for name, reset := range map[string]func(p *pair){
		"whole":          func(p *pair) { p.bus.SetReg(idreg.Reset, idreg.ResetWhole) },
		"function-level": func(p *pair) { p.bus.SetConfig(pcicfg.DevCtl, pcicfg.DevCtlReset) },
	} {
		t.Run(name, func(t *testing.T) {
			for wait := range uint64(40) {
				p := bootPair(t, gpu.Default(), wait)
				answers, value := 0, uint32(0)
				p.next = func() (regbus.Req, bool) {
					value++
					return regbus.Req{Op: regbus.Write, Off: idreg.Scratch0, Data: value}, true
				}
				p.done = func(_ regbus.Req, a arbiter.Answer, clocks uint64) {
					answers++
					require.True(t, a.Hit)
					require.LessOrEqual(t, clocks, uint64(10))
				}
				p.ticks(wait)
				reset(p)
				p.bus.SetReg(idreg.Scratch1, 1)
				p.ticks(200)
				require.Greater(t, answers, 40)
				p.next = nil
				p.ticks(10)
				require.Equal(t, regbus.None, p.asked.Op)
				p.configure()
				require.Equal(t, value, p.readReg(idreg.Scratch0), "written after the reset")
			}
		})
	}
}
