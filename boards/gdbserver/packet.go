package gdbserver

import (
	"bufio"
	"encoding/hex"
)

// maxPacket is the largest packet that is read, in bytes between $ and #.
const maxPacket = 0x1000

// A kind tells messages apart.
type kind uint8

const (
	request   kind = iota // a packet with the right checksum
	broken                // a packet with a wrong checksum, a wrong escape, or one that is too long
	nack                  // the client did not understand the last packet
	interrupt             // ctrl-C
)

// A message is what a client sends at once. Data is what is between $ and #, without escapes.
type message struct {
	kind kind
	data string
}

// next reads the next message. Acknowledgments, and bytes between packets that mean nothing,
// are passed over. It fails only if r does.
func next(r *bufio.Reader) (message, error) {
	for {
		b, err := r.ReadByte()
		switch {
		case err != nil:
			return message{}, err
		case b == '-':
			return message{kind: nack}, nil
		case b == 0x03:
			return message{kind: interrupt}, nil
		case b == '$':
			return body(r)
		}
	}
}

// body reads a packet after its $. A $ within starts it again.
func body(r *bufio.Reader) (message, error) {
	var raw []byte
	sum := byte(0)
	for {
		b, err := r.ReadByte()
		switch {
		case err != nil:
			return message{}, err
		case b == '$':
			raw, sum = raw[:0], 0
			continue
		case b == '#':
			return checked(r, raw, sum)
		}
		sum += b
		if len(raw) <= maxPacket {
			raw = append(raw, b)
		}
	}
}

// checked reads a checksum, and returns the packet.
func checked(r *bufio.Reader, raw []byte, sum byte) (message, error) {
	var digits [2]byte
	for i := range digits {
		var err error
		if digits[i], err = r.ReadByte(); err != nil {
			return message{}, err
		}
	}
	var want [1]byte
	if _, err := hex.Decode(want[:], digits[:]); err != nil || want[0] != sum || len(raw) > maxPacket {
		return message{kind: broken}, nil
	}
	data := make([]byte, 0, len(raw))
	for i := 0; i < len(raw); i++ {
		b := raw[i]
		if b == '}' {
			if i++; i == len(raw) {
				return message{kind: broken}, nil
			}
			b = raw[i] ^ 0x20
		}
		data = append(data, b)
	}
	return message{request, string(data)}, nil
}

// packet returns the bytes of a packet with data.
func packet(data string) []byte {
	out := append(make([]byte, 0, len(data)+4), '$')
	for _, b := range []byte(data) {
		switch b {
		case '$', '#', '}', '*':
			out = append(out, '}', b^0x20)
		default:
			out = append(out, b)
		}
	}
	sum := byte(0)
	for _, b := range out[1:] {
		sum += b
	}
	return append(out, '#', hexDigits[sum>>4], hexDigits[sum&15])
}

const hexDigits = "0123456789abcdef"
