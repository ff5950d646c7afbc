package crc32

import (
	"hash/crc32"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func sum(data []byte, by func(crc uint32, v uint8) uint32) uint32 {
	crc := uint32(Init)
	for _, b := range data {
		crc = by(crc, b)
	}
	return ^crc
}

func nibbles(crc uint32, v uint8) uint32 { return Nibble(Nibble(crc, v), v>>4) }

// The check value of the catalogue of CRCs for CRC-32/ISO-HDLC.
func TestCheck(t *testing.T) {
	assert.Equal(t, uint32(0xcbf43926), sum([]byte("123456789"), Byte))
	assert.Equal(t, uint32(0xcbf43926), sum([]byte("123456789"), nibbles))
}

func TestRandom(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for n := range 300 {
		data := make([]byte, n)
		for i := range data {
			data[i] = uint8(r.Uint32())
		}
		want := crc32.ChecksumIEEE(data)
		require.Equal(t, want, sum(data, Byte), "%d bytes", n)
		require.Equal(t, want, sum(data, nibbles), "%d bytes", n)
	}
}

// The bits of v above the nibble change nothing.
func TestHighBits(t *testing.T) {
	for v := range 256 {
		require.Equal(t, Nibble(0x12345678, uint8(v&15)), Nibble(0x12345678, uint8(v)))
	}
}
