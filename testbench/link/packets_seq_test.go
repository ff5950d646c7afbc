package link

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/link/seq"
)

// anyPacket returns a packet of a host. Of three, one is made wrong, or unusual, on purpose.
func anyPacket(r *rand.Rand) []byte {
	p := plain(r, random(r))
	if p[0] == 0 && r.IntN(8) == 0 {
		p = append(p, make([]byte, 1+r.IntN(4))...) // it is longer than it tells
	}
	for range r.IntN(3) / 2 * (1 + r.IntN(2)) {
		p = wrong(r, p)
	}
	return p
}

// addressEnd returns the position of the last byte of the address of a request of memory.
func addressEnd(p []byte) int {
	if p[0]&0x20 != 0 && len(p) >= 16 {
		return 15
	}
	return 11
}

// wrong returns a packet with a change of a field that a receiver checks (PCIe 3.0 §2.2).
func wrong(r *rand.Rand, p []byte) []byte {
	p = bytes.Clone(p)
	end := addressEnd(p)
	switch r.IntN(10) {
	case 0: // hints, or a reserved bit
		p[1] |= 1 << r.IntN(2)
	case 1: // an address type
		p[2] |= byte(1+r.IntN(3)) << 2
	case 2: // poisoned
		p[2] |= 0x40
	case 3: // a digest
		p[2] |= 0x80
		if len(p)+4 <= seq.MaxPacket {
			p = append(p, 1, 2, 3, 4)
		}
	case 4: // the bit of one
		p[2] |= 0x80
	case 5: // enables, half of them none
		p[7] = byte(r.Uint32N(256) * r.Uint32N(2))
	case 6: // reserved bits of the address
		p[end] |= byte(1 + r.IntN(3))
	case 7: // the last dword of 4 KiB
		p[end-1] |= 0x0f
		p[end] |= 0xfc
	case 8: // a length that is not that of the data
		p[2], p[3] = p[2]&0xfc|byte(r.IntN(4)*r.IntN(2)), p[3]+byte(r.IntN(3)-1)
	default: // a long address below 4 GiB
		if end == 15 {
			copy(p[8:12], make([]byte, 4))
		}
	}
	return p
}

// gapped reports whether the enables of a request of memory are illegal (PCIe 3.0 §2.2.5).
func gapped(p []byte) bool {
	first, last := p[7]&15, p[7]>>4
	n := int(p[2]&3)<<8 | int(p[3])
	switch {
	case n == 1:
		return last != 0
	case first == 0 || last == 0:
		return true
	case n == 2 && p[addressEnd(p)]&4 == 0:
		return false
	}
	gap := ^first & 15
	return gap&(gap+1) != 0 || last&(last+1) != 0
}

// crosses reports whether a request of memory crosses 4 KiB.
func crosses(p []byte) bool {
	end := addressEnd(p)
	n := (int(p[2]&3)<<8|int(p[3])+1023)%1024 + 1
	return (int(p[end-1])<<8|int(p[end]))&0xffc+4*n > 4096
}

// ignored returns what bus/endpoint must get so that it does what the program does: nothing for a
// packet that only the program refuses, and else the packet without what the program ignores. It is
// not ok for a read that only bus/tlp refuses. docs/design.md "Limits" has the reasons.
func ignored(p []byte) (q []byte, ok bool) {
	const hints, reserved, types, poisoned, digest = 1, 2, 0x0c, 0x40, 0x80
	q = bytes.Clone(p)
	translated := p[1]&hints != 0 || p[2]&types != 0
	read, memory := p[0]&0xdf == 0, p[0]&0x9f == 0
	switch {
	case p[2]&digest != 0:
		return nil, true
	case memory && (p[0]&0x20 == 0 || len(p) >= 16):
		q = narrowed(q)
		q[addressEnd(q)] &= 0xfc
		if read {
			q[1] &^= reserved
		}
	case p[0]&0xbf == 2 || p[0]&0xbf == 5: // I/O, and configuration of type 1
		if translated || p[1]&reserved != 0 {
			return nil, true
		}
	case p[0]&0xbf == 4:
		q[10] &= 0x0f
		q[11] &= 0xfc
	}
	sized := len(p) == addressEnd(p)+1
	answered := translated || p[2]&poisoned == 0
	return q, !read || !sized || !answered || !gapped(p) && (translated || !crosses(p))
}

// narrowed returns a request of memory with the short header, if its address is below 4 GiB.
func narrowed(p []byte) []byte {
	if p[0]&0x20 == 0 || !bytes.Equal(p[8:12], make([]byte, 4)) {
		return p
	}
	p[0] &^= 0x20
	return append(p[:8], p[12:]...)
}

// TestPacketsSequencer: the sequencer does with a packet what bus/endpoint does, but for what
// ignored tells. It answers most reads of a dword another way than those of more.
func TestPacketsSequencer(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 13))
	c := newCounted(t)
	c.packets(t, r, *packetsFlag/3, 1500, ignored)
	require.True(t, c.m.Status().Up)
}
