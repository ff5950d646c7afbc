package miniport_test

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/hostdriver/privdata"
	"github.com/hilgpu/hilgpu/rtl/abi/regmap"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

func TestDriverEntryHasAllSlots(t *testing.T) {
	k := newKernel(2)
	v := reflect.ValueOf(k.table)
	for i := range v.NumField() {
		assert.False(t, v.Field(i).IsZero(), v.Type().Field(i).Name)
	}
	assert.Equal(t, uint32(0x4002), k.table.Version)
}

func TestStartDevice(t *testing.T) {
	k := started(t, 2)
	assert.Len(t, k.memory, 3, "a fence page and two rings")
	assert.Equal(t, uint32(0x00100006), k.command, "the bus master bit is set")
	for off, want := range map[uint32]uint32{
		intcMask: 0x303,
		cp0Ctl:   1, 0x1008: 0x20000, 0x100c: 0x80000000, 0x1010: 12, cp0Wptr: 0,
		cp1Ctl: 1, 0x1108: 0x30000, 0x110c: 0x80000000, 0x1110: 12,
	} {
		assert.Equal(t, want, k.gpu.regs[off], "register %#x", off)
	}
	_, s := k.start()
	assert.Equal(t, ddi.StatusInvalidParameter, s, "it runs already")

	one := started(t, 1)
	assert.Len(t, one.memory, 2)
	assert.Equal(t, uint32(0x101), one.gpu.regs[intcMask])
	assert.NotContains(t, one.gpu.regs, uint32(cp1Ctl), "node 1 does not exist")
}

// The time-out of reads is the longest of 2^7, 2^11, 2^15 to 2^31 clocks that ends a read
// within the kernel's 2 s, which takes twice that. If a register read takes more than 1,024
// clocks, it is the longest of all. A device without it has no register.
func TestStartDeviceLimitsReads(t *testing.T) {
	const caps2, readTimeout = 0x48, 0x4c
	for _, tt := range []struct{ has, hz, trip, want uint32 }{
		{0, 100_000_000, 0, 0}, {1, 1, 0, 1}, {1, 3000, 0, 2}, {1, 12_000_000, 0, 5}, {1, 100_000_000, 0, 5}, {1, 134_217_728, 0, 5},
		{1, 134_217_729, 0, 6}, {1, 2_147_483_649, 0, 7},
		{1, 100_000_000, 1024, 5}, {1, 100_000_000, 1025, 7}, {1, 12_000_000, 48_000, 7},
	} {
		k := newKernel(2)
		k.gpu.regs[caps2], k.gpu.regs[idClock], k.gpu.trip = tt.has, tt.hz, tt.trip
		require.Equal(t, ddi.StatusSuccess, k.table.AddDevice(k.thread, k.adapter))
		_, s := k.start()
		require.Equal(t, ddi.StatusSuccess, s)
		assert.Equal(t, tt.want, k.gpu.regs[readTimeout], "%d Hz", tt.hz)
	}
}

// Everything that an earlier driver may have left on and that CTL.RESET does
// not turn off, as docs/registers.md says, is off before memory is allocated.
func TestStartDeviceResetsOldState(t *testing.T) {
	left := map[uint32]uint32{
		0x10c: 200, 0x110: 5000, // INTC.COALESCE_COUNT, COALESCE_TIME
		0x200: 1, 0x300: 1000, // PERF.CTL.RUN, WDOG.LIMIT
		0x104c: 7, 0x114c: 8, // TIMELINE_HI
	}
	k := newKernel(2)
	require.Equal(t, ddi.StatusSuccess, k.table.AddDevice(k.thread, k.adapter))
	for off, v := range left {
		k.gpu.regs[off] = v
	}
	k.gpu.regs[cp0Ctl], k.gpu.regs[cp1Ctl] = 5, 5
	k.hook = func(bool, uint32) {
		if len(k.memory) > 0 {
			assert.Zero(t, k.gpu.regs[cp1Ctl]&^1, "an old node runs when memory is allocated")
			for off := range left {
				assert.Zero(t, k.gpu.regs[off], "register %#x", off)
			}
		}
	}
	_, s := k.start()
	require.Equal(t, ddi.StatusSuccess, s)

	require.Equal(t, ddi.StatusSuccess, k.reset())
	k.hook = nil
	for off, v := range left {
		k.gpu.regs[off] = v
	}
	require.Equal(t, ddi.StatusSuccess, k.restart())
	for off := range left {
		assert.Zero(t, k.gpu.regs[off], "register %#x after another host has used the device", off)
	}
}

