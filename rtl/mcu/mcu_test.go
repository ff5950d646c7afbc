package mcu_test

import (
	"encoding/binary"
	"hash/crc32"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/mcureg"
	"github.com/hilgpu/hilgpu/rtl/abi/reg"
	"github.com/hilgpu/hilgpu/rtl/mcu/rv32/rv32test"
	"github.com/hilgpu/hilgpu/rtl/regbus"
	"github.com/hilgpu/hilgpu/rtl/reset"
)

const (
	none    = 0xffff_ffff // no trap
	loadBad = 5           // load access fault
	putBad  = 7           // store access fault
)

// All registers exist, have their value after reset, and keep what is written within their
// fields. Other offsets of both blocks are unmapped.
func TestRegisters(t *testing.T) {
	r := newRig(t)
	there := map[uint16]bool{}
	for _, b := range []reg.Block{mcureg.Block, mcureg.Debug} {
		for _, e := range b.Regs {
			off := uint16(b.Base + e.Off)
			there[off] = true
			if e.Config || e.Name == "PC" {
				continue
			}
			assert.Equal(t, e.Reset, r.get(off), e.Name)
			if e.Access != reg.RW || e.Name == "CTL" {
				continue
			}
			for _, v := range []uint32{0xffff_ffff, 0, 0xa5a5_a5a5} {
				r.set(off, v)
				assert.Equal(t, v&e.Mask(), r.get(off), "%s after %#x", e.Name, v)
			}
			r.set(off, e.Reset)
		}
	}
	for off := uint16(mcureg.Base); off < mcureg.DebugBase+mcureg.DebugSize; off += 4 {
		_, hit := r.bus(regbus.Req{Op: regbus.Read, Off: off})
		assert.Equal(t, there[off], hit, "%#x", off)
	}
	assert.EqualValues(t, 8|8<<8|4<<12|1<<16, r.get(mcureg.Base+mcureg.Info))
}

// The CRC of what is loaded is that of hash/crc32, and the memory has it: the program reads it.
func TestLoad(t *testing.T) {
	r, rng := newRig(t), rand.New(rand.NewPCG(1, 1))
	var data []byte
	var words []uint32
	for range 100 {
		words = append(words, rng.Uint32())
		data = binary.LittleEndian.AppendUint32(data, words[len(words)-1])
	}
	r.load(0x1c00, words...)
	assert.Equal(t, crc32.ChecksumIEEE(data), r.get(mcureg.Base+mcureg.CRC))
	assert.EqualValues(t, 0x1c00+400, r.get(mcureg.Base+mcureg.LoadAddr))
	p := newProgram()
	for i, at := range []uint32{0, 1, 57, 99} {
		p.lw(1, 0x1c00+4*at)
		p.say(uint32(i), 1)
	}
	r.start(p, 1000)
	assert.Equal(t, []uint32{words[0], words[1], words[57], words[99]}, []uint32{r.says(0), r.says(1), r.says(2), r.says(3)})
}

// While the program runs, what it may reach is locked.
func TestLocked(t *testing.T) {
	r := newRig(t)
	r.window(3, 0x40, 0x80|1)
	r.set(mcureg.Base+mcureg.Blocks, 0x42)
	r.start(newProgram(), 100)
	crc := r.get(mcureg.Base + mcureg.CRC)
	for _, off := range []uint16{mcureg.LoadAddr, mcureg.LoadData, mcureg.Blocks, mcureg.Window + 0x30, mcureg.Window + 0x34, mcureg.Window + 0x38} {
		was := r.get(mcureg.Base + off)
		r.set(mcureg.Base+off, ^was)
		assert.Equal(t, was, r.get(mcureg.Base+off), "%#x", off)
	}
	assert.Equal(t, crc, r.get(mcureg.Base+mcureg.CRC))
	r.set(mail, 7)
	assert.EqualValues(t, 7, r.says(0), "mail words are open")
	r.set(ctl, 0)
	r.set(mcureg.Base+mcureg.Blocks, 1)
	assert.EqualValues(t, 1, r.get(mcureg.Base+mcureg.Blocks))
}

