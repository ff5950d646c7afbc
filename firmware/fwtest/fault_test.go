package fwtest

import (
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/firmware"
	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/abi/mcureg"
	"github.com/hilgpu/hilgpu/rtl/mcu/rv32"
)

// register returns a fault that changes one register.
func register(off uint32, change func(v uint32) uint32) func(uint32, uint32, bool) (uint32, bool) {
	return func(at, v uint32, ok bool) (uint32, bool) {
		if at == off {
			v = change(v)
		}
		return v, ok
	}
}

// silent returns a fault by which a register does not answer.
func silent(off uint32) func(uint32, uint32, bool) (uint32, bool) {
	return func(at, v uint32, ok bool) (uint32, bool) { return v, ok && at != off }
}

// number returns a fault by which a register has another value.
func number(v uint32) func(uint32) uint32 { return func(uint32) uint32 { return v } }

// tested returns a fault of the window of options.
func tested(change func(v uint32) (uint32, bool)) func(uint64, uint32, bool) (uint32, bool) {
	return func(addr uint64, v uint32, ok bool) (uint32, bool) {
		if w := options().Windows[2]; addr-w.Base < uint64(w.Bytes) {
			return change(v)
		}
		return v, ok
	}
}

const window = 0xa000_0000 // of options, as the program sees it

// A planted is a fault of the hardware, and what the self-test tells about it.
type planted struct {
	name    string
	faults  Faults
	options firmware.Options
	stage   string
	result  string
	details [3]uint32
	RTL     bool // the fault is there in RTL too
}

// plantedFaults are faults that the self-test must find.
func plantedFaults() []planted {
	stopped := func(uint64) uint64 { return 12345 }
	closed := options()
	closed.Blocks = 0
	return []planted{
		{"a bit of the memory is always 1", Faults{Memory: func(m []byte) { m[0x6567] |= 0x10 }}, options(),
			"MEMORY", "MEMORY_VALUE", [3]uint32{0x6540, 0x7540_6540, 0x6540_6540}, false},
		{"a bit of the memory is always 0", Faults{Memory: func(m []byte) { m[0x7fff] &= 0x7f }}, options(),
			"MEMORY", "MEMORY_VALUE", [3]uint32{0x7fc0, 0x003f_803f, 0x803f_803f}, false},
		{"a block of the memory is also another one", Faults{Memory: alias()}, options(),
			"MEMORY", "MEMORY_VALUE", [3]uint32{0x6800, 0x7000_7000, 0x6800_6800}, false},
		{"MCU.INFO has another size", Faults{Bus: register(mcureg.Base+mcureg.Info, number(info(64<<10)))}, options(),
			"BUS", "MEMORY_SIZE", [3]uint32{0x2000_0600, info(64 << 10), memory}, true},
		{"the bus does not answer", Faults{Bus: silent(idreg.Base + idreg.Magic)}, options(),
			"BUS", "BUS_FAULT", [3]uint32{0x2000_0000, 0, 0x4750_4c48}, true},
		{"wrong magic", Faults{Bus: register(idreg.Base+idreg.Magic, number(0x484c_5047))}, options(),
			"BUS", "MAGIC", [3]uint32{0x2000_0000, 0x484c_5047, 0x4750_4c48}, true},
		{"another map hash", Faults{Bus: register(idreg.Base+idreg.MapHash, number(7))}, options(),
			"BUS", "MAP_HASH", [3]uint32{0x2000_000c, 7, MapHash}, true},
		{"MCU.INFO does not answer", Faults{Bus: silent(mcureg.Base + mcureg.Info)}, options(),
			"BUS", "BUS_FAULT", [3]uint32{0x2000_0600, 0, 0}, true},
		{"a scratch register does not answer", Faults{Bus: silent(scratch)}, options(),
			"LOCK", "BUS_FAULT", [3]uint32{0x2000_002c, 0, 0}, true},
		{"a scratch register has a bit that is always 0", Faults{Bus: register(scratch, func(v uint32) uint32 { return v &^ 0x8000 })}, options(),
			"LOCK", "SCRATCH", [3]uint32{0x2000_002c, 0x5aa5_433c, 0x5aa5_c33c}, true},
		{"BLOCKS is ignored", Faults{Unlocked: true}, closed,
			"LOCK", "UNLOCKED", [3]uint32{0x2000_002c, 0, 0}, false},
		{"the window does not answer", Faults{Window: tested(func(v uint32) (uint32, bool) { return v, false })}, options(),
			"WINDOW", "WINDOW_FAULT", [3]uint32{window, 0, 0x5aa5_c33c}, true},
		{"a bit in the window is always 1", Faults{Window: tested(func(v uint32) (uint32, bool) { return v | 1, true })}, options(),
			"WINDOW", "WINDOW_VALUE", [3]uint32{window, 0x5aa5_c33d, 0x5aa5_c33c}, true},
		{"the window has no end", Faults{Unbounded: true}, options(),
			"WINDOW", "WINDOW_END", [3]uint32{window + 0x1000, 0, 0}, false},
		{"the time does not advance", Faults{Time: stopped}, options(),
			"TIMER", "TIME_STOPPED", [3]uint32{0x1000_0000, 12345, 0}, true},
		{"the timer interrupt does not arrive", Faults{Interrupt: func(p uint32) uint32 { return p &^ rv32.Timer }}, options(),
			"TIMER", "TIMER_LATE", [3]uint32{0x1000_0008, 0, 0}, false},
		{"the timer interrupt is always there", Faults{Interrupt: func(p uint32) uint32 { return p | rv32.Timer }}, options(),
			"TIMER", "TIMER_EARLY", [3]uint32{0x1000_0008, 0, 0}, false},
	}
}

