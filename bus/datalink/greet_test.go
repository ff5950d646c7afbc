package datalink

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestGreet: a board answers a first Hello without a link, and only a Hello that sends
// its nonce back makes one. With a token, the second Hello proves it.
func TestGreet(t *testing.T) {
	for _, token := range []string{"", "sesame"} {
		board := Config{Role: Board, Token: []byte(token), Challenge: unhexChallenge(), MapHash: 5, Echo: true}
		asked := 0
		nonce := func(host, echoed uint32) uint32 {
			asked++
			assert.Equal(t, uint32(9), host)
			return 77
		}
		h, err := New(Config{Token: []byte("sesame")})
		require.NoError(t, err)
		var out Output
		h.Open(9, 0, &out)
		for _, bad := range [][]byte{nil, out.Frames.At(0)[:20], seal(7, out.Frames.At(0)[:len(out.Frames.At(0))-4]), seal(helloWord, unhex("6002"))} {
			reply, known := Greet(nil, bad, board, nonce)
			assert.Empty(t, reply)
			assert.Zero(t, known)
		}
		assert.Zero(t, asked)
		reply, known := Greet([]byte("before"), out.Frames.At(0), board, nonce)
		require.Zero(t, known)
		require.Equal(t, "before", string(reply[:6]))
		assert.LessOrEqual(t, len(reply)-6, 2*len(out.Frames.At(0)), "no amplification to speak of")

		out.Reset()
		h.Receive(reply[6:], 0, &out)
		require.Equal(t, Opening, h.State())
		require.Equal(t, 1, out.Frames.Len())
		second := append([]byte(nil), out.Frames.At(0)...)
		reply, known = Greet(nil, second, board, nonce)
		assert.Empty(t, reply)
		require.Equal(t, uint32(77), known)

		b, err := New(board)
		require.NoError(t, err)
		var answer Output
		b.Open(known, 0, &answer)
		b.Receive(second, 0, &answer)
		out.Reset()
		h.Receive(answer.Frames.At(0), 0, &out)
		assert.Equal(t, Up, h.State())
	}
}
