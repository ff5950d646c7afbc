package gpu_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/abi/intcreg"
	"github.com/hilgpu/hilgpu/rtl/abi/msixreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pcicfg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/abi/regmap"
	"github.com/hilgpu/hilgpu/rtl/gpu"
)

// wholeReset requests a whole reset, as a driver does, and waits for its end.
// functionReset does the same with a function-level reset, as an operating system does.
func (m *machine) wholeReset() {
	m.writeReg(idreg.Reset, idreg.ResetWhole)
	for end := m.clock + 20000; m.readReg(idreg.Reset) != 0; {
		require.Less(m.t, m.clock, end)
	}
}

func (m *machine) functionReset() {
	m.writeConfig(pcicfg.DevCtl, m.readConfig(pcicfg.DevCtl)&0xffff|pcicfg.DevCtlReset)
	for end := m.clock + 20000; m.readConfig(pcicfg.Command)&pcicfg.CommandMemory != 0; {
		require.Less(m.t, m.clock, end)
	}
}

// configSpace returns configuration space without the Transactions Pending bit.
func (m *machine) configSpace() map[uint64]uint32 {
	all := map[uint64]uint32{}
	for off := uint64(0); off < 0x100; off += 4 {
		all[off] = m.readConfig(off)
	}
	all[pcicfg.DevCtl] &^= pcicfg.DevStaPending
	return all
}

// requireReset checks the registers against their reset values, except those at offsets
// for which kept returns true.
func (m *machine) requireReset(kept func(off uint32) bool) {
	have := caps.Of(m.readReg(idreg.Caps), m.readReg(idreg.Caps2))
	for _, e := range regmap.New().Entries() {
		if e.In(have) && !e.Reg.Config && e.Reg.Name != "TIME_LO" && !kept(e.Off()) {
			require.Equal(m.t, e.Reg.Reset, m.readReg(uint64(e.Off())), e.Name())
		}
	}
}

// requireIdleEngines compares the registers of the engines with a device after power on.
// The output registers of block RAMs are excluded, because no reset reaches them.
func (m *machine) requireIdleEngines() {
	registers := func(g *gpu.GPU) map[string]uint64 {
		words, all := make([]uint64, gpu.GPUWords), map[string]uint64{}
		g.Snapshot(words)
		for i, s := range g.Signals("gpu", nil) {
			block, _, _ := strings.Cut(strings.TrimPrefix(s.Name, "gpu."), ".")
			engine := slices.Contains([]string{"cp0", "cp1", "fence0", "fence1", "dma", "descs"}, block)
			if engine && !strings.HasSuffix(s.Name, ".q") {
				all[s.Name] = words[i]
			}
		}
		return all
	}
	fresh := power(m.t, m.g.Config(), 1)
	fresh.settle()
	m.settle()
	want := registers(fresh.g)
	require.Greater(m.t, len(want), 100)
	require.Equal(m.t, want, registers(m.g))
}

// settle waits until the nodes have cleared their files and the last answer has arrived.
func (m *machine) settle() {
	m.ticks(40)
}

// busy gives both nodes work of every kind, one of it a fault. Node 0 fetches a long buffer
// from VRAM.
func (m *machine) busy() {
	const buffer, dwords = 0x30000, 1000
	m.g.PokeVRAM(buffer, bytes.Repeat([]byte{0, 0, 0, pkt.OpNOP}, dwords))
	m.submit(0, pkt.Indirect{Addr: buffer, Dwords: dwords})
	m.writeBAR2(0x3ff00, []byte("kept"))
	m.writeReg(idreg.Scratch1, 7)
	m.writeReg(intcreg.Base+intcreg.CoalesceTime, 30)
	m.send(port.Request{Kind: port.MemRead, Len: 1, Addr: bar0 + 0xf000}, nil) // refused
	for n := range m.g.Config().Nodes {
		v, h := uint64(n)*0x10000, 0x10000+uint64(n)*0x20000
		ps := []packet{
			pkt.Copy{Src: at(h), Dst: v + 1, Bytes: 3000}, fence(n, 1),
			pkt.Copy{Src: v, Dst: v + 0x8000, Bytes: 2000},
			pkt.Copy{Src: v + 1, Dst: at(h + 0x10000), Bytes: 3000}, fence(n, 2),
			pkt.Fill{Dst: at(h + 0x10003), Bytes: 1000, Value: 5}, pkt.Timestamp{Addr: at(0x9000)}, fence(n, 3),
		}
		if n == 1 {
			ps = append(ps, fence(n, 1))
		}
		m.submit(n, ps...)
	}
}

