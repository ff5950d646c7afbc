package bringup

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"slices"

	"github.com/hilgpu/hilgpu/firmware"
	"github.com/hilgpu/hilgpu/firmware/message"
	"github.com/hilgpu/hilgpu/rtl/abi/fwabi"
	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/abi/intcreg"
	"github.com/hilgpu/hilgpu/rtl/abi/mcureg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/testbench/device/bare"
)

// memoryTest is a program that tests the memory between the addresses in MAIL2 and MAIL3. Each word
// gets its address and then the complement. MAIL1 is 2 at the end, or 1 after a word that differs:
// then MAIL2 to MAIL4 have its address, its value and the expected one.
var memoryTest = []uint32{
	0x100007b7, //       lui  a5, 0x10000
	0x0487a503, //       lw   a0, 0x48(a5)
	0x04c7a583, //       lw   a1, 0x4c(a5)
	0x00000613, //       li   a2, 0
	0x00050693, // pass: mv   a3, a0
	0x00c6c733, // fill: xor  a4, a3, a2
	0x00e6a023, //       sw   a4, 0(a3)
	0x00468693, //       addi a3, a3, 4
	0xfeb6eae3, //       bltu a3, a1, fill
	0x00050693, //       mv   a3, a0
	0x00c6c733, // look: xor  a4, a3, a2
	0x0006a283, //       lw   t0, 0(a3)
	0x02e29063, //       bne  t0, a4, bad
	0x00468693, //       addi a3, a3, 4
	0xfeb6e8e3, //       bltu a3, a1, look
	0xfff64613, //       not  a2, a2
	0xfc0618e3, //       bnez a2, pass
	0x00200713, //       li   a4, 2
	0x04e7a223, // out:  sw   a4, 0x44(a5)
	0x0000006f, // done: j    done
	0x04d7a423, // bad:  sw   a3, 0x48(a5)
	0x0457a623, //       sw   t0, 0x4c(a5)
	0x04e7a823, //       sw   a4, 0x50(a5)
	0x00100713, //       li   a4, 1
	0xfe9ff06f, //       j    out
}

// mail returns the offset of a mail word.
func mail(i uint32) uint32 { return mcureg.Base + mcureg.Mail + 4*i }

// mcuLoad checks INFO, loads a program and compares its CRC. The program tests the memory that the firmware is
// loaded to. The firmware tests the rest of it.
func mcuLoad(s *session, f *finding) string {
	info := s.Reg(mcureg.Base + mcureg.Info)
	size := info & mcureg.InfoMemory << 10
	if bits.OnesCount32(size) != 1 || size < 8<<10 || info&mcureg.InfoWindows != mcureg.Windows<<8 {
		f.add("another microcontroller, or a wrong register", "MCU.INFO is %#08x, want a power of two of at least 8 KiB and %d windows", info, mcureg.Windows)
		return ""
	}
	from, to := uint32(4*len(memoryTest)), min(size, s.imageSize())
	s.SetReg(mail(1), 0)
	s.SetReg(mail(2), from)
	s.SetReg(mail(3), to)
	if !s.startMCU(f, memoryTest...) {
		return ""
	}
	var result uint32
	done := s.soon(func() bool { result = s.Reg(mail(1)); return result != 0 })
	status, at, got, want := s.Reg(mcureg.Base+mcureg.Status), s.Reg(mail(2)), s.Reg(mail(3)), s.Reg(mail(4))
	s.SetReg(mcureg.Base+mcureg.Ctl, 0)
	switch {
	case s.Err != nil:
	case !done:
		f.add("the processor, or the first words of its memory", "the test of the memory does not end: MCU.STATUS is %#x", status)
	case result != 2:
		f.add("a memory of the microcontroller", "its memory at %#x holds %#08x, want %#08x: %s", at, got, want, named(uint64(want), uint64(got)))
	}
	return fmt.Sprintf("%d KiB, %d windows, CRC as expected, memory from %#x to %#x", size>>10, mcureg.Windows, from, to)
}

func (s *session) mcuMemory() uint32 { return s.Reg(mcureg.Base+mcureg.Info) & mcureg.InfoMemory << 10 }

// imageSize returns the size of the program of the firmware.
func (s *session) imageSize() uint32 {
	m, err := firmware.Parse(firmware.Default())
	if err != nil {
		s.Err = err
	}
	return m.Size
}

// Of the boot.
const (
	areaAt      = 32 << 10 // the message area, in host memory
	testBytes   = 4096     // the end of VRAM, for the self-test
	limitClocks = 1 << 20  // LIMIT, without the accesses to host memory
	bootClocks  = 1 << 24
	bootReads   = 1 << 16
	slowTrips   = 512 // register reads that boot and messages may take more on a slow link
)

// area is the message area.
func (s *session) area() bare.Part { return bare.Part{Host: s.Host, Off: areaAt} }

// bootOptions returns what the firmware may access: the events, VRAM for its self-test, and the
// message area.
func (s *session) bootOptions() firmware.Options {
	first := s.Reg(idreg.Base + idreg.TimeLo)
	trip := min(s.Reg(idreg.Base+idreg.TimeLo)-first, 1<<20)
	o := firmware.Options{
		Blocks: 1 << (intcreg.Base / mcureg.BlockBytes), Limit: limitClocks + slowTrips*trip, Clocks: bootClocks + slowTrips*uint64(trip), Polls: bootReads,
		Test: true, TestWindow: fwabi.WindowTest,
	}
	o.Windows[fwabi.WindowTest] = firmware.Window{Base: s.vram - testBytes, Bytes: testBytes, Write: true}
	o.Windows[fwabi.WindowMessages] = firmware.Window{Base: pkt.Host | s.area().Base(), Bytes: fwabi.AreaBytes, Write: true}
	return o
}

