package uart

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
)

// heard returns the glitches and the breaks that a UART finds in a wave.
func heard(w *wave, period uint32, phase float64) (glitches, breaks int) {
	m := settled(period)
	level, next := true, 0
	for clock := range int(w.end) + 12*int(period)/16 {
		for next < len(w.edges) && w.edges[next] < float64(clock)+phase {
			level = !level
			next++
		}
		m.Tick(level, period, false, 0)
		glitch, low := m.Noise()
		glitches += number(glitch)
		breaks += number(low)
	}
	return glitches, breaks
}

func number(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Bytes have no noise, at rates that are off by 2 % and with late edges. A level that is
// shorter than half a bit is a glitch, and a line that is low for two bytes a break.
func TestNoise(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 1))
	for _, tt := range []struct {
		name             string
		levels           func(w *wave, bit float64)
		glitches, breaks int
	}{
		{"bytes", func(w *wave, bit float64) { w.bytes(r, randomBytes(r, 40), bit, 1, 0) }, 0, 0},
		{"fast bytes", func(w *wave, bit float64) { w.bytes(r, randomBytes(r, 40), bit*.98, 1, .5) }, 0, 0},
		{"slow bytes", func(w *wave, bit float64) { w.bytes(r, randomBytes(r, 40), bit*1.02, 1, .5) }, 0, 0},
		{"zeros", func(w *wave, bit float64) { w.bytes(r, make([]byte, 20), bit, 1, 0) }, 0, 0},
		{"a bit that is wrong", func(w *wave, bit float64) { w.level(false, bit, 0) }, 0, 0},
		{"a stop bit that is wrong, between two zeros", func(w *wave, bit float64) { w.level(false, 19*bit, 0) }, 0, 0},
		{"a glitch", func(w *wave, bit float64) { w.level(false, .4*bit, 0) }, 1, 0},
		{"three glitches", func(w *wave, bit float64) {
			w.level(false, .25*bit, 0)
			w.level(true, 5*bit, 0)
			w.level(false, 3*bit, 0)
			w.level(true, .4*bit, 0)
			w.level(false, 3*bit, 0)
			w.level(true, 2*bit, 0)
			w.level(false, .4*bit, 0)
		}, 3, 0},
		{"two bytes", func(w *wave, bit float64) { w.level(false, 20*bit, 0) }, 0, 1},
		{"a break", func(w *wave, bit float64) { w.level(false, 200*bit, 0) }, 0, 1},
		{"two breaks", func(w *wave, bit float64) {
			w.level(false, 25*bit, 0)
			w.level(true, bit, 0)
			w.level(false, 40*bit, 0)
		}, 0, 2},
	} {
		for _, period := range []uint32{MinPeriod, 133, 224, 3472, MaxPeriod} {
			bit := float64(period) / 16
			var w wave
			w.level(true, 3*bit, 0)
			tt.levels(&w, bit)
			w.level(true, 30*bit, 0)
			glitches, breaks := heard(&w, period, .3)
			assert.Equal(t, tt.glitches, glitches, "%s, %d/16 clocks", tt.name, period)
			assert.Equal(t, tt.breaks, breaks, "%s, %d/16 clocks", tt.name, period)
		}
	}
}
