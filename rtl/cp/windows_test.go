package cp

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/regbus"
)

// The windows of the table below: 0x1000 writable bytes of VRAM, the next 0x1000 bytes
// read-only, and 0x800 writable bytes of host memory from 0xc000.
var windows = []uint32{
	0x11000005, 4, 0x2000, 0, 0x1000, 0,
	0x11000005, 1, 0x3000, 0, 0x1000, 0,
	0x11000005, 7, 0xc000, hi, 0x800, 0,
}

// protected returns a node with CTL.PROTECT set and the windows.
func protected(t *testing.T) *bench {
	b := faultBench(t)
	b.check = true
	b.run(windows...)
	require.Zero(t, b.faults)
	b.write(cpreg.Ctl, cpreg.CtlRun|cpreg.CtlProtect)
	require.Equal(t, uint32(cpreg.CtlRun|cpreg.CtlProtect), b.read(cpreg.Ctl))
	return b
}

// surfaces returns SET_STATE of both surfaces, with 1-byte elements and a pitch of 16.
func surfaces(src, dst uint32) []uint32 {
	return []uint32{0x03000007, 0, src, 0, 16, 0, 0, 0x40004000, 0x03000007, 1, dst, 0, 16, 0, 0, 0x40004000}
}

func TestWindows(t *testing.T) {
	for _, tt := range []struct {
		name   string
		before []uint32 // in the indirect buffer, before the packet
		dwords []uint32
		bad    uint64
		ok     bool
	}{
		{"FILL of a window", nil, []uint32{0x06000005, 0x2000, 0, 0x1000, 0, 0}, 0, true},
		{"FILL from a byte before the window", nil, []uint32{0x06000005, 0x1fff, 0, 0x10, 0, 0}, 0x1fff, false},
		{"FILL to a byte after the window", nil, []uint32{0x06000005, 0x2001, 0, 0x1000, 0, 0}, 0x2001, false},
		{"FILL of the last byte", nil, []uint32{0x06000005, 0x2fff, 0, 1, 0, 0}, 0, true},
		{"FILL of a read-only window", nil, []uint32{0x06000005, 0x3000, 0, 1, 0, 0}, 0x3000, false},
		{"FILL of the window of another memory", nil, []uint32{0x06000005, 0x2000, hi, 1, 0, 0}, host | 0x2000, false},
		{"FILL of host memory", nil, []uint32{0x06000005, 0xc000, hi, 0x800, 0, 0}, 0, true},
		{"FILL past the window of host memory", nil, []uint32{0x06000005, 0xc001, hi, 0x800, 0, 0}, host | 0xc001, false},
		{"empty FILL at any address", nil, []uint32{0x06000005, 0x8000, 0, 0, 0, 0}, 0, true},
		{"COPY from a read-only to a writable window", nil, []uint32{0x04000005, 0x3000, 0, 0x2000, 0, 0x1000}, 0, true},
		{"COPY from a writable window", nil, []uint32{0x04000005, 0xc000, hi, 0x2000, 0, 0x100}, 0, true},
		{"COPY to a read-only window", nil, []uint32{0x04000005, 0x2000, 0, 0x3010, 0, 0x10}, 0x3010, false},
		{"COPY from outside the windows", nil, []uint32{0x04000005, 0x1000, 0, 0x2000, 0, 8}, 0x1000, false},
		{"COPY across adjacent windows", nil, []uint32{0x04000005, 0x2ff8, 0, 0x2000, 0, 0x10}, 0x2ff8, false},
		{"TIMESTAMP", nil, []uint32{0x09000002, 0x2ff8, 0}, 0, true},
		{"TIMESTAMP in a read-only window", nil, []uint32{0x09000002, 0x3000, 0}, 0x3000, false},
		{"PREDICATE", nil, []uint32{0x0a000003, 0x3ff8, 0, 0}, 0, true},
		{"PREDICATE after the windows", nil, []uint32{0x0a000003, 0x4000, 0, 0}, 0x4000, false},
		{"COPY_2D of the last rows", surfaces(0x3000, 0x2000), []uint32{0x05000003, 0x00fe0000, 0x00fe0000, 0x00020010}, 0, true},
		{"COPY_2D from past the last row", surfaces(0x3000, 0x2000), []uint32{0x05000003, 0x00fe0001, 0, 0x00020010}, 0x3fe1, false},
		{"COPY_2D past the last row", surfaces(0x3000, 0x2000), []uint32{0x05000003, 0, 0x00ff0000, 0x00020001}, 0x2ff0, false},
		{"COPY_2D of surfaces that start before the windows", surfaces(0x2ff0, 0x1ff0), []uint32{0x05000003, 0x00010000, 0x00010000, 0x00100010}, 0, true},
		{"FILL_2D", surfaces(0, 0x2000), []uint32{0x07000004, 0, 0x01000010, 0, 0}, 0, true},
		{"FILL_2D of one row too many", surfaces(0, 0x2000), []uint32{0x07000004, 0, 0x01010001, 0, 0}, 0x2000, false},
		{"memory is checked before windows", nil, []uint32{0x06000005, 0x10000, 0, 1, 0, 0}, 0x10000, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := protected(t)
			all := append(append([]uint32(nil), tt.before...), tt.dwords...)
			b.put(0x8000, all...)
			b.run(0x02000003, 0x8000, 0, uint32(len(all)))
			widths(t, reflect.ValueOf(b.cp))
			if tt.ok {
				assert.Equal(t, "NONE at 0x0 op 0x00000000 bad 0x0", b.fault())
				return
			}
			cause := "WINDOW"
			if tt.bad >= 0x10000 && tt.bad < host {
				cause = "ADDRESS"
			}
			assert.Equal(t, faultText(cause, 0x8000+4*uint64(len(tt.before)), tt.dwords[0], tt.bad), b.fault())
			assert.Empty(t, b.descs, "nothing was moved")
			for _, f := range b.fetches {
				assert.NotEqual(t, uint8(tagRead), f.Tag, "nothing was read")
			}
		})
	}
}

