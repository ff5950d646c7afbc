package datalink

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
)

// Types of control frames.
const (
	typeAck = iota
	typeNak
	typeCredit
	typePing
	typePong
	typeHello
	typeWelcome
	typeDown
)

// Bits of the first two bytes of a frame.
const (
	bitData   = 1 << 15
	bitAck    = 1 << 14
	shiftForm = 12
	shiftType = 12
	maskSeq   = 0xfff

	bitSeveral = 1 << 15 // of the word of the acknowledgement
)

// Overhead is the largest number of bytes that a data frame adds to its packet:
// header, acknowledgement and check.
const Overhead = 8

// MinFrame is the size of the smallest frame, in bytes.
const MinFrame = 6

const checkLen = 4

// LargestFrame returns the size of the largest frame, in bytes, of a link with packets
// of at most maxPacket bytes.
func LargestFrame(maxPacket int) int {
	return max(Overhead+maxPacket, MinFrame+maxHello, MinFrame+MaxWindow/8)
}

// helloWord is the word of frames that belong to no session.
const helloWord = 0x48494c47

// extend returns the part of a check that a number makes, if numbers are extended.
func (l *Link) extend(n uint64) uint32 {
	if !l.long {
		return 0
	}
	return uint32(n>>12) * 0x9e3779b1
}

// nearest returns the number next to reference that has a sequence number.
func nearest(reference uint64, seq uint16) uint64 {
	d := (uint64(seq) - reference) & maskSeq
	if d > maskSeq/2 {
		return reference + d - (maskSeq + 1)
	}
	return reference + d
}

// extension returns the part of a check of the session that the number of a frame
// makes.
func (l *Link) extension(body []byte) uint32 {
	h := binary.BigEndian.Uint16(body)
	switch {
	case h&bitData != 0:
		return l.extend(nearest(l.rx.next, h&maskSeq))
	case int(h>>shiftType) == typeDown:
		return 0
	}
	return l.extend(nearest(l.tx.first, h&maskSeq))
}

// finish appends the check to the frame that begins at start.
func (l *Link) finish(start int, word uint32, out *Output) {
	b := &out.Frames
	sum := crc32.ChecksumIEEE(b.buf[start:]) ^ word
	b.buf = binary.BigEndian.AppendUint32(b.buf, sum)
	b.close()
	l.stats.FramesSent++
	l.stats.BytesSent += uint64(len(b.buf) - start)
}

// sendControl sends a control frame of the session.
func (l *Link) sendControl(typ int, low uint16, body []byte, out *Output) {
	word := l.epoch
	if typ == typeHello || typ == typeWelcome {
		word = helloWord
	}
	l.seal(typ, low, body, word, out)
}

// seal sends a control frame whose check has the given word.
func (l *Link) seal(typ int, low uint16, body []byte, word uint32, out *Output) {
	b := &out.Frames
	start := b.open()
	b.buf = binary.BigEndian.AppendUint16(b.buf, uint16(typ)<<shiftType|low&maskSeq)
	b.buf = append(b.buf, body...)
	l.finish(start, word, out)
}

// sendAcked sends a control frame that carries an acknowledgement.
func (l *Link) sendAcked(typ int, body []byte, out *Output) {
	l.seal(typ, uint16(l.rx.next&maskSeq), body, l.epoch^l.extend(l.rx.next), out)
	l.rx.acknowledged()
}

// sendData sends the packets of a frame under its sequence number.
func (l *Link) sendData(n uint64, packets [][]byte, out *Output) {
	if len(packets) > 1 {
		l.sendBundle(n, packets, out)
		return
	}
	packet := packets[0]
	form := formOf(packet)
	h := bitData | uint16(form)<<shiftForm | uint16(n&maskSeq)
	b := &out.Frames
	start := b.open()
	if l.rx.unacked > 0 {
		b.buf = binary.BigEndian.AppendUint16(b.buf, h|bitAck)
		b.buf = binary.BigEndian.AppendUint16(b.buf, uint16(l.rx.next&maskSeq))
		l.rx.acknowledged()
	} else {
		b.buf = binary.BigEndian.AppendUint16(b.buf, h)
	}
	b.buf = appendForm(b.buf, form, packet)
	l.finish(start, l.epoch^l.extend(n), out)
}

// causes lists the causes that a Down frame can name, by code; 0 is any other.
var causes = [...]error{nil, ErrClosed, ErrReplay, ErrDead, ErrProtocol}

func downCode(cause error) uint16 {
	for i, c := range causes {
		if c != nil && errors.Is(cause, c) {
			return uint16(i)
		}
	}
	return 0
}
