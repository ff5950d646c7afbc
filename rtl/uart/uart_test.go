package uart

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A wave is a line in continuous time: it is high, and each edge inverts it. Times are in
// clocks.
type wave struct {
	edges []float64
	end   float64
	low   bool
}

// level appends a level that lasts for the given time. jitter is how late its first edge is.
func (w *wave) level(high bool, time, jitter float64) {
	if high == w.low {
		w.edges = append(w.edges, w.end+jitter)
		w.low = !high
	}
	w.end += time
}

// bytes appends bytes, each with a stop bit of stop bits. Edges are up to jitter late.
func (w *wave) bytes(r *rand.Rand, data []byte, bit, stop, jitter float64) {
	for _, b := range data {
		for i := range 9 {
			w.level(i > 0 && b>>(i-1)&1 != 0, bit, jitter*r.Float64())
		}
		w.level(true, stop*bit, jitter*r.Float64())
	}
}

// A record has what a receiver has reported.
type record struct {
	data            []byte
	at              []int // clocks of the bytes
	framing, broken int
}

// listen clocks a UART with a wave, and for some clocks after its end.
func listen(m *Module, w *wave, period uint32, phase float64) record {
	var r record
	level, next := true, 0
	for clock := range int(w.end) + 12*int(period)/16 {
		for next < len(w.edges) && w.edges[next] < float64(clock)+phase {
			level = !level
			next++
		}
		m.Tick(level, period, false, 0)
		if ok, b := m.Received(); ok {
			r.data, r.at = append(r.data, b), append(r.at, clock)
		}
		framing, broke := m.Errors()
		if framing {
			r.framing++
		}
		if broke {
			r.broken++
		}
	}
	return r
}

func randomBytes(r *rand.Rand, n int) []byte {
	out := make([]byte, n)
	for i := range out {
		out[i] = uint8(r.Uint32())
		switch r.IntN(8) {
		case 0:
			out[i] = 0
		case 1:
			out[i] = 0xff
		}
	}
	return out
}

// settled returns a UART that has seen an idle line and has the period.
func settled(period uint32) Module {
	m := New()
	for range 8 {
		m.Tick(true, period, false, 0)
	}
	return m
}

// Bytes back to back arrive at all periods, rates and phases, with late edges.
func TestReceive(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for period := uint32(MinPeriod); period <= 20*16; period++ {
		for rate := -4; rate <= 4; rate += 2 {
			bit := float64(period) / 16 * (1 + float64(rate)/200)
			data := randomBytes(r, 25)
			var w wave
			w.level(true, 3, 0)
			w.bytes(r, data, bit, 1, 1)
			m := settled(period)
			got := listen(&m, &w, period, r.Float64())
			require.Equal(t, data, got.data, "%d/16 clocks, rate %+.1f %%", period, float64(rate)/2)
			require.Zero(t, got.framing)
		}
	}
}

// At 25 MHz and 3 Mbaud, and at rates of slow lines.
func TestRates(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, tt := range []struct {
		name   string
		clocks float64
		bytes  int
	}{
		{"3 Mbaud at 25 MHz", 25.0 / 3, 400},
		{"1 Mbaud at 12 MHz", 12, 400},
		{"115200 baud at 25 MHz", 25e6 / 115200, 40},
		{"the longest period", MaxPeriod / 16.0, 4},
	} {
		period := uint32(tt.clocks*16 + .5)
		data := randomBytes(r, tt.bytes)
		var w wave
		w.bytes(r, data, tt.clocks, 1, 1)
		m := settled(period)
		assert.Equal(t, data, listen(&m, &w, period, 0).data, tt.name)
	}
}

// A byte ends in the middle of its stop bit: the next start bit may come from there on.
func TestShortStop(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for period := uint32(MinPeriod); period <= 400; period++ {
		data := randomBytes(r, 40)
		var w wave
		w.bytes(r, data, float64(period)/16, .5+24/float64(period), 0)
		m := settled(period)
		got := listen(&m, &w, period, r.Float64())
		require.Equal(t, data, got.data, "%d/16 clocks", period)
		require.Zero(t, got.framing)
	}
}

