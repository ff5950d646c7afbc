package pkt

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Errors of encoding and decoding. Each corresponds to a fault cause of the
// command processor.
var (
	ErrOpcode   = errors.New("pkt: unknown opcode")
	ErrReserved = errors.New("pkt: reserved bit set")
	ErrLength   = errors.New("pkt: bad length")
	ErrAlign    = errors.New("pkt: misaligned address")
	ErrRange    = errors.New("pkt: field out of range")
)

var le = binary.LittleEndian

func header(op, body uint32) uint32 { return op<<24 | body }

func pair(lo, hi uint16) uint32 { return uint32(lo) | uint32(hi)<<16 }

func flag(b bool) uint32 {
	if b {
		return 1
	}
	return 0
}

// Append appends the encoding of p, with a body of zeros, to b.
func (p NOP) Append(b []byte) ([]byte, error) {
	b = le.AppendUint32(b, header(OpNOP, uint32(p.Skip)))
	return append(b, make([]byte, 4*int(p.Skip))...), nil
}

// Append appends the encoding of p to b. It fails with ErrAlign or ErrRange and
// leaves b as it was.
func (p Indirect) Append(b []byte) ([]byte, error) {
	if p.Addr%4 != 0 {
		return b, fmt.Errorf("%w: indirect buffer at %#x, want a multiple of 4", ErrAlign, p.Addr)
	}
	if p.Dwords > MaxIndirect {
		return b, fmt.Errorf("%w: indirect buffer of %d dwords, want at most %d", ErrRange, p.Dwords, MaxIndirect)
	}
	b = le.AppendUint32(b, header(OpIndirect, IndirectBody))
	b = le.AppendUint64(b, p.Addr)
	return le.AppendUint32(b, p.Dwords|flag(p.Resume)<<20), nil
}

// Append appends the encoding of p to b. It fails with ErrRange and leaves b as
// it was.
func (p SetState) Append(b []byte) ([]byte, error) {
	if err := p.check(); err != nil {
		return b, err
	}
	b = le.AppendUint32(b, header(OpSetState, SetStateBody))
	b = le.AppendUint32(b, uint32(p.Surface))
	b = le.AppendUint64(b, p.Base)
	b = le.AppendUint32(b, p.Pitch)
	b = le.AppendUint32(b, uint32(p.Format))
	b = le.AppendUint32(b, pair(p.X0, p.Y0))
	return le.AppendUint32(b, pair(p.X1, p.Y1)), nil
}

func (p SetState) check() error {
	switch {
	case p.Surface > Dest:
		return fmt.Errorf("%w: surface %d, want 0 or 1", ErrRange, p.Surface)
	case p.Pitch > MaxPitch:
		return fmt.Errorf("%w: pitch %d, want at most %d", ErrRange, p.Pitch, MaxPitch)
	case p.Format > Format128:
		return fmt.Errorf("%w: format %d, want at most %d", ErrRange, p.Format, Format128)
	}
	return checkCoords(p.X0, p.Y0, p.X1, p.Y1)
}

func checkCoords(cs ...uint16) error {
	for _, c := range cs {
		if c > MaxCoord {
			return fmt.Errorf("%w: coordinate %d, want at most %d", ErrRange, c, MaxCoord)
		}
	}
	return nil
}

// Append appends the encoding of p to b.
func (p Copy) Append(b []byte) ([]byte, error) {
	b = le.AppendUint32(b, header(OpCopy, CopyBody))
	b = le.AppendUint64(b, p.Src)
	b = le.AppendUint64(b, p.Dst)
	return le.AppendUint32(b, p.Bytes), nil
}

// Append appends the encoding of p to b. It fails with ErrRange and leaves b as
// it was.
func (p Copy2D) Append(b []byte) ([]byte, error) {
	if err := checkCoords(p.SrcX, p.SrcY, p.DstX, p.DstY, p.W, p.H); err != nil {
		return b, err
	}
	b = le.AppendUint32(b, header(OpCopy2D, Copy2DBody))
	b = le.AppendUint32(b, pair(p.SrcX, p.SrcY))
	b = le.AppendUint32(b, pair(p.DstX, p.DstY))
	return le.AppendUint32(b, pair(p.W, p.H)), nil
}

// Append appends the encoding of p to b.
func (p Fill) Append(b []byte) ([]byte, error) {
	b = le.AppendUint32(b, header(OpFill, FillBody))
	b = le.AppendUint64(b, p.Dst)
	b = le.AppendUint32(b, p.Bytes)
	return le.AppendUint64(b, p.Value), nil
}

// Append appends the encoding of p to b. It fails with ErrRange and leaves b as
// it was.
func (p Fill2D) Append(b []byte) ([]byte, error) {
	if err := checkCoords(p.X, p.Y, p.W, p.H); err != nil {
		return b, err
	}
	b = le.AppendUint32(b, header(OpFill2D, Fill2DBody))
	b = le.AppendUint32(b, pair(p.X, p.Y))
	b = le.AppendUint32(b, pair(p.W, p.H))
	return le.AppendUint64(b, p.Value), nil
}

