package miniport_test

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
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

// withCores returns a started kernel whose firmware runs, and the core files that the driver makes.
func withCores(t *testing.T) (k *kernel, cores *[][]byte) {
	t.Helper()
	k, cores = withMCU(t, firmware.Default()), new([][]byte)
	k.table = miniport.WithObserver(firmware.Default(), miniport.Observer{Core: func(core []byte) { *cores = append(*cores, core) }})
	require.Equal(t, ddi.StatusSuccess, k.table.AddDevice(k.thread, k.adapter))
	_, s := k.start()
	require.Equal(t, ddi.StatusSuccess, s)
	require.EqualValues(t, 1<<7, k.gpu.regs[intcMask]&(1<<7))
	return k, cores
}

// hangs is an interrupt of the watchdog. The driver does the work later, in a call at PASSIVE_LEVEL.
func (k *kernel) hangs(t *testing.T, pc uint32) {
	t.Helper()
	k.gpu.hang(pc)
	calls := k.calls
	require.True(t, k.interrupt(1))
	assert.Less(t, k.calls-calls, 10, "the interrupt routine is short")
	k.table.DpcRoutine(k.thread, k.adapter)
	assert.Less(t, k.calls-calls, 10, "the DPC is short")
	k.gpu.loaded = nil
	require.Equal(t, ddi.StatusSuccess, k.table.Patch(k.thread, k.adapter, kmddi.Patch{}))
}

// A firmware that hangs is loaded again once. Each time the driver keeps its core file, and the reason is
// in the text for the kernel.
func TestHang(t *testing.T) {
	k, cores := withCores(t)
	k.hangs(t, 0x1234)
	assert.Equal(t, program(t, firmware.Default()), k.gpu.loaded)
	assert.EqualValues(t, 1, k.gpu.regs[mcuCtl])
	assert.Regexp(t, "miniport: firmware build cdab3412, ready after .*, loaded again after it hung at pc 0x1234, ra 0x0, sp 0x0\n", k.debug(t))
	k.hangs(t, 0x1238)
	assert.Nil(t, k.gpu.loaded)
	assert.Zero(t, k.gpu.regs[mcuCtl])
	assert.Contains(t, k.debug(t), "miniport: firmware not running: miniport: firmware hangs again at pc 0x1238, ra 0x0, sp 0x0\n")
	require.Len(t, *cores, 2)
	for i, core := range *cores {
		f, err := elf.NewFile(bytes.NewReader(core))
		require.NoError(t, err)
		assert.Equal(t, elf.ET_CORE, f.Type)
		notes, err := io.ReadAll(f.Progs[0].Open())
		require.NoError(t, err)
		assert.EqualValues(t, 0x1234+4*i, binary.LittleEndian.Uint32(notes[20+72:]), "pc")
		assert.EqualValues(t, 32<<10, f.Progs[1].Filesz)
	}
	k.submit(t, 0, 0, 8, 1)
	assert.NotEmpty(t, k.ringDwords(0), "the nodes of the host work")
}

// The event of a firmware that was stopped meanwhile does nothing.
func TestHangOfAStoppedFirmware(t *testing.T) {
	k, cores := withCores(t)
	k.gpu.hang(8)
	require.True(t, k.interrupt(1))
	require.Equal(t, ddi.StatusSuccess, k.table.ResetFromTimeout(k.thread, k.adapter))
	assert.Len(t, *cores, 1, "its state is kept before it is stopped")
	k.gpu.loaded = nil
	require.Equal(t, ddi.StatusSuccess, k.table.Patch(k.thread, k.adapter, kmddi.Patch{}))
	assert.Nil(t, k.gpu.loaded)
	require.Equal(t, ddi.StatusSuccess, k.table.RestartFromTimeout(k.thread, k.adapter))
	assert.Equal(t, program(t, firmware.Default()), k.gpu.loaded)
	assert.Contains(t, k.debug(t), "loaded again after it hung at pc 0x8")
	require.Equal(t, ddi.StatusSuccess, k.table.StopDevice(k.thread, k.adapter))
	_, s := k.start()
	require.Equal(t, ddi.StatusSuccess, s)
	assert.NotContains(t, k.debug(t), "loaded again", "a new start forgets it")
	k.hangs(t, 12)
	assert.Len(t, *cores, 2)
}

// A processor that waits for an access without an answer has no core file, and is loaded again too.
func TestHangWithoutAnswer(t *testing.T) {
	k, cores := withCores(t)
	k.hook = func(_ bool, off uint32) {
		if off == mcuDebug {
			k.gpu.regs[off] = 0
		}
	}
	k.hangs(t, 8)
	assert.Empty(t, *cores)
	assert.Equal(t, program(t, firmware.Default()), k.gpu.loaded)
	assert.Contains(t, k.debug(t), "loaded again after it hung at a place that cannot be read: mcu: the processor does not halt")
}

// A device that is lost meanwhile stops the firmware.
func TestHangOfALostDevice(t *testing.T) {
	k, cores := withCores(t)
	k.hook = func(_ bool, off uint32) { k.dead = k.dead || off == mcuExec }
	k.hangs(t, 8)
	assert.Empty(t, *cores)
	k.hook, k.dead = nil, false
	assert.Contains(t, k.debug(t), "firmware not running: ")
}

