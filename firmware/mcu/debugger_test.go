package mcu_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/firmware/mcu"
	"github.com/hilgpu/hilgpu/rtl/abi/mcureg"
	"github.com/hilgpu/hilgpu/rtl/mcu/mcutest"
	"github.com/hilgpu/hilgpu/rtl/mcu/rv32/rv32test"
)

// Every register keeps a value of its own, and pc and memory stay.
func TestRegisters(t *testing.T) {
	_, d := start(t, counting()...)
	require.NoError(t, d.Halt())
	_, pc := stopped(t, d)
	for i := range 32 {
		require.NoError(t, d.SetRegister(i, 0x01010101*uint32(i+1)))
	}
	for i := range 32 {
		want := 0x01010101 * uint32(i+1)
		if i == 0 {
			want = 0
		}
		assert.Equal(t, want, register(t, d, i), i)
	}
	_, after := stopped(t, d)
	assert.Equal(t, pc, after)
}

// The program does not notice a debugger that reads and writes everything.
func TestScratchIsRestored(t *testing.T) {
	_, d := start(t, counting()...)
	require.NoError(t, d.Halt())
	require.NoError(t, d.SetRegister(8, 0x88888888))
	require.NoError(t, d.SetRegister(9, 0x99999999))
	_, pc := stopped(t, d)
	for name, do := range map[string]func() error{
		"a read":           func() error { _, err := d.ReadMemory(0x101, make([]byte, 9)); return err },
		"a write":          func() error { _, err := d.WriteMemory(0x201, make([]byte, 9)); return err },
		"a CSR":            func() error { _, err := d.CSR(0x300); return err },
		"a write of a CSR": func() error { return d.SetCSR(0x340, 5) },
		"a jump":           func() error { return d.SetPC(pc) },
		"a failed read": func() error {
			_, err := d.ReadMemory(0x70000000, make([]byte, 4))
			assert.ErrorIs(t, err, mcu.ErrAccess)
			return nil
		},
	} {
		require.NoError(t, do(), name)
		assert.EqualValues(t, 0x88888888, register(t, d, 8), name)
		assert.EqualValues(t, 0x99999999, register(t, d, 9), name)
	}
}

func TestPC(t *testing.T) {
	_, d := start(t, counting()...)
	require.NoError(t, d.Halt())
	require.NoError(t, d.SetPC(0x123454))
	pc, err := d.PC()
	require.NoError(t, err)
	assert.EqualValues(t, 0x123454, pc)
	assert.EqualError(t, d.SetPC(6), "mcu: address: pc = 0x6, want a multiple of 4")
}

// CSRs have the values of Privileged Architecture 20211203, chapter 3: of mstatus this core has
// MIE, MPIE and MPP, which is 3.
func TestCSRs(t *testing.T) {
	_, d := start(t, counting()...)
	require.NoError(t, d.Halt())
	_, err := d.WriteMemory(mcureg.Local+mcureg.CompareLo, make([]byte, 8))
	require.NoError(t, err, "the timer is due")
	for _, tt := range []struct {
		csr         uint16
		write, want uint32
	}{
		{0x300, 0xffffffff, 0x1888}, {0x300, 0, 0x1800}, {0x304, 0xffffffff, 0x888}, {0x305, 0x1237, 0x1234},
		{0x340, 0x12345678, 0x12345678}, {0x341, 0x103, 0x100}, {0x342, 0x8000000b, 0x8000000b}, {0x343, 9, 9},
		{0x344, 0, 0x80}, {0x301, 0, 0x40000100}, {0xb02, 88, 88}, {0xb80, 7, 7}, {0xb82, 8, 8},
	} {
		require.NoError(t, d.SetCSR(tt.csr, tt.write), "%#x", tt.csr)
		v, err := d.CSR(tt.csr)
		require.NoError(t, err, "%#x", tt.csr)
		assert.Equal(t, tt.want, v, "%#x", tt.csr)
	}
	require.NoError(t, d.SetCSR(0xb00, 0x1000))
	cycles, err := d.CSR(0xb00)
	require.NoError(t, err)
	assert.InDelta(t, 0x1000, cycles, 50, "the debugger's instructions take clocks")
	assert.EqualError(t, d.SetCSR(0xf14, 1), "mcu: access failed: a write of the CSR 0xf14")
	_, err = d.CSR(0x123)
	assert.EqualError(t, err, "mcu: access failed: a read of the CSR 0x123")
}

