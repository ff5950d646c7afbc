package testbench

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/testbench/eventlog"
)

// Each executed packet has as its cause the packet at its address, of its ring or of its submission, with the same header. What a fence writes
// and its message then lead to the doorbell.
func TestExecutedPacketsHaveCauses(t *testing.T) {
	for _, board := range []string{"emu", "emu?vram=16KiB", "emu?fault=lost-doorbell&count=1"} {
		log, err := usualLog(t, board)
		require.NoError(t, err)
		all := eventsOf(t, log)
		buffers := map[uint64]eventlog.Event{} // submissions
		executed, ring := 0, 0
		for _, e := range all {
			switch e.Kind {
			case eventlog.Queue:
				buffers[e.Fields[0]] = e
			case eventlog.Executed:
				executed++
				require.NotZero(t, e.Cause, "event %d on %s", e.ID, board)
				of := all[e.Cause-1]
				at := of.Fields[1]
				if of.Kind == eventlog.RingPacket {
					ring++
					assert.Equal(t, e.Fields[0], of.Fields[0])
				} else {
					require.Equal(t, eventlog.Packet, of.Kind)
					at += pkt.Host | buffers[of.Fields[0]].Fields[4]
				}
				assert.Equal(t, e.Fields[1], at, "event %d", e.ID)
				assert.EqualValues(t, e.Fields[2], binary.LittleEndian.Uint32(of.Data), "event %d", e.ID)
			default:
			}
		}
		assert.Positive(t, ring)
		assert.Greater(t, executed, ring)
	}
}
