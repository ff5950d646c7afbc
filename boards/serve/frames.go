package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"time"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"

	"github.com/hilgpu/hilgpu/bus/ether"
	"github.com/hilgpu/hilgpu/rtl/eth/ip"
)

// ListenFrames opens udp:ADDRESS or, on Linux, eth:IFACE for a board that has an Ethernet and
// the link itself, and the given addresses. At eth the board is a station of the network at
// the interface. At udp it gets each datagram in a frame from the address of its host, so it
// needs no privilege. It fails as Listen does.
func ListenFrames(where string, at ip.Params, b Bridge) (Listener, error) {
	scheme, place, _ := strings.Cut(where, ":")
	if scheme != "udp" && scheme != "eth" {
		return nil, fmt.Errorf("%w: gateware with an Ethernet is served on udp:HOST:PORT or eth:IFACE", ErrOptions)
	}
	if scheme == "eth" {
		if err := check(where, runtime.GOOS, runtime.GOARCH); err != nil {
			return nil, err
		}
		f, err := ether.OpenFrames(place, at.MAC)
		if err != nil {
			return nil, fmt.Errorf("serve: listen at %s: %w", where, err)
		}
		return &frames{port: f, bridge: b, selector: "eth:IFACE/" + ether.MAC(at.MAC).String(), open: true}, nil
	}
	u, err := Listen(where)
	if err != nil {
		return nil, err
	}
	l := u.(*UDP)
	if a := l.conn.LocalAddr().(*net.UDPAddr); a.IP.To4() == nil && !a.IP.IsUnspecified() {
		return nil, errors.Join(fmt.Errorf("%w: gateware has no IPv6: %s", ErrOptions, where), l.Close())
	}
	return &frames{port: &udpFrames{conn: l.conn, board: at}, bridge: b, selector: l.Selector(), open: l.Open()}, nil
}

// A framePort is a network. Read returns a frame.
type framePort interface {
	io.ReadWriteCloser
	SetReadDeadline(t time.Time) error
}

// frames gives the frames of a network to a board.
type frames struct {
	port     framePort
	bridge   Bridge
	selector string
	open     bool
}

func (f *frames) Selector() string { return f.selector }
func (f *frames) Open() bool       { return f.open }
func (f *frames) Close() error     { return f.port.Close() }

// Serve implements Listener. The board is that of the bridge.
func (f *frames) Serve(ctx context.Context, _ *Board) error {
	defer f.port.Close()
	return f.bridge(ctx, shortFrames{f.port})
}

// shortFrames is a network whose Read times out.
type shortFrames struct{ framePort }

func (s shortFrames) Read(p []byte) (int, error) {
	if err := s.SetReadDeadline(time.Now().Add(readWait)); err != nil {
		return 0, err
	}
	return s.framePort.Read(p)
}

// udpFrames is a network on which all hosts are the senders of UDP datagrams.
type udpFrames struct {
	conn  *net.UDPConn
	board ip.Params
}

// hostOf is the MAC address that a host has there.
var hostOf = net.HardwareAddr{0x02, 'h', 'o', 's', 't', 1}

// Read returns the next datagram in a frame to the board. A datagram that no frame carries is
// dropped.
func (u *udpFrames) Read(p []byte) (int, error) {
	for {
		data := make([]byte, 2048)
		n, from, err := u.conn.ReadFromUDP(data)
		if passing(err) {
			continue
		} else if err != nil {
			return 0, err
		}
		source := from.IP.To4()
		if source == nil || n > ip.MaxData {
			continue
		}
		packet := &layers.IPv4{Version: 4, IHL: 5, TTL: 64, Flags: layers.IPv4DontFragment, Protocol: layers.IPProtocolUDP, SrcIP: source, DstIP: u.board.IP[:]}
		datagram := &layers.UDP{SrcPort: layers.UDPPort(from.Port), DstPort: layers.UDPPort(u.board.Port)}
		if err := datagram.SetNetworkLayerForChecksum(packet); err != nil {
			return 0, err
		}
		b := gopacket.NewSerializeBuffer()
		if err := gopacket.SerializeLayers(b, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true},
			&layers.Ethernet{SrcMAC: hostOf, DstMAC: u.board.MAC[:], EthernetType: layers.EthernetTypeIPv4}, packet, datagram, gopacket.Payload(data[:n])); err != nil {
			return 0, err
		}
		return copy(p, b.Bytes()), nil
	}
}

// Write sends the datagram of a frame of the board. A frame without one is dropped.
func (u *udpFrames) Write(p []byte) (int, error) {
	parsed := gopacket.NewPacket(p, layers.LayerTypeEthernet, gopacket.NoCopy)
	packet, _ := parsed.Layer(layers.LayerTypeIPv4).(*layers.IPv4)
	datagram, _ := parsed.Layer(layers.LayerTypeUDP).(*layers.UDP)
	if packet == nil || datagram == nil {
		return len(p), nil
	}
	_, err := u.conn.WriteToUDP(datagram.Payload, &net.UDPAddr{IP: packet.DstIP, Port: int(datagram.DstPort)})
	if errors.Is(err, net.ErrClosed) {
		return 0, err
	}
	return len(p), nil
}

func (u *udpFrames) SetReadDeadline(t time.Time) error { return u.conn.SetReadDeadline(t) }
func (u *udpFrames) Close() error                      { return u.conn.Close() }
