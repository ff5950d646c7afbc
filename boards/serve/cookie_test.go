package serve

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/bus/channel"
	"github.com/hilgpu/hilgpu/bus/datalink"
	"github.com/hilgpu/hilgpu/bus/ether"
)

// An askedSocket keeps the last datagram that the server sends.
type askedSocket struct {
	*fakeSocket
	sent []byte
}

func (a *askedSocket) send(p []byte, _ address) error {
	a.sent = p
	return nil
}

// TestNonceOfAnAddress: the nonce that the board sends to one address begins no session
// from another one, which differs from it in one part only. The board keeps no state of
// the other address, and asks it for another hello.
func TestNonceOfAnAddress(t *testing.T) {
	udp := func(at string) address { return udpAddress{netip.MustParseAddrPort(at)} }
	mac := func(last byte) address { return etherAddress{ether.MAC{2, 0, 0, 0, 0, last}} }
	for _, tt := range []struct {
		name         string
		right, other address
	}{
		{"port", udp("10.0.0.1:4000"), udp("10.0.0.1:4001")},
		{"IPv4 address", udp("10.0.0.1:4000"), udp("10.0.0.2:4000")},
		{"IPv6 address", udp("[fd00::1]:4000"), udp("[fd00::2]:4000")},
		{"zone", udp("[fe80::1%eth0]:4000"), udp("[fe80::1%eth1]:4000")},
		{"MAC address", mac(1), mac(2)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := &askedSocket{fakeSocket: newFakeSocket()}
			u := newDatagramServer(s)
			var entered []address
			u.enter = func(c conn) { entered = append(entered, c.(*datagramPeer).at) }
			host, err := datalink.New(datalink.Config{})
			require.NoError(t, err)
			var out datalink.Output
			host.Open(7, 0, &out)
			u.dispatch(tt.right, channel.AppendDatagram(nil, out.Frames.At(0)))
			asked := welcome(t, s)
			assert.Equal(t, byte(1), asked[3], "flags: another hello")
			out.Reset()
			host.Receive(asked, 0, &out)
			require.Equal(t, 1, out.Frames.Len(), "the hello with the nonce")
			second := channel.AppendDatagram(nil, out.Frames.At(0))

			u.dispatch(tt.other, second)
			answer := welcome(t, s)
			assert.Equal(t, byte(1), answer[3], "flags: another hello")
			assert.NotEqual(t, asked[26:30], answer[26:30], "nonces of two addresses")
			assert.Empty(t, u.peers)
			assert.Empty(t, entered)

			u.dispatch(tt.right, second)
			assert.Equal(t, []address{tt.right}, entered)
			assert.Len(t, u.peers, 1)
		})
	}
}

// welcome returns the Welcome that a server has sent last: two bytes of header, then the
// body, with the flags in its byte 1 and the nonce of the board in bytes 24 to 27.
func welcome(t *testing.T, s *askedSocket) []byte {
	t.Helper()
	f, _, ok := channel.CutDatagram(s.sent)
	require.True(t, ok, "a Welcome: % x", s.sent)
	require.Equal(t, byte(6), f[0]>>4, "a Welcome: % x", f)
	s.sent = nil
	return f
}
