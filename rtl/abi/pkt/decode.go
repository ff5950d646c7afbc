package pkt

import "fmt"

// A Packet is a packet of any type.
type Packet interface {
	// Append appends the encoding to b. On an error it returns b unchanged.
	Append(b []byte) ([]byte, error)

	// Op returns the opcode.
	Op() uint8
}

// Op returns OpNOP.
func (NOP) Op() uint8 { return OpNOP }

// Op returns OpIndirect.
func (Indirect) Op() uint8 { return OpIndirect }

// Op returns OpSetState.
func (SetState) Op() uint8 { return OpSetState }

// Op returns OpCopy.
func (Copy) Op() uint8 { return OpCopy }

// Op returns OpCopy2D.
func (Copy2D) Op() uint8 { return OpCopy2D }

// Op returns OpFill.
func (Fill) Op() uint8 { return OpFill }

// Op returns OpFill2D.
func (Fill2D) Op() uint8 { return OpFill2D }

// Op returns OpWriteReg.
func (WriteReg) Op() uint8 { return OpWriteReg }

// Op returns OpTimestamp.
func (Timestamp) Op() uint8 { return OpTimestamp }

// Op returns OpPredicate.
func (Predicate) Op() uint8 { return OpPredicate }

// Op returns OpSignal.
func (Signal) Op() uint8 { return OpSignal }

// Op returns OpFence.
func (Fence) Op() uint8 { return OpFence }

// Op returns OpSetWindow.
func (SetWindow) Op() uint8 { return OpSetWindow }

// Op returns OpWaitFence.
func (WaitFence) Op() uint8 { return OpWaitFence }

// Op returns OpSaveState.
func (SaveState) Op() uint8 { return OpSaveState }

// Op returns OpRestoreState.
func (RestoreState) Op() uint8 { return OpRestoreState }

// Next checks the packet at the start of b and splits b after it. p has the
// header and the body. p and rest share memory with b. If there is no valid
// packet, rest is b, and err is the first of these errors:
//
//	ErrOpcode    the opcode is not in Table
//	ErrReserved  a reserved bit of the header is set
//	ErrLength    the body does not fit the opcode, or b ends inside the packet
//	ErrReserved  a reserved bit of the body is set
//	ErrAlign     a field is not a multiple of its Align
//	ErrRange     a field is above its Max
//
// Next does not check where a packet is legal, or which memory it may access.
func Next(b []byte) (l Layout, p, rest []byte, err error) {
	l, n, err := splitHeader(b)
	if err == nil {
		err = l.check(b[:n])
	}
	if err != nil {
		return Layout{}, nil, b, err
	}
	return l, b[:n:n], b[n:], nil
}

// splitHeader checks the header at the start of b and that b holds the packet. It
// returns the layout and the length of the packet in bytes.
func splitHeader(b []byte) (Layout, int, error) {
	if len(b) < 4 {
		return Layout{}, 0, fmt.Errorf("%w: %d bytes left, want a header of 4", ErrLength, len(b))
	}
	h := le.Uint32(b)
	l, ok := Lookup(uint8(h >> 24))
	if !ok {
		return Layout{}, 0, fmt.Errorf("%w: %#x in header %#08x", ErrOpcode, h>>24, h)
	}
	if h&HeaderReserved != 0 {
		return Layout{}, 0, fmt.Errorf("%w: %s header %#08x, want 23..16 zero", ErrReserved, l.Name, h)
	}
	body := h & HeaderBody
	if body != l.Body && !l.Variable {
		return Layout{}, 0, fmt.Errorf("%w: %s with a body of %d dwords, want %d", ErrLength, l.Name, body, l.Body)
	}
	n := 4 * (1 + int(body))
	if len(b) < n {
		return Layout{}, 0, fmt.Errorf("%w: %s of %d bytes, but %d are left", ErrLength, l.Name, n, len(b))
	}
	return l, n, nil
}

// check checks the fields of the packet p, whose header is valid.
func (l Layout) check(p []byte) error {
	for i := 1; i < len(p)/4; i++ {
		if v := dword(p, i) & l.Reserved(i); v != 0 {
			return fmt.Errorf("%w: %s dword %d has %#x, want these bits zero", ErrReserved, l.Name, i, v)
		}
	}
	for _, f := range l.Fields {
		if v := f.Get(p); f.Align != 0 && v%f.Align != 0 {
			return fmt.Errorf("%w: %s %s %#x, want a multiple of %d", ErrAlign, l.Name, f.Name, v, f.Align)
		}
	}
	for _, f := range l.Fields {
		if v := f.Get(p); f.Max != 0 && v > f.Max {
			return fmt.Errorf("%w: %s %s %d, want at most %d", ErrRange, l.Name, f.Name, v, f.Max)
		}
	}
	return nil
}

