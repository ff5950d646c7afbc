package main

import (
	"cmp"

	"github.com/hilgpu/hilgpu/boards"
	"github.com/hilgpu/hilgpu/boards/regs"
	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/firmware"
	"github.com/hilgpu/hilgpu/firmware/mcu"
	"github.com/hilgpu/hilgpu/firmware/message"
	"github.com/hilgpu/hilgpu/rtl/abi/fwabi"
	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pcicfg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/testbench/device/bare"
)

// The boot of firmware load, log and selftest.
const (
	scratchBytes   = 4096    // at the end of VRAM, for the self-test
	limitClocks    = 1 << 20 // without a sign of life, and limitTrips register reads
	limitTrips     = 512     // more than the accesses to host memory for a message
	tripMost       = 1 << 22 // clocks of a register read that count
	bootClocks     = 1 << 24
	bootPolls      = 1 << 16
	messageSession = 1
)

// options returns what the program may access: blocks of registers, and the end of VRAM for its
// self-test. It undoes what a debugger may have left.
func options(r mcu.Registers, blocks uint32) (firmware.Options, error) {
	o := firmware.Options{
		Blocks: blocks, Limit: limitClocks, Test: true, TestWindow: fwabi.WindowTest, Clocks: bootClocks, Polls: bootPolls,
	}
	vram, err := r.Read(idreg.Base + idreg.VRAMSize)
	if err == nil {
		err = mcu.Clear(r)
	}
	if err != nil {
		return o, err
	}
	o.Windows[fwabi.WindowTest] = firmware.Window{Base: uint64(vram) - scratchBytes, Bytes: scratchBytes, Write: true}
	clocks, err := firmware.Trip(r)
	clocks = min(clocks, tripMost)
	o.Limit = min(o.Limit+limitTrips*clocks, 1<<31)
	o.Clocks += limitTrips * uint64(clocks)
	return o, err
}

// boot loads the image and starts it, and then calls then.
func (f *firmwareFlags) boot(then func(r mcu.Registers) error) (boot firmware.Boot, err error) {
	_, data, err := f.checked()
	if err != nil {
		return boot, err
	}
	err = f.withMCU(func(r mcu.Registers) error {
		o, err := options(r, 0)
		if err != nil {
			return err
		}
		if boot, err = firmware.Load(r, data, o); err == nil {
			err = then(r)
		}
		return err
	})
	return boot, err
}

// A serving firmware has a session with a client.
type serving struct {
	*message.Client
	area  message.Memory
	regs  mcu.Registers
	clock bus.Clock
}

// serve loads the image and starts it with a message area, calls do with a client that has a session,
// and stops the program. The program may write the given blocks of registers.
func (f *firmwareFlags) serve(blocks uint32, do func(s serving) error) (boot firmware.Boot, err error) {
	_, data, err := f.checked()
	if err != nil {
		return boot, err
	}
	err = f.withMemory(func(r mcu.Registers, m bare.Part, clock bus.Clock) error {
		o, err := options(r, blocks)
		if err == nil {
			err = message.Init(m, fwabi.RingsMost)
		}
		if err != nil {
			return err
		}
		o.Windows[fwabi.WindowMessages] = firmware.Window{Base: pkt.Host | m.Base(), Bytes: fwabi.AreaBytes, Write: true}
		if boot, err = firmware.Load(r, data, o); err != nil {
			return err
		}
		return cmp.Or(talk(serving{area: m, regs: r, clock: clock}, do), mcu.Stop(r))
	})
	return boot, err
}

// talk begins a session and calls do.
func talk(s serving, do func(s serving) error) (err error) {
	if s.Client, err = message.Open(s.regs, s.area, message.Options{Polls: bootPolls}); err == nil {
		_, err = s.Hello(messageSession)
	}
	if err != nil {
		return err
	}
	return do(s)
}

// withMemory calls do with the registers of a board that has a microcontroller, with host memory that
// the board reaches, and with its clock.
func (f *firmwareFlags) withMemory(do func(r mcu.Registers, m bare.Part, clock bus.Clock) error) error {
	opt, err := f.app.Links.Options()
	if err != nil {
		return err
	}
	host := bare.NewHost(fwabi.AreaBytes)
	link, clock, err := boards.OpenWith(f.board, host, opt)
	if err != nil {
		return err
	}
	fn, err := regs.Open(link, regs.Options{})
	if err != nil {
		return cmp.Or(err, link.Close())
	}
	err = mcu.Check(mcu.Over(link))
	if err == nil {
		err = mastering(fn, func() error { return do(mcu.Over(link), bare.Part{Host: host}, clock) })
	}
	return cmp.Or(err, fn.Close(), link.Close())
}

// mastering calls do while the function may access host memory.
func mastering(fn *regs.Function, do func() error) error {
	const status = 0xffff0000 // a 1 clears a bit of it
	was, err := fn.Link().ReadConfig(pcicfg.Command)
	if err == nil {
		err = fn.Link().WriteConfig(pcicfg.Command, was&^status|pcicfg.CommandBusMaster)
	}
	if err != nil {
		return err
	}
	return cmp.Or(do(), fn.Link().WriteConfig(pcicfg.Command, was&^status))
}
