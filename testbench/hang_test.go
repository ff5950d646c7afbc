package testbench

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"io"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/firmware"
	"github.com/hilgpu/hilgpu/hostdriver/miniport"
	"github.com/hilgpu/hilgpu/rtl/abi/fwabi"
	"github.com/hilgpu/hilgpu/rtl/abi/mcureg"
	"github.com/hilgpu/hilgpu/rtl/mcu/rv32/rv32test"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

// hangsAt is the address of the last instruction of hanging.
const hangsAt = 16

// hanging is an image that reports that it is ready, and then neither sleeps nor kicks.
func hanging() []byte {
	const upper = 0x37
	var program []byte
	for _, word := range []uint32{
		fwabi.ResultReady&0xfffff000 | 5<<7 | upper,
		rv32test.I(0x13, 0, 5, 5, fwabi.ResultReady&0xfff),
		mcureg.Local | 6<<7 | upper,
		rv32test.S(0x23, 2, 6, 5, mcureg.Mail+4*fwabi.MailResult),
		rv32test.J(0, 0),
	} {
		program = binary.LittleEndian.AppendUint32(program, word)
	}
	return firmware.Append(nil, firmware.Header{Version: fwabi.Version, Layout: fwabi.LayoutHash(), Memory: 4096}, program)
}

// The watchdog halts a firmware that hangs. The miniport keeps its core file and loads it again, once, and
// applications do not notice it.
func TestFirmwareHangs(t *testing.T) {
	tooltest.Long(t)
	var cores [][]byte
	d := HostDrivers()
	d.Observed = func(o miniport.Observer) kmddi.DriverEntry {
		return func() kmddi.DriverInitializationData { return miniport.WithObserver(hanging(), o) }
	}
	s, err := Open("emu?config=full&vram=64KiB", d, Options{Observer: miniport.Observer{Core: func(core []byte) { cores = append(cores, core) }}})
	require.NoError(t, err)
	composes(t, s, tinyPlan(t, 1))
	for want := 1; want <= 2; want++ {
		for end := s.clock.Now() + 1<<20; s.clock.Now() < end; {
			_, err := s.clock.Wait(end)
			require.NoError(t, err)
		}
		composes(t, s, tinyPlan(t, 1))
		require.Equal(t, want, len(cores))
	}
	ctl, err := s.device.Read32(s.thread, 0, mcureg.Base+mcureg.Ctl)
	require.NoError(t, err)
	assert.Zero(t, ctl, "it is stopped after the second hang")
	for _, core := range cores {
		f, err := elf.NewFile(bytes.NewReader(core))
		require.NoError(t, err)
		notes, err := io.ReadAll(f.Progs[0].Open())
		require.NoError(t, err)
		assert.EqualValues(t, hangsAt, binary.LittleEndian.Uint32(notes[20+72:]), "pc")
		assert.EqualValues(t, fwabi.ResultReady, binary.LittleEndian.Uint32(notes[20+72+4*5:]), "x5")
	}
	require.NoError(t, s.Close())
}
