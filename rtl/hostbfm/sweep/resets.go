package sweep

import (
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/abi/intcreg"
	"github.com/hilgpu/hilgpu/rtl/abi/msixreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pcicfg"
	"github.com/hilgpu/hilgpu/rtl/abi/perfreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/abi/wdogreg"
	"github.com/hilgpu/hilgpu/rtl/hostbfm"
)

// resets returns the sweeps of resets of the function and of the device.
func resets() []Sweep {
	return []Sweep{
		{
			Name: "configuration", Why: "configuration space is read, or some bytes are written, in the clock in which a function-level reset ends",
			Cases: 2 * len(configured()), Distances: 24, before: (*host).rest, meet: reconfigured,
		},
		{
			Name: "registers", Why: "a register is read or written just before or after the clock in which a reset ends",
			Cases: 4, Distances: 36, before: (*host).rest, meet: accessed,
		},
		{
			Name: "second reset", Why: "a reset is requested at, just before or after the end of another one",
			Cases: 4, Distances: 24, before: (*host).rest, meet: twice,
		},
		{
			Name: "reset input", Why: "the reset input is set in each clock of some activity",
			Cases: activities, Distances: 72, before: (*host).rest, meet: cut,
		},
	}
}

// rest does nothing.
func (h *host) rest(int) {}

// configured returns the writable registers of configuration space.
func configured() []uint64 {
	return []uint64{pcicfg.Command, pcicfg.BAR0, pcicfg.BAR2, pcicfg.BAR3, pcicfg.IntLine, pcicfg.MSIX, pcicfg.DevCtl}
}

// soil sets the bits of configuration space that a reset clears.
func (h *host) soil() {
	h.vectors()
	h.SetConfig(pcicfg.IntLine, 0xa5)
	h.SetConfig(pcicfg.DevCtl, pcicfg.DevCtlMaxPayload|5<<12)
	h.Queue(hostbfm.Write(nowhere, make([]byte, 4)))
	h.SetConfig(pcicfg.Command, commandOn|pcicfg.CommandINTxDisable)
	h.submit(0, pkt.Copy{Src: missing, Dst: data(dataFrom), Bytes: 512}) // its reads fail in both ways
	h.drain()
	h.step(60)
}

// owe makes the device owe the beat of a message, so that no reset ends.
func (h *host) owe() {
	h.HoldBeats = true
	h.SetReg(raise, intcreg.Done0)
	h.until(func() bool { return len(h.Writes) > 0 })
}

// recover ends a reset and boots the function again.
func (h *host) recover() {
	h.settle()
	h.look(idreg.Reset)
	for _, off := range configured() {
		h.GetConfig(off, func(uint32) {})
	}
	h.boot()
}

// reconfigured writes each byte of a register of configuration space, and all at once, or reads
// it, while a function-level reset waits for a beat.
func reconfigured(h *host, which, at int) {
	h.soil()
	h.owe()
	h.SetConfig(pcicfg.MSIX, pcicfg.MSIXEnable|pcicfg.MSIXFunctionMask)
	h.SetConfig(pcicfg.DevCtl, pcicfg.DevCtlReset)
	h.drain()
	off := configured()[which/2]
	for lane := range 6 {
		if which&1 != 0 {
			h.GetConfig(off, func(uint32) {})
			continue
		}
		h.SetConfig(off, 0x5a5a_5a5a>>(at&1)&^pcicfg.DevCtlReset)
		for i := range h.Last().Beats {
			if lane < 4 {
				h.Last().Beats[i].Enable &= 0x11 << lane
			}
		}
	}
	h.step(at)
	h.HoldBeats = false
	h.recover()
}

// accessed reads and writes registers while a reset waits for a beat.
func accessed(h *host, which, at int) {
	h.vectors()
	h.start(0)
	h.owe()
	h.SetReg(idreg.Reset, idreg.ResetWhole)
	h.drain()
	for _, off := range [][]uint64{
		{idreg.Reset, idreg.Scratch0, idreg.ErrInfo, idreg.ReadTimeout},
		{status, mask, done + msixreg.Control, faults + msixreg.AddrLo},
		{cp(0, cpreg.Ctl), cp(0, cpreg.RingLo), cp(0, cpreg.Fence), cp(0, cpreg.Wptr)},
		{wdogreg.Base + wdogreg.Limit, cp(0, cpreg.Status), cp(0, cpreg.Preempt), pending},
	}[which] {
		if off == idreg.Reset {
			h.look(off)
			continue
		}
		h.SetReg(off, 0x301)
		h.look(off)
	}
	h.step(at)
	h.HoldBeats = false
	h.recover()
}

// twice requests a second reset while the first waits for a beat.
func twice(h *host, which, at int) {
	h.vectors()
	h.owe()
	request := func(function bool) {
		if function {
			h.SetConfig(pcicfg.DevCtl, pcicfg.DevCtlReset)
		} else {
			h.SetReg(idreg.Reset, idreg.ResetWhole)
		}
	}
	request(which&1 != 0)
	h.drain()
	request(which&2 != 0)
	h.step(at)
	h.HoldBeats = false
	h.recover()
}

// activities is the number of kinds of activities that cut cuts off.
const activities = 7 + programs

// cut resets the device in the middle of an activity.
func cut(h *host, which, at int) {
	h.vectors()
	switch which {
	case 0:
		for _, off := range configured() {
			h.SetConfig(off, 0xffff_ffff)
			h.SetConfig(pcicfg.Command, commandOn)
		}
	case 1: // in the clock of the reset the data are random
		for range 24 {
			h.SetConfig(pcicfg.DevCtl, 0)
		}
	case 2:
		for _, off := range []uint64{
			cp(0, cpreg.Fence), cp(0, cpreg.LineHi), cp(0, cpreg.Preempt), cp(0, cpreg.Progress), cp(0, cpreg.RingSize), cp(0, cpreg.Wptr),
			cp(0, cpreg.Ctl), raise, wdogreg.Base + wdogreg.Limit, idreg.ReadTimeout, idreg.Reset,
		} {
			h.SetReg(off, 0xffff_ffff)
		}
	case 3:
		h.look(idreg.Magic, idreg.TimeLo, idreg.TimeHi, status, pending, done+msixreg.Control, wdogreg.Base+wdogreg.Limit,
			cp(0, cpreg.Status), cp(0, cpreg.RingLo), cp(0, cpreg.Fence), perfreg.Base+perfreg.Ctl, idreg.Size-4)
	case 4:
		h.submit(0, pkt.Copy{Src: missing, Dst: data(dataFrom), Bytes: 512})
	case 5:
		h.HoldBeats = true
		h.submit(0, pkt.Copy{Src: data(dataFrom), Dst: 0x100, Bytes: 64}, pkt.Fill{Dst: data(dataFrom + 120), Bytes: 16}, fence(0, 1, true))
	case 6:
		h.Queue(hostbfm.Write(bar2+0x40, make([]byte, 64)))
		h.Queue(hostbfm.Op{Req: port.Request{Kind: port.MemRead, Len: 32, Addr: bar2}})
		h.Queue(hostbfm.Write(nowhere+0x40, make([]byte, 64)))
	default:
		h.submit(0, h.program(which-7)...)
	}
	h.step(at)
	h.HoldBeats = false
	h.power()
	h.settle()
}