// A byte is received this long after the middle of its stop bit.
func TestLatency(t *testing.T) {
	for period := uint32(MinPeriod); period <= 400; period++ {
		bit := float64(period) / 16
		var w wave
		w.bytes(rand.New(rand.NewPCG(1, 1)), []byte{0x5a}, bit, 1, 0)
		m := settled(period)
		got := listen(&m, &w, period, 0)
		require.Len(t, got.at, 1)
		late := float64(got.at[0]) - 9.5*bit
		require.InDelta(t, 3, late, 1.5, "%d/16 clocks", period)
	}
}

// A start bit that is shorter than half a bit begins no byte, and one that is longer does.
func TestGlitch(t *testing.T) {
	for period := uint32(MinPeriod); period <= 400; period++ {
		bit := float64(period) / 16
		for _, tt := range []struct {
			low  float64
			want []byte
		}{
			{1, []byte{0x35}}, {bit/2 - 1, []byte{0x35}}, {bit/2 + 2, []byte{0xff, 0x35}},
		} {
			for phase := range 4 {
				var w wave
				w.level(false, tt.low, 0)
				w.level(true, 10*bit, 0)
				w.bytes(rand.New(rand.NewPCG(1, 1)), []byte{0x35}, bit, 1, 0)
				m := settled(period)
				got := listen(&m, &w, period, float64(phase)/4)
				require.Equal(t, tt.want, got.data, "%d/16 clocks, low for %.2f", period, tt.low)
				require.Zero(t, got.framing)
			}
		}
	}
}

// One wrong sample in the middle of any bit changes nothing.
func TestMajority(t *testing.T) {
	const period = 160
	for bit := range 10 {
		for offset := range 10 {
			var w wave
			w.bytes(rand.New(rand.NewPCG(1, 1)), []byte{0x96}, 10, 1, 0)
			bad := 10*bit + offset
			m := settled(period)
			level, next := true, 0
			var got []byte
			for clock := range 140 {
				for next < len(w.edges) && w.edges[next] <= float64(clock) {
					level = !level
					next++
				}
				m.Tick(level != (clock == bad && offset > 1 && offset < 8), period, false, 0)
				if ok, b := m.Received(); ok {
					got = append(got, b)
				}
			}
			require.Equal(t, []byte{0x96}, got, "bit %d, clock %d", bit, offset)
		}
	}
}

// A low stop bit is an error. If all bits are low it is a break, which is one error for as
// long as it lasts. The byte after either is received.
func TestErrors(t *testing.T) {
	for _, tt := range []struct {
		name            string
		levels          func(w *wave, bit float64)
		framing, broken int
		data            []byte
	}{
		{"low stop bit", func(w *wave, bit float64) { w.level(false, bit, 0); w.level(true, bit, 0); w.level(false, 8*bit, 0) }, 1, 0, nil},
		{"low stop bit, and longer", func(w *wave, bit float64) { w.level(false, 8*bit, 0); w.level(true, bit, 0); w.level(false, 40*bit, 0) }, 1, 0, nil},
		{"a zero", func(w *wave, bit float64) { w.level(false, 9*bit, 0) }, 0, 0, []byte{0}},
		{"a short break", func(w *wave, bit float64) { w.level(false, 10*bit, 0) }, 1, 1, nil},
		{"a long break", func(w *wave, bit float64) { w.level(false, 95*bit, 0) }, 1, 1, nil},
		{"a break after a byte", func(w *wave, bit float64) {
			w.bytes(rand.New(rand.NewPCG(1, 1)), []byte{0xff}, bit, 1, 0)
			w.level(false, 11*bit, 0)
		}, 1, 1, []byte{0xff}},
		{"two breaks", func(w *wave, bit float64) {
			w.level(false, 13*bit, 0)
			w.level(true, bit, 0)
			w.level(false, 25*bit, 0)
		}, 2, 2, nil},
	} {
		for _, period := range []uint32{MinPeriod, 133, 200, 4000} {
			bit := float64(period) / 16
			var w wave
			tt.levels(&w, bit)
			w.level(true, 2*bit, 0)
			w.bytes(rand.New(rand.NewPCG(1, 1)), []byte{0xa5, 0}, bit, 1, 0)
			m := settled(period)
			got := listen(&m, &w, period, .3)
			assert.Equal(t, append(tt.data, 0xa5, 0), got.data, "%s, %d/16 clocks", tt.name, period)
			assert.Equal(t, tt.framing, got.framing, tt.name)
			assert.Equal(t, tt.broken, got.broken, tt.name)
		}
	}
}
