package datalink

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"time"
)

// A hello is the body of Hello and Welcome.
//
//	bytes   field
//	0, 1    largest packet, in bytes
//	2, 3    window, in frames
//	4..7    hash of the register map
//	8..11   nonce of the host
//	12..15  nonce of the board; 0 in a Hello
//	16..27  credits
type hello struct {
	maxPacket int
	window    int
	mapHash   uint32
	host      uint32
	board     uint32
	credits   Credits
}

const helloLen = 16 + creditsLen

func (h hello) append(b []byte) []byte {
	b = binary.BigEndian.AppendUint16(b, uint16(h.maxPacket))
	b = binary.BigEndian.AppendUint16(b, uint16(h.window))
	b = binary.BigEndian.AppendUint32(b, h.mapHash)
	b = binary.BigEndian.AppendUint32(b, h.host)
	b = binary.BigEndian.AppendUint32(b, h.board)
	return h.credits.append(b)
}

func parseHello(b []byte) (h hello, ok bool) {
	if len(b) != helloLen {
		return h, false
	}
	h = hello{
		maxPacket: int(binary.BigEndian.Uint16(b)),
		window:    int(binary.BigEndian.Uint16(b[2:])),
		mapHash:   binary.BigEndian.Uint32(b[4:]),
		host:      binary.BigEndian.Uint32(b[8:]),
		board:     binary.BigEndian.Uint32(b[12:]),
		credits:   parseCredits(b[16:]),
	}
	if h.maxPacket < MinPacket || h.maxPacket > MaxPacket || !validWindow(h.window) {
		return h, false
	}
	return h, h.credits.check(MinPacket) == nil
}

// A session is the result of a handshake. Its word makes the checks of its
// frames differ from those of every other session.
type session struct {
	word uint32
	peer hello
	at   time.Duration // when a board last offered it
}

func newSession(peer hello) session {
	var b [8]byte
	binary.BigEndian.PutUint32(b[:], peer.host)
	binary.BigEndian.PutUint32(b[4:], peer.board)
	word := crc32.ChecksumIEEE(b[:])
	if word == 0 || word == helloWord {
		word = ^word // never 0 and never helloWord
	}
	return session{word: word, peer: peer}
}

func (l *Link) ours(host, board uint32) []byte {
	h := hello{l.cfg.MaxPacket, l.cfg.Window, l.cfg.MapHash, host, board, l.cfg.Credits}
	return h.append(make([]byte, 0, helloLen))
}

func (l *Link) sendHello(now time.Duration, out *Output) {
	l.sendControl(typeHello, Version, l.ours(l.nonce, 0), out)
	l.helloAt = now + l.cfg.HelloEvery
	l.hellos++
}

// receiveHello handles a Hello or a Welcome.
func (l *Link) receiveHello(typ int, version uint16, body []byte, now time.Duration, out *Output) {
	h, ok := parseHello(body)
	switch {
	case version == Version && !ok:
		l.stats.BadFrames++
	case typ == typeHello && l.cfg.Role == Board && l.state != Down:
		l.answer(version, h, now, out)
	case typ == typeWelcome && l.cfg.Role == Host && l.state == Opening && version != Version:
		l.stats.Refused++
		l.fail(fmt.Errorf("%w: %d, want %d", ErrVersion, version, Version), out)
	case typ == typeWelcome && l.cfg.Role == Host && l.state == Opening && h.host == l.nonce:
		l.welcome(h, now, out)
	default:
		l.stats.Stale++
	}
}

func (l *Link) sameMap(hash uint32) bool {
	return hash == 0 || l.cfg.MapHash == 0 || hash == l.cfg.MapHash
}

// answer is the board's side of the handshake. It only offers the session,
// which begins with the first frame that has its check. A long-delayed hello
// therefore cannot end a session that is up.
func (l *Link) answer(version uint16, h hello, now time.Duration, out *Output) {
	h.board = l.nonce
	s := newSession(h)
	s.at = now
	switch old := l.offered(s.word); {
	case version != Version || !l.sameMap(h.mapHash):
		l.stats.Refused++
	case s.word == l.epoch || l.past.has(s.word):
		l.stats.Stale++
		return
	case old != nil:
		old.at = now
	default:
		l.pending[l.npend%len(l.pending)] = s
		l.npend++
	}
	l.sendControl(typeWelcome, Version, l.ours(h.host, l.nonce), out)
}

func (l *Link) offered(word uint32) *session {
	for i := range l.pending {
		if word != 0 && l.pending[i].word == word {
			return &l.pending[i]
		}
	}
	return nil
}

// Offering reports whether a board has recently answered a host whose session
// has not begun. That host considers the session begun and gets no notice if
// the link is given up.
func (l *Link) Offering(now time.Duration) bool {
	for i := range l.pending {
		if l.fresh(&l.pending[i], now) {
			return true
		}
	}
	return false
}

// fresh reports whether an offer is so recent that its host still waits.
func (l *Link) fresh(s *session, now time.Duration) bool {
	return s.word != 0 && now-s.at < l.cfg.OpenTimeout
}

// welcome is the host's side of the handshake. Its ping begins the session at
// the board.
func (l *Link) welcome(h hello, now time.Duration, out *Output) {
	if !l.sameMap(h.mapHash) {
		l.stats.Refused++
		l.fail(fmt.Errorf("%w: %#08x, want %#08x", ErrMapHash, h.mapHash, l.cfg.MapHash), out)
		return
	}
	l.begin(newSession(h), now)
	if l.hellos == 1 {
		l.tx.measure(now - l.opened)
	}
	l.sendAcked(typePing, nil, out)
}

// begin brings the link up.
func (l *Link) begin(s session, now time.Duration) {
	l.state, l.cause, l.epoch = Up, nil, s.word
	for i := range l.pending {
		if l.pending[i].word == s.word {
			l.pending[i] = session{}
		}
	}
	l.tx.reset()
	l.rx.reset()
	l.tx.maxPacket = min(l.cfg.MaxPacket, s.peer.maxPacket)
	l.tx.window = min(l.cfg.Window, s.peer.window)
	l.fc.begin(l.cfg.Credits, s.peer.credits, now)
	l.receivedAt, l.pingAt = now, now+l.cfg.KeepAlive
	l.stats.Sessions++
}
