package gpu_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/abi/intcreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pcicfg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/abi/regmap"
	"github.com/hilgpu/hilgpu/rtl/gpu"
)

// small returns a configuration with a VRAM that is fast to compare.
func small() gpu.Config {
	c := gpu.Default()
	c.VRAMBytes = 1 << 18
	return c
}

func oneNode() gpu.Config {
	c := small()
	c.Nodes, c.Tags, c.HostBits, c.LengthBits, c.ClockHz = 1, 4, 40, 20, 12_000_000
	c.Build = 0x89abcdef
	c.Caps = caps.Aperture
	return c
}

func fence(n int, id uint32) pkt.Fence {
	return pkt.Fence{Addr: at(uint64(fenceAt + 8*n)), ID: id, IRQ: true}
}

func TestConfig(t *testing.T) {
	for _, tt := range []struct {
		name string
		edit func(c *gpu.Config)
		want string
	}{
		{"no node", func(c *gpu.Config) { c.Nodes = 0 }, "gpu: bad configuration: nodes 0, want 1 to 2"},
		{"three nodes", func(c *gpu.Config) { c.Nodes = 3 }, "gpu: bad configuration: nodes 3, want 1 to 2"},
		{"VRAM", func(c *gpu.Config) { c.VRAMBytes = 12288 }, "gpu: bad configuration: VRAM bytes 12288, want 4096 to 268435456, a power of two"},
		{"VRAM without a port", func(c *gpu.Config) { c.VRAMPorts = 0 }, "gpu: bad configuration: VRAM ports 0, want 1 to 2"},
		{"VRAM of three ports", func(c *gpu.Config) { c.VRAMPorts = 3 }, "gpu: bad configuration: VRAM ports 3, want 1 to 2"},
		{"tags", func(c *gpu.Config) { c.Tags = 32 }, "gpu: bad configuration: tags 32, want 2 to 16, a power of two"},
		{"unknown capability", func(c *gpu.Config) { c.Caps |= 1 << 63 }, "gpu: bad configuration: capabilities 0x80000007270000f0, want of 0x3f270000f0"},
		{"clock", func(c *gpu.Config) { c.ClockHz = 0 }, "gpu: bad configuration: clock Hz 0, want 1 to 4294967295"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := gpu.Default()
			tt.edit(&c)
			_, err := gpu.New(c)
			require.ErrorIs(t, err, gpu.ErrConfig)
			assert.EqualError(t, err, tt.want)
		})
	}
	g, err := gpu.New(oneNode())
	require.NoError(t, err)
	assert.Equal(t, oneNode(), g.Config())
}

func TestEnumerate(t *testing.T) {
	m := power(t, small(), 1)
	assert.Equal(t, uint32(0x48471234), m.readConfig(pcicfg.ID))
	assert.Equal(t, uint32(0x03800001), m.readConfig(pcicfg.Class))
	for _, tt := range []struct {
		bar  uint64
		want uint32
	}{{pcicfg.BAR0, 0xffff0000}, {pcicfg.BAR1, 0}, {pcicfg.BAR2, 0xfffc000c}, {pcicfg.BAR3, 0xffffffff}, {pcicfg.BAR4, 0}} {
		m.writeConfig(tt.bar, math.MaxUint32)
		assert.Equal(t, tt.want, m.readConfig(tt.bar), "BAR at %#x", tt.bar)
	}
	assert.Equal(t, uint32(pcicfg.MSIXCapID), m.readConfig(uint64(m.readConfig(pcicfg.CapPtr)))&0xff)
}

