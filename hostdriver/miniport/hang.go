package miniport

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/hilgpu/hilgpu/firmware/corefile"
	"github.com/hilgpu/hilgpu/firmware/log"
	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/intcreg"
	"github.com/hilgpu/hilgpu/rtl/abi/mcureg"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

var (
	errHung  = errors.New("miniport: firmware hung")        // why the work in its queues is lost
	errHangs = errors.New("miniport: firmware hangs again") // why it does not run after a second hang
)

// reloads is how often a firmware that hangs is loaded again. After one more hang it stays stopped until the
// next StartDevice.
const reloads = 1

// corePolls is how often one wait of the debugger reads the state of the processor.
const corePolls = 1 << 10

// A hang is a firmware that its watchdog has halted.
//
//	pending  the event has arrived since the last load, and no call has handled it
//	count    hangs since StartDevice
//	place    where the last one was
type hang struct {
	pending atomic.Bool
	count   int
	place   string
}

// An Observer has functions that get what the driver learns from its firmware. nil: it is not read.
//
//	Core     gets the core file of a firmware that hangs, an ELF file for gdb, at PASSIVE_LEVEL
//	Samples  gets the samples of SettingTelemetry in their order, at DISPATCH_LEVEL or below; their
//	         numbers begin at 0 again when the firmware is loaded again
type Observer struct {
	Core    func(core []byte)
	Samples func(all []log.Sample)
}

// WithObserver is WithFirmware with an observer.
func WithObserver(image []byte, o Observer) kmddi.DriverInitializationData {
	d := WithFirmware(image)
	d.AddDevice = addDevice(image, o)
	return d
}

// hungEvent returns the event of the watchdog. It may also arrive during a load.
func (a *adapter) hungEvent() uint32 {
	if a.caps.have.Has(caps.MCU) {
		return intcreg.Hung
	}
	return 0
}

// noteHang notes the event of the watchdog. It runs at DIRQL.
func (a *adapter) noteHang(events uint32) {
	if events&intcreg.Hung != 0 {
		a.hang.pending.Store(true)
	}
}

// recoverHang keeps the state of a firmware that the watchdog has halted, and loads it again. After a
// second hang it stays stopped. It runs at PASSIVE_LEVEL, since it reads all of its memory. Of
// several threads one does the work. Nodes that the host has continue meanwhile. An access that fails
// has its status in program.err; the next access of the caller fails too.
func (a *adapter) recoverHang(t *ddi.Thread) {
	if q := a.queues; q != nil {
		if a.hang.pending.Load() && q.mu.TryLock() {
			defer q.mu.Unlock()
			q.recover(t)
		}
		return
	}
	if !a.hang.pending.Swap(false) || !a.program.runs {
		return
	}
	a.keepHang(t)
	s := a.holdFirmware(t)
	if s == ddi.StatusSuccess {
		s = a.startFirmware(t)
	}
	if s != ddi.StatusSuccess {
		a.program.err = statusError(s)
	}
}

// hung reports whether the watchdog has halted the firmware. The event may be lost, but the register has it.
func (a *adapter) hung(t *ddi.Thread) bool {
	status, s := a.regs.ReadRegister(t, mcureg.Base+mcureg.Status)
	return a.hang.pending.Swap(false) || s == ddi.StatusSuccess && status&mcureg.StatusHung != 0
}

// keepHang reads the state of a firmware that the watchdog has halted.
func (a *adapter) keepHang(t *ddi.Thread) {
	a.hang.count++
	s, err := corefile.Take(barRegisters{t, a.regs}, corePolls)
	if err != nil {
		a.hang.place = fmt.Sprintf("at a place that cannot be read: %v", err)
		return
	}
	a.hang.place = fmt.Sprintf("at pc %#x, ra %#x, sp %#x", s.PC, s.Registers[1], s.Registers[2])
	if a.observer.Core != nil {
		a.observer.Core(s.Bytes())
	}
}

// firmwareText describes the firmware in one line.
func (a *adapter) firmwareText() string {
	text := a.program.text()
	if a.hang.count != 0 && a.program.err == nil {
		text += ", loaded again after it hung " + a.hang.place
	}
	return text
}
