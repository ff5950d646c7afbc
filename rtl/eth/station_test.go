package eth

import (
	"encoding/binary"
	"hash/crc32"
	"net"
	"testing"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/eth/ip"
	"github.com/hilgpu/hilgpu/rtl/eth/mac"
)

// The addresses of the board of the tests.
var board = ip.Params{MAC: [6]byte{2, 0x11, 0x22, 0x33, 0x44, 0x55}, IP: [4]byte{10, 0, 0, 2}, Port: 0x7c21, EtherType: 0x88b5}

// A peer is a host of the tests.
type peer struct {
	mac  net.HardwareAddr
	ip   net.IP
	port layers.UDPPort
}

var (
	alice = peer{net.HardwareAddr{2, 0, 0, 0, 0, 1}, net.IP{10, 0, 0, 1}, 5001}
	bob   = peer{net.HardwareAddr{2, 0, 0, 0, 0, 9}, net.IP{192, 168, 7, 9}, 60001}
)

var broadcast = net.HardwareAddr{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}

// build serialises layers, with their lengths and checksums.
func build(list ...gopacket.SerializableLayer) []byte {
	b := gopacket.NewSerializeBuffer()
	if err := gopacket.SerializeLayers(b, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}, list...); err != nil {
		panic(err)
	}
	return pad(b.Bytes())
}

// pad fills a frame up to its least size before its FCS.
func pad(f []byte) []byte {
	f = append([]byte(nil), f...)
	for len(f) < mac.MinFrame-4 {
		f = append(f, 0)
	}
	return f
}

func (p peer) ethernet(typ layers.EthernetType) *layers.Ethernet {
	return &layers.Ethernet{SrcMAC: p.mac, DstMAC: board.MAC[:], EthernetType: typ}
}

func (p peer) ipv4(proto layers.IPProtocol) *layers.IPv4 {
	return &layers.IPv4{Version: 4, IHL: 5, TTL: 57, Id: 0x1234, Protocol: proto, SrcIP: p.ip, DstIP: board.IP[:]}
}

// udp returns a datagram for the board.
func (p peer) udp(data []byte) []byte {
	n := p.ipv4(layers.IPProtocolUDP)
	u := &layers.UDP{SrcPort: p.port, DstPort: layers.UDPPort(board.Port)}
	u.SetNetworkLayerForChecksum(n)
	return build(p.ethernet(layers.EthernetTypeIPv4), n, u, gopacket.Payload(data))
}

// raw returns a raw frame for the board.
func (p peer) raw(data []byte) []byte {
	f := binary.BigEndian.AppendUint16(nil, uint16(len(data)))
	e := *p.ethernet(layers.EthernetType(board.EtherType))
	return build(&e, gopacket.Payload(append(f, data...)))
}

// echo returns an echo request.
func (p peer) echo(id, seq uint16, data []byte) []byte {
	i := &layers.ICMPv4{TypeCode: layers.CreateICMPv4TypeCode(layers.ICMPv4TypeEchoRequest, 0), Id: id, Seq: seq}
	return build(p.ethernet(layers.EthernetTypeIPv4), p.ipv4(layers.IPProtocolICMPv4), i, gopacket.Payload(data))
}

// arp returns a request for an address, to all stations.
func (p peer) arp(target net.IP) []byte {
	e := p.ethernet(layers.EthernetTypeARP)
	e.DstMAC = broadcast
	return build(e, &layers.ARP{
		AddrType: layers.LinkTypeEthernet, Protocol: layers.EthernetTypeIPv4, HwAddressSize: 6, ProtAddressSize: 4,
		Operation: layers.ARPRequest, SourceHwAddress: p.mac, SourceProtAddress: p.ip, DstHwAddress: make([]byte, 6), DstProtAddress: target,
	})
}

// sealed appends the FCS of a frame.
func sealed(f []byte) []byte {
	return binary.LittleEndian.AppendUint32(append([]byte(nil), f...), crc32.ChecksumIEEE(f))
}

// carrier returns what a PHY receives for the bytes of a frame, with a gap of some clocks.
func carrier(f []byte, gap int) []mac.Byte {
	var all []mac.Byte
	for _, b := range append([]byte{0x55, 0x55, 0x55, 0x55, 0x55, 0x55, 0x55, 0xd5}, f...) {
		all = append(all, mac.Byte{Valid: true, Data: b})
	}
	all = append(all, mac.Byte{Valid: true, End: true})
	return append(all, make([]mac.Byte, gap-1)...)
}

// A datagram is what the link has got.
type datagram struct {
	data []byte
	host bool
}

