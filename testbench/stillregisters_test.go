package testbench

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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
