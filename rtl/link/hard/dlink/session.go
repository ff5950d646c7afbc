package dlink

import (
	"github.com/hilgpu/hilgpu/rtl/crc32"
	"github.com/hilgpu/hilgpu/rtl/link/hard/receive"
	"github.com/hilgpu/hilgpu/rtl/link/hard/transmit"
	"github.com/hilgpu/hilgpu/rtl/link/linkport"
)

// Heads of frames.
const (
	headAck     = 0 << 12
	headNak     = 1 << 12
	headCredit  = 2 << 12
	headPing    = 3 << 12
	headPong    = 4 << 12
	headHello   = 5 << 12
	headWelcome = 6 << 12
	headDown    = 7 << 12
	headAcked   = receive.Acked
	headData    = receive.Data
	maskType    = 7 << 12
	maskNumber  = 0xfff
)

// helloWord is the word of frames that belong to no session.
const helloWord = 0x48494c47

// minHello is the size of the smallest hello, before its check.
const minHello = 42

// creditSize is the size of an update of credits, before its check.
const creditSize = 14

// A session is the words of the session and of the one that is offered.
type session struct {
	epoch   uint32         // word of the session
	ours    uint32         // nonce of its host
	offer   uint32         // word of the offer, or the CRC of a part of its nonces
	offered bool           // there is an offer, and its word is known
	wanted  bool           // a frame of the offer has arrived: its session begins when nothing is left of the last one
	packet  bool           // such a frame had a packet
	window  uint8          `w:"7"` // of the host of the offer
	keeps   bool           // it keeps frames out of order
	allowed uint16         `w:"12"` // bytes of its largest datagram
	largest uint16         `w:"12"` // bytes of the largest datagram in the session
	grants  uint64         `w:"48"` // credits of its host
	left    uint8          `w:"5"`  // half bytes of the nonces that the word of the offer does not have
	welcome bool           // a Welcome is due
	down    linkport.Cause // a Down is due
}

// mixes reports whether the word of the offer is computed.
func (s *session) mixes() bool { return s.left != 0 }

// mix takes half a byte of the nonces into the word of the offer, the lower one first.
func (s *session) mix(offer transmit.Nonces) {
	if s.left == 0 {
		return
	}
	s.left = (s.left - 1) & 31
	v := uint64(offer.Host)<<32 | uint64(offer.Board)
	s.offer = crc32.Nibble(s.offer, uint8(v>>((s.left^1)&15<<2))&15)
	if s.left == 0 {
		s.offer, s.offered = ^s.offer, true
		if s.offer == 0 || s.offer == helloWord {
			s.offer = ^s.offer
		}
	}
}

// receive takes a frame. grants are the credits in it, and offers reports whether it gets an
// offer. It reports whether the packet of a data frame is accepted.
func (m *Module) receive(f receive.Frame, kept receive.Kept, field uint64, offers bool) (accept bool) {
	if f.Damaged {
		m.damaged()
	}
	if !f.Valid {
		return false
	}
	switch {
	case m.status.Up && f.Word == m.session.epoch:
		m.status.Received = true
		accept = m.frame(f, kept, field)
	case f.Word == helloWord:
		m.hello(f, field, offers)
	case m.session.offered && f.Word == m.session.offer:
		if m.status.Up {
			m.end(linkport.NewSession)
		}
		m.session.packet = m.session.packet && m.session.wanted || f.Head&headData != 0
		m.session.wanted = true
	default:
		m.damaged()
	}
	return accept
}

// damaged asks for what is missing, but not for each piece of garbage.
func (m *Module) damaged() {
	m.status.Refused = true
	m.want()
}

// want makes a Nak due.
func (m *Module) want() {
	if m.status.Up && m.ack.quiet == 0 {
		m.ack.nak = true
	}
}

// fits reports whether a frame is a hello of a host that this board can serve.
func fits(f receive.Frame) bool {
	return f.Head == headHello|Version && f.Size >= minHello && f.Hello && f.Fits && f.SameMap
}

// offers reports whether a frame gets an offer of another session: one that its host has not
// begun and has not been offered. None is made while a Welcome or a word has the nonces of
// the last one.
func (m *Module) offers(f receive.Frame, offer transmit.Nonces, welcome bool) bool {
	known := m.status.Up && f.Host == m.session.ours || m.session.offered && f.Host == offer.Host
	return f.Valid && f.Word == helloWord && fits(f) && !known && !welcome && !m.session.mixes()
}

// hello answers a hello. The session that it offers begins with its first frame. A host of
// another version or register map gets a Welcome that tells those of the board. One whose
// datagrams have no room for the largest frame gets no answer.
func (m *Module) hello(f receive.Frame, field uint64, offers bool) {
	if offers {
		m.session.offered, m.session.wanted, m.session.left, m.session.offer = false, false, 16, crc32.Init
		m.session.window, m.session.keeps = f.Window, f.Keeps
		m.session.allowed, m.session.grants = f.Largest&0xfff, field>>16
	}
	up := m.status.Up && f.Host == m.session.ours
	narrow := f.Head == headHello|Version && !f.Fits
	if f.Head>>12 == headHello>>12 && !narrow && !up {
		m.session.welcome = true
	}
	if !fits(f) {
		m.status.Refused = true
	}
}

// begin begins the session that is offered, after the first frame of its host. The packets of
// its frames so far are lost; a Nak asks for them. Without one, a frame is treated as a Ping,
// which it is unless that was lost.
func (m *Module) begin(host uint32) {
	packet := m.session.packet
	m.session.epoch, m.session.ours, m.session.offered, m.session.wanted = m.session.offer, host, false, false
	m.session.down, m.session.largest = linkport.NoCause, m.session.allowed
	m.send = sender{window: min(m.session.window, m.slots), keeps: m.session.keeps}
	m.ack = acknowledger{every: half(m.session.window), nak: packet, pong: !packet}
	m.credit.begin(m.session.grants)
	m.time.silence = 0
	m.status.Up = true
	m.status.Began = true
}

// half returns half of a window, 1 to mostUnacked.
func half(window uint8) uint8 { return min(mostUnacked, max(1, window>>1)) & 15 }

// end ends the session.
func (m *Module) end(cause linkport.Cause) {
	m.status.Up, m.status.Cause, m.session.down = false, cause, linkport.NoCause
}