func TestStartDeviceRefuses(t *testing.T) {
	reg := func(off, v uint32) func(*kernel) { return func(k *kernel) { k.gpu.regs[off] = v } }
	caps := func(nodes, length uint32) uint32 { return nodes | 16<<8 | length<<16 | 1<<29 }
	for _, tt := range []struct {
		name string
		edit func(k *kernel)
		want ddi.Status
	}{
		{"nothing", func(*kernel) {}, ddi.StatusSuccess},
		{"a later minor version", reg(idVersion, 0x10007), ddi.StatusSuccess},
		{"a later major version", reg(idVersion, 0x20000), ddi.StatusRevisionMismatch},
		{"another map", reg(idHash, regmap.Hash()^1), ddi.StatusRevisionMismatch},
		{"another magic", reg(idMagic, 0x484c5047), ddi.StatusNoSuchDevice},
		{"no nodes", reg(idCaps, caps(0, 16)), ddi.StatusDeviceConfiguration},
		{"three nodes", reg(idCaps, caps(3, 16)), ddi.StatusDeviceConfiguration},
		{"length of 15 bits", reg(idCaps, caps(2, 15)), ddi.StatusDeviceConfiguration},
		{"length of 32 bits", reg(idCaps, caps(2, 32)), ddi.StatusSuccess},
		{"length of 33 bits", reg(idCaps, caps(2, 33)), ddi.StatusDeviceConfiguration},
		{"host addresses of 31 bits", reg(idHostBits, 31), ddi.StatusDeviceConfiguration},
		{"host addresses of 62 bits", reg(idHostBits, 62), ddi.StatusSuccess},
		{"host addresses of 63 bits", reg(idHostBits, 63), ddi.StatusDeviceConfiguration},
		{"no VRAM", reg(idVRAM, 0), ddi.StatusDeviceConfiguration},
		{"more VRAM than the BAR shows", reg(idVRAM, 2<<20), ddi.StatusDeviceConfiguration},
		{"an aperture that the device does not have", func(k *kernel) { k.info.BARs[2] = 0 }, ddi.StatusDeviceConfiguration},
		{"no aperture and no BAR for it", func(k *kernel) {
			k.gpu.regs[idCaps] &^= 1 << 29
			k.info.BARs[2] = 0
		}, ddi.StatusSuccess},
		{"no clock", reg(idClock, 0), ddi.StatusDeviceConfiguration},
		{"another vendor", func(k *kernel) { k.info.VendorID = 0x8086 }, ddi.StatusNoSuchDevice},
		{"another device", func(k *kernel) { k.info.DeviceID = 1 }, ddi.StatusNoSuchDevice},
		{"a short BAR0", func(k *kernel) { k.info.BARs[0] = 0x8000 }, ddi.StatusDeviceConfiguration},
		{"no interrupt message", func(k *kernel) { k.info.Messages = 0 }, ddi.StatusDeviceConfiguration},
		{"reset is never done", func(k *kernel) { k.gpu.resetReads = 1 << 30 }, ddi.StatusIOTimeout},
		{"the device reset takes a while", func(k *kernel) { k.gpu.wholeReads = 100 }, ddi.StatusSuccess},
		{"the device ignores its reset", func(k *kernel) { k.gpu.ignores = 1 }, ddi.StatusIOTimeout},
		{"the device reset is never done", func(k *kernel) { k.gpu.wholeReads = 1 << 30 }, ddi.StatusIOTimeout},
		{"memory ends at the device's highest address", func(k *kernel) { k.next = 1<<40 - 0x21000 }, ddi.StatusSuccess},
		{"memory above the device's highest address", func(k *kernel) { k.next = 1 << 40 }, ddi.StatusInsufficientResources},
		{"the last ring above the device's highest address", func(k *kernel) { k.next = 1<<40 - 0x20000 }, ddi.StatusInsufficientResources},
		{"memory that is not page-aligned", func(k *kernel) { k.next += 0x100 }, ddi.StatusInsufficientResources},
		{"a dead link", func(k *kernel) { k.dead = true }, ddi.StatusIODeviceError},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k := newKernel(2)
			require.Equal(t, ddi.StatusSuccess, k.table.AddDevice(k.thread, k.adapter))
			tt.edit(k)
			_, s := k.start()
			assert.Equal(t, tt.want, s)
			if s != ddi.StatusSuccess {
				assert.Empty(t, k.memory)
				assert.Zero(t, k.mapped)
			}
		})
	}
}

// TestStartDeviceRollsBack fails each callback of StartDevice in turn.
func TestStartDeviceRollsBack(t *testing.T) {
	for n := 1; ; n++ {
		k := newKernel(2)
		require.Equal(t, ddi.StatusSuccess, k.table.AddDevice(k.thread, k.adapter))
		k.failAt = n
		_, s := k.start()
		if s == ddi.StatusSuccess {
			require.Less(t, k.calls, n, "StartDevice did not report the failure of a callback")
			assert.Greater(t, n, 25, "all callbacks have failed once")
			return
		}
		assert.Empty(t, k.memory, "callback %d", n)
		assert.Zero(t, k.mapped, "callback %d", n)
		assert.Zero(t, k.gpu.regs[intcMask], "callback %d", n)
		assert.Zero(t, k.gpu.regs[cp0Ctl]|k.gpu.regs[cp1Ctl], "callback %d: no node runs", n)
		assert.False(t, k.interrupt(0), "callback %d", n)
		_, s = k.start()
		assert.Equal(t, ddi.StatusSuccess, s, "callback %d: it starts again", n)
	}
}

