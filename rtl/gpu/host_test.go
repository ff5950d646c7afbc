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
)

const (
	host     = uint64(1) << 63
	memBase  = uint64(0x1_8000_0000) // host memory starts here
	memSize  = 1 << 20
	bar0     = uint64(0xe000_0000)
	bar2     = uint64(0x4_0000_0000)
	messages = uint64(0xfee0_0000)

	ringLog2 = 12
	ringAt   = 0x1000 // in host memory; node 1's follows
	fenceAt  = 0x4000 // node 1's is 8 bytes further
)

var le = binary.LittleEndian

// hostRead is a read of the device that the host has not yet answered.
type hostRead struct {
	req  port.Request
	due  uint64
	beat int
	data []byte // sampled when the header was taken
}

// An event is a write of the device, seen when its last beat was taken.
type event struct {
	clock uint64
	addr  uint64
	data  string
}

// machine is a PC around the GPU: memory, configuration software and a driver.
type machine struct {
	t   *testing.T
	g   *gpu.GPU
	dev port.Device // g, or what is around it
	rng *rand.Rand
	mem []byte

	latency uint64 // clocks from a read's header to its first completion
	shuffle bool   // completions of different tags in any order, with gaps
	stall   int    // per cent of clocks in which a ready is low
	skip    bool   // sleep through idle clocks
	block   bool   // the initiator port takes nothing
	dam     bool   // it takes headers, and no beat

	allow func(r port.Request) bool // what the device may ask for, nil if it may all

	clock   uint64
	reads   []*hostRead
	writes  []port.Request
	written []byte // of writes[0]
	headers int    // taken from the device
	log     []event
	msgs    []uint32
	onMsg   func(data uint32)
	req     port.Request // initiator, offered and not taken
	beat    port.Beat

	wptr [2]uint32
}

// boot builds a GPU and brings it up as firmware and a driver would.
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