// TestWindowsIgnoreTheRing executes the same packets in the ring, and in a buffer without
// CTL.PROTECT.
func TestWindowsIgnoreTheRing(t *testing.T) {
	fill := []uint32{0x06000005, 0x5000, 0, 8, 0, 0}
	b := protected(t)
	b.put(0x8000, fill...)
	b.run(append(fill[:6:6], 0x10000004, 0x6000, 0, 1, 0)...)
	assert.Len(t, b.descs, 1)
	b.write(cpreg.Ctl, cpreg.CtlRun)
	b.run(0x02000003, 0x8000, 0, 6)
	assert.Len(t, b.descs, 2)
	assert.Zero(t, b.faults)
}

// TestEveryWindow opens only one window at a time, closes it, and resets the node.
func TestEveryWindow(t *testing.T) {
	for i := range uint32(4) {
		b := faultBench(t)
		b.write(cpreg.Ctl, cpreg.CtlRun|cpreg.CtlProtect)
		b.put(0x8000, 0x06000005, 0x2000, 0, 0x100, 0, 0)
		b.run(0x11000005, i|4, 0x2000, 0, 0x100, 0, 0x02000003, 0x8000, 0, 6)
		require.Zero(t, b.faults, "window %d", i)
		b.run(0x11000005, i^1|4, 0x2000, 0, 0x100, 0, 0x11000005, i|4, 0x2000, 0, 0, 0, 0x02000003, 0x8000, 0, 6)
		require.Zero(t, b.faults, "window %d", i^1)
		b.run(0x11000005, i^1|4, 0, 0, 0, 0, 0x02000003, 0x8000, 0, 6)
		require.Equal(t, uint32(cpreg.CauseWindow), b.read(cpreg.FaultInfo), "closed")

		b.write(cpreg.Ctl, cpreg.CtlReset)
		b.tick(regbus.Req{})
		require.Zero(t, b.read(cpreg.Ctl), "PROTECT is cleared, too")
		b.wptr = 0
		b.start(ringAt, 12)
		b.write(cpreg.Ctl, cpreg.CtlRun|cpreg.CtlProtect)
		b.run(0x02000003, 0x8000, 0, 6)
		require.Equal(t, uint32(cpreg.CauseWindow), b.read(cpreg.FaultInfo), "after a reset")
	}
}

// TestWithoutProtection tests a node without the protection capability.
func TestWithoutProtection(t *testing.T) {
	b := newBenchOf(t, Params{HostBits: 20, VRAMBytes: vramSize, LengthBits: 16})
	b.start(ringAt, 12)
	b.write(cpreg.Ctl, cpreg.CtlRun|cpreg.CtlProtect)
	assert.Equal(t, uint32(cpreg.CtlRun), b.read(cpreg.Ctl))
	b.put(0x8000, 0x06000005, 0x2000, 0, 0x100, 0, 0)
	b.run(0x02000003, 0x8000, 0, 6)
	assert.Len(t, b.descs, 1)
	b.run(windows...)
	assert.Equal(t, faultText("OPCODE", ringAt+16, 0x11000005, 0x11000005), b.fault())
}
