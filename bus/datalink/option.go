package datalink

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"strings"
	"unicode"
)

// options follow the fixed fields of a hello. Each has a type, the length of its
// value in bytes, and the value. An end skips the options that it does not know.
//
//	type  value
//	1     none: sequence numbers are extended, see the package comment
//	2     of a Welcome, 16 bytes: the challenge for a proof
//	3     of a Hello, 16 bytes: the proof that the host has the token
//	4     of a Welcome that refuses, to 65 bytes: why, as a code and in words. Code 1
//	      is about the token, 0 everything else
//	5     2 bytes: the largest frame with several packets, in bytes, that the end takes
type options struct {
	long      bool
	challenge []byte
	proof     []byte
	code      byte
	refusal   string
	bundle    int // 0: the end takes no frame with several packets
}

// Codes of a refusal.
const (
	refusedOther = iota
	refusedToken
)

const (
	optionLong = iota + 1
	optionChallenge
	optionProof
	optionRefusal
	optionBundle
)

const (
	proofLen   = 16
	maxRefusal = 64
	maxOptions = 128 // bytes of all options of a hello
)

func (o *options) append(b []byte) []byte {
	if o.long {
		b = append(b, optionLong, 0)
	}
	if o.bundle > 0 {
		b = binary.BigEndian.AppendUint16(append(b, optionBundle, 2), uint16(o.bundle))
	}
	for _, v := range []struct {
		kind  byte
		value string
	}{{optionChallenge, string(o.challenge)}, {optionProof, string(o.proof)}, {optionRefusal, o.refused()}} {
		if v.value != "" {
			b = append(b, v.kind, byte(len(v.value)))
			b = append(b, v.value...)
		}
	}
	return b
}

// refused returns the value of the option of a refusal, or "".
func (o *options) refused() string {
	if o.refusal == "" {
		return ""
	}
	return string(o.code) + o.refusal
}

// parseOptions reports false if an option is cut off or has an impossible length.
func parseOptions(b []byte) (o options, ok bool) {
	for len(b) > 0 {
		if len(b) < 2 || len(b) < 2+int(b[1]) {
			return o, false
		}
		kind, value := b[0], b[2:2+int(b[1])]
		b = b[2+len(value):]
		switch {
		case kind == optionLong && len(value) == 0:
			o.long = true
		case kind == optionChallenge && len(value) == proofLen:
			o.challenge = append([]byte(nil), value...)
		case kind == optionProof && len(value) == proofLen:
			o.proof = append([]byte(nil), value...)
		case kind == optionRefusal && len(value) >= 1 && len(value) <= 1+maxRefusal:
			o.code, o.refusal = value[0], string(value[1:])
		case kind == optionBundle && len(value) == 2:
			o.bundle = int(binary.BigEndian.Uint16(value))
		case kind >= optionLong && kind <= optionBundle:
			return o, false
		}
	}
	return o, true
}

// proof returns the first half of the HMAC-SHA-256 (RFC 2104, FIPS 180-4), under the
// token, of a label, the challenge and the nonces of host and board.
func proof(token, challenge []byte, host, board uint32) []byte {
	mac := hmac.New(sha256.New, token)
	mac.Write([]byte("hilgpu link 2"))
	mac.Write(challenge)
	var nonces [8]byte
	binary.BigEndian.PutUint32(nonces[:], host)
	binary.BigEndian.PutUint32(nonces[4:], board)
	mac.Write(nonces[:])
	return mac.Sum(nil)[:proofLen]
}

// proves compares a proof in a time that does not depend on its bytes.
func proves(p, token, challenge []byte, host, board uint32) bool {
	return hmac.Equal(p, proof(token, challenge, host, board))
}

// printable replaces everything but printable characters: the text comes from the
// line.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) && r != unicode.ReplacementChar {
			return r
		}
		return '?'
	}, s)
}