// afterReset runs work immediately after a reset, while earlier reads may still be
// unanswered, and checks its results.
func (m *machine) afterReset(why string) {
	for n := range m.g.Config().Nodes {
		v, h := uint64(n)*0x10000, 0x10000+uint64(n)*0x20000
		m.submit(n, pkt.Copy{Src: at(h + 5), Dst: v + 3, Bytes: 5000}, pkt.Copy{Src: v + 3, Dst: at(h + 0x10000), Bytes: 5000}, fence(n, 9))
	}
	m.idle()
	for n := range m.g.Config().Nodes {
		v, h := n*0x10000, 0x10000+n*0x20000
		require.Zero(m.t, m.node(n, cpreg.FaultInfo), why)
		require.Equal(m.t, uint64(9), m.fence(n), why)
		require.Equal(m.t, m.mem[h+5:][:5000], m.readBAR2(uint64(v+3), 5000), why)
		require.Equal(m.t, m.mem[h+5:][:5000], m.mem[h+0x10000:][:5000], why)
	}
	require.Equal(m.t, []byte("kept"), m.readBAR2(0x3ff00, 4), why)
	require.Zero(m.t, m.readConfig(pcicfg.DevCtl)&pcicfg.DevStaPending, why)
}

// phases calls f with a machine in each of many phases of work.
func phases(t *testing.T, f func(m *machine)) {
	for seed := range uint64(48) {
		c := small()
		c.Tags, c.Nodes = 2<<(seed%4), 1+int(seed/4%2)
		m := boot(t, c, seed)
		m.stall, m.shuffle, m.skip = int(seed%3)*20, seed%2 == 0, seed%5 < 2
		m.latency = 5 + m.rng.Uint64N(400)
		if seed%4 == 3 {
			m.latency += 4000 // earlier reads are answered long after the reset
		}
		m.busy()
		m.ticks(m.rng.Uint64N(3000))
		f(m)
	}
}

// A whole reset in any phase keeps configuration space, the MSI-X table, the time and
// VRAM.
func TestWholeReset(t *testing.T) {
	phases(t, func(m *machine) {
		before := m.configSpace()
		start := m.clock
		m.wholeReset()
		sent := m.headers
		m.requireReset(func(off uint32) bool { return off-msixreg.Base < msixreg.Stride*pcicfg.Vectors })
		require.Equal(t, uint32(0x50), m.readReg(msixreg.Base+msixreg.Data))
		require.Zero(t, m.readReg(msixreg.Base+msixreg.Control))
		require.Equal(t, before, m.configSpace())
		require.Greater(t, uint64(m.readReg(idreg.TimeLo)), start, "TIME continues")
		require.Equal(t, sent, m.headers, "no request is sent")
		m.requireIdleEngines()
		m.writeReg(intcreg.Base+intcreg.Mask, intcreg.All)
		m.msgs = nil
		for n := range m.g.Config().Nodes {
			m.startNode(n)
		}
		m.afterReset("whole")
		require.Contains(t, m.msgs, uint32(0x50))
	})
}

// A function-level reset leaves a function as after power on, except VRAM and the reads in
// flight.
func TestFunctionLevelReset(t *testing.T) {
	fresh := power(t, small(), 1).configSpace()
	require.NotZero(t, fresh[pcicfg.DevCap]&pcicfg.DevCapReset)
	phases(t, func(m *machine) {
		start := m.clock
		m.functionReset()
		sent := m.headers
		require.Equal(t, fresh, m.configSpace())
		m.writeConfig(pcicfg.BAR0, uint32(bar0))
		m.writeConfig(pcicfg.Command, pcicfg.CommandMemory)
		m.requireReset(func(off uint32) bool { return false })
		require.LessOrEqual(t, uint64(m.readReg(idreg.TimeLo)), m.clock-start)
		require.Equal(t, sent, m.headers, "no request is sent")
		m.requireIdleEngines()
		m.configure()
		m.afterReset("function")
	})
}

