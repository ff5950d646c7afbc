package serve_test

import (
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/boards/serve"
	"github.com/hilgpu/hilgpu/bus/bustest"
	"github.com/hilgpu/hilgpu/bus/channel"
	"github.com/hilgpu/hilgpu/bus/datalink"
	"github.com/hilgpu/hilgpu/bus/endpoint"
	"github.com/hilgpu/hilgpu/bus/rootport"
	"github.com/hilgpu/hilgpu/rtl/abi/pcicfg"
)

// TestAgreedPacketSize: a board that could send completions of 256 bytes cuts them to
// the 144 bytes of packet that its host takes. Nothing is dropped.
func TestAgreedPacketSize(t *testing.T) {
	near, far := net.Pipe()
	r := start(t, bustest.NewDevice(bustest.DeviceOptions{}), far, serve.Options{Endpoint: endpoint.Options{MaxPayload: 256}})
	largest := 0
	link, err := rootport.New(func() (rootport.Port, error) {
		return channel.Open(near, channel.Config{Link: datalink.Config{Role: datalink.Host, MaxPacket: 144}})
	}, bustest.NewHost(4096), rootport.Options{
		MaxPayload: 256, MaxReadRequest: 256, Observer: func(_ rootport.Dir, _ time.Duration, packet []byte) { largest = max(largest, len(packet)) },
	})
	require.NoError(t, err)
	defer link.Close()
	for _, w := range [][2]uint32{{pcicfg.BAR2, 0xd0000000}, {pcicfg.BAR3, 0}, {pcicfg.DevCtl, 1 << 5}, {pcicfg.Command, pcicfg.CommandMemory}} {
		require.NoError(t, link.WriteConfig(int(w[0]), w[1]))
	}
	want, got := make([]byte, 512), make([]byte, 512)
	for i := range want {
		want[i] = byte(3*i + 1)
	}
	require.NoError(t, link.Write(2, 0, want))
	require.NoError(t, link.Read(2, 0, got))
	assert.Equal(t, want, got)
	assert.Equal(t, 140, largest, "a completion has a header of 12 bytes, a write at 32 bits too")
	assert.Zero(t, r.board.Stats().Dropped)
}
