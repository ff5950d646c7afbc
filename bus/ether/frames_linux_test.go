package ether

import (
	"net"
	"testing"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestComplete: a checksum that has only the sum of the pseudo header becomes that of
// gopacket. Any other one, and any other frame, stays.
func TestComplete(t *testing.T) {
	for n := range 60 {
		head := &layers.IPv4{Version: 4, IHL: 5, TTL: 1, Protocol: layers.IPProtocolUDP, SrcIP: net.IP{10, 0, 0, 1}, DstIP: net.IP{192, 168, 255, byte(n)}}
		datagram := &layers.UDP{SrcPort: 40000, DstPort: 4000}
		require.NoError(t, datagram.SetNetworkLayerForChecksum(head))
		data := make(gopacket.Payload, n)
		for i := range data {
			data[i] = byte(37*i + n)
		}
		b := gopacket.NewSerializeBuffer()
		require.NoError(t, gopacket.SerializeLayers(b, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true},
			&layers.Ethernet{SrcMAC: make(net.HardwareAddr, 6), DstMAC: make(net.HardwareAddr, 6), EthernetType: layers.EthernetTypeIPv4}, head, datagram, data))
		want := append([]byte(nil), b.Bytes()...)

		f := append([]byte(nil), want...)
		complete(f)
		assert.Equal(t, want, f, "it is complete")
		partial := 10<<8 + 0 + 0<<8 + 1 + 192<<8 + 168 + 255<<8 + n + 17 + 8 + n
		partial = partial&0xffff + partial>>16
		f[40], f[41] = byte(partial>>8), byte(partial)
		other := append([]byte(nil), f...)
		other[23] = 6
		complete(f)
		assert.Equal(t, want, f)
		kept := append([]byte(nil), other...)
		complete(other)
		assert.Equal(t, kept, other, "no UDP")
	}
	for n := range 60 {
		complete(make([]byte, n)) // too short for anything
	}
}
