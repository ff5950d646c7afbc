package rate_test

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/link/linkport"
	"github.com/hilgpu/hilgpu/rtl/link/rate"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

const hz = 25_000_000

var rates = []uint32{115_200, 1_000_000, 3_000_000}

// A message is one of the design note of bus/serial.
func message(kind byte, rate uint32, pattern ...byte) []byte {
	b := binary.BigEndian.AppendUint32([]byte{'B', 'R', kind}, rate)
	b = append(b, pattern...)
	return binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
}

// The kinds, in the order of that note.
const (
	ask = iota
	yes
	no
	echo
	echoed
	keep
	kept
)

// A bench is a module with the framing and the data link as the test plays them.
type bench struct {
	t    *testing.T
	m    rate.Module
	up   bool
	link []linkport.Sent // what the data link sends next
	sent [][]byte        // frames that the framing took
	part []byte
	full int // clocks that the framing still has bytes
	r    *rand.Rand
}

func newBench(t *testing.T) *bench {
	return &bench{t: t, m: rate.New(rate.Config{Hz: hz, Rates: rates}), r: rand.New(rand.NewPCG(1, 2))}
}

// tick is a clock. The framing takes a byte in half of them, and is empty 20 clocks after.
func (b *bench) tick(in linkport.Piece) {
	talks, s := b.m.Answer()
	var link linkport.Sent
	if len(b.link) > 0 {
		link = b.link[0]
	}
	if !talks {
		s = link
	}
	takes := b.r.IntN(2) == 0
	empty := b.full == 0
	b.full = max(b.full-1, 0)
	if s.Valid && takes {
		b.full, b.part = 20, append(b.part, s.Data)
		if s.Last {
			b.sent, b.part = append(b.sent, b.part), nil
		}
		if !talks {
			b.link = b.link[1:]
		}
	}
	b.m.Tick(in, b.up, link, takes, empty)
}

// run passes clocks.
func (b *bench) run(n int) {
	for range n {
		b.tick(linkport.Piece{})
	}
}

// begin sends the first bytes of a frame to the board, a byte in 80 clocks.
func (b *bench) begin(f []byte) {
	for _, c := range f {
		b.tick(linkport.Piece{Valid: true, Data: c})
		b.run(79)
	}
}

// send sends a frame to the board.
func (b *bench) send(f []byte) {
	b.begin(f)
	b.tick(linkport.Piece{End: true})
}

// answers returns what the board sends after a frame.
func (b *bench) answers(f []byte) [][]byte {
	b.sent = nil
	b.send(f)
	b.run(2000)
	return b.sent
}

// bits returns the rate at which the board is.
func (b *bench) bits() uint32 { return (16*hz + b.m.Period()/2) / b.m.Period() }

func (b *bench) isAt(want uint32) {
	b.t.Helper()
	require.InEpsilon(b.t, want, b.bits(), 0.005)
}

// pattern is the longest one.
var pattern = bytes.Repeat([]byte{0x55, 0, 0xff, 'B', 'R', 1, 0x80, 0x7f}, 8)

// The exchange of the design note: a request at the first rate, patterns at the new one, and
// a session there. After the session the board is at the first rate again.
func TestExchange(t *testing.T) {
	b := newBench(t)
	b.isAt(115_200)
	assert.Equal(t, [][]byte{message(yes, 3_000_000)}, b.answers(message(ask, 3_000_000)))
	b.isAt(3_000_000)
	assert.Equal(t, [][]byte{message(echoed, 3_000_000, pattern...)}, b.answers(message(echo, 3_000_000, pattern...)))
	assert.Equal(t, [][]byte{message(echoed, 3_000_000, 7)}, b.answers(message(echo, 3_000_000, 7)))
	assert.Empty(t, b.answers(message(ask, 1_000_000)), "not at the first rate")
	assert.Empty(t, b.answers(message(echo, 1_000_000, 7)), "another rate")
	assert.Equal(t, [][]byte{message(kept, 3_000_000)}, b.answers(message(keep, 3_000_000)))
	b.up = true
	b.run(2 * hz)
	assert.Empty(t, b.answers(message(echo, 3_000_000, 7)), "in a session")
	b.isAt(3_000_000)
	b.up = false
	b.run(hz / 100)
	b.isAt(3_000_000)
	b.run(hz / 50)
	b.isAt(115_200)
}

// Each rate of the table is found, and no other.
func TestRates(t *testing.T) {
	for _, r := range rates {
		b := newBench(t)
		assert.Equal(t, [][]byte{message(yes, r)}, b.answers(message(ask, r)))
		b.isAt(r)
	}
	for _, r := range []uint32{0, 9600, 115_201, 3_000_001, 1_000_000 ^ 1<<31} {
		b := newBench(t)
		assert.Equal(t, [][]byte{message(no, r)}, b.answers(message(ask, r)))
		b.isAt(115_200)
	}
}

