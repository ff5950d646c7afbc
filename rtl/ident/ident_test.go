package ident

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/regbus"
	"github.com/hilgpu/hilgpu/rtl/reset"
)

var params = Params{Nodes: 2, Tags: 16, LengthBits: 32, HostBits: 48, VRAMBytes: 16 << 20, VRAMPorts: 2, ClockHz: 100_000_000, MapHash: 0x12345678, Build: 0x9abcdef0}

func read(m *Module, off uint16) uint32 {
	m.Tick(regbus.Req{Op: regbus.Read, Off: idreg.Base + off}, Error{}, reset.Signals{})
	return m.Rsp().Data
}

func write(m *Module, off uint16, v uint32) {
	m.Tick(regbus.Req{Op: regbus.Write, Off: idreg.Base + off, Data: v}, Error{}, reset.Signals{})
}

func idle(m *Module) { m.Tick(regbus.Req{}, Error{}, reset.Signals{}) }

// kept reports whether a register is in the register RAM.
func kept(name string) bool {
	return name == "TIME_HI" || strings.HasPrefix(name, "SCRATCH") || strings.HasPrefix(name, "ERR_ADDR")
}

func TestRegisters(t *testing.T) {
	m := New(params)
	for _, tt := range []struct {
		name string
		off  uint16
		want uint32
	}{
		{"MAGIC", 0x00, 0x47504c48},
		{"VERSION", 0x04, 0x00010000},
		{"CAPS", 0x08, 0x10201002},
		{"MAP_HASH", 0x0c, 0x12345678},
		{"VRAM_SIZE", 0x10, 0x01000000},
		{"CLOCK_HZ", 0x14, 100_000_000},
		{"HOST_BITS", 0x40, 48},
		{"CAPS2", 0x48, 0},
		{"BUILD", 0x50, 0x9abcdef0},
	} {
		write(&m, tt.off, 0xffffffff)
		assert.Equal(t, tt.want, read(&m, tt.off), "%s is read-only", tt.name)
	}
	more := params
	more.VRAMPorts, more.Caps = 1, caps.Aperture|caps.ReadTimeout|1<<63
	m = New(more)
	assert.Equal(t, uint32(0x28201002), read(&m, idreg.Caps))
	assert.Equal(t, uint32(0x80000001), read(&m, idreg.Caps2))
	for off := uint16(0); off < idreg.Size; off += 4 {
		mapped := false
		for _, r := range idreg.Block.Regs {
			mapped = mapped || uint16(r.Off) == off && !kept(r.Name)
		}
		for _, op := range []regbus.Op{regbus.Read, regbus.Write} {
			m.Tick(regbus.Req{Op: op, Off: off}, Error{}, reset.Signals{})
			assert.Equal(t, mapped, m.Rsp().Hit, "offset %#x", off)
			assert.Equal(t, m.Rsp(), m.Rsp())
		}
	}
	read(&m, idreg.Size)
	assert.False(t, m.Rsp().Hit, "the next block")
	read(&m, idreg.Magic)
	idle(&m)
	assert.Equal(t, regbus.Rsp{}, m.Rsp(), "an answer lasts one clock")
}

// READ_TIMEOUT has 3 bits. A whole-device reset clears it. Without the capability it is
// unmapped.
func TestReadTimeout(t *testing.T) {
	limited := params
	limited.Caps = caps.ReadTimeout
	m := New(limited)
	write(&m, idreg.ReadTimeout, 0xfffffffd)
	assert.Equal(t, uint32(5), read(&m, idreg.ReadTimeout))
	m.Tick(regbus.Req{}, Error{}, reset.Signals{Pending: true, Whole: true})
	assert.Zero(t, read(&m, idreg.ReadTimeout))

	m = New(params)
	write(&m, idreg.ReadTimeout, 1)
	assert.False(t, m.Rsp().Hit)
	assert.Equal(t, uint64(math.MaxUint64), m.UntilSweep())
	for range 300 {
		open, _ := m.Sweep()
		require.False(t, open)
		idle(&m)
	}
}

// A period of range r has 2^(4r+3) clocks of TIME, and begins with a sweep of 64.
func TestSweep(t *testing.T) {
	for i, period := range []uint64{1 << 7, 1 << 11, 1 << 15, 1 << 19, 1 << 23, 1 << 27, 1 << 31} {
		r := i + 1
		limited := params
		limited.Caps = caps.ReadTimeout
		m := New(limited)
		write(&m, idreg.ReadTimeout, uint32(r))
		for _, at := range []uint64{1, 63, 64, 65, period/2 - 1, period / 2, period - 1, period, period + 63, period + 64, 3 * period} {
			m.Skip(at - m.Time())
			open, tag := m.Sweep()
			assert.Equal(t, at%period < 64, open, "range %d, clock %d", r, at)
			assert.Equal(t, uint8(at%64), tag)
			want := uint64(0)
			if !open {
				want = (at/period+1)*period - at
			}
			assert.Equal(t, want, m.UntilSweep(), "range %d, clock %d", r, at)
		}
	}
}

