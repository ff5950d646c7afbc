package tlp

import (
	"fmt"
	"math/bits"
)

// RCB is the read completion boundary of this system, in bytes. An endpoint may
// use 128; a root port uses 64 or 128 (PCIe 3.0 §2.3.1.1).
const RCB = 64

// PayloadFor returns the largest payload, in bytes, of packets of at most size bytes:
// a power of two from 4 to 4096 that fits after a header with a 64-bit address, or 0.
// Packets of 144 bytes carry the 128 that every function accepts.
func PayloadFor(size int) int {
	n := 4096
	for n >= 4 && 16+n > size {
		n /= 2
	}
	return n &^ 3
}

// ByteCount returns the number of bytes from the first to the last enabled byte
// of a request of length dwords; 1 if none is enabled, as in a read of zero
// length (PCIe 3.0 §2.3.1.1, "Calculating Byte Count").
func ByteCount(length int, first, last uint8) int {
	if length == 1 {
		if first&15 == 0 {
			return 1
		}
		return bits.Len8(first&15) - bits.TrailingZeros8(first)
	}
	return 4*length - Offset(first) - (4 - bits.Len8(last&15))
}

// Offset returns the position of the first enabled byte of a dword, 0 to 3; 0
// if none is enabled (PCIe 3.0 §2.3.1.1, "Calculating Lower Address").
func Offset(first uint8) int {
	if first&15 == 0 {
		return 0
	}
	return bits.TrailingZeros8(first)
}

// LowerAddress returns the field Lower of the first completion of a memory read
// at addr.
func LowerAddress(addr uint64, first uint8) uint8 {
	return uint8(addr&0x7c) | uint8(Offset(first))
}

// A Part is one of the completions of a memory read.
//
//	Off        offset of its data in the read, in bytes, a multiple of 4
//	Len        dwords
//	ByteCount  bytes remaining, including this part
//	Lower      address of its first byte, bits 6..0
type Part struct {
	Off       int
	Len       int
	ByteCount int
	Lower     uint8
}

// Split appends the completions of a memory read of length dwords at addr to
// dst: the fewest possible, with at most maxPayload bytes each, where every
// completion but the last ends at a multiple of rcb. Addr is a multiple of 4
// and length is 1 to MaxLen, as for Check. Split panics if rcb is not 64 or
// 128, or maxPayload is less than rcb.
func Split(dst []Part, addr uint64, length int, first, last uint8, rcb, maxPayload int) []Part {
	if rcb != 64 && rcb != 128 || maxPayload < rcb {
		panic(fmt.Sprintf("tlp: read completion boundary %d with payload %d", rcb, maxPayload))
	}
	left := ByteCount(length, first, last)
	lower := LowerAddress(addr, first)
	for off := 0; off < 4*length; {
		at := int(addr&0xfff) + off
		n := 4*length - off
		if n > maxPayload {
			n = (at+maxPayload)&^(rcb-1) - at
		}
		dst = append(dst, Part{Off: off, Len: n / 4, ByteCount: left, Lower: lower})
		left -= n - int(lower&3)
		lower = uint8(at+n) & 0x7f
		off += n
	}
	return dst
}

// Reply returns the completion without data of the request p, with the class,
// attributes, requester and tag of p. It completes a configuration write or a
// failed request. The byte count is that of the complete read, or 4 (PCIe 3.0
// §2.2.9).
func (p *Packet) Reply(completer ID, status Status) Packet {
	r := Packet{Kind: Cpl, TC: p.TC, Attr: p.Attr, Requester: p.Requester, Tag: p.Tag,
		Completer: completer, Status: status, ByteCount: 4}
	if p.Kind == MRd32 || p.Kind == MRd64 {
		r.ByteCount = ByteCount(p.Len, p.First, p.Last)
		r.Lower = LowerAddress(p.Addr, p.First)
	}
	return r
}

// ReplyData returns the completion with data for one part of the memory read p.
// Data holds the complete read, 4*p.Len bytes; the reply aliases it.
func (p *Packet) ReplyData(completer ID, part Part, data []byte) Packet {
	r := p.Reply(completer, SC)
	r.Kind = CplD
	r.Len, r.ByteCount, r.Lower = part.Len, part.ByteCount, part.Lower
	r.Data = data[part.Off : part.Off+4*part.Len]
	return r
}

// Carries returns the number of bytes that a completion with data carries for
// its read, and reports whether it is the last completion.
func (p *Packet) Carries() (n int, last bool) {
	n = 4*p.Len - int(p.Lower&3)
	if n >= p.ByteCount {
		return p.ByteCount, true
	}
	return n, false
}
