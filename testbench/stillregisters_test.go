package testbench

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/testbench/eventlog"
	"github.com/hilgpu/hilgpu/testbench/why"
)

// A reset of a node changes its registers, and the driver sets them anew. The value of WPTR that shows
// that a doorbell was lost is the last one before the reset: that of the doorbell before.
func TestRegistersBeforeAReset(t *testing.T) {
	for _, tt := range []struct {
		board    string
		tdrDelay uint64 // clocks
		says     string
	}{
		{"emu?fault=lost-doorbell&after=3", 2_000_000, "the doorbell CP0.WPTR = 0x12 at clock [0-9]+ was lost: a read at clock [0-9]+ returned 0x9$"},
		{"line?baud=3000000&fault=lost-doorbell&after=3", 200_000_000, "the doorbell CP0.WPTR = 0xc at clock [0-9]+ was lost: a read at clock [0-9]+ returned 0x9$"},
		{"line?baud=3000000&fault=lost-doorbell&after=2", 200_000_000, `^node 0 runs the ring of submission 2 again: at clock [0-9]+ it executes the packet at IB\+0x[0-9a-f]+, and submission 5 continues at IB\+0x[0-9a-f]+; CP0.WPTR = 0x0 at clock [0-9]+ was lost$`},
		{"line?baud=3000000&fault=lost-doorbell&after=4", 200_000_000, "the doorbell CP0.WPTR = 0x15 at clock [0-9]+ was lost: a read at clock [0-9]+ returned 0x12$"},
	} {
		p := planted{board: tt.board}
		log, err := plantedIn(t, p, Options{TdrDelay: tt.tdrDelay}, func(d Drivers) Drivers { return d })
		require.Error(t, err, tt.board)
		a := runIn(t, bytes.NewReader(log)).Fault()
		assert.Equal(t, why.MissingDoorbell, a.Missing, "%s: %s", tt.board, a.Text())
		assert.Regexp(t, tt.says, a.Cause, tt.board)
	}
}

// A link has another clock than the GPU. An answer about a clock says which cycle of the GPU it is: that of a packet has both.
func TestCycleOfAClock(t *testing.T) {
	for board, says := range map[string]string{"line?baud=3000000": "is cycle", "line?baud=3000000&hz=12000000": "is about cycle"} {
		log, err := plantedIn(t, planted{board: board}, Options{}, func(d Drivers) Drivers { return d })
		require.NoError(t, err)
		l, err := eventlog.NewReader(bytes.NewReader(log))
		require.NoError(t, err)
		var e eventlog.Event
		for e.Kind != eventlog.Executed {
			require.NoError(t, l.Next(&e))
		}
		a, err := runIn(t, bytes.NewReader(log)).Cycle(e.Time)
		require.NoError(t, err)
		assert.Contains(t, a.Text(), fmt.Sprintf("clock %d of the log %s %d of the GPU", e.Time, says, e.Fields[3]))
	}
}
