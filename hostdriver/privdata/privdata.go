// Package privdata declares the private formats shared by the user-mode driver
// and the miniport. Their content is untrusted: Decode checks the size, the
// version and each range, and the receiver must check the rest.
package privdata

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
)

// ErrFormat is returned, wrapped, for data that does not decode.
var ErrFormat = errors.New("privdata: bad private data")

var le = binary.LittleEndian

// Magic numbers, the first dword of each structure. They change with its
// layout.
const (
	AdapterMagic    = 0x31414748 // "HGA1"
	AllocationMagic = 0x31524748 // "HGR1"
)

// Sizes of the encodings, in bytes.
const (
	AdapterBytes    = 40
	AllocationBytes = 40
)

// Adapter is the miniport's answer to a UMDRIVERPRIVATE query: the properties
// of the GPU for the user-mode driver.
//
//	dword  bits   field
//	0      31..0  AdapterMagic
//	1      31..0  MapHash
//	2      31..0  Nodes
//	3      31..0  LengthBits
//	4, 5   63..0  VRAMBytes
//	6      31..0  ClockHz
//	7..9   31..0  0
type Adapter struct {
	MapHash    uint32 // ID.MAP_HASH of the device
	Nodes      uint32 // 1 or 2
	LengthBits uint32 // width of a linear packet's byte count, in bits
	VRAMBytes  uint64
	ClockHz    uint32
}

// Append appends the encoding of a to b.
func (a Adapter) Append(b []byte) []byte {
	for _, v := range [...]uint32{AdapterMagic, a.MapHash, a.Nodes, a.LengthBits} {
		b = le.AppendUint32(b, v)
	}
	b = le.AppendUint64(b, a.VRAMBytes)
	b = le.AppendUint32(b, a.ClockHz)
	return append(b, make([]byte, 12)...)
}

// DecodeAdapter decodes the encoding of Append.
func DecodeAdapter(b []byte) (Adapter, error) {
	if len(b) != AdapterBytes || le.Uint32(b) != AdapterMagic {
		return Adapter{}, fmt.Errorf("%w: adapter data of %d bytes, want %d with the magic %#x", ErrFormat, len(b), AdapterBytes, uint32(AdapterMagic))
	}
	return Adapter{
		MapHash: le.Uint32(b[4:]), Nodes: le.Uint32(b[8:]), LengthBits: le.Uint32(b[12:]),
		VRAMBytes: le.Uint64(b[16:]), ClockHz: le.Uint32(b[24:]),
	}, nil
}

// Place is the set of memories in which an allocation may reside.
type Place uint32

// The places.
const (
	Local  Place = iota // VRAM
	Either              // VRAM if there is room, otherwise host memory
	System              // host memory; may be locked
	Result              // memory for the words of TIMESTAMP and PREDICATE; may be locked
)

// Allocation describes an allocation and, for presents, the surface at its
// start: the first subresource.
//
//	dword  bits   field
//	0      31..0  AllocationMagic
//	1      31..0  Place, 0 to 3
//	2, 3   63..0  Bytes
//	4      31..0  Width
//	5      31..0  Height
//	6      31..0  Pitch
//	7      31..0  Format, 0 to 4
//	8, 9   31..0  0
type Allocation struct {
	Place         Place
	Bytes         uint64 // not 0
	Width, Height uint32 // of the surface, in elements, at most pkt.MaxCoord; 0 without surface
	Pitch         uint32 // bytes, at most pkt.MaxPitch
	Format        pkt.Format
}

// Append appends the encoding of a to b.
func (a Allocation) Append(b []byte) []byte {
	b = le.AppendUint32(b, AllocationMagic)
	b = le.AppendUint32(b, uint32(a.Place))
	b = le.AppendUint64(b, a.Bytes)
	for _, v := range [...]uint32{a.Width, a.Height, a.Pitch, uint32(a.Format), 0, 0} {
		b = le.AppendUint32(b, v)
	}
	return b
}

// DecodeAllocation decodes the encoding of Append. It refuses an allocation
// that does not contain its surface, or whose last dwords are not 0.
func DecodeAllocation(b []byte) (Allocation, error) {
	if len(b) != AllocationBytes || le.Uint32(b) != AllocationMagic {
		return Allocation{}, fmt.Errorf("%w: allocation data of %d bytes, want %d with the magic %#x", ErrFormat, len(b), AllocationBytes, uint32(AllocationMagic))
	}
	a := Allocation{
		Place: Place(le.Uint32(b[4:])), Bytes: le.Uint64(b[8:]), Width: le.Uint32(b[16:]), Height: le.Uint32(b[20:]),
		Pitch: le.Uint32(b[24:]), Format: pkt.Format(min(le.Uint32(b[28:]), 0xff)),
	}
	switch {
	case a.Place > Result:
		return Allocation{}, fmt.Errorf("%w: place %d, want at most %d", ErrFormat, a.Place, Result)
	case a.Bytes == 0 || a.Bytes > 1<<40:
		return Allocation{}, fmt.Errorf("%w: %d bytes, want 1 to 2^40", ErrFormat, a.Bytes)
	case a.Format > pkt.Format128 || a.Width > pkt.MaxCoord || a.Height > pkt.MaxCoord || a.Pitch > pkt.MaxPitch:
		return Allocation{}, fmt.Errorf("%w: surface %d x %d, pitch %d, format %d", ErrFormat, a.Width, a.Height, a.Pitch, a.Format)
	case le.Uint64(b[32:]) != 0:
		return Allocation{}, fmt.Errorf("%w: the last 8 bytes are %#x, want 0", ErrFormat, le.Uint64(b[32:]))
	case a.Extent() > a.Bytes:
		return Allocation{}, fmt.Errorf("%w: surface ends at %d of %d bytes", ErrFormat, a.Extent(), a.Bytes)
	}
	return a, nil
}

// Extent returns the number of bytes from the start of the surface to the end
// of its last element.
func (a Allocation) Extent() uint64 {
	if a.Width == 0 || a.Height == 0 {
		return 0
	}
	return uint64(a.Height-1)*uint64(a.Pitch) + uint64(a.Width)<<a.Format
}
