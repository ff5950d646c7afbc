// Package ip finds what is for a board in received frames, and builds the frames that it
// sends: ARP and ICMP echo answers, and datagrams in UDP or in raw Ethernet.
package ip

import "github.com/hilgpu/hilgpu/rtl/hdl"

// Params are the addresses of a board.
//
//	MAC        of one station
//	IP         of one host
//	Port       of UDP, not 0
//	EtherType  of raw frames, at least 0x0600
type Params struct {
	MAC       [6]byte
	IP        [4]byte
	Port      uint16
	EtherType uint16
}

// Addr returns the MAC address with its first byte in bits 47 to 40.
func (p Params) Addr() uint64 {
	v := uint64(0)
	for _, b := range p.MAC {
		v = v<<8 | uint64(b)
	}
	return v
}

// check refuses parameters that are none.
func (p Params) check() {
	hdl.Assert(p.Addr() != 0 && p.MAC[0]&1 == 0, "ip: not the MAC address of one station")
	hdl.Assert(p.IP[0] != 0 && p.IP[0] < 224, "ip: not the IP address of one host")
	hdl.Assert(p.Port != 0, "ip: port 0")
	hdl.Assert(p.EtherType >= 0x0600 && p.EtherType != typeIP && p.EtherType != typeARP, "ip: not an EtherType for raw frames")
}

// MaxData is the size of the largest datagram that is sent, in bytes: an MTU of 1500 less
// the headers of IP and UDP.
const MaxData = 1472

// A Kind is what a frame carries.
type Kind uint8

// The kinds of frames.
const (
	Raw  Kind = iota // a datagram after its length, a big-endian word of 16 bits
	ARP              // a request, or the answer to one
	Echo             // an ICMP echo request, or the answer to one
	UDP              // a datagram
)

// A Frame is a stored frame, in a buffer of 4096 bytes: the addresses of its peer, then its
// data.
//
//	Valid  there is a frame
//	Kind   what it carries
//	Start  block of 16 bytes with its first byte
//	Last   place of its last byte
//
// The bytes from the first one:
//
//	0..5    MAC address
//	6..9    IP address, not if Kind is ARP
//	10..11  UDP port, or the checksum of the ICMP message; not if Kind is ARP
//	6..11   the sender's hardware address, if Kind is ARP
//	12..    data: of a datagram, of an ICMP message after its checksum, or the sender's
//	        protocol address
//
// A raw frame that was received has its data from byte 6 on.
type Frame struct {
	Valid bool
	Kind  Kind
	Start uint8
	Last  uint16
}

// BufferBytes is the size of a buffer.
const BufferBytes = 4096

// PeerBytes is the size of the addresses before the data, RawPeerBytes that of a raw frame
// that was received.
const (
	PeerBytes    = 12
	RawPeerBytes = 6
)

const (
	bufferMask = BufferBytes - 1
	blockBits  = 4 // of an offset in a block
)

// Block returns the block of a place. A frame begins in the block after the last one of the
// frame before it. The last block of the frame that was released last stays unused, so a
// full buffer is not an empty one.
func Block(at uint16) uint8 { return uint8(at >> blockBits) }

// Fields of headers: IEEE 802.3 and RFC 826, 791, 792, 768.
const (
	typeIP  = 0x0800
	typeARP = 0x0806

	dontFragment = 0x40 // in the high byte of flags and offset

	protoICMP = 1
	protoUDP  = 17

	echoReply   = 0
	echoRequest = 8
)
