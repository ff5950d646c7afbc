package nettlp_test

import (
	"errors"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/bus/datalink"
	"github.com/hilgpu/hilgpu/bus/nettlp"
)

// TestReceiveUntilTagRests: when every tag of a device was used and answered, a read is
// refused, and Receive ends when a tag has rested, though no packet arrives.
func TestReceiveUntilTagRests(t *testing.T) {
	const local, peer, tags = "127.0.18.17", "127.0.18.18", 256
	dev, err := nettlp.OpenDevice(nettlp.Ends{Local: netip.MustParseAddr(local), Peer: netip.MustParseAddr(peer)}, nettlp.DeviceOptions{Window: 0xe0000000, ID: 0x100})
	require.NoError(t, err)
	defer dev.Close()
	_, err = dev.Receive(0)
	require.ErrorIs(t, err, nettlp.ErrSession)
	read := []byte{0, 0, 0, 1, 1, 0, 0, 0xf, 0, 0x10, 0, 0} // MRd32, one dword at 0x100000
	for tag := range tags {
		read[6] = byte(tag)
		require.NoError(t, dev.Send(read))
	}
	require.ErrorIs(t, dev.Send(read), datalink.ErrFull)
	for tag := range tags {
		c := socket(t, peer, local, 0x3000+tag)
		_, err := c.Write([]byte{0, 0, 0, 0, 0, 0, 0x4a, 0, 0, 1, 0, 0, 0, 4, 1, 0, byte(tag), 0, 1, 2, 3, 4})
		require.NoError(t, err)
	}
	completions := 0
	for completions < tags {
		p, err := dev.Receive(time.Minute)
		require.NoError(t, err)
		if p != nil && p[0] == 0x4a {
			completions++
		}
	}
	began := time.Now()
	for errors.Is(dev.Send(read), datalink.ErrFull) {
		p, err := dev.Receive(time.Minute)
		require.NoError(t, err)
		require.Nil(t, p)
	}
	assert.Less(t, time.Since(began), 30*time.Second)
}
