package fwtest

import (
	"encoding/binary"
	"encoding/hex"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/firmware"
	"github.com/hilgpu/hilgpu/rtl/abi/fwabi"
	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/abi/mcureg"
)

const (
	// memory is the default size of the memory.
	memory = 32 << 10

	// mostClocks is the limit of clocks from RUN to ready, with the self-test.
	mostClocks = 200_000

	// scratch is a register that the self-test writes.
	scratch = idreg.Base + idreg.Scratch3
)

// A machine is a microcontroller with its surroundings.
type machine interface {
	firmware.Registers
	Memory() map[uint64]uint32
	Register(off uint32) uint32
	Raised() uint32
	At(base uint64) *Host
	Watch(f func(addr uint64))
	Break(f Faults)
}

// machines are the model and the RTL.
var machines = []struct {
	name string
	make func(bytes int, f Faults) machine
}{
	{"model", func(bytes int, f Faults) machine { return NewModel(bytes, f) }},
	{"RTL", func(bytes int, f Faults) machine { return NewRTL(bytes, f) }},
}

// options let the self-test use window 2, whose addresses carry into the high half.
func options() firmware.Options {
	o := firmware.Options{Blocks: 1, Limit: 1 << 18, Test: true, TestWindow: 2, Clocks: 1 << 19}
	o.Windows[2] = firmware.Window{Base: 1<<63 | 0xffff_f800, Bytes: 0x1000, Write: true}
	return o
}

// The image boots with each size of the memory, and within the limit with the default one.
func TestBoot(t *testing.T) {
	for _, kind := range machines {
		for _, size := range []int{memory, 64 << 10} {
			m := kind.make(size, Faults{})
			b, err := firmware.Load(m, firmware.Default(), options())
			require.NoError(t, err, "%s, %d", kind.name, size)
			assert.Equal(t, "LOOP", b.Stage())
			assert.Equal(t, "READY", b.Outcome())
			assert.EqualValues(t, 0x12345678, m.Register(scratch), "restored")
			image, err := firmware.Parse(firmware.Default())
			require.NoError(t, err)
			assert.Equal(t, binary.LittleEndian.Uint32(image.Build[:]), b.Build, hex.EncodeToString(image.Build[:]))
			if kind.name == "RTL" && size == memory {
				assert.LessOrEqual(t, b.Clocks, uint64(mostClocks))
			}
			t.Logf("%s, memory of %d KiB: %d clocks from RUN to ready", kind.name, size>>10, b.Clocks)
		}
	}
}

// The test of a window writes in that window only, at powers of two and its end.
func TestWindowOfTheTest(t *testing.T) {
	for _, kind := range machines {
		m := kind.make(memory, Faults{})
		_, err := firmware.Load(m, firmware.Default(), options())
		require.NoError(t, err, kind.name)
		const base = 1<<63 | 0xffff_f800
		want := map[uint64]uint32{base: 0x44332211}
		for _, o := range []uint32{4, 8, 0x10, 0x20, 0x40, 0x80, 0x100, 0x200, 0x400, 0x800, 0xffc} {
			want[base+uint64(o)] = ^(o ^ 0x5aa5c33c)
		}
		assert.Equal(t, want, m.Memory(), kind.name)
	}
}

// Without a window and without the block ID, the self-test does without, and changes nothing.
func TestNothingAllowed(t *testing.T) {
	for _, kind := range machines {
		m := kind.make(memory, Faults{})
		b, err := firmware.Load(m, firmware.Default(), firmware.Options{Clocks: 1 << 19})
		require.NoError(t, err, kind.name)
		assert.Equal(t, "LOOP", b.Stage())
		assert.Empty(t, m.Memory())
		assert.EqualValues(t, 0x12345678, m.Register(scratch))
	}
}

// A doorbell wakes the program, which clears it and sleeps again. The program starts again without
// another load.
func TestLoop(t *testing.T) {
	for _, kind := range machines {
		m := kind.make(memory, Faults{})
		_, err := firmware.Load(m, firmware.Default(), options())
		require.NoError(t, err, kind.name)
		status := func() uint32 {
			v, err := m.Read(mcureg.Base + mcureg.Status)
			require.NoError(t, err)
			return v
		}
		asleep := func() bool {
			for range 10 {
				if status() == mcureg.StatusAsleep {
					return true
				}
			}
			return false
		}
		assert.True(t, asleep(), kind.name)
		for range 3 {
			require.NoError(t, m.Write(mcureg.Base+mcureg.Doorbell, 0x8000_0001))
			assert.True(t, asleep(), kind.name)
		}
		mail := func(i uint32) uint32 { return mcureg.Base + mcureg.Mail + 4*i }
		require.NoError(t, m.Write(mcureg.Base+mcureg.Ctl, 0))
		require.NoError(t, m.Write(mail(fwabi.MailResult), 0))
		require.NoError(t, m.Write(mcureg.Base+mcureg.Ctl, mcureg.CtlRun))
		result := uint32(0)
		for i := 0; i < 3000 && result == 0; i++ {
			result, err = m.Read(mail(fwabi.MailResult))
			require.NoError(t, err)
		}
		assert.EqualValues(t, fwabi.ResultReady, result, kind.name)
	}
}
