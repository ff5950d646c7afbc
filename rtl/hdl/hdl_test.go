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
