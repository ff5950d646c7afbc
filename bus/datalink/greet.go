package datalink

import (
	"encoding/binary"
	"hash/crc32"
)

// Greet answers a Hello for a board that keeps no state before a host has shown that
// it receives what is sent to its address. nonce returns the board's nonce for that of
// the host and the one that the host sends back; it depends on the address and on a
// secret, and not on anything stored.
//
// If the frame is no Hello of this version, reply and known are empty. A Hello without
// the right nonce of the board gets a Welcome that asks for another, appended to dst.
// For a Hello with it, known is that nonce: the caller makes a Link, opens it with the
// nonce, and passes it the frame.
func Greet(dst, frame []byte, c Config, nonce func(host, echoed uint32) uint32) (reply []byte, known uint32) {
	if len(frame) < MinFrame || len(frame) > MinFrame+maxHello {
		return nil, 0
	}
	body := frame[:len(frame)-checkLen]
	head := binary.BigEndian.Uint16(body)
	if crc32.ChecksumIEEE(body)^binary.BigEndian.Uint32(frame[len(body):]) != helloWord || head != typeHello<<shiftType|Version {
		return nil, 0
	}
	h, ok := parseHello(body[2:])
	if !ok {
		return nil, 0
	}
	ours := nonce(h.host, h.board)
	if h.board == ours {
		return nil, ours
	}
	c.setDefaults()
	l := Link{cfg: c}
	answer := l.ours(h.host, ours)
	answer.flags |= flagAgain
	if len(c.Token) > 0 {
		answer.options.challenge = c.Challenge[:]
	}
	start := len(dst)
	dst = binary.BigEndian.AppendUint16(dst, typeWelcome<<shiftType|Version)
	dst = answer.append(dst)
	return binary.BigEndian.AppendUint32(dst, crc32.ChecksumIEEE(dst[start:])^helloWord), 0
}
