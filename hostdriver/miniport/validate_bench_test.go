package miniport_test

import (
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

// commandOf returns a command of n bytes of equal packets, each with its patches, and with a portion of
// its own if splits is set. Packets of one dword fill the rest.
func commandOf(n int, packet []uint32, fields patches, splits bool) ([]byte, patches) {
	var list patches
	b := make([]byte, 0, n)
	one := words(packet...)
	for len(b)+len(one) <= n {
		off := uint32(len(b))
		for _, p := range fields {
			p.PatchOffset += off
			if splits {
				p.SplitOffset = off
			}
			list = append(list, p)
		}
		b = append(b, one...)
	}
	return padded(b, n), list
}

// renderTime returns the shortest time in which DxgkDdiRender takes a command.
func renderTime(b *testing.B, f *fixture, command []byte, list patches) time.Duration {
	const rounds = 9
	var times []time.Duration
	arg := kmddi.Render{
		AllocationList: f.list, DmaBuffer: make([]byte, len(command)), PatchLocationListOut: make(patches, len(list)),
	}
	for range rounds {
		arg.Command, arg.PatchLocationListIn = &userMemory{b: command}, &userPatches{list: list}
		began := time.Now()
		out, s := f.k.table.Render(f.k.thread, f.ctx, arg)
		times = append(times, time.Since(began))
		require.Equal(b, ddi.StatusSuccess, s)
		require.EqualValues(b, len(command), out.DmaBufferUsed)
	}
	return slices.Min(times)
}

// BenchmarkV22 measures DxgkDdiRender of the longest command, 1 MiB, for the packets that cost most for
// each byte. The time of a byte is that of 64 KiB: the validator is linear.
func BenchmarkV22(b *testing.B) {
	for _, tt := range []struct {
		name   string
		packet []uint32
		fields patches
		splits bool
	}{
		{"packets of one dword", []uint32{0x01000000}, nil, false},
		{"fills", fillOf(8), patches{at(target, 0, 4, 0)}, false},
		{"portions of one fill", fillOf(8), patches{at(target, 0, 4, 0)}, true},
		{"timestamps", stamp(), patches{at(target, 8, 4, 0)}, false},
		{"copies", copyOf(8), patches{at(source, 0, 4, 0), at(target, 0, 12, 0)}, false},
	} {
		b.Run(tt.name, func(b *testing.B) {
			f := newFixture(b)
			short, shortList := commandOf(64<<10, tt.packet, tt.fields, tt.splits)
			long, longList := commandOf(1<<20, tt.packet, tt.fields, tt.splits)
			for b.Loop() {
				few, many := renderTime(b, f, short, shortList), renderTime(b, f, long, longList)
				ratio := many.Seconds() / few.Seconds() / 16
				b.ReportMetric(0, "ns/op")
				b.ReportMetric(float64(many.Microseconds())/1000, "ms/MiB")
				log := b.Logf
				if ratio > 2 && os.Getenv("HILGPU_FIGURES") == "strict" { // as make bench sets it
					log = b.Errorf
				}
				log("a byte of a command of 1 MiB takes %.2f times as long as one of 64 KiB, want at most 2", ratio)
			}
		})
	}
}
