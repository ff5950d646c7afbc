package link

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/boards/pins"
	"github.com/hilgpu/hilgpu/bus/bustest"
)

// turns are round trips of a host in clocks of the board, see newEtherRig: the shortest, that of an
// ordinary host, about 100 us, and the longest that the windows cover.
var turns = []int{pins.Delay + 1, 2500, covered}

// covered is that in clocks, 220 us.
const covered = 5500

// The targets of bulk writes at an MTU of 1500.
const (
	mostIdle     = 0.05
	leastPayload = 0.72
	mostRegister = 300 // clocks
)

// forms are the two ways of datagrams.
var forms = []struct {
	name string
	udp  bool
}{{"raw", false}, {"UDP", true}}

// TestEthernetBulk: bulk writes fill the line of the board and that of the host, also with
// the round trip of an ordinary host, and nothing is sent again.
func TestEthernetBulk(t *testing.T) {
	for _, f := range forms {
		t.Run(f.name, func(t *testing.T) {
			r := newEtherRig(t, 2500, pins.Options{UDP: f.udp})
			for what, got := range map[string]use{"to the board": r.toBoard(64 << 10), "to the host": r.toHost(64 << 10)} {
				require.LessOrEqual(t, got.idle, mostIdle, what)
				require.GreaterOrEqual(t, got.payload, leastPayload, what)
			}
			require.LessOrEqual(t, r.register(), uint64(mostRegister))
			require.Zero(t, r.wire.Stats().Replays)
			require.Zero(t, r.wire.Stats().Duplicates)
		})
	}
}

// BenchmarkEthernet prints what bulk transfers of the Colorlight i5 get of an Ethernet with an
// MTU of 1500, and the clocks of the read of a register, at the byte port of its PHY. The
// figures are counts of clocks, the same in each run.
func BenchmarkEthernet(b *testing.B) {
	for _, f := range forms {
		for _, turn := range turns {
			b.Run(fmt.Sprintf("%s_%d", f.name, turn), func(b *testing.B) {
				for b.Loop() {
					r := newEtherRig(b, turn, pins.Options{UDP: f.udp})
					r.bench(b, fmt.Sprintf("%s, turn %d", f.name, turn))
				}
			})
		}
		b.Run(f.name+"_register", func(b *testing.B) {
			for b.Loop() {
				n := newEtherRig(b, pins.Delay+1, pins.Options{UDP: f.udp}).register()
				bustest.Figure(b, "register read, "+f.name, float64(n), "clocks", n <= mostRegister, fmt.Sprintf("at most %d", mostRegister))
			}
		})
	}
}

// bench prints the figures of bulk transfers.
func (r *etherRig) bench(b *testing.B, where string) {
	const bytes = 256 << 10
	for _, k := range []struct {
		name string
		got  use
	}{{"writes to board", r.toBoard(bytes)}, {"writes to host", r.toHost(bytes)}} {
		what := k.name + ", " + where
		bustest.Figure(b, what, 100*k.got.idle, "% idle", k.got.idle <= mostIdle, fmt.Sprintf("at most %.0f", 100*mostIdle))
		bustest.Figure(b, what, 100*k.got.payload, "% payload", k.got.payload >= leastPayload, fmt.Sprintf("at least %.0f", 100*leastPayload))
	}
	got, trip := r.reads(bytes)
	b.Logf("%-34s %10.3f %-12s %d tags of 128 bytes, round trip %.0f clocks", "device reads, "+where, 100*got.payload, "% payload", r.board.Tags, trip)
}
