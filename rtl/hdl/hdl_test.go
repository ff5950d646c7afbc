package hdl_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hilgpu/hilgpu/rtl/hdl"
)

func TestAssert(t *testing.T) {
	assert.NotPanics(t, func() { hdl.Assert(true, "no") })
	assert.PanicsWithValue(t, "hdl: assertion failed: why", func() { hdl.Assert(false, "why") })
}

func TestRAMByteEnables(t *testing.T) {
	const was, data = 0x1122334455667788, 0xa0a1a2a3a4a5a6a7
	for enable := range 256 {
		m := hdl.NewRAM(4)
		m.SetWord(2, was)
		m.Tick(false, 0, uint8(enable), 2, data)
		want := uint64(0)
		for i := range 8 {
			v := uint64(was)
			if enable>>i&1 != 0 {
				v = data
			}
			want |= v & (0xff << (8 * i))
		}
		require.Equal(t, want, m.Word(2), "enable %#x", enable)
		require.Zero(t, m.Word(1))
		require.Zero(t, m.Word(3))
	}
}

func TestRAMRead(t *testing.T) {
	m := hdl.NewRAM(4)
	m.SetWord(1, 11)
	m.SetWord(3, 33)
	for _, tt := range []struct {
		name string
		read bool
		addr uint32
		want uint64
	}{
		{"a word, a clock later", true, 1, 11},
		{"held without a read", false, 3, 11},
		{"the next word", true, 3, 33},
	} {
		m.Tick(tt.read, tt.addr, 0xff, 0, 99)
		assert.Equal(t, tt.want, m.Out(), tt.name)
		assert.Equal(t, tt.want, m.Out(), tt.name)
	}
	assert.Equal(t, 4, m.Len())
}

func TestRAMCollision(t *testing.T) {
	m := hdl.NewRAM(4)
	assert.Panics(t, func() { m.Tick(true, 2, 1, 2, 0) })
	assert.NotPanics(t, func() { m.Tick(true, 2, 0, 2, 0) }, "no lane is written")
	assert.NotPanics(t, func() { m.Tick(true, 2, 0xff, 1, 0) }, "another word")
	assert.NotPanics(t, func() { m.Tick(false, 2, 0xff, 2, 0) }, "no read")
}

func TestSinglePort(t *testing.T) {
	m := hdl.NewSinglePortRAM(4)
	m.Tick(false, 1, 0x0f, 2, 0x1122334455667788)
	m.Tick(true, 2, 0, 1, 99)
	assert.Equal(t, uint64(0x55667788), m.Out())
	m.Tick(false, 0, 0xff, 2, 7)
	assert.Equal(t, uint64(0x55667788), m.Out(), "held in the clock of a write")
	assert.Panics(t, func() { m.Tick(true, 1, 1, 2, 0) }, "two words in one clock")
	assert.Panics(t, func() { m.Tick(true, 2, 1, 2, 0) })
}

// Each byte of a narrow word has an enable.
func TestNarrowRAMByteEnables(t *testing.T) {
	const was, data = 0x11223344, 0xa0a1a2a3
	for _, width := range []int{8, 16, 32} {
		mask := uint64(1)<<width - 1
		for enable := range 1 << (width / 8) {
			m := hdl.NewNarrowRAM(4, width)
			m.SetWord(2, was&mask)
			m.Tick(false, 0, uint8(enable), 2, data&mask)
			want := uint64(0)
			for i := range width / 8 {
				v := uint64(was)
				if enable>>i&1 != 0 {
					v = data
				}
				want |= v & (0xff << (8 * i))
			}
			require.Equal(t, want, m.Word(2), "width %d, enable %#x", width, enable)
			require.Equal(t, []uint64{0, 0, want, 0}, m.Words())
			m.Tick(true, 2, 0, 0, 0)
			require.Equal(t, want, m.Out())
			require.Equal(t, []hdl.Signal{{Name: "a.ram.q", Width: width}}, m.Signals("a.ram", nil))
		}
	}
}

