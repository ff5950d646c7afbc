package frame

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// stuffed returns a frame on the line between two delimiters, by the definition of
// consistent overhead byte stuffing: each group is its length, its bytes and a zero that is
// not sent.
func stuffed(frame []byte) []byte {
	line := []byte{0}
	for _, group := range bytes.Split(frame, []byte{0}) {
		line = append(line, byte(len(group)+1))
		line = append(line, group...)
	}
	return append(line, 0)
}

// sealed returns a frame with its check.
func sealed(body []byte, word uint32) []byte {
	return binary.BigEndian.AppendUint32(bytes.Clone(body), crc32.ChecksumIEEE(body)^word)
}

// random returns the bytes of a frame, with few, some or many zeros.
func random(r *rand.Rand, n int) []byte {
	b := make([]byte, n)
	zeros := []int{1000, 10, 2}[r.IntN(3)]
	for i := range b {
		if r.IntN(zeros) != 0 {
			b[i] = byte(1 + r.IntN(255))
		}
	}
	return b
}

func TestStep(t *testing.T) {
	crc := ^uint32(0)
	for _, b := range []byte("123456789") {
		for i := range 8 {
			crc = step(crc, b>>i)
		}
	}
	require.Equal(t, uint32(0xcbf43926), ^crc) // the check value of CRC-32
}

// TestSender: frames of all sizes with random stalls appear on the line stuffed, with their
// checks, each between delimiters. Adjacent frames share one.
func TestSender(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	m := NewSender()
	var line, want []byte
	tick := func(valid bool, data byte, last bool, word uint32) bool {
		full, v := m.Byte()
		ready := r.IntN(3) == 0
		if full && ready {
			line = append(line, v)
		}
		taken := valid && m.Ready()
		m.Tick(valid, data, last, word, ready)
		return taken
	}
	for n := 2; n <= 248; n++ {
		body, word := random(r, n), r.Uint32()
		if r.IntN(3) == 0 {
			for range 2000 {
				tick(false, 0, false, 0)
			}
		}
		for !m.Room() {
			tick(false, 0, false, 0)
		}
		idle := m.idle()
		for i, b := range body {
			for !tick(true, b, i == n-1, word) {
			}
		}
		for m.begun {
			tick(false, 0, false, word)
		}
		one := stuffed(sealed(body, word))
		if !idle {
			one = one[1:]
		}
		want = append(want, one...)
	}
	for range 3000 {
		tick(false, 0, false, 0)
	}
	require.Equal(t, want, line)
}

// rig drives a receiver.
type rig struct {
	Receiver
	damaged int
}

func (g *rig) idle(n int) {
	for range n {
		g.tick(false, 0, false, false, 0, false, false)
	}
}

func (g *rig) tick(valid bool, data byte, broken, read bool, at uint8, other, release bool) {
	g.Tick(valid, data, broken, read, at, other, release)
	if g.Damaged() {
		g.damaged++
	}
}

func (g *rig) send(line []byte) {
	for _, b := range line {
		g.tick(true, b, false, false, 0, false, false)
		g.idle(15)
	}
}

// frame returns the oldest frame or the one after it, its length and its word.
func (g *rig) frame(other bool) (body []byte, word uint32) {
	read := func(at uint8) byte {
		g.tick(false, 0, false, true, at, other, false)
		return g.Data()
	}
	for i := range read(AtLength) {
		body = append(body, read(i))
	}
	for i := range uint8(4) {
		word = word<<8 | uint32(read(AtWord+i))
	}
	return body, word
}

func (g *rig) release() { g.tick(false, 0, false, false, 0, false, true) }

