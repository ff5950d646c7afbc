package mcu_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/mcureg"
	"github.com/hilgpu/hilgpu/rtl/mcu"
	"github.com/hilgpu/hilgpu/rtl/mcu/mcutest"
	"github.com/hilgpu/hilgpu/rtl/mcu/rv32/rv32test"
	"github.com/hilgpu/hilgpu/rtl/regbus"
	"github.com/hilgpu/hilgpu/rtl/reset"
)

const (
	hostBits  = 40
	vramBytes = 64 << 10
	onHost    = uint64(1) << 63
)

var params = mcu.Params{Bytes: 8 << 10, HostBits: hostBits, VRAMBytes: vramBytes}

// A rig is a microcontroller with a host, a register bus and memories.
type rig struct {
	mcutest.Machine
	t      *testing.T
	now    uint64
	bar    map[uint16]uint32 // registers of other blocks
	memory map[uint64]uint32 // dwords, by GPU address; absent: a read fails
	refuse bool              // writes are refused
	reads  []uint64          // addresses of the reads
}

func newRig(t *testing.T) *rig {
	r := &rig{t: t, bar: map[uint16]uint32{}, memory: map[uint64]uint32{}}
	r.Machine = mcutest.Machine{Module: mcu.New(params), World: r, BusClocks: 3}
	for range 64 {
		r.tick(regbus.Req{}, reset.Signals{})
	}
	return r
}

// tick is one clock with an access of the host.
func (r *rig) tick(regs regbus.Req, rst reset.Signals) {
	r.Clock(regs, r.now, rst)
	r.now++
}

// Bus implements mcutest.World.
func (r *rig) Bus(q regbus.Req) (uint32, bool) {
	v, hit := r.bar[q.Off]
	if hit && q.Op == regbus.Write {
		r.bar[q.Off], v = q.Data, 0
	}
	return v, hit
}

// Load implements mcutest.World.
func (r *rig) Load(addr uint64) (uint32, bool) {
	r.reads = append(r.reads, addr)
	v, ok := r.memory[addr]
	return v, ok
}

// Store implements mcutest.World.
func (r *rig) Store(addr uint64, lanes uint8, v uint32) bool {
	if !r.refuse {
		r.memory[addr] = mcutest.Merge(r.memory[addr], lanes, v)
	}
	return !r.refuse
}

// run is n clocks without an access.
func (r *rig) run(n int) {
	for range n {
		r.tick(regbus.Req{}, reset.Signals{})
	}
}

// bus makes an access of the host, and repeats it as asked.
func (r *rig) bus(req regbus.Req) (uint32, bool) {
	rsp := r.Access(req, func(q regbus.Req) { r.tick(q, reset.Signals{}) })
	require.False(r.t, rsp.Retry, "an access is retried for ever")
	return rsp.Data, rsp.Hit
}

func (r *rig) get(off uint16) uint32 {
	r.t.Helper()
	v, hit := r.bus(regbus.Req{Op: regbus.Read, Off: off})
	require.True(r.t, hit, "%#x", off)
	return v
}

func (r *rig) set(off uint16, v uint32) {
	r.t.Helper()
	_, hit := r.bus(regbus.Req{Op: regbus.Write, Off: off, Data: v})
	require.True(r.t, hit, "%#x", off)
}

// Registers, by their offset in BAR0.
const (
	ctl   = mcureg.Base + mcureg.Ctl
	mail  = mcureg.Base + mcureg.Mail
	debug = mcureg.DebugBase
)

// window opens a window.
func (r *rig) window(i uint16, base uint64, size uint32) {
	at := mcureg.Base + mcureg.Window + mcureg.Stride*i
	r.set(at+mcureg.BaseLo, uint32(base))
	r.set(at+mcureg.BaseHi, uint32(base>>32))
	r.set(at+mcureg.WindowSize, size)
}

// load writes words to the memory.
func (r *rig) load(at uint32, words ...uint32) {
	r.set(mcureg.Base+mcureg.LoadAddr, at)
	for _, w := range words {
		r.set(mcureg.Base+mcureg.LoadData, w)
	}
}

// A program is instructions. Its traps go to a handler that writes mcause and mtval to the last
// mail words and stops.
type program struct{ words []uint32 }

// handlerAt is the address of the handler.
const handlerAt = 0x1000

func newProgram() *program {
	p := &program{}
	p.li(31, handlerAt)
	p.add(rv32test.I(0x73, 1, 0, 31, 0x305))
	return p
}

func (p *program) add(words ...uint32) { p.words = append(p.words, words...) }

// li loads a constant.
func (p *program) li(rd, v uint32) {
	p.add((v+0x800)&0xffff_f000|rd<<7|0x37, rv32test.I(0x13, 0, rd, rd, v&0xfff))
}

// lw loads the word at an address into rd.
func (p *program) lw(rd, addr uint32) {
	p.li(30, addr)
	p.add(rv32test.I(0x03, 2, rd, 30, 0))
}

// put stores a value by an instruction of the given size: 0 byte, 1 half, 2 word.
func (p *program) put(size, addr, v uint32) {
	p.li(30, addr)
	p.li(29, v)
	p.add(rv32test.S(0x23, size, 30, 29, 0))
}

// say writes a register to a mail word.
func (p *program) say(i, rs uint32) {
	p.li(30, mcureg.Local+mcureg.Mail+4*i)
	p.add(rv32test.S(0x23, 2, 30, rs, 0))
}

// stop ends the program.
func (p *program) stop() { p.add(rv32test.J(0, 0)) }

// handler is the handler of traps.
func handler() []uint32 {
	p := &program{}
	p.add(rv32test.I(0x73, 2, 28, 0, 0x342))
	p.say(6, 28)
	p.add(rv32test.I(0x73, 2, 28, 0, 0x343))
	p.say(7, 28)
	p.stop()
	return p.words
}

// start loads a program and runs it for some clocks.
func (r *rig) start(p *program, clocks int) {
	p.stop()
	r.load(0, p.words...)
	r.load(handlerAt, handler()...)
	r.set(mail+4*6, 0xffff_ffff)
	r.set(ctl, mcureg.CtlRun)
	r.run(clocks)
}

// says returns a mail word.
func (r *rig) says(i uint16) uint32 { return r.get(mail + 4*i) }
