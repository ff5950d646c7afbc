package colorlighti5

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/eth/mac"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

// TestReset: the button is pressed in a frame of each direction. The PHY has no clock while it
// is in reset. The reset drops the words of the queues and the rest of the received frame. All
// later frames arrive.
func TestReset(t *testing.T) {
	tooltest.Need(t, "iverilog", "vvp")
	b := newBench(t, asIs)
	for _, r := range []rate{gigabit, fast} {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			rnd := rand.New(rand.NewPCG(5, 1))
			words := r.start()
			press := 0
			var want []arrived
			for i, size := range []int{100, 1500, 64, 300} {
				c := carrier{frame(size, rnd), -1}
				words = append(words, r.words(c, 14, false, rnd)...)
				if i == 1 {
					press = len(words) - 1000
				} else {
					want = append(want, arrived{append(r.preambleOf(14), c.data...), false})
				}
				words = append(words, r.gap(5*len(c.data))...)
			}
			frames := outgoing(8, rnd)
			symbols := slices.Concat(symbolsOf(frames[:5], rnd), make([]uint16, 4000), symbolsOf(frames[5:], rnd))
			got := b.simulate(t, run{clk: clk, phy: r.ps, words: words, symbols: symbols, press: press})
			require.Equal(t, want, got.rx)
			require.Empty(t, got.broken)
			require.Len(t, got.resets, 2)

			// Of the frames that have begun before, the last one at the pins may be cut.
			begun, inside := 0, false
			for _, w := range symbols[:got.resets[1]] {
				if enable := w>>9&1 == 1; enable && !inside {
					begun++
					inside = true
				}
				inside = inside && w>>8&1 == 0
			}
			require.Positive(t, begun)
			require.Less(t, begun, len(frames))
			after := len(frames) - begun
			require.GreaterOrEqual(t, len(got.tx), after)
			for i, f := range frames[begun:] {
				require.Equal(t, r.sent(f), got.tx[len(got.tx)-after+i], "frame %d", begun+i)
			}
			first := got.tx[:len(got.tx)-after]
			require.LessOrEqual(t, len(first), begun)
			for i, f := range first {
				whole := r.sent(frames[i])
				if i < len(first)-1 {
					require.Equal(t, whole, f)
					continue
				}
				require.LessOrEqual(t, len(f), len(whole))
				require.Equal(t, whole[:len(f)], f)
				if r == fast {
					assert.Less(t, len(f), len(whole), "none was cut")
				}
			}
			t.Logf("%d frames had begun, %d were at the pins", begun, len(first))
		})
	}
}

// TestRates: the link changes its rate, with a frame in each direction before and after it.
func TestRates(t *testing.T) {
	tooltest.Need(t, "iverilog", "vvp")
	b := newBench(t, asIs)
	for _, tt := range []struct{ from, to rate }{{gigabit, fast}, {fast, gigabit}, {gigabit, slow}} {
		t.Run(tt.from.name+" to "+tt.to.name, func(t *testing.T) {
			t.Parallel()
			rnd := rand.New(rand.NewPCG(6, 1))
			frames := outgoing(2, rnd)
			var words []uint16
			var want []arrived
			at := 0
			for _, r := range []rate{tt.from, tt.to} {
				words = append(words, r.start()...)
				c := carrier{frame(80, rnd), -1}
				words = append(words, r.words(c, 14, false, rnd)...)
				words = append(words, r.gap(1600)...)
				want = append(want, arrived{append(r.preambleOf(14), c.data...), false})
				if at == 0 {
					at = len(words)
					words[at-1] |= 1 << 10
				}
			}
			pause := at*tt.from.ps/clk + 3*len(tt.to.start())*tt.to.ps/clk
			symbols := slices.Concat(symbolsOf(frames[:1], rnd), make([]uint16, pause), symbolsOf(frames[1:], rnd))
			got := b.simulate(t, run{clk: clk, phy: tt.from.ps, next: tt.to.ps, words: words, symbols: symbols})
			require.Empty(t, got.broken)
			require.Equal(t, want, got.rx)
			require.Len(t, got.tx, 2)
			assert.Equal(t, tt.from.sent(frames[0]), got.tx[0])
			assert.Equal(t, tt.to.sent(frames[1]), got.tx[1])
			assert.GreaterOrEqual(t, got.idle[1], mac.GapBytes)
		})
	}
}
