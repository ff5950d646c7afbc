package gpu_test

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/intcreg"
	"github.com/hilgpu/hilgpu/rtl/abi/msixreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pcicfg"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/gpu"
	"github.com/hilgpu/hilgpu/rtl/hostbfm"
)

const (
	host     = uint64(1) << 63
	memBase  = uint64(0x1_8000_0000) // bus address of host memory
	memSize  = 1 << 20
	bar0     = uint64(0xe000_0000)
	bar2     = uint64(0x4_0000_0000)
	messages = uint64(0xfee0_0000)

	ringLog2 = 12
	ringAt   = 0x1000 // node 0's ring in host memory; node 1's follows it
	fenceAt  = 0x4000 // node 0's fence; node 1's follows it
)

var le = binary.LittleEndian

// An event is a write by the device, logged when its last beat was accepted.
type event struct {
	clock uint64
	addr  uint64
	data  string
}

// A machine is a PC around the GPU: memory, configuration software and a driver.
type machine struct {
	t   *testing.T
	g   *gpu.GPU
	dev port.Device // g, or a wrapper of g
	rng *rand.Rand
	mem []byte

	latency   uint64 // clocks from a read's header to its first completion
	shuffle   bool   // complete reads with different tags in any order, with gaps
	stall     int    // percentage of clocks in which a ready is low
	skip      bool   // sleep through idle clocks
	block     bool   // the initiator port accepts neither headers nor beats
	holdBeats bool   // the initiator port accepts headers but no beats

	allow func(r port.Request) bool // reports whether a request is allowed; nil: all are

	bus     *hostbfm.Bus
	clock   uint64
	headers int // headers accepted from the device
	log     []event
	msgs    []uint32
	onMsg   func(data uint32)

	wptr [2]uint32
}

// boot builds a GPU and configures it as firmware and a driver would.
func boot(t *testing.T, c gpu.Config, seed uint64) *machine {
	m := power(t, c, seed)
	m.configure()
	return m
}

func (m *machine) configure() {
	m.writeConfig(pcicfg.BAR0, uint32(bar0))
	m.writeConfig(pcicfg.BAR2, uint32(bar2&math.MaxUint32))
	m.writeConfig(pcicfg.BAR3, uint32(bar2>>32))
	m.writeConfig(pcicfg.Command, pcicfg.CommandMemory|pcicfg.CommandBusMaster)
	for v := range uint64(pcicfg.Vectors) {
		at := uint64(msixreg.Base) + v*msixreg.Stride
		m.writeReg(at+msixreg.AddrLo, uint32(messages))
		m.writeReg(at+msixreg.Data, 0x50+uint32(v))
		m.writeReg(at+msixreg.Control, 0)
	}
	m.writeConfig(pcicfg.MSIX, pcicfg.MSIXEnable)
	m.writeReg(intcreg.Base+intcreg.Mask, intcreg.All)
	for n := range m.g.Config().Nodes {
		m.startNode(n)
	}
}

// power builds a GPU and leaves it unconfigured.
func power(t *testing.T, c gpu.Config, seed uint64) *machine {
	g, err := gpu.New(c)
	require.NoError(t, err)
	rng := rand.New(rand.NewPCG(seed, 7))
	m := &machine{t: t, g: g, dev: g, rng: rng, mem: make([]byte, memSize), latency: 10, onMsg: func(uint32) {}}
	for i := range m.mem {
		m.mem[i] = byte(rng.Uint32())
	}
	m.bus = &hostbfm.Bus{Rng: rng, Mem: m.mem, Base: memBase, BARs: hostbfm.BARs{BAR0: bar0, BAR2: bar2}, Took: m.header, Wrote: m.wrote}
	return m
}

func (m *machine) startNode(n int) {
	base := uint64(cpreg.Base + n*cpreg.Stride)
	m.writeReg(base+cpreg.RingLo, uint32((memBase+ringAt)&math.MaxUint32)+uint32(n)<<ringLog2)
	m.writeReg(base+cpreg.RingHi, uint32((host|memBase)>>32))
	m.writeReg(base+cpreg.RingSize, ringLog2)
	m.writeReg(base+cpreg.Ctl, cpreg.CtlRun)
	m.wptr[n] = 0
}

// tick runs one clock. Checks in it and in its callers avoid assert: a passing assertion
// costs more than a clock of the device.
func (m *machine) tick() {
	answers := 0
	if m.shuffle {
		answers = 25
	}
	m.bus.Dev = m.dev
	m.bus.Timing = hostbfm.Timing{Stall: [4]int{m.stall, m.stall, m.stall, answers}, Latency: m.latency, Shuffle: m.shuffle}
	m.bus.HoldHeaders, m.bus.HoldBeats = m.block, m.holdBeats
	idle := m.dev.IdleFor()
	driven := m.bus.Step()
	m.clock = m.bus.Clocks
	if m.bus.Err != nil {
		require.NoError(m.t, m.bus.Err)
	}
	if idle > 0 && !driven {
		r, b := m.dev.Initiator()
		if r.Kind != port.None || b.Valid || m.dev.IdleFor() < idle-1 {
			require.Fail(m.t, "the GPU woke without an input", "clock %d", m.clock)
		}
	}
}

