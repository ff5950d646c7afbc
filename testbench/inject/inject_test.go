package inject_test

import (
	"encoding/binary"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/boards"
	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/bus/bustest"
	"github.com/hilgpu/hilgpu/testbench/inject"
)

// memory is where the host's memory begins.
const memory = 1 << 20

// A host loses what it was told to lose, and nothing else.
func TestHost(t *testing.T) {
	in, mem := new(inject.Injector), &bustest.Host{Base: memory, Mem: []byte("0123456789abcdef")}
	h := in.Host(mem)
	p := make([]byte, 4)
	cancel := in.LoseRead(memory+6, 2)
	in.LoseRead(memory+15, 1)
	require.NoError(t, h.ReadMem(memory+2, p), "[2, 6) ends before")
	require.NoError(t, h.ReadMem(memory+8, p), "[8, 12) begins after")
	require.ErrorIs(t, h.ReadMem(memory+4, p), bus.ErrNoAnswer)
	require.NoError(t, h.ReadMem(memory+4, p), "once")
	assert.Equal(t, "4567", string(p))
	cancel()
	require.ErrorIs(t, h.ReadMem(memory+12, p), bus.ErrNoAnswer, "the other one is still armed")
	in.LoseRead(memory, 16)()
	require.NoError(t, h.ReadMem(memory, p), "it was taken back")

	assert.EqualValues(t, 1, in.LostReads(memory+6), "of the range that begins there")
	assert.Zero(t, in.LostReads(memory+4))
	assert.Zero(t, in.LostReads(memory), "it was taken back")

	in.LoseMessages(1)
	require.NoError(t, h.WriteMem(memory, []byte("x")), "no message")
	require.Error(t, h.WriteMem(bustest.MessageBase, p))
	require.NoError(t, h.WriteMem(bustest.MessageBase+4, p))
	assert.Len(t, mem.Messages(), 1)
	assert.Equal(t, inject.Counts{Reads: 2, Messages: 1}, in.Counts())

	in.LoseRead(memory, 16)
	in.LoseMessages(1)
	in.Disarm()
	assert.NoError(t, h.ReadMem(memory, p))
	assert.NoError(t, h.WriteMem(bustest.MessageBase, p))
}

// A link loses writes of a register that set one of the bits, and stays down while the board is
// unplugged.
func TestLink(t *testing.T) {
	in, mem := new(inject.Injector), bustest.NewHost(4096)
	inner, _, err := boards.OpenWith("emu?config=small", in.Host(mem), boards.Options{})
	require.NoError(t, err)
	require.NoError(t, bustest.Enumerate(inner))
	l := in.Link(inner)
	const scratch0, scratch1 = 0x20, 0x24 // docs/registers.md: ID.SCRATCH0 and ID.SCRATCH1
	read := func(off uint64) byte {
		p := make([]byte, 4)
		require.NoError(t, l.Read(0, off, p))
		return p[0]
	}
	in.LoseWrites(1, scratch1, 2)
	require.NoError(t, l.Write(0, scratch1, []byte{1, 0, 0, 0}))
	assert.EqualValues(t, 1, read(scratch1), "none of the bits is set")
	require.NoError(t, l.Write(0, scratch0, []byte{7, 0, 0, 0, 7, 0, 0, 0}), "a write of both registers is lost")
	assert.EqualValues(t, 0, read(scratch0))
	assert.EqualValues(t, 1, read(scratch1))
	require.NoError(t, l.Write(0, scratch1, []byte{2, 0, 0, 0}))
	assert.EqualValues(t, 2, read(scratch1), "one was to be lost")
	assert.EqualValues(t, 1, in.LostWrites(scratch1))
	assert.Zero(t, in.LostWrites(scratch0))
	in.LoseWrites(1, scratch1, 0)()
	require.NoError(t, l.Write(0, scratch1, []byte{2, 0, 0, 0}), "it was taken back")
	assert.EqualValues(t, 1, in.LostWrites(scratch1))

	in.Unplug()
	p := make([]byte, 4)
	_, err = l.ReadConfig(0)
	for _, err := range []error{err, l.WriteConfig(4, 0), l.Read(0, scratch1, p), l.Write(0, scratch1, p)} {
		assert.ErrorIs(t, err, bus.ErrLinkDown)
	}
	host := in.Host(mem)
	err = host.ReadMem(memory, p)
	assert.Error(t, err)
	assert.False(t, errors.Is(err, bus.ErrNoAnswer), "the board's end of the link answers")
	assert.Error(t, host.WriteMem(memory, p))
	again, ok := bus.As[interface{ Reopen() error }](l)
	require.True(t, ok)
	require.NoError(t, again.Reopen())
	assert.EqualValues(t, 2, read(scratch1))
	require.NoError(t, l.Close())
}

// A link is cut at a write of a BAR. A silent cut loses the writes until the host waits for an answer.
func TestCut(t *testing.T) {
	for _, silent := range []bool{false, true} {
		in, mem := new(inject.Injector), bustest.NewHost(4096)
		inner, _, err := boards.Open("emu", in.Host(mem))
		require.NoError(t, err)
		require.NoError(t, bustest.Enumerate(inner))
		l := in.Link(inner)
		const scratch0 = 0x20 // docs/registers.md: ID.SCRATCH0
		p := make([]byte, 4)
		set := func(bar int, v uint32) error {
			binary.LittleEndian.PutUint32(p, v)
			return l.Write(bar, scratch0, p)
		}
		in.CutAfter(2, 0, silent)
		require.NoError(t, set(0, 1))
		require.NoError(t, set(2, 2), "another BAR")
		require.NoError(t, set(0, 3))
		require.NoError(t, l.Read(0, scratch0, p))
		assert.EqualValues(t, 3, binary.LittleEndian.Uint32(p))
		lost := set(0, 4)
		assert.Equal(t, !silent, errors.Is(lost, bus.ErrLinkDown), lost)
		assert.Equal(t, !silent, errors.Is(set(2, 5), bus.ErrLinkDown))
		assert.Error(t, in.Host(mem).ReadMem(0, p))
		assert.Error(t, in.Host(mem).WriteMem(0, p))
		assert.ErrorIs(t, l.Read(0, scratch0, p), bus.ErrLinkDown)
		assert.ErrorIs(t, set(0, 6), bus.ErrLinkDown, "it has noticed")
		again, _ := bus.As[interface{ Reopen() error }](l)
		require.NoError(t, again.Reopen())
		require.NoError(t, l.Read(0, scratch0, p))
		assert.EqualValues(t, 3, binary.LittleEndian.Uint32(p), "what was written after the cut is lost")
		require.NoError(t, set(0, 7), "one cut")
		in.CutAfter(0, 0, silent)
		in.Disarm()
		require.NoError(t, set(0, 8))
		require.NoError(t, l.Read(0, scratch0, p))
		assert.EqualValues(t, 8, binary.LittleEndian.Uint32(p), "it was taken back")
		require.NoError(t, l.Close())
	}
}
