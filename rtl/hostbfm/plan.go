package hostbfm

import (
	"github.com/hilgpu/hilgpu/rtl/abi/arbreg"
	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/abi/intcreg"
	"github.com/hilgpu/hilgpu/rtl/abi/msixreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pcicfg"
	"github.com/hilgpu/hilgpu/rtl/abi/perfreg"
	"github.com/hilgpu/hilgpu/rtl/abi/wdogreg"
)

const commandOn = pcicfg.CommandMemory | pcicfg.CommandBusMaster

// boot configures the function after a reset. The BAR addresses change each time.
func (h *Stimulus) boot() {
	vram := h.config.VRAM
	h.BARs = BARs{
		BAR0: 0xe000_0000 + h.Rng.Uint64N(16)*pcicfg.BAR0Size,
		BAR2: 0x4_0000_0000 + h.Rng.Uint64N(16)*vram,
	}
	h.assign()
	h.SetConfig(pcicfg.Command, commandOn)
	for v := range uint64(pcicfg.Vectors) {
		at := uint64(msixreg.Base) + v*msixreg.Stride
		h.SetReg(at+msixreg.AddrLo, uint32(messages)|h.Rng.Uint32N(64)*4)
		h.SetReg(at+msixreg.AddrHi, h.Rng.Uint32()&-h.Rng.Uint32N(2))
		h.SetReg(at+msixreg.Data, h.Rng.Uint32())
		h.SetReg(at+msixreg.Control, 0)
	}
	h.SetConfig(pcicfg.MSIX, pcicfg.MSIXEnable)
	h.SetReg(intcreg.Base+intcreg.Mask, intcreg.All)
	for n := range h.nodes {
		h.nodes[n] = node{}
		h.start(n)
	}
	if h.hasMCU() {
		h.program()
	}
	if h.hasGART() {
		h.mapAperture()
	}
}

// assign writes the BARs.
func (h *Stimulus) assign() {
	h.SetConfig(pcicfg.BAR0, uint32(h.BAR0))
	h.SetConfig(pcicfg.BAR2, uint32(h.BAR2))
	h.SetConfig(pcicfg.BAR3, uint32(h.BAR2>>32))
}

// size writes all ones or random values to the BARs, reads them, and assigns them
// again, as enumeration does. Memory decode may be on or off.
func (h *Stimulus) size() {
	v := h.Rng.Uint32() | -h.Rng.Uint32N(2)
	h.SetConfig(pcicfg.Command, commandOn&^(pcicfg.CommandMemory*h.Rng.Uint32N(2)))
	for off := uint64(pcicfg.BAR0); off <= pcicfg.BAR5; off += 4 {
		h.SetConfig(off, v)
		h.GetConfig(off, func(uint32) {})
		if h.percent(40) {
			h.SetConfig(off, h.Rng.Uint32())
			h.trimLanes(h.Last().Beats)
		}
	}
	h.randomRequest(h.BAR0, pcicfg.BAR0Size)
	h.assign()
	h.SetConfig(pcicfg.Command, commandOn)
}

// plan queues the host's next step.
func (h *Stimulus) plan() {
	if h.hasMCU() && h.percent(15) {
		h.controller()
		return
	}
	if h.hasGART() && h.percent(6) {
		h.pages()
		return
	}
	n := h.Rng.IntN(len(h.nodes))
	switch p := h.Rng.IntN(1000); {
	case p < 550:
		h.drive(n)
	case p < 670:
		h.randomRequest(h.BAR2, h.config.VRAM)
	case p < 690:
		h.anyReg()
	case p < 700:
		h.start(n)
	case p < 750:
		h.randomRequest(h.BAR2, []uint64{4096, hot}[h.Rng.IntN(2)])
	case p < 780:
		h.randomRequest(h.BAR0+idreg.Base, idreg.Size)
	case p < 785:
		h.randomRequest(h.BAR0+perfreg.Base, perfreg.Size)
	case p < 790:
		h.SetReg(perfreg.Base+perfreg.Ctl, h.Rng.Uint32N(8)|perfreg.CtlRun*h.Rng.Uint32N(2))
	case p < 792:
		h.SetReg(wdogreg.Base+wdogreg.Limit, h.Rng.Uint32()>>(16+h.Rng.IntN(16)))
		h.Reg(wdogreg.Base+wdogreg.Status, func(v uint32) { h.SetReg(wdogreg.Base+wdogreg.Status, v) })
	case p < 793 && h.config.Caps.Has(caps.ReadTimeout):
		h.SetReg(idreg.ReadTimeout, h.Rng.Uint32N(3))
	case p == 793 && h.config.Caps.Has(caps.Master):
		h.SetReg(arbreg.Base+arbreg.Owner, h.Rng.Uint32N(1<<cpreg.Nodes)&-h.Rng.Uint32N(2))
	case p < 800:
		h.randomRequest(h.BAR0, pcicfg.BAR0Size)
	case p < 820:
		h.randomRequest(h.BAR0+cpreg.Base+uint64(n)*cpreg.Stride+cpreg.Fence, cpreg.Stride-cpreg.Fence)
	case p < 825:
		h.randomRequest(h.BAR0+cpreg.Base, 2*cpreg.Stride)
	case p < 830:
		h.randomRequest(0x7000_0000, 1<<20)
	case p < 880:
		h.randomConfig()
	case p < 885:
		h.toggle()
	case p < 887:
		h.size()
	case p < 895:
		h.masterOff()
	case p < 960:
		h.interrupts()
	case p < 961:
		h.boot()
	case p < 963:
		h.resets()
	case p < 966:
		h.burst(n)
	case p == 966 && h.percent(30) && h.config.Caps.Has(caps.Watchdog) && h.config.Caps.Has(caps.Timeline):
		h.hang(n)
	default:
		h.captures()
	}
}