// ticks runs n clocks.
func (m *machine) ticks(n uint64) {
	for range n {
		m.tick()
	}
}

// header is called for each header of the device.
func (m *machine) header(r port.Request) {
	require.True(m.t, m.allow == nil || m.allow(r), "%+v", r)
	m.headers++
}

// wrote is called for each write by the device.
func (m *machine) wrote(w port.Request, beats []byte) {
	m.clock = m.bus.Clocks
	m.log = append(m.log, event{m.clock, w.Addr, string(beats)})
	if w.Addr == messages {
		data := le.Uint32(beats)
		m.msgs = append(m.msgs, data)
		m.onMsg(data)
	}
}

// run runs until done, for at most limit clocks, asleep if skip is set.
func (m *machine) run(limit uint64, done func() bool) {
	for end := m.clock + limit; !done(); {
		if m.clock >= end {
			require.Fail(m.t, "time-out", "clock %d", m.clock)
		}
		n := min(m.dev.IdleFor(), end-m.clock, m.bus.Quiet())
		if n > 0 && m.skip {
			m.bus.Dev = m.dev
			m.bus.Skip(n)
			m.clock = m.bus.Clocks
			continue
		}
		m.tick()
	}
}

// idle runs until nothing is in flight.
func (m *machine) idle() {
	m.run(200000, func() bool {
		return m.dev.IdleFor() == math.MaxUint64 && len(m.bus.Reads) == 0 && len(m.bus.Writes) == 0
	})
}

// settled runs until all queued requests of the host are complete.
func (m *machine) settled() {
	for end := m.clock + 20000; m.bus.Busy(); m.tick() {
		if m.clock >= end {
			require.Fail(m.t, "time-out", "target, clock %d", m.clock)
		}
	}
}

// send sends a request of the host with its beats and returns the status and the data of
// its completions.
func (m *machine) send(req port.Request, beats []port.Beat) (status port.Status, data []uint64) {
	m.bus.Queue(hostbfm.Op{Req: req, Beats: beats, Done: func(s port.Status, d []uint64) { status, data = s, d }})
	m.settled()
	return status, data
}

func (m *machine) readConfig(off uint64) uint32 {
	s, d := m.send(port.Request{Kind: port.CfgRead, Tag: 9, Len: 1, Addr: off}, nil)
	require.Equal(m.t, port.CplSuccess, s)
	return uint32(d[0] >> (8 * (off & 4)))
}

func (m *machine) writeConfig(off uint64, v uint32) {
	m.bus.SetConfig(off, v)
	m.settled()
}

func (m *machine) writeReg(off uint64, v uint32) {
	m.bus.SetReg(off, v)
	m.settled()
}

func (m *machine) readReg(off uint64) uint32 {
	s, d := m.send(port.Request{Kind: port.MemRead, Tag: 3, Len: 1, Addr: bar0 + off}, nil)
	require.Equal(m.t, port.CplSuccess, s, "register %#x", off)
	return uint32(d[0] >> (8 * (off & 4)))
}

func (m *machine) node(n int, reg uint64) uint32 {
	return m.readReg(uint64(cpreg.Base+n*cpreg.Stride) + reg)
}

// writeBAR2 writes bytes to VRAM as the host does. readBAR2 reads them.
func (m *machine) writeBAR2(off uint64, p []byte) {
	m.bus.Store(off, p)
	m.settled()
}

func (m *machine) readBAR2(off uint64, n int) []byte {
	var p []byte
	for n > 0 {
		k := min(uint64(n), 128-off%128)
		req := port.Request{Kind: port.MemRead, Tag: 0x77, Len: uint8((off&3 + k + 3) / 4), Addr: bar2 + off&^3}
		s, d := m.send(req, nil)
		require.Equal(m.t, port.CplSuccess, s)
		require.Len(m.t, d, int(port.Beats(req.Addr, req.Len)))
		for i := range k {
			at := off&7 + i
			p = append(p, byte(d[at/8]>>(8*(at%8))))
		}
		off, n = off+k, n-int(k)
	}
	return p
}

// A packet can be appended to a ring.
type packet interface {
	Append(b []byte) ([]byte, error)
}

func encode(t *testing.T, ps ...packet) []byte {
	var b []byte
	for _, p := range ps {
		var err error
		b, err = p.Append(b)
		require.NoError(t, err)
	}
	return b
}

// submit writes packets into a node's ring and rings its doorbell.
func (m *machine) submit(n int, ps ...packet) { m.submitBytes(n, encode(m.t, ps...)) }

func (m *machine) submitBytes(n int, b []byte) {
	const size = 1 << ringLog2
	for i, v := range b {
		m.mem[ringAt+n*size+(4*int(m.wptr[n])+i)%size] = v
	}
	m.wptr[n] = (m.wptr[n] + uint32(len(b)/4)) % (size / 4)
	m.writeReg(uint64(cpreg.Base+n*cpreg.Stride)+cpreg.Wptr, m.wptr[n])
}

// fence returns the fence value that a node has written to memory.
func (m *machine) fence(n int) uint64 { return le.Uint64(m.mem[fenceAt+8*n:]) }

// at returns the GPU address of an offset in host memory.
func at(off uint64) uint64 { return host | memBase + off }
