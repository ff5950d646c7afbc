package eth

import (
	"encoding/binary"
	"slices"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
)

// An outcome is what a frame does to a board: it delivers a datagram, or sends an answer, or
// neither.
type outcome struct {
	data   []byte
	answer []byte
}

// sum16 is the one's complement sum of RFC 1071.
func sum16(parts ...[]byte) uint16 {
	sum := 0
	for _, p := range parts {
		for i, b := range p {
			sum += int(b) << (8 * (1 - i&1))
		}
	}
	for sum > 0xffff {
		sum = sum&0xffff + sum>>16
	}
	return uint16(sum)
}

// outcomeOf returns the outcome of a right frame without its FCS, by the layers of gopacket.
func outcomeOf(f []byte) outcome {
	var e layers.Ethernet
	if e.DecodeFromBytes(f, gopacket.NilDecodeFeedback) != nil || e.SrcMAC[0]&1 != 0 {
		return outcome{}
	}
	own := slices.Equal(e.DstMAC, board.MAC[:])
	if !own && !slices.Equal(e.DstMAC, broadcast) {
		return outcome{}
	}
	switch payload := f[14:]; binary.BigEndian.Uint16(f[12:]) { // gopacket shows a length as type 0
	case 0x0806:
		return outcomeOfARP(e, payload)
	case 0x0800:
		if own {
			return outcomeOfIP(e, payload)
		}
	case board.EtherType:
		n := int(binary.BigEndian.Uint16(payload))
		if own && n > 0 && n <= len(payload)-2 {
			return outcome{data: payload[2 : 2+n]}
		}
	}
	return outcome{}
}

func outcomeOfARP(e layers.Ethernet, payload []byte) outcome {
	var a layers.ARP
	// The decoder of gopacket trusts both sizes, and has 8 of the 16 bits of the hardware type.
	if payload[0] != 0 || payload[4] != 6 || payload[5] != 4 || a.DecodeFromBytes(payload, gopacket.NilDecodeFeedback) != nil ||
		a.AddrType != layers.LinkTypeEthernet || a.Protocol != layers.EthernetTypeIPv4 || a.Operation != layers.ARPRequest ||
		!slices.Equal(a.DstProtAddress, board.IP[:]) {
		return outcome{}
	}
	to := &layers.Ethernet{SrcMAC: board.MAC[:], DstMAC: e.SrcMAC, EthernetType: layers.EthernetTypeARP}
	return outcome{answer: build(to, &layers.ARP{
		AddrType: layers.LinkTypeEthernet, Protocol: layers.EthernetTypeIPv4, HwAddressSize: 6, ProtAddressSize: 4,
		Operation: layers.ARPReply, SourceHwAddress: board.MAC[:], SourceProtAddress: board.IP[:],
		DstHwAddress: a.SourceHwAddress, DstProtAddress: a.SourceProtAddress,
	})}
}

func outcomeOfIP(e layers.Ethernet, payload []byte) outcome {
	var n layers.IPv4
	total := int(binary.BigEndian.Uint16(payload[2:]))
	if payload[0] != 0x45 || total < 28 || total > len(payload) || sum16(payload[:20]) != 0xffff {
		return outcome{}
	}
	if n.DecodeFromBytes(payload, gopacket.NilDecodeFeedback) != nil || n.Flags&^layers.IPv4DontFragment != 0 || n.FragOffset != 0 ||
		!n.DstIP.Equal(board.IP[:]) {
		return outcome{}
	}
	message := payload[20:total]
	from := peer{e.SrcMAC, n.SrcIP, 0}
	switch n.Protocol {
	case layers.IPProtocolICMPv4:
		if message[0] == 8 && message[1] == 0 && sum16(message) == 0xffff {
			id, seq := binary.BigEndian.Uint16(message[4:]), binary.BigEndian.Uint16(message[6:])
			return outcome{answer: from.echoAnswer(id, seq, message[8:])}
		}
	case layers.IPProtocolUDP:
		u := binary.BigEndian.Uint16
		pseudo := []byte{0, 17, message[4], message[5]}
		right := u(message[6:]) == 0 || sum16(n.SrcIP, n.DstIP, pseudo, message) == 0xffff
		if u(message[2:]) == board.Port && int(u(message[4:])) == len(message) && len(message) > 8 && right {
			return outcome{data: message[8:]}
		}
	}
	return outcome{}
}
