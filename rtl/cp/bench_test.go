package cp

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/dma"
	"github.com/hilgpu/hilgpu/rtl/fence"
	"github.com/hilgpu/hilgpu/rtl/regbus"
	"github.com/hilgpu/hilgpu/rtl/regram"
)

const (
	host      = uint64(1) << 63
	vramSize  = 1 << 16
	hostSize  = 1 << 16
	ringAt    = host | 0x4000
	maxClocks = 4_000_000 // more clocks than the longest test takes
)

// A bench connects a command processor to a real fence unit and to simple models of memory
// and of the DMA engine. Host memory is small. The node may read addresses above it, and
// such reads are answered with an error.
type bench struct {
	t     *testing.T
	cp    Module
	fence fence.Module
	vram  []byte
	host  []byte

	latency int        // clocks from a fetch to the first beat of its completion
	dmaTime int        // clocks from a descriptor to its completion
	rng     *rand.Rand // source of random stalls; nil: no stalls
	refuse  bool       // refuse writes
	busy    bool       // the engine takes no descriptor
	fails   int        // number of the descriptor that fails, from 1 on; 0: none
	broken  bool       // the last descriptor has failed
	hole    uint64     // reads of these 128 bytes are answered with an error; 0: of none
	check   bool       // check IdleFor in each clock
	full    uint64     // first clock in which scratch writes are accepted

	clock   uint64
	cpls    []timedCpl
	moves   []timedMove
	descs   []dma.Desc
	fetches []port.Request
	scratch []regram.Scratch
	events  int
	faults  int
	yields  int
	event   uint64 // clock of the last event
	other   uint64 // timeline of node 1
	levels  [2]uint64
	wptr    uint32
	slots   uint32 // size of the ring in dwords
}

type timedCpl struct {
	at  uint64
	cpl port.Completion
}

type timedMove struct {
	at   uint64
	desc dma.Desc
	data []byte // the source of a copy, read when the descriptor was accepted
}

func newBench(t *testing.T) *bench {
	return newBenchOf(t, Params{HostBits: 40, VRAMBytes: vramSize, LengthBits: 32, Nodes: 2, Caps: caps.All()})
}

func newBenchOf(t *testing.T, p Params) *bench {
	return &bench{
		t: t, cp: New(0, p), fence: fence.New(0, p.Caps.Has(caps.Timeline), p.Caps.Has(caps.Signal)),
		vram: make([]byte, vramSize), host: make([]byte, hostSize),
		latency: 4, dmaTime: 6,
	}
}

// start sets up a ring of 2^log2 bytes at base and starts the node.
func (b *bench) start(base uint64, log2 uint32) {
	b.write(cpreg.RingLo, uint32(base))
	b.write(cpreg.RingHi, uint32(base>>32))
	b.write(cpreg.RingSize, log2)
	b.slots = 1 << log2 / 4
	b.write(cpreg.Ctl, cpreg.CtlRun)
}

// mem returns n bytes at a GPU address, or nil.
func (b *bench) mem(addr, n uint64) []byte {
	m := b.vram
	if addr&host != 0 {
		m = b.host
	}
	addr &^= host
	if addr >= uint64(len(m)) || n > uint64(len(m))-addr {
		return nil
	}
	return m[addr : addr+n]
}

func (b *bench) put(addr uint64, dwords ...uint32) {
	for i, d := range dwords {
		binary.LittleEndian.PutUint32(b.mem(addr+uint64(i)*4, 4), d)
	}
}

// ringBase returns RING_BASE.
func (b *bench) ringBase() uint64 {
	return b.cp.file.ram.Word(fileAt + uint32(place(slotRegs, wordRing)))
}

// push writes dwords to the ring without a doorbell.
func (b *bench) push(dwords ...uint32) {
	base := b.ringBase()
	for _, d := range dwords {
		b.put(base+uint64(b.wptr)*4, d)
		b.wptr = (b.wptr + 1) % b.slots
	}
}

