package relay_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/boards"
	"github.com/hilgpu/hilgpu/boards/serve"
	"github.com/hilgpu/hilgpu/bus/fault"
	"github.com/hilgpu/hilgpu/rtl/abi/regmap"
	"github.com/hilgpu/hilgpu/runtime/dxgkrnl"
	"github.com/hilgpu/hilgpu/testbench"
	"github.com/hilgpu/hilgpu/testbench/compose"
	"github.com/hilgpu/hilgpu/testbench/events/eventstest"
	"github.com/hilgpu/hilgpu/testbench/relay"
)

// serial115200 is the rate of a serial server at 115,200 baud, in bytes per second.
const serial115200 = 11_520

// TestSlowCompose: the driver stack composes over a serial server at 115,200 baud. One
// submission takes longer than two seconds, which is the time-out of the GPU without the
// time of the link. Both ends have the times of their defaults.
func TestSlowCompose(t *testing.T) {
	t.Parallel()
	sources, err := compose.Samples()
	require.NoError(t, err)
	o := compose.Options{Width: 16, Height: 12, Contexts: 1, Seed: 1, Sources: sources[:1]}
	if *framesFlag > 1 {
		o.Width, o.Height, o.Contexts = 32, 24, 2
	}
	plan, err := compose.NewPlan(o)
	require.NoError(t, err)
	want, err := frame("emu?vram=8KiB", plan)
	require.NoError(t, err)
	for _, tt := range []struct {
		name  string
		ticks uint64 // TdrDelay; 0: the default
	}{{"default", 0}, {"two seconds", 2e9}} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dev, err := boards.Device("emu?vram=8KiB")
			require.NoError(t, err)
			l := listener("tcp:127.0.0.1:0")(t)
			serveBoard(t, l, dev, fault.Config{}, serve.Options{Hz: dev.Hz(), MapHash: regmap.Hash()})
			r, err := relay.TCP(l.Selector(), relay.Plan{Rate: serial115200})
			require.NoError(t, err)
			defer r.Close()
			limited(t, "the frame", limit, func() error {
				sys, err := testbench.Open(r.Selector(), testbench.HostDrivers().WithoutNodeRecovery(), testbench.Options{TdrDelay: tt.ticks, Record: eventstest.Record(t)})
				if err != nil {
					return err
				}
				defer sys.Close()
				got, err := compose.Run(sys, plan)
				if tt.ticks == 0 {
					assert.Equal(t, want, got)
					return err
				}
				var stopped *dxgkrnl.DeviceError
				if assert.ErrorAs(t, err, &stopped) {
					assert.Equal(t, dxgkrnl.Timeout, stopped.Kind)
				}
				return nil
			})
		})
	}
}