// Silence at a new rate, or no session after the host has kept it, ends it in time.
func TestSilence(t *testing.T) {
	tooltest.Long(t)
	b := newBench(t)
	b.answers(message(ask, 3_000_000))
	b.run(39 * hz / 100)
	b.isAt(3_000_000)
	b.run(2 * hz / 100)
	b.isAt(115_200)
	for _, last := range [][]byte{message(echo, 1_000_000, 1, 2), message(keep, 1_000_000)} {
		b.answers(message(ask, 1_000_000))
		b.run(30 * hz / 100)
		require.Len(t, b.answers(last), 1)
		b.run(39 * hz / 100)
		b.isAt(1_000_000)
		b.run(65 * hz / 100)
		b.isAt(115_200)
	}
}

// A damaged message, another frame, and one that is too short or too long get no answer.
func TestRefused(t *testing.T) {
	good := message(ask, 1_000_000)
	bad := [][]byte{{}, good[:10], message(ask, 1_000_000, make([]byte, 65)...), append([]byte{0}, good...), message(yes, 1_000_000), message(no, 1_000_000), message(kept, 1_000_000), message(8, 1_000_000), message(255, 1_000_000)}
	for i := range good {
		for bit := range 8 {
			f := bytes.Clone(good)
			f[i] ^= 1 << bit
			bad = append(bad, f)
		}
	}
	b := newBench(t)
	for _, f := range bad {
		assert.Empty(t, b.answers(f), "%x", f)
		b.isAt(115_200)
	}
	b.begin(good[:5])
	b.tick(linkport.Piece{Damaged: true})
	assert.Empty(t, b.answers(good[5:]))
	assert.Len(t, b.answers(message(echo, 115_200, make([]byte, 64)...)), 1, "the longest one")
	assert.Len(t, b.answers(good), 1)
}

// An answer does not begin inside a frame of the data link, nor a frame inside an answer.
// A request that ends during a frame is lost.
func TestBetweenFrames(t *testing.T) {
	b := newBench(t)
	frame := []linkport.Sent{{Valid: true, Data: 1}, {Valid: true, Data: 2}, {Valid: true, Data: 3, Last: true}}
	f, answers := message(echo, 115_200, 9), 0
	for at := range 400 {
		b.begin(f[:len(f)-1])
		b.sent, b.link = nil, append([]linkport.Sent(nil), frame...)
		b.run(at % 8)
		b.tick(linkport.Piece{Valid: true, Data: f[len(f)-1]})
		b.tick(linkport.Piece{End: true})
		b.run(500)
		require.Empty(t, b.part)
		require.Contains(t, b.sent, []byte{1, 2, 3})
		if len(b.sent) > 1 {
			require.Len(t, b.sent, 2)
			require.Contains(t, b.sent, message(echoed, 115_200, 9))
			answers++
		}
	}
	assert.Greater(t, answers, 50)
	assert.Less(t, answers, 350)
}

// A message that arrives during an answer is lost, and the next one is answered.
func TestDuringAnswer(t *testing.T) {
	b := newBench(t)
	b.send(message(echo, 115_200, pattern...))
	b.sent = nil
	for _, c := range message(echo, 115_200, 9) {
		b.tick(linkport.Piece{Valid: true, Data: c})
	}
	b.tick(linkport.Piece{End: true})
	b.run(2000)
	assert.Equal(t, [][]byte{message(echoed, 115_200, pattern...)}, b.sent)
	assert.Equal(t, [][]byte{message(echoed, 115_200, 9)}, b.answers(message(echo, 115_200, 9)))
}

// A message is told from other frames for a few clocks.
func TestTook(t *testing.T) {
	b := newBench(t)
	for _, f := range [][]byte{message(echo, 115_200, 9), message(echo, 9600, 9)} {
		b.send(f)
		assert.True(t, b.m.Took())
		b.run(8)
		assert.False(t, b.m.Took())
		b.run(2000)
	}
	f := message(echo, 115_200, 9)
	f[8] ^= 1
	b.send(f)
	assert.False(t, b.m.Took())
}

// A reset returns to the first rate.
func TestReset(t *testing.T) {
	b := newBench(t)
	b.answers(message(ask, 3_000_000))
	b.begin(message(echo, 3_000_000)[:9])
	b.m.Reset()
	b.isAt(115_200)
	assert.Len(t, b.answers(message(ask, 1_000_000)), 1)
}
