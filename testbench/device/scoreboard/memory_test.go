package scoreboard_test

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/boards"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/testbench/device/bare"
	"github.com/hilgpu/hilgpu/testbench/device/scoreboard"
)

// Check compares each memory to its last byte.
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

// Take accepts aborted work byte by byte, and finds a byte that is neither new nor
// old.
func TestTake(t *testing.T) {
	b, err := bare.Open(context.Background(), "emu", bare.NewHost(64), boards.Open)
	require.NoError(t, err)
	for _, base := range []uint64{16, pkt.Host | (bare.HostBase + 16)} {
		before := scoreboard.New(64, 64, rand.New(rand.NewPCG(1, 2)))
		before.Load(b.Access)
		after := before.Clone()
		after.Fill(base, 8, 0x0807060504030201)
		done, err := after.Clone().Take(b.Access, before, base-16, 48)
		require.NoError(t, err)
		assert.False(t, done, "all bytes are old")
		half := after.Clone()
		half.Store(b.Access, base, []byte{1, 2, 3, 4})
		done, err = half.Take(b.Access, before, base-16, 48)
		require.NoError(t, err)
		assert.False(t, done)
		assert.Equal(t, append([]byte{1, 2, 3, 4}, before.Bytes(base+4, 4)...), half.Bytes(base, 8))
		assert.NoError(t, half.Check(b.Access))
		after.Store(b.Access, base, after.Bytes(base, 8))
		done, err = after.Take(b.Access, before, base-16, 48)
		require.NoError(t, err)
		assert.True(t, done)
		after.Clone().Store(b.Access, base+4, []byte{0xf0, 0xf1, 0xf2, 0xf3})
		_, err = after.Take(b.Access, before, base, 8)
		assert.ErrorIs(t, err, scoreboard.ErrDiffers)
	}
	b.Err = context.Canceled
	_, err = scoreboard.New(8, 8, rand.New(rand.NewPCG(1, 3))).Take(b.Access, scoreboard.New(8, 8, rand.New(rand.NewPCG(1, 3))), 0, 8)
	assert.ErrorIs(t, err, context.Canceled)
}
