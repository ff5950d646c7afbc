package miniport_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/firmware"
	"github.com/hilgpu/hilgpu/hostdriver/miniport"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

// ready is RESULT of a boot that is complete.
const ready = 0x59444552

// withMCU returns a kernel whose GPU has a microcontroller, before StartDevice.
func withMCU(t *testing.T, image []byte) *kernel {
	t.Helper()
	k := newKernel(2)
	k.table = miniport.WithFirmware(image)
	k.gpu.regs[idCaps2], k.gpu.regs[mcuInfo], k.gpu.boot = 1<<3|1<<4, 0x14820, ready
	require.Equal(t, ddi.StatusSuccess, k.table.AddDevice(k.thread, k.adapter))
	return k
}

// program returns the program of an image.
func program(t *testing.T, image []byte) []byte {
	t.Helper()
	m, err := firmware.Parse(image)
	require.NoError(t, err)
	return m.Program
}

// StartDevice loads the firmware, which may write INTC and the nodes, and the last 4 KiB of
// VRAM. No segment has them. StopDevice stops it.
func TestFirmware(t *testing.T) {
	k := withMCU(t, firmware.Default())
	_, s := k.start()
	require.Equal(t, ddi.StatusSuccess, s)
	assert.Equal(t, program(t, firmware.Default()), k.gpu.loaded)
	assert.EqualValues(t, 1, k.gpu.regs[mcuCtl])
	assert.EqualValues(t, 1<<1|1<<16|1<<17, k.gpu.regs[mcuBlocks])
	for window := range uint32(7) {
		at := 0x680 + 0x10*window
		got := [3]uint32{k.gpu.regs[at], k.gpu.regs[at+4], k.gpu.regs[at+8]}
		want := [3]uint32{}
		if window == 2 {
			want = [3]uint32{1<<20 - 4096, 0, 4096 | 1}
		}
		assert.Equal(t, want, got, "window %d", window)
	}
	assert.EqualValues(t, 2<<29|4096, k.gpu.regs[mcuTest])
	assert.Contains(t, k.debug(t), "miniport: firmware build cdab3412, ready after ")
	assert.Empty(t, k.logged)
	out, s := k.table.QueryAdapterInfo(k.thread, k.adapter, kmddi.QueryAdapterInfo{Type: kmddi.InfoQuerySegment})
	require.Equal(t, ddi.StatusSuccess, s)
	assert.EqualValues(t, 1<<20-4096, out.Segments.Segments[0].Size)
	require.Equal(t, ddi.StatusSuccess, k.table.StopDevice(k.thread, k.adapter))
	assert.Zero(t, k.gpu.regs[mcuCtl])
	assert.Empty(t, k.memory)
}

// VRAM that is small is not reserved, and not tested.
func TestFirmwareWithSmallVRAM(t *testing.T) {
	k := withMCU(t, firmware.Default())
	k.gpu.regs[idVRAM] = 32 << 10
	_, s := k.start()
	require.Equal(t, ddi.StatusSuccess, s)
	assert.EqualValues(t, 1, k.gpu.regs[mcuCtl])
	assert.Zero(t, k.gpu.regs[mcuTest])
	assert.Zero(t, k.gpu.regs[0x6a8])
}

// A device without a microcontroller is not asked for one.
func TestNoFirmware(t *testing.T) {
	k := newKernel(2)
	require.Equal(t, ddi.StatusSuccess, k.table.AddDevice(k.thread, k.adapter))
	k.hook = func(_ bool, off uint32) { assert.False(t, off >= 0x600 && off < 0x800, "access to %#x", off) }
	_, s := k.start()
	require.Equal(t, ddi.StatusSuccess, s)
	k.hook = nil
	assert.NotContains(t, k.debug(t), "firmware")
}

// The driver does without a firmware that is refused or does not boot, and names the cause.
// A refused image is not run.
func TestFirmwareFails(t *testing.T) {
	damaged, foreign, old := firmware.Default(), firmware.Default(), firmware.Default()
	damaged[len(damaged)-1] ^= 1
	foreign[0] = 0
	old[4] ^= 1
	for _, tt := range []struct {
		name  string
		image []byte
		edit  func(g *fakeGPU)
		says  string
		runs  bool
	}{
		{"damaged", damaged, nil, "firmware: damaged image", false},
		{"foreign", foreign, nil, "firmware: not an image", false},
		{"old", old, nil, "firmware: image of another version", false},
		{"empty", nil, nil, "firmware: truncated image", false},
		{"memory", firmware.Default(), func(g *fakeGPU) { g.regs[mcuInfo] = 0x14801 }, "firmware: memory of the microcontroller too small", false},
		{"hangs", firmware.Default(), func(g *fakeGPU) { g.boot = 0 }, "firmware: boot hangs in stage WINDOW", true},
		{"hangs with time", firmware.Default(), func(g *fakeGPU) { g.boot, g.trip = 0, 5000 }, "firmware: boot hangs in stage WINDOW", true},
		{"self-test", firmware.Default(), func(g *fakeGPU) { g.boot = 10 }, "firmware: self-test failed in stage WINDOW: WINDOW_VALUE", true},
		{"trap", firmware.Default(), func(g *fakeGPU) { g.boot = 16 }, "firmware: exception during the boot in stage WINDOW", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k := withMCU(t, tt.image)
			if tt.edit != nil {
				tt.edit(k.gpu)
			}
			ran := false
			k.hook = func(write bool, off uint32) { ran = ran || write && off >= 0x600 && off < 0x800 }
			_, s := k.start()
			require.Equal(t, ddi.StatusSuccess, s)
			assert.Equal(t, tt.runs, ran)
			assert.Zero(t, k.gpu.regs[mcuCtl])
			assert.Contains(t, k.debug(t), "miniport: firmware not running: "+tt.says)
			require.Len(t, k.logged, 1)
			assert.Contains(t, k.logged[0], "miniport: firmware not running: "+tt.says)
			k.submit(t, 0, 0, 8, 1)
			assert.NotEmpty(t, k.ringDwords(0))
			require.Equal(t, ddi.StatusSuccess, k.table.StopDevice(k.thread, k.adapter))
		})
	}
}

// A device that is lost during the load does not start, and nothing stays allocated.
func TestFirmwareOfALostDevice(t *testing.T) {
	k := withMCU(t, firmware.Default())
	k.hook = func(_ bool, off uint32) { k.dead = k.dead || off == mcuCRC }
	_, s := k.start()
	assert.Equal(t, ddi.StatusIODeviceError, s)
	assert.Empty(t, k.logged)
	assert.Empty(t, k.memory)
	assert.Zero(t, k.mapped)
}

// A reset stops the firmware, and the restart loads it again.
func TestFirmwareAfterReset(t *testing.T) {
	k := withMCU(t, firmware.Default())
	_, s := k.start()
	require.Equal(t, ddi.StatusSuccess, s)
	require.Equal(t, ddi.StatusSuccess, k.table.ResetFromTimeout(k.thread, k.adapter))
	assert.Zero(t, k.gpu.regs[mcuCtl])
	k.gpu.loaded = nil
	require.Equal(t, ddi.StatusSuccess, k.table.RestartFromTimeout(k.thread, k.adapter))
	assert.EqualValues(t, 1, k.gpu.regs[mcuCtl])
	assert.Equal(t, program(t, firmware.Default()), k.gpu.loaded)
}
