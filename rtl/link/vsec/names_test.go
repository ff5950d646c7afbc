package vsec

import (
	"math/bits"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hilgpu/hilgpu/rtl/abi/linkreg"
	"github.com/hilgpu/hilgpu/rtl/eth"
	"github.com/hilgpu/hilgpu/rtl/link/linkport"
)

// The names of the causes and of the counters are those of the RTL.
func TestNames(t *testing.T) {
	assert.Equal(t, []string{"NONE", "CLOSED", "REPLAY", "DEAD", "PROTOCOL", "NEW_SESSION"}, linkreg.Causes)
	for cause, name := range map[linkport.Cause]string{
		linkport.NoCause: "NONE", linkport.Closed: "CLOSED", linkport.Replay: "REPLAY",
		linkport.Dead: "DEAD", linkport.Protocol: "PROTOCOL", linkport.NewSession: "NEW_SESSION",
	} {
		assert.Equal(t, name, linkreg.Causes[cause])
	}
	assert.Less(t, len(linkreg.Causes), 1<<bits.OnesCount32(linkreg.StateCause))
	assert.Equal(t, int(linkreg.NumMAC), int(eth.NumCounters))
	names := map[uint32]string{}
	for _, r := range linkreg.Block.Regs {
		names[r.Off] = r.Name
	}
	for i, name := range map[int]string{
		eth.Runts: "RUNTS", eth.Oversized: "OVERSIZED", eth.Bad: "BAD", eth.Filtered: "FILTERED",
		eth.Good: "GOOD", eth.NoRoom: "NO_ROOM", eth.Ignored: "IGNORED", eth.Invalid: "INVALID",
	} {
		assert.Equal(t, name, names[uint32(linkreg.MAC+4*i)])
	}
	for i, name := range map[int]string{
		linkreg.Sessions: "SESSIONS", linkreg.Received: "RECEIVED", linkreg.Refused: "REFUSED",
		linkreg.Repeated: "REPEATED", linkreg.Naks: "NAKS", linkreg.Packets: "PACKETS",
	} {
		assert.Equal(t, name, names[uint32(linkreg.Counters+4*i)])
	}
	for i, name := range map[int]string{linkreg.Framing: "FRAMING", linkreg.Glitches: "GLITCHES", linkreg.Breaks: "BREAKS"} {
		assert.Equal(t, name, names[uint32(linkreg.UART+4*i)])
	}
}
