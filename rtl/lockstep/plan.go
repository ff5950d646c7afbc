package lockstep

import (
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/abi/intcreg"
	"github.com/hilgpu/hilgpu/rtl/abi/msixreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pcicfg"
	"github.com/hilgpu/hilgpu/rtl/abi/perfreg"
	"github.com/hilgpu/hilgpu/rtl/abi/wdogreg"
)

const commandOn = pcicfg.CommandMemory | pcicfg.CommandBusMaster

// boot brings the function up from reset. The BARs are somewhere else each time.
func (h *host) boot() {
	vram := h.dev.Config().VRAMBytes
	h.bars = bars{
		bar0: 0xe000_0000 + h.rng.Uint64N(16)*pcicfg.BAR0Size,
		bar2: 0x4_0000_0000 + h.rng.Uint64N(16)*vram,
	}
	h.assign()
	h.setConfig(pcicfg.Command, commandOn)
	for v := range uint64(pcicfg.Vectors) {
		at := uint64(msixreg.Base) + v*msixreg.Stride
		h.setReg(at+msixreg.AddrLo, uint32(messages)|h.rng.Uint32N(64)*4)
		h.setReg(at+msixreg.AddrHi, h.rng.Uint32()&-h.rng.Uint32N(2))
		h.setReg(at+msixreg.Data, h.rng.Uint32())
		h.setReg(at+msixreg.Control, 0)
	}
	h.setConfig(pcicfg.MSIX, pcicfg.MSIXEnable)
	h.setReg(intcreg.Base+intcreg.Mask, intcreg.All)
	for n := range h.nodes {
		h.nodes[n] = node{}
		h.start(n)
	}
}

// assign writes the BARs.
func (h *host) assign() {
	h.setConfig(pcicfg.BAR0, uint32(h.bars.bar0))
	h.setConfig(pcicfg.BAR2, uint32(h.bars.bar2))
	h.setConfig(pcicfg.BAR3, uint32(h.bars.bar2>>32))
}

// size writes all ones or anything to the BARs, reads them, and assigns them
// again: as enumeration does, with memory decode on or off.
func (h *host) size() {
	v := h.rng.Uint32() | -h.rng.Uint32N(2)
	h.setConfig(pcicfg.Command, commandOn&^(pcicfg.CommandMemory*h.rng.Uint32N(2)))
	for off := uint64(pcicfg.BAR0); off <= pcicfg.BAR5; off += 4 {
		h.setConfig(off, v)
		h.getConfig(off, func(uint32) {})
	}
	h.wild(h.bars.bar0, pcicfg.BAR0Size)
	h.assign()
	h.setConfig(pcicfg.Command, commandOn)
}

// plan queues what the host does next.
func (h *host) plan() {
	n := h.rng.IntN(len(h.nodes))
	switch p := h.rng.IntN(1000); {
	case p < 550:
		h.drive(n)
	case p < 670:
		h.wild(h.bars.bar2, h.dev.Config().VRAMBytes)
	case p < 690:
		h.anyReg()
	case p < 700:
		h.start(n)
	case p < 750:
		h.wild(h.bars.bar2, 4096)
	case p < 780:
		h.wild(h.bars.bar0+idreg.Base, idreg.Size)
	case p < 785:
		h.wild(h.bars.bar0+perfreg.Base, perfreg.Size)
	case p < 790:
		h.setReg(perfreg.Base+perfreg.Ctl, h.rng.Uint32N(8)|perfreg.CtlRun*h.rng.Uint32N(2))
	case p < 792:
		h.setReg(wdogreg.Base+wdogreg.Limit, h.rng.Uint32()>>(16+h.rng.IntN(16)))
		h.reg(wdogreg.Base+wdogreg.Status, func(v uint32) { h.setReg(wdogreg.Base+wdogreg.Status, v) })
	case p < 800:
		h.wild(h.bars.bar0, pcicfg.BAR0Size)
	case p < 820:
		h.wild(h.bars.bar0+cpreg.Base+uint64(n)*cpreg.Stride+cpreg.Fence, cpreg.Stride-cpreg.Fence)
	case p < 825:
		h.wild(h.bars.bar0+cpreg.Base, 2*cpreg.Stride)
	case p < 830:
		h.wild(0x7000_0000, 1<<20)
	case p < 880:
		h.cfg()
	case p < 885:
		h.toggle()
	case p < 887:
		h.size()
	case p < 895:
		h.unmaster()
	case p < 960:
		h.interrupts()
	case p < 961:
		h.boot()
	case p < 963:
		h.resets()
	case p < 966:
		h.burst(n)
	default:
		h.captures()
	}
}

