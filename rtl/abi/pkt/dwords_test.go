package pkt_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
)

// The dwords are those of docs/packets.md, written by hand.
func TestDwords(t *testing.T) {
	p := pkt.Dwords(pkt.OpCopy, 1, 2, 3, 4, 5)
	assert.Equal(t, []uint32{0x04000005, 1, 2, 3, 4, 5}, p)
	assert.Equal(t, []byte{5, 0, 0, 4, 1, 0, 0, 0}, pkt.Bytes(p[:2]))
	assert.Equal(t, []uint32{0x01000000}, pkt.Dwords(pkt.OpNOP))
}

// A field takes what fits and leaves its neighbours alone, and is read as Get
// reads it.
func TestFieldValueAndSet(t *testing.T) {
	for _, tt := range []struct {
		f    pkt.Field
		v    uint64
		want []uint32
		read uint64
	}{
		{pkt.Field{Dword: 1, Mask: 0xffff_ffff_ffff_ffff}, 0x0123_4567_89ab_cdef, []uint32{0xffff_ffff, 0x89ab_cdef, 0x0123_4567}, 0x0123_4567_89ab_cdef},
		{pkt.Field{Dword: 2, Mask: 1 << 20}, 2, []uint32{0xffff_ffff, 0xffff_ffff, 0xffef_ffff}, 0},
		{pkt.Field{Dword: 0, Mask: 0xffff << 16}, 0x1234, []uint32{0x1234_ffff, 0xffff_ffff, 0xffff_ffff}, 0x1234},
	} {
		p := []uint32{0xffff_ffff, 0xffff_ffff, 0xffff_ffff}
		tt.f.Set(p, tt.v)
		assert.Equal(t, tt.want, p)
		assert.Equal(t, tt.read, tt.f.Value(p))
		assert.Equal(t, tt.read, tt.f.Get(pkt.Bytes(p)))
	}
}
