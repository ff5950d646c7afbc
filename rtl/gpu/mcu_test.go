package gpu_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/arbreg"
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/abi/intcreg"
	"github.com/hilgpu/hilgpu/rtl/abi/mcureg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/rtl/gpu"
	"github.com/hilgpu/hilgpu/rtl/mcu/rv32/rv32test"
)

// code is a program of the microcontroller.
type code []uint32

func (c *code) add(words ...uint32) { *c = append(*c, words...) }

// li loads a constant.
func (c *code) li(rd, v uint32) {
	c.add((v+0x800)&0xffff_f000|rd<<7|0x37, rv32test.I(0x13, 0, rd, rd, v&0xfff))
}

// copy copies a word from one address to another.
func (c *code) copy(to, from uint32) {
	c.li(1, from)
	c.li(2, to)
	c.add(rv32test.I(0x03, 2, 3, 1, 0), rv32test.S(0x23, 2, 2, 3, 0))
}

// put stores a word.
func (c *code) put(to, v uint32) {
	c.li(1, v)
	c.li(2, to)
	c.add(rv32test.S(0x23, 2, 2, 1, 0))
}

const mailAt = mcureg.Local + mcureg.Mail

// window opens a window of 64 KiB for writes.
func (m *machine) window(i, base uint64) {
	at := mcureg.Base + mcureg.Window + mcureg.Stride*i
	m.writeReg(at+mcureg.BaseLo, uint32(base))
	m.writeReg(at+mcureg.BaseHi, uint32(base>>32))
	m.writeReg(at+mcureg.WindowSize, 64<<10|mcureg.SizeWrite)
}

// program loads and starts a program, which ends in WFI.
func (m *machine) program(c code) {
	c.add(rv32test.WFI)
	m.writeReg(mcureg.Base+mcureg.LoadAddr, 0)
	for _, w := range c {
		m.writeReg(mcureg.Base+mcureg.LoadData, w)
	}
	m.writeReg(mcureg.Base+mcureg.Ctl, mcureg.CtlRun)
}

// asleep waits until the program sleeps.
func (m *machine) asleep() {
	m.run(100_000, func() bool { return m.readReg(mcureg.Base+mcureg.Status)&mcureg.StatusAsleep != 0 })
}

func mcuMail(i uint64) uint64 { return mcureg.Base + mcureg.Mail + 4*i }

func withMCU(nodes int) gpu.Config {
	c := gpu.Full()
	c.Nodes, c.VRAMBytes, c.MCUBytes = nodes, 64<<10, 8<<10
	return c
}

// A program reads registers, host memory and VRAM, writes both, and raises an interrupt, with any
// behaviour of the host.
func TestMCU(t *testing.T) {
	for seed := range uint64(20) {
		m := boot(t, withMCU(1+int(seed)%2), seed)
		m.stall, m.shuffle = int(seed)*4, seed%3 == 0
		m.window(0, 0x4000)
		m.window(1, at(0x8000))
		m.writeReg(mcureg.Base+mcureg.Blocks, 1<<(intcreg.Base/mcureg.BlockBytes))
		le.PutUint32(m.mem[0x8010:], 0x0bad_cafe)
		m.g.PokeVRAM(0x4004, []byte{1, 2, 3, 4})
		const vram, mem = mcureg.Through, mcureg.Through + mcureg.WindowMax
		var c code
		c.copy(mailAt, mcureg.Bus+idreg.Magic)
		c.copy(mailAt+4, mem+0x10)
		c.copy(mailAt+8, vram+4)
		c.copy(vram+0x100, mem+0x10)
		c.copy(mem+0x14, vram+4)
		c.copy(mem+0x18, vram+0x100)
		c.put(mcureg.Bus+intcreg.Base+intcreg.Raise, intcreg.Firmware)
		m.program(c)
		m.asleep()
		require.Equal(t, []uint32{idreg.MagicValue, 0x0bad_cafe, 0x0403_0201}, []uint32{m.readReg(mcuMail(0)), m.readReg(mcuMail(1)), m.readReg(mcuMail(2))})
		require.Equal(t, []uint32{0x0403_0201, 0x0bad_cafe}, []uint32{le.Uint32(m.mem[0x8014:]), le.Uint32(m.mem[0x8018:])})
		require.Equal(t, uint32(0x0bad_cafe), uint32(m.g.VRAMWord(0x4100)))
		m.settled()
		require.Equal(t, []uint32{0x50}, m.msgs)
		require.EqualValues(t, intcreg.Firmware, m.readReg(intcreg.Base+intcreg.Status))
	}
}

