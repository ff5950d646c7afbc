package nettlp

import (
	"encoding/binary"

	"github.com/hilgpu/hilgpu/bus/tlp"
)

// A Question is what a device asks the driver of the adapter: four bytes. All integers
// of questions and answers are little-endian.
type Question uint32

// The questions and the sizes of their answers in bytes.
const (
	AskWindow  Question = 1 // the address of BAR 4: 8
	AskID      Question = 2 // bus, device and function: 2
	AskVectors Question = 3 // the MSI-X table, 16 entries of an address and 4 bytes of data: 192
)

const (
	questionLen = 4
	windowLen   = 8
	idLen       = 2
	vectorLen   = 12
	vectors     = 16
	vectorsLen  = vectors * vectorLen
)

// A Vector is an entry of the MSI-X table; Addr 0 is one that is not in use.
type Vector struct {
	Addr uint64
	Data uint32
}

// appendQuestion appends a question to b.
func appendQuestion(b []byte, q Question) []byte {
	return binary.LittleEndian.AppendUint32(b, uint32(q))
}

// Facts are the answers to the questions.
type Facts struct {
	Window  uint64
	ID      tlp.ID
	Vectors [vectors]Vector
}

// answer returns the answer to a question, or nil if it is none.
func (f *Facts) answer(question []byte) []byte {
	if len(question) != questionLen {
		return nil
	}
	switch Question(binary.LittleEndian.Uint32(question)) {
	case AskWindow:
		return binary.LittleEndian.AppendUint64(nil, f.Window)
	case AskID:
		return binary.LittleEndian.AppendUint16(nil, uint16(f.ID))
	case AskVectors:
		b := make([]byte, 0, vectorsLen)
		for _, v := range f.Vectors {
			b = binary.LittleEndian.AppendUint64(b, v.Addr)
			b = binary.LittleEndian.AppendUint32(b, v.Data)
		}
		return b
	}
	return nil
}

// learn stores an answer, whose size tells the question. It returns the question, or 0.
func (f *Facts) learn(answer []byte) Question {
	switch len(answer) {
	case windowLen:
		f.Window = binary.LittleEndian.Uint64(answer)
		return AskWindow
	case idLen:
		id := tlp.ID(binary.LittleEndian.Uint16(answer))
		if id&7 != 0 {
			return 0 // an adapter has only function 0
		}
		f.ID = id
		return AskID
	case vectorsLen:
		for i := range f.Vectors {
			b := answer[i*vectorLen:]
			f.Vectors[i] = Vector{binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint32(b[8:])}
		}
		return AskVectors
	}
	return 0
}
