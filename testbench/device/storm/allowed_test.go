package storm_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/boards"
	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/testbench/device/bare"
	"github.com/hilgpu/hilgpu/testbench/device/storm"
)

// straying is the host of a device that also makes an access of its own at one of its reads, which changes nothing.
type straying struct {
	bus.Host
	reads int
	made  bool
	stray func(h bus.Host, addr uint64, p []byte)
}

func (s *straying) ReadMem(addr uint64, p []byte) error {
	err := s.Host.ReadMem(addr, p)
	if s.reads++; s.reads >= 100 && err == nil && !s.made {
		s.made = true
		s.stray(s.Host, addr, p)
	}
	return err
}

// An access that no packet has is an error, even if it changes nothing, so that the comparison finds nothing.
func TestStrayAccesses(t *testing.T) {
	const unused = bare.HostBase + 0x2800 // between the cells and the data of node 0
	for name, tt := range map[string]struct {
		stray func(h bus.Host, addr uint64, p []byte)
		want  string
	}{
		"nothing":                  {func(bus.Host, uint64, []byte) {}, ""},
		"a longer read":            {func(h bus.Host, addr uint64, p []byte) { h.ReadMem(bare.HostBase+0x1ffc, make([]byte, 8)) }, "access-outside: it reads 8 bytes of host memory at 0x101ffc"},
		"a read elsewhere":         {func(h bus.Host, addr uint64, p []byte) { h.ReadMem(unused, make([]byte, 4)) }, "access-outside: it reads 4 bytes of host memory at 0x102800"},
		"a write of the same data": {func(h bus.Host, addr uint64, p []byte) { h.WriteMem(addr, p) }, "access-outside: it writes "},
	} {
		for _, on := range []bool{true, false} {
			device := &straying{stray: tt.stray}
			open := func(selector string, host bus.Host) (bus.Link, bus.Clock, error) {
				device.Host = host
				return boards.Open(selector, device)
			}
			_, err := run(storm.Options{Board: "emu", Seed: 1, Cycles: 200_000, Open: open, Sanitize: on})
			require.True(t, device.made, name)
			if tt.want == "" || !on {
				assert.NoError(t, err, name)
				continue
			}
			require.ErrorIs(t, err, storm.ErrDiffers, name)
			assert.ErrorContains(t, err, tt.want, name)
		}
	}
}

// A storm with the sanitizer ends as one without it.
func TestSanitizedStormIsTheSame(t *testing.T) {
	for board, cycles := range map[string]uint64{"emu": 300_000, "emu?config=small": 200_000, "line?vram=64KiB": 400_000_000} {
		o := storm.Options{Board: board, Seed: 1, Cycles: cycles}
		plain, err := run(o)
		require.NoError(t, err, board)
		o.Sanitize = true
		checked, err := run(o)
		require.NoError(t, err, board)
		assert.Equal(t, plain, checked, board)
		assert.Greater(t, checked.Rounds, 1, board)
	}
}