func (b *bench) doorbell() { b.write(cpreg.Wptr, b.wptr) }

// run pushes dwords, rings the doorbell, and ticks until the node is idle.
func (b *bench) run(dwords ...uint32) {
	b.push(dwords...)
	b.doorbell()
	b.idle()
}

func (b *bench) idle() {
	for range 200000 {
		if b.cp.idle() {
			return
		}
		b.tick(regbus.Req{})
	}
	b.t.Fatalf("the node is not idle after 200000 clocks: state %d", b.cp.decode.state)
}

func (b *bench) write(off uint16, v uint32) {
	b.access(regbus.Req{Op: regbus.Write, Off: cpreg.Base + off, Data: v})
}

func (b *bench) read(off uint16) uint32 {
	b.access(regbus.Req{Op: regbus.Read, Off: cpreg.Base + off})
	rsp, other := b.cp.Rsp(), b.fence.Rsp()
	require.True(b.t, rsp.Hit != other.Hit, "offset %#x", off)
	return rsp.Data | other.Data
}

// access repeats an access until it is not retried.
func (b *bench) access(r regbus.Req) {
	b.tick(r)
	for b.cp.Rsp().Retry {
		b.tick(regbus.Req{})
		b.tick(r)
	}
}

func (b *bench) stall() bool { return b.rng != nil && b.rng.IntN(3) == 0 }

// tick runs one clock.
func (b *bench) tick(regs regbus.Req) {
	mem, d := b.memory(), b.engine()
	f := Fence{Ready: b.fence.Ready(), Result: b.fence.Result(), Node0: b.fence.Timeline(), Node1: b.other}
	freq := b.cp.Fence()
	wreq, wbeat := b.fence.Write()
	wready := !b.stall()
	if wreq.Kind != port.None && wready && !b.refuse {
		binary.LittleEndian.PutUint64(b.mem(freq.Addr, 8), wbeat.Data)
	}
	if s := b.cp.Scratch(); s.Valid && b.clock >= b.full && !b.stall() {
		mem.Scratch = true
		b.scratch = append(b.scratch, s)
	}
	if b.check {
		b.checkIdle(mem, d, f, regs)
	}
	b.levels = [2]uint64{f.Node0, f.Node1}
	b.cp.Tick(mem, d, f, uint32(b.clock), regs, false)
	b.fence.Tick(freq, b.clock, wready, wready, b.refuse && wready && wreq.Kind != port.None, regs, false)
	b.clock++
	if b.clock > maxClocks {
		b.t.Fatalf("the test does not end: state %d", b.cp.decode.state)
	}
	if b.cp.Fault() {
		b.faults++
	}
	if b.cp.Preempted() {
		b.yields++
	}
	if b.fence.Event() {
		b.events++
		b.event = b.clock
	}
}

// memory accepts a fetch and returns the beat of a completion that is due.
func (b *bench) memory() Mem {
	req := b.cp.Fetch()
	require.Equal(b.t, req, b.cp.Fetch())
	m := Mem{Ready: !b.stall()}
	if req.Kind != port.None && m.Ready {
		b.fetches = append(b.fetches, req)
		b.answer(req)
	}
	if len(b.cpls) != 0 && b.cpls[0].at <= b.clock && !b.stall() {
		m.Cpl = b.cpls[0].cpl
		b.cpls = b.cpls[1:]
	}
	return m
}

func (b *bench) answer(req port.Request) {
	require.Equal(b.t, port.MemRead, req.Kind)
	require.NotZero(b.t, req.Len)
	last := req.Addr + uint64(req.Len)*4 - 1
	require.Equal(b.t, req.Addr/128, last/128, "crosses 128 bytes")
	first := b.clock + uint64(b.latency)
	n := port.Beats(req.Addr, req.Len)
	for i := range n {
		c := port.Completion{Tag: req.Tag, Status: port.CplSuccess, Last: i == n-1}
		p := b.mem(req.Addr&^7+uint64(i)*8, 8)
		if p == nil || b.hole != 0 && req.Addr/128 == b.hole/128 {
			c.Status, c.Last = port.CplUnsupported, true
		} else {
			c.Data = binary.LittleEndian.Uint64(p)
		}
		b.cpls = append(b.cpls, timedCpl{first + uint64(i), c})
		if c.Last {
			break
		}
	}
}