// The program reads all registers of BAR0, and writes those of the blocks that it may.
func TestBus(t *testing.T) {
	for _, tt := range []struct {
		name  string
		do    func(p *program)
		cause uint32
	}{
		{"a read", func(p *program) { p.lw(1, mcureg.Bus+0x1004); p.say(0, 1) }, none},
		{"a write", func(p *program) { p.put(2, mcureg.Bus+0x1f08, 99) }, none},
		{"a write to another block", func(p *program) { p.put(2, mcureg.Bus+0x1004, 99) }, putBad},
		{"a write above the blocks", func(p *program) { p.put(2, mcureg.Bus+0x8000, 99) }, putBad},
		{"a write whose block differs above 8 KiB only", func(p *program) { p.put(2, mcureg.Bus+0x3f08, 99) }, putBad},
		{"a part of a register", func(p *program) { p.put(0, mcureg.Bus+0x1f08, 99) }, putBad},
		{"a register that does not exist", func(p *program) { p.lw(1, mcureg.Bus+0x10) }, loadBad},
		{"above BAR0", func(p *program) { p.lw(1, mcureg.Bus+0x11004) }, loadBad},
		{"nothing", func(p *program) { p.lw(1, 0x3000_0000) }, loadBad},
		{"above the memory", func(p *program) { p.put(2, 0x2000, 1) }, putBad},
		{"a register of its own that does not exist", func(p *program) { p.lw(1, mcureg.Local+0x1c) }, loadBad},
		{"the mail words' end", func(p *program) { p.lw(1, mcureg.Local+0x60) }, loadBad},
		{"above its registers", func(p *program) { p.lw(1, mcureg.Local+0x100) }, loadBad},
		{"a part of a register of its own", func(p *program) { p.put(1, mcureg.Local+mcureg.Mail, 1) }, putBad},
		{"the time", func(p *program) { p.put(2, mcureg.Local+mcureg.TimeLo, 1) }, putBad},
	} {
		r := newRig(t)
		r.bar[0x1004], r.bar[0x1f08], r.bar[0x8000], r.bar[0x3f08] = 0xabcd, 5, 6, 7
		r.set(mcureg.Base+mcureg.Blocks, 1<<31)
		p := newProgram()
		tt.do(p)
		r.start(p, 300)
		assert.Equal(t, tt.cause, r.says(6), tt.name)
		want := []uint32{0xabcd, 5, 6, 7}
		if tt.name == "a write" {
			want[1] = 99
		}
		assert.Equal(t, want, []uint32{r.bar[0x1004], r.bar[0x1f08], r.bar[0x8000], r.bar[0x3f08]}, tt.name)
		if tt.name == "a read" {
			assert.EqualValues(t, 0xabcd, r.says(0))
		}
	}
}

// A whole-device reset clears LIMIT, BLOCKS and the breakpoints: what they read, and what they do.
func TestResetClears(t *testing.T) {
	r := newRig(t)
	offs := []uint16{mcureg.Base + mcureg.Limit, mcureg.Base + mcureg.Blocks, debug + mcureg.Break, debug + mcureg.Break + 12, debug + mcureg.Watch}
	for _, off := range offs {
		r.set(off, 0x9)
	}
	r.tick(regbus.Req{}, reset.Signals{Whole: true})
	rsp := r.Access(regbus.Req{Op: regbus.Read, Off: offs[0]}, func(q regbus.Req) { r.tick(q, reset.Signals{}) })
	assert.Zero(t, rsp.Data)
	for _, off := range offs {
		assert.Zero(t, r.get(off), "%#x", off)
	}
	r.bar[0x1004] = 7
	p := newProgram()
	p.put(2, mcureg.Bus, 1)
	r.start(p, 300)
	assert.EqualValues(t, putBad, r.says(6), "no block is open")
	assert.Zero(t, r.Hangs)
	assert.Zero(t, r.get(debug+mcureg.DebugStatus))
}

// The registers that the RAM has are apart: each keeps its own value.
func TestRegistersApart(t *testing.T) {
	r := newRig(t)
	want := map[uint16]uint32{}
	for _, b := range []reg.Block{mcureg.Block, mcureg.Debug} {
		for _, e := range b.Regs {
			if off := uint16(b.Base + e.Off); e.Access == reg.RW && e.Name != "CTL" && e.Name != "LOAD_ADDR" {
				want[off] = (0x0100_4010 * uint32(len(want)+1)) & e.Mask()
				r.set(off, want[off])
			}
		}
	}
	for off, v := range want {
		assert.Equal(t, v, r.get(off), "%#x", off)
	}
}

// A write of BLOCKS while the program runs opens nothing.
func TestBlocksLocked(t *testing.T) {
	r, p := newRig(t), newProgram()
	r.bar[0x1004] = 5
	p.li(30, mcureg.Local+mcureg.Mail)
	p.add(rv32test.I(0x03, 2, 1, 30, 0), 0x63|1<<15|0x1d<<7|0x7f<<25) // BEQ x1, x0, -4
	p.put(2, mcureg.Bus+0x1004, 9)
	r.start(p, 100)
	r.set(mcureg.Base+mcureg.Blocks, 0xffff_ffff)
	r.set(mail, 1)
	r.run(200)
	assert.EqualValues(t, putBad, r.says(6))
	assert.EqualValues(t, 5, r.bar[0x1004])
}

// A reset of the processor leaves an access that has begun alone. The next program does not get
// its answer.
func TestResetDuringAccess(t *testing.T) {
	r := newRig(t)
	r.window(0, onHost, 0x100)
	r.memory[onHost], r.memory[onHost|4] = 1, 2
	p := newProgram()
	p.lw(1, mcureg.Through)
	r.Silent = true
	r.start(p, 200)
	require.Equal(t, []uint64{onHost}, r.reads)
	r.set(ctl, 0)
	p = newProgram()
	p.lw(1, mcureg.Through+4)
	p.say(0, 1)
	r.start(p, 200)
	assert.Equal(t, []uint64{onHost}, r.reads, "it waits for the answer to the first")
	r.Silent = false
	r.run(200)
	assert.Equal(t, []uint32{2, none}, []uint32{r.says(0), r.says(6)})

	r.tick(regbus.Req{}, reset.Signals{Whole: true})
	r.run(64)
	assert.Zero(t, r.get(ctl))
	assert.Zero(t, r.says(0))
	assert.Zero(t, r.get(mcureg.Base+mcureg.Window+mcureg.WindowSize))
}