// toggle turns memory decode, bus mastering, both or neither off for a while and
// clears some of the status.
func (h *host) toggle() {
	h.setConfig(pcicfg.Command, h.rng.Uint32())
	if h.percent(40) {
		h.thin(h.ops[len(h.ops)-1].beats)
	}
	for range h.rng.IntN(10) {
		h.wild(h.bars.bar0, idreg.Size)
		h.cfg()
	}
	h.setConfig(pcicfg.Command, commandOn)
}

// unmaster turns bus mastering off under the engines, for a moment or until they
// have all seen it.
func (h *host) unmaster() {
	h.setConfig(pcicfg.Command, pcicfg.CommandMemory)
	for range h.rng.IntN(30) {
		h.anyReg()
	}
	h.setConfig(pcicfg.Command, commandOn)
}

// anyReg reads a register of the map, or now and then writes it, in which case
// what it holds is as good as a driver's mistake.
func (h *host) anyReg() {
	off := uint64(h.regs[h.rng.IntN(len(h.regs))].Off())
	if off == idreg.Reset || h.percent(90) {
		h.reg(off, func(uint32) {})
		return
	}
	h.setReg(off, h.rng.Uint32())
}

// interrupts does what a handler of interrupts may do, and more.
func (h *host) interrupts() {
	at := uint64(msixreg.Base) + h.rng.Uint64N(pcicfg.Vectors)*msixreg.Stride
	switch h.rng.IntN(10) {
	case 0:
		const control = pcicfg.MSIXEnable | pcicfg.MSIXFunctionMask
		h.setConfig(pcicfg.MSIX, h.rng.Uint32()&control)
		if h.percent(40) {
			h.setConfig(pcicfg.MSIX, h.rng.Uint32()&control)
			h.thin(h.ops[len(h.ops)-1].beats)
		}
		h.setReg(intcreg.Base+intcreg.Raise, intcreg.All)
		h.setConfig(pcicfg.MSIX, pcicfg.MSIXEnable)
	case 1:
		h.setReg(at+msixreg.Control, 1)
		h.setReg(intcreg.Base+intcreg.Raise, h.rng.Uint32())
		h.reg(msixreg.PendingBase, func(uint32) {})
		h.setReg(at+msixreg.Control, 0)
	case 2:
		h.setReg(at+msixreg.Data, h.rng.Uint32())
		h.setReg(at+msixreg.AddrLo, uint32(messages)|h.rng.Uint32N(64)*4)
	case 3:
		h.setReg(intcreg.Base+intcreg.Mask, h.rng.Uint32())
		h.setReg(intcreg.Base+intcreg.Status, h.rng.Uint32())
		h.setReg(intcreg.Base+intcreg.Mask, intcreg.All)
	case 4:
		h.setReg(intcreg.Base+intcreg.CoalesceCount, h.rng.Uint32N(5))
		h.setReg(intcreg.Base+intcreg.CoalesceTime, h.rng.Uint32()>>(8+h.rng.IntN(24)))
	case 5:
		h.setReg(intcreg.Base+intcreg.CoalesceTime, 0)
		h.reg(intcreg.Base+intcreg.CoalesceCount, func(uint32) {})
	default:
		h.reg(intcreg.Base+intcreg.Status, func(v uint32) { h.setReg(intcreg.Base+intcreg.Status, v) })
	}
}

// captures reads and clears the capture of refused accesses, and reads time.
func (h *host) captures() {
	h.reg(idreg.ErrInfo, func(v uint32) {
		h.saw.errInfo[v&idreg.ErrInfoCause] = true
		if h.percent(50) {
			h.setReg(idreg.ErrCount, 0)
		}
	})
	h.reg(idreg.TimeLo, func(uint32) {})
	h.reg(idreg.TimeHi, func(uint32) {})
}