// engine accepts a descriptor and completes the one that is due. It reads as early and writes
// as late as it may.
func (b *bench) engine() DMA {
	desc := b.cp.Desc()
	d := DMA{Ready: !b.stall() && !b.busy}
	if desc.Op != dma.None && d.Ready {
		b.descs = append(b.descs, desc)
		move := timedMove{at: b.clock + uint64(b.dmaTime), desc: desc}
		if desc.Op == dma.Copy {
			move.data = append(move.data, b.mem(desc.Src, uint64(desc.Len))...)
		}
		b.moves = append(b.moves, move)
	}
	if len(b.moves) != 0 && b.moves[0].at <= b.clock {
		move := b.moves[0]
		desc = move.desc
		b.moves = b.moves[1:]
		cancelled := desc.After && b.broken
		failed := len(b.descs)-len(b.moves) == b.fails
		d.Err = !cancelled && desc.Op == dma.Copy && (failed || move.data == nil)
		d.WriteErr = !d.Err && (cancelled || failed || b.refuse || b.mem(desc.Dst, uint64(desc.Len)) == nil)
		d.Done = !d.Err && !d.WriteErr
		b.broken = !d.Done
		if d.Done {
			b.move(move)
		}
	}
	return d
}

func (b *bench) move(m timedMove) {
	d := m.desc
	dst := b.mem(d.Dst, uint64(d.Len))
	if d.Op == dma.Copy {
		copy(dst, m.data)
		return
	}
	for i := range dst {
		dst[i] = byte(d.Src >> (8 * (i % 8)))
	}
}

// checkIdle checks that a clock without input changes nothing if the node reports that it
// sleeps.
func (b *bench) checkIdle(mem Mem, d DMA, f Fence, regs regbus.Req) {
	taken := d.Ready && b.cp.Desc().Op != dma.None
	quiet := mem.Cpl.Status == port.CplNone && !taken && !d.Done && !d.Err && !d.WriteErr
	quiet = quiet && b.levels == [2]uint64{f.Node0, f.Node1}
	if b.cp.IdleFor() == 0 || !quiet || f.Result != fence.ResultNone || regs.Op != regbus.None {
		return
	}
	require.Equal(b.t, uint64(math.MaxUint64), b.cp.IdleFor())
	was, next := b.cp, b.cp
	next.Tick(mem, d, f, 0, regs, false)
	was.nap = next.nap
	require.True(b.t, reflect.DeepEqual(was, next), "a sleeping node changed: state %d", was.decode.state)
}

// widths checks that each field fits into its width.
func widths(t *testing.T, v reflect.Value) {
	for i := range v.NumField() {
		f, tag := v.Field(i), v.Type().Field(i)
		if f.Kind() == reflect.Struct {
			widths(t, f)
		}
		if w := tag.Tag.Get("w"); w != "" {
			n, err := strconv.Atoi(w)
			require.NoError(t, err)
			require.Zero(t, f.Uint()>>n, tag.Name)
		}
	}
}

func (b *bench) fault() string {
	return fmt.Sprintf("%s at %#x op %#08x bad %#x", cpreg.Causes[b.read(cpreg.FaultInfo)],
		uint64(b.read(cpreg.FaultHi))<<32|uint64(b.read(cpreg.FaultLo)), b.read(cpreg.FaultOp),
		uint64(b.read(cpreg.FaultBadH))<<32|uint64(b.read(cpreg.FaultBad)))
}