// A hang whose event is lost is found when the firmware is stopped: the register has it.
func TestHangWithoutEvent(t *testing.T) {
	k, cores := withCores(t)
	k.gpu.hang(8)
	k.gpu.regs[intcStatus] = 0
	require.Equal(t, ddi.StatusSuccess, k.table.ResetFromTimeout(k.thread, k.adapter))
	assert.Len(t, *cores, 1)
	require.Equal(t, ddi.StatusSuccess, k.table.RestartFromTimeout(k.thread, k.adapter))
	assert.Contains(t, k.debug(t), "loaded again after it hung at pc 0x8")
}

// A firmware that hangs before the interrupts are enabled is noticed. A load clears the event from before.
func TestHangBeforeInterrupts(t *testing.T) {
	k, cores := withCores(t)
	require.Equal(t, ddi.StatusSuccess, k.table.StopDevice(k.thread, k.adapter))
	booted := false
	k.hook = func(_ bool, off uint32) {
		if booted && off == intcStatus {
			k.gpu.hang(8)
			k.hook = nil
		}
		booted = booted || off == mcuResult && k.gpu.regs[mcuCtl] == 1
	}
	_, s := k.start()
	require.Equal(t, ddi.StatusSuccess, s)
	require.True(t, k.interrupt(1))
	k.gpu.regs[intcStatus] = 1 << 7
	require.Equal(t, ddi.StatusSuccess, k.table.Patch(k.thread, k.adapter, kmddi.Patch{}))
	assert.Len(t, *cores, 1)
	assert.Zero(t, k.gpu.regs[intcStatus])
}

// The firmware hangs again while it is loaded: the event is acknowledged, and it stays stopped.
func TestHangDuringLoad(t *testing.T) {
	k, cores := withCores(t)
	k.gpu.boot = 0
	k.hook = func(write bool, off uint32) {
		if !write && off == mcuResult && k.gpu.loaded != nil {
			k.hook = nil
			k.gpu.hang(12)
			assert.True(t, k.interrupt(1))
			assert.Zero(t, k.gpu.regs[intcStatus])
		}
	}
	k.gpu.loaded = nil
	k.hangs(t, 8)
	require.Nil(t, k.hook)
	assert.Contains(t, k.debug(t), "miniport: firmware not running: ")
	k.gpu.loaded = nil
	require.Equal(t, ddi.StatusSuccess, k.table.Patch(k.thread, k.adapter, kmddi.Patch{}))
	assert.Nil(t, k.gpu.loaded)
	assert.Len(t, *cores, 1)
}

// A firmware that has hung twice stays stopped over a reset. A new start begins anew.
func TestHangTwice(t *testing.T) {
	k, _ := withCores(t)
	k.hangs(t, 8)
	k.gpu.hang(12)
	require.Equal(t, ddi.StatusSuccess, k.table.ResetFromTimeout(k.thread, k.adapter))
	k.gpu.loaded = nil
	require.Equal(t, ddi.StatusSuccess, k.table.RestartFromTimeout(k.thread, k.adapter))
	assert.Nil(t, k.gpu.loaded)
	assert.Contains(t, k.debug(t), "miniport: firmware not running: miniport: firmware hangs again at pc 0xc")
	require.Equal(t, ddi.StatusSuccess, k.table.StopDevice(k.thread, k.adapter))
	_, s := k.start()
	require.Equal(t, ddi.StatusSuccess, s)
	assert.Equal(t, program(t, firmware.Default()), k.gpu.loaded)
}

// Queues need the firmware. So the device does not restart after the second hang.
func TestHangTwiceWithQueues(t *testing.T) {
	k, _ := withQueues(t, 1)
	for _, want := range []ddi.Status{ddi.StatusSuccess, ddi.StatusDeviceNotReady} {
		k.gpu.hang(8)
		require.Equal(t, ddi.StatusSuccess, k.table.ResetFromTimeout(k.thread, k.adapter))
		k.gpu.loaded = nil
		require.Equal(t, want, k.table.RestartFromTimeout(k.thread, k.adapter))
	}
	assert.Nil(t, k.gpu.loaded)
	require.NotEmpty(t, k.logged)
	assert.Contains(t, k.logged[0], "firmware not running: miniport: firmware hangs again at pc 0x8")
	require.Equal(t, ddi.StatusSuccess, k.table.StopDevice(k.thread, k.adapter))
	_, s := k.start()
	assert.Equal(t, ddi.StatusSuccess, s)
}

// The work in the queues of a firmware that hangs is lost: nothing more is submitted, and the reset keeps
// the state and loads the firmware again.
func TestHangWithQueues(t *testing.T) {
	k, f := withQueues(t, 1)
	ctx := k.context(t, k.device(t), 0)
	k.work(t, ctx, 0, 1, 1, false)
	bells := len(f.bells)
	k.hangs(t, 0x1234)
	assert.Nil(t, k.gpu.loaded, "the reset loads it")
	k.work(t, ctx, 0, 1, 2, false)
	assert.Len(t, f.bells, bells)
	assert.Contains(t, k.debug(t), "CP0: the work has failed: miniport: firmware hung\n")
	require.Equal(t, ddi.StatusSuccess, k.table.ResetFromTimeout(k.thread, k.adapter))
	require.Equal(t, ddi.StatusSuccess, k.table.RestartFromTimeout(k.thread, k.adapter))
	assert.Equal(t, program(t, firmware.Default()), k.gpu.loaded)
	assert.Contains(t, k.debug(t), "loaded again after it hung at pc 0x1234")
}