func TestStopDevice(t *testing.T) {
	t.Run("releases everything", func(t *testing.T) {
		k := started(t, 2)
		assert.Equal(t, ddi.StatusSuccess, k.table.StopDevice(k.thread, k.adapter))
		assert.Empty(t, k.memory)
		assert.Zero(t, k.mapped)
		assert.Zero(t, k.gpu.regs[intcMask]|k.gpu.regs[cp0Ctl]|k.gpu.regs[cp1Ctl])
		assert.Equal(t, uint32(0x00100006), k.command)
		assert.Contains(t, k.debug(t), "not started")
		_, s := k.start()
		assert.Equal(t, ddi.StatusSuccess, s)
		assert.Equal(t, ddi.StatusSuccess, k.table.StopDevice(k.thread, k.adapter))
		assert.Equal(t, ddi.StatusSuccess, k.table.RemoveDevice(k.thread, k.adapter))
		assert.Equal(t, ddi.StatusInvalidHandle, k.table.RemoveDevice(k.thread, k.adapter))
	})
	t.Run("bus mastering is disabled if a node does not stop", func(t *testing.T) {
		k := started(t, 2)
		k.gpu.resetReads = 1 << 30
		assert.Equal(t, ddi.StatusSuccess, k.table.StopDevice(k.thread, k.adapter))
		assert.Empty(t, k.memory)
		assert.Equal(t, uint32(0x00100002), k.command)
	})
	t.Run("bus mastering is disabled if a node ignores its reset", func(t *testing.T) {
		k := started(t, 2)
		k.gpu.ignores = 1
		assert.Equal(t, ddi.StatusSuccess, k.table.StopDevice(k.thread, k.adapter))
		assert.Empty(t, k.memory)
		assert.Equal(t, uint32(0x00100002), k.command)
	})
	t.Run("a dead link", func(t *testing.T) {
		k := started(t, 2)
		k.dead = true
		assert.Equal(t, ddi.StatusSuccess, k.table.StopDevice(k.thread, k.adapter))
		assert.Empty(t, k.memory)
		assert.Zero(t, k.mapped)
	})
}

// VRAM without a BAR is a segment that the CPU cannot access.
func TestSegmentsWithoutAperture(t *testing.T) {
	k := newKernel(1)
	k.gpu.regs[idCaps] &^= 1 << 29
	k.info.BARs[2] = 0
	require.Equal(t, ddi.StatusSuccess, k.table.AddDevice(k.thread, k.adapter))
	_, s := k.start()
	require.Equal(t, ddi.StatusSuccess, s)
	out, s := k.table.QueryAdapterInfo(k.thread, k.adapter, kmddi.QueryAdapterInfo{Type: kmddi.InfoQuerySegment})
	require.Equal(t, ddi.StatusSuccess, s)
	assert.Equal(t, []kmddi.SegmentDescriptor{
		{Size: 1 << 20},
		{BaseAddress: 1 << 63, Size: 64 << 20, Flags: kmddi.SegmentFlags{System: true}},
	}, out.Segments.Segments)
}

func TestQueryAdapterInfo(t *testing.T) {
	for _, tt := range []struct {
		nodes, paging uint32
		multi         bool
	}{{1, 0, false}, {2, 1, true}} {
		k := started(t, tt.nodes)
		query := func(i kmddi.InfoType) kmddi.QueryAdapterInfoOut {
			out, s := k.table.QueryAdapterInfo(k.thread, k.adapter, kmddi.QueryAdapterInfo{Type: i, InputData: []byte{1, 2, 3}})
			require.Equal(t, ddi.StatusSuccess, s)
			return out
		}
		assert.Equal(t, kmddi.DriverCaps{
			HighestAcceptableAddress: 0xff_ffff_ffff, WDDMVersion: 1300, NumberOfNodes: tt.nodes, PagingNode: tt.paging,
			HwQueuePacketCap: 8, MultiEngineAware: tt.multi, SupportPerEngineTDR: true,
		}, query(kmddi.InfoDriverCaps).DriverCaps)
		assert.Equal(t, kmddi.QuerySegment{PagingBufferSize: 4096, Segments: []kmddi.SegmentDescriptor{
			{BaseAddress: 0, Size: 1 << 20, Flags: kmddi.SegmentFlags{CPUVisible: true}, BAR: 2},
			{BaseAddress: 1 << 63, Size: 64 << 20, Flags: kmddi.SegmentFlags{System: true}},
		}}, query(kmddi.InfoQuerySegment).Segments)
		got, err := privdata.DecodeAdapter(query(kmddi.InfoUMDriverPrivate).UMDriverPrivate)
		assert.NoError(t, err)
		assert.Equal(t, privdata.Adapter{MapHash: regmap.Hash(), Nodes: tt.nodes, LengthBits: 16, VRAMBytes: 1 << 20, ClockHz: 100_000_000}, got)

		_, s := k.table.QueryAdapterInfo(k.thread, k.adapter, kmddi.QueryAdapterInfo{Type: 13})
		assert.Equal(t, ddi.StatusNotSupported, s)
	}
}
