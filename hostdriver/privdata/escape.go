package privdata

import "fmt"

// EscapeMagic is the first dword of an Escape, "HGE1".
const EscapeMagic = 0x31454748

// EscapeBytes is the size of its encoding.
const EscapeBytes = 32

// Op is what a tool asks the miniport.
type Op uint32

// The operations of an Escape.
const (
	ReadRegister Op = 1 // Argument: offset of a register in BAR0; Result[0]: its value
	ReadNode     Op = 2 // Argument: a node; Result: see Node
)

// Escape is what a tool sends to the miniport, and gets back with its results.
//
//	dword  bits   field
//	0      31..0  EscapeMagic
//	1      31..0  Op, 1 or 2
//	2      31..0  Argument
//	3 to 7 31..0  Result, 0 in a request
type Escape struct {
	Op       Op
	Argument uint32
	Result   [5]uint32
}

// Append appends the encoding of e to b.
func (e Escape) Append(b []byte) []byte {
	b = le.AppendUint32(b, EscapeMagic)
	b = le.AppendUint32(b, uint32(e.Op))
	b = le.AppendUint32(b, e.Argument)
	for _, v := range e.Result {
		b = le.AppendUint32(b, v)
	}
	return b
}

// DecodeEscape decodes the encoding of Append. Whether the operation has the argument is not
// checked.
func DecodeEscape(b []byte) (Escape, error) {
	if len(b) != EscapeBytes || le.Uint32(b) != EscapeMagic {
		return Escape{}, fmt.Errorf("%w: an escape of %d bytes, want %d with the magic %#x", ErrFormat, len(b), EscapeBytes, uint32(EscapeMagic))
	}
	e := Escape{Op: Op(le.Uint32(b[4:])), Argument: le.Uint32(b[8:])}
	for i := range e.Result {
		e.Result[i] = le.Uint32(b[12+4*i:])
	}
	if e.Op != ReadRegister && e.Op != ReadNode {
		return Escape{}, fmt.Errorf("%w: operation %d of an escape, want %d or %d", ErrFormat, e.Op, ReadRegister, ReadNode)
	}
	return e, nil
}

// Node is what the miniport knows of a node, the Result of ReadNode.
type Node struct {
	Submitted uint32 // fence that was submitted last
	Reported  uint32 // fence that was reported last
	Busy      bool   // submissions have not completed
	Failed    bool   // the node takes no more work until it is reset
}

// Results returns the encoding of n.
func (n Node) Results() [5]uint32 {
	return [5]uint32{n.Submitted, n.Reported, bit(n.Busy), bit(n.Failed)}
}

// NodeOf decodes what Results returned.
func NodeOf(r [5]uint32) Node { return Node{r[0], r[1], r[2] != 0, r[3] != 0} }

func bit(v bool) uint32 {
	if v {
		return 1
	}
	return 0
}