// Without the aperture, BAR 2 does not exist: it has no bits, and its addresses are not
// answered. Packets still access VRAM.
func TestNoAperture(t *testing.T) {
	c := small()
	c.Caps &^= caps.Aperture
	m := boot(t, c, 1)
	for _, bar := range []uint64{pcicfg.BAR2, pcicfg.BAR3} {
		m.writeConfig(bar, math.MaxUint32)
		assert.Zero(t, m.readConfig(bar))
	}
	for _, addr := range []uint64{bar2, 0, 0xffff_ffff_ffff_ff00} {
		s, _ := m.send(port.Request{Kind: port.MemRead, Len: 1, Addr: addr}, nil)
		assert.Equal(t, port.CplUnsupported, s, "%#x", addr)
		assert.Equal(t, uint32(idreg.ErrDecode), m.readReg(idreg.ErrInfo)&idreg.ErrInfoCause)
		m.writeReg(idreg.ErrInfo, 0)
	}
	m.writeBAR2(0x200, []byte{1, 2, 3, 4})
	assert.Equal(t, uint32(4), m.readReg(idreg.ErrCount))
	m.submit(0, pkt.Copy{Src: 0x200, Dst: at(0x9000), Bytes: 64}, pkt.Copy{Src: at(0x8000), Dst: 0x200, Bytes: 64},
		pkt.Copy{Src: 0x200, Dst: at(0xa000), Bytes: 64}, fence(0, 1))
	m.idle()
	assert.Equal(t, uint64(1), m.fence(0))
	assert.Equal(t, make([]byte, 64), m.mem[0x9000:0x9040], "the write was dropped")
	assert.Equal(t, m.mem[0x8000:0x8040], m.mem[0xa000:0xa040])
}

func TestIdentity(t *testing.T) {
	modest := gpu.Small()
	modest.VRAMPorts, modest.Caps, modest.LengthBits = 1, 0, 18
	for _, tt := range []struct {
		c     gpu.Config
		caps  uint32
		caps2 uint32
	}{
		{small(), 0x372010f2, 7},
		{oneNode(), 0x30140401, 0},
		{modest, 0x8120401, 0},
		{gpu.Small(), 0x30100401, 0},
	} {
		c := tt.c
		m := boot(t, c, 1)
		for _, tt := range []struct {
			name string
			off  uint64
			want uint32
		}{
			{"MAGIC", idreg.Magic, 0x47504c48},
			{"CAPS", idreg.Caps, tt.caps},
			{"CAPS2", idreg.Caps2, tt.caps2},
			{"MAP_HASH", idreg.MapHash, regmap.Hash()},
			{"VRAM_SIZE", idreg.VRAMSize, uint32(c.VRAMBytes)},
			{"CLOCK_HZ", idreg.ClockHz, c.ClockHz},
			{"HOST_BITS", idreg.HostBits, uint32(c.HostBits)},
			{"BUILD", idreg.Build, c.Build},
		} {
			assert.Equal(t, tt.want, m.readReg(tt.off), tt.name)
		}
		before := m.clock
		time := m.readReg(idreg.TimeLo)
		assert.True(t, uint64(time) >= before && uint64(time) <= m.clock, "TIME counts clocks")
		m.writeReg(idreg.Scratch2, 0xdeadbeef)
		assert.Equal(t, uint32(0xdeadbeef), m.readReg(idreg.Scratch2))
	}
}

// A device reports each capability that it has.
func TestCapabilities(t *testing.T) {
	for _, c := range caps.Table {
		config := oneNode()
		config.Caps = c.Bit | c.With
		m := boot(t, config, 1)
		assert.Equal(t, c.Bit|c.With, caps.Of(m.readReg(idreg.Caps), m.readReg(idreg.Caps2)), c.Name)
	}
}

// The registers of a node that was not built are unmapped: accesses are refused and
// captured.
func TestOneNodeHasNoSecond(t *testing.T) {
	m := boot(t, oneNode(), 1)
	for _, reg := range []uint64{cpreg.Ctl, cpreg.Fence} {
		s, _ := m.send(port.Request{Kind: port.MemRead, Len: 1, Addr: bar0 + cpreg.Base + cpreg.Stride + reg}, nil)
		assert.Equal(t, port.CplAbort, s)
	}
	assert.Equal(t, uint32(2), m.readReg(idreg.ErrCount))
	assert.Equal(t, uint32(idreg.ErrUnmapped), m.readReg(idreg.ErrInfo)&idreg.ErrInfoCause)
	m.submit(0, fence(0, 1))
	m.idle()
	assert.Equal(t, uint64(1), m.fence(0))
}

