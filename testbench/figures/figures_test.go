package figures

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestCycleTargets checks that the device reaches its targets.
func TestCycleTargets(t *testing.T) {
	all, err := Cycles(context.Background(), nil)
	require.NoError(t, err)
	assert.Len(t, all, 19)
	for _, f := range all {
		assert.True(t, f.Holds, "%s: %.3f %s, want %s", f.Name, f.Value, f.Unit, f.Want)
	}
}

// A failed measurement is an error.
func TestErrors(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := Cycles(ctx, nil)
	assert.ErrorIs(t, err, context.Canceled)
	_, err = Speeds(ctx, 1, nil)
	assert.ErrorIs(t, err, context.Canceled)
	_, err = clocks(context.Background(), "emu?fault=lost-interrupt")
	assert.ErrorIs(t, err, ErrStuck)
}

// Every load is measured in every mode. The exact properties hold: a clock
// allocates nothing, and idle clocks are skipped.
func TestSpeeds(t *testing.T) {
	all, err := Speeds(context.Background(), 1, nil)
	require.NoError(t, err)
	names := map[string]Figure{}
	for _, f := range all {
		names[f.Name] = f
	}
	for _, l := range Loads {
		for _, w := range Modes {
			assert.Positive(t, names["emulation, "+l.Name+"/"+string(w)].Value, "%s/%s", l.Name, w)
		}
	}
	for _, w := range Modes {
		assert.True(t, names["emulation, busy/"+string(w)+", allocations in a turn"].Holds, w)
	}
	assert.Greater(t, names["emulation, idle/noskip against skip"].Value, 10.0)
}

// A bound holds at its own value, and the table shows it.
func TestText(t *testing.T) {
	for _, tt := range []struct {
		b     bound
		v     float64
		holds bool
	}{
		{bound{true, 7.6}, 7.6, true}, {bound{true, 7.6}, 7.59, false}, {bound{false, 2}, 2, true}, {bound{false, 2}, 2.01, false},
	} {
		assert.Equal(t, tt.holds, withTarget("x", tt.v, "", tt.b).Holds, "%v of %v", tt.v, tt.b)
	}
	var lines [][]string
	for line := range strings.Lines(Text([]Figure{
		withTarget("a fill", 7.9, "bytes/clock", bound{true, 7.8}), withTarget("a NOP", 3, "clocks", bound{false, 2}), withoutTarget("busy", 1.5, "M clocks/s"),
	})) {
		lines = append(lines, strings.Fields(line))
	}
	assert.Equal(t, [][]string{
		strings.Fields("a fill 7.900 bytes/clock target at least 7.8 holds"),
		strings.Fields("a NOP 3.000 clocks target at most 2 MISSED"),
		strings.Fields("busy 1.500 M clocks/s"),
	}, lines)
}

// BenchmarkGPU measures the emulator in clocks per second. times is the time
// relative to the mode skip.
func BenchmarkGPU(b *testing.B) {
	for _, l := range Loads {
		for _, w := range Modes {
			b.Run(l.Name+"/"+string(w), func(b *testing.B) {
				var s Speed
				for b.Loop() {
					var err error
					s, err = Measure(context.Background(), l, w, 9)
					require.NoError(b, err)
				}
				b.ReportMetric(s.Clocks, "cycles/s")
				b.ReportMetric(s.Times, "times")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}
