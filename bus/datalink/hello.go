package datalink

import (
	"encoding/binary"
	"fmt"
	"time"
)

// A hello is the body of Hello and Welcome: fixed fields, and options after them.
//
//	bytes   field
//	0       length of the fixed fields, 40 to 64; a receiver skips those after byte 39
//	1       flags: 0 of a Welcome: the host must repeat its Hello with the nonce of the board
//	        and a proof; 1 of a Welcome: the board refuses the session; others 0
//	2, 3    largest packet, in bytes
//	4, 5    window, in frames
//	6, 7    frames kept out of order; 0 if everything after a lost frame is needed again
//	8, 9    largest read request of the host, in bytes; 0 if unknown, or of a board
//	10, 11  largest datagram, in bytes; 0 of a stream of bytes
//	12..15  longest delay of an acknowledgement, in microseconds
//	16..19  hash of the register map; 0: any
//	20..23  nonce of the host
//	24..27  nonce of the board; 0 in the first Hello
//	28..39  credits
type hello struct {
	flags     uint8
	maxPacket int
	window    int
	kept      int
	maxRead   int
	datagram  int
	ackDelay  time.Duration
	mapHash   uint32
	host      uint32
	board     uint32
	credits   Credits
	options   options
}

// Flags of a Welcome.
const (
	flagAgain   = 1 << 0
	flagRefused = 1 << 1
)

const (
	helloLen    = 28 + creditsLen // fixed fields of this version
	maxHelloLen = 64              // fixed fields of a later version
	maxHello    = maxHelloLen + maxOptions
)

func (h *hello) append(b []byte) []byte {
	b = append(b, helloLen, h.flags)
	b = binary.BigEndian.AppendUint16(b, uint16(h.maxPacket))
	b = binary.BigEndian.AppendUint16(b, uint16(h.window))
	b = binary.BigEndian.AppendUint16(b, uint16(h.kept))
	b = binary.BigEndian.AppendUint16(b, uint16(h.maxRead))
	b = binary.BigEndian.AppendUint16(b, uint16(h.datagram))
	b = binary.BigEndian.AppendUint32(b, uint32(h.ackDelay/time.Microsecond))
	b = binary.BigEndian.AppendUint32(b, h.mapHash)
	b = binary.BigEndian.AppendUint32(b, h.host)
	b = binary.BigEndian.AppendUint32(b, h.board)
	return h.options.append(h.credits.append(b))
}

func parseHello(b []byte) (h hello, ok bool) {
	if len(b) < helloLen || len(b) > maxHello || b[0] < helloLen || b[0] > maxHelloLen || len(b) < int(b[0]) {
		return h, false
	}
	h = hello{
		flags:     b[1],
		maxPacket: int(binary.BigEndian.Uint16(b[2:])),
		window:    int(binary.BigEndian.Uint16(b[4:])),
		kept:      int(binary.BigEndian.Uint16(b[6:])),
		maxRead:   int(binary.BigEndian.Uint16(b[8:])),
		datagram:  int(binary.BigEndian.Uint16(b[10:])),
		ackDelay:  time.Duration(binary.BigEndian.Uint32(b[12:])) * time.Microsecond,
		mapHash:   binary.BigEndian.Uint32(b[16:]),
		host:      binary.BigEndian.Uint32(b[20:]),
		board:     binary.BigEndian.Uint32(b[24:]),
		credits:   parseCredits(b[28:]),
	}
	if h.options, ok = parseOptions(b[b[0]:]); !ok {
		return h, false
	}
	if h.maxPacket < MinPacket || h.maxPacket > MaxPacket || !validWindow(h.window) {
		return h, false
	}
	return h, h.credits.check(MinPacket) == nil
}

// ours returns the hello of this end for the given nonces.
func (l *Link) ours(host, board uint32) hello {
	h := hello{
		maxPacket: l.cfg.MaxPacket, window: l.cfg.Window, kept: l.cfg.Window - 1, maxRead: l.cfg.MaxRead, datagram: l.cfg.Datagram,
		ackDelay: l.cfg.AckDelay, mapHash: l.cfg.MapHash, host: host, board: board, credits: l.cfg.Credits,
		options: options{long: !l.cfg.ShortSequence, bundle: l.cfg.Bundle},
	}
	if l.cfg.InOrder {
		h.kept = 0
	}
	return h
}

func (l *Link) sendHelloFrame(typ int, h hello, out *Output) {
	l.sendControl(typ, Version, h.append(make([]byte, 0, maxHello)), out)
}

// sendHello sends the Hello of a host: the first, or the answer to a Welcome that
// asks for another.
func (l *Link) sendHello(now time.Duration, out *Output) {
	h := l.ours(l.nonce, l.asked.board)
	if l.asked.options.challenge != nil && len(l.cfg.Token) > 0 {
		h.options.proof = proof(l.cfg.Token, l.asked.options.challenge, l.nonce, l.asked.board)
	}
	l.sendHelloFrame(typeHello, h, out)
	l.helloAt = now + l.cfg.HelloEvery
	l.hellos++
}

