package boards

import (
	"encoding/binary"
	"io"
	"net"
	"time"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"

	"github.com/hilgpu/hilgpu/bus/capture"
	"github.com/hilgpu/hilgpu/bus/ether"
)

// A datagramStream is the stream of datagrams of a link.
type datagramStream interface {
	io.ReadWriteCloser
	SetReadDeadline(time.Time) error
}

// A tap is a datagramStream that records its datagrams with their headers.
type tap struct {
	datagramStream
	capture  *capture.Writer
	wire     capture.Wire
	sent     func() []gopacket.SerializableLayer // headers of a datagram to the board
	received func() []gopacket.SerializableLayer
}

func (t *tap) Read(p []byte) (int, error) {
	n, err := t.datagramStream.Read(p)
	if n > 0 {
		t.record(capture.Up, t.received(), p[:n])
	}
	return n, err
}

func (t *tap) Write(p []byte) (int, error) {
	t.record(capture.Down, t.sent(), p)
	return t.datagramStream.Write(p)
}

// record writes a frame. The capture reports its errors at the end.
func (t *tap) record(dir capture.Dir, headers []gopacket.SerializableLayer, datagram []byte) {
	now := time.Now()
	b := gopacket.NewSerializeBuffer()
	opt := gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}
	if err := gopacket.SerializeLayers(b, opt, append(headers, gopacket.Payload(datagram))...); err == nil {
		t.capture.WriteFrame(t.wire, dir, now, b.Bytes())
	}
}

// tapEther records the frames of a raw Ethernet link. Their payload begins with the
// length of the datagram, see package ether.
func tapEther(s datagramStream, c *capture.Writer, host, board ether.MAC) datagramStream {
	if c == nil {
		return s
	}
	header := func(from, to ether.MAC) func() []gopacket.SerializableLayer {
		return func() []gopacket.SerializableLayer {
			return []gopacket.SerializableLayer{&layers.Ethernet{SrcMAC: from[:], DstMAC: to[:], EthernetType: ether.Link}, lengthPrefix{}}
		}
	}
	return &tap{s, c, capture.Ethernet, header(host, board), header(board, host)}
}

// A lengthPrefix is the length of a datagram before it.
type lengthPrefix struct{}

// SerializeTo implements gopacket.SerializableLayer.
func (lengthPrefix) SerializeTo(b gopacket.SerializeBuffer, _ gopacket.SerializeOptions) error {
	n := len(b.Bytes())
	p, err := b.PrependBytes(2)
	if err == nil {
		binary.BigEndian.PutUint16(p, uint16(n))
	}
	return err
}

// LayerType implements gopacket.SerializableLayer.
func (lengthPrefix) LayerType() gopacket.LayerType { return gopacket.LayerTypePayload }

// tapUDP records the packets of a UDP link.
func tapUDP(s datagramStream, c *capture.Writer, host, board net.Addr) datagramStream {
	from, ok := host.(*net.UDPAddr)
	to, also := board.(*net.UDPAddr)
	if c == nil || !ok || !also {
		return s
	}
	header := func(from, to *net.UDPAddr) func() []gopacket.SerializableLayer {
		return func() []gopacket.SerializableLayer { return udpHeaders(from, to) }
	}
	return &tap{s, c, capture.IP, header(from, to), header(to, from)}
}

// udpHeaders are those of a datagram.
func udpHeaders(from, to *net.UDPAddr) []gopacket.SerializableLayer {
	udp := &layers.UDP{SrcPort: layers.UDPPort(from.Port), DstPort: layers.UDPPort(to.Port)}
	if from.IP.To4() == nil {
		ip := &layers.IPv6{Version: 6, HopLimit: 64, NextHeader: layers.IPProtocolUDP, SrcIP: from.IP, DstIP: to.IP}
		udp.SetNetworkLayerForChecksum(ip) // fails for other layers only
		return []gopacket.SerializableLayer{ip, udp}
	}
	ip := &layers.IPv4{Version: 4, TTL: 64, Protocol: layers.IPProtocolUDP, SrcIP: from.IP.To4(), DstIP: to.IP.To4()}
	udp.SetNetworkLayerForChecksum(ip)
	return []gopacket.SerializableLayer{ip, udp}
}
