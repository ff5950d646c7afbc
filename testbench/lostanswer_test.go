package testbench

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/dxgkrnl"
	"github.com/hilgpu/hilgpu/testbench/compose"
	"github.com/hilgpu/hilgpu/testbench/events/eventstest"
)

// A read that the host never answers, or too late, is a fault of the node that asked, and
// not a time-out of the kernel. The system recovers, and compositions succeed.
func TestRecoverFromLostAnswers(t *testing.T) {
	for _, fault := range []string{"lost-answer", "late-answer"} {
		for after := 0; after <= 24; after += 8 {
			t.Run(fmt.Sprintf("%s after %d", fault, after), func(t *testing.T) {
				s, err := Open(fmt.Sprintf("emu?vram=64KiB&fault=%s&after=%d&count=2", fault, after), HostDrivers(), Options{Record: eventstest.Record(t)})
				require.NoError(t, err)
				faults := 0
				for ; ; faults++ {
					frame, err := compose.Run(s, smallPlan(t, 1))
					if err == nil {
						_, n := compose.Diff(frame, smallPlan(t, 1).Reference())
						require.Zero(t, n)
						break
					}
					var stopped *dxgkrnl.DeviceError
					require.ErrorAs(t, err, &stopped)
					require.Equal(t, dxgkrnl.Fault, stopped.Kind)
					require.NoError(t, s.Recover())
				}
				assert.Positive(t, faults)
				assert.LessOrEqual(t, faults, 2)
				require.NoError(t, s.Close())
			})
		}
	}
}
