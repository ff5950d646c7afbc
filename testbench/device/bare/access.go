package bare

import (
	"context"
	"encoding/binary"
	"errors"
	"time"

	"github.com/hilgpu/hilgpu/boards"
	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/rtl/abi/arbreg"
	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/abi/intcreg"
	"github.com/hilgpu/hilgpu/rtl/abi/mcureg"
	"github.com/hilgpu/hilgpu/rtl/abi/pcicfg"
	"github.com/hilgpu/hilgpu/rtl/abi/perfreg"
	"github.com/hilgpu/hilgpu/rtl/abi/regmap"
	"github.com/hilgpu/hilgpu/rtl/abi/wdogreg"
)

// Addresses that PlaceBARs gives to the BARs.
const (
	Base0 = 0xe0000000
	base2 = 0x2_0000_0000
)

// TimeoutSeconds limits the wait for an action that the board performs at once, in
// seconds. If the time-out of a request is longer, as for a simulation in another process, that limits it.
const TimeoutSeconds = 2

// CommandOn is the value of COMMAND for a device in use.
const CommandOn = pcicfg.CommandMemory | pcicfg.CommandBusMaster | pcicfg.CommandINTxDisable

// maxIdleWaits is the largest number of successive waits in which no time passes.
const maxIdleWaits = 1_000_000

// ErrClockStopped is the error of accesses to a board whose clock does not run.
var ErrClockStopped = errors.New("bare: the clock of the board does not run")

// An Access reads and writes a board. The first error stays in Err: later accesses
// do nothing and reads return 0.
type Access struct {
	Ctx   context.Context // once it is done, accesses fail with its error
	Link  bus.Link
	Clock bus.Clock
	Host  *Host
	Err   error

	idleWaits int // successive waits in which no time passed

	byPackets bool  // packets access VRAM
	user      *Node // node 0 with its ring, nil if it has none
}

// Alive reports whether no access has failed and Ctx is not done.
func (a *Access) Alive() bool {
	if a.Err == nil {
		a.Err = a.Ctx.Err()
	}
	return a.Err == nil
}

// Config reads the dword of configuration space at off, in bytes.
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

// Registers are the registers of BAR0 as packages firmware, message and mcu access them.
type Registers struct{ Access *Access }

// Read reads a register by its offset.
func (r Registers) Read(off uint32) (uint32, error) {
	v := r.Access.Reg(off)
	return v, r.Access.Err
}

// Write writes a register by its offset.
func (r Registers) Write(off, v uint32) error {
	r.Access.SetReg(off, v)
	return r.Access.Err
}

// Read fills p from a BAR, with zeros if the read fails.
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

// Wait waits for a message, at most until deadline.
func (a *Access) Wait(deadline uint64) {
	from := a.Clock.Now()
	_, a.Err = a.Clock.Wait(deadline)
	if a.idleWaits++; a.Clock.Now() != from {
		a.idleWaits = 0
	}
	if a.Err == nil && a.idleWaits > maxIdleWaits {
		a.Err = ErrClockStopped
	}
}

// Limit returns the limit of the wait for an action that the board performs at once, in seconds.
func (a *Access) Limit() uint64 {
	if l, ok := bus.As[boards.Limited](a.Link); ok {
		return max(TimeoutSeconds, uint64(l.Timeout()/time.Second))
	}
	return TimeoutSeconds
}

// Until waits until done returns true, and reports whether it did within
// Limit. It calls done at growing intervals.
func (a *Access) Until(done func() bool) bool {
	hz := a.Clock.Hz()
	end := a.Clock.Now() + a.Limit()*hz
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

// PlaceBARs sets the addresses of the BARs and enables the device.
func (a *Access) PlaceBARs() {
	a.SetConfig(pcicfg.BAR0, Base0)
	a.SetConfig(pcicfg.BAR2, base2&0xffffffff)
	a.SetConfig(pcicfg.BAR3, base2>>32)
	a.SetConfig(pcicfg.MSIX, 0)
	a.SetConfig(pcicfg.Command, CommandOn)
}

// Quiesce ends what an earlier host left running and no node reset ends: it masks
// the events, stops the microcontroller, takes the nodes of the second master, turns coalescing, counters, watchdog and time-out off, and
// resets all nodes, which keep their timelines. It does not wait for the nodes. The returned function
// restores the masks and limits.
func (a *Access) Quiesce() (restore func()) {
	have, registers := a.Capabilities(), regmap.New()
	if have.Has(caps.MCU) {
		a.SetReg(mcureg.Base+mcureg.Ctl, 0)
	}
	if have.Has(caps.Master) {
		a.SetReg(arbreg.Base+arbreg.Owner, 0)
	}
	var was [][2]uint32
	for _, off := range []uint32{
		intcreg.Base + intcreg.Mask, intcreg.Base + intcreg.CoalesceCount, intcreg.Base + intcreg.CoalesceTime,
		perfreg.Base + perfreg.Ctl, wdogreg.Base + wdogreg.Limit, idreg.Base + idreg.ReadTimeout,
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

// Capabilities returns the capabilities that the device reports.
func (a *Access) Capabilities() caps.Set {
	word := a.Reg(idreg.Base + idreg.Caps)
	return caps.Of(word, a.Reg(idreg.Base+idreg.Caps2))
}

// Size returns the size of the BAR at off, or 0 if there is none. It leaves the BAR
// at all ones (PCI 3.0 §6.2.5.1).
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
