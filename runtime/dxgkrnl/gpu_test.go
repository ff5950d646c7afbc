package dxgkrnl

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/hilgpu/hilgpu/runtime/hal"
)

// Addresses as seen by the fake GPU.
const (
	vramBase     = 0x100000
	hostBase     = 1 << 62
	apertureBase = 1 << 40
)

// Registers of the fake GPU, offsets in BAR 0.
const (
	regStatus   = 0x00 // bit i: node i has an event; write 1 to clear
	regFault    = 0x04 // node that faulted, plus 1
	regDoorbell = 0x08
	regStopped  = 0x0c // bit i: node i has answered PREEMPT; write 1 to clear
	regFence    = 0x40 // one dword per node
	msixTable   = 0x8000
)

// Commands of the fake GPU: 32 bytes, dwords op and n, quadwords src, dst and
// value.
const (
	opNop = iota
	opCopy
	opFill
	opFault
	opMap   // gives page n of the aperture the page of host memory at src
	opFlush // of the entries of the aperture that are kept
	opHang  // never ends
	opBytes = 32
	srcAt   = 8
	dstAt   = 16
)

var le = binary.LittleEndian

func encodeOp(op, n uint32, src, dst, value uint64) []byte {
	b := le.AppendUint32(nil, op)
	b = le.AppendUint32(b, n)
	b = le.AppendUint64(b, src)
	b = le.AppendUint64(b, dst)
	return le.AppendUint64(b, value)
}

// work is a submission: bytes [start, end) of host memory, then a fence.
type work struct {
	addr  uint64
	bytes uint32
	fence uint32
	part  uint32 // its start in the buffer
	place []byte // private data, where the place is kept at which it was stopped, and its part
}

// gpu is a device with a few registers that hal can enumerate: its link, its
// clock and its engines. A job executes at once when it completes.
type gpu struct {
	machine *hal.Machine
	config  [64]uint32
	bar0    [0x10000]byte
	vram    []byte
	now     uint64
	hz      uint64 // of the clock; 0: 1000
	latency uint64 // ticks per job
	spent   uint64 // of the latency of the next job, by waits that ended before it

	auto       bool        // Wait completes jobs
	ignores    bool        // jobs complete without being executed
	onComplete func()      // called before a job completes
	onWait     func()      // called by Wait
	acts       func() bool // decides what happens in Wait, and reports false if only time passes; nil: auto does
	onNow      func()      // called when the time is read, as if between two accesses
	choose     func() int  // node to complete next, if it has a job; nil: the lowest
	lostIRQ    bool        // interrupts do not arrive
	hidden     bool        // BAR 2 has no memory
	storm      bool        // each read of the status sends a message again
	timeless   bool        // accesses and what acts decides take no time
	queues     [][]work
	capacity   int            // maximum number of jobs per node
	entries    []uint64       // of the aperture, by page; 0: not mapped
	kept       map[int]uint64 // entries that were used since the last flush
	linkErr    error
	err        error // an error in the test's use of the GPU
}

func newGPU(m *hal.Machine, vram, nodes, capacity int) *gpu {
	g := &gpu{machine: m, vram: make([]byte, vram), queues: make([][]work, nodes), latency: 10, auto: true, capacity: capacity, kept: map[int]uint64{}}
	g.config[0] = 0x4847<<16 | 0x1234
	g.config[1] = 1 << 20
	g.config[0x34/4] = 0x40
	g.config[0x40/4] = 1<<16 | 0x11
	g.config[0x44/4] = msixTable
	return g
}

func (g *gpu) ReadConfig(off int) (uint32, error) { return g.config[off/4], g.linkErr }

func (g *gpu) WriteConfig(off int, v uint32) error {
	switch off {
	case 0x04:
		g.config[1] = v&0xffff | 1<<20
	case 0x10:
		g.config[4] = v &^ (uint32(len(g.bar0)) - 1)
	case 0x18:
		g.config[6] = v&^(uint32(len(g.vram))-1) | 0xc
	case 0x1c:
		g.config[7] = v
	case 0x40:
		g.config[16] = v&(3<<30) | 1<<16 | 0x11
	}
	return g.linkErr
}

