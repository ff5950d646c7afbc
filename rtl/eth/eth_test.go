package eth

import (
	"testing"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// decoded returns a layer of a frame, which must decode without an error.
func decoded(t *testing.T, f []byte, typ gopacket.LayerType) gopacket.Layer {
	t.Helper()
	p := gopacket.NewPacket(f, layers.LayerTypeEthernet, gopacket.Default)
	require.Nil(t, p.ErrorLayer(), "%v", p)
	l := p.Layer(typ)
	require.NotNil(t, l, "%v", p)
	return l
}

func bytes(n, seed int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(seed + i*7 + i>>8)
	}
	return b
}

// headers returns those of the board's frames for a host.
func (p peer) headers(proto layers.IPProtocol) (*layers.Ethernet, *layers.IPv4) {
	e := &layers.Ethernet{SrcMAC: board.MAC[:], DstMAC: p.mac, EthernetType: layers.EthernetTypeIPv4}
	return e, &layers.IPv4{Version: 4, IHL: 5, TTL: 64, Flags: layers.IPv4DontFragment, Protocol: proto, SrcIP: board.IP[:], DstIP: p.ip}
}

func (p peer) echoAnswer(id, seq uint16, data []byte) []byte {
	e, n := p.headers(layers.IPProtocolICMPv4)
	i := &layers.ICMPv4{TypeCode: layers.CreateICMPv4TypeCode(layers.ICMPv4TypeEchoReply, 0), Id: id, Seq: seq}
	f := build(e, n, i, gopacket.Payload(data))
	if f[36]|f[37] == 0 {
		f[36], f[37] = 0xff, 0xff // the other 0 of RFC 1071
	}
	return f
}

// udpSent is a datagram of the board. It has no checksum.
func (p peer) udpSent(data []byte) []byte {
	e, n := p.headers(layers.IPProtocolUDP)
	u := &layers.UDP{SrcPort: layers.UDPPort(board.Port), DstPort: p.port}
	u.SetNetworkLayerForChecksum(n)
	f := build(e, n, u, gopacket.Payload(data))
	f[40], f[41] = 0, 0
	return f
}

func (p peer) rawSent(data []byte) []byte {
	e := &layers.Ethernet{SrcMAC: board.MAC[:], DstMAC: p.mac, EthernetType: layers.EthernetType(board.EtherType)}
	return build(e, gopacket.Payload(append([]byte{byte(len(data) >> 8), byte(len(data))}, data...)))
}

func (p peer) arpAnswer() []byte {
	e := &layers.Ethernet{SrcMAC: board.MAC[:], DstMAC: p.mac, EthernetType: layers.EthernetTypeARP}
	return build(e, &layers.ARP{
		AddrType: layers.LinkTypeEthernet, Protocol: layers.EthernetTypeIPv4, HwAddressSize: 6, ProtAddressSize: 4,
		Operation: layers.ARPReply, SourceHwAddress: board.MAC[:], SourceProtAddress: board.IP[:], DstHwAddress: p.mac, DstProtAddress: p.ip,
	})
}

// ARP and ping are answered, and a datagram goes each way.
func TestEndToEnd(t *testing.T) {
	s := newStation(t)
	s.receive(alice.arp(board.IP[:]))
	s.receive(alice.echo(0x4321, 7, bytes(56, 1)))
	s.run()
	require.Equal(t, [][]byte{alice.arpAnswer(), alice.echoAnswer(0x4321, 7, bytes(56, 1))}, s.take())

	s.receive(alice.udp([]byte("hello")))
	s.run()
	require.Equal(t, []datagram{{[]byte("hello"), false}}, s.delivered())
	s.send = [][]byte{[]byte("welcome")}
	s.run()
	sent := s.take()
	require.Equal(t, [][]byte{alice.udpSent([]byte("welcome"))}, sent)
	u := decoded(t, sent[0], layers.LayerTypeUDP).(*layers.UDP)
	assert.Equal(t, alice.port, u.DstPort)

	s.receive(bob.raw([]byte("raw")))
	s.run()
	require.Equal(t, []datagram{{[]byte("raw"), false}}, s.delivered())
	s.send = [][]byte{[]byte("answer")}
	s.run()
	require.Equal(t, [][]byte{bob.rawSent([]byte("answer"))}, s.take())
	assert.Equal(t, [NumCounters]uint32{Good: 4}, s.counts())
}
