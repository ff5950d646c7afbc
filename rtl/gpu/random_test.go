package gpu_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/abi/intcreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/gpu"
	"github.com/hilgpu/hilgpu/rtl/refmodel"
	"github.com/hilgpu/hilgpu/rtl/wave/wavetest"
)

// do executes a copy or a fill in memory.
func do(m *refmodel.Memory, p packet) {
	switch p := p.(type) {
	case pkt.Copy:
		m.Copy(p.Dst, p.Src, uint64(p.Bytes))
	case pkt.Fill:
		m.Fill(p.Dst, uint64(p.Bytes), p.Value)
	}
}

// randomPacket returns a copy or a fill in one half of VRAM and of host memory from
// 0x10000, so that the nodes do not interfere.
func randomPacket(m *machine, half uint64) packet {
	n := uint32(m.rng.IntN(300))
	if m.rng.IntN(20) == 0 {
		n = uint32(m.rng.IntN(3000))
	}
	addr := func() uint64 {
		if m.rng.IntN(2) == 0 {
			return half*0x20000 + m.rng.Uint64N(0x20000-3000)
		}
		return at(0x10000 + half*0x20000 + m.rng.Uint64N(0x20000-3000))
	}
	if m.rng.IntN(3) == 0 {
		return pkt.Fill{Dst: addr(), Bytes: n, Value: m.rng.Uint64()}
	}
	for {
		p := pkt.Copy{Src: addr(), Dst: addr(), Bytes: n}
		if p.Src+uint64(n) <= p.Dst || p.Dst+uint64(n) <= p.Src {
			return p
		}
	}
}

// Thousands of copies and fills on both nodes, each depending on earlier ones, match the
// reference model.
func TestRandomMoves(t *testing.T) {
	flight := wavetest.New(t)
	for seed := range uint64(12) {
		c := small()
		c.Tags = 2 << (seed % 4)
		m := boot(t, c, seed)
		m.stall, m.shuffle, m.latency = int(seed%3)*20, seed%4 != 0, 1+m.rng.Uint64N(80)
		m.skip = seed%2 == 0
		want := &refmodel.Memory{VRAM: make([]byte, c.VRAMBytes), Host: slices.Clone(m.mem), HostBase: memBase}
		for i := range want.VRAM {
			want.VRAM[i] = byte(m.rng.Uint32())
		}
		m.g.PokeVRAM(0, want.VRAM)
		m.dev = flight.Attach(m.g)
		for id := uint32(1); id <= 15; id++ {
			for n := range uint64(2) {
				var ps []packet
				for range 20 {
					ps = append(ps, randomPacket(m, n))
					do(want, ps[len(ps)-1])
				}
				m.submit(int(n), append(ps, fence(int(n), id))...)
			}
			m.run(400000, func() bool { return m.fence(0) == uint64(id) && m.fence(1) == uint64(id) })
		}
		m.idle()
		got := make([]byte, c.VRAMBytes)
		m.g.PeekVRAM(0, got)
		require.Equal(t, want.VRAM, got, "seed %d", seed)
		require.Equal(t, want.Host[0x10000:0x50000], m.mem[0x10000:0x50000], "seed %d", seed)
	}
}

// scenario does some work with pauses and returns everything that the host can observe.
func scenario(t *testing.T, c gpu.Config, skip bool) (log []event, clock uint64, regs []uint32) {
	m := boot(t, c, 9)
	m.latency, m.skip = 400, skip
	m.writeReg(intcreg.Base+intcreg.CoalesceCount, 3)
	m.writeReg(intcreg.Base+intcreg.CoalesceTime, 700)
	for id := uint32(1); id <= 6; id++ {
		m.submit(0,
			pkt.Copy{Src: at(0x10003), Dst: 0x77, Bytes: 777 * id},
			pkt.Copy{Src: 0x77, Dst: at(0x20000), Bytes: 777 * id},
			pkt.Timestamp{Addr: at(0x9000)},
			fence(0, id))
		m.run(100000, func() bool { return m.fence(0) == uint64(id) })
		done := m.clock + 5000
		m.run(5000, func() bool { return m.clock == done })
		regs = append(regs, m.readReg(idreg.TimeLo), m.node(0, cpreg.Rptr))
	}
	m.submit(0, pkt.Fence{Addr: at(fenceAt), ID: 1}) // goes backwards
	m.idle()
	regs = append(regs, m.node(0, cpreg.FaultInfo), m.readReg(idreg.TimeLo))
	return m.log, m.clock, regs
}

// Sleep is invisible: every write of the device happens in the same clock.
func TestSkipEqualsTicking(t *testing.T) {
	for _, c := range []gpu.Config{small(), oneNode()} {
		log, _, regs := scenario(t, c, false)
		skipLog, _, skipRegs := scenario(t, c, true)
		assert.Equal(t, log, skipLog)
		assert.Equal(t, regs, skipRegs)
		assert.Equal(t, uint32(cpreg.CauseFence), regs[12])
	}
}

// With a host that answers after 128 clocks, the throughput is 90 % of 8 bytes a clock.
func TestThroughput(t *testing.T) {
	const n = 64 << 10
	for _, tt := range []struct {
		name     string
		src, dst uint64
		most     uint64 // clocks from doorbell to fence
	}{
		{"VRAM to VRAM, 7.9 bytes a clock", 0, 0x20000, n * 10 / 79},
		{"VRAM to VRAM unaligned, 7.8 bytes a clock", 3, 0x20001, n * 10 / 78},
		{"host to VRAM, 90 %", at(0x10000), 0, n * 10 / 72},
		{"VRAM to host, 90 %", 0, at(0x10000), n * 10 / 72},
		{"host to host, 90 %", at(0x10000), at(0x30000), n * 10 / 72},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := boot(t, small(), 1)
			m.latency = 128
			m.submit(0, pkt.Copy{Src: tt.src, Dst: tt.dst, Bytes: n}, pkt.Fence{Addr: 0x3fff8, ID: 1})
			start := m.clock
			p := make([]byte, 1)
			// The ring is fetched from the host, which costs a round trip.
			m.run(tt.most+150, func() bool { m.g.PeekVRAM(0x3fff8, p); return p[0] == 1 })
			t.Logf("%d clocks, at most %d", m.clock-start, tt.most+150)
		})
	}
}

// BenchmarkTick measures a clock of a GPU that copies inside VRAM with both nodes.
func BenchmarkTick(b *testing.B) {
	m := boot(&testing.T{}, small(), 1)
	work := func(n uint64) pkt.Copy { return pkt.Copy{Src: 0x20000 * n, Dst: 0x20000*n + 0x10000, Bytes: 0x10000} }
	for b.Loop() {
		if m.dev.IdleFor() > 0 {
			m.submit(0, work(0), work(0), work(0), work(0), work(0))
			m.submit(1, work(1), work(1), work(1), work(1), work(1))
			m.run(1000, func() bool { return m.clock%1000 == 999 })
		}
		m.dev.Initiator()
		m.dev.Tick(port.Request{}, port.Beat{}, true, port.Completion{}, false, false)
	}
}