func (g *gpu) Read(bar int, off uint64, p []byte) error {
	g.tick()
	if g.linkErr != nil {
		return g.linkErr
	}
	copy(p, g.bar(bar)[off:])
	g.checkBAR(bar)
	if g.storm && bar == 0 && off == regStatus {
		g.interrupt(0)
	}
	return nil
}

func (g *gpu) Write(bar int, off uint64, p []byte) error {
	if g.linkErr != nil {
		return g.linkErr
	}
	if bar == 0 && (off == regStatus || off == regStopped) {
		le.PutUint32(g.bar0[off:], le.Uint32(g.bar0[off:])&^le.Uint32(p))
		return nil
	}
	copy(g.bar(bar)[off:], p)
	g.checkBAR(bar)
	return nil
}

// checkBAR fails for an access to VRAM that the CPU cannot see.
func (g *gpu) checkBAR(bar int) {
	if bar == 2 && g.hidden {
		g.fail("an access to VRAM that is not in a BAR")
	}
}

func (g *gpu) bar(i int) []byte {
	if i == 2 {
		return g.vram
	}
	return g.bar0[:]
}

func (g *gpu) Close() error { return nil }

func (g *gpu) Now() uint64 {
	if g.onNow != nil {
		g.onNow()
	}
	return g.now
}

func (g *gpu) Hz() uint64 { return cmp.Or(g.hz, 1000) }

// Wait completes one job if auto is set and the deadline leaves it the time.
func (g *gpu) Wait(deadline uint64) (bool, error) {
	if g.onWait != nil {
		g.onWait()
	}
	if g.linkErr != nil {
		return false, g.linkErr
	}
	if g.acts != nil {
		if g.acts() {
			g.tick()
			return true, nil
		}
		g.now = max(g.now, deadline)
		return false, nil
	}
	left := g.latency - min(g.spent, g.latency)
	if g.auto && g.now+left <= deadline && g.step() {
		g.now += left
		g.spent = 0
		return !g.lostIRQ, nil
	}
	if g.auto && slices.ContainsFunc(g.queues, func(q []work) bool { return len(q) > 0 }) {
		g.spent += max(g.now, deadline) - g.now
	}
	g.now = max(g.now, deadline)
	return false, nil
}

// tick lets a tick pass.
func (g *gpu) tick() {
	if !g.timeless {
		g.now++
	}
}

// step completes a job of the node that choose returns, or else of the lowest
// node.
func (g *gpu) step() bool {
	first := 0
	if g.choose != nil {
		first = g.choose()
	}
	for i := range g.queues {
		if node := (first + i) % len(g.queues); len(g.queues[node]) > 0 && !g.hangs(node) {
			g.complete(node)
			return true
		}
	}
	return false
}

// hangs reports whether the oldest job of a node never ends.
func (g *gpu) hangs(node int) bool {
	j := g.queues[node][0]
	b := make([]byte, j.bytes)
	if err := g.machine.ReadMem(j.addr, b); err != nil && j.bytes > 0 {
		g.fail("%v", err)
	}
	for ; len(b) >= opBytes; b = b[opBytes:] {
		if le.Uint32(b) == opHang {
			return true
		}
	}
	return false
}

// submit accepts a job.
func (g *gpu) submit(node uint32, j work) {
	g.queues[node] = append(g.queues[node], j)
	if len(g.queues[node]) > g.capacity {
		g.fail("node %d has %d jobs, want at most %d", node, len(g.queues[node]), g.capacity)
	}
}

// complete executes the oldest job of a node and raises its interrupt.
func (g *gpu) complete(node int) {
	if g.onComplete != nil {
		g.onComplete()
	}
	if g.execute(node); le.Uint32(g.bar0[regFault:]) == 0 {
		g.interrupt(node)
	}
}

// execute executes the oldest job of a node without an interrupt, unless it
// faults.
func (g *gpu) execute(node int) {
	j := g.queues[node][0]
	if g.ignores {
		j.bytes = 0
	}
	b := make([]byte, j.bytes)
	if len(b) > 0 {
		if err := g.machine.ReadMem(j.addr, b); err != nil {
			g.fail("%v", err)
		}
	}
	for ; len(b) > 0; b = b[opBytes:] {
		if !g.command(b) {
			le.PutUint32(g.bar0[regFault:], uint32(node+1))
			g.interrupt(node)
			return
		}
	}
	g.queues[node] = g.queues[node][1:]
	le.PutUint32(g.bar0[regFence+4*node:], j.fence)
}

