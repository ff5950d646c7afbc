package gart_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/gartreg"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/dma"
	"github.com/hilgpu/hilgpu/rtl/gart"
	"github.com/hilgpu/hilgpu/rtl/regbus"
)

const (
	host  = uint64(1) << 63
	start = gartreg.Start
	page  = gartreg.PageBytes

	vramTable = uint64(0x1040)
	hostTable = host | 0x12_3456_7880
	tableSize = 64 // pages of the table of most tests
)

var params = gart.Params{HostBits: 40, VRAMBytes: 1 << 20, LengthBits: 32}

// A part is a descriptor that the engine has taken, or that a node offers.
type part struct {
	dma.Desc
	owner uint8
}

// An outcome is a result and the number of parts that were sent before it.
type outcome struct {
	result gart.Result
	of     uint8
	sent   int
}

// A read is a read of the table that is not answered.
type read struct {
	req  port.Request
	beat uint64
}

// A rig is an aperture between nodes, an engine with a queue, and memories with a table. In each
// clock it checks the rules of the streams.
type rig struct {
	t   *testing.T
	m   *gart.Module
	rng *rand.Rand
	run func(desc dma.Desc, owner uint8, in gart.In, done dma.Result, of, cancel uint8, regs regbus.Req, rst bool)

	room    int // most parts in the engine
	stall   int // per cent of clocks in which nothing is taken or answered
	latency int // clocks from a read to its first word
	moves   int // clocks from a part to its end
	frozen  bool
	bad     func(addr uint64) bool         // words that are answered with an error
	fails   func(p part, n int) dma.Result // the result of part number n
	cancel  uint8

	memory func(addr uint64) uint64 // a word that is not in words
	words  map[uint64]uint64
	queue  []part // what the nodes offer, in order
	reads  []read
	asked  []uint64 // addresses of all reads of the table
	flight []part
	ends   []int // when they end
	sent   []part
	done   int // parts that have ended
	broken [2]bool
	got    []outcome
	clock  int
	due    int

	offered part
	header  port.Request
}

func newRig(t *testing.T, seed uint64) *rig {
	m := gart.New(params)
	r := &rig{t: t, m: &m, rng: rand.New(rand.NewPCG(seed, 5)), words: map[uint64]uint64{}, room: 5, latency: 3, moves: 4}
	r.bad = func(uint64) bool { return false }
	r.fails = func(part, int) dma.Result { return dma.ResultDone }
	r.memory = func(uint64) uint64 { return 0 }
	r.run = m.Tick
	return r
}

// ready reports whether something that depends on nothing happens in this clock.
func (r *rig) ready() bool { return r.rng.IntN(100) >= r.stall }

// tick advances one clock, with an access to a register.
func (r *rig) tick(regs regbus.Req, rst bool) {
	var desc part
	if len(r.queue) > 0 && r.ready() {
		desc = r.queue[0]
		if r.m.Ready() {
			r.queue = r.queue[1:]
		}
	}
	in := gart.In{Free: r.ready(), Cpl: r.answer()}
	done, of := r.end()
	p := r.offer()
	if p.Op != dma.None && len(r.flight) < r.room && r.ready() {
		in.Taken = true
		r.take(p)
	}
	if req := r.m.Read(); req.Kind != port.None && r.ready() {
		require.Equal(r.t, port.Request{Kind: port.MemRead, Len: 16, Addr: req.Addr}, req)
		require.Zero(r.t, req.Addr%64)
		in.ReadReady = true
		r.reads = append(r.reads, read{req: req})
		r.asked, r.due, r.header = append(r.asked, req.Addr), r.clock+r.latency, port.Request{}
	}
	r.checked(desc, in, done, of, regs, rst)
	if result, node := r.m.Result(); result != gart.ResultNone {
		r.got = append(r.got, outcome{result, node, len(r.sent)})
	}
	r.clock++
}

// checked ticks the aperture. If it says that nothing changes, nothing may.
func (r *rig) checked(desc part, in gart.In, done dma.Result, of uint8, regs regbus.Req, rst bool) {
	var before, after [gart.ModuleWords]uint64
	r.m.Snapshot(before[:])
	sleeps := r.m.Sleeps(desc.Desc, in, done, regs, rst)
	quiet := r.m.IdleFor() != 0 && desc.Op == dma.None && !in.Taken && in.Cpl.Status == port.CplNone && done == dma.ResultNone
	quiet = quiet && regs.Op == regbus.None && !rst
	r.run(desc.Desc, desc.owner, in, done, of, r.cancel, regs, rst)
	r.m.Snapshot(after[:])
	if sleeps || quiet {
		require.Equal(r.t, before, after, "changed while it slept, clock %d", r.clock)
	}
}

// offer returns the part that is offered, and checks that it stays until it is taken.
func (r *rig) offer() part {
	d, owner := r.m.Desc()
	again, _ := r.m.Desc()
	require.Equal(r.t, d, again)
	p := part{d, owner}
	if r.offered.Op != dma.None {
		require.Equal(r.t, r.offered, p, "clock %d", r.clock)
	}
	r.offered = part{}
	if d.Op != dma.None {
		r.offered = p
	}
	if req := r.m.Read(); r.header.Kind != port.None {
		require.Equal(r.t, r.header, req, "clock %d", r.clock)
	} else {
		r.header = req
	}
	return p
}

