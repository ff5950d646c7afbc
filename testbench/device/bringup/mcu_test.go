package bringup_test

import (
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/rtl/abi/intcreg"
	"github.com/hilgpu/hilgpu/rtl/abi/mcureg"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
	"github.com/hilgpu/hilgpu/testbench/device/bringup"
)

// reading returns a spy that changes the value of a register.
func reading(off uint64, wrong func(v uint32) uint32) *spy {
	return &spy{read: func(bar int, at uint64, p []byte, err error) error {
		if bar == 0 && at == off && err == nil {
			binary.LittleEndian.PutUint32(p, wrong(binary.LittleEndian.Uint32(p)))
		}
		return err
	}}
}

// writing returns a spy that changes what is written to a register.
func writing(off uint64, wrong func(v uint32) uint32) *spy {
	return &spy{write: func(bar int, at uint64, p []byte) {
		if bar == 0 && at == off {
			binary.LittleEndian.PutUint32(p, wrong(binary.LittleEndian.Uint32(p)))
		}
	}}
}

// without clears bits of a register.
func without(bits uint32) func(v uint32) uint32 { return func(v uint32) uint32 { return v &^ bits } }

// mcuOnly are the stages of the microcontroller.
var mcuOnly = []string{"mcu"}

// Each fault of the microcontroller fails its stage, which names it. Later stages are not run.
func TestMCUFaults(t *testing.T) {
	tooltest.Long(t)
	for _, tt := range []struct {
		name, fault string
		spy         *spy
		stage, says string
	}{
		{"INFO", "", reading(mcureg.Base+mcureg.Info, func(uint32) uint32 { return 0x14803 }), "mcu.load", "MCU.INFO is 0x00014803, want a power of two"},
		{"DATA has a bit that is 0", "", reading(mcureg.DebugBase+mcureg.Data, without(1<<9)), "mcu.regs", "x1 is 0x5ba4c03d after 0x5ba4c23d was written: D9 reads 0"},
		{"no breakpoint", "", writing(mcureg.DebugBase+mcureg.Break, without(1)), "mcu.regs", "the processor does not halt after a breakpoint"},
		{"no halt", "", writing(mcureg.DebugBase+mcureg.DebugCtl, without(1)), "mcu.regs", "the processor does not halt"},
		{"no watchdog", "", reading(mcureg.Base+mcureg.Status, without(mcureg.StatusHung)), "mcu.regs", "the watchdog does not halt a program that loops"},
		{"no event of the watchdog", "", reading(intcreg.Base+intcreg.Status, without(intcreg.Hung)), "mcu.regs", "INTC.STATUS.HUNG is 0 after MCU.LIMIT passed: no event of the watchdog"},
		{"CRC", "", reading(mcureg.Base+mcureg.CRC, func(v uint32) uint32 { return v ^ 1<<31 }), "mcu.load", "MCU.CRC = "},
		{"LOAD_DATA", "", writing(mcureg.Base+mcureg.LoadData, func(v uint32) uint32 { return v &^ (1 << 16) }), "mcu.load", "MCU.CRC = "},
		{"a bit of the program", "stuck-mcu:W1024.D5=1", nil, "mcu.load", "its memory at 0x1000 holds 0x00001020, want 0x00001000: D5 reads 1"},
		{"a bit of the program", "stuck-mcu:W1024.D31=0", nil, "mcu.load", "its memory at 0x1000 holds 0x7fffefff, want 0xffffefff: D31 reads 0"},
		{"a bit of the first words", "stuck-mcu:W0.D13=1", nil, "mcu.load", "the test of the memory does not end"},
		{"a bit of the data", "stuck-mcu:W8000.D4=1", nil, "mcu.boot", "self-test failed in stage MEMORY: MEMORY_VALUE, at 0x7d00"},
		{"no answer of host memory", "lost-answer", nil, "mcu.boot", "boot hangs in stage LOOP"},
		{"no doorbell", "", writing(mcureg.Base+mcureg.Doorbell, without(1)), "mcu.message", "no answer: after"},
		{"no event of the firmware", "", reading(intcreg.Base+intcreg.Status, without(intcreg.Firmware)), "mcu.message", "the event of the firmware is lost"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := bringup.Options{Board: "emu?config=full", Only: mcuOnly}
			if tt.fault != "" {
				o.Board += "&fault=" + tt.fault
			}
			if tt.spy != nil {
				o.Open = tt.spy.over
			}
			r := run(t, o)
			assert.Equal(t, []string{tt.stage}, failures(r), text(r))
			assert.Contains(t, result(t, r, tt.stage).Line(), tt.says)
			assert.NotEmpty(t, result(t, r, tt.stage).Likely)
		})
	}
}

