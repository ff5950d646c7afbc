package eth

import (
	"github.com/hilgpu/hilgpu/rtl/eth/ip"
	"github.com/hilgpu/hilgpu/rtl/hdl"
)

// storeDepth is the number of datagrams that wait to be sent.
const storeDepth = 8

// Bits of a datagram in the queue, above its end.
const udpBit = 1 << 12

type filling uint8

const (
	fillIdle filling = iota
	fillPeer         // the addresses of the host are stored
	fillData
)

// store keeps the datagrams of the link until they are sent.
type store struct {
	buffer hdl.RAM
	queue  hdl.FIFO[uint16] // udpBit, last byte 11..0
	state  filling
	i      uint8  `w:"4"` // next byte of the addresses
	got    bool   // the byte before it was read
	at     uint16 `w:"12"` // place of the next byte
	tail   uint8  // block of the oldest datagram
	stop   uint8  // block before it
}

func newStore() store {
	s := store{buffer: hdl.NewNarrowRAM(ip.BufferBytes, 8), queue: hdl.NewFIFO[uint16](storeDepth)}
	s.reset()
	return s
}

func (s *store) reset() {
	s.queue.Reset()
	s.state, s.i, s.got, s.at, s.tail, s.stop = fillIdle, 0, false, 0, 0, 0xff
}

// head returns the oldest datagram.
func (s *store) head() ip.Frame {
	head, valid, _ := s.queue.Out()
	kind := ip.Raw
	if head&udpBit != 0 {
		kind = ip.UDP
	}
	return ip.Frame{Valid: valid, Kind: kind, Start: s.tail, Last: head & (ip.BufferBytes - 1)}
}

// room reports whether a byte can be stored.
func (s *store) room() bool { return ip.Block(s.at) != s.stop }

// ready reports whether a byte of the link is taken.
func (s *store) ready() bool { return s.state == fillData && s.room() && !s.queue.Full() }

// begins reports whether a datagram begins. valid, the link has a byte for a host.
func (s *store) begins(valid bool) bool { return s.state == fillIdle && valid && s.room() }

// copies reports whether a byte of the addresses is read. free, the memory of the addresses
// is not read otherwise.
func (s *store) copies(free bool) bool { return s.state == fillPeer && s.i != ip.PeerBytes && free }

// advance is one clock. in is the byte of the link, peer the byte of the addresses that was
// read last; read and at, a read of the buffer; release, the oldest datagram was sent.
func (s *store) advance(in Link, peer uint8, udp, begins, copies, read bool, at uint16, release bool) {
	takes := in.Valid && s.ready()
	writes := takes || s.got
	data, enable := in.Data, uint8(0)
	if s.got {
		data = peer
	}
	if writes {
		enable = 1
	}
	head, _, _ := s.queue.Out()
	word := s.at
	if udp {
		word |= udpBit
	}
	s.queue.Tick(takes && in.Last, word, release)
	s.buffer.Tick(read, uint32(at&(ip.BufferBytes-1)), enable, uint32(s.at), uint64(data))
	if takes && in.Last {
		s.at = uint16(ip.Block(s.at)+1) << 4
	} else if writes {
		s.at = (s.at + 1) & (ip.BufferBytes - 1)
	}
	if release {
		s.stop = ip.Block(head & (ip.BufferBytes - 1))
		s.tail = s.stop + 1
	}
	s.follow(begins, copies, takes && in.Last)
}

// follow advances the state.
func (s *store) follow(begins, copies, last bool) {
	switch s.state {
	case fillIdle:
		if begins {
			s.state, s.i = fillPeer, 0
		}
	case fillPeer:
		if copies {
			s.i = (s.i + 1) & 0xf
		} else if s.i == ip.PeerBytes {
			s.state = fillData
		}
	default:
		if last {
			s.state = fillIdle
		}
	}
	s.got = copies
}
