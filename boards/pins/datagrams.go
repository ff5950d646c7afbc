package pins

import (
	"bytes"
	"encoding/binary"

	"github.com/hilgpu/hilgpu/bus/channel"
	"github.com/hilgpu/hilgpu/bus/datalink"
	"github.com/hilgpu/hilgpu/bus/frame"
	"github.com/hilgpu/hilgpu/rtl/eth/ip"
)

// NewEtherWire returns a wire to a board on Ethernet, whose addresses are at. The largest
// datagram of the host is opt.Link.Datagram (ip.MaxData).
func NewEtherWire(dev *Ether, at ip.Params, opt Options) (*Wire, error) {
	opt.Clocks = 1
	if opt.Link.Datagram == 0 {
		opt.Link.Datagram = ip.MaxData
	}
	return newWire(&datagramLine{dev: dev, at: at, udp: opt.UDP, largest: min(opt.Link.Datagram, ip.MaxData)}, opt)
}

// The addresses of the host, which differs from a board in the last byte of its IP address.
var (
	hostMAC  = [6]byte{0x02, 'h', 'o', 's', 't', 1}
	hostPort = uint16(40_000)
)

// Sizes of headers in bytes: the addresses and the type of a frame, the length of a datagram
// in a raw frame, and IPv4 and UDP (RFC 791, 768).
const (
	etherHeader = 14
	rawHeader   = 2
	udpHeader   = 20 + 8
	typeIP      = 0x0800
)

// A datagramLine carries frames in raw Ethernet or in UDP. Those that are sent in one clock share a
// datagram as far as they fit.
type datagramLine struct {
	dev  *Ether
	at   ip.Params
	open []byte // the datagram in work
	from uint64 // clock in which it may arrive

	udp     bool
	largest int // bytes of a datagram
}

func (l *datagramLine) send(f []byte, from uint64) {
	if len(l.open)+2+len(f) > l.largest || from > l.from && len(l.open) > 0 {
		l.flush()
	}
	l.open, l.from = channel.AppendDatagram(l.open, f), from
}

// flush puts the datagram in work on the line.
func (l *datagramLine) flush() {
	if len(l.open) == 0 {
		return
	}
	f := append(append([]byte(nil), l.at.MAC[:]...), hostMAC[:]...)
	if l.udp {
		f = l.appendUDP(f)
	} else {
		f = binary.BigEndian.AppendUint16(f, l.at.EtherType)
		f = binary.BigEndian.AppendUint16(f, uint16(len(l.open)))
	}
	l.dev.send(append(f, l.open...), l.from)
	l.open = nil
}

// appendUDP appends the type of a frame and the headers of the datagram in work.
func (l *datagramLine) appendUDP(f []byte) []byte {
	f = binary.BigEndian.AppendUint16(f, typeIP)
	host := l.at.IP
	host[3] ^= 0x80
	h := make([]byte, udpHeader)
	h[0], h[8], h[9] = 0x45, 64, 17 // version and length, time to live, protocol
	binary.BigEndian.PutUint16(h[2:], uint16(udpHeader+len(l.open)))
	copy(h[12:], host[:])
	copy(h[16:], l.at.IP[:])
	sum := uint32(0)
	for i := 0; i < 20; i += 2 {
		sum += uint32(binary.BigEndian.Uint16(h[i:]))
	}
	binary.BigEndian.PutUint16(h[10:], ^uint16(sum+sum>>16))
	binary.BigEndian.PutUint16(h[20:], hostPort)
	binary.BigEndian.PutUint16(h[22:], l.at.Port)
	binary.BigEndian.PutUint16(h[24:], uint16(8+len(l.open)))
	return append(f, h...) // without a checksum of UDP
}

func (l *datagramLine) drop() {
	l.open = nil
	l.dev.drop()
}

func (l *datagramLine) carried() (down, up uint64) { return l.dev.down, l.dev.up }

func (l *datagramLine) clock(_ uint64, host frame.Sink) error {
	l.flush()
	f := l.dev.Tick()
	if d := l.datagram(f); d != nil {
		for len(d) > 0 {
			one, rest, ok := channel.CutDatagram(d)
			if !ok || len(one) < datalink.MinFrame {
				host.Damaged(len(d))
				break
			}
			host.Frame(one)
			d = rest
		}
	}
	return l.dev.Err()
}

// datagram returns the datagram in a frame of the board for the host, or nil.
func (l *datagramLine) datagram(f []byte) []byte {
	if len(f) < etherHeader+rawHeader || !bytes.Equal(f[:6], hostMAC[:]) || !bytes.Equal(f[6:12], l.at.MAC[:]) {
		return nil
	}
	kind := binary.BigEndian.Uint16(f[12:])
	if p := f[etherHeader:]; l.udp && kind == typeIP && len(p) >= udpHeader && binary.BigEndian.Uint16(p[22:]) == hostPort {
		if n := int(binary.BigEndian.Uint16(p[24:])) - 8; n >= 0 && n <= len(p)-udpHeader {
			return p[udpHeader:][:n]
		}
		return nil
	} else if l.udp || kind != l.at.EtherType {
		return nil
	}
	n := int(binary.BigEndian.Uint16(f[etherHeader:]))
	if d := f[etherHeader+rawHeader:]; n <= len(d) {
		return d[:n]
	}
	return nil
}
