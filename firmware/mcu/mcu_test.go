package mcu_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/firmware/mcu"
	"github.com/hilgpu/hilgpu/rtl/abi/mcureg"
	"github.com/hilgpu/hilgpu/rtl/mcu/mcutest"
	"github.com/hilgpu/hilgpu/rtl/mcu/rv32/rv32test"
)

// limit of reads in one wait in these tests.
const limit = 50

// addi, lui, sw and jal are instructions of the programs.
func addi(rd, rs, imm uint32) uint32 { return rv32test.I(0x13, 0, rd, rs, imm&0xfff) }
func lui(rd, upper uint32) uint32    { return upper<<12 | rd<<7 | 0x37 }
func sw(rs, base, imm uint32) uint32 { return rv32test.S(0x23, 2, base, rs, imm&0xfff) }
func jal(offset uint32) uint32       { return rv32test.J(0, offset&0x1fffff) }

// image returns the bytes of words.
func image(words ...uint32) []byte {
	var b []byte
	for _, w := range words {
		b = append(b, byte(w), byte(w>>8), byte(w>>16), byte(w>>24))
	}
	return b
}

// start runs a program, and returns its debugger.
func start(t *testing.T, words ...uint32) (*mcutest.Rig, *mcu.Debugger) {
	t.Helper()
	r := mcutest.New()
	require.NoError(t, mcu.Load(r, 0, image(words...)))
	require.NoError(t, mcu.Run(r))
	d, err := mcu.New(r, limit)
	require.NoError(t, err)
	return r, d
}

// counting counts in x1, and stores x1 to 0x100 and to 0x104, in a loop of 4 instructions.
func counting() []uint32 {
	return []uint32{addi(1, 1, 1), sw(1, 0, 0x100), sw(1, 0, 0x104), jal(^uint32(11))}
}

// stopped waits for a halt, and returns its cause and pc.
func stopped(t *testing.T, d *mcu.Debugger) (mcu.Cause, uint32) {
	t.Helper()
	for range 100 {
		c, err := d.State()
		require.NoError(t, err)
		if c != mcu.None {
			pc, err := d.PC()
			require.NoError(t, err)
			return c, pc
		}
	}
	require.Fail(t, "no halt")
	return 0, 0
}

// register returns a register that must be readable.
func register(t *testing.T, d *mcu.Debugger, i int) uint32 {
	t.Helper()
	v, err := d.Register(i)
	require.NoError(t, err)
	return v
}

func TestLoad(t *testing.T) {
	r := mcutest.New()
	data := []byte{1, 2, 3, 4, 5}
	require.NoError(t, mcu.Load(r, 0x3ff8, data))
	for _, tt := range []struct {
		name string
		at   uint32
		data []byte
		want string
	}{
		{"no multiple of 4", 2, data, "mcu: image: address 0x2, want a multiple of 4"},
		{"beyond the memory", 0x3ffc, data, "mcu: image: 5 bytes at 0x3ffc, want at most 16384 bytes of memory"},
		{"beyond all addresses", 0xfffffffc, data, "mcu: image: 5 bytes at 0xfffffffc, want at most 16384 bytes of memory"},
	} {
		assert.EqualError(t, mcu.Load(r, tt.at, tt.data), tt.want, tt.name)
	}
	require.NoError(t, mcu.Load(r, 0, image(jal(0))))
	require.NoError(t, mcu.Run(r))
	assert.ErrorIs(t, mcu.Load(r, 0, data), mcu.ErrImage)

	d, err := mcu.New(r, limit)
	require.NoError(t, err)
	require.NoError(t, d.Halt())
	got := make([]byte, 8)
	_, err = d.ReadMemory(0x3ff8, got)
	require.NoError(t, err)
	assert.Equal(t, []byte{1, 2, 3, 4, 5, 0, 0, 0}, got)
	require.NoError(t, mcu.Stop(r))
	require.NoError(t, mcu.Load(r, 0, data))
}

// A lossy drops the next write of a register.
type lossy struct {
	*mcutest.Rig
	drop uint32
}