func TestMemoryDecodeOff(t *testing.T) {
	m := boot(t, small(), 1)
	m.writeConfig(pcicfg.Command, 0)
	for _, addr := range []uint64{bar0, bar2} {
		s, _ := m.send(port.Request{Kind: port.MemRead, Len: 1, Addr: addr}, nil)
		assert.Equal(t, port.CplUnsupported, s)
	}
	m.writeBAR2(0, []byte{1, 2, 3, 4})
	m.writeConfig(pcicfg.Command, pcicfg.CommandMemory)
	assert.Equal(t, make([]byte, 4), m.readBAR2(0, 4), "the write was dropped")
}

func TestAperture(t *testing.T) {
	m := boot(t, small(), 1)
	want := make([]byte, 1<<18)
	for i := range 300 {
		m.stall = i % 3 * 30
		off := m.rng.Uint64N(1<<18 - 400)
		p := make([]byte, 1+m.rng.IntN(400))
		for i := range p {
			p[i] = byte(m.rng.Uint32())
		}
		m.writeBAR2(off, p)
		copy(want[off:], p)
		from := min(off-min(off, 8), 1<<18-420)
		require.Equal(t, want[from:from+420], m.readBAR2(from, 420), "after write %d", i)
	}
	got := make([]byte, 1<<18)
	m.g.PeekVRAM(0, got)
	assert.Equal(t, want, got)
	m.g.PokeVRAM(5, []byte{1, 2, 3, 4, 5})
	assert.Equal(t, []byte{want[4], 1, 2, 3, 4, 5, want[10]}, m.readBAR2(4, 7))
}