// Decode decodes the packet at the start of b and returns the bytes after it. It
// fails as Next does; then the packet is nil and rest is b. Append gives the same
// bytes again, except for the body of a NOP, which is not kept.
func Decode(b []byte) (pk Packet, rest []byte, err error) {
	l, p, rest, err := Next(b)
	if err != nil {
		return nil, rest, err
	}
	switch l.Op {
	case OpNOP:
		pk = parseNOP(p)
	case OpIndirect:
		pk = parseIndirect(p)
	case OpSetState:
		pk = parseSetState(p)
	case OpCopy:
		pk = parseCopy(p)
	case OpCopy2D:
		pk = parseCopy2D(p)
	case OpFill:
		pk = parseFill(p)
	case OpFill2D:
		pk = parseFill2D(p)
	case OpWriteReg:
		pk = parseWriteReg(p)
	case OpTimestamp:
		pk = parseTimestamp(p)
	case OpPredicate:
		pk = parsePredicate(p)
	case OpSignal:
		pk = parseSignal(p)
	case OpFence:
		pk = parseFence(p)
	case OpSetWindow:
		pk = parseSetWindow(p)
	case OpWaitFence:
		pk = parseWaitFence(p)
	case OpSaveState:
		pk = parseSaveState(p)
	case OpRestoreState:
		pk = parseRestoreState(p)
	default:
		panic("pkt: Table has an opcode that Decode lacks: " + l.Name)
	}
	return pk, rest, nil
}

// DecodeNOP is Decode for a NOP; another opcode is ErrOpcode.
func DecodeNOP(b []byte) (NOP, []byte, error) { return decode(b, parseNOP) }

// DecodeIndirect is Decode for an Indirect; another opcode is ErrOpcode.
func DecodeIndirect(b []byte) (Indirect, []byte, error) { return decode(b, parseIndirect) }

// DecodeSetState is Decode for a SetState; another opcode is ErrOpcode.
func DecodeSetState(b []byte) (SetState, []byte, error) { return decode(b, parseSetState) }

// DecodeCopy is Decode for a Copy; another opcode is ErrOpcode.
func DecodeCopy(b []byte) (Copy, []byte, error) { return decode(b, parseCopy) }

// DecodeCopy2D is Decode for a Copy2D; another opcode is ErrOpcode.
func DecodeCopy2D(b []byte) (Copy2D, []byte, error) { return decode(b, parseCopy2D) }

// DecodeFill is Decode for a Fill; another opcode is ErrOpcode.
func DecodeFill(b []byte) (Fill, []byte, error) { return decode(b, parseFill) }

// DecodeFill2D is Decode for a Fill2D; another opcode is ErrOpcode.
func DecodeFill2D(b []byte) (Fill2D, []byte, error) { return decode(b, parseFill2D) }

// DecodeWriteReg is Decode for a WriteReg; another opcode is ErrOpcode.
func DecodeWriteReg(b []byte) (WriteReg, []byte, error) { return decode(b, parseWriteReg) }

// DecodeTimestamp is Decode for a Timestamp; another opcode is ErrOpcode.
func DecodeTimestamp(b []byte) (Timestamp, []byte, error) { return decode(b, parseTimestamp) }

// DecodePredicate is Decode for a Predicate; another opcode is ErrOpcode.
func DecodePredicate(b []byte) (Predicate, []byte, error) { return decode(b, parsePredicate) }

// DecodeSignal is Decode for a Signal; another opcode is ErrOpcode.
func DecodeSignal(b []byte) (Signal, []byte, error) { return decode(b, parseSignal) }

// DecodeFence is Decode for a Fence; another opcode is ErrOpcode.
func DecodeFence(b []byte) (Fence, []byte, error) { return decode(b, parseFence) }

// DecodeSetWindow is Decode for a SetWindow; another opcode is ErrOpcode.
func DecodeSetWindow(b []byte) (SetWindow, []byte, error) { return decode(b, parseSetWindow) }

// DecodeWaitFence is Decode for a WaitFence; another opcode is ErrOpcode.
func DecodeWaitFence(b []byte) (WaitFence, []byte, error) { return decode(b, parseWaitFence) }

// DecodeSaveState is Decode for a SaveState; another opcode is ErrOpcode.
func DecodeSaveState(b []byte) (SaveState, []byte, error) { return decode(b, parseSaveState) }

// DecodeRestoreState is Decode for a RestoreState; another opcode is ErrOpcode.
func DecodeRestoreState(b []byte) (RestoreState, []byte, error) {
	return decode(b, parseRestoreState)
}

func decode[T Packet](b []byte, parse func([]byte) T) (T, []byte, error) {
	var zero T
	l, p, rest, err := Next(b)
	if err != nil {
		return zero, rest, err
	}
	if l.Op != zero.Op() {
		return zero, b, fmt.Errorf("%w: %s, want opcode %#x", ErrOpcode, l.Name, zero.Op())
	}
	return parse(p), rest, nil
}