// Bytes of all alignments and lengths arrive, and no others change.
func TestMemory(t *testing.T) {
	_, d := start(t, counting()...)
	require.NoError(t, d.Halt())
	const base, size = 0x1000, 24
	for from := range uint32(4) {
		for n := range uint32(13) {
			want := make([]byte, size)
			for i := range want {
				want[i] = byte(0x80 + i)
			}
			_, err := d.WriteMemory(base, want)
			require.NoError(t, err)
			data := make([]byte, n)
			for i := range data {
				data[i] = byte(1 + i)
			}
			wrote, err := d.WriteMemory(base+4+from, data)
			require.NoError(t, err)
			assert.EqualValues(t, n, wrote)
			copy(want[4+from:], data)
			got := make([]byte, size)
			_, err = d.ReadMemory(base, got)
			require.NoError(t, err)
			require.Equal(t, want, got, "%d bytes at %d", n, from)
			read, err := d.ReadMemory(base+4+from, data)
			require.NoError(t, err)
			assert.EqualValues(t, n, read)
			assert.Equal(t, want[4+from:4+from+n], data)
		}
	}
}

// A range longer than the offsets of a load is complete.
func TestLongMemory(t *testing.T) {
	_, d := start(t, counting()...)
	require.NoError(t, d.Halt())
	want := make([]byte, 5000)
	for i := range want {
		want[i] = byte(i * i >> 3)
	}
	_, err := d.WriteMemory(0x1001, want)
	require.NoError(t, err)
	got := make([]byte, len(want))
	_, err = d.ReadMemory(0x1001, got)
	require.NoError(t, err)
	assert.Equal(t, want, got)
	clear(got)
	for at := 0; at < len(got); at += 100 {
		_, err = d.ReadMemory(0x1001+uint32(at), got[at:at+100])
		require.NoError(t, err)
	}
	assert.Equal(t, want, got, "in small parts")
}

// The memory of a window sees one access of the width for an aligned word, halfword and byte.
func TestWidths(t *testing.T) {
	r, d := start(t, counting()...)
	require.NoError(t, d.Halt())
	r.Memory[0x100], r.Memory[0x104] = 0x44332211, 0x88776655
	got := make([]byte, 7)
	_, err := d.ReadMemory(0x80000101, got)
	require.NoError(t, err)
	assert.Equal(t, []byte{0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88}, got)
	assert.Equal(t, []uint64{0x100, 0x100, 0x104}, r.Reads)
	_, err = d.WriteMemory(0x80000102, []byte{1, 2, 3, 4, 5, 6, 7})
	require.NoError(t, err)
	assert.Equal(t, []mcutest.Write{{Addr: 0x100, Lanes: 12}, {Addr: 0x104, Lanes: 15}, {Addr: 0x108, Lanes: 1}}, r.Writes)
	assert.Equal(t, map[uint64]uint32{0x100: 0x02012211, 0x104: 0x06050403, 0x108: 0x00000007}, r.Memory)
}

// A failed access names its address, and the bytes before it arrive.
func TestFailedAccess(t *testing.T) {
	_, d := start(t, counting()...)
	require.NoError(t, d.Halt())
	_, err := d.WriteMemory(0x3ffc, []byte{1, 2, 3, 4})
	require.NoError(t, err)
	got := make([]byte, 8)
	n, err := d.ReadMemory(0x3ffc, got)
	assert.EqualError(t, err, "mcu: access failed: a load of 4 bytes at 0x00004000")
	assert.Equal(t, 4, n)
	assert.Equal(t, []byte{1, 2, 3, 4}, got[:n])
	n, err = d.WriteMemory(0x3ffe, []byte{5, 6, 7})
	assert.EqualError(t, err, "mcu: access failed: a store of 1 bytes at 0x00004000")
	assert.Equal(t, 2, n)
	_, err = d.ReadMemory(0xfffffffd, got)
	assert.ErrorIs(t, err, mcu.ErrAddress)
	assert.NotErrorIs(t, err, mcu.ErrAccess)
}