// take puts a part into the engine.
func (r *rig) take(p part) {
	require.NotZero(r.t, p.Len)
	r.offered = part{}
	r.flight, r.ends = append(r.flight, p), append(r.ends, r.clock+r.moves)
	r.sent = append(r.sent, p)
}

// end returns the result of the oldest part in the engine, if it ends in this clock. A part with
// After fails if the one before it of its node has.
func (r *rig) end() (done dma.Result, of uint8) {
	if len(r.flight) == 0 || r.frozen || r.ends[0] >= r.clock || !r.ready() {
		return dma.ResultNone, uint8(r.rng.UintN(2))
	}
	p := r.flight[0]
	done = r.fails(p, r.done)
	if p.After && r.broken[p.owner] || r.cancel>>p.owner&1 != 0 {
		done = dma.ResultWriteError
	}
	r.broken[p.owner] = done != dma.ResultDone
	r.flight, r.ends, r.done = r.flight[1:], r.ends[1:], r.done+1
	return done, p.owner
}

// answer returns the next word of a read.
func (r *rig) answer() port.Completion {
	none := port.Completion{Last: r.rng.IntN(2) == 0, Data: r.rng.Uint64()}
	if len(r.reads) == 0 || r.clock < r.due || !r.ready() {
		return none
	}
	require.Len(r.t, r.reads, 1)
	q := &r.reads[0]
	addr := q.req.Addr + 8*q.beat
	q.beat++
	word, ok := r.words[addr]
	if !ok {
		word = r.memory(addr)
	}
	cpl := port.Completion{Status: port.CplSuccess, Last: q.beat == 8, Data: word}
	if r.bad(addr) {
		cpl = port.Completion{Status: port.CplUnsupported, Last: true, Data: r.rng.Uint64()}
	}
	if cpl.Last {
		r.reads = nil
	}
	return cpl
}

// access makes an access to a register, which may be retried, and returns the value of a read.
func (r *rig) access(op regbus.Op, off uint16, v uint32) uint32 {
	for range 1000 {
		r.tick(regbus.Req{Op: op, Off: gartreg.Base + off, Data: v}, false)
		rsp := r.m.Registers()
		require.True(r.t, rsp.Hit)
		r.tick(regbus.Req{}, false)
		if !rsp.Retry {
			return rsp.Data
		}
	}
	require.Fail(r.t, "an access is retried for ever")
	return 0
}

func (r *rig) set(off uint16, v uint32) { r.access(regbus.Write, off, v) }

func (r *rig) get(off uint16) uint32 { return r.access(regbus.Read, off, 0) }

// entry writes an entry at a GPU address of the table.
func (r *rig) entry(table, page, e uint64) { r.words[table+8*page] = e }

// valid returns an entry of a page of host memory, by its number.
func valid(n uint64) uint64 {
	return 0x70_0000_0000 + n*page | gartreg.EntryValid | gartreg.EntryWritable
}

// enable gives the aperture a table whose page i is page 3*i+1 of host memory.
func (r *rig) enable(table uint64, pages uint32) {
	for i := range uint64(pages+7) &^ 7 {
		r.entry(table, i, valid(3*i+1))
	}
	r.set(gartreg.TableLo, uint32(table))
	r.set(gartreg.TableHi, uint32(table>>32))
	r.set(gartreg.Pages, pages)
	r.set(gartreg.Ctl, gartreg.CtlEnable)
}

// enabled returns a rig with the usual table.
func enabled(t *testing.T, seed uint64) *rig {
	r := newRig(t, seed)
	r.enable(vramTable, tableSize)
	return r
}

// send offers descriptors of node 0 and waits for n results, or as many as there are descriptors
// if n is 0. It returns the new results.
func (r *rig) send(ds ...dma.Desc) []outcome {
	for _, d := range ds {
		r.queue = append(r.queue, part{Desc: d})
	}
	return r.wait(len(ds))
}

// wait waits for n results and returns them.
func (r *rig) wait(n int) []outcome {
	from := len(r.got)
	for end := r.clock + 20_000; len(r.got) < from+n; r.tick(regbus.Req{}, false) {
		require.Less(r.t, r.clock, end, "no result")
	}
	return r.got[from:]
}

// physical returns the address of the usual table for one in the aperture.
func physical(addr uint64) uint64 {
	return host | valid(3*((addr-start)/page)+1)&gartreg.EntryPage | addr%page
}

func copyOf(src, dst uint64, n uint32) dma.Desc {
	return dma.Desc{Op: dma.Copy, Src: src, Dst: dst, Len: n}
}

func fillOf(value, dst uint64, n uint32) dma.Desc {
	return dma.Desc{Op: dma.Fill, Src: value, Dst: dst, Len: n}
}