// power builds a GPU that nobody has configured.
func power(t *testing.T, c gpu.Config, seed uint64) *machine {
	g, err := gpu.New(c)
	require.NoError(t, err)
	m := &machine{t: t, g: g, dev: g, rng: rand.New(rand.NewPCG(seed, 7)), mem: make([]byte, memSize), latency: 10}
	m.onMsg = func(uint32) {}
	for i := range m.mem {
		m.mem[i] = byte(m.rng.Uint32())
	}
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

func (m *machine) ready() bool { return m.stall == 0 || m.rng.IntN(100) >= m.stall }

// tick is one clock with the given inputs of the target port. What it and its
// callers check in every clock is compared here: an assertion that holds costs
// more than a clock of the device.
func (m *machine) tick(req port.Request, beat port.Beat, cplReady bool) {
	r, b := m.dev.Initiator()
	m.stable(r, b)
	reqReady := m.ready() && !m.block
	// A beat of a header that is taken in this clock is legal too.
	dataReady := (len(m.writes) > 0 || reqReady && r.Kind == port.MemWrite) && m.ready() && !m.block && !m.dam
	cpl := m.complete()
	idle := m.dev.IdleFor()
	m.dev.Tick(req, beat, cplReady, cpl, reqReady, dataReady)
	m.clock++
	if r.Kind != port.None && reqReady {
		m.header(r)
		m.req = port.Request{}
	}
	if b.Valid && dataReady {
		m.take(b)
		m.beat = port.Beat{}
	}
	if idle > 0 && req.Kind == port.None && !beat.Valid && cpl.Status == port.CplNone {
		r, b := m.dev.Initiator()
		if r.Kind != port.None || b.Valid || m.dev.IdleFor() < idle-1 {
			require.Fail(m.t, "woke without an input", "clock %d", m.clock)
		}
	}
}

// stable checks that what was offered and not taken is offered again.
func (m *machine) stable(r port.Request, b port.Beat) {
	if m.req.Kind != port.None && m.req != r {
		require.Equal(m.t, m.req, r, "clock %d", m.clock)
	}
	if m.beat.Valid && m.beat != b {
		require.Equal(m.t, m.beat, b, "clock %d", m.clock)
	}
	m.req, m.beat = r, b
}

// header takes a header of the device.
func (m *machine) header(r port.Request) {
	require.True(m.t, r.Kind == port.MemRead || r.Kind == port.MemWrite)
	require.True(m.t, r.Addr%4 == 0 && r.Len >= 1 && r.Len <= port.MaxLen)
	require.Equal(m.t, r.Addr/128, (r.Addr+4*uint64(r.Len)-1)/128, "crosses 128 bytes")
	require.Zero(m.t, r.Addr&host)
	require.True(m.t, m.allow == nil || m.allow(r), "%+v", r)
	m.headers++
	if r.Kind == port.MemWrite {
		m.writes = append(m.writes, r)
		return
	}
	for _, o := range m.reads {
		require.NotEqual(m.t, o.req.Tag, r.Tag, "tag in use")
	}
	h := &hostRead{req: r, due: m.clock + m.latency}
	if off, end := r.Addr-memBase, r.Addr-memBase+4*uint64(r.Len); off < memSize && end <= memSize {
		h.data = append([]byte(nil), m.mem[off:end]...)
	}
	m.reads = append(m.reads, h)
}

// take takes a beat of the device.
func (m *machine) take(b port.Beat) {
	require.NotEmpty(m.t, m.writes, "a beat without a header")
	w := m.writes[0]
	at := w.Addr&^7 + uint64(len(m.written))
	for i := range uint64(8) {
		v := byte(b.Data >> (8 * i))
		m.written = append(m.written, v)
		if b.Enable>>i&1 == 0 {
			continue
		}
		require.True(m.t, at+i >= w.Addr && at+i < w.Addr+4*uint64(w.Len), "lane outside the header's range")
		if at+i-memBase < memSize {
			m.mem[at+i-memBase] = v
		}
	}
	last := len(m.written) == 8*int(port.Beats(w.Addr, w.Len))
	require.Equal(m.t, last, b.Last)
	if last {
		m.log = append(m.log, event{m.clock, w.Addr, string(m.written)})
		if w.Addr == messages {
			data := le.Uint32(m.written)
			m.msgs = append(m.msgs, data)
			m.onMsg(data)
		}
		m.writes, m.written = m.writes[1:], nil
	}
}

// complete returns the completion of this clock.
func (m *machine) complete() port.Completion {
	pick := -1
	for i, r := range m.reads {
		if r.due <= m.clock && (pick < 0 || m.shuffle && m.rng.IntN(2) == 0) {
			pick = i
		}
	}
	if pick < 0 || m.shuffle && m.rng.IntN(4) == 0 {
		return port.Completion{}
	}
	r := m.reads[pick]
	c := port.Completion{Tag: r.req.Tag, Status: port.CplUnsupported, Last: true}
	if r.data != nil {
		c.Status, c.Data = port.CplSuccess, m.rng.Uint64() // lanes outside the request
		for i := range uint64(8) {
			if off := r.req.Addr&^7 + 8*uint64(r.beat) + i - r.req.Addr; off < uint64(len(r.data)) {
				c.Data = c.Data&^(0xff<<(8*i)) | uint64(r.data[off])<<(8*i)
			}
		}
		r.beat++
		c.Last = r.beat == int(port.Beats(r.req.Addr, r.req.Len))
	}
	if c.Last {
		m.reads = append(m.reads[:pick:pick], m.reads[pick+1:]...)
	}
	return c
}

// run runs until done, at most limit clocks, asleep where that is allowed.
func (m *machine) run(limit uint64, done func() bool) {
	for end := m.clock + limit; !done(); {
		if m.clock >= end {
			require.Fail(m.t, "time-out", "clock %d", m.clock)
		}
		n := min(m.dev.IdleFor(), end-m.clock)
		for _, r := range m.reads {
			n = min(n, max(r.due, m.clock)-m.clock)
		}
		if n > 0 && m.skip {
			m.dev.Skip(n)
			m.clock += n
			continue
		}
		m.tick(port.Request{}, port.Beat{}, true)
	}
}

// idle runs until nothing is in flight.
func (m *machine) idle() {
	m.run(200000, func() bool {
		return m.dev.IdleFor() == math.MaxUint64 && len(m.reads) == 0 && len(m.writes) == 0
	})
}

// send sends a request of the host with its beats, and returns its completions'
// status and beats.
func (m *machine) send(req port.Request, beats []port.Beat) (port.Status, []uint64) {
	var data []uint64
	status := port.CplNone
	sent := false
	posted := req.Kind == port.MemWrite
	for end := m.clock + 20000; !sent || len(beats) > 0 || !posted && status == port.CplNone; {
		if m.clock >= end {
			require.Fail(m.t, "time-out", "target request %+v, clock %d", req, m.clock)
		}
		c, reqReady, dataReady := m.dev.Target()
		cplReady := m.ready()
		var r port.Request
		var b port.Beat
		if !sent {
			r = req
		}
		if len(beats) > 0 && (sent || m.stall == 0) {
			b = beats[0]
		}
		m.tick(r, b, cplReady)
		if r.Kind != port.None && reqReady {
			sent = true
		}
		if b.Valid && dataReady {
			beats = beats[1:]
		}
		if c.Status != port.CplNone && cplReady {
			require.Equal(m.t, req.Tag, c.Tag)
			data = append(data, c.Data)
			if c.Last {
				status = c.Status
			}
		}
	}
	return status, data
}

func (m *machine) readConfig(off uint64) uint32 {
	s, d := m.send(port.Request{Kind: port.CfgRead, Tag: 9, Len: 1, Addr: off}, nil)
	require.Equal(m.t, port.CplSuccess, s)
	return uint32(d[0] >> (8 * (off & 4)))
}

func (m *machine) writeConfig(off uint64, v uint32) {
	s, _ := m.send(port.Request{Kind: port.CfgWrite, Tag: 9, Len: 1, Addr: off}, dwordBeat(off, v))
	require.Equal(m.t, port.CplSuccess, s)
}

func dwordBeat(addr uint64, v uint32) []port.Beat {
	n := addr & 4
	return []port.Beat{{Valid: true, Last: true, Enable: 0xf << n, Data: uint64(v) << (8 * n)}}
}

func (m *machine) writeReg(off uint64, v uint32) {
	m.send(port.Request{Kind: port.MemWrite, Len: 1, Addr: bar0 + off}, dwordBeat(off, v))
}

func (m *machine) readReg(off uint64) uint32 {
	s, d := m.send(port.Request{Kind: port.MemRead, Tag: 3, Len: 1, Addr: bar0 + off}, nil)
	require.Equal(m.t, port.CplSuccess, s, "register %#x", off)
	return uint32(d[0] >> (8 * (off & 4)))
}

func (m *machine) node(n int, reg uint64) uint32 {
	return m.readReg(uint64(cpreg.Base+n*cpreg.Stride) + reg)
}

// writeBAR2 writes bytes to VRAM as the host does, readBAR2 reads them.
func (m *machine) writeBAR2(off uint64, p []byte) {
	for len(p) > 0 {
		n := min(uint64(len(p)), 128-off%128)
		var beats []port.Beat
		for a := off &^ 7; a < off+n; a += 8 {
			b := port.Beat{Valid: true, Last: a+8 >= off+n}
			for i := range uint64(8) {
				if a+i >= off && a+i < off+n {
					b.Enable |= 1 << i
					b.Data |= uint64(p[a+i-off]) << (8 * i)
				}
			}
			beats = append(beats, b)
		}
		m.send(port.Request{Kind: port.MemWrite, Len: uint8((off&3 + n + 3) / 4), Addr: bar2 + off&^3}, beats)
		off, p = off+n, p[n:]
	}
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

// A packet is anything that can be appended to a ring.
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

// submit puts packets into a node's ring and rings its doorbell.
func (m *machine) submit(n int, ps ...packet) { m.submitBytes(n, encode(m.t, ps...)) }

func (m *machine) submitBytes(n int, b []byte) {
	const size = 1 << ringLog2
	for i, v := range b {
		m.mem[ringAt+n*size+(4*int(m.wptr[n])+i)%size] = v
	}
	m.wptr[n] = (m.wptr[n] + uint32(len(b)/4)) % (size / 4)
	m.writeReg(uint64(cpreg.Base+n*cpreg.Stride)+cpreg.Wptr, m.wptr[n])
}

// fence returns the fence that a node has written to memory.
func (m *machine) fence(n int) uint64 { return le.Uint64(m.mem[fenceAt+8*n:]) }

// at returns the host address of an offset in host memory, as the GPU sees it.
func at(off uint64) uint64 { return host | memBase + off }
