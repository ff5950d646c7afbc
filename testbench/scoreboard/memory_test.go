package scoreboard_test

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/boards"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/testbench/bare"
	"github.com/hilgpu/hilgpu/testbench/scoreboard"
)

func TestMemory(t *testing.T) {
	m := &scoreboard.Memory{VRAM: make([]byte, 32), Host: []byte{1, 2, 3, 4, 5, 6, 7, 8}}
	m.Copy(3, pkt.Host|(bare.HostBase+2), 4)
	assert.Equal(t, []byte{0, 0, 0, 3, 4, 5, 6, 0}, m.VRAM[:8])
	m.Fill(9, 10, 0x8877665544332211)
	assert.Equal(t, []byte{0, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x11, 0x22, 0}, m.VRAM[8:20])
	for _, tt := range []struct {
		addr, n uint64
		there   bool
	}{
		{0, 32, true}, {0, 33, false}, {32, 0, true}, {33, 0, false},
		{pkt.Host | bare.HostBase, 8, true}, {pkt.Host | (bare.HostBase - 1), 1, false},
		{pkt.Host | (bare.HostBase + 7), 2, false}, {pkt.Host - 1, 2, false},
	} {
		assert.Equal(t, tt.there, m.Bytes(tt.addr, tt.n) != nil, "%d bytes at %#x", tt.n, tt.addr)
	}
}

// Each memory is compared to its last byte.
func TestCheck(t *testing.T) {
	b, err := bare.Open(context.Background(), "emu", bare.NewHost(4096), boards.Open)
	require.NoError(t, err)
	m := scoreboard.New(4096, 4096, rand.New(rand.NewPCG(1, 1)))
	m.Load(b.Access)
	require.NoError(t, m.Check(b.Access))
	m.Store(b.Access, 4088, []byte("eightbyt"))
	m.Store(b.Access, pkt.Host|(bare.HostBase+100), []byte("four"))
	require.NoError(t, m.Check(b.Access))
	b.Host.Mem[4095]++
	require.ErrorIs(t, m.Check(b.Access), scoreboard.ErrDiffers)
	assert.ErrorContains(t, m.Check(b.Access), "host memory at 0x100fff is")
	b.Host.Mem[4095]--
	b.Write(2, 4092, []byte("xxxx"))
	assert.ErrorContains(t, m.Check(b.Access), "VRAM at 0xffc is 0x78, want 0x74; 4 of 4096 bytes are wrong")
	require.NoError(t, b.Close())
}