// Append appends the encoding of p to b. It fails with ErrRange or ErrAlign and
// leaves b as it was.
func (p WriteReg) Append(b []byte) ([]byte, error) {
	if p.Off > 0xffff {
		return b, fmt.Errorf("%w: register offset %#x, want at most 0xffff", ErrRange, p.Off)
	}
	if p.Off%4 != 0 {
		return b, fmt.Errorf("%w: register offset %#x, want a multiple of 4", ErrAlign, p.Off)
	}
	b = le.AppendUint32(b, header(OpWriteReg, WriteRegBody))
	b = le.AppendUint32(b, p.Off)
	return le.AppendUint32(b, p.Value), nil
}

// Append appends the encoding of p to b. It fails with ErrRange and leaves b as
// it was.
func (p SetWindow) Append(b []byte) ([]byte, error) {
	if p.Index >= Windows {
		return b, fmt.Errorf("%w: window %d, want at most %d", ErrRange, p.Index, Windows-1)
	}
	b = le.AppendUint32(b, header(OpSetWindow, SetWindowBody))
	b = le.AppendUint32(b, uint32(p.Index)|flag(p.Writable)<<2)
	b = le.AppendUint64(b, p.Base)
	return le.AppendUint64(b, p.Size), nil
}

// Append appends the encoding of p to b. It fails with ErrRange and leaves b as
// it was.
func (p WaitFence) Append(b []byte) ([]byte, error) {
	if p.Node > 1 {
		return b, fmt.Errorf("%w: node %d, want 0 or 1", ErrRange, p.Node)
	}
	b = le.AppendUint32(b, header(OpWaitFence, WaitFenceBody))
	b = le.AppendUint32(b, uint32(p.Node))
	return le.AppendUint64(b, p.Value), nil
}

// Append appends the encoding of p to b. It fails with ErrAlign and leaves b as
// it was.
func (p SaveState) Append(b []byte) ([]byte, error) {
	return appendState(b, OpSaveState, SaveStateBody, p.Addr)
}

// Append appends the encoding of p to b. It fails with ErrAlign and leaves b as
// it was.
func (p RestoreState) Append(b []byte) ([]byte, error) {
	return appendState(b, OpRestoreState, RestoreStateBody, p.Addr)
}

func appendState(b []byte, op, body uint32, addr uint64) ([]byte, error) {
	if addr%StateBytes != 0 {
		return b, fmt.Errorf("%w: state at %#x, want a multiple of %d", ErrAlign, addr, StateBytes)
	}
	b = le.AppendUint32(b, header(op, body))
	return le.AppendUint64(b, addr), nil
}

// Append appends the encoding of p to b. It fails with ErrAlign and leaves b as
// it was.
func (p Timestamp) Append(b []byte) ([]byte, error) {
	if p.Addr%8 != 0 {
		return b, fmt.Errorf("%w: timestamp at %#x, want a multiple of 8", ErrAlign, p.Addr)
	}
	b = le.AppendUint32(b, header(OpTimestamp, TimestampBody))
	return le.AppendUint64(b, p.Addr), nil
}

// Append appends the encoding of p to b. It fails with ErrAlign and leaves b as
// it was.
func (p Predicate) Append(b []byte) ([]byte, error) {
	if p.Addr%8 != 0 {
		return b, fmt.Errorf("%w: predicate at %#x, want a multiple of 8", ErrAlign, p.Addr)
	}
	b = le.AppendUint32(b, header(OpPredicate, PredicateBody))
	b = le.AppendUint64(b, p.Addr)
	return le.AppendUint32(b, uint32(p.Dwords)|flag(p.NonZero)<<16), nil
}

// Append appends the encoding of p to b. It fails with ErrAlign and leaves b as
// it was.
func (p Signal) Append(b []byte) ([]byte, error) {
	if p.Addr%8 != 0 {
		return b, fmt.Errorf("%w: signal at %#x, want a multiple of 8", ErrAlign, p.Addr)
	}
	b = le.AppendUint32(b, header(OpSignal, SignalBody))
	b = le.AppendUint64(b, p.Addr)
	b = le.AppendUint64(b, p.Value)
	return le.AppendUint32(b, flag(p.IRQ)), nil
}

// Append appends the encoding of p to b. It fails with ErrAlign and leaves b as
// it was.
func (p Fence) Append(b []byte) ([]byte, error) {
	if p.Addr%8 != 0 {
		return b, fmt.Errorf("%w: fence at %#x, want a multiple of 8", ErrAlign, p.Addr)
	}
	b = le.AppendUint32(b, header(OpFence, FenceBody))
	b = le.AppendUint64(b, p.Addr)
	b = le.AppendUint32(b, p.ID)
	return le.AppendUint32(b, flag(p.IRQ)), nil
}