func (l *lossy) Write(off, v uint32) error {
	if off == l.drop {
		l.drop = 0
		return nil
	}
	return l.Rig.Write(off, v)
}

// An instruction that is not executed is an error.
func TestExecIsLost(t *testing.T) {
	r, _ := start(t, counting()...)
	d, err := mcu.New(&lossy{r, mcureg.DebugBase + mcureg.Exec}, limit)
	require.NoError(t, err)
	require.NoError(t, d.Halt())
	_, err = d.Register(1)
	assert.ErrorIs(t, err, mcu.ErrWait)
	assert.EqualValues(t, 0, register(t, d, 2))
}

// A word that is lost makes another CRC.
func TestLoadIsCompared(t *testing.T) {
	err := mcu.Load(&lossy{mcutest.New(), mcureg.Base + mcureg.LoadData}, 0, []byte("1234123456780000"))
	assert.ErrorIs(t, err, mcu.ErrImage)
	require.NoError(t, mcu.Load(&lossy{mcutest.New(), 0}, 0, []byte("1234123456780000")))
}

// A none is a GPU with another MCU.INFO.
type none struct {
	*mcutest.Rig
	info uint32
}

func (n none) Read(off uint32) (uint32, error) {
	if off == mcureg.Base+mcureg.Info {
		return n.info, nil
	}
	return n.Rig.Read(off)
}

func TestMissing(t *testing.T) {
	for _, info := range []uint32{0, 0xffffffff, 0x00820, 0x04820, 0x13820} {
		_, err := mcu.New(none{mcutest.New(), info}, limit)
		assert.ErrorIs(t, err, mcu.ErrMissing, "%#x", info)
	}
	_, err := mcu.New(none{mcutest.New(), 0x14820}, limit)
	assert.NoError(t, err)
}

// Each method returns the error of the link.
func TestBroken(t *testing.T) {
	r, d := start(t, counting()...)
	require.NoError(t, d.Halt())
	r.Broken = errors.New("the link is down")
	for name, err := range map[string]error{
		"Halt": d.Halt(), "Resume": d.Resume(), "Step": d.Step(), "Reset": d.Reset(), "Detach": d.Detach(),
		"SetRegister": d.SetRegister(1, 2), "SetPC": d.SetPC(4), "SetCSR": d.SetCSR(0x340, 1),
		"SetBreakpoint": d.SetBreakpoint(4), "ClearBreakpoint": d.ClearBreakpoint(4),
		"SetWatchpoint": d.SetWatchpoint(4, 4), "ClearWatchpoint": d.ClearWatchpoint(), "Load": mcu.Load(r, 0, nil),
	} {
		assert.ErrorIs(t, err, r.Broken, name)
	}
	_, err := d.State()
	assert.ErrorIs(t, err, r.Broken)
}

// A processor in reset, one whose access has no answer, and one that runs are different errors.
func TestNotHalted(t *testing.T) {
	r := mcutest.New()
	d, err := mcu.New(r, limit)
	require.NoError(t, err)
	assert.ErrorIs(t, d.Halt(), mcu.ErrReset)

	r, d = start(t, lui(1, 0x80000), rv32test.I(0x03, 2, 2, 1, 0), jal(0))
	r.Silent = true
	r.Memory[0] = 7
	for range 50 {
		r.Clock()
	}
	before := r.Accesses
	assert.ErrorIs(t, d.Halt(), mcu.ErrWait)
	assert.LessOrEqual(t, r.Accesses-before, uint64(limit+2))
	for name, err := range map[string]error{
		"Resume": d.Resume(), "Step": d.Step(), "SetRegister": d.SetRegister(1, 2), "SetPC": d.SetPC(4), "SetCSR": d.SetCSR(0x340, 1),
	} {
		assert.ErrorIs(t, err, mcu.ErrRunning, name)
	}
	r.Silent = false
	require.NoError(t, d.Halt())
	assert.EqualValues(t, 7, register(t, d, 2))
}
