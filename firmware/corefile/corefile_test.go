package corefile_test

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/firmware/corefile"
	"github.com/hilgpu/hilgpu/firmware/mcu"
	"github.com/hilgpu/hilgpu/rtl/abi/mcureg"
	"github.com/hilgpu/hilgpu/rtl/mcu/mcutest"
	"github.com/hilgpu/hilgpu/rtl/mcu/rv32/rv32test"
)

// limit of reads in one wait.
const limit = 50

// counts adds 1 to x1 and stores it to 0x100, in a loop of 3 instructions.
func counts() []byte {
	var b []byte
	for _, w := range []uint32{rv32test.I(0x13, 0, 1, 1, 1), rv32test.S(0x23, 2, 0, 1, 0x100), rv32test.J(0, 0x1ffff8)} {
		b = binary.LittleEndian.AppendUint32(b, w)
	}
	return b
}

// start runs counts for some clocks.
func start(t *testing.T) *mcutest.Rig {
	t.Helper()
	r := mcutest.New()
	require.NoError(t, mcu.Load(r, 0, counts()))
	require.NoError(t, mcu.Run(r))
	for range 500 {
		r.Clock()
	}
	return r
}

// The state of a program is that at one time: the memory has what the register has, or one less
// before the store. The program continues.
func TestTake(t *testing.T) {
	r := start(t)
	s, err := corefile.Take(r, limit)
	require.NoError(t, err)
	assert.Equal(t, mcu.None, s.Cause)
	memory := s.Ranges[0]
	assert.Zero(t, memory.Addr)
	assert.Len(t, memory.Data, mcutest.Bytes)
	assert.Equal(t, counts(), memory.Data[:12])
	stored := binary.LittleEndian.Uint32(memory.Data[0x100:])
	require.Contains(t, []uint32{0, 4, 8}, s.PC)
	if s.PC == 4 {
		stored++
	}
	assert.Equal(t, s.Registers[1], stored)
	assert.Greater(t, stored, uint32(20))
	again, err := corefile.Take(r, limit)
	require.NoError(t, err)
	assert.Greater(t, again.Registers[1], s.Registers[1])
}

// A processor that is halted stays so, and one that ran has the CATCH that it had.
func TestTakeLeavesAll(t *testing.T) {
	r := start(t)
	catch := func() uint32 {
		v, err := r.Read(mcureg.DebugBase + mcureg.DebugCtl)
		require.NoError(t, err)
		return v
	}
	_, err := corefile.Take(r, limit)
	require.NoError(t, err)
	assert.Zero(t, catch())
	require.NoError(t, r.Write(mcureg.DebugBase+mcureg.DebugCtl, mcureg.CtlCatch))
	_, err = corefile.Take(r, limit)
	require.NoError(t, err)
	assert.EqualValues(t, mcureg.CtlCatch, catch())
	d, err := mcu.New(r, limit)
	require.NoError(t, err)
	require.NoError(t, d.Halt())
	pc, err := d.PC()
	require.NoError(t, err)
	for range 2 {
		s, err := corefile.Take(r, limit)
		require.NoError(t, err)
		assert.Equal(t, mcu.Requested, s.Cause)
		assert.Equal(t, pc, s.PC)
	}
}

func TestTakeFails(t *testing.T) {
	r := mcutest.New()
	_, err := corefile.Take(r, limit)
	require.ErrorIs(t, err, mcu.ErrReset)
	require.NoError(t, mcu.Load(r, 0, []byte{0x37, 5, 0, 0x80, 3, 0x25, 5, 0})) // lui a0, 0x80000; lw a0, 0(a0)
	r.Silent = true
	require.NoError(t, mcu.Run(r))
	_, err = corefile.Take(r, limit)
	require.ErrorIs(t, err, mcu.ErrWait)
	ctl, err := r.Read(mcureg.DebugBase + mcureg.DebugCtl)
	require.NoError(t, err)
	assert.Zero(t, ctl, "the processor may continue")
	r.Broken = assert.AnError
	_, err = corefile.Take(r, limit)
	require.ErrorIs(t, err, assert.AnError)
}

// The file has the parts that the ELF format and GDB want, as the library reads them.
func TestBytes(t *testing.T) {
	s := corefile.State{Cause: mcu.Break, PC: 0x1234, CSRs: []uint32{7, 8}, Ranges: []corefile.Range{{0, []byte{1, 2, 3, 4}}, {0x10000040, []byte("mail")}}}
	for i := range s.Registers {
		s.Registers[i] = 0x100 * uint32(i)
	}
	f, err := elf.NewFile(bytes.NewReader(s.Bytes()))
	require.NoError(t, err)
	assert.Equal(t, []any{elf.ET_CORE, elf.EM_RISCV, elf.ELFCLASS32, elf.ELFDATA2LSB}, []any{f.Type, f.Machine, f.Class, f.Data})
	require.Len(t, f.Progs, 3)
	for i, r := range s.Ranges {
		p := f.Progs[i+1]
		assert.Equal(t, elf.PT_LOAD, p.Type)
		assert.EqualValues(t, r.Addr, p.Vaddr)
		data, err := io.ReadAll(p.Open())
		require.NoError(t, err)
		assert.Equal(t, r.Data, data)
	}
	notes, err := io.ReadAll(f.Progs[0].Open())
	require.NoError(t, err)
	name, kind, status, notes := nextNote(notes)
	assert.Equal(t, "CORE\x00 1", name+" "+kind)
	require.Len(t, status, 204)
	assert.EqualValues(t, 5, binary.LittleEndian.Uint16(status[12:]), "SIGTRAP")
	assert.EqualValues(t, 0x1234, binary.LittleEndian.Uint32(status[72:]))
	assert.EqualValues(t, 0x100, binary.LittleEndian.Uint32(status[76:]))
	assert.EqualValues(t, 0x1f00, binary.LittleEndian.Uint32(status[72+31*4:]))
	name, kind, description, notes := nextNote(notes)
	assert.Equal(t, "GDB\x00 ff000000", name+" "+kind)
	assert.Equal(t, mcu.Description()+"\x00", string(description))
	name, kind, csrs, notes := nextNote(notes)
	assert.Equal(t, "GDB\x00 900", name+" "+kind)
	assert.Equal(t, []byte{7, 0, 0, 0, 8, 0, 0, 0}, csrs)
	assert.Empty(t, notes)
}

// nextNote returns the first of some notes (System V ABI, "Note Section"), and the others.
func nextNote(b []byte) (name, kind string, content, rest []byte) {
	size := func(i int) int { return int(binary.LittleEndian.Uint32(b[4*i:])) }
	pad := func(n int) int { return (n + 3) &^ 3 }
	at := 12 + pad(size(0))
	return string(b[12 : 12+size(0)]), fmt.Sprintf("%x", size(2)), b[at : at+size(1)], b[at+pad(size(1)):]
}