// receiveHello handles a Hello or a Welcome.
func (l *Link) receiveHello(typ int, version uint16, body []byte, now time.Duration, out *Output) {
	h, ok := parseHello(body)
	if l.cfg.Datagram > 0 && h.flags == 0 && h.datagram < 2+LargestFrame(min(l.cfg.MaxPacket, h.maxPacket)) {
		ok = false // a frame of the session would not fit
	}
	switch {
	case version == Version && !ok:
		l.stats.BadFrames++
	case typ == typeHello && l.cfg.Role == Board && l.state != Down:
		l.answer(version, h, now, out)
	case typ == typeWelcome && l.cfg.Role == Host && l.state == Opening && version != Version:
		l.refuse()
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
	reply := l.ours(h.host, l.nonce)
	echoed := h.board
	h.board = l.nonce
	s := newSession(h)
	s.at = now
	switch old := l.offered(s.word); {
	case version != Version || !l.sameMap(h.mapHash):
		l.refuse()
	case s.word == l.epoch || l.past.has(s.word):
		l.stats.Stale++
		return
	case old != nil:
		old.at = now
	case l.again(&reply, echoed):
	default:
		why, code, later := l.admits(h)
		switch {
		case later:
			return
		case why != "":
			l.refuse()
			reply.flags |= flagRefused
			reply.options.code, reply.options.refusal = code, why[:min(len(why), maxRefusal)]
		default:
			l.pending[l.npend%len(l.pending)] = s
			l.npend++
		}
	}
	l.sendHelloFrame(typeWelcome, reply, out)
}

// refuse counts a hello that is refused.
func (l *Link) refuse() {
	l.stats.Refused++
	l.tell(Incident{Kind: HelloRefused})
}

// again asks the host for another Hello unless its last one had the nonce of the
// board, if this board wants that.
func (l *Link) again(reply *hello, echoed uint32) bool {
	if len(l.cfg.Token) == 0 && !l.cfg.Echo || echoed == l.nonce {
		return false
	}
	reply.flags |= flagAgain
	if len(l.cfg.Token) > 0 {
		reply.options.challenge = l.cfg.Challenge[:]
	}
	return true
}

// admits returns why the board refuses a session, or "", and whether it decides later.
func (l *Link) admits(h hello) (why string, code byte, later bool) {
	if len(l.cfg.Token) > 0 {
		switch {
		case h.options.proof == nil:
			return noToken, refusedToken, false
		case !proves(h.options.proof, l.cfg.Token, l.cfg.Challenge[:], h.host, l.nonce):
			return wrongToken, refusedToken, false
		}
	}
	if l.cfg.Admit == nil {
		return "", refusedOther, false
	}
	why, later = l.cfg.Admit()
	return why, refusedOther, later
}

// refusalError returns the cause of a session that the board refuses.
func (o *options) refusalError() error {
	if o.code == refusedToken {
		return fmt.Errorf("%w: %s", ErrToken, printable(o.refusal))
	}
	return fmt.Errorf("%w: %s", ErrRefused, printable(o.refusal))
}

// Reasons of a board that has a token.
const (
	noToken    = "the board wants a token"
	wrongToken = "the token is wrong"
)

// welcome is the host's side of the handshake. Its ping begins the session at
// the board.
func (l *Link) welcome(h hello, now time.Duration, out *Output) {
	switch {
	case !l.sameMap(h.mapHash):
		l.refuse()
		l.fail(fmt.Errorf("%w: %#08x, want %#08x", ErrMapHash, h.mapHash, l.cfg.MapHash), out)
		return
	case h.flags&flagRefused != 0:
		l.refuse()
		l.fail(h.options.refusalError(), out)
		return
	case h.flags&flagAgain != 0:
		if h.board != l.asked.board {
			l.asked = h
			l.sendHello(now, out)
		}
		return
	}
	l.begin(newSession(h), now)
	if l.hellos == 1 {
		l.tx.measure(now - l.opened)
	}
	l.ping(now, out)
}

// begin brings the link up.
func (l *Link) begin(s session, now time.Duration) {
	l.state, l.cause, l.epoch = Up, nil, s.word
	for i := range l.pending {
		if l.pending[i].word == s.word {
			l.pending[i] = session{}
		}
	}
	if l.tx.slots == nil {
		l.tx.slots, l.rx.slots = make([]txSlot, l.cfg.Window), make([]rxSlot, l.cfg.Window)
	}
	l.tx.reset()
	l.rx.reset()
	l.long = !l.cfg.ShortSequence && s.peer.options.long
	l.tx.maxPacket = min(l.cfg.MaxPacket, s.peer.maxPacket)
	l.datagram = min(l.cfg.Datagram, s.peer.datagram)
	l.bundle = l.agreedBundle(&s.peer)
	l.tx.path.begin(float64(l.cfg.Rate))
	l.tx.safe = firstSafe
	l.setMost()
	l.tx.window = min(l.cfg.Window, s.peer.window)
	l.tx.all = s.peer.kept == 0
	l.rx.every = min(l.cfg.AckEvery, max(1, s.peer.window/2))
	l.tx.probe.ackDelay = s.peer.ackDelay
	l.tx.least = max(l.cfg.ReplayMin, 2*s.peer.ackDelay)
	l.fc.begin(l.cfg.Credits, s.peer.credits, now)
	l.receivedAt, l.pingAt = now, now+l.cfg.KeepAlive
	l.stats.Sessions++
	l.tell(Incident{Kind: SessionBegins})
}
