package datalink

import (
	"encoding/binary"
	"hash/crc32"
	"time"
)

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
