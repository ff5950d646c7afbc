package colorlighti5

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/eth/mac"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

// start returns the words before the first carrier, for the reset of the queues and the rate.
func (r rate) start() []uint16 { return r.gap(20 + 4_000_000/r.ps) }

// clk is the period of the clock of the board, ps.
const clk = 40_000

// symbolsOf returns the symbols of frames with their preamble, each after pauses of the
// design and with the gap that it makes.
func symbolsOf(frames [][]byte, rnd *rand.Rand) []uint16 {
	var out []uint16
	for _, f := range frames {
		if rnd.IntN(3) == 0 {
			out = append(out, make([]uint16, rnd.IntN(100))...)
		}
		for i, b := range f {
			w := 1<<10 | 1<<9 | uint16(b)
			if i == len(f)-1 {
				w |= 1 << 8
			}
			out = append(out, w)
			if rnd.IntN(8) == 0 {
				out = append(out, 0) // a clock without a symbol
			}
		}
		for range mac.GapBytes {
			out = append(out, 1<<10)
		}
	}
	return out
}

// outgoing returns n frames of the design with preamble.
func outgoing(n int, rnd *rand.Rand) [][]byte {
	var frames [][]byte
	for range n {
		size := mac.MinFrame
		if rnd.IntN(2) == 0 {
			size += rnd.IntN(mac.MaxFrame - mac.MinFrame + 1)
		}
		frames = append(frames, append([]byte{0x55, 0x55, 0x55, 0x55, 0x55, 0x55, 0x55}, frame(size, rnd)...))
	}
	return frames
}

// sent returns the words of a frame at the pins, with the same nibble on both edges below a
// gigabit.
func (r rate) sent(f []byte) []uint16 {
	var words []uint16
	for _, b := range f {
		if r.bytes {
			words = append(words, word(true, false, b, b>>4))
		} else {
			words = append(words, word(true, false, b, b), word(true, false, b>>4, b>>4))
		}
	}
	return words
}

// requireSent compares the frames at the pins, and the gaps between them.
func requireSent(t *testing.T, r rate, frames [][]byte, got result) {
	t.Helper()
	least := len(r.gap(mac.GapBytes))
	require.Len(t, got.tx, len(frames))
	for i, f := range frames {
		require.Equal(t, r.sent(f), got.tx[i], "frame %d", i)
		require.GreaterOrEqual(t, got.idle[i], least, "gap before frame %d", i)
	}
}

// TestBothWays receives and sends frames at each rate, with clocks that are too fast or too
// slow by 0.01 %, the most that Ethernet allows, and others.
func TestBothWays(t *testing.T) {
	tooltest.Need(t, "iverilog", "vvp")
	b := newBench(t, asIs)
	for _, tt := range []struct {
		name   string
		rate   rate
		ps     int // more than the period of the rate
		frames int
	}{
		{"1000 Mbit/s", gigabit, 0, 20},
		{"1000 Mbit/s, a fast PHY", gigabit, -1, 8},
		{"1000 Mbit/s, a slow PHY", gigabit, 1, 8},
		{"100 Mbit/s", fast, 0, 8},
		{"100 Mbit/s, a fast PHY", fast, -4, 6},
		{"10 Mbit/s", slow, 0, 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			rnd := rand.New(rand.NewPCG(1, uint64(tt.rate.ps)))
			words := tt.rate.start()
			var want []arrived
			for i := range tt.frames {
				c := carrier{frame(rnd.IntN(1+700*(i%2)), rnd), -1}
				if i == 1 || rnd.IntN(5) == 0 {
					c.wrong = rnd.IntN(len(c.data))
				}
				preamble := 14 - 2*rnd.IntN(3)
				if !tt.rate.bytes {
					preamble -= rnd.IntN(2)
				}
				words = append(words, tt.rate.words(c, preamble, rnd.IntN(4) == 0, rnd)...)
				words = append(words, tt.rate.gap(mac.GapBytes+rnd.IntN(5*len(c.data)+1))...)
				want = append(want, arrived{append(tt.rate.preambleOf(preamble), c.data...), c.wrong >= 0})
			}
			frames := outgoing(tt.frames, rnd)
			got := b.simulate(t, run{clk: clk, phy: tt.rate.ps + tt.ps, words: words, symbols: symbolsOf(frames, rnd)})
			require.Empty(t, got.broken)
			require.Equal(t, want, got.rx)
			requireSent(t, tt.rate, frames, got)
		})
	}
}