// An enable or data outside a word is an assertion, also for a byte that is not written.
func TestNarrowRAMMisuse(t *testing.T) {
	const outside = "hdl: assertion failed: RAM: an enable or data outside a word"
	for _, tt := range []struct {
		width  int
		enable uint8
		data   uint64
		bad    bool
	}{
		{8, 1, 0xff, false}, {8, 1, 0x100, true}, {8, 2, 0, true}, {8, 0xff, 0, true},
		{16, 2, 0xffff, false}, {16, 2, 0x10000, true}, {16, 4, 0, true}, {16, 7, 0, true}, {16, 0xff, 0, true},
		{32, 0xf, 0xffffffff, false}, {32, 1, 1 << 32, true}, {32, 0x10, 0, true}, {32, 0xff, 0, true},
		{64, 0xff, ^uint64(0), false}, {64, 0x80, ^uint64(0), false},
		{8, 0, ^uint64(0), false}, {16, 0, ^uint64(0), false},
	} {
		m := hdl.NewNarrowRAM(4, tt.width)
		tick := func() { m.Tick(false, 0, tt.enable, 1, tt.data) }
		if tt.bad {
			assert.PanicsWithValue(t, outside, tick, "%+v", tt)
		} else {
			assert.NotPanics(t, tick, "%+v", tt)
		}
	}
	for _, width := range []int{-8, 0, 1, 7, 9, 12, 24, 48, 63, 65, 128} {
		assert.Panics(t, func() { hdl.NewNarrowRAM(4, width) }, "%d bits", width)
	}
}

func TestROM(t *testing.T) {
	m := hdl.NewROM(12, []uint64{0, 11, 22, 0xfff})
	assert.Equal(t, 4, m.Len())
	assert.Zero(t, m.Out())
	for _, tt := range []struct {
		name string
		read bool
		addr uint32
		want uint64
	}{
		{"a word, a clock later", true, 1, 11},
		{"held without a read", false, 3, 11},
		{"held without a read, of no word", false, 4, 11},
		{"the last word", true, 3, 0xfff},
		{"the first word", true, 0, 0},
	} {
		m.Tick(tt.read, tt.addr)
		assert.Equal(t, tt.want, m.Out(), tt.name)
	}
	assert.Panics(t, func() { m.Tick(true, 4) }, "no such word")
	m.Tick(true, 2)
	var s [hdl.ROMWords]uint64
	m.Snapshot(s[:])
	m.Tick(true, 1)
	m.Restore(s[:])
	assert.Equal(t, uint64(22), m.Out())
	assert.Equal(t, []hdl.Signal{{Name: "a.rom.q", Width: 12}}, m.Signals("a.rom", nil))
}

func TestROMMisuse(t *testing.T) {
	for _, width := range []int{-1, 0, 65} {
		assert.Panics(t, func() { hdl.NewROM(width, []uint64{0}) }, "%d bits", width)
	}
	assert.NotPanics(t, func() { hdl.NewROM(1, []uint64{1}) })
	assert.NotPanics(t, func() { hdl.NewROM(64, []uint64{^uint64(0)}) })
	assert.Panics(t, func() { hdl.NewROM(1, []uint64{0, 2}) }, "a word of 2 bits")
	assert.Panics(t, func() { hdl.NewROM(63, []uint64{1 << 63}) })
}

func TestFIFO(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		depth := 1 << rapid.IntRange(0, 4).Draw(t, "log2 depth")
		f := hdl.NewFIFO[int](depth)
		var model []int
		for i := range rapid.IntRange(1, 60).Draw(t, "clocks") {
			head, valid, ready := f.Out()
			require.Equal(t, len(model) > 0, valid)
			require.Equal(t, !valid, f.Empty())
			require.Equal(t, len(model) < depth, ready)
			require.Equal(t, !ready, f.Full())
			if valid {
				require.Equal(t, model[0], head)
			}
			push := ready && rapid.Bool().Draw(t, "push")
			pop := valid && rapid.Bool().Draw(t, "pop")
			f.Tick(push, i, pop)
			if pop {
				model = model[1:]
			}
			if push {
				model = append(model, i)
			}
		}
		f.Reset()
		require.True(t, f.Empty())
	})
}

func TestFIFOMisuse(t *testing.T) {
	f := hdl.NewFIFO[int](1)
	assert.Panics(t, func() { f.Tick(false, 0, true) }, "pop when empty")
	f.Tick(true, 1, false)
	assert.Panics(t, func() { f.Tick(true, 2, false) }, "push when full")
	assert.Panics(t, func() { f.Tick(true, 2, true) }, "push when full, even with a pop")
	assert.Panics(t, func() { hdl.NewFIFO[int](3) }, "not a power of two")
	assert.Panics(t, func() { hdl.NewFIFO[int](0) })
}
