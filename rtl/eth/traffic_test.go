package eth

import (
	"encoding/binary"
	"math/rand/v2"
	"net"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"

	"github.com/hilgpu/hilgpu/rtl/eth/mac"
)

// traffic makes frames of all kinds, good ones and damaged ones.
type traffic struct {
	r     *rand.Rand
	small bool // most are short
}

func (g traffic) data(most int) []byte {
	n := 1 + g.r.IntN(most)
	if g.small && g.r.IntN(20) != 0 {
		n = 1 + g.r.IntN(30)
	}
	b := make([]byte, n)
	for i := range b {
		b[i] = uint8(g.r.Uint32())
	}
	return b
}

// good returns a frame for the board without its FCS, and the datagram in it, if there is
// one.
func (g traffic) good() (f, data []byte) {
	p := alice
	if g.r.IntN(3) == 0 {
		p = bob
	}
	switch g.r.IntN(8) {
	case 0:
		return p.arp(board.IP[:]), nil
	case 1:
		return p.echo(uint16(g.r.Uint32()), uint16(g.r.Uint32()), g.data(1472)), nil
	case 2, 3, 4:
		data = g.data(1472)
		return p.udp(data), data
	default:
		data = g.data(1498)
		return p.raw(data), data
	}
}

// other returns a right frame that the board ignores.
func (g traffic) other() []byte {
	p := alice
	f, _ := g.good()
	switch g.r.IntN(6) {
	case 0:
		return p.arp(net.IP{10, 0, 0, 3})
	case 1:
		binary.BigEndian.PutUint16(f[12:], 0x86dd)
		return f
	case 2:
		f[6] |= 1 // from a group
		return f
	case 3:
		f = p.udp([]byte("other port"))
		f[36]++
		return f
	case 4:
		return build(p.ethernet(layers.EthernetTypeIPv4), p.ipv4(layers.IPProtocolTCP), gopacket.Payload(g.data(100)))
	default:
		f = p.udp([]byte("to all"))
		copy(f, broadcast)
		return f
	}
}

// station returns a right frame for another station.
func (g traffic) station() []byte {
	f, _ := g.good()
	f[g.r.IntN(6)] ^= 1 << g.r.IntN(8)
	return f
}

// invalid returns a frame with a right FCS whose content is wrong.
func (g traffic) invalid() []byte {
	f := alice.udp(g.data(1400))
	if g.r.IntN(3) == 0 {
		f = alice.echo(1, 2, g.data(1400))
	}
	change := func(at int, v byte) { f[at] = v }
	fix := true // the checksum of the header is made right again
	switch g.r.IntN(8) {
	case 0:
		change(14, 0x46) // options
	case 1:
		change(20, 0x20) // more fragments
	case 2:
		change(21, 1) // the second fragment
	case 3:
		change(25, f[25]+1)
		fix = false
	case 4:
		change(42+g.r.IntN(4), f[42]^0x55) // may change nothing but the sum
		f[43] ^= 0x10
	case 5:
		binary.BigEndian.PutUint16(f[16:], uint16(g.r.IntN(28)))
	case 6:
		binary.BigEndian.PutUint16(f[16:], uint16(len(f)-14+1+g.r.IntN(3)))
	default:
		f = alice.raw(g.data(1400))
		binary.BigEndian.PutUint16(f[14:], uint16(len(f)-16+1+g.r.IntN(1000)))
		fix = false
	}
	if fix {
		ipChecksum(f)
	}
	return f
}

// ipChecksum sets the checksum of the header of IP, RFC 1071.
func ipChecksum(f []byte) {
	f[24], f[25] = 0, 0
	sum := uint32(0)
	for i := 14; i < 34; i += 2 {
		sum += uint32(binary.BigEndian.Uint16(f[i:]))
	}
	sum = sum&0xffff + sum>>16
	sum = sum&0xffff + sum>>16
	binary.BigEndian.PutUint16(f[24:], ^uint16(sum))
}

// damaged returns what a PHY receives for a frame that is damaged, and the counter that
// counts it.
func (g traffic) damaged() (in []mac.Byte, counter int) {
	f, _ := g.good()
	f = sealed(f)
	gap := 1 + g.r.IntN(20)
	switch g.r.IntN(7) {
	case 0:
		return carrier(f[:g.r.IntN(mac.MinFrame)], gap), Runts
	case 1: // the carrier is lost
		if len(f) == mac.MinFrame {
			return carrier(f[:mac.MinFrame-1], gap), Runts
		}
		return carrier(f[:mac.MinFrame+g.r.IntN(len(f)-mac.MinFrame)], gap), Bad
	case 2:
		f[g.r.IntN(len(f))] ^= 1 << g.r.IntN(8)
		return carrier(f, gap), Bad
	case 3:
		in = carrier(f, gap)
		in[g.r.IntN(len(f)+9)].Error = true
		return in, Bad
	case 4: // with a right FCS
		long := make([]byte, mac.MaxFrame-4+1+g.r.IntN(3000))
		copy(long, f)
		return carrier(sealed(long), gap), Oversized
	case 5: // noise before the delimiter
		in = carrier(f, gap)
		in[g.r.IntN(8)].Data = 0x54
		return in, Runts
	default: // no delimiter
		in = carrier(nil, gap)
		return append(in[:7:7], in[8:]...), Runts
	}
}
