package lights_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hilgpu/hilgpu/rtl/link/lights"
)

// The light of the line is on after a byte, and goes out about a tenth of a second later.
func TestBytes(t *testing.T) {
	m := lights.New()
	assert.Zero(t, m.LEDs())
	for range 2 {
		m.Tick(true, false, false, false)
		clocks := 0
		for ; m.LEDs() == 1; clocks++ {
			m.Tick(false, false, false, false)
		}
		assert.Zero(t, m.LEDs())
		assert.Equal(t, 1<<21, clocks)
		for range 3 << 20 { // it stays off
			m.Tick(false, false, false, false)
			if m.LEDs() != 0 {
				t.Fatal("the light is on again")
			}
		}
	}
	for range 3 {
		m.Tick(true, false, false, false)
		for range 1<<21 - 1 {
			m.Tick(false, false, false, false)
		}
		assert.Equal(t, uint8(1), m.LEDs(), "each byte begins the time anew")
	}
}

// The other lights show the session, work, and a fault of the session until its end.
func TestLights(t *testing.T) {
	m := lights.New()
	for _, tt := range []struct {
		up, busy, faulted bool
		want              uint8
	}{
		{false, false, false, 0}, {true, false, false, 2}, {true, true, false, 6}, {true, false, false, 2},
		{true, true, true, 14}, {true, false, false, 10}, {true, true, false, 14}, {false, true, false, 4},
		{false, true, true, 4}, {true, false, false, 2}, {true, false, true, 10},
	} {
		m.Tick(false, tt.up, tt.busy, tt.faulted)
		assert.Equal(t, tt.want, m.LEDs(), "%+v", tt)
	}
	m.Tick(true, true, true, true)
	assert.Equal(t, uint8(15), m.LEDs())
	m.Reset()
	assert.Zero(t, m.LEDs())
}
