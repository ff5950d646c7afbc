package bare

import (
	"context"
	"encoding/binary"
	"errors"

	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/abi/intcreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pcicfg"
	"github.com/hilgpu/hilgpu/rtl/abi/perfreg"
	"github.com/hilgpu/hilgpu/rtl/abi/regmap"
	"github.com/hilgpu/hilgpu/rtl/abi/wdogreg"
)

// Where Place puts the BARs.
const (
	Base0 = 0xe0000000
	base2 = 0x2_0000_0000
)

// Patience is how long a board may take for what it does at once, in seconds.
const Patience = 2

// CommandOn is COMMAND of a device that is in use.
const CommandOn = pcicfg.CommandMemory | pcicfg.CommandBusMaster | pcicfg.CommandINTxDisable

// maxStill is how many waits in a row may end without any time passing.
const maxStill = 1_000_000

// ErrStill is the error of accesses to a board whose clock does not run.
var ErrStill = errors.New("bare: the clock of the board does not run")

// An Access is the way to a board. The first error of an access stays in Err:
// every access after it does nothing and reads as 0.
type Access struct {
	Ctx   context.Context // its end is an error of the next access
	Link  bus.Link
	Clock bus.Clock
	Host  *Host
	Err   error

	still int // waits in a row without any time passing

	copies bool  // VRAM is reached by packets
	user   *Node // node 0 with the ring that it was given, nil if it has none
}

// Alive says whether accesses go on.
func (a *Access) Alive() bool {
	if a.Err == nil {
		a.Err = a.Ctx.Err()
	}
	return a.Err == nil
}

// Config reads a dword of configuration space; off is in bytes.
func (a *Access) Config(off int) uint32 {
	if !a.Alive() {
		return 0
	}
	v, err := a.Link.ReadConfig(off)
	a.Err = err
	return v
}

// SetConfig writes a dword of configuration space.
func (a *Access) SetConfig(off int, v uint32) {
	if a.Alive() {
		a.Err = a.Link.WriteConfig(off, v)
	}
}

// Reg reads a register of BAR0.
func (a *Access) Reg(off uint32) uint32 {
	var p [4]byte
	a.Read(0, uint64(off), p[:])
	return binary.LittleEndian.Uint32(p[:])
}

// SetReg writes a register of BAR0.
func (a *Access) SetReg(off, v uint32) {
	var p [4]byte
	binary.LittleEndian.PutUint32(p[:], v)
	a.Write(0, uint64(off), p[:])
}

// Read fills p from a BAR, with zeros if that fails.
func (a *Access) Read(bar int, off uint64, p []byte) {
	if a.Alive() {
		a.Err = a.Link.Read(bar, off, p)
	}
	if a.Err != nil {
		clear(p)
	}
}

// Write sends p to a BAR.
func (a *Access) Write(bar int, off uint64, p []byte) {
	if a.Alive() {
		a.Err = a.Link.Write(bar, off, p)
	}
}

// Wait waits for a message until deadline, or less long.
func (a *Access) Wait(deadline uint64) {
	from := a.Clock.Now()
	_, a.Err = a.Clock.Wait(deadline)
	if a.still++; a.Clock.Now() != from {
		a.still = 0
	}
	if a.Err == nil && a.still > maxStill {
		a.Err = ErrStill
	}
}

// Until waits until done, and returns whether it was before Patience was over.
// It looks again after a time that grows.
func (a *Access) Until(done func() bool) bool {
	hz := a.Clock.Hz()
	end := a.Clock.Now() + Patience*hz
	for step := max(1, hz/1_000_000); a.Alive(); step = min(2*step, max(1, hz/1000)) {
		if done() {
			return a.Err == nil
		}
		now := a.Clock.Now()
		if now >= end || !a.Alive() {
			return false
		}
		a.Wait(min(now+step, end))
	}
	return false
}

// Place puts the BARs to their addresses and enables the device.
func (a *Access) Place() {
	a.SetConfig(pcicfg.BAR0, Base0)
	a.SetConfig(pcicfg.BAR2, base2&0xffffffff)
	a.SetConfig(pcicfg.BAR3, base2>>32)
	a.SetConfig(pcicfg.MSIX, 0)
	a.SetConfig(pcicfg.Command, CommandOn)
}

// Still ends what an earlier host may have left going and no reset of one node
// ends: it masks the events, turns coalescing, counters and watchdog off, and
// resets all nodes, whose timelines stay. It does not wait for the nodes. The
// function that it returns gives the masks and limits back their values.
func (a *Access) Still() (restore func()) {
	have, registers := a.Capabilities(), regmap.New()
	var was [][2]uint32
	for _, off := range []uint32{
		intcreg.Base + intcreg.Mask, intcreg.Base + intcreg.CoalesceCount, intcreg.Base + intcreg.CoalesceTime,
		perfreg.Base + perfreg.Ctl, wdogreg.Base + wdogreg.Limit,
	} {
		if e, _ := registers.Lookup(off); e.In(have) {
			was = append(was, [2]uint32{off, a.Reg(off)})
			a.SetReg(off, 0)
		}
	}
	if have.Has(caps.Watchdog) {
		a.SetReg(wdogreg.Base+wdogreg.Status, wdogreg.Hang0|wdogreg.Hang1)
	}
	a.SetReg(cpreg.Base+cpreg.Ctl, cpreg.CtlReset)
	if have.Has(caps.Node1) {
		a.SetReg(cpreg.Base+cpreg.Stride+cpreg.Ctl, cpreg.CtlReset)
	}
	return func() {
		for _, w := range was {
			a.SetReg(w[0], w[1])
		}
	}
}

// Capabilities returns those that the device says it has.
func (a *Access) Capabilities() caps.Set {
	word := a.Reg(idreg.Base + idreg.Caps)
	return caps.Of(word, a.Reg(idreg.Base+idreg.Caps2))
}

// Size returns the size of the BAR at off, 0 if there is none, and leaves ones
// in it (PCI 3.0 §6.2.5.1).
func (a *Access) Size(off int) uint64 {
	a.SetConfig(off, 0xffffffff)
	lo := a.Config(off)
	if lo == 0 {
		return 0
	}
	hi := uint32(0)
	wide := lo&(3<<1) == pcicfg.BARMem64
	if wide {
		a.SetConfig(off+4, 0xffffffff)
		hi = a.Config(off + 4)
	}
	size := -(uint64(hi)<<32 | uint64(lo&^pcicfg.BARFlags))
	if !wide {
		size &= 0xffffffff
	}
	return size
}
