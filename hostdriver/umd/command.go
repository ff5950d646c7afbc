package umd

import "github.com/hilgpu/hilgpu/runtime/ddi/umddi"

// A command of a list starts with a dword for its opcode and a dword for its
// size in bytes, a multiple of commandAlign. An ID is two dwords, slot and
// generation.
//
//	copy       dst id, src id
//	region     dst id, src id, dst subresource, x, y, z, src subresource,
//	           1 if there is a box, the box: left, top, front, right, bottom, back
//	update     dst id, subresource, bytes of a row, the part: left, top, right,
//	           bottom, then its rows
//	clear      view id, red, green, blue, alpha as floats
//	end        query id
//	predicate  query id, 0 for none, 1 if TRUE skips, 0
//	discard    resource id, subresource, bytes of contents, their offset in the
//	           command, 0, then the contents in the layout of the resource
//	pad        nothing, and does nothing
type opcode uint32

// The commands. 0 is not a command.
const (
	opCopy opcode = iota + 1
	opRegion
	opUpdate
	opClear
	opEnd
	opPredicate
	opDiscard
	opPad
)

// Sizes of commands and alignments in a list, in bytes. For commands with
// contents, the size of the part before the contents.
const (
	commandAlign     = 8
	contentAlign     = 16 // of discarded contents, in the chunk's memory
	headerBytes      = 8
	copyCommand      = 24
	regionCommand    = 72
	updateCommand    = 40
	clearCommand     = 32
	endCommand       = 16
	predicateCommand = 24
	discardCommand   = 32
)

// fixedBytes returns the minimum size of a command, which is the exact size of
// a command without contents. It returns 0 for an invalid opcode.
func (op opcode) fixedBytes() int {
	switch op {
	case opCopy:
		return copyCommand
	case opRegion:
		return regionCommand
	case opUpdate:
		return updateCommand
	case opClear:
		return clearCommand
	case opEnd:
		return endCommand
	case opPredicate:
		return predicateCommand
	case opDiscard:
		return discardCommand
	case opPad:
		return headerBytes
	}
	return 0
}

// putHeader writes the header of a command of n bytes to p.
func putHeader(p []byte, op opcode, n int) {
	le.PutUint64(p, uint64(op)|uint64(n)<<32)
}

// putWords writes dwords at the start of p.
func putWords(p []byte, words ...uint32) {
	for i, w := range words {
		le.PutUint32(p[4*i:], w)
	}
}

// nextCommand splits the first command off p. ok is false if p does not start
// with a valid command.
func nextCommand(p []byte) (op opcode, cmd, rest []byte, ok bool) {
	if len(p) < headerBytes {
		return 0, nil, nil, false
	}
	h := le.Uint64(p)
	op, n := opcode(h), h>>32
	if fixed := op.fixedBytes(); fixed == 0 || n < uint64(fixed) || n > uint64(len(p)) {
		return 0, nil, nil, false
	}
	return op, p[:n], p[n:], true
}

// commandID returns the ID at the start of p.
func commandID(p []byte) id { return idOf(le.Uint64(p)) }

// putBox writes a box, or its absence, to the first 28 bytes of p.
func putBox(p []byte, b *umddi.Box) {
	if b == nil {
		clear(p[:28])
		return
	}
	putWords(p, 1, b.Left, b.Top, b.Front, b.Right, b.Bottom, b.Back)
}

// boxAt decodes a box written by putBox into b. It returns nil if there is
// none.
func boxAt(p []byte, b *umddi.Box) *umddi.Box {
	if le.Uint32(p) == 0 {
		return nil
	}
	w := func(i int) uint32 { return le.Uint32(p[4*i:]) }
	*b = umddi.Box{Left: w(1), Top: w(2), Front: w(3), Right: w(4), Bottom: w(5), Back: w(6)}
	return b
}
