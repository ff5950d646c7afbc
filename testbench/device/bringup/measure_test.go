package bringup

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hilgpu/hilgpu/boards/linkstat"
)

// measured returns a measure of sessions of the host and of the board, frames that both count,
// and bytes with a low stop bit.
func measured(host uint64, board, received, framing uint32, sent uint64) measure {
	return measure{
		board: &linkstat.State{Counters: linkstat.Counters{Sessions: board, Received: received}, UART: &linkstat.UART{Framing: framing}},
		host:  map[string]uint64{"sessions": host},

		received: uint16(received), sent: [2]uint64{sent, sent + 1},
	}
}

// Counters of the board are modulo 2^16, and begin again at a reset: the board then has begun
// fewer sessions than the host.
func TestBetween(t *testing.T) {
	for _, tt := range []struct {
		name              string
		from, to          measure
		reset             bool
		sessions          int
		received, framing uint32
		lost              uint64
	}{
		{"nothing", measured(1, 1, 7, 2, 5), measured(1, 1, 7, 2, 5), false, 0, 0, 0, 0},
		{"work", measured(1, 1, 7, 2, 5), measured(1, 1, 17, 3, 19), false, 0, 10, 1, 3},
		{"wraps", measured(1, 1, 65_530, 65_535, 5), measured(1, 1, 4, 0, 15), false, 0, 10, 1, 0},
		{"another session", measured(1, 3, 7, 0, 5), measured(2, 4, 9, 0, 7), false, 1, 2, 0, 0},
		{"a board that others had too", measured(1, 3, 7, 0, 5), measured(1, 9, 9, 0, 7), false, 0, 2, 0, 0},
		{"sessions wrap", measured(1, 65_535, 7, 0, 5), measured(2, 0, 9, 0, 7), false, 1, 2, 0, 0},
		{"a reset", measured(1, 1, 7, 9, 5), measured(2, 1, 4, 1, 9), true, 1, 4, 1, 0},
		{"a reset after many sessions", measured(9, 9, 700, 9, 5), measured(10, 1, 4, 0, 9), true, 1, 4, 0, 0},
	} {
		c := between(tt.from, tt.to)
		assert.Equal(t, tt.reset, c.reset, tt.name)
		assert.Equal(t, tt.sessions, c.sessions, tt.name)
		assert.Equal(t, tt.received, c.link.Received, tt.name)
		assert.Equal(t, tt.framing, c.uart.Framing, tt.name)
		if !tt.reset {
			assert.Equal(t, tt.lost, c.lost(), tt.name)
		}
	}
}