// A program and both nodes work at the same time, and each finds what it wrote.
func TestMCUBesideNodes(t *testing.T) {
	for seed := range uint64(8) {
		m := boot(t, withMCU(2), seed)
		m.stall, m.shuffle, m.latency = int(seed)*5, seed%2 == 0, 1+20*seed
		m.window(0, 0)
		m.window(1, at(0x8000))
		const vram, mem = mcureg.Through, mcureg.Through + mcureg.WindowMax
		var c code
		c.li(4, 0)
		loop := uint32(4 * len(c))
		c.add(rv32test.I(0x13, 0, 4, 4, 1))
		c.li(2, mem+0x20)
		c.add(rv32test.S(0x23, 2, 2, 4, 0), rv32test.I(0x03, 2, 5, 2, 0))
		c.li(2, vram+0xfff0)
		c.add(rv32test.S(0x23, 2, 2, 5, 0), rv32test.I(0x03, 2, 6, 2, 0))
		c.add(rv32test.B(1, 6, 4, 16)) // a difference ends the loop
		c.li(7, 200)
		c.add(rv32test.B(4, 4, 7, loop-uint32(4*len(c))))
		c.li(2, mailAt)
		c.add(rv32test.S(0x23, 2, 2, 4, 0))
		m.program(c)
		for id := uint32(1); id <= 40; id++ {
			for n := range 2 {
				m.submit(n, pkt.Copy{Src: at(0x20000 + uint64(n)<<14), Dst: 0x1000 * uint64(n+1), Bytes: 512}, fence(n, id))
			}
		}
		m.asleep()
		m.idle()
		assert.EqualValues(t, 200, m.readReg(mcuMail(0)), "seed %d", seed)
		assert.Equal(t, []uint64{40, 40}, []uint64{m.fence(0), m.fence(1)})
		for n := range uint64(2) {
			got := make([]byte, 512)
			m.g.PeekVRAM(0x1000*(n+1), got)
			assert.Equal(t, m.mem[0x20000+n<<14:][:512], got, "seed %d", seed)
		}
	}
}

// The program writes a node that it owns, and gets an access fault for one that it does not.
func TestMCUOwnsNodes(t *testing.T) {
	m := boot(t, withMCU(2), 1)
	m.writeReg(mcureg.Base+mcureg.Blocks, 0xffff_ffff)
	m.writeReg(arbreg.Base+arbreg.Owner, arbreg.OwnerNode1)
	var c code
	c.li(1, 0x100)
	c.add(rv32test.I(0x73, 1, 0, 1, 0x305)) // mtvec
	c.put(mcureg.Bus+cpreg.Base+cpreg.Stride+cpreg.RingLo, 0x1230)
	c.put(mailAt, 1)
	c.put(mcureg.Bus+cpreg.Base+cpreg.RingLo, 0x1230)
	c.put(mailAt+4, 1)
	for len(c) < 0x100/4 {
		c.add(rv32test.WFI)
	}
	c.add(rv32test.I(0x73, 2, 1, 0, 0x342)) // mcause
	c.li(2, mailAt+8)
	c.add(rv32test.S(0x23, 2, 2, 1, 0))
	m.writeReg(cpreg.Base+cpreg.Stride+cpreg.Ctl, 0)
	m.program(c)
	m.asleep()
	assert.Equal(t, []uint32{1, 0, 7}, []uint32{m.readReg(mcuMail(0)), m.readReg(mcuMail(1)), m.readReg(mcuMail(2))})
	assert.EqualValues(t, idreg.ErrOwner, m.readReg(idreg.ErrInfo)&idreg.ErrInfoCause)
}

// A program that is silent too long raises HUNG, and the GPU then sleeps.
func TestMCUHangs(t *testing.T) {
	m := boot(t, withMCU(1), 1)
	m.writeReg(mcureg.Base+mcureg.Limit, 1000)
	m.program(code{rv32test.J(0, 0)})
	assert.Zero(t, m.dev.IdleFor(), "a program that runs keeps the GPU awake")
	m.run(10_000, func() bool { return len(m.msgs) != 0 })
	assert.Equal(t, []uint32{0x51}, m.msgs)
	assert.EqualValues(t, intcreg.Hung, m.readReg(intcreg.Base+intcreg.Status))
	assert.EqualValues(t, mcureg.StatusHung|mcureg.StatusHalted, m.readReg(mcureg.Base+mcureg.Status))
	m.ticks(10)
	assert.NotZero(t, m.dev.IdleFor())
}