// toggle turns memory decode, bus mastering, both or neither off for a while and
// clears some status bits.
func (h *Stimulus) toggle() {
	h.SetConfig(pcicfg.Command, h.Rng.Uint32())
	if h.percent(40) {
		h.trimLanes(h.Last().Beats)
	}
	for range h.Rng.IntN(10) {
		h.randomRequest(h.BAR0, idreg.Size)
		h.randomConfig()
	}
	h.SetConfig(pcicfg.Command, commandOn)
}

// masterOff turns bus mastering off while the engines run, for a moment or until all
// engines have noticed.
func (h *Stimulus) masterOff() {
	h.SetConfig(pcicfg.Command, pcicfg.CommandMemory)
	for range h.Rng.IntN(30) {
		h.anyReg()
	}
	h.SetConfig(pcicfg.Command, commandOn)
}

// anyReg reads a random register of the map. Sometimes it writes the register, with
// any value a buggy driver might write.
func (h *Stimulus) anyReg() {
	off := uint64(h.regs[h.Rng.IntN(len(h.regs))].Off())
	if off == idreg.Reset || h.percent(90) {
		h.Reg(off, func(uint32) {})
		return
	}
	h.SetReg(off, h.Rng.Uint32())
}

// interrupts does what an interrupt handler may do, and more.
func (h *Stimulus) interrupts() {
	at := uint64(msixreg.Base) + h.Rng.Uint64N(pcicfg.Vectors)*msixreg.Stride
	switch h.Rng.IntN(10) {
	case 0:
		const control = pcicfg.MSIXEnable | pcicfg.MSIXFunctionMask
		h.SetConfig(pcicfg.MSIX, h.Rng.Uint32()&control)
		if h.percent(40) {
			h.SetConfig(pcicfg.MSIX, h.Rng.Uint32()&control)
			h.trimLanes(h.Last().Beats)
		}
		if h.percent(50) {
			h.GetConfig(pcicfg.MSIX, func(uint32) {})
		}
		h.SetReg(intcreg.Base+intcreg.Raise, intcreg.All)
		h.SetConfig(pcicfg.MSIX, pcicfg.MSIXEnable)
	case 1:
		h.SetReg(at+msixreg.Control, 1)
		h.SetReg(intcreg.Base+intcreg.Raise, h.Rng.Uint32())
		h.Reg(msixreg.PendingBase, func(uint32) {})
		for v := range uint64(pcicfg.Vectors) {
			h.Reg(uint64(msixreg.Base)+v*msixreg.Stride+msixreg.Control, func(uint32) {})
		}
		h.SetReg(at+msixreg.Control, 0)
	case 2:
		h.SetReg(at+msixreg.Data, h.Rng.Uint32())
		h.SetReg(at+msixreg.AddrLo, uint32(messages)|h.Rng.Uint32N(64)*4)
	case 3:
		h.SetReg(intcreg.Base+intcreg.Mask, h.Rng.Uint32())
		h.SetReg(intcreg.Base+intcreg.Status, h.Rng.Uint32())
		h.SetReg(intcreg.Base+intcreg.Mask, intcreg.All)
	case 4:
		h.SetReg(intcreg.Base+intcreg.CoalesceCount, h.Rng.Uint32N(5))
		h.SetReg(intcreg.Base+intcreg.CoalesceTime, h.Rng.Uint32()>>(8+h.Rng.IntN(24)))
	case 5:
		h.SetReg(intcreg.Base+intcreg.CoalesceTime, 0)
		h.Reg(intcreg.Base+intcreg.CoalesceCount, func(uint32) {})
	default:
		h.Reg(intcreg.Base+intcreg.Status, func(v uint32) { h.SetReg(intcreg.Base+intcreg.Status, v) })
	}
}

// captures reads and clears the captured refused access, and reads the time.
func (h *Stimulus) captures() {
	h.Reg(idreg.ErrInfo, func(v uint32) {
		h.Saw.ErrInfo[v&idreg.ErrInfoCause] = true
		if h.percent(50) {
			h.SetReg(idreg.ErrCount, 0)
		}
	})
	h.Reg(idreg.TimeLo, func(uint32) {})
	h.Reg(idreg.TimeHi, func(uint32) {})
}
