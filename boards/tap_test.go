package boards

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"testing"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
	"github.com/google/gopacket/pcapgo"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/boards/serve"
	"github.com/hilgpu/hilgpu/bus/bustest"
	"github.com/hilgpu/hilgpu/bus/capture"
	"github.com/hilgpu/hilgpu/bus/ether"
)

// TestUDPCapture: the capture of a link over UDP has each datagram with its headers,
// as an independent decoder reads them.
func TestUDPCapture(t *testing.T) {
	l, err := serve.ListenUDP("127.0.0.1:0")
	require.NoError(t, err)
	board, err := serve.New(bustest.NewDevice(bustest.DeviceOptions{}), serve.Options{})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		l.Serve(ctx, board) // ends with ctx
	}()
	t.Cleanup(func() { cancel(); <-ended })
	var file bytes.Buffer
	w, err := capture.NewWriter(&file, capture.Options{})
	require.NoError(t, err)
	link, _, err := OpenWith(l.Selector(), bustest.NewHost(4096), Options{Capture: w})
	require.NoError(t, err)
	_, err = link.ReadConfig(0)
	require.NoError(t, err)
	require.NoError(t, link.Close())
	require.NoError(t, w.Close())

	_, port, err := net.SplitHostPort(l.Selector()[len("udp:"):])
	require.NoError(t, err)
	r, err := pcapgo.NewNgReader(&file, pcapgo.NgReaderOptions{WantMixedLinkType: true})
	require.NoError(t, err)
	directions := map[bool]int{}
	for {
		data, info, err := r.ReadPacketData()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		if info.AncillaryData[0] != layers.LinkTypeRaw {
			continue
		}
		p := gopacket.NewPacket(data, layers.LayerTypeIPv4, gopacket.Default)
		require.Nil(t, p.ErrorLayer())
		udp := p.Layer(layers.LayerTypeUDP).(*layers.UDP)
		assert.Equal(t, "127.0.0.1->127.0.0.1", p.NetworkLayer().NetworkFlow().String())
		directions[udp.DstPort.String() == port]++
		require.GreaterOrEqual(t, len(udp.Payload), 2)
		assert.Equal(t, len(data)-28, len(udp.Payload))
	}
	assert.Greater(t, directions[true], 3, "two hellos, a ping and a read")
	assert.Greater(t, directions[false], 2)
}

// TestHeaders: the bytes of an Ethernet and an IPv6 header, by hand from IEEE 802.3 and
// RFC 8200. The checksum of UDP is that of RFC 768 with the pseudo-header of IPv6.
func TestHeaders(t *testing.T) {
	bytesOf := func(headers []gopacket.SerializableLayer, text string) []byte {
		b := gopacket.NewSerializeBuffer()
		opt := gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}
		require.NoError(t, gopacket.SerializeLayers(b, opt, append(headers, gopacket.Payload(text))...))
		return b.Bytes()
	}
	s, ok := tapEther(nil, new(capture.Writer), ether.MAC{2, 0, 0, 0, 0, 1}, ether.MAC{2, 0, 0, 0, 0, 2}).(*tap)
	require.True(t, ok)
	frame := append([]byte("\x02\x00\x00\x00\x00\x02\x02\x00\x00\x00\x00\x01\x88\xb5\x00\x05abcde"), make([]byte, 39)...)
	assert.Equal(t, frame, bytesOf(s.sent(), "abcde"))
	assert.Equal(t, frame[6:12], bytesOf(s.received(), "abcde")[:6], "the other direction")

	got := bytesOf(udpHeaders(&net.UDPAddr{IP: net.ParseIP("::1"), Port: 0x1234}, &net.UDPAddr{IP: net.ParseIP("::1"), Port: 0x5678}), "ab")
	one := "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01"
	// 1 + 1 + 10 + 17 + 0x1234 + 0x5678 + 10 + 0x6162 = 0xca35; its complement is 0x35ca.
	assert.Equal(t, "\x60\x00\x00\x00\x00\x0a\x11\x40"+one+one+"\x12\x34\x56\x78\x00\x0a\x35\xcaab", string(got))
}
