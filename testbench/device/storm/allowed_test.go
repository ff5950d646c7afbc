package storm_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/boards"
	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
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
	tooltest.Long(t)
	const unused = bare.HostBase + 0x2800 // between the cells and the data of node 0
	for name, tt := range map[string]struct {
		stray func(h bus.Host, addr uint64, p []byte)
		want  string
	}{
		"nothing":                  {func(bus.Host, uint64, []byte) {}, ""},
		"a longer read":            {func(h bus.Host, addr uint64, p []byte) { h.ReadMem(bare.HostBase+0x1ffc, make([]byte, 8)) }, "access-outside: it reads 8 bytes of host memory at 0x101ffc"},
		"a read elsewhere":         {func(h bus.Host, addr uint64, p []byte) { h.ReadMem(unused, make([]byte, 4)) }, "access-outside: it reads 4 bytes of host memory at 0x102800"},
		"a read after the ring":    {func(h bus.Host, addr uint64, p []byte) { h.ReadMem(bare.HostBase+0x10ffc, make([]byte, 4)) }, "access-outside: it reads 4 bytes of host memory at 0x110ffc"},
		"a write of the same data": {func(h bus.Host, addr uint64, p []byte) { h.WriteMem(addr, p) }, "access-outside: it writes "},
	} {
		for _, on := range []bool{true, false} {
			device := &straying{stray: tt.stray}
			open := func(selector string, host bus.Host) (bus.Link, bus.Clock, error) {
				device.Host = host
				return boards.Open(selector, device)
			}
			_, err := run(storm.Options{Board: "emu", Seed: 2, Cycles: 200_000, Open: open, Sanitize: on})
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

// recovered is the link of a device that makes a stray read when a node reads its ring after its fault was cleared.
type recovered struct {
	bus.Link
	host    *straying
	cleared bool
}

func (r *recovered) Write(bar int, off uint64, p []byte) error {
	node := off - cpreg.Base
	if err := r.Link.Write(bar, off, p); bar != 0 || node >= cpreg.Nodes*cpreg.Stride || node%cpreg.Stride != cpreg.FaultInfo || err != nil {
		return err
	}
	r.cleared = true
	r.host.reads, r.host.made = 100, false // at the next read
	return nil
}

// A stray access while a node recovers from the faults of a round is an error of that round, with its packets.
func TestStrayAccessInRecovery(t *testing.T) {
	for seed := range uint64(100) {
		device := &straying{made: true, stray: func(h bus.Host, _ uint64, _ []byte) { h.ReadMem(bare.HostBase+0x2800, make([]byte, 4)) }}
		link := &recovered{host: device}
		rounds := 0
		r, err := run(storm.Options{Board: "emu", Seed: seed, Cycles: 3000, Sanitize: true, Progress: func(uint64, uint64) { rounds++ }, Open: func(selector string, host bus.Host) (bus.Link, bus.Clock, error) {
			var clock bus.Clock
			var err error
			device.Host = host
			link.Link, clock, err = boards.Open(selector, device)
			return link, clock, err
		}})
		if !link.cleared || !device.made {
			require.NoError(t, err, seed)
			continue
		}
		require.ErrorIs(t, err, storm.ErrDiffers)
		assert.ErrorContains(t, err, fmt.Sprintf("round %d of seed %d: ", rounds+1, seed))
		assert.ErrorContains(t, err, "access-outside: it reads 4 bytes of host memory at 0x102800")
		assert.NotEmpty(t, r.Listing)
		return
	}
	t.Fatal("no node recovers")
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

// A node may not read a ring that it must refuse.
func TestReadOfARefusedRing(t *testing.T) {
	var memory bus.Host
	var read uint64
	_, err := run(storm.Options{
		Board: "emu", Seed: 1, Cycles: 3_000_000, Sanitize: true,
		Open: func(selector string, host bus.Host) (bus.Link, bus.Clock, error) {
			memory = host
			return boards.Open(selector, host)
		},
		Expect: func(node int, cause uint32, _ uint64) {
			if cause == cpreg.CauseRing && read == 0 {
				read = bare.HostBase + uint64(node)<<16
				assert.NoError(t, memory.ReadMem(read, make([]byte, 4)))
			}
		},
	})
	require.NotZero(t, read)
	require.ErrorIs(t, err, storm.ErrDiffers)
	assert.ErrorContains(t, err, fmt.Sprintf("access-outside: it reads 4 bytes of host memory at %#x,", read))
}