// check compares what the self-test has found.
func (p planted) check(t *testing.T, stage, result string, details [3]uint32) {
	t.Helper()
	assert.Equal(t, p.stage, stage)
	assert.Equal(t, p.result, result)
	if result == "TIMER_LATE" || result == "TIMER_EARLY" {
		assert.Equal(t, result == "TIMER_EARLY", details[1] < details[2], "%d, due at %d", details[1], details[2])
		details[1], details[2] = 0, 0
	}
	assert.Equal(t, p.details, details, "%#x", details)
}

// Each fault has its stage, its result and its details.
func TestFaults(t *testing.T) {
	for _, tt := range plantedFaults() {
		for _, kind := range machines {
			if kind.name == "RTL" && !tt.RTL {
				continue
			}
			t.Run(kind.name+"/"+tt.name, func(t *testing.T) {
				b, err := firmware.Load(kind.make(memory, tt.faults), firmware.Default(), tt.options)
				require.ErrorIs(t, err, firmware.ErrFailed)
				tt.check(t, b.Stage(), b.Outcome(), b.Detail)
			})
		}
	}
}

// alias returns a fault of the memory: a write in the block at 0x7000 is also one at 0x6800.
func alias() func(m []byte) {
	var seen [64]byte
	return func(m []byte) {
		for i, old := range seen {
			if v := m[0x7000+i]; v != old {
				seen[i], m[0x6800+i] = v, v
			}
		}
	}
}

// A program that stops, or an access that never ends, is a time-out with its stage. The watchdog
// finds it earlier. Then the microcontroller is in reset.
func TestHang(t *testing.T) {
	for _, kind := range machines {
		for _, tt := range []struct {
			name    string
			limit   uint32
			clocks  uint64
			polls   uint64
			between [2]uint64 // clocks
		}{
			{"limit of clocks", 0, 300_000, 0, [2]uint64{300_000, 302_000}},
			{"limit of polls", 0, 0, 700, [2]uint64{100_000, 400_000}},
			{"watchdog", 100_000, 1 << 20, 0, [2]uint64{100_000, 310_000}}, // the tests of memory before it take the rest
		} {
			t.Run(kind.name+"/"+tt.name, func(t *testing.T) {
				m := kind.make(memory, Faults{Silent: true})
				o := options()
				o.Limit, o.Clocks, o.Polls = tt.limit, tt.clocks, tt.polls
				b, err := firmware.Load(m, firmware.Default(), o)
				require.ErrorIs(t, err, firmware.ErrHung)
				assert.ErrorContains(t, err, "firmware: boot hangs in stage WINDOW after ")
				assert.Equal(t, "WINDOW", b.Stage())
				assert.Equal(t, "BUSY", b.Outcome())
				assert.GreaterOrEqual(t, b.Clocks, tt.between[0])
				assert.LessOrEqual(t, b.Clocks, tt.between[1])
				require.NoError(t, m.Write(mcureg.Base+mcureg.LoadAddr, 0x40), "it is in reset, so LOAD_ADDR is open")
			})
		}
	}
}

// An exception that no test expects stops the program, with its cause, address and value. So does
// an exception at the load of a probe that is not an access fault.
func TestTrap(t *testing.T) {
	image, err := firmware.Parse(firmware.Default())
	require.NoError(t, err)
	for _, kind := range machines {
		for _, tt := range []struct {
			name        string
			instruction uint32
			stage       string
		}{
			{"not a5, a4 of the test of the memory", 0xfff74793, "MEMORY"},
			{"lw a0, 0(a0) of probe_read", 0x00052503, "MEMORY"},
			{"sw t2, 0(a0) of probe_write", 0x00752023, "LOCK"},
		} {
			t.Run(kind.name+"/"+tt.name, func(t *testing.T) {
				program := append([]byte(nil), image.Program...)
				at := find(t, program, tt.instruction)
				binary.LittleEndian.PutUint32(program[at:], 0x00000073) // ECALL
				b, err := firmware.Load(kind.make(memory, Faults{}), firmware.Append(nil, image.Header, program), options())
				require.ErrorIs(t, err, firmware.ErrTrap)
				assert.Equal(t, [3]uint32{rv32.Call, uint32(at), 0}, b.Detail)
				assert.Equal(t, tt.stage, b.Stage())
				assert.EqualError(t, err, fmt.Sprintf("firmware: exception during the boot in stage %s: mcause 0xb, mepc %#x, mtval 0x0", tt.stage, at))
			})
		}
	}
}

// find returns the address of the first instruction with a value.
func find(t *testing.T, program []byte, instruction uint32) int {
	t.Helper()
	for at := 0; at < len(program); at += 4 {
		if binary.LittleEndian.Uint32(program[at:]) == instruction {
			return at
		}
	}
	require.Fail(t, "no such instruction")
	return 0
}
