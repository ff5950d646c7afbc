package bringup

import (
	"encoding/binary"
	"errors"

	"github.com/hilgpu/hilgpu/firmware"
	"github.com/hilgpu/hilgpu/firmware/mcu"
	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/abi/intcreg"
	"github.com/hilgpu/hilgpu/rtl/abi/mcureg"
	"github.com/hilgpu/hilgpu/testbench/device/bare"
)

// mcuState is what the stages of the microcontroller keep.
type mcuState struct {
	was   [][2]uint32 // registers before the first of them, by offset
	boot  firmware.Boot
	ready bool // the firmware runs
}

// ifMCU leaves a stage out on a device without a microcontroller.
func ifMCU(run func(s *session, f *finding) string) func(s *session) outcome {
	return func(s *session) outcome {
		if !s.Capabilities().Has(caps.MCU) {
			return absent("the board has no microcontroller")
		}
		s.useMCU()
		var f finding
		summary := run(s, &f)
		return f.outcome(summary)
	}
}

// useMCU stops what an earlier host left running, and saves the registers that restoreMCU restores.
func (s *session) useMCU() {
	s.quiesce()
	if s.mcu.was != nil {
		return
	}
	save := func(off uint32) { s.mcu.was = append(s.mcu.was, [2]uint32{off, s.Reg(off)}) }
	for w := range uint32(mcureg.FreeWindow) {
		for _, off := range [...]uint32{mcureg.BaseLo, mcureg.BaseHi, mcureg.WindowSize} {
			save(mcureg.Base + mcureg.Window + mcureg.Stride*w + off)
		}
	}
	for i := range uint32(mcureg.Mails) {
		save(mcureg.Base + mcureg.Mail + 4*i)
	}
	for i := range uint32(mcureg.Breakpoints) {
		save(mcureg.DebugBase + mcureg.Break + 4*i)
	}
	save(mcureg.DebugBase + mcureg.Watch)
	save(mcureg.Base + mcureg.Blocks)
	save(mcureg.Base + mcureg.Limit)
	s.SetReg(mcureg.Base+mcureg.Limit, 0)
}

// restoreMCU stops the microcontroller, and restores its registers if a stage has used it. Its memory
// keeps the program of the last stage.
func (s *session) restoreMCU() {
	if s.mcu.was == nil {
		return
	}
	_ = mcu.Clear(s.registers()) // a failure is in s.Err
	for _, w := range s.mcu.was {
		s.SetReg(w[0], w[1])
	}
}

func (s *session) registers() bare.Registers { return bare.Registers{Access: s.Access} }

// startMCU loads a program and runs it, without a debugger. It adds the problem.
func (s *session) startMCU(f *finding, words ...uint32) bool {
	s.mcu.ready = false
	r := s.registers()
	image := make([]byte, 0, 4*len(words))
	for _, w := range words {
		image = binary.LittleEndian.AppendUint32(image, w)
	}
	err := mcu.Clear(r)
	if err == nil {
		err = mcu.Load(r, 0, image)
	}
	if err == nil {
		err = mcu.Run(r)
	}
	if err != nil && s.Err == nil {
		f.add("the path of LOAD_DATA, or the CRC", "%s", trimmed(err))
	}
	return err == nil
}

// trimmed returns the text of an error of package mcu, firmware or message without its package.
func trimmed(err error) string {
	for _, p := range []string{"mcu: ", "firmware: ", "message: "} {
		if text := err.Error(); len(text) > len(p) && text[:len(p)] == p {
			return text[len(p):]
		}
	}
	return err.Error()
}

// Of soon: clocks of ID.TIME that a program of a stage may take, of which the test of the memory takes
// less than a half; the fewest reads of a slow board; and the most if its time stands still.
const (
	soonClocks = 1 << 20
	soonReads  = 64
	mostReads  = 1 << 16
)

// soon waits until done returns true, and reports whether it did. The program of a microcontroller runs
// meanwhile, which an emulator does not skip: so it is shorter than Until.
func (s *session) soon(done func() bool) bool {
	from := s.Reg(idreg.Base + idreg.TimeLo)
	for reads := 0; s.Alive() && reads < mostReads; reads++ {
		if done() {
			return s.Err == nil
		}
		if reads >= soonReads && s.Reg(idreg.Base+idreg.TimeLo)-from > soonClocks {
			return false
		}
	}
	return false
}

// statusReads is how often the debugger reads STATUS in one wait.
const statusReads = 1000

