package figures

import (
	"context"
	"errors"
	"fmt"

	"github.com/hilgpu/hilgpu/boards"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/testbench/device/bare"
	"github.com/hilgpu/hilgpu/testbench/device/transfer"
)

// ErrStuck is wrapped by the error of a device that does not finish its work.
var ErrStuck = errors.New("figures: the device does not finish")

// A cycleTarget is a number of clocks, or of bytes per clock, that the device must
// reach.
type cycleTarget struct {
	name    string
	measure func(ctx context.Context) (float64, error)
	unit    string
	bound
}

// large is the length of a long linear move.
const large = 64 << 10

// cycleTargets returns all targets. A copy or fill lasts from the doorbell to the
// message after it. The latency of the link is L clocks in each direction, or 1 if
// a name has no L.
func cycleTargets() []cycleTarget {
	copies := transfer.Options{Board: "emu?latency=1", Size: large}
	one := transfer.Options{Board: "emu?latency=1&vramports=1", Size: large}
	fill := copies
	fill.Fill = true
	const far = "emu?latency=64&tags=16"
	up := transfer.Options{Board: far, Size: large, To: transfer.Host}
	down := transfer.Options{Board: far, Size: large, From: transfer.Host}
	all := []cycleTarget{
		{"copy of 64 KiB, VRAM to VRAM", rate(copies), "bytes/clock", bound{true, 7.6}},
		{"the same, slowest of all alignments", slowest(copies), "bytes/clock", bound{true, 7.0}},
		{"fill of 64 KiB of VRAM", rate(fill), "bytes/clock", bound{true, 7.8}},
		{"copy of 64 KiB, single-port VRAM, slowest of all alignments", slowest(one), "bytes/clock", bound{true, 3.8}},
		{"copy of 64 KiB, host to VRAM, L 64, 16 tags", rate(down), "bytes/clock", bound{true, 0.9 * 8}},
		{"copy of 64 KiB, VRAM to host, L 64, 16 tags", rate(up), "bytes/clock", bound{true, 0.9 * 8}},
		{"copy of 64 KiB through the aperture, L 64, 16 tags, the table in VRAM", apertureRate(0x1000), "bytes/clock", bound{true, 7}},
		{"the same, the table in host memory", apertureRate(apertureTable), "bytes/clock", bound{true, 6}},
		{"NOP, once fetched", each(pkt.NOP{}), "clocks", bound{false, 2}},
		{"copy of 64 bytes, VRAM to VRAM", each(pkt.Copy{Dst: 0x1000, Bytes: 64}), "clocks", bound{false, 20}},
		{"copy of 64 bytes, VRAM to VRAM, misaligned", each(pkt.Copy{Src: 5, Dst: 0x1003, Bytes: 64}), "clocks", bound{false, 20}},
	}
	for _, l := range []float64{1, 16, 64, 256} {
		board := fmt.Sprintf("emu?latency=%g", l)
		all = append(all,
			cycleTarget{fmt.Sprintf("doorbell to MSI-X, a fence, L %g", l), fenceLatency(board, false), "clocks", bound{false, 150 + 4*l}},
			cycleTarget{fmt.Sprintf("doorbell to MSI-X, an indirect buffer and a fence, L %g", l), fenceLatency(board, true), "clocks", bound{false, 200 + 6*l}})
	}
	return all
}

// Progress is called with the number of figures measured.
type Progress func(done, total int)

// Cycles measures the clocks of the device and calls progress unless it is nil. It
// fails with an error of the board or with ErrStuck.
func Cycles(ctx context.Context, progress Progress) ([]Figure, error) {
	var all []Figure
	for i, c := range cycleTargets() {
		if progress != nil {
			progress(i, len(cycleTargets()))
		}
		v, err := c.measure(ctx)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.name, err)
		}
		all = append(all, withTarget(c.name, v, c.unit, c.bound))
	}
	return all, nil
}

