package refmodel_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/rtl/refmodel"
)

const hostBase = 0x10_0000

func TestMemory(t *testing.T) {
	m := &refmodel.Memory{HostBase: hostBase, VRAM: make([]byte, 32), Host: []byte{1, 2, 3, 4, 5, 6, 7, 8}}
	m.Copy(3, pkt.Host|(hostBase+2), 4)
	assert.Equal(t, []byte{0, 0, 0, 3, 4, 5, 6, 0}, m.VRAM[:8])
	m.Fill(9, 10, 0x8877665544332211)
	assert.Equal(t, []byte{0, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x11, 0x22, 0}, m.VRAM[8:20])
	for _, tt := range []struct {
		addr, n uint64
		there   bool
	}{
		{0, 32, true}, {0, 33, false}, {32, 0, true}, {33, 0, false},
		{pkt.Host | hostBase, 8, true}, {pkt.Host | (hostBase - 1), 1, false},
		{pkt.Host | (hostBase + 7), 2, false}, {pkt.Host - 1, 2, false},
	} {
		assert.Equal(t, tt.there, m.Bytes(tt.addr, tt.n) != nil, "%d bytes at %#x", tt.n, tt.addr)
	}
}
