package boards

import (
	"encoding/binary"
	"errors"
	"flag"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/boards/pins"
	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/bus/bustest"
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/abi/intcreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

// TestConformance runs the conformance suite of bus.Link with the GPU.
func TestConformance(t *testing.T) {
	for _, selector := range []string{
		"emu",
		"emu?config=small",
		"emu?latency=1&bandwidth=64",
		"emu?latency=500&bandwidth=3",
		"line",
		"line?baud=115200&delay=0&config=small",
		"line?faults=loss=0.05,dup=0.03,flip=0.02,truncate=0.01,reorder=0.02,seed=3",
	} {
		t.Run(selector, func(t *testing.T) {
			bustest.Run(t, func(t *testing.T) bustest.Fixture {
				h := bustest.NewHost(64 << 10)
				link, clock, err := Open(selector, h)
				require.NoError(t, err)
				f := bustest.Fixture{
					Link: link, Clock: clock, Host: h,
					Register: idreg.Scratch0, Unmapped: 0xf000,
					Announce: func(link bus.Link, addr uint64) ([]byte, error) { return fence(link, h, addr) },
				}
				if l, ok := link.(*lined); ok {
					f.Kill = l.line.Unplug
					return f
				}
				f.Requests = func() uint64 { return counter(t, link, "host_reads") + counter(t, link, "host_writes") }
				f.Kill = func() { link.(interface{ Break(cause error) }).Break(errors.New("unplugged")) }
				return f
			})
		})
	}
}

var pinsFlag = flag.Bool("boards.pins", false, "TestPinsConformance of the other boards too, which takes a minute more")

// TestPinsConformance is TestConformance for gateware at its pins.
func TestPinsConformance(t *testing.T) {
	tooltest.Long(t)
	selectors := []string{
		"pins:ice40-hx8k",
		"pins:ice40-hx8k?hostclock=980&faults=loss=0.01,dup=0.01,flip=0.01,truncate=0.01,reorder=0.01,seed=3",
	}
	if *pinsFlag {
		selectors = append(selectors, "pins:ulx3s", "pins:ulx3s-25f", "pins:colorlight-i5",
			"pins:colorlight-i5?faults=loss=0.01,dup=0.01,flip=0.01,truncate=0.01,reorder=0.01,seed=3")
	}
	for _, selector := range selectors {
		t.Run(selector, func(t *testing.T) {
			bustest.Run(t, func(t *testing.T) bustest.Fixture {
				h := bustest.NewHost(64 << 10)
				link, clock, err := Open(selector, h)
				require.NoError(t, err)
				return bustest.Fixture{
					Link: link, Clock: clock, Host: h,
					Register: idreg.Scratch0, Unmapped: 0xf000,
					Announce: func(link bus.Link, addr uint64) ([]byte, error) { return fence(link, h, addr) },
					Kill:     wireOf(link).Cut,
				}
			})
		})
	}
}

// wireOf returns the wire of gateware at its pins.
func wireOf(link bus.Link) *pins.Wire {
	if l, ok := link.(ratedPins); ok {
		return l.wire
	}
	return link.(*pinned).wire
}

// fence makes node 0 write a fence to addr, from a ring in host memory.
func fence(link bus.Link, h *bustest.Host, addr uint64) ([]byte, error) {
	const at, id = 0x8000, 0x12345678
	b, err := pkt.Fence{Addr: 1<<63 | addr, ID: id, IRQ: true}.Append(nil)
	if err != nil {
		return nil, err
	}
	copy(h.Mem[at:], b)
	for _, w := range [][2]uint32{
		{intcreg.Base + intcreg.Mask, intcreg.All},
		{cpreg.Base + cpreg.RingLo, uint32(h.Base + at)},
		{cpreg.Base + cpreg.RingHi, 1 << 31},
		{cpreg.Base + cpreg.RingSize, 12},
		{cpreg.Base + cpreg.Ctl, cpreg.CtlRun},
		{cpreg.Base + cpreg.Wptr, uint32(len(b) / 4)},
	} {
		if err := link.Write(0, uint64(w[0]), binary.LittleEndian.AppendUint32(nil, w[1])); err != nil {
			return nil, err
		}
	}
	return binary.LittleEndian.AppendUint64(nil, id), nil
}
