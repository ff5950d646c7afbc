package boards

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/boards/regs"
	"github.com/hilgpu/hilgpu/boards/serve"
	"github.com/hilgpu/hilgpu/rtl/abi/pcicfg"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

// TestPinsRate: over a pseudo-terminal the rate of the host's side counts. A host reaches the
// board at its first rate, and at a higher one that both have agreed on, not at another one.
func TestPinsRate(t *testing.T) {
	tooltest.Long(t)
	g, err := OpenGateware("pins:ulx3s-25f")
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "board")
	l, err := serve.Listen("pty:" + path)
	require.NoError(t, err)
	raw, err := serve.Raw(l, g.Bridge, g.Rates())
	require.NoError(t, err)
	require.Equal(t, "serial:"+path+"?baud=115200&maxbaud=3000000", raw.Selector())
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- raw.Serve(ctx, nil) }()
	for _, host := range []struct {
		query string
		rate  uint64
	}{{"baud=115200", 115_200}, {"baud=115200&maxbaud=1000000", 1_000_000}} {
		// The session before may not have ended. Beside other work the simulated board is silent for
		// longer than a host waits otherwise, and needs a second for a hundred bytes, so a host reads
		// one word only.
		require.Eventually(t, func() bool {
			link, _, err := Open("serial:"+path+"?"+host.query+"&timeout=60000&silence=5000", regs.NoMemory{})
			if err != nil {
				return false
			}
			defer link.Close()
			if link.(Rated).BytesPerSecond() != host.rate/10 {
				return false // they did not agree in time on a rate, and are at the first one
			}
			id, err := link.ReadConfig(0)
			return err == nil && id == pcicfg.DeviceID<<16|pcicfg.VendorID
		}, 4*time.Minute, 10*time.Millisecond, host.query)
	}
	_, _, err = Open("serial:"+path+"?baud=2000000&timeout=20000", regs.NoMemory{})
	require.ErrorContains(t, err, "no answer to hello")
	require.ErrorContains(t, err, "that it begins at 2000000 bit/s; baud= sets another rate")
	stop()
	require.ErrorIs(t, <-ended, context.Canceled)
	require.NoError(t, g.Close())
}