// A memory that is too small for the firmware is no failure.
func TestMCUWithSmallMemory(t *testing.T) {
	r := run(t, bringup.Options{Board: "emu?config=full&mcumem=8KiB", Only: mcuOnly})
	assert.True(t, r.OK(), text(r))
	assert.Equal(t, "not run: the memory of 8192 bytes is too small for the firmware", result(t, r, "mcu.boot").Summary)
	assert.Equal(t, "not run: no firmware", result(t, r, "mcu.message").Summary)
	assert.Equal(t, 2, r.Skipped)
}

// The stages say that a device has no microcontroller, also after a failure of what they need.
func TestNoMCU(t *testing.T) {
	r := run(t, bringup.Options{Board: "emu?config=small&fault=stuck-address:A8=1", Only: []string{"mem", "mcu"}})
	assert.Equal(t, []string{"mem.addr"}, failures(r))
	for _, stage := range []string{"mcu.regs", "mcu.load", "mcu.boot", "mcu.message"} {
		res := result(t, r, stage)
		assert.Equal(t, bringup.Skip, res.Status)
		assert.True(t, res.Absent)
		assert.Equal(t, "not run: the board has no microcontroller", res.Summary)
	}

	r = run(t, bringup.Options{Board: "emu?config=small", Only: []string{"mcu"}})
	assert.Equal(t, []int{0, 0, 4}, []int{r.Passed, r.Failed, r.Skipped}, text(r))
	assert.True(t, r.OK(), "no failure")
}

// The registers of the microcontroller get their values back, and it is in reset.
func TestMCURestores(t *testing.T) {
	at := map[uint64]uint32{
		mcureg.Base + mcureg.Limit: 1 << 30, mcureg.Base + mcureg.Blocks: 0x30001, mcureg.Base + mcureg.Mail + 12: 0x12345678,
		mcureg.Base + mcureg.Window + mcureg.Stride: 0x4000, mcureg.Base + mcureg.Window + mcureg.Stride + mcureg.WindowSize: 0x101,
		mcureg.DebugBase + mcureg.Break + 8: 0x101, mcureg.DebugBase + mcureg.Watch: 0x201,
	}
	s := &spy{}
	write := func(off uint64, v uint32) {
		require.NoError(t, s.Link.Write(0, off, binary.LittleEndian.AppendUint32(nil, v)))
	}
	open := func(selector string, host bus.Host) (bus.Link, bus.Clock, error) {
		link, clock, err := s.over(selector, host)
		require.NoError(t, err)
		for _, w := range [][2]uint32{{0x10, 0xd0000000}, {4, 2}} {
			require.NoError(t, link.WriteConfig(int(w[0]), w[1]))
		}
		for off, v := range at {
			write(off, v)
		}
		write(mcureg.Base+mcureg.Ctl, 1)
		return &closing{Link: link, last: func() {
			p := make([]byte, 4)
			at[mcureg.Base+mcureg.Ctl] = 0
			for off, want := range at {
				require.NoError(t, s.Link.Read(0, off, p))
				assert.Equal(t, want, binary.LittleEndian.Uint32(p), fmt.Sprintf("register %#x", off))
			}
		}}, clock, err
	}
	r := run(t, bringup.Options{Board: "emu?config=full", Only: mcuOnly, Open: open})
	assert.True(t, r.OK(), text(r))
}
