package uart

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// speak clocks a UART that sends data, with pauses if r is not nil. It returns the level in
// each clock from the first one of the first start bit, and the clocks of Ready.
func speak(t *testing.T, m *Module, data []byte, period uint32, r *rand.Rand) (levels []bool, taken []int) {
	began := false
	for idle, clock := 0, 0; len(data) > 0 || idle < int(period); clock++ {
		tx := len(data) > 0 && (r == nil || r.IntN(40) == 0)
		ready := m.Ready()
		require.Equal(t, ready, m.Ready())
		b := uint8(0x5a)
		if tx {
			b = data[0]
		}
		m.Tick(true, period, tx, b)
		if tx && ready {
			data, idle = data[1:], 0
			taken = append(taken, clock)
		}
		require.Equal(t, m.Line(), m.Line())
		began = began || !m.Line()
		if began {
			levels = append(levels, m.Line())
		}
		idle++
	}
	require.Empty(t, data)
	return levels, taken
}

// The middles of bits have the levels of the bytes, at exactly the period on average.
func TestTransmit(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for _, period := range []uint32{128, 129, 133, 134, 143, 144, 200, 319, 3472, MaxPeriod} {
		n := 64
		if period > 1000 {
			n = 16
		}
		data := randomBytes(r, n)
		m := settled(period)
		levels, taken := speak(t, &m, data, period, nil)
		for i, b := range data {
			for bit := range 10 {
				want := bit == 9 || bit > 0 && b>>(bit-1)&1 != 0
				from, to := (10*i+bit)*int(period), (10*i+bit+1)*int(period)
				for clock := (from + 31) / 16; clock < to/16-1; clock++ {
					require.Equal(t, want, levels[clock], "%d/16 clocks, byte %d, bit %d, clock %d", period, i, bit, clock)
				}
			}
			require.InDelta(t, float64(i*10)*float64(period)/16, taken[i]-taken[0], 1)
			if i%16 == 0 {
				require.Equal(t, i*10*int(period)/16, taken[i]-taken[0], "exact on average")
			}
		}
	}
}

// With pauses each byte is as it is without.
func TestPauses(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	for _, period := range []uint32{128, 133, 200} {
		data := randomBytes(r, 300)
		m := settled(period)
		levels, _ := speak(t, &m, data, period, r)
		other := settled(period)
		var got []byte
		for _, level := range levels {
			other.Tick(level, period, false, 0)
			if ok, b := other.Received(); ok {
				got = append(got, b)
			}
			framing, _ := other.Errors()
			require.False(t, framing)
		}
		require.Equal(t, data, got)
	}
}

// A byte without a pause before it takes ten bits, even after many others.
func TestReady(t *testing.T) {
	m := New()
	assert.False(t, m.Ready(), "in the first clock")
	m.Tick(true, 128, false, 0)
	assert.True(t, m.Ready())
	assert.True(t, m.Line())
	m.Tick(true, 128, false, 0)
	m.Tick(true, 128, true, 0xff)
	assert.False(t, m.Line(), "the start bit is in the next clock")
	for range 79 {
		assert.False(t, m.Ready())
		m.Tick(true, 128, true, 0)
	}
	assert.True(t, m.Ready())
}

// Both directions have the new period once they were quiet, and none inside a byte.
func TestChange(t *testing.T) {
	m := settled(128)
	length := func(first, rest uint32) int {
		require.True(t, m.Ready())
		m.Tick(true, first, true, 0xff)
		n := 1
		for ; !m.Ready(); n++ {
			m.Tick(true, rest, false, 0)
		}
		return n
	}
	assert.Equal(t, 80, length(128, 320), "the period changes inside the byte")
	assert.Equal(t, 200, length(320, 160))
	assert.Equal(t, 100, length(160, 160))

	m = settled(128)
	var got []byte
	for i, level := range []bool{false, true, false, true, false, true, false, true, false, true, true, true} {
		for range 8 {
			m.Tick(level, []uint32{128, 320}[min(i, 1)], false, 0)
			if ok, b := m.Received(); ok {
				got = append(got, b)
			}
		}
	}
	assert.Equal(t, []byte{0x55}, got)
	var w wave
	w.bytes(rand.New(rand.NewPCG(1, 1)), []byte{1, 2, 3}, 20, 1, 0)
	assert.Equal(t, []byte{1, 2, 3}, listen(&m, &w, 320, 0).data)
}

// A reset in any clock of a byte makes the UART idle, with the line high.
func TestReset(t *testing.T) {
	fresh := New()
	for clocks := range 90 {
		m := settled(128)
		for i := range clocks {
			m.Tick(i < 3, 128, true, 0)
		}
		m.Reset()
		require.Equal(t, fresh, m, "after %d clocks", clocks)
		for i := range 3 {
			m.Tick(true, 128, false, 0)
			require.True(t, m.Line(), "clock %d", i)
		}
		data := []byte{0x12, 0xed}
		levels, _ := speak(t, &m, data, 128, nil)
		var got []byte
		for _, level := range levels {
			m.Tick(level, 128, false, 0)
			if ok, b := m.Received(); ok {
				got = append(got, b)
			}
		}
		require.Equal(t, data, got, "after %d clocks", clocks)
	}
}

func ExampleModule() {
	m := New()
	sent := []byte("ok")
	for range 200 { // 8 1/3 clocks a bit, with the line connected to itself
		ready := m.Ready()
		tx, data := len(sent) > 0, uint8(0)
		if tx {
			data = sent[0]
		}
		m.Tick(m.Line(), 133, tx, data)
		if tx && ready {
			sent = sent[1:]
		}
		if ok, b := m.Received(); ok {
			fmt.Printf("%c\n", b)
		}
	}
	// Output:
	// o
	// k
}