func TestPackets(t *testing.T) {
	m := boot(t, small(), 3)
	row := make([]byte, 64)
	for i := range row {
		row[i] = byte(i)
	}
	copy(m.mem[0x8000:], row)
	ib := encode(t,
		pkt.WriteReg{Off: idreg.Scratch1, Value: 77},
		pkt.Copy{Src: 0x200, Dst: at(0x9000), Bytes: 64},
	)
	copy(m.mem[0xa000:], ib)
	clip := pkt.MaxCoord
	m.submit(0,
		pkt.NOP{Skip: 5},
		pkt.Copy{Src: at(0x8000), Dst: 0x200, Bytes: 64},
		pkt.Indirect{Addr: at(0xa000), Dwords: uint32(len(ib) / 4)},
		pkt.Fill{Dst: 0x1003, Bytes: 11, Value: 0x0807060504030201},
		pkt.SetState{Surface: pkt.Source, Base: 0x200, Pitch: 16, Format: pkt.Format32, X1: uint16(clip), Y1: uint16(clip)},
		pkt.SetState{Surface: pkt.Dest, Base: 0x2000, Pitch: 32, Format: pkt.Format32, X0: 1, X1: uint16(clip), Y1: 3},
		pkt.Copy2D{SrcX: 1, SrcY: 0, DstX: 0, DstY: 0, W: 3, H: 4},
		pkt.Fill2D{X: 4, Y: 1, W: 2, H: 1, Value: 0xaaaaaaaaaaaaaaaa},
		pkt.Timestamp{Addr: at(0x9100)},
		fence(0, 5),
	)
	m.idle()
	require.Equal(t, uint32(0), m.node(0, cpreg.FaultInfo))
	assert.Equal(t, uint64(5), m.fence(0))
	assert.Equal(t, uint32(5), m.node(0, cpreg.Fence))
	assert.Equal(t, uint32(77), m.readReg(idreg.Scratch1))
	assert.Equal(t, row, m.mem[0x9000:0x9040])
	assert.Equal(t, []byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 0}, m.readBAR2(0x1002, 13))
	stamp := le.Uint64(m.mem[0x9100:])
	assert.True(t, stamp > 0 && stamp < m.clock)
	// The clip removes column 0 and row 3.
	for y, want := range [][]byte{
		{0, 0, 0, 0, 8, 9, 10, 11, 12, 13, 14, 15, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
		{0, 0, 0, 0, 24, 25, 26, 27, 28, 29, 30, 31, 0, 0, 0, 0, 0xaa, 0xaa, 0xaa, 0xaa, 0xaa, 0xaa, 0xaa, 0xaa},
		{0, 0, 0, 0, 40, 41, 42, 43, 44, 45, 46, 47, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
		make([]byte, 24),
	} {
		assert.Equal(t, want, m.readBAR2(0x2000+32*uint64(y), 24), "row %d", y)
	}
	assert.Equal(t, []uint32{0x50}, m.msgs)
	assert.Equal(t, uint32(intcreg.Done0), m.readReg(intcreg.Base+intcreg.Status))
	assert.Equal(t, uint32(12), m.g.Stats().Packets[0])
	assert.Equal(t, uint64(64+64+11+3*8+8), m.g.Stats().Moved)
}

// When a message arrives, the fence and all data before it are in memory.
func TestMessageAfterData(t *testing.T) {
	for seed := range uint64(8) {
		m := boot(t, small(), seed)
		m.stall, m.shuffle, m.latency = int(seed)*10, seed%2 == 0, 3+10*seed
		done := 0
		for id := uint32(1); id <= 20; id++ {
			n := 1 + m.rng.IntN(1000)
			src, dst := m.rng.Uint64N(1000), m.rng.Uint64N(1000)
			m.onMsg = func(uint32) {
				require.Equal(t, uint64(id), m.fence(0))
				require.Equal(t, m.mem[0x10000+src:][:n], m.mem[0x20000+dst:][:n])
				done++
			}
			m.submit(0,
				pkt.Copy{Src: at(0x10000 + src), Dst: 0x100, Bytes: uint32(n)},
				pkt.Copy{Src: 0x100, Dst: at(0x20000 + dst), Bytes: uint32(n)},
				fence(0, id))
			m.run(50000, func() bool { return done == int(id) })
			require.Equal(t, id, m.node(0, cpreg.Fence))
			m.writeReg(intcreg.Base+intcreg.Status, intcreg.All)
		}
	}
}

// Both nodes wrap around their rings many times at once. Each copies its own data,
// unaffected by the other's traffic.
func TestTwoNodes(t *testing.T) {
	for seed := range uint64(4) {
		m := boot(t, small(), seed)
		m.stall, m.shuffle = int(seed)*15, seed != 0
		var id [2]uint32
		for round := range 60 {
			for n := range uint64(2) {
				id[n]++
				base, size := 0x10000*(n+1), uint32(1+m.rng.IntN(700))
				m.submit(int(n),
					pkt.Fill{Dst: 0x10000*n + 3, Bytes: size, Value: uint64(round)*0x0101010101010101 + n},
					pkt.NOP{Skip: uint16(m.rng.IntN(40))},
					pkt.Copy{Src: 0x10000*n + 3, Dst: at(base + 5), Bytes: size},
					pkt.Copy{Src: at(base + 5), Dst: at(base + 0x8001), Bytes: size},
					fence(int(n), id[n]))
				want := make([]byte, size)
				for i := range want {
					want[i] = byte(round)
					if i%8 == 0 {
						want[i] += byte(n)
					}
				}
				if round%2 == 1 { // else both run together
					m.idle()
					require.Equal(t, want, m.mem[base+5:][:size], "seed %d round %d node %d", seed, round, n)
					require.Equal(t, want, m.mem[base+0x8001:][:size], "seed %d round %d node %d", seed, round, n)
				}
			}
			m.run(100000, func() bool { return m.fence(0) == uint64(id[0]) && m.fence(1) == uint64(id[1]) })
		}
		assert.Equal(t, uint32(240+60), m.node(0, cpreg.Packets))
		assert.Equal(t, uint32(240+60), m.node(1, cpreg.Packets))
	}
}

// A read of FENCE completes after the writes that the fence covers: once it shows the ID,
// the data is in host memory, even if the host is slow.
func TestFenceRegisterAfterData(t *testing.T) {
	m := boot(t, small(), 5)
	m.stall = 70
	for id := uint32(1); id <= 20; id++ {
		m.submit(0, pkt.Fill{Dst: at(0x10000), Bytes: 300, Value: uint64(id) * 0x0101010101010101}, fence(0, id))
		for m.node(0, cpreg.Fence) != id {
		}
		require.Equal(t, uint64(id), m.fence(0))
		require.Equal(t, byte(id), m.mem[0x10000+299])
	}
}
