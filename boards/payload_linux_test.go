package boards

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/boards/serve"
	"github.com/hilgpu/hilgpu/bus/ether/ethertest"
)

// TestEthernetPayload: packets over raw Ethernet carry as much as the MTU allows, and
// so do reads. Many of them are in flight.
func TestEthernetPayload(t *testing.T) {
	ethertest.Run(t, func(t *testing.T, n *ethertest.Net) {
		for _, tt := range []struct{ mtu, payload int }{{1500, 1024}, {9000, 4096}} {
			want := packetSizes{write: tt.payload, read: tt.payload, completion: tt.payload, inFlight: 32}
			t.Run(fmt.Sprint(tt.mtu), func(t *testing.T) {
				n.SetMTU(t, tt.mtu)
				var l serve.Listener
				var err error
				n.Board(t, func() { l, err = serve.Listen("eth:" + ethertest.BoardInterface) })
				require.NoError(t, err)
				assert.Equal(t, want, packetsOf(t, l, "eth:"+ethertest.HostInterface+"/"+ethertest.BoardMAC+patient))
			})
		}
	})
}
