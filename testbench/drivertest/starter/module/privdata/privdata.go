// Package privdata declares the private data that the two drivers exchange
// through the kernel, which does not read it.
package privdata

import "encoding/binary"

var le = binary.LittleEndian

// Sizes in bytes.
const (
	AdapterBytes    = 8
	AllocationBytes = 8
)

// Adapter encodes the number of bytes that one packet may move, for the user-mode
// driver.
func Adapter(maxPacket uint64) []byte { return le.AppendUint64(nil, maxPacket) }

// MaxPacket decodes the result of Adapter.
func MaxPacket(b []byte) uint64 { return le.Uint64(b) }

// hostBit is set for an allocation that must be in host memory.
const hostBit = 1 << 63

// An Allocation is a request of the user-mode driver to the miniport.
type Allocation struct {
	Bytes uint64 // 1 to 2^32
	Host  bool   // in host memory only, else preferably in VRAM
}

// Encode returns the encoding of a.
func (a Allocation) Encode() []byte {
	v := a.Bytes
	if a.Host {
		v |= hostBit
	}
	return le.AppendUint64(nil, v)
}

// DecodeAllocation decodes an Allocation, which an application may have forged. It
// reports false for another size or a value out of range.
func DecodeAllocation(b []byte) (Allocation, bool) {
	if len(b) != AllocationBytes {
		return Allocation{}, false
	}
	v := le.Uint64(b)
	a := Allocation{Bytes: v &^ hostBit, Host: v&hostBit != 0}
	return a, a.Bytes >= 1 && a.Bytes <= 1<<32
}
