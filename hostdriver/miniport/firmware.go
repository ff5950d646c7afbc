package miniport

import (
	"errors"
	"fmt"

	"github.com/hilgpu/hilgpu/firmware"
	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/intcreg"
	"github.com/hilgpu/hilgpu/rtl/abi/mcureg"
	"github.com/hilgpu/hilgpu/runtime/ddi"
)

const (
	// testBytes is the size of the VRAM that the firmware uses for its self-test. It is at
	// the end of VRAM, and no segment has it.
	testBytes = 4096

	// testVRAM is the smallest VRAM that gives a part of it to the self-test.
	testVRAM = 64 << 10

	// testWindow is the window to that VRAM.
	testWindow = 2

	// firmwareBlocks are the blocks of registers that the firmware may write: INTC, to raise
	// an event, and the nodes.
	firmwareBlocks = 1<<(intcreg.Base/mcureg.BlockBytes) | 1<<(cpreg.Base/mcureg.BlockBytes) | 1<<((cpreg.Base+cpreg.Stride)/mcureg.BlockBytes)

	// firmwareLimit is how many clocks the firmware may work without a sign of life.
	firmwareLimit = 1 << 20

	// bootClocks is how long the boot may take on a device at a bus. It takes less than
	// 2^19 clocks.
	bootClocks = 1 << 24

	// bootTrips is how many register reads more the boot may take on a slow link.
	bootTrips = 64

	// bootPolls ends the wait for the boot on a device whose time stands still.
	bootPolls = 1 << 15
)

// A program is the firmware of the microcontroller.
//
//	boot    the last boot
//	err     why it does not run; nil: it runs, or there is no microcontroller
//	runs    it runs
type program struct {
	boot firmware.Boot
	err  error
	runs bool
}

// A statusError is the status of a register access that failed.
type statusError ddi.Status

// Error names the status.
func (e statusError) Error() string { return fmt.Sprint(ddi.Status(e)) }

// barRegisters are the registers as package firmware accesses them.
type barRegisters struct {
	t *ddi.Thread
	registers
}

// Read implements firmware.Registers.
func (r barRegisters) Read(off uint32) (uint32, error) {
	v, s := r.ReadRegister(r.t, off)
	if s != ddi.StatusSuccess {
		return 0, statusError(s)
	}
	return v, nil
}

// Write implements firmware.Registers.
func (r barRegisters) Write(off, v uint32) error {
	if s := r.WriteRegister(r.t, off, v); s != ddi.StatusSuccess {
		return statusError(s)
	}
	return nil
}

// startFirmware loads the firmware and waits until it is ready, if the device has a
// microcontroller. An image that is refused, a boot that fails or hangs, and a firmware that has hung
// twice are no failure of the device: the driver does without. An event and CollectDbgInfo have the error.
func (a *adapter) startFirmware(t *ddi.Thread) ddi.Status {
	a.program = program{}
	if !a.caps.have.Has(caps.MCU) {
		return ddi.StatusSuccess
	}
	if a.hang.count <= reloads {
		if s := a.loadFirmware(t); s != ddi.StatusSuccess {
			return s
		}
	} else {
		a.program.err = fmt.Errorf("%w %s", errHangs, a.hang.place)
	}
	if !a.program.runs {
		a.cb.LogEtwEvent(t, a.cb.DeviceHandle, "miniport: firmware "+a.program.text())
	}
	return ddi.StatusSuccess
}

// loadFirmware loads the firmware and waits until it is ready. It clears the event of an earlier hang
// first, so that the event of the program that it loads stays.
func (a *adapter) loadFirmware(t *ddi.Thread) ddi.Status {
	if s := a.regs.WriteRegister(t, intcreg.Base+intcreg.Status, intcreg.Hung); s != ddi.StatusSuccess {
		return s
	}
	a.hang.pending.Store(false)
	trip, s := a.trip(t)
	if s != ddi.StatusSuccess {
		return s
	}
	o := firmware.Options{
		Blocks: firmwareBlocks, Limit: firmwareLimit, Clocks: bootClocks + bootTrips*uint64(trip), Polls: bootPolls,
	}
	if a.reserved() != 0 {
		o.Test, o.TestWindow = true, testWindow
		o.Windows[testWindow] = firmware.Window{Base: a.caps.vramBytes - testBytes, Bytes: testBytes, Write: true}
	}
	a.prepareQueues(&o, trip)
	a.program.boot, a.program.err = firmware.Load(barRegisters{t, a.regs}, a.image, o)
	a.program.runs = a.program.err == nil
	var lost statusError
	if errors.As(a.program.err, &lost) {
		return ddi.Status(lost)
	}
	if !a.program.runs {
		a.hang.pending.Store(false)
	}
	return ddi.StatusSuccess
}

// trip returns the clocks of a register read.
func (a *adapter) trip(t *ddi.Thread) (uint32, ddi.Status) {
	clocks, err := firmware.Trip(barRegisters{t, a.regs})
	var lost statusError
	if errors.As(err, &lost) {
		return 0, ddi.Status(lost)
	}
	return clocks, ddi.StatusSuccess
}

// stopFirmware stops the firmware, if it runs. The state of one that hangs is kept.
func (a *adapter) stopFirmware(t *ddi.Thread) ddi.Status {
	if !a.program.runs {
		return ddi.StatusSuccess
	}
	if a.hung(t) {
		a.keepHang(t)
	}
	return a.holdFirmware(t)
}

// holdFirmware holds the microcontroller in reset, and no messages are sent to it. An access that it has begun
// still ends.
func (a *adapter) holdFirmware(t *ddi.Thread) ddi.Status {
	a.program.runs = false
	s := a.regs.WriteRegister(t, mcureg.Base+mcureg.Ctl, 0)
	if a.queues == nil {
		return s
	}
	if closed := a.queues.close(t); s == ddi.StatusSuccess {
		s = closed
	}
	a.queues.log.end(area(a.queues.mem.Bytes))
	a.queues.takeSamples()
	return s
}

// text describes the firmware in one line.
func (p program) text() string {
	if p.err != nil {
		return fmt.Sprintf("not running: %v", p.err)
	}
	if !p.runs {
		return "stopped"
	}
	return fmt.Sprintf("build %s, ready after %d clocks", firmware.BuildText(p.boot.Build), p.boot.Clocks)
}