func TestResetValues(t *testing.T) {
	m := New(params)
	write(&m, idreg.ErrCount, 5)
	m.Tick(regbus.Req{}, Error{Cause: idreg.ErrPartial, Addr: 4}, reset.Signals{})
	m.Reset()
	for _, r := range idreg.Block.Regs {
		if !r.Config && r.Name != "TIME_LO" {
			assert.Equal(t, r.Reset, read(&m, uint16(r.Off)), r.Name)
		}
	}
}

func TestTime(t *testing.T) {
	m := New(params)
	for range 5 {
		idle(&m)
	}
	assert.Equal(t, uint64(5), m.Time())
	m.Skip(math.MaxUint32 - 8)
	idle(&m)
	idle(&m)
	assert.Equal(t, uint32(math.MaxUint32), read(&m, idreg.TimeLo), "the time of the answer")
	assert.Equal(t, uint64(math.MaxUint32), m.Time())
	assert.True(t, m.Latches(), "and its high half")
	assert.Equal(t, uint32(0), read(&m, idreg.TimeLo))
	assert.Equal(t, uint64(1)<<32, m.Time())
	write(&m, idreg.TimeLo, 0)
	assert.Equal(t, regbus.Rsp{Hit: true}, m.Rsp())
	assert.False(t, m.Latches())
	idle(&m)
	assert.Equal(t, uint64(1)<<32+2, m.Time(), "a write does nothing")
}

func TestCapture(t *testing.T) {
	m := New(params)
	first := Error{Cause: idreg.ErrPartial, Write: true, BAR: 0, Addr: 0xfedc_1234_5678}
	second := Error{Cause: idreg.ErrDecode, BAR: 7, Addr: 0x10}
	assert.False(t, m.Captured())
	m.Tick(regbus.Req{}, first, reset.Signals{})
	assert.True(t, m.Captured())
	m.Tick(regbus.Req{}, second, reset.Signals{})
	assert.Equal(t, uint32(2), read(&m, idreg.ErrCount))
	assert.Equal(t, uint32(0x12), read(&m, idreg.ErrInfo), "the first one")

	write(&m, idreg.ErrInfo, 1)
	assert.False(t, m.Captured())
	m.Tick(regbus.Req{}, second, reset.Signals{})
	assert.Equal(t, uint32(0x703), read(&m, idreg.ErrInfo), "rearmed")
	assert.Equal(t, uint32(3), read(&m, idreg.ErrCount))
	write(&m, idreg.ErrInfo, 0)
	assert.Zero(t, read(&m, idreg.ErrInfo))

	write(&m, idreg.ErrCount, math.MaxUint32-1)
	m.Tick(regbus.Req{}, second, reset.Signals{})
	m.Tick(regbus.Req{}, second, reset.Signals{})
	assert.Equal(t, uint32(math.MaxUint32), read(&m, idreg.ErrCount), "saturates")
	assert.Panics(t, func() {
		m.Tick(regbus.Req{Op: regbus.Read, Off: idreg.ErrInfo}, second, reset.Signals{})
	}, "an error in the clock of an access")
}

func TestSleep(t *testing.T) {
	m := New(params)
	assert.Equal(t, uint64(math.MaxUint64), m.IdleFor())
	read(&m, idreg.Magic)
	assert.Zero(t, m.IdleFor(), "the answer goes away")
	idle(&m)
	ticked, skipped := m, m
	for range 100 {
		idle(&ticked)
	}
	skipped.Skip(100)
	assert.Equal(t, ticked, skipped)
}

// A write of 1 requests one whole-device reset. The bit reads as 1 until the
// reset is done. The time is kept. A function-level reset requests none.
func TestReset(t *testing.T) {
	m := New(params)
	write(&m, idreg.Reset, 0xfffffffe)
	assert.False(t, m.Whole())
	write(&m, idreg.Reset, 1)
	assert.True(t, m.Whole())
	for _, pending := range []bool{true, false} {
		m.Tick(regbus.Req{Op: regbus.Read, Off: idreg.Reset}, Error{}, reset.Signals{Pending: pending})
		assert.False(t, m.Whole())
		assert.Equal(t, pending, m.Rsp().Data == 1)
	}
	dirty := func() {
		write(&m, idreg.ErrCount, 7)
		m.Tick(regbus.Req{}, Error{Cause: idreg.ErrPartial, Addr: 4}, reset.Signals{})
	}
	dirty()
	time := m.Time()
	m.Tick(regbus.Req{}, Error{}, reset.Signals{Pending: true, Whole: true})
	want := New(params)
	want.Skip(time + 1)
	assert.Equal(t, want, m)
	dirty()
	m.Tick(regbus.Req{}, Error{}, reset.Signals{Pending: true, Whole: true, Function: true})
	assert.Equal(t, New(params), m)
}