// A station is a module with a PHY and a link.
type station struct {
	t     *testing.T
	m     *Module
	in    []mac.Byte // to be received
	send  [][]byte   // datagrams of the link
	keep  bool       // strobes of the next clock
	drop  bool
	slow  func() bool // the PHY takes no symbol
	stall func() bool // the link takes no byte
	pause func() bool // the link has no byte

	counter uint8 // selected
	clocks  int
	frames  [][]byte // sent by the board, without preamble, with FCS
	gaps    []int    // idle symbols and clocks without a symbol before each of them
	lost    int      // of these, clocks without a symbol
	idles   []int    // lost, for each frame
	gap     int
	symbol  []byte
	got     []datagram
	now     *datagram
}

func never() bool { return false }

func newStation(t *testing.T) *station {
	return &station{t: t, m: New(board), slow: never, stall: never, pause: never}
}

// clock is one clock.
func (s *station) clock() {
	var rx mac.Byte
	if len(s.in) > 0 {
		rx, s.in = s.in[0], s.in[1:]
	}
	l := Link{Ready: !s.stall(), Keep: s.keep, Release: s.drop, Data: 0x5a}
	s.keep, s.drop = false, false
	if len(s.send) > 0 && !s.pause() {
		l.Valid, l.Data, l.Last = true, s.send[0][0], len(s.send[0]) == 1
	}
	ready := !s.slow()
	valid, symbol := s.m.Symbol()
	d, takes := s.m.Datagram(), s.m.Ready()
	s.m.Tick(rx, ready, l, s.counter)
	s.clocks++
	if l.Valid && takes {
		if s.send[0] = s.send[0][1:]; l.Last {
			s.send = s.send[1:]
		}
	}
	if ready {
		s.line(valid, symbol)
	}
	if d.Valid && l.Ready {
		s.arrives(d)
	}
}

// line follows the symbols.
func (s *station) line(valid bool, b mac.Symbol) {
	if !valid || !b.Enable {
		require.Empty(s.t, s.symbol, "a frame is interrupted")
		require.False(s.t, b.Last && valid)
		s.gap++
		if !valid {
			s.lost++
		}
		return
	}
	if len(s.symbol) == 0 {
		s.gaps, s.idles = append(s.gaps, s.gap), append(s.idles, s.lost)
		s.gap, s.lost = 0, 0
	}
	s.symbol = append(s.symbol, b.Data)
	if b.Last {
		require.Equal(s.t, []byte{0x55, 0x55, 0x55, 0x55, 0x55, 0x55, 0x55, 0xd5}, s.symbol[:8])
		f := s.symbol[8:]
		require.GreaterOrEqual(s.t, len(f), mac.MinFrame)
		require.LessOrEqual(s.t, len(f), mac.MaxFrame)
		require.Equal(s.t, sealed(f[:len(f)-4]), f, "the FCS")
		s.frames, s.symbol = append(s.frames, f[:len(f)-4]), nil
	}
}

// arrives takes a byte of a datagram.
func (s *station) arrives(d Datagram) {
	require.Equal(s.t, s.now == nil, d.First)
	if d.First {
		s.now = &datagram{host: d.Host}
	}
	require.Equal(s.t, s.now.host, d.Host)
	s.now.data = append(s.now.data, d.Data)
	if d.Last {
		s.got, s.now = append(s.got, *s.now), nil
	}
}

// receive queues a frame without its FCS, with a gap of 12 clocks.
func (s *station) receive(f []byte) { s.in = append(s.in, carrier(sealed(f), 12)...) }

// run clocks until everything has been received and sent and nothing happens any more.
func (s *station) run() {
	for quiet := 0; quiet < 200; {
		sent, got := len(s.symbol)+len(s.frames), len(s.got)
		busy := len(s.in) > 0 || len(s.send) > 0 || s.now != nil
		s.clock()
		quiet++
		if busy || len(s.symbol) > 0 || sent != len(s.symbol)+len(s.frames) || got != len(s.got) {
			quiet = 0
		}
		require.Less(s.t, s.clocks, 50_000_000, "no end")
	}
}

// take returns the frames that the board has sent, and forgets them.
func (s *station) take() [][]byte {
	f := s.frames
	s.frames, s.gaps, s.idles = nil, nil, nil
	return f
}

// delivered returns the datagrams that the link has got, and forgets them.
func (s *station) delivered() []datagram {
	d := s.got
	s.got = nil
	return d
}

// counts returns the counters.
func (s *station) counts() [NumCounters]uint32 {
	var all [NumCounters]uint32
	for i := range all {
		s.counter = uint8(i)
		s.clock()
		s.clock()
		valid, n := s.m.Count()
		require.True(s.t, valid)
		all[i] = n
	}
	return all
}
