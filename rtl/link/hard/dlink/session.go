package dlink

import (
	"github.com/hilgpu/hilgpu/rtl/crc32"
	"github.com/hilgpu/hilgpu/rtl/link/hard/receive"
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
	epoch   uint32 // word of the session
	ours    uint32 // nonce of its host
	offer   uint32 // word of the offer
	offered bool   // there is an offer, and its word is known
	host    uint32 // nonces of the offer
	board   uint32
	window  uint8  `w:"4"` // of its host
	grants  uint64 // credits of its host
	left    uint8  `w:"4"` // bytes of the nonces that the word of the offer does not have
	crc     uint32
	welcome bool  // a Welcome is due
	down    Cause // a Down is due
}

// mixes reports whether the word of the offer is computed.
func (s *session) mixes() bool { return s.left != 0 }

// mix takes a byte of the nonces into the word of the offer.
func (s *session) mix() {
	if s.left == 0 {
		return
	}
	v := uint64(s.host)<<32 | uint64(s.board)
	s.left = (s.left - 1) & 15
	s.crc = crc32.Byte(s.crc, uint8(v>>(s.left<<3)))
	if s.left == 0 {
		word := ^s.crc
		if word == 0 || word == helloWord {
			word = ^word
		}
		s.offer, s.offered = word, true
	}
}

// receive takes a frame. settled reports whether nothing is left of an earlier session. It
// reports whether the packet of a data frame is accepted.
func (m *Module) receive(f receive.Frame, settled bool) (accept bool) {
	if f.Damaged {
		m.damaged()
	}
	if !f.Valid {
		return false
	}
	switch {
	case m.status.Up && f.Word == m.session.epoch:
		accept = m.frame(f)
	case f.Word == helloWord:
		m.hello(f)
	case m.session.offered && f.Word == m.session.offer:
		if m.status.Up {
			m.end(NewSession) // its frames are lost until that is done, and sent again
		} else if settled {
			m.begin()
			accept = m.frame(f)
		}
	default:
		m.damaged()
	}
	return accept
}

// damaged asks for what is missing, but not for each piece of garbage.
func (m *Module) damaged() {
	m.status.Refused++
	m.want()
}

// want makes a Nak due.
func (m *Module) want() {
	if m.status.Up && m.ack.quiet == 0 {
		m.ack.nak = true
	}
}

// hello answers a hello. The session that it offers begins with its first frame.
func (m *Module) hello(f receive.Frame) {
	fits := f.Hello && f.Size >= minHello
	known := m.status.Up && f.Host == m.session.ours
	if f.Head&maskType != headHello || f.Head&headData != 0 || known {
		return
	}
	if f.Head&maskNumber != Version || fits && !f.SameMap {
		m.status.Refused++
		m.session.welcome = true // it has what differs
		if !m.session.offered {
			m.session.host = f.Host
		}
		return
	}
	if !fits {
		m.status.Refused++
		return
	}
	m.session.welcome = true
	if m.session.offered && f.Host == m.session.host || m.session.mixes() {
		return
	}
	m.session.host, m.session.board, m.session.offered = f.Host, m.time.now, false
	m.session.window, m.session.grants = f.Window, f.Credits
	m.session.left, m.session.crc = 8, crc32.Init
}

// begin begins the session that is offered.
func (m *Module) begin() {
	m.session.epoch, m.session.ours, m.session.offered = m.session.offer, m.session.host, false
	m.session.down = NoCause
	m.send, m.ack = sender{window: m.session.window}, acknowledger{every: half(m.session.window)}
	m.credit.begin(m.session.grants)
	m.time.silence, m.time.pings = 0, 0
	m.status.Up = true
	m.status.Sessions++
}

// half returns half of a window, at least 1.
func half(window uint8) uint8 { return max(1, window>>1) & 7 }

// end ends the session.
func (m *Module) end(cause Cause) {
	m.status.Up, m.status.Cause, m.session.down = false, cause, NoCause
	m.send, m.ack = sender{}, acknowledger{}
}