// An access that has no answer is an error, and the borrowed registers are given back when it
// has ended, before the program continues.
func TestNoAnswer(t *testing.T) {
	r, d := start(t, counting()...)
	require.NoError(t, d.Halt())
	require.NoError(t, d.SetRegister(8, 0x88888888))
	require.NoError(t, d.SetRegister(9, 0x99999999))
	r.Silent = true
	before := r.Accesses
	_, err := d.ReadMemory(0x80000000, make([]byte, 4))
	assert.ErrorIs(t, err, mcu.ErrWait)
	assert.ErrorContains(t, err, "a load of 4 bytes at 0x80000000")
	assert.LessOrEqual(t, r.Accesses-before, uint64(limit+30))
	_, err = d.Register(8)
	assert.ErrorIs(t, err, mcu.ErrRunning)
	assert.ErrorIs(t, d.Detach(), mcu.ErrRunning)
	r.Silent = false
	require.NoError(t, d.Resume())
	require.NoError(t, d.Halt())
	assert.EqualValues(t, 0x88888888, register(t, d, 8))
	assert.EqualValues(t, 0x99999999, register(t, d, 9))
}

// A program that was started again does not get registers of the earlier one.
func TestNoAnswerThenReset(t *testing.T) {
	for _, byUs := range []bool{false, true} {
		r, d := start(t, addi(8, 0, 1), addi(8, 8, 1), jal(^uint32(3)))
		require.NoError(t, d.Halt())
		require.NoError(t, d.SetPC(8))
		r.Silent = true
		_, err := d.ReadMemory(0x80000000, make([]byte, 4))
		require.ErrorIs(t, err, mcu.ErrWait)
		if byUs {
			require.NoError(t, d.Reset())
		} else {
			require.NoError(t, mcu.Stop(r))
			require.NoError(t, mcu.Run(r))
			require.NoError(t, d.Halt())
		}
		assert.EqualValues(t, 0x80000000, register(t, d, 8))
	}
}

func TestReset(t *testing.T) {
	_, d := start(t, counting()...)
	require.NoError(t, d.Reset())
	cause, pc := stopped(t, d)
	assert.Equal(t, mcu.Requested, cause)
	assert.Zero(t, pc)
	require.NoError(t, d.SetRegister(1, 41))
	require.NoError(t, d.Step())
	cause, pc = stopped(t, d)
	assert.Equal(t, mcu.Stepped, cause)
	assert.EqualValues(t, 4, pc)
	assert.EqualValues(t, 42, register(t, d, 1))
}

// Detach leaves nothing of the debugger: no points, no halt, and EBREAK is an exception.
func TestDetach(t *testing.T) {
	r, d := start(t, addi(5, 0, 0x40), rv32test.I(0x73, 1, 0, 5, 0x305), addi(1, 1, 1), sw(1, 0, 0x100), rv32test.EBREAK, jal(0))
	require.NoError(t, d.Reset())
	_, err := d.WriteMemory(0x40, image(addi(2, 2, 1), jal(0)))
	require.NoError(t, err)
	for _, at := range []uint32{8, 12, 0x40, 0x44} {
		require.NoError(t, d.SetBreakpoint(at))
	}
	require.NoError(t, d.SetWatchpoint(0x100, 4))
	require.NoError(t, d.Detach())
	for range 200 {
		r.Clock()
	}
	cause, err := d.State()
	require.NoError(t, err)
	assert.Equal(t, mcu.None, cause)
	require.NoError(t, d.Halt())
	_, pc := stopped(t, d)
	assert.EqualValues(t, 0x44, pc)
	assert.EqualValues(t, 1, register(t, d, 2))
	mcause, err := d.CSR(0x342)
	require.NoError(t, err)
	assert.EqualValues(t, 3, mcause)
}

// Detach from a processor in reset leaves it there.
func TestDetachInReset(t *testing.T) {
	r := mcutest.New()
	d, err := mcu.New(r, limit)
	require.NoError(t, err)
	require.ErrorIs(t, d.Halt(), mcu.ErrReset)
	require.NoError(t, d.Detach())
	require.NoError(t, mcu.Load(r, 0, image(addi(1, 0, 9), jal(0))))
	require.NoError(t, mcu.Run(r))
	cause, err := d.State()
	require.NoError(t, err)
	assert.Equal(t, mcu.None, cause, "HALT is clear")
}

func TestHung(t *testing.T) {
	r, d := start(t, counting()...)
	require.NoError(t, r.Write(mcureg.Base+mcureg.Limit, 100))
	cause, _ := stopped(t, d)
	assert.Equal(t, mcu.Hung, cause)
	_ = register(t, d, 8)
	cause, err := d.State()
	require.NoError(t, err)
	assert.Equal(t, mcu.Hung, cause, "an instruction of the debugger does not hide it")
}
