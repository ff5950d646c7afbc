package link

import (
	"encoding/binary"
	"hash/crc32"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/bus/datalink"
)

// greet sends a hello and returns the nonce of the board in its Welcome.
func (c *counted) greet(nonce uint32) uint32 {
	c.send(hello(nonce), helloWord, 5000)
	f := c.sent()
	require.NotEmpty(c.t, f)
	w := f[len(f)-1]
	require.Equal(c.t, []byte{6 << 4, datalink.Version}, w[:2])
	require.Equal(c.t, nonce, binary.BigEndian.Uint32(w[22:]))
	return binary.BigEndian.Uint32(w[26:])
}

// TestSequencerNonce: the nonce of the board is the time at the hello: the ticks since the reset, of 24
// bits, and the lower clocks of the tick (docs/design.md, "Link layers"). The ticks are very short here, so an
// answer to a hello takes longer than some of them, which it misses.
func TestSequencerNonce(t *testing.T) {
	const misses = 8
	c := newCounted(t)
	c.control(7, 1)
	clocks, others := map[uint32]bool{}, 0
	for i := range 20 {
		c.run((17*seqTick + i) / c.pace)
		passed := c.line.both.Clocks() / seqTick
		nonce := c.greet(100 + uint32(i))
		assert.InDelta(t, passed, nonce>>8, float64(misses*(i+1)))
		clocks[nonce&0xff] = true
		if nonce&0xff != nonce>>8&0xff {
			others++
		}
	}
	require.Greater(t, c.line.both.Clocks(), uint64(512*seqTick))
	assert.Greater(t, len(clocks), 10, "the clocks of the tick differ")
	assert.Greater(t, others, 10, "they are no ticks")
}

// withWord returns a board, and a nonce with which a host offers it a session whose word is as wanted.
func withWord(t *testing.T, wanted func(word uint32) bool) (c *counted, nonce, word uint32) {
	board := newCounted(t).greet(0x01010101) // what the next board has too, at the same time
	for nonce = 0x01010101; ; nonce++ {
		if word = crc32.ChecksumIEEE(binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, nonce), board)); wanted(word) {
			break
		}
	}
	c = newCounted(t)
	require.Equal(t, board, c.greet(nonce))
	return c, nonce, word
}

// TestSequencerAlmostHello: in a session whose word begins as that of a hello, a hello is answered.
func TestSequencerAlmostHello(t *testing.T) {
	for same := range 4 {
		c, _, word := withWord(t, func(word uint32) bool {
			differs := uint64(word ^ helloWord)
			return differs>>(32-8*same) == 0 && differs>>(24-8*same) != 0
		})
		c.epoch = word
		c.send([]byte{3 << 4, 0}, c.epoch, 1000)
		require.Equal(t, [][]byte{checked([]byte{4 << 4, 0}, c.epoch)}, c.sent())
		c.count = counts{}
		c.greet(77)
		assert.Zero(t, c.count, "%d bytes of the word %#x", same, word)
	}
}

// TestSequencerWords: a session whose word has only one byte that is not 0 is offered once, and begins.
func TestSequencerWords(t *testing.T) {
	for n := range 4 {
		c, nonce, word := withWord(t, func(word uint32) bool { return word != 0 && word&^(0xff<<(8*n)) == 0 })
		board := c.greet(nonce)
		assert.Equal(t, word, crc32.ChecksumIEEE(binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, nonce), board)), "the same offer")
		c.epoch = word
		c.count = counts{}
		c.send([]byte{3 << 4, 0}, c.epoch, 1000)
		require.Equal(t, [][]byte{checked([]byte{4 << 4, 0}, c.epoch)}, c.sent(), "the word %#x", word)
		require.Equal(t, counts{sessions: 1}, c.count)
	}
}
