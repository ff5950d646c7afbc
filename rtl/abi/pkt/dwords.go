package pkt

import "math/bits"

// Dwords returns the packet with this opcode and body as dwords, the header
// first. Nothing is checked: it makes packets that are wrong, too.
func Dwords(op uint8, body ...uint32) []uint32 {
	return append([]uint32{uint32(op)<<24 | uint32(len(body))&HeaderBody}, body...)
}

// Bytes returns dwords as they are in memory.
func Bytes(dwords []uint32) []byte {
	b := make([]byte, 0, 4*len(dwords))
	for _, v := range dwords {
		b = le.AppendUint32(b, v)
	}
	return b
}

// Value is Get for a packet as dwords.
func (f Field) Value(p []uint32) uint64 {
	v := uint64(p[f.Dword])
	if f.Mask>>32 != 0 {
		v |= uint64(p[f.Dword+1]) << 32
	}
	return v & f.Mask >> bits.TrailingZeros64(f.Mask)
}

// Set gives the field of a packet as dwords the low bits of v that fit, and leaves
// the bits around it alone.
func (f Field) Set(p []uint32, v uint64) {
	v = v << bits.TrailingZeros64(f.Mask) & f.Mask
	p[f.Dword] = p[f.Dword]&^uint32(f.Mask) | uint32(v)
	if f.Mask>>32 != 0 {
		p[f.Dword+1] = p[f.Dword+1]&^uint32(f.Mask>>32) | uint32(v>>32)
	}
}
