package testbench_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/boards"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/testbench/bare"
	"github.com/hilgpu/hilgpu/testbench/transfer"
)

// A cycleTarget is a number of clocks, or of bytes a clock, that the device has
// to reach. It is exact: the emulator is the RTL.
type cycleTarget struct {
	name    string
	measure func(t testing.TB) float64
	unit    string
	least   bool // want is the least; otherwise it is the most
	want    float64
}

func (c cycleTarget) holds(v float64) bool { return c.least && v >= c.want || !c.least && v <= c.want }

// wanted is the target as text.
func (c cycleTarget) wanted() string {
	word := "at most"
	if c.least {
		word = "at least"
	}
	return fmt.Sprintf("%s %g", word, c.want)
}

// large is the length of a long linear move.
const large = 64 << 10

// cycleTargets are all of them. A move counts from the doorbell to the message
// behind it, over a link of a clock each way where L is not given.
func cycleTargets() []cycleTarget {
	copies := transfer.Options{Board: "emu?latency=1", Size: large}
	one := transfer.Options{Board: "emu?latency=1&vramports=1", Size: large}
	fill := copies
	fill.Fill = true
	const far = "emu?latency=64&tags=16"
	up := transfer.Options{Board: far, Size: large, To: transfer.Host}
	down := transfer.Options{Board: far, Size: large, From: transfer.Host}
	all := []cycleTarget{
		{"copy of 64 KiB, VRAM to VRAM", rate(copies), "bytes/clock", true, 7.6},
		{"the same, slowest of all alignments", slowest(copies), "bytes/clock", true, 7.0},
		{"fill of 64 KiB of VRAM", rate(fill), "bytes/clock", true, 7.8},
		{"copy of 64 KiB, single-port VRAM, slowest of all alignments", slowest(one), "bytes/clock", true, 3.8},
		{"copy of 64 KiB, host to VRAM, L 64, 16 tags", rate(down), "bytes/clock", true, 0.9 * 8},
		{"copy of 64 KiB, VRAM to host, L 64, 16 tags", rate(up), "bytes/clock", true, 0.9 * 8},
		{"NOP, once fetched", each(pkt.NOP{}), "clocks", false, 2},
		{"copy of 64 bytes, VRAM to VRAM", each(pkt.Copy{Dst: 0x1000, Bytes: 64}), "clocks", false, 40},
		{"copy of 64 bytes, VRAM to VRAM, misaligned", each(pkt.Copy{Src: 5, Dst: 0x1003, Bytes: 64}), "clocks", false, 40},
	}
	for _, l := range []float64{1, 16, 64, 256} {
		board := fmt.Sprintf("emu?latency=%g", l)
		all = append(all,
			cycleTarget{fmt.Sprintf("doorbell to MSI-X, a fence, L %g", l), answer(board, false), "clocks", false, 150 + 4*l},
			cycleTarget{fmt.Sprintf("doorbell to MSI-X, an indirect buffer and a fence, L %g", l), answer(board, true), "clocks", false, 200 + 6*l})
	}
	return all
}

// rate is the bytes a clock of one packet on one node.
func rate(o transfer.Options) func(t testing.TB) float64 {
	o.Open, o.Count, o.Nodes, o.Seed = boards.Open, 1, 1, 1
	return func(t testing.TB) float64 {
		r, err := transfer.Run(context.Background(), o)
		require.NoError(t, err)
		return r.Rate
	}
}

// slowest is the rate at the worst pair of alignments within a word.
func slowest(o transfer.Options) func(t testing.TB) float64 {
	return func(t testing.TB) float64 {
		v := rate(o)(t)
		for i := range 64 {
			o.FromAlign, o.ToAlign = i/8, i%8
			v = min(v, rate(o)(t))
		}
		return v
	}
}

// Where the rings of the measurements are, and what else is in host memory.
const (
	cycleRing   = pkt.Host | bare.HostBase
	cycleFence  = pkt.Host | (bare.HostBase + 0x10000)
	cycleBuffer = pkt.Host | (bare.HostBase + 0x11000)
)

// clocks returns the clocks from the doorbell of packets in host memory to the
// message of the fence behind them. The device wakes from nothing fetched.
func clocks(t testing.TB, board string, packets ...bare.Packet) uint64 {
	b, err := bare.Open(context.Background(), board, bare.NewHost(0x20000), boards.Open)
	require.NoError(t, err)
	n := b.Node(0)
	require.NoError(t, n.Start(cycleRing, 16, 0))
	buffer, err := bare.Encode(pkt.Copy{Dst: 0x1000, Bytes: 64}, pkt.NOP{Skip: 8})
	require.NoError(t, err)
	copy(b.Host.Mem[cycleBuffer-cycleRing:], buffer)
	p, err := bare.Encode(append(packets, pkt.Fence{Addr: cycleFence, ID: 1, IRQ: true})...)
	require.NoError(t, err)
	n.Push(p)
	start := b.Clock.Now()
	n.Doorbell()
	came := b.Await(0, func() bool { return len(b.Host.Messages) > 0 })
	took := b.Clock.Now() - start
	require.True(t, came, n.State())
	require.Equal(t, byte(1), b.Host.Mem[cycleFence-cycleRing])
	require.NoError(t, b.Close())
	return took
}

// answer is the clocks of a fence, alone or behind an indirect buffer with a
// small copy.
func answer(board string, indirect bool) func(t testing.TB) float64 {
	return func(t testing.TB) float64 {
		if indirect {
			return float64(clocks(t, board, pkt.Indirect{Addr: cycleBuffer, Dwords: 6 + 9}))
		}
		return float64(clocks(t, board))
	}
}

// each is what one packet more costs among many.
func each(p bare.Packet) func(t testing.TB) float64 {
	const few, many = 500, 1500
	return func(t testing.TB) float64 {
		packets := make([]bare.Packet, many)
		for i := range packets {
			packets[i] = p
		}
		board := "emu?latency=1"
		return float64(clocks(t, board, packets...)-clocks(t, board, packets[:few]...)) / (many - few)
	}
}

// TestCycleTargets fails where the device is slower than it has to be.
func TestCycleTargets(t *testing.T) {
	for _, c := range cycleTargets() {
		v := c.measure(t)
		assert.True(t, c.holds(v), "%s: %.3f %s, want %s", c.name, v, c.unit, c.wanted())
	}
}

// BenchmarkCycles prints each number with its target.
func BenchmarkCycles(b *testing.B) {
	for _, c := range cycleTargets() {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				v := c.measure(b)
				b.ReportMetric(0, "ns/op")
				b.ReportMetric(v, c.unit)
				target(b, c.name, v, c.unit, c.holds(v), c.wanted())
			}
		})
	}
}