// TestGap: frames that are in the queue leave with a gap of exactly 12 bytes.
func TestGap(t *testing.T) {
	tooltest.Need(t, "iverilog", "vvp")
	rnd := rand.New(rand.NewPCG(2, 1))
	frames := outgoing(4, rnd)
	got := newBench(t, asIs).simulate(t, run{clk: clk, phy: slow.ps, words: slow.start(), symbols: symbolsOf(frames, rnd)})
	requireSent(t, slow, frames, got)
	for _, n := range got.idle[1:] { // the design is ten times as fast
		assert.Equal(t, len(slow.gap(mac.GapBytes)), n)
	}
}

// TestBurst: a burst at the line rate that the queue has room for arrives without a loss.
func TestBurst(t *testing.T) {
	tooltest.Need(t, "iverilog", "vvp")
	b := newBench(t, asIs)
	for _, tt := range []struct {
		name    string
		n, size int
	}{{"three frames of the most bytes", 3, mac.MaxFrame}, {"60 frames of the least bytes", 60, mac.MinFrame}} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			rnd := rand.New(rand.NewPCG(3, 1))
			words := gigabit.start()
			var want []arrived
			for range tt.n {
				c := carrier{frame(tt.size, rnd), -1}
				words = append(words, gigabit.words(c, 14, false, rnd)...)
				words = append(words, gigabit.gap(mac.GapBytes)...)
				want = append(want, arrived{append(gigabit.preambleOf(14), c.data...), false})
			}
			got := b.simulate(t, run{clk: clk, phy: gigabit.ps, words: words})
			require.Empty(t, got.broken)
			require.Equal(t, want, got.rx)
		})
	}
}

// TestOverflow: of a longer burst, frames are received, or have lost bytes and are marked so.
// Those before the queue was full are right, and so are some that begin when half of it is
// free, and one after a pause.
func TestOverflow(t *testing.T) {
	tooltest.Need(t, "iverilog", "vvp")
	b := newBench(t, asIs)
	for _, tt := range []struct {
		name           string
		n, size, right int
		again          int // right ones after lost ones, at least
	}{{"the most bytes", 14, mac.MaxFrame, 3, 1}, {"the least bytes", 240, mac.MinFrame, 60, 20}} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			rnd := rand.New(rand.NewPCG(4, 1))
			words := gigabit.start()
			var all [][]byte
			for i := range tt.n + 1 {
				if i == tt.n {
					words = append(words, gigabit.gap(25_000)...)
				}
				c := carrier{frame(tt.size, rnd), -1}
				words = append(words, gigabit.words(c, 14, false, rnd)...)
				words = append(words, gigabit.gap(mac.GapBytes)...)
				all = append(all, append(gigabit.preambleOf(14), c.data...))
			}
			got := b.simulate(t, run{clk: clk, phy: gigabit.ps, words: words})
			require.Empty(t, got.broken)
			require.Len(t, got.rx, len(all), "an end for each carrier")
			wrong, again := 0, 0
			for i, f := range got.rx {
				if i < tt.right || i == tt.n {
					require.False(t, f.wrong, "frame %d", i)
				}
				if !f.wrong {
					require.Equal(t, all[i], f.data, "frame %d", i)
					if wrong > 0 && i < tt.n {
						again++
					}
					continue
				}
				wrong++
				require.Less(t, len(f.data), len(all[i]))
				if len(f.data) > 0 {
					require.Equal(t, all[i][:len(f.data)], f.data, "frame %d", i)
				}
			}
			assert.Positive(t, wrong)
			assert.GreaterOrEqual(t, again, tt.again)
			t.Logf("%d of %d frames are lost, %d right after that", wrong, len(all), again)
		})
	}
}
