package linkstat_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/boards"
	"github.com/hilgpu/hilgpu/boards/linkstat"
	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/bus/bustest"
)

// A table is a link with the dwords of configuration space that it has; others fail.
type table struct {
	bus.Link
	words map[int]uint32
	err   error
}

func (t table) ReadConfig(off int) (uint32, error) {
	v, ok := t.words[off]
	if !ok {
		return 0, t.err
	}
	return v, nil
}

// A device without the capability has a header of 0, another one, or no extended
// configuration space. Any other error is one.
func TestAbsent(t *testing.T) {
	down := errors.New("down")
	for _, tt := range []struct {
		name  string
		words map[int]uint32
		err   error
		want  error
	}{
		{"none", map[int]uint32{0x100: 0}, down, nil},
		{"ones", map[int]uint32{0x100: 0xffffffff}, down, nil},
		{"another capability", map[int]uint32{0x100: 0x14010001}, down, nil},
		{"another layout", map[int]uint32{0x100: 0x0001000b, 0x104: 0x08024c4b}, down, nil},
		{"unsupported", nil, bus.ErrUnsupported, nil},
		{"down at the header", nil, down, down},
		{"down later", map[int]uint32{0x100: 0x0001000b, 0x104: 0x08014c4b}, down, down},
	} {
		s, err := linkstat.Read(table{words: tt.words, err: tt.err})
		assert.Nil(t, s, tt.name)
		assert.Equal(t, tt.want, err, tt.name)
	}
	for _, board := range []string{"emu", "emu?config=small", "line"} {
		l, _, err := boards.Open(board, bustest.NewHost(8192))
		require.NoError(t, err)
		s, err := linkstat.Read(l)
		require.NoError(t, err)
		assert.Nil(t, s, board)
		require.NoError(t, l.Close())
	}
}

// Each register is in its member, by docs/registers.md.
func TestRead(t *testing.T) {
	words := map[int]uint32{0x100: 0x0001000b, 0x104: 0x08014c4b, 0x108: 0x131, 0x10c: 133, 0x110: 25_000_000}
	for off := 0x120; off < 0x180; off += 4 {
		words[off] = uint32(off)
	}
	s, err := linkstat.Read(table{words: words})
	require.NoError(t, err)
	counters := linkstat.Counters{Sessions: 0x140, Received: 0x144, Refused: 0x148, Repeated: 0x14c, Naks: 0x150, Packets: 0x154}
	assert.Equal(t, &linkstat.State{
		Up: true, Cause: "DEAD", ClockHz: 25_000_000, Period: 133, Baud: 3_007_519, Counters: counters,
		UART: &linkstat.UART{Framing: 0x160, Glitches: 0x164, Breaks: 0x168},
	}, s)
	words[0x108], words[0x114], words[0x118], words[0x11c] = 0x200, 0x0fa0_0268, 0x696c0005, 0x0a000005
	s, err = linkstat.Read(table{words: words})
	require.NoError(t, err)
	assert.Equal(t, &linkstat.State{
		Cause: "NONE", ClockHz: 25_000_000, Counters: counters,
		MAC: &linkstat.MAC{
			MAC: "02:68:69:6c:00:05", IP: "10.0.0.5", UDPPort: 4000,
			Runts: 0x120, Oversized: 0x124, Bad: 0x128, Filtered: 0x12c, Good: 0x130, NoRoom: 0x134, Ignored: 0x138, Invalid: 0x13c,
		},
	}, s)
	assert.Equal(t, "link down, cause of the last end NONE, clock 25000000 Hz", s.Lines()[0])
}
