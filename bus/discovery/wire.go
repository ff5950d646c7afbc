// Package discovery finds the boards in a network. A host asks by broadcast, and each
// board answers to the address that asked.
//
// Questions and answers are datagrams, on UDP at port Port and on Ethernet with the
// EtherType ether.Discovery. Fields are big-endian.
//
//	bytes   field
//	0..5    "hilgpu"
//	6       version, 1
//	7       0 question, 1 answer
//	8..11   nonce of the question
//	        answer:
//	12      what the board is: 0 an emulator, 1 gateware
//	13      transport: 0 tcp, 1 udp, 2 eth
//	14      flags: 0 the board wants a token; others 0
//	15      0
//	16, 17  port of tcp and udp
//	18..21  hash of the register map; 0: any
//	22...   length and text of the name, length and text of the address of the host
//	        that has the board; no address if nobody has it
//	last 4  CRC-32 (IEEE 802.3) of all bytes before it
//
// A question is padded with zeros to QuestionLen bytes, and an answer is never longer. So
// nobody can use boards to multiply traffic to a forged address.
package discovery

import (
	"encoding/binary"
	"hash/crc32"
	"strings"
	"unicode"
)

// Port is the UDP port of questions: "HG" in ASCII.
const Port = 0x4847

// QuestionLen is the size of a question, in bytes.
const QuestionLen = 256

// A Kind is what a board is.
type Kind uint8

// The kinds.
const (
	Emulator Kind = iota
	Gateware
)

// String returns the name of the kind.
func (k Kind) String() string {
	switch k {
	case Emulator:
		return "emulator"
	case Gateware:
		return "gateware"
	}
	return "unknown"
}

// A Board is what a board answers.
type Board struct {
	Kind    Kind
	Scheme  string // tcp, udp or eth
	Port    int    // of tcp and udp
	Token   bool   // the board wants one
	MapHash uint32 // of the register map; 0: any
	Name    string // at most 64 bytes
	Holder  string // address of the host that has the board, at most 64 bytes; "" if nobody has it
}

const (
	magic     = "hilgpu"
	version   = 1
	headLen   = 12
	answerLen = 22 // without texts and check
	checkLen  = 4
	maxText   = 64 // of a name or an address, in bytes
	flagToken = 1
)

const (
	typeQuestion = iota
	typeAnswer
)

// schemes are the names of the transports.
var schemes = [...]string{"tcp", "udp", "eth"}

func appendHead(b []byte, typ byte, nonce uint32) []byte {
	b = append(b, magic...)
	b = append(b, version, typ)
	return binary.BigEndian.AppendUint32(b, nonce)
}

func appendCheck(b []byte, start int) []byte {
	return binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b[start:]))
}

// open checks the head and the check of a message.
func open(p []byte, typ byte) (body []byte, nonce uint32, ok bool) {
	if len(p) < headLen+checkLen || string(p[:len(magic)]) != magic || p[6] != version || p[7] != typ {
		return nil, 0, false
	}
	end := len(p) - checkLen
	if crc32.ChecksumIEEE(p[:end]) != binary.BigEndian.Uint32(p[end:]) {
		return nil, 0, false
	}
	return p[headLen:end], binary.BigEndian.Uint32(p[8:]), true
}

// AppendQuestion appends a question to b.
func AppendQuestion(b []byte, nonce uint32) []byte {
	start := len(b)
	b = appendHead(b, typeQuestion, nonce)
	b = append(b, make([]byte, QuestionLen-headLen-checkLen)...)
	return appendCheck(b, start)
}

// ParseQuestion returns the nonce of a question.
func ParseQuestion(p []byte) (nonce uint32, ok bool) {
	_, nonce, ok = open(p, typeQuestion)
	return nonce, ok && len(p) == QuestionLen
}

// AppendAnswer appends the answer to a question. Texts that are too long are cut.
func AppendAnswer(b []byte, nonce uint32, a Board) []byte {
	start := len(b)
	b = appendHead(b, typeAnswer, nonce)
	var scheme, flags byte
	for i, s := range schemes {
		if s == a.Scheme {
			scheme = byte(i)
		}
	}
	if a.Token {
		flags |= flagToken
	}
	b = append(b, byte(a.Kind), scheme, flags, 0)
	b = binary.BigEndian.AppendUint16(b, uint16(a.Port))
	b = binary.BigEndian.AppendUint32(b, a.MapHash)
	for _, text := range []string{a.Name, a.Holder} {
		text = text[:min(len(text), maxText)]
		b = append(append(b, byte(len(text))), text...)
	}
	return appendCheck(b, start)
}

// ParseAnswer returns the answer to the question with a nonce. Characters of its texts
// that cannot be printed become question marks.
func ParseAnswer(p []byte, nonce uint32) (a Board, ok bool) {
	body, answered, ok := open(p, typeAnswer)
	if !ok || answered != nonce || len(body) < answerLen-headLen || int(body[1]) >= len(schemes) {
		return a, false
	}
	a = Board{
		Kind: Kind(body[0]), Scheme: schemes[body[1]], Token: body[2]&flagToken != 0,
		Port: int(binary.BigEndian.Uint16(body[4:])), MapHash: binary.BigEndian.Uint32(body[6:]),
	}
	rest := body[answerLen-headLen:]
	for _, text := range []*string{&a.Name, &a.Holder} {
		if len(rest) == 0 || len(rest) < 1+int(rest[0]) || rest[0] > maxText {
			return a, false
		}
		*text = printable(string(rest[1 : 1+rest[0]]))
		rest = rest[1+rest[0]:]
	}
	return a, len(rest) == 0
}

// printable replaces everything but printable characters: the text comes from the
// network.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) && r != unicode.ReplacementChar {
			return r
		}
		return '?'
	}, s)
}