// stop answers PREEMPT after n commands of the oldest job of a node. A job that has no more
// commands then completes first.
func (g *gpu) stop(node, n int) {
	if q := g.queues[node]; len(q) > 0 && q[0].place != nil {
		j := q[0]
		b := make([]byte, min(uint32(n)*opBytes, j.bytes))
		if err := g.machine.ReadMem(j.addr, b); err != nil {
			g.fail("%v", err)
		}
		if g.hangs(node) {
			b = nil
		}
		if le.Uint32(j.place[4:]) != j.part {
			le.PutUint32(j.place, 0)
			le.PutUint32(j.place[4:], j.part)
		}
		le.PutUint32(j.place, le.Uint32(j.place)+uint32(len(b)))
		if n > 0 && len(b) == int(j.bytes) {
			le.PutUint32(g.bar0[regFence+4*node:], j.fence)
		}
		for ; len(b) > 0; b = b[opBytes:] {
			g.command(b)
		}
	}
	g.queues[node], g.spent = nil, 0
	le.PutUint32(g.bar0[regStopped:], le.Uint32(g.bar0[regStopped:])|1<<node)
	g.interrupt(node)
}

// write writes a byte of host memory.
func (g *gpu) write(addr uint64, v byte) {
	if err := g.machine.WriteMem(addr, []byte{v}); err != nil {
		g.fail("%v", err)
	}
}

// interrupt raises an event of a node.
func (g *gpu) interrupt(node int) {
	if g.lostIRQ {
		return
	}
	le.PutUint32(g.bar0[regStatus:], le.Uint32(g.bar0[regStatus:])|1<<node)
	if err := g.machine.WriteMem(le.Uint64(g.bar0[msixTable:]), g.bar0[msixTable+8:msixTable+12]); err != nil {
		g.fail("%v", err)
	}
}

// command executes one command. It returns false for a fault.
func (g *gpu) command(b []byte) bool {
	n, src, dst := le.Uint32(b[4:]), le.Uint64(b[srcAt:]), le.Uint64(b[dstAt:])
	p := make([]byte, n)
	switch le.Uint32(b) {
	case opNop:
	case opCopy:
		g.move(src, p, false)
		g.move(dst, p, true)
	case opFill:
		for i := range p {
			p[i] = b[24]
		}
		g.move(dst, p, true)
	case opMap:
		g.entries[n] = src
	case opFlush:
		clear(g.kept)
	default:
		return false
	}
	return true
}

// translate returns the GPU address of an address in the aperture, and how many bytes follow
// in its page. An entry that was used is used until a flush.
func (g *gpu) translate(addr uint64) (to uint64, n int) {
	page, off := int((addr-apertureBase)/4096), addr%4096
	if page >= len(g.entries) || g.entries[page] == 0 && g.kept[page] == 0 {
		g.fail("page %#x of the aperture is not mapped", page)
		return vramBase, 4096
	}
	if g.kept[page] == 0 {
		g.kept[page] = g.entries[page]
	}
	return hostBase + g.kept[page] + off, int(4096 - off)
}

// move reads or writes GPU memory.
func (g *gpu) move(addr uint64, p []byte, write bool) {
	for addr >= apertureBase && addr < hostBase && len(p) > 0 {
		to, n := g.translate(addr)
		n = min(n, len(p))
		g.move(to, p[:n], write)
		addr, p = addr+uint64(n), p[n:]
	}
	var err error
	switch {
	case len(p) == 0:
	case addr >= hostBase && write:
		err = g.machine.WriteMem(addr-hostBase, p)
	case addr >= hostBase:
		err = g.machine.ReadMem(addr-hostBase, p)
	case addr < vramBase || addr-vramBase+uint64(len(p)) > uint64(len(g.vram)):
		err = fmt.Errorf("address %#x is not mapped", addr)
	case write:
		copy(g.vram[addr-vramBase:], p)
	default:
		copy(p, g.vram[addr-vramBase:])
	}
	if err != nil {
		g.fail("%v", err)
	}
}

func (g *gpu) fail(format string, args ...any) {
	g.err = errors.Join(g.err, fmt.Errorf(format, args...))
}