// likelyOf is the likely cause of a boot that ends in a stage.
var likelyOf = map[uint32]string{
	fwabi.StageNone: "the processor, or the first words of its memory", fwabi.StageStart: "the processor",
	fwabi.StageMemory: "the memory of the microcontroller", fwabi.StageBus: "the register bus, or its arbiter", fwabi.StageLock: "the lock of MCU.BLOCKS",
	fwabi.StageWindow: "the windows, or the way to VRAM", fwabi.StageTimer: "the time or the timer interrupt of the processor",
	fwabi.StageLoop: "reads or writes of host memory by the microcontroller",
}

// mcuBoot boots the firmware.
func mcuBoot(s *session, f *finding) string {
	if !s.bootFirmware(f) {
		f.absent = fmt.Sprintf("the memory of %d bytes is too small for the firmware", s.mcuMemory())
		return ""
	}
	b := s.mcu.boot
	return fmt.Sprintf("stage %s, result %s after %d clocks, build %x", b.Stage(), b.Outcome(), b.Clocks, binary.LittleEndian.AppendUint32(nil, b.Build))
}

// bootFirmware boots the firmware, unless it runs already. It adds the problem. It returns false if the
// memory is too small.
func (s *session) bootFirmware(f *finding) bool {
	if s.mcu.ready {
		return true
	}
	err := message.Init(s.area(), fwabi.RingsMost)
	if err == nil {
		s.mcu.boot, err = firmware.Load(s.registers(), firmware.Default(), s.bootOptions())
	}
	var failed *firmware.BootError
	switch {
	case errors.Is(err, firmware.ErrMemory):
		return false
	case errors.As(err, &failed):
		text := trimmed(err)
		if slices.Contains([]uint32{fwabi.ResultMemoryValue, fwabi.ResultScratch, fwabi.ResultWindowValue}, failed.Result) {
			text += ": " + named(uint64(failed.Detail[2]), uint64(failed.Detail[1]))
		}
		f.add(likelyOf[failed.Checkpoint], "%s", text)
	case err != nil && s.Err == nil:
		f.add("the path of LOAD_DATA, or the CRC", "%s", trimmed(err))
	}
	s.mcu.ready = err == nil
	return true
}

// pingBytes is the payload of PING.
const pingBytes = fwabi.PayloadBytes

// mcuMessage exchanges messages with the firmware.
func mcuMessage(s *session, f *finding) string {
	if !s.bootFirmware(f) {
		f.absent = "no firmware"
		return ""
	}
	if !s.mcu.ready {
		return ""
	}
	s.mcu.ready = false
	s.SetReg(intcreg.Base+intcreg.Status, intcreg.Firmware)
	err := s.talk(f)
	var refused *message.StatusError
	switch {
	case err == nil || s.Err != nil:
	case errors.Is(err, message.ErrTimeout):
		f.add("the doorbell of the microcontroller, its interrupt, or its reads of host memory", "%s", trimmed(err))
	case errors.Is(err, message.ErrHung):
		f.add("an access of the microcontroller to host memory that never ends", "%s", trimmed(err))
	case errors.As(err, &refused):
		f.add("words of the message area do not keep their values", "%s", trimmed(err))
	default:
		f.add("reads or writes of host memory by the microcontroller", "%s", trimmed(err))
	}
	s.SetReg(mcureg.Base+mcureg.Ctl, 0)
	s.SetReg(intcreg.Base+intcreg.Status, intcreg.Firmware)
	return fmt.Sprintf("HELLO, PING with %d bytes, event FIRMWARE", pingBytes)
}

// talk sends HELLO and PING, and checks the answers and the event.
func (s *session) talk(f *finding) error {
	c, err := message.Open(s.registers(), s.area(), message.Options{Polls: bootReads})
	if err != nil {
		return err
	}
	info, err := c.Hello(uint32(s.opt.Seed) | 1)
	if err != nil {
		return err
	}
	if info.Build != s.mcu.boot.Build || info.Version != fwabi.Version {
		f.add("words of the message area do not keep their values", "HELLO answers version %d, build %s, want version %d, build %s", info.Version, firmware.BuildText(info.Build), fwabi.Version, firmware.BuildText(s.mcu.boot.Build))
	}
	want := make([]byte, pingBytes)
	for i, rng := 0, s.rng(3); i < len(want); i++ {
		want[i] = byte(rng.Uint32())
	}
	_, got, err := c.Call(fwabi.OpPing, want)
	if err != nil {
		return err
	}
	if !bytes.Equal(got, want) {
		f.add("words of the message area do not keep their values", "PING answers %x, want %x", got, want)
	}
	event := func() bool { return s.Reg(intcreg.Base+intcreg.Status)&intcreg.Firmware != 0 }
	if !s.soon(event) && s.Err == nil {
		f.add("the register bus of the microcontroller, or INTC.RAISE", "INTC.STATUS.FIRMWARE is 0 after an answer: the event of the firmware is lost")
	}
	return nil
}
