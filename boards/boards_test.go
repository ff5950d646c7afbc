package boards

import (
	"encoding/binary"
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/abi/intcreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pcicfg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/rtl/gpu"
)

const (
	base0 = 0xe0000000
	base2 = 0x2_0000_0000

	memBase = 1 << 20
	ring    = memBase
	fenceAt = memBase + 0x2000
)

// pc is a host with 64 KiB of memory at memBase.
type pc struct {
	mem      [64 << 10]byte
	messages int
}

var errNoMemory = errors.New("no memory")

func (h *pc) at(addr uint64, n int) ([]byte, error) {
	if addr < memBase || addr+uint64(n) > memBase+uint64(len(h.mem)) {
		return nil, errNoMemory
	}
	return h.mem[addr-memBase:][:n], nil
}

func (h *pc) ReadMem(addr uint64, p []byte) error {
	b, err := h.at(addr, len(p))
	copy(p, b)
	return err
}

func (h *pc) WriteMem(addr uint64, p []byte) error {
	if addr == 0xfee00000 {
		h.messages++
		return nil
	}
	b, err := h.at(addr, len(p))
	copy(b, p)
	return err
}

// enumerate places the BARs and vector 0.
func enumerate(t *testing.T, link bus.Link) {
	for _, w := range [][2]uint32{
		{pcicfg.BAR0, base0}, {pcicfg.BAR2, base2 & 0xffffffff}, {pcicfg.BAR3, base2 >> 32},
		{pcicfg.Command, pcicfg.CommandMemory | pcicfg.CommandBusMaster}, {pcicfg.MSIX, pcicfg.MSIXEnable},
	} {
		require.NoError(t, link.WriteConfig(int(w[0]), w[1]))
	}
	entry := make([]byte, 16)
	binary.LittleEndian.PutUint32(entry, 0xfee00000)
	require.NoError(t, link.Write(0, pcicfg.MSIXTableOffset, entry))
}

func write32(t *testing.T, link bus.Link, off uint64, v uint32) {
	require.NoError(t, link.Write(0, off, binary.LittleEndian.AppendUint32(nil, v)))
}

func read32(t *testing.T, link bus.Link, off uint64) uint32 {
	p := make([]byte, 4)
	require.NoError(t, link.Read(0, off, p))
	return binary.LittleEndian.Uint32(p)
}

// TestSelectorOptions checks the identity registers and the clock for each
// option.
func TestSelectorOptions(t *testing.T) {
	const small = idreg.CapsTwoPorts | uint32(caps.Aperture)
	const all = uint32(caps.Protection) | uint32(caps.Coalescing) | uint32(caps.Timeline) |
		uint32(caps.Contexts) | uint32(caps.Preemption) | uint32(caps.Counters) | uint32(caps.Watchdog) | small
	for _, tt := range []struct {
		selector                   string
		nodes, tags, length, hosts uint32
		vram, hz                   uint32
		features                   uint32
	}{
		{"emu", 2, 16, 32, 48, 16 << 20, 100_000_000, all},
		{"emu?", 2, 16, 32, 48, 16 << 20, 100_000_000, all},
		{"emu?nodes=1", 1, 16, 32, 48, 16 << 20, 100_000_000, all},
		{"emu?vram=8KiB&tags=4&lengthbits=16", 2, 4, 16, 48, 8 << 10, 100_000_000, all},
		{"emu?vram=65536", 2, 16, 32, 48, 64 << 10, 100_000_000, all},
		{"emu?vram=1MiB&hz=12000000&hostbits=40", 2, 16, 32, 40, 1 << 20, 12_000_000, all},
		{"emu?config=small", 1, 4, 16, 40, 8 << 10, 100_000_000, small},
		{"emu?vram=16KiB&config=small", 1, 4, 16, 40, 16 << 10, 100_000_000, small},
		{"emu?latency=200&bandwidth=1&timeout=100000", 2, 16, 32, 48, 16 << 20, 100_000_000, all},
		{"emu?protection=0", 2, 16, 32, 48, 16 << 20, 100_000_000, all &^ uint32(caps.Protection)},
		{"emu?contexts=0", 2, 16, 32, 48, 16 << 20, 100_000_000, all &^ uint32(caps.Contexts)},
		{"emu?preemption=0", 2, 16, 32, 48, 16 << 20, 100_000_000, all &^ uint32(caps.Preemption)},
		{"emu?timeline=0", 2, 16, 32, 48, 16 << 20, 100_000_000, all &^ uint32(caps.Timeline)},
		{"emu?config=small&timeline=1", 1, 4, 16, 40, 8 << 10, 100_000_000, small | uint32(caps.Timeline)},
		{"emu?config=small&protection=1", 1, 4, 16, 40, 8 << 10, 100_000_000, small | uint32(caps.Protection)},
		{"emu?config=full", 2, 16, 32, 48, 16 << 20, 100_000_000, all},
		{"emu?counters=0&watchdog=0", 2, 16, 32, 48, 16 << 20, 100_000_000, all &^ uint32(caps.Counters) &^ uint32(caps.Watchdog)},
		{"emu?vramports=1", 2, 16, 32, 48, 16 << 20, 100_000_000, all&^idreg.CapsVRAMPorts | 1<<27},
		{"emu?aperture=0", 2, 16, 32, 48, 16 << 20, 100_000_000, all &^ uint32(caps.Aperture)},
		{"emu?coalescing=0", 2, 16, 32, 48, 16 << 20, 100_000_000, all &^ uint32(caps.Coalescing)},
	} {
		t.Run(tt.selector, func(t *testing.T) {
			link, clock, err := Open(tt.selector, new(pc))
			require.NoError(t, err)
			defer link.Close()
			enumerate(t, link)
			assert.EqualValues(t, tt.hz, clock.Hz())
			assert.Equal(t, tt.hz, read32(t, link, idreg.ClockHz))
			assert.Equal(t, tt.vram, read32(t, link, idreg.VRAMSize))
			assert.Equal(t, tt.hosts, read32(t, link, idreg.HostBits))
			caps := read32(t, link, idreg.Caps)
			assert.Equal(t, tt.nodes|tt.tags<<8|tt.length<<16|tt.features, caps)
		})
	}
}