// Instructions of the programs of mcuRegs.
const (
	insNOP  = 0x00000013
	insWFI  = 0x10500073
	insBack = 0xffdff06f // to the instruction before
	insSelf = 0x0000006f // to itself
)

// mcuRegs tests the debug unit with the registers of the processor, and the watchdog.
func mcuRegs(s *session, f *finding) string {
	if !s.startMCU(f, insNOP, insNOP, insSelf) {
		return ""
	}
	if err := s.debug(f); err != nil && s.Err == nil {
		f.add("the debug unit", "%s", trimmed(err))
	}
	s.watchdog(f)
	return "31 registers, a step, a breakpoint, watchdog"
}

// debug halts a program of three instructions, walks the registers, and steps.
func (s *session) debug(f *finding) error {
	d, err := mcu.New(s.registers(), statusReads)
	if err != nil {
		return err
	}
	if err := d.Reset(); err != nil {
		return err
	}
	value := func(i int) uint32 { return uint32(i)*0x01010101 ^ 0x5aa5c33c }
	for i := 1; i < 32; i++ {
		if err := d.SetRegister(i, value(i)); err != nil {
			return err
		}
	}
	for i := 1; i < 32; i++ {
		v, err := d.Register(i)
		if err != nil {
			return err
		}
		if want := value(i); v != want {
			f.add("the registers of the processor", "x%d is %#08x after %#08x was written: %s", i, v, want, named(uint64(want), uint64(v)))
		}
	}
	return s.step(f, d)
}

// step executes one instruction, and runs to a breakpoint.
func (s *session) step(f *finding, d *mcu.Debugger) error {
	const at = 8
	for _, tt := range []struct {
		name string
		move func() error
		pc   uint32
		want mcu.Cause
	}{
		{"a step", d.Step, 4, mcu.Stepped},
		{"a breakpoint", func() error { return errors.Join(d.SetBreakpoint(at), d.Resume()) }, at, mcu.Breakpoint},
	} {
		if err := tt.move(); err != nil {
			return err
		}
		var cause mcu.Cause
		var err error
		if !s.soon(func() bool { cause, err = d.State(); return err != nil || cause != mcu.None }) || err != nil {
			f.add("the debug unit", "the processor does not halt after %s", tt.name)
			return err
		}
		pc, err := d.PC()
		if err != nil {
			return err
		}
		if cause != tt.want || pc != tt.pc {
			f.add("the debug unit", "after %s the processor is halted at %#x, %v, want %#x, %v", tt.name, pc, cause, tt.pc, tt.want)
		}
	}
	return nil
}

// shortLimit is LIMIT in the test of the watchdog in clocks.
const shortLimit = 2000

// watchdog checks that the watchdog halts a program that loops, and none that sleeps.
func (s *session) watchdog(f *finding) {
	const likely = "the watchdog of the microcontroller"
	const hung = mcureg.StatusHung | mcureg.StatusHalted
	status := func() uint32 { return s.Reg(mcureg.Base + mcureg.Status) }
	s.SetReg(mcureg.Base+mcureg.Limit, shortLimit)
	defer s.SetReg(mcureg.Base+mcureg.Limit, 0)
	s.SetReg(intcreg.Base+intcreg.Status, intcreg.Hung)
	if !s.startMCU(f, insSelf) {
		return
	}
	if !s.soon(func() bool { return status() == hung }) && s.Err == nil {
		f.add(likely, "MCU.STATUS is %#x after MCU.LIMIT passed, want %#x: the watchdog does not halt a program that loops", status(), hung)
	}
	if s.Reg(intcreg.Base+intcreg.Status)&intcreg.Hung == 0 && s.Err == nil {
		f.add(likely, "INTC.STATUS.HUNG is 0 after MCU.LIMIT passed: no event of the watchdog")
	}
	if !s.startMCU(f, insWFI, insBack) {
		return
	}
	if !s.soon(func() bool { return status() == mcureg.StatusAsleep }) && s.Err == nil {
		f.add("the WFI of the processor", "MCU.STATUS is %#x after WFI, want %#x", status(), mcureg.StatusAsleep)
		return
	}
	s.sleep(max(1, s.Clock.Hz()/(4*shortLimit)))
	if got := status(); got != mcureg.StatusAsleep && s.Err == nil {
		f.add(likely, "MCU.STATUS is %#x after a sleep, want %#x: the watchdog halts a program that sleeps", got, mcureg.StatusAsleep)
	}
	s.SetReg(mcureg.Base+mcureg.Ctl, 0)
	s.SetReg(intcreg.Base+intcreg.Status, intcreg.Hung)
}
