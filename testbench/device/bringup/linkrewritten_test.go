package bringup

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hilgpu/hilgpu/boards/linkstat"
)

// atEthernet returns the change of a board on Ethernet.
func atEthernet(sent uint64, received, good uint32, damaged uint64) change {
	from := measure{board: &linkstat.State{MAC: &linkstat.MAC{}}, host: map[string]uint64{"sessions": 1}}
	to := measure{
		board:    &linkstat.State{Counters: linkstat.Counters{Received: received}, MAC: &linkstat.MAC{Good: good}},
		host:     map[string]uint64{"sessions": 1, "frames_sent": sent, "frames_damaged": damaged},
		received: uint16(received), sent: [2]uint64{sent, sent},
	}
	return between(from, to)
}

// Captures of link.errors at pins:colorlight-i5?faults=..., with the fault that was injected.
func TestRewrittenFrames(t *testing.T) {
	const lost = "a cable that was out, or a switch, an adapter or a host that drops frames"
	for _, tt := range []struct {
		name        string
		short, long change
		likely      []string
	}{
		{"none", atEthernet(415, 415, 415, 0), atEthernet(1700, 1700, 300, 0), nil},
		{"flip=0.05,seed=5", atEthernet(464, 440, 466, 20), atEthernet(1829, 1740, 428, 22), []string{rewriter}},
		{"to the board only", atEthernet(464, 440, 466, 0), atEthernet(1829, 1740, 428, 0), []string{rewriter}},
		{"loss=0.05,seed=5", atEthernet(468, 443, 443, 0), atEthernet(1808, 1727, 399, 0), []string{lost}},
		{"both", atEthernet(500, 446, 471, 42), atEthernet(1900, 1740, 400, 0), []string{rewriter, "also " + lost}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var f finding
			lineFaults(&f, tt.short, tt.long)
			assert.Equal(t, tt.likely, f.likely, "%v", f.details)
		})
	}
}