// Each capability has an option, which changes it alone, and a line in the manual.
func TestCapabilityOptions(t *testing.T) {
	normal, small := gpu.Default(), gpu.Small()
	var manual []string
	for _, s := range Manual() {
		for _, e := range s.Entries {
			manual = append(manual, e.Name)
		}
	}
	for _, c := range caps.Table {
		name := strings.ToLower(c.Name)
		for config, have := range map[string]gpu.Config{"default": normal, "small": small} {
			without, err := Config(config + "?" + name + "=0")
			require.NoError(t, err)
			with, err := Config(config + "?" + name + "=1")
			require.NoError(t, err)
			assert.Equal(t, have.Caps&^c.Bit, without.Caps, "%s without %s", config, name)
			assert.Equal(t, have.Caps|c.Bit|c.With, with.Caps, "%s with %s", config, name)
		}
		_, err := Config("small?" + name + "=2")
		assert.ErrorContains(t, err, name+"=2, want 0 or 1")
		assert.Contains(t, manual, name)
	}
}

func TestSelectorErrors(t *testing.T) {
	for _, tt := range []struct{ selector, says string }{
		{"", `unknown scheme "", want one of emu`},
		{"fpga", `unknown scheme "fpga", want one of emu`},
		{"emu:x", `emu takes nothing after a colon`},
		{"serial", `want serial:PORT`},
		{"serial:?baud=115200", `want serial:PORT`},
		{"serial:x?baud=1199", `baud=1199, want a number from 1200 to 20000000`},
		{"serial:x?maxbaud=9600", `maxbaud=9600, want a number from 115200`},
		{"serial:x?driver=other", `driver=other, want bugst or tarm`},
		{"tcp:host", `host, want HOST:PORT`},
		{"tcp:host:1?timeout=0", `timeout=0, want a number from 1`},
		{"udp:host", `host, want HOST:PORT`},
		{"tcp:host:99999", `port 99999, want 1 to 65535`},
		{"tcp:127.0.0.1:0", `port 0, want 1 to 65535`},
		{"tcp::4000", `:4000, want HOST:PORT`},
		{"tcp:host:1?silence=199", `silence=199, want a number from 200`},
		{"eth", `want eth:IFACE/MAC`},
		{"eth:host0", `host0, want IFACE/MAC`},
		{"eth:/02:00:00:00:00:02", `/02:00:00:00:00:02, want IFACE/MAC`},
		{"eth:host0/zz", `bad MAC address: "zz", want six bytes`},
		{"eth:host0/ff:ff:ff:ff:ff:ff", `ff:ff:ff:ff:ff:ff is the address of a group`},
		{"eth:host0/02:00:00:00:00:02?mtu=500", `mtu=500, want a number from 576 to 9216`},
		{"eth:host0/02:00:00:00:00:02?mtu=9217", `mtu=9217, want a number from 576 to 9216`},
		{"udp:host:1?mtu=575", `mtu=575, want a number from 576 to 9000`},
		{"line?silence=500", `unknown "silence"`},
		{"line?faults=loss=2", `faults=loss=2: loss is "2", want a probability from 0 to 1`},
		{"line?latency=1", `unknown "latency"`},
		{"line:x", `line takes nothing after a colon`},
		{"snap", `want snap:FILE`},
		{"inspect", `want inspect:ADDR`},
		{"inspect:x", `bad address: "x", want [HOST:]PORT`},
		{"snap:/nowhere/x.json", `/nowhere/x.json`},
		{"capture:/nowhere/x.pcapng", `/nowhere/x.pcapng`},
		{"emu?vrma=8KiB", `unknown "vrma", want one of config, nodes, vram`},
		{"emu?nodes", `"nodes" has no value`},
		{"emu?nodes=", `"nodes=" has no value`},
		{"emu?nodes=1&nodes=2", `"nodes" is given twice`},
		{"emu?nodes=3", `nodes=3, want a number from 1 to 2`},
		{"emu?nodes=one", `nodes=one, want a number`},
		{"emu?nodes=%zz", `"nodes=%zz"`},
		{"emu?vramports=3", `vramports=3, want a number from 1 to 2`},
		{"emu?protection=2", `protection=2, want 0 or 1`},
		{"emu?vram=2KiB", `vram=2KiB, want 4096 to 268435456 bytes`},
		{"emu?vram=512MiB", `vram=512MiB, want 4096 to 268435456 bytes`},
		{"emu?vram=9KiB", `9216, want 4096 to 268435456, a power of two`},
		{"emu?vram=99999999999999999999GiB", `want 4096 to 268435456 bytes`},
		{"emu?vram=17179869185GiB", `want 4096 to 268435456 bytes`},
		{"emu?vram=8kb", `vram=8kb, want 4096`},
		{"emu?tags=3", `tags 3, want 2 to 16, a power of two`},
		{"emu?latency=0", `latency=0, want a number from 1 to 65536`},
		{"emu?bandwidth=65", `bandwidth=65, want a number from 1 to 64`},
		{"emu?hz=0", `hz=0, want a number from 1`},
		{"emu?timeout=0", `timeout=0, want`},
		{"emu?config=huge", `config=huge, want full, default or small`},
		{"emu?fault=fire", `fault=fire, want lost-interrupt, lost-doorbell`},
		{"emu?after=3", `after=3, want fault= with a fault`},
		{"emu?dirty=x", `dirty=x, want a number from 0 to 18446744073709551615`},
		{"line?dirty=-1", `dirty=-1, want a number from 0 to 18446744073709551615`},
		{"verilated?dirty=1.5", `dirty=1.5, want a number from 0 to 18446744073709551615`},
		{"emu?fault=dead&count=0", `count=0, want a number from 1`},
	} {
		t.Run(tt.selector, func(t *testing.T) {
			if strings.HasPrefix(tt.selector, "eth") && runtime.GOOS != "linux" {
				t.Skip("raw Ethernet is available on Linux only")
			}
			_, _, err := Open(tt.selector, new(pc))
			require.ErrorIs(t, err, ErrSelector)
			assert.ErrorContains(t, err, tt.says)
			assert.ErrorContains(t, err, tt.selector)
		})
	}
}