// rate measures the bytes per clock of one packet on one node.
func rate(o transfer.Options) func(ctx context.Context) (float64, error) {
	o.Open, o.Count, o.Nodes, o.Seed = boards.Open, 1, 1, 1
	return func(ctx context.Context) (float64, error) {
		r, err := transfer.Run(ctx, o)
		if err != nil {
			return 0, err
		}
		return r.Rate, nil
	}
}

// slowest measures the rate at the worst pair of alignments within a word.
func slowest(o transfer.Options) func(ctx context.Context) (float64, error) {
	return func(ctx context.Context) (float64, error) {
		v, err := rate(o)(ctx)
		for i := 0; i < 64 && err == nil; i++ {
			var w float64
			o.FromAlign, o.ToAlign = i/8, i%8
			w, err = rate(o)(ctx)
			v = min(v, w)
		}
		return v, err
	}
}

// Addresses of the ring, the fence and the indirect buffer.
const (
	cycleRing   = pkt.Host | bare.HostBase
	cycleFence  = pkt.Host | (bare.HostBase + 0x10000)
	cycleBuffer = pkt.Host | (bare.HostBase + 0x11000)
)

// clocks returns the clocks of packets on a board.
func clocks(ctx context.Context, board string, packets ...bare.Packet) (float64, error) {
	return bench{board: board, host: bare.NewHost(0x20000)}.clocks(ctx, packets...)
}

// A bench is a board and what is done before and after its packets, or nil.
type bench struct {
	board   string
	host    *bare.Host
	prepare func(b *bare.Board)
	check   func(b *bare.Board) error
}

// clocks returns the clocks from the doorbell of packets in host memory to the
// message of the fence after them. The node has fetched nothing before the
// doorbell.
func (m bench) clocks(ctx context.Context, packets ...bare.Packet) (took float64, err error) {
	b, err := bare.Open(ctx, m.board, m.host, boards.Open)
	if err != nil {
		return 0, err
	}
	defer func() {
		if cerr := b.Close(); err == nil {
			err = cerr
		}
	}()
	if m.prepare != nil {
		m.prepare(b)
	}
	n := b.Node(0)
	if err := n.Start(cycleRing, 16, 0); err != nil {
		return 0, err
	}
	buffer, err := bare.Encode(pkt.Copy{Dst: 0x1000, Bytes: 64}, pkt.NOP{Skip: 8})
	if err != nil {
		return 0, err
	}
	copy(b.Host.Mem[cycleBuffer-cycleRing:], buffer)
	p, err := bare.Encode(append(packets, pkt.Fence{Addr: cycleFence, ID: 1, IRQ: true})...)
	if err != nil {
		return 0, err
	}
	n.Push(p)
	start := b.Clock.Now()
	n.Doorbell()
	arrived := b.Await(0, func() bool { return len(b.Host.Messages()) > 0 })
	took = float64(b.Clock.Now() - start)
	if !arrived || b.Host.Mem[cycleFence-cycleRing] != 1 {
		return 0, fmt.Errorf("%w: %s", ErrStuck, n.State())
	}
	if m.check != nil {
		return took, m.check(b)
	}
	return took, nil
}

// fenceLatency measures the clocks of a fence, alone or after an indirect buffer
// with a small copy.
func fenceLatency(board string, indirect bool) func(ctx context.Context) (float64, error) {
	return func(ctx context.Context) (float64, error) {
		if indirect {
			return clocks(ctx, board, pkt.Indirect{Addr: cycleBuffer, Dwords: 6 + 9})
		}
		return clocks(ctx, board)
	}
}

// each measures the clocks that one packet adds to a long sequence.
func each(p bare.Packet) func(ctx context.Context) (float64, error) {
	const few, many = 500, 1500
	return func(ctx context.Context) (float64, error) {
		packets := make([]bare.Packet, many)
		for i := range packets {
			packets[i] = p
		}
		const board = "emu?latency=1"
		long, err := clocks(ctx, board, packets...)
		if err != nil {
			return 0, err
		}
		short, err := clocks(ctx, board, packets[:few]...)
		return (long - short) / (many - few), err
	}
}
