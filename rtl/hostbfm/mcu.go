package hostbfm

import (
	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/mcureg"
)

// Instructions of the random programs (Unprivileged ISA 20191213, chapter 24).
const (
	loads  = 0x03
	adds   = 0x13 // ADDI
	stores = 0x23
	upper  = 0x37 // LUI
	csrs   = 0x73

	wfi    = 0x10500073
	ebreak = 0x00100073
	mret   = 0x30200073

	mstatus, mie, mtvec, mepc = 0x300, 0x304, 0x305, 0x341

	handlerAt = 0x700 // the address of the handler of exceptions and interrupts
)

// immediate and store are instructions of the formats I and S.
func immediate(op, f3, rd, rs1, imm uint32) uint32 {
	return imm<<20 | rs1<<15 | f3<<12 | rd<<7 | op
}

func store(f3, rs1, rs2, imm uint32) uint32 {
	return imm>>5<<25 | rs2<<20 | rs1<<15 | f3<<12 | imm&0x1f<<7 | stores
}

// hasMCU reports whether the device has a microcontroller.
func (h *Stimulus) hasMCU() bool { return h.config.Caps.Has(caps.MCU) }

// controller queues the host's next step with the microcontroller: it loads a program, debugs it,
// rings, or accesses any register.
func (h *Stimulus) controller() {
	h.Reg(mcureg.Base+mcureg.Status, func(v uint32) {
		for i := range h.Saw.MCU {
			h.Saw.MCU[i] += int(v >> i & 1)
		}
	})
	switch p := h.Rng.IntN(20); {
	case p == 0:
		h.program()
	case p < 5:
		h.SetReg(mcureg.Base+mcureg.Doorbell, 1<<h.Rng.IntN(32))
	case p < 9:
		h.SetReg(mcureg.DebugBase+mcureg.DebugCtl, h.Rng.Uint32N(16)|mcureg.CtlResume)
	case p == 9:
		h.SetReg(mcureg.DebugBase+mcureg.Break+4*h.Rng.Uint64N(5), h.Rng.Uint32N(0x100)&^3|mcureg.PointEnable)
	case p < 13:
		// CSRRW and CSRRS with dscratch0.
		h.SetReg(mcureg.DebugBase+mcureg.Exec, immediate(csrs, 1+h.Rng.Uint32N(2), h.Rng.Uint32N(4), h.Rng.Uint32N(4), mcureg.Scratch))
	case p < 15:
		h.SetReg(mcureg.Base+mcureg.Mail+4*h.Rng.Uint64N(mcureg.Mails), h.Rng.Uint32())
	case p < 19:
		h.Reg(mcureg.Base+h.Rng.Uint64N(0x200)&^3, func(uint32) {})
	default:
		h.randomRequest(h.BAR0+mcureg.Base, 0x200)
	}
}

// program loads a program of accesses, which loops, and starts it. Its windows show host memory and VRAM.
func (h *Stimulus) program() {
	h.Saw.Programs++
	h.SetReg(mcureg.Base+mcureg.Ctl, 0)
	h.words(0, h.accesses())
	h.words(handlerAt, []uint32{
		immediate(csrs, 2, 30, 0, mepc), immediate(adds, 0, 30, 30, 4), immediate(csrs, 1, 0, 30, mepc), immediate(csrs, 1, 0, 0, mie), mret,
	})
	h.SetReg(mcureg.Base+mcureg.Blocks, h.Rng.Uint32()&h.Rng.Uint32())
	for i := range uint64(mcureg.FreeWindow) {
		at, base := uint64(mcureg.Base+mcureg.Window+mcureg.Stride*i), h.Rng.Uint64N(h.config.VRAM)
		if h.percent(60) {
			base = 1<<63 | memBase + dataFrom + h.Rng.Uint64N(memSize-dataFrom)
		}
		h.SetReg(at+mcureg.BaseLo, uint32(base)&^3)
		h.SetReg(at+mcureg.BaseHi, uint32(base>>32))
		h.SetReg(at+mcureg.WindowSize, 0x100|h.Rng.Uint32N(2))
	}
	h.SetReg(mcureg.Base+mcureg.Limit, []uint32{0, 300, 20_000}[h.Rng.IntN(3)])
	h.SetReg(mcureg.DebugBase+mcureg.DebugCtl, mcureg.CtlResume)
	h.SetReg(mcureg.Base+mcureg.Ctl, mcureg.CtlRun)
}

// words writes a part of the memory of the microcontroller.
func (h *Stimulus) words(at uint32, words []uint32) {
	h.SetReg(mcureg.Base+mcureg.LoadAddr, at)
	for _, w := range words {
		h.SetReg(mcureg.Base+mcureg.LoadData, w)
	}
}

// accesses returns a loop of loads, stores and other instructions at random, in which the handler skips an
// instruction with an exception.
func (h *Stimulus) accesses() []uint32 {
	words := []uint32{
		immediate(adds, 0, 31, 0, handlerAt), immediate(csrs, 1, 0, 31, mtvec),
		immediate(adds, 0, 1, 0, h.Rng.Uint32N(1<<12)), immediate(csrs, 1, 0, 1, mie),
	}
	if h.percent(50) {
		words = append(words, immediate(csrs, 6, 0, 8, mstatus)) // MIE
	}
	begin := len(words)
	for range 4 + h.Rng.IntN(12) {
		a := h.reachable()
		words = append(words, (a+0x800)&0xffff_f000|2<<7|upper, immediate(adds, 0, 2, 2, a&0xfff))
		switch h.Rng.IntN(7) {
		case 0, 1, 2:
			words = append(words, immediate(loads, []uint32{0, 1, 2, 2, 2, 4, 5}[h.Rng.IntN(7)], 3, 2, 0))
		case 3, 4, 5:
			words = append(words, store([]uint32{0, 1, 2, 2, 2}[h.Rng.IntN(5)], 2, 3, 0))
		default:
			words = append(words, []uint32{wfi, ebreak, immediate(adds, 0, 3, 3, h.Rng.Uint32N(1<<12))}[h.Rng.IntN(3)])
		}
	}
	// JAL back to the first access; its offset is at least -1 KiB.
	back := uint32(4*(begin-len(words))) & 0x1fffff
	return append(words, back>>20<<31|back>>1&0x3ff<<21|back>>11&1<<20|back>>12&0xff<<12|0x6f)
}

// reachable returns an address that a program may access, or nearly.
func (h *Stimulus) reachable() uint32 {
	switch h.Rng.IntN(8) {
	case 0:
		return h.Rng.Uint32()
	case 1, 2:
		return mcureg.Bus + h.Rng.Uint32N(0x2000)&^3
	case 3:
		return mcureg.Local + h.Rng.Uint32N(0x70)&^3
	case 4:
		return mcureg.Memory + 0x600 + h.Rng.Uint32N(0x80)
	}
	return mcureg.Through + h.Rng.Uint32N(8)*mcureg.WindowMax + h.Rng.Uint32N(0x140)
}