// submit starts node 0 with n fences in the ring, one doorbell each.
func submit(t *testing.T, link bus.Link, h *pc, n int) error {
	var b []byte
	const node = cpreg.Base
	write32(t, link, node+cpreg.RingLo, ring)
	write32(t, link, node+cpreg.RingHi, 1<<31)
	write32(t, link, node+cpreg.RingSize, 12)
	write32(t, link, node+cpreg.Ctl, cpreg.CtlRun)
	write32(t, link, intcreg.Base+intcreg.Mask, intcreg.All)
	for i := range n {
		var err error
		b, err = pkt.Fence{Addr: 1<<63 | fenceAt, ID: uint32(i + 1), IRQ: true}.Append(b)
		require.NoError(t, err)
		copy(h.mem[ring-memBase:], b)
		if err := link.Write(0, node+cpreg.Wptr, binary.LittleEndian.AppendUint32(nil, uint32(len(b)/4))); err != nil {
			return err
		}
	}
	return nil
}

// TestFault rings the doorbell three times with each injected fault.
func TestFault(t *testing.T) {
	for _, tt := range []struct {
		selector string
		fences   uint64 // fence value in memory afterwards
		messages int
		alive    bool
		harmed   uint64
	}{
		{"emu", 3, 3, true, 0},
		{"emu?fault=lost-interrupt", 3, 0, true, 3},
		{"emu?fault=lost-interrupt&after=1", 3, 1, true, 2},
		{"emu?fault=lost-interrupt&after=1&count=1", 3, 2, true, 1},
		{"emu?fault=lost-doorbell", 0, 0, true, 3},
		{"emu?fault=lost-doorbell&after=2", 2, 2, true, 1},
		{"emu?fault=lost-doorbell&count=2", 3, 3, true, 2},
		{"emu?fault=dead", 0, 0, false, 1},
		{"emu?fault=dead&after=2", 2, 2, false, 1},
		{"emu?fault=dead-request&after=7", 1, 1, false, 1},
	} {
		t.Run(tt.selector, func(t *testing.T) {
			h := new(pc)
			link, clock, err := Open(tt.selector, h)
			require.NoError(t, err)
			enumerate(t, link)
			waiting := waiter{link, clock}
			require.NoError(t, submit(t, waiting, h, 3))
			assert.Equal(t, tt.fences, binary.LittleEndian.Uint64(h.mem[fenceAt-memBase:]))
			assert.Equal(t, tt.messages, h.messages)
			err = link.Read(0, idreg.Magic, make([]byte, 4))
			if tt.alive {
				assert.NoError(t, err)
			} else {
				assert.ErrorIs(t, err, bus.ErrTimeout)
			}
			assert.Equal(t, tt.harmed, counter(t, link, "harmed"))
		})
	}
}