// Resets may overlap: a reset requested during another one ends with it or after it.
func TestOverlappingResets(t *testing.T) {
	phases(t, func(m *machine) {
		for range 3 {
			switch m.rng.IntN(3) {
			case 0:
				m.writeReg(cpreg.Base+cpreg.Ctl, cpreg.CtlReset)
			case 1:
				m.writeReg(idreg.Reset, idreg.ResetWhole)
			default:
				m.writeConfig(pcicfg.DevCtl, pcicfg.DevCtlReset)
				m.writeReg(idreg.Reset, idreg.ResetWhole)
			}
		}
		m.functionReset()
		m.configure()
		m.functionReset()
		m.configure()
		m.afterReset("many")
	})
}

// A reset does not wait for unanswered reads. Only their tags stay in use: a read that
// needs one has a spare tag, or waits on a device without time-out.
func TestResetWithoutAnswers(t *testing.T) {
	for _, limited := range []bool{false, true} {
		c := small()
		if !limited {
			c.Caps &^= caps.ReadTimeout
		}
		resetWithoutAnswers(t, boot(t, c, 1), limited)
	}
}

func resetWithoutAnswers(t *testing.T, m *machine, limited bool) {
	m.latency = 1 << 40
	m.submit(0, pkt.NOP{})
	m.ticks(100)
	require.Len(t, m.bus.Reads, 1)
	m.wholeReset()
	assert.NotZero(t, m.readConfig(pcicfg.DevCtl)&pcicfg.DevStaPending)
	m.latency = 10
	m.startNode(1)
	m.submit(1, fence(1, 1))
	m.run(5000, func() bool { return m.fence(1) == 1 })
	m.startNode(0)
	m.submit(0, fence(0, 1))
	m.ticks(1000)
	assert.Len(t, m.bus.Reads, 1, "the tag is not used again")
	assert.Equal(t, limited, m.fence(0) == 1)
	m.bus.Reads[0].Due = m.clock
	m.idle()
	assert.Equal(t, uint64(1), m.fence(0))
}

// An answer that arrives after a function-level reset has no effect on the function.
func TestLateErrorsAreIgnored(t *testing.T) {
	for name, reset := range map[string]func(m *machine){
		"function": func(m *machine) { m.functionReset(); m.configure() },
		"whole":    func(m *machine) { m.writeReg(idreg.Base+idreg.Reset, idreg.ResetWhole) },
	} {
		t.Run(name, func(t *testing.T) {
			m := boot(t, small(), 1)
			m.latency = 5000
			m.submit(0, pkt.NOP{})
			m.ticks(100)
			require.Len(t, m.bus.Reads, 1)
			m.bus.Reads[0].Good = 0 // to be answered with an error
			reset(m)
			before := m.readConfig(pcicfg.Command)
			m.idle()
			require.Empty(t, m.bus.Reads)
			require.Equal(t, before, m.readConfig(pcicfg.Command))
		})
	}
}

// A header that the host does not take holds up both resets, with READ_TIMEOUT too. Registers
// answer, and the resets end when it is taken.
func TestResetsWithoutCredits(t *testing.T) {
	for name, p := range map[string]packet{
		"read":  pkt.Copy{Src: at(0x8000), Dst: 0, Bytes: 64},
		"write": pkt.Fill{Dst: at(0x8000), Bytes: 64},
	} {
		for _, whole := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, whole %t", name, whole), func(t *testing.T) {
				m := boot(t, small(), 1)
				m.writeReg(idreg.ReadTimeout, 1)
				m.submit(0, p)
				offered := func() bool {
					r, _ := m.dev.Initiator()
					return r.Kind != port.None && r.Addr == memBase+0x8000
				}
				m.run(5000, offered)
				m.block = true
				reg, mask := uint64(cpreg.Base+cpreg.Ctl), uint32(cpreg.CtlReset)
				if whole {
					reg, mask = idreg.Reset, idreg.ResetWhole
				}
				m.writeReg(reg, mask)
				m.ticks(20000)
				assert.Equal(t, mask, m.readReg(reg)&mask, "held up")
				assert.True(t, offered())
				m.block = false
				m.ticks(200)
				assert.Zero(t, m.readReg(reg)&mask)
			})
		}
	}
}
