package datalink

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/bus/tlp"
)

var (
	readPacket  = unhex("00000001 0000050f fe123458")
	replyPacket = unhex("4a000001 01000004 00000558 78563412")
)

// echo makes the board answer each packet with a completion.
func echo(s *sim) *int {
	n := 0
	s.got = func(end int, p []byte) {
		if end == 1 {
			s.release(1, p)
			require.NoError(s.t, s.send(1, replyPacket))
			return
		}
		n++
	}
	return &n
}

// A register read costs at most 40 bytes in both directions together, with
// framing and with the acknowledgement of its completion, even if no later
// frame carries that acknowledgement.
func TestReadCost(t *testing.T) {
	s := newSim(t, 1, faults{}, Config{}, Config{})
	n := echo(s)
	s.open(1)
	s.up()
	s.run(5 * time.Millisecond)
	before := s.wires[0].bytes + s.wires[1].bytes
	require.NoError(t, s.send(0, readPacket))
	s.run(20 * time.Millisecond)
	require.Equal(t, 1, *n)
	alone := s.wires[0].bytes + s.wires[1].bytes - before
	// Frames of 2+6+4, 4+7+4 and 2+4 bytes, each with 2 bytes of framing.
	assert.Equal(t, 39, alone)
	assert.LessOrEqual(t, alone, 40)

	before = s.wires[0].bytes + s.wires[1].bytes
	for i := range 1000 {
		require.NoError(t, s.send(0, readPacket))
		s.until(time.Second, "answer", func() bool { return *n == i+2 })
	}
	each := float64(s.wires[0].bytes+s.wires[1].bytes-before) / 1000
	t.Logf("register read: %d bytes for one read, %.1f each in a row", alone, each)
	assert.InDelta(t, 33, each, 1)
}

// Writes of 256 bytes leave at least 85 % of the line for data.
func TestBulkCost(t *testing.T) {
	s := newSim(t, 1, faults{}, Config{Credits: finite}, Config{Credits: finite})
	s.wires[0].rate, s.wires[1].rate = 300_000, 300_000
	p := tlp.Packet{Kind: tlp.MWr64, Len: 64, Addr: 0x1_8000_0000, First: 15, Last: 15, Data: make([]byte, 256)}
	packet, err := p.Append(nil)
	require.NoError(t, err)
	got := 0
	s.got = func(end int, p []byte) {
		got++
		s.release(1, p)
	}
	s.open(1)
	s.up()
	start, before := s.now, s.wires[0].bytes
	const n = 2000
	for sent := 0; got < n; {
		for sent < n && s.send(0, packet) == nil {
			sent++
		}
		require.True(t, s.step(s.now+time.Second))
	}
	share := 256 * n / (float64(s.wires[0].rate) * (s.now - start).Seconds())
	framed := 256 * n / float64(s.wires[0].bytes-before+(8-2)*n)
	t.Logf("bulk: %.3f of the line, %.3f of the bytes with 8 bytes of framing", share, framed)
	assert.GreaterOrEqual(t, share, 0.85)
	assert.GreaterOrEqual(t, framed, 0.85)
}