// TestReceiver: frames of all sizes are received with the word of their checks, two of them
// are kept, and a third is dropped.
func TestReceiver(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	g := &rig{Receiver: NewReceiver(160)}
	for n := 2; n <= 156; n++ {
		var bodies [][]byte
		var words []uint32
		for range 3 {
			body, word := random(r, n), r.Uint32()
			bodies, words = append(bodies, body), append(words, word)
			g.send(stuffed(sealed(body, word)))
		}
		there, other := g.Held()
		require.True(t, there && other)
		require.Zero(t, g.damaged)
		for i := range 2 {
			body, word := g.frame(i == 1)
			require.Equal(t, bodies[i], body)
			require.Equal(t, words[i], word)
		}
		g.release()
		body, _ := g.frame(false)
		require.Equal(t, bodies[1], body)
		g.send(stuffed(sealed(bodies[2], words[2])))
		body, _ = g.frame(true)
		require.Equal(t, bodies[2], body)
		g.tick(false, 0, false, false, 0, true, true) // the one after it
		body, _ = g.frame(false)
		require.Equal(t, bodies[1], body)
		g.release()
		there, _ = g.Held()
		require.False(t, there)
	}
}

// TestBadPieces: what is no frame is dropped, with a pulse unless it is text or nothing, and
// the frame after it is received.
func TestBadPieces(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 3))
	good := stuffed(sealed(random(r, 20), 7))
	for _, tt := range []struct {
		name    string
		line    []byte
		damaged int
	}{
		{"nothing", []byte{0, 0, 0}, 0},
		{"five bytes", stuffed([]byte{1, 2, 3, 4, 5}), 1},
		{"a byte", []byte{0, 1, 0}, 1},
		{"a group that is cut off", []byte{0, 9, 1, 2, 3, 4, 5, 6, 7, 0}, 1},
		{"a group too long", append(append([]byte{0}, good[1:len(good)-1]...), 9, 9, 0), 1},
		{"161 bytes", stuffed(random(r, 161)), 1},
		{"250 bytes", stuffed(random(r, 250)), 1},
		{"600 bytes", stuffed(bytes.Repeat([]byte{0, 7}, 300)), 1},
		{"a code of 255", append(append([]byte{0, 2, 1}, 255), append(bytes.Repeat([]byte{1}, 254), 0)...), 1},
		{"text", []byte{0, 255, 3, 'a', 'b', 'c', 0}, 0},
		{"long text", append(append([]byte{0, 255, 255}, bytes.Repeat([]byte{'x'}, 255)...), 0), 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := &rig{Receiver: NewReceiver(160)}
			g.send(tt.line)
			there, _ := g.Held()
			require.False(t, there)
			require.Equal(t, tt.damaged, g.damaged)
			g.send(good)
			there, _ = g.Held()
			require.True(t, there)
			require.Equal(t, tt.damaged, g.damaged)
		})
	}
}

// TestBroken: a frame of which the line lost a byte is dropped, wherever that was, and
// the next one is received.
func TestBroken(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 4))
	line := stuffed(sealed(random(r, 20), 7))
	for at := 1; at < len(line)-1; at++ {
		g := &rig{Receiver: NewReceiver(160)}
		g.send(line[:at])
		g.tick(false, 0, true, false, 0, false, false)
		g.idle(15)
		g.send(line[at:])
		there, _ := g.Held()
		require.False(t, there, "byte %d", at)
		require.Equal(t, 1, g.damaged, "byte %d", at)
		g.send(line)
		there, _ = g.Held()
		require.True(t, there, "byte %d", at)
	}
}

// TestLargest: a receiver takes frames up to its limit.
func TestLargest(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 5))
	for _, limit := range []int{6, 160, 251} {
		g := &rig{Receiver: NewReceiver(limit)}
		body := random(r, limit-4)
		g.send(stuffed(sealed(body, 5)))
		got, word := g.frame(false)
		require.Equal(t, body, got)
		require.Equal(t, uint32(5), word)
		g.release()
		g.send(stuffed(sealed(random(r, limit-3), 5)))
		there, _ := g.Held()
		require.False(t, there, "a frame of %d bytes", limit+1)
	}
}