// A waiter is a link that gives the device time after each write.
type waiter struct {
	bus.Link
	clock bus.Clock
}

func (w waiter) Write(bar int, off uint64, p []byte) error {
	err := w.Link.Write(bar, off, p)
	for deadline := w.clock.Now() + 2000; err == nil && w.clock.Now() < deadline; {
		_, err = w.clock.Wait(deadline)
	}
	return err
}

func counter(t *testing.T, link bus.Link, name string) uint64 {
	c, ok := link.(Counters)
	require.True(t, ok)
	for _, c := range c.Counters() {
		if c.Name == name {
			return c.Value
		}
	}
	t.Fatalf("no counter %s", name)
	return 0
}

// TestCounters counts two fences and, from the device, the six BARs that the
// link reads before its first access.
func TestCounters(t *testing.T) {
	h := new(pc)
	link, clock, err := Open("emu", h)
	require.NoError(t, err)
	enumerate(t, link)
	require.NoError(t, submit(t, waiter{link, clock}, h, 2))
	require.NoError(t, link.Close())
	assert.EqualValues(t, 2, counter(t, link, "packets_node0"))
	assert.EqualValues(t, 0, counter(t, link, "packets_node1"))
	assert.EqualValues(t, 2, counter(t, link, "messages"))
	assert.EqualValues(t, 4, counter(t, link, "device_writes"))
	assert.EqualValues(t, 2*(8+4)+6*4, counter(t, link, "bytes_from_device"))
	assert.Equal(t, clock.Now(), counter(t, link, "clocks"))
}

func TestConfig(t *testing.T) {
	for text, change := range map[string]func(c *gpu.Config){
		"default":                     func(*gpu.Config) {},
		"full":                        func(c *gpu.Config) { c.Caps |= caps.Master | caps.MCU | caps.GART },
		"full?mcu=0&master=0&gart=0":  func(*gpu.Config) {},
		"default?mcu=1&mcumem=64KiB":  func(c *gpu.Config) { c.Caps, c.MCUBytes = c.Caps|caps.Master|caps.MCU, 64<<10 },
		"default?vramports=1&tags=8":  func(c *gpu.Config) { c.VRAMPorts, c.Tags = 1, 8 },
		"small":                       func(c *gpu.Config) { *c = gpu.Small() },
		"small?vram=64KiB&watchdog=1": func(c *gpu.Config) { *c = gpu.Small(); c.VRAMBytes, c.Caps = 64<<10, c.Caps|caps.Watchdog },
	} {
		want := gpu.Default()
		change(&want)
		got, err := Config(text)
		require.NoError(t, err)
		assert.Equal(t, want, got, text)
	}
	for text, says := range map[string]string{
		"":                     `configuration "", want full, default or small`,
		"full?master=0":        "master=0, want 1, because another capability needs it",
		"full?mcumem=4KiB":     "mcumem=4KiB, want",
		"huge?tags=4":          `configuration "huge?tags=4", want full, default or small`,
		"small?tags=17":        "tags=17, want a number from 2 to 16",
		"small?latency=1":      `unknown "latency"`,
		"small?config=default": `unknown "config"`,
	} {
		_, err := Config(text)
		assert.ErrorIs(t, err, ErrSelector, text)
		assert.ErrorContains(t, err, says)
	}
}
