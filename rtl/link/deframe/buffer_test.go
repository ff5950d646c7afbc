package deframe

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// With both halves taken a frame is dropped, and the two in the buffer stay.
func TestOverflow(t *testing.T) {
	frame := func(i int) []byte { return []byte{uint8(i), 0, 2, 3, 0, 5, uint8(i)} }
	b := newBench(160)
	b.hold = true
	for i := range 5 {
		b.send(t, append(stuff(frame(i)), 0), two)
		assert.Equal(t, max(0, i-1), b.overflow)
	}
	b.send(t, []uint16{2, 9, 0, 255, 9, 0}, two)
	assert.Equal(t, 1, b.damaged, "a short frame is damaged, not too many")
	assert.True(t, b.m.Other())
	b.hold = false
	b.drain(t)
	b.send(t, append(stuff(frame(7)), 0), two)
	b.drain(t)
	assert.Equal(t, []received{receivedOf(frame(0)), receivedOf(frame(1)), receivedOf(frame(7))}, b.frames)
	assert.Equal(t, 1, b.damaged)
	assert.Equal(t, 3, b.overflow)
}

// A frame whose first byte was dropped for want of room is dropped, also if a half becomes
// free during it. Releases in every clock of a frame are right.
func TestReleaseDuringFrame(t *testing.T) {
	frame := func(i int) []byte { return []byte{uint8(i), 0, 2, 3, 0, 5, uint8(i), 8, 9, 10, 11} }
	for held := 1; held <= 2; held++ {
		for clock := range 2*13 + 6 {
			b := newBench(160)
			b.hold = true
			for i := range held {
				b.send(t, append(stuff(frame(i)), 0), two)
			}
			for range 8 {
				b.tick(t, false, 0, false)
			}
			n := 0
			stream := append(stuff(frame(5)), 0)
			for i := range 2*len(stream) + 8 {
				there, _ := b.m.Frame()
				valid := i%2 == 0 && i/2 < len(stream)
				data := uint16(0)
				if valid {
					data = stream[i/2]
				}
				b.m.Tick(valid, uint8(data), false, false, 0, there && i == clock, false)
				if b.m.Overflow() {
					n++
				}
			}
			b.hold = false
			b.drain(t)
			want := []received{receivedOf(frame(1)), receivedOf(frame(5))}[2-held : 2]
			if n > 0 {
				want = want[:1]
			}
			require.Equal(t, want, b.frames, "%d frames, released in clock %d", held, clock)
			require.LessOrEqual(t, n, held-1)
		}
	}
}

// Slow readers lose frames, but never see part of one.
func TestSlowReader(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 5))
	stream := randomStream(r, 36, 2000)
	frames, damaged := model(stream, 36)
	b := newBench(36)
	for _, v := range stream {
		b.tick(t, v != lost, uint8(v), v == lost)
		b.hold = r.IntN(300) != 0 && len(b.data) == 0
		b.tick(t, false, 0, false)
	}
	b.hold = false
	b.drain(t)
	require.Less(t, len(b.frames), len(frames))
	require.Equal(t, len(frames)+damaged, len(b.frames)+b.damaged+b.overflow, "each bad piece has one pulse")
	next := 0
	for _, f := range b.frames {
		for next < len(frames) && !assert.ObjectsAreEqual(receivedOf(frames[next]), f) {
			next++
		}
		require.Less(t, next, len(frames), "a frame out of order")
		next++
	}
}

// A reset in any clock drops everything, and the next frame is received.
func TestReset(t *testing.T) {
	frame := []byte{1, 2, 0, 4, 5, 6, 7}
	stream := append(stuff(frame), 0)
	for clocks := range 2*len(stream) + 6 {
		b := newBench(160)
		b.hold = true
		b.send(t, stream, two)
		for i := range clocks {
			valid := i%2 == 0 && i/2 < len(stream)
			data := uint16(0)
			if valid {
				data = stream[i/2]
			}
			b.tick(t, valid, uint8(data), false)
		}
		b.m.Reset()
		there, half := b.m.Frame()
		require.False(t, there)
		require.Zero(t, half)
		b.hold = false
		b.send(t, stream, two)
		b.drain(t)
		require.Equal(t, []received{receivedOf(frame)}, b.frames, "after %d clocks", clocks)
		require.Zero(t, b.damaged)
	}
}

func TestNew(t *testing.T) {
	assert.Panics(t, func() { New(MinFrame - 1) })
	assert.Panics(t, func() { New(MaxFrame + 1) })
	m := New(160)
	m.Tick(true, 14, false, false, 0, false, false)
	assert.Panics(t, func() { m.Tick(true, 1, true, false, 0, false, false) }, "a byte and a lost byte")
	assert.Panics(t, func() { m.Tick(false, 0, false, false, 0, true, false) }, "a release of no frame")
}

func ExampleModule() {
	m := New(160)
	for _, b := range []byte("\x00\x0e123456789\xcb\xf4\x39\x26\x00") {
		m.Tick(true, b, false, false, 0, false, false)
		m.Tick(false, 0, false, false, 0, false, false)
	}
	for range 3 {
		m.Tick(false, 0, false, false, 0, false, false)
	}
	there, half := m.Frame()
	m.Tick(false, 0, false, true, uint32(half)<<8|AtLength, false, false)
	fmt.Println(there, m.Data())
	// Output: true 9
}

// TestReleaseLater: the frame after the oldest one can be released first.
func TestReleaseLater(t *testing.T) {
	m := New(160)
	frame := func(v byte) {
		for _, b := range []byte{0, 7, v, v, v, v, v, v, 0} {
			m.Tick(true, b, false, false, 0, false, false)
			for range 8 {
				m.Tick(false, 0, false, false, 0, false, false)
			}
		}
	}
	first := func() uint8 {
		there, half := m.Frame()
		require.True(t, there)
		m.Tick(false, 0, false, true, uint32(half)<<8, false, false)
		return m.Data()
	}
	frame(1)
	frame(2)
	require.True(t, m.Other())
	m.Tick(false, 0, false, false, 0, true, true)
	require.False(t, m.Other())
	require.Equal(t, uint8(1), first())
	frame(3)
	require.True(t, m.Other())
	m.Tick(false, 0, false, false, 0, true, false)
	require.Equal(t, uint8(3), first())
	assert.Panics(t, func() { m.Tick(false, 0, false, false, 0, true, true) }, "no other frame")
}
